"""A trained denoiser: from search states to log-probabilities of their open literals."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock, uncounted
from dibs.guide.card import Card, find, verify
from dibs.guide.relations import relations
from dibs.guide.runtime import Backend, backend
from dibs.problem.structure import Structure
from dibs.problem.text import InputError
from dibs.search.guidance import Runtime

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

CHUNK = 128  # states of `LITERALS` literals that go through the model at once; of larger ones fewer: memory is bounded
LITERALS = 729  # of a 9x9 grid
PROBED = 16**3  # literals of a grid whose open ones are tried, at most: larger ones would take too long
EXCLUDED = np.float32(-50)  # the log-probability of what singles exclude, whatever the network's scale


class Denoiser:
    """A model that has been checked, and what it has done so far: `calls` of the backend, `states`, `seconds`.

    A model that sees candidates (a relational one, or a transformer with them) is asked only about what is not certain:
    first the singles of every group are followed to the end, as `hidden` propagation does. What they decide has
    probability 1 or 0, and the network, which would need a round or a block for each link of such a chain, gets a
    smaller state. Where singles run into a contradiction the state has no solution and the order of values does not
    matter: all its literals have probability 0, and neither the network nor, below that state, this guide is asked.
    A card with `probes` goes a step beyond singles: each open literal is tried, and those that singles refute are
    excluded (`dibs.search.probe`). `network_only` leaves all that out: the network alone.
    """

    def __init__(self, backend: Backend, folder: Path, card: Card, network_only: bool = False) -> None:
        self.backend = backend
        self.folder = folder
        self.card = card
        # Elsewhere the search's own propagation has followed them.
        sees = card.kind != "transformer" or bool(card.config.get("candidates"))
        self.settles = sees and card.family in ("sudoku", "latin") and not network_only
        self.probes = bool(card.config.get("probes"))
        self._run(*backend.example())  # what is compiled or allocated at the first call must not count as a query
        self.calls = 0
        self.states = 0
        self.seconds = 0.0

    @classmethod
    @uncounted
    def load(
        cls,
        name_or_path: str | Path,
        threads: int = 1,
        runtime: Runtime = "auto",
        *,
        rounds: int | None = None,
        network_only: bool = False,
    ) -> Self:
        """A guide that comes with dibs, by its name, or from a folder; its files are checked against its card.

        `rounds`: of a relational one in compiled code, instead of those that its card says.
        """
        folder = find(name_or_path)
        card = verify(folder)
        return cls(backend(folder, card, threads, runtime, rounds), folder, card, network_only)

    def refusal(self, structure: Structure) -> str | None:
        """Why these weights cannot take problems of this structure, or None."""
        if self.probes and structure.literals > PROBED:
            return "this guide tries each value first, which is for grids of up to 16x16: use --guide relational-sudoku"
        return self.backend.refusal(structure)

    def log_probabilities(self, structure: Structure, open_: Bools, true: Bools) -> Floats:
        """[n, L] from the open and the true literals [n, L] of n states.

        For an open literal the log of the softmax within its cell over the cell's open literals, and over none of them
        where it is a cell by itself; 0 for true literals,
        -inf for dead ones, and for all where singles show that there is no solution. Whatever goes wrong raises
        InputError, one line.
        """
        if reason := self.refusal(structure):
            raise InputError(reason)
        begin = clock()
        open_, true = (np.require(part, requirements=["C", "W"]) for part in (open_, true))
        size = max(1, CHUNK * LITERALS // structure.literals)
        found = np.empty(open_.shape, np.float32)
        for i in range(0, len(open_), size):
            found[i : i + size] = self._run(structure, open_[i : i + size], true[i : i + size])
            self.calls += 1
        self.states += len(open_)
        self.seconds += clock() - begin
        return found

    def _run(self, structure: Structure, open_: Bools, true: Bools) -> Floats:
        from dibs.guide.loops import normalise, temper

        of = relations(structure)
        asked = possible = open_
        known = true
        if self.settles:
            asked, certain = self._settled(structure, open_)
            possible = asked | certain  # what is certain is alone in its cell
            known = true | certain
        logits = self.backend.logits(structure, asked, known)
        if logits.shape != open_.shape:
            raise InputError(f"the model returned logits {logits.shape}, not {open_.shape}", str(self.folder))
        found, finite = normalise(np.where(asked, logits, np.float32(0)), possible, true, *of.cells)
        if not finite:
            raise InputError("the model returned a logit that is not a finite number", str(self.folder))
        if any(self.card.calibration):
            temper(found, possible, *self.card.calibration, *of.cells)
        found[open_ & ~possible & possible.any(axis=1, keepdims=True)] = EXCLUDED
        result: Floats = found
        return result

    def _settled(self, structure: Structure, open_: Bools) -> tuple[Bools, Bools]:
        """(open, certain) [n, L]: what is left to ask about, and what is known."""
        if self.probes:
            from dibs.search.probe import probe as follow
        else:
            from dibs.search.root import singles as follow

        return follow(structure, open_)
