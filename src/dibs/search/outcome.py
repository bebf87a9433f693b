"""What a search found, and what it cost. Each counter is defined here, once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance


class Status(StrEnum):
    """How a search ended."""

    SAT = "SAT"  # a solution was found, and a checker that shares nothing with the search has verified it
    UNSAT = "UNSAT"  # the search space is exhausted
    LIMIT = "LIMIT"  # a node or time limit ended the search before either


class WrongSolution(AssertionError):
    """The independent checker refused a solution.

    A defect of dibs (please report it), unless a `Problem` has `implied` groups that do not follow from its others.
    """


class Part(NamedTuple):
    """What one of several searches of an instance cost; fields as in `Outcome`."""

    search: str
    nodes: int
    backtracks: int
    asks: int
    seconds: float
    guide_seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one search."""

    status: Status
    solution: Any = None  # in the family's own form (`Instance.decode`), or None
    nodes: int = 0  # search states that were consistent, incomplete and branched on; 0 if propagation alone decides
    backtracks: int = 0  # tried values that failed, at once or after their subtree
    asks: int = 0  # rankings asked of the guide; a guide with `static = True` is asked once
    depth: int = 0  # the most decisions that ever stood at once
    seconds: float = 0.0  # wall-clock of this search without the guide; a block shares its time by the work of each
    solutions: int = 0  # solutions found; exact unless it equals `max_solutions` or the status is LIMIT
    calls: int = 0  # forward passes of a model for this search: asks x passes for an ask; 0 without a model
    guide_seconds: float = 0.0  # wall-clock of the guide: the time of a batch is shared equally among its asks
    tries: int = 0  # values tried: those that failed, and those on the way to a solution
    search: str = "tree"  # which search answered: tree, nogoods (with "+ guide" if it was guided), or an engine's name
    failing: tuple[Any, ...] = ()  # UNSAT in a session: what was assumed, given or added and cannot hold together
    others: tuple[Any, ...] = ()  # further solutions, where several were wanted
    parts: tuple[Part, ...] = ()  # where several searches worked on it: what each cost; the counters are their sum

    @property
    def part(self) -> Part:
        """This search as a part of several."""
        return Part(self.search, self.nodes, self.backtracks, self.asks, self.seconds, self.guide_seconds)

    @property
    def found(self) -> tuple[Any, ...]:
        """All solutions that were found, `solution` first; those of a mere count are not kept."""
        return () if self.solution is None else (self.solution, *self.others)

    def __getitem__(self, variable: Any) -> Any:
        """The value of a variable of a `Model`, by itself or by its name, in the solution."""
        if self.solution is None:
            raise LookupError(f"there is no solution to look into: {self.status}")
        try:
            return self.solution[variable]
        except KeyError:
            raise KeyError(f"{variable!r} is no variable of the solution") from None

    @property
    def _cost(self) -> str:
        return f"{self.status}: {self.nodes:,} nodes, {self.seconds + self.guide_seconds:.3g} s, {self.search}"

    def __str__(self) -> str:
        """How `print` shows it: what was found at what cost, and the solution as a grid, or a variable on each line."""
        if self.solution is None:
            return self._cost
        if isinstance(self.solution, dict):
            return "\n".join([self._cost, *(f"{name} = {value}" for name, value in self.solution.items())])
        return f"{self._cost}\n{getattr(self.solution, 'grid', self.solution)}"

    def _repr_html_(self) -> str:
        """How notebooks show it: what was found at what cost, and the solution as they show that."""
        line = self._cost
        if self.solution is None:
            return f"<p>{escape(line)}</p>"
        if isinstance(self.solution, dict):
            cells = (f"<tr><th>{escape(str(k))}</th><td>{escape(str(v))}</td></tr>" for k, v in self.solution.items())
            return f"<p>{escape(line)}</p><table>{''.join(cells)}</table>"
        grid = getattr(self.solution, "_repr_html_", None)
        return f"<p>{escape(line)}</p>{grid() if grid else f'<pre>{escape(str(self.solution))}</pre>'}"

    def as_dict(self) -> dict[str, Any]:
        """What `dibs solve --json` says of it.

        Returns:
            A dictionary that JSON can have.
        """
        return {
            "status": self.status.value,
            "solution": listed(self.solution),
            "nodes": self.nodes,
            "backtracks": self.backtracks,
            "asks": self.asks,
            "calls": self.calls,
            "depth": self.depth,
            "seconds": round(self.seconds, 9),
            "guide_seconds": round(self.guide_seconds, 9),
            "search": self.search,
        }


def listed(solution: Any) -> Any:
    """A solution as JSON can have it: texts as keys only, and names of variables may be anything.

    Where two names read alike (1 and "1"), all are written as Python writes them.
    """
    if not isinstance(solution, dict):
        return solution
    texts = {str(name): value for name, value in solution.items()}
    return texts if len(texts) == len(solution) else {repr(name): value for name, value in solution.items()}


def together(first: Outcome, second: Outcome) -> Outcome:
    """Two searches of one instance: the answer of the one that has it, the cost of both."""
    winner = second if second.status != Status.LIMIT or second.solutions > first.solutions else first
    return replace(
        winner,
        nodes=first.nodes + second.nodes,
        backtracks=first.backtracks + second.backtracks,
        asks=first.asks + second.asks,
        depth=max(first.depth, second.depth),
        seconds=first.seconds + second.seconds,
        calls=first.calls + second.calls,
        guide_seconds=first.guide_seconds + second.guide_seconds,
        tries=first.tries + second.tries,
        parts=(first.part, second.part),
    )


def gathered(solutions: Generator[Sequence[Any], None, Outcome | None]) -> Outcome | None:
    """The outcome at the end of a stream of solutions, with all of them."""
    found: list[Any] = []
    while True:
        try:
            found += next(solutions)
        except StopIteration as end:
            outcome: Outcome | None = end.value
            return outcome and replace(outcome, solution=found[0] if found else None, others=tuple(found[1:]))


def verified(instances: Sequence[Instance], true: Sequence[NDArray[np.int64]]) -> list[Any]:
    """Solutions from their true literals, ascending, checked by their family's own code."""
    family = type(instances[0])
    solutions: list[Any] = family.solutions(instances, true)
    for instance, wrong in zip(instances, family.violations(instances, solutions), strict=True):
        if wrong:
            raise WrongSolution(f"{instance!r}: {wrong}")
    return solutions
