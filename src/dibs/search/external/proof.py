"""Proofs of UNSAT in DRAT, the text that `drat-trim` reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from dibs.problem.cnf import CNF
from dibs.problem.structure import Instance
from dibs.search.external.formula import Formula
from dibs.search.outcome import Outcome, Status
from dibs.writing import begun, explained

END = "0"  # the empty clause


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


class ProofFile:
    """FILE, which is there whole or not at all; a path that cannot be written is refused before the search."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with explained(self.path):
            self._fresh = begun(self.path)

    def write(self, instance: Instance, formula: Formula, lines: Iterable[str]) -> None:
        """The proof, and beside it the formula that it is about, unless that is the instance itself."""
        with explained(self.path):
            self._fresh.file.writelines(f"{line}\n".encode("ascii") for line in complete(formula, lines))
            self._fresh.file.flush()  # a full disk is noticed before there is a formula without its proof
        if not own_formula(instance):
            with explained(formula_path(self.path)):
                formula.as_cnf().write(formula_path(self.path))
        with explained(self.path):
            self._fresh.complete()

    def discard(self) -> None:
        """Leave nothing that was not there before; after `write` this does nothing."""
        self._fresh.discard()


def about_proof(path: str | os.PathLike[str], instance: Instance, outcome: Outcome) -> str:
    """What became of a proof, in one line."""
    if outcome.status is not Status.UNSAT:
        return f"{path}: not written, the answer is {outcome.status}: a proof is for UNSAT"
    about = "" if own_formula(instance) else f" of the formula in {formula_path(Path(path))}"
    return f"{path}: a DRAT proof{about}"
