"""Proofs of UNSAT in DRAT, the text that `drat-trim` reads: their files, and the formula beside them."""

from __future__ import annotations

import lzma
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dibs.errors import InputError
from dibs.problem.cnf import CNF
from dibs.problem.structure import Instance, Need, Structure
from dibs.search.external.formula import Formula, cardinality, encode
from dibs.search.outcome import Outcome, Status
from dibs.writing import begun, explained, write

if TYPE_CHECKING:
    from dibs.search.drat import Drat

END = "0"  # the empty clause
OTHERWISE = (".gz", ".bz2", ".zst", ".zip")
PRESET = 1  # of .xz: three times as fast as the usual one, for files that are hardly larger


def complete(formula: Formula, lines: Iterable[str]) -> Iterator[str]:
    """A proof up to its empty clause.

    Solvers leave that out where the formula is refuted while it is read, and go on deleting clauses after it; a formula
    that has the empty clause itself is refuted before the first line.
    """
    if all(formula.clauses):
        yield from takewhile(lambda line: line != END, lines)
    yield END


def formula_path(path: Path) -> Path:
    """Where the formula of a proof goes if it is not the user's own."""
    return path.with_name(path.name + ".cnf")


def own_formula(instance: Instance) -> bool:
    """Whether the formula of a proof is the instance itself: clauses and nothing else."""
    return isinstance(instance, CNF) and not instance.groups


def excluded(structure: Structure, signed: NDArray[np.int64], true: NDArray[np.int64]) -> list[int]:
    """A clause that all solutions but one satisfy. `true`: its true literals; `signed`: how the formula writes them.

    A literal that is false needs no mention where it is in an exactly-one group: another one is true there.
    """
    exactly = structure.exclusive & (structure.need > Need.NONE)
    positive = np.zeros(structure.literals, bool)
    positive[structure.member[np.repeat(exactly, np.diff(structure.start))]] = True
    positive[true] = False
    sign = np.where(positive, 0, 1)
    sign[true] = -1
    return list(dict.fromkeys((signed * sign)[sign != 0].tolist()))


class ProofFile:
    """FILE, which is there whole or not at all; a path that cannot be written is refused before the search.

    It is compressed where its name ends in .xz.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.written = False
        self._held: list[bytes] = []
        if (suffix := self.path.suffix.lower()) in OTHERWISE:
            raise InputError(f"a proof is packed as .xz, not as {suffix}", str(self.path))
        with explained(self.path):
            self._fresh = begun(self.path)
            self._text: IO[bytes] = self._fresh.file
            if suffix == ".xz":
                self._text = lzma.LZMAFile(self._fresh.file, "wb", preset=PRESET)  # noqa: SIM115

    def write(self, instance: Instance, formula: Formula, lines: Iterable[str]) -> None:
        """The proof, and beside it the formula that it is about, unless that is the instance itself."""
        with explained(self.path):
            self._text.writelines(f"{line}\n".encode("ascii") for line in complete(formula, lines))
        self._complete(instance, formula, [])

    def drat(self, instance: Instance, held: bool = False) -> Drat:
        """For a search that writes its proof while it runs; `prove` ends it.

        `held`: it is a short one, and an engine may answer in its place: its text is kept until `prove`.
        """
        from dibs.search.drat import Drat

        if instance.structure.bounded:
            cardinality(1, 1, [1, 2], 2)  # raises, in one line, where its formula could not be written
        sink = (lambda text: self._held.append(bytes(text))) if held else self._append
        return Drat(sink, encode(instance, written=False).signed)

    def _append(self, text: memoryview) -> None:
        with explained(self.path):
            self._text.write(text)

    def prove(self, instance: Instance, drat: Drat) -> None:
        """The search has found all solutions that there are: those of `drat`, usually none."""
        for text in (*self._held, f"{END}\n".encode("ascii")):
            self._append(memoryview(text))
        self._complete(instance, encode(instance), drat.solutions)

    def _complete(self, instance: Instance, formula: Formula, solutions: Sequence[NDArray[np.int64]]) -> None:
        with explained(self.path):
            if self._text is not self._fresh.file:
                self._text.close()
            self._fresh.file.flush()  # a full disk is noticed before there is a formula without its proof
        if solutions or not own_formula(instance):
            beside = formula_path(self.path)
            further = [excluded(instance.structure, formula.signed, true) for true in solutions]
            text = CNF(formula.variables, [*formula.clauses, *further]).format()
            about = f"c The last {len(further)} clauses exclude the solutions that were found.\n" if further else ""
            with explained(beside):
                write(beside, (about + text).encode("ascii"))
        with explained(self.path):
            self._fresh.complete()
        self.written = True

    def discard(self) -> None:
        """Leave nothing that was not there before; after `write` and `prove` this does nothing."""
        self._fresh.discard()


def proved(outcome: Outcome | None, wanted: int) -> bool:
    """Whether there is something to prove: all solutions are known, of `wanted` that would have been taken."""
    return outcome is not None and outcome.status is not Status.LIMIT and outcome.solutions < wanted


def about_proof(path: str | os.PathLike[str], instance: Instance, outcome: Outcome, wanted: int = 1) -> str:
    """What became of a proof, in one line."""
    if not proved(outcome, wanted):
        what = "a proof is for UNSAT" if wanted == 1 else "a proof is for no further solution"
        return f"{path}: not written, the answer is {outcome.status}: {what}"
    found = outcome.solutions
    if not found and own_formula(instance):
        return f"{path}: a DRAT proof"
    less = "" if not found else " without the one solution" if found == 1 else f" without the {found:,} solutions"
    return f"{path}: a DRAT proof of the formula{less} in {formula_path(Path(path))}"
