"""Proofs of UNSAT in DRAT, the text that `drat-trim` reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from dibs.engines.formula import Formula
from dibs.problem.cnf import CNF
from dibs.problem.structure import Instance
from dibs.problem.text import InputError

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


class ProofFile:
    """FILE, which is there whole or not at all; a path that cannot be written is refused before the search."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._partial = self.path.with_name(self.path.name + ".partial")
        if self.path.is_dir():
            raise InputError("is a directory", str(self.path))
        try:
            self._file = open(self._partial, "w", encoding="ascii")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", str(self.path)) from None

    def write(self, instance: Instance, formula: Formula, lines: Iterable[str]) -> None:
        """The proof, and beside it the formula that it is about, unless that is the instance itself."""
        self._file.writelines(f"{line}\n" for line in complete(formula, lines))
        self._file.close()
        if not isinstance(instance, CNF):
            formula.as_cnf().write(formula_path(self.path))
        os.replace(self._partial, self.path)

    def discard(self) -> None:
        """Leave nothing that was not there before; after `write` this does nothing."""
        self._file.close()
        self._partial.unlink(missing_ok=True)
