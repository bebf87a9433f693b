"""Why a problem has no solution: givens and constraints that contradict each other, and none of them too many.

A search with a switch for every part finds some that fail together; parts are left out one after the other as long as
the rest still fails. What is left is minimal, and it is checked: another solver finds that it has no solution, and for
each part there is a solution of all the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dibs.clock import Late, clock
from dibs.problem.own import Problem
from dibs.problem.parts import Part, Parts, names, parts_of
from dibs.problem.structure import Instance
from dibs.search.external.registry import installed
from dibs.search.hitting import Hitting
from dibs.search.nogoods.incremental import Call, Incremental, Switch
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status, WrongSolution, verified
from dibs.search.solver import checked_instance
from dibs.solving import instance_of, solve

__all__ = ["Why", "why"]

TRIMS = 4  # times that a failure is looked at again, before parts are left out one by one
CHECKERS = ("glucose4", "cadical195")  # engines that look whether the parts contradict each other
CHECKING = 10.0  # seconds for that


@dataclass(frozen=True)
class Why:
    """What contradicts each other."""

    problem: Instance
    status: Status  # UNSAT: this is why; SAT: there is a solution; LIMIT: it was not decided in time
    parts: tuple[Part, ...] = ()  # givens first
    solution: Any = None
    minimal: bool = False  # without any one of the parts there is a solution
    smallest: bool | None = None  # whether no other set has fewer givens and constraints; None: not asked
    checked_by: str | None = None  # the solver that found too that the parts contradict each other; None: none in time
    seconds: float = 0.0
    calls: int = 0  # of the search

    @property
    def givens(self) -> tuple[Any, ...]:
        """The givens among the parts, as a session takes them."""
        return tuple(part.words for part in self.parts if part.kind == "given")

    @property
    def constraints(self) -> tuple[str, ...]:
        """The other parts by name; a unit of a grid with the values that matter: `column 3: 5, 7`."""
        return tuple(names(part for part in self.parts if part.kind == "constraint"))

    def as_dict(self) -> dict[str, Any]:
        """What `dibs why --json` says of it.

        Returns:
            A dictionary that JSON can have.
        """
        return {
            "status": self.status.value,
            "givens": [part.name for part in self.parts if part.kind == "given"],
            "constraints": list(self.constraints),
            "minimal": self.minimal,
            "smallest": self.smallest,
            "checked_by": self.checked_by,
            "seconds": round(self.seconds, 6),
            "calls": self.calls,
        }

    def __str__(self) -> str:
        return "; ".join(names(self.parts)) or str(self.status)


def why(problem: Any, *, smallest: bool = False, max_seconds: float | None = None, seed: int = 0) -> Why:
    """Why a problem has no solution: givens and constraints that contradict each other, none of them too many.

    Givens are parts of their own, units of a grid by the values that matter, clauses and groups as they are.

    Args:
        problem: a grid, a formula, a `Problem` or a `Model`.
        smallest: look for as few parts as possible; `Why.smallest` says whether that is proved.
        max_seconds: after so long it is what was found so far: `Why.minimal` says whether every part is needed.
        seed: of the search.

    Returns:
        A `Why`; printed, it names the parts.

    Examples:
        >>> import dibs
        >>> print(dibs.why(dibs.Sudoku.parse("..4.......4.....", repeats=True)))
        r1c3=4; r3c3=4; column 3: 4
    """
    of = checked_instance(instance_of(problem))
    options = Options(strategy="nogoods", restart_base=256, order="random", seed=seed, max_seconds=max_seconds)
    return _Inquiry(of, options).answer(smallest)


class _Inquiry:
    """The search for an explanation."""

    def __init__(self, of: Instance, options: Options) -> None:
        self.problem, self.options = of, options
        self.began, self.calls = clock(), 0
        self.known: Parts = parts_of(of)
        self.bare = Problem(of.structure.literals or 1, groups=self.known.certain)
        self.search = Incremental(self.bare, options)
        self.switch: dict[Part, Switch] = {}
        self.part: dict[int | Switch, Part] = {}
        self.without: dict[Part, set[int]] = {}  # for a part that is needed: a solution of the others
        self.enlist(self.known.parts)

    def enlist(self, parts: Iterable[Part]) -> None:
        """Make parts known to the search."""
        for part in parts:
            if part.literal is not None:
                self.part[part.literal] = part
            else:
                self.switch[part] = self.search.add(part.groups)
                self.part[self.switch[part]] = part

    def left(self) -> Options:
        """The options with the time that is left."""
        if self.options.max_seconds is None:
            return self.options
        return replace(self.options, max_seconds=max(0.0, self.options.max_seconds - (clock() - self.began)))

    def fails(self, parts: Iterable[Part]) -> list[Part] | set[int]:
        """Some of the parts that fail together, or the true literals of a solution of all of them."""
        listed = list(parts)
        literals = [part.literal for part in listed if part.literal is not None]
        self.search.begin([self.switch[part] for part in listed if part.literal is None], literals, self.left())
        self.calls += 1
        call = Call(self.search, self.bare)
        call.run()
        [outcome] = call.outcomes()
        assert outcome is not None
        if outcome.status is Status.LIMIT:
            raise Late
        if outcome.status is Status.SAT:
            return set(outcome.solution)
        failing = {self.part[one] for one in self.search.failing}
        return [part for part in listed if part in failing]

    def answer(self, smallest: bool) -> Why:
        try:
            found = self.fails(self.known.parts)
        except Late:
            return self.result(Why(self.problem, Status.LIMIT))
        if isinstance(found, set):
            [solution] = verified([self.problem], [np.array(sorted(found), np.int64)])
            return self.result(Why(self.problem, Status.SAT, solution=solution))
        core, minimal = self.reduced(self.trimmed(found))
        proved = None
        if smallest:
            core, proved = self.fewest(core) if minimal else (core, False)
        if minimal:
            core, minimal = self.refined(core)
        return self.result(self.checked(core, minimal, proved))

    def result(self, found: Why) -> Why:
        return replace(found, seconds=clock() - self.began, calls=self.calls)

    def trimmed(self, core: list[Part]) -> list[Part]:
        """Fewer parts that fail: a failure of a failure is often smaller."""
        for _ in range(TRIMS):
            try:
                found = self.fails(core)
            except Late:
                return core
            assert isinstance(found, list)
            if len(found) == len(core):
                break
            core = found
        return core

    def reduced(self, core: Sequence[Part], needed: Iterable[Part] = ()) -> tuple[list[Part], bool]:
        """Parts of `core` that fail, none of which can be left out, and True; False where there was no time.

        `needed`: parts that are known to be.
        """
        kept, left = list(needed), [part for part in core if part not in set(needed)]
        while left:
            part = left.pop()
            try:
                found = self.fails([*kept, *left])
            except Late:
                return [*kept, *left, part], False
            if isinstance(found, list):
                left = [one for one in left if one in set(found)]
            else:
                kept.append(part)
                self.without[part] = found
        return kept, True

    def fewest(self, core: list[Part]) -> tuple[list[Part], bool]:
        """As few parts that fail as there are, and True; what was found so far and False where there was no time.

        Whatever fails has a part outside every set of parts that has a solution. So a smallest set that hits the rest
        of each of those is no larger than a smallest set that fails; once one of them fails itself, it is that.
        """
        every = self.known.parts
        number = {part: i for i, part in enumerate(every)}
        hitting = Hitting(len(every), self.options.seed)
        try:
            for part in core:
                hitting.add(number[one] for one in self.opposed(self.without[part]))
            while True:
                hit = hitting.smallest(self.left())
                if hit is None:
                    return core, False
                if hitting.least >= len(core):
                    return core, True
                found = self.fails([every[i] for i in hit])
                if isinstance(found, list):
                    return self.reduced(found)
                hitting.add(number[one] for one in self.opposed(found))
        except Late:
            return core, False

    def opposed(self, true: set[int]) -> list[Part]:
        """The parts that do not hold in a solution of some, once no further one can be made to."""
        held = [part for part in self.known.parts if part.holds(true)]
        left = [part for part in self.known.parts if not part.holds(true)]
        out = []
        while left:
            part = left.pop()
            found = self.fails([*held, part])
            if isinstance(found, set):
                held += [part, *(one for one in left if one.holds(found))]
                left = [one for one in left if not one.holds(found)]
            else:
                out.append(part)
        return out

    def refined(self, core: list[Part]) -> tuple[list[Part], bool]:
        """The same with what matters of parts that consist of others: every part still does, so none becomes idle."""
        coarse = [part for part in self.known.parts if part.finer and part in core]
        if not coarse:
            return core, True
        rest = [part for part in core if not part.finer]
        finer = [one for part in coarse for one in part.finer]
        self.enlist(finer)
        try:
            found = self.fails([*rest, *finer])
        except Late:
            return core, True
        assert isinstance(found, list)
        smaller, done = self.reduced([*rest, *(part for part in finer if part in set(found))], rest)
        return (smaller, True) if done else (core, True)

    def checked(self, core: list[Part], minimal: bool, proved: bool | None) -> Why:
        """The answer, after code that shares nothing with the search has looked at it."""
        order = {part: i for i, part in enumerate(self.part.values())}
        core = sorted(core, key=lambda part: (part.kind != "given", order[part]))
        for part in core if minimal else []:
            true = self.without[part]
            others = [one for one in core if one is not part and not one.holds(true)]
            if others or self.bare.violation(true) or part.holds(true):
                raise WrongSolution(f"{self.problem!r}: {part.name} is not shown to be needed")
        by, outcome = _second_opinion(self.bare, core)
        if outcome.status is Status.SAT:
            raise WrongSolution(f"{self.problem!r}: {by} finds a solution of what is said to fail")
        confirmed = by if outcome.status is Status.UNSAT else None
        return Why(self.problem, Status.UNSAT, tuple(core), None, minimal, proved, confirmed)


def _second_opinion(bare: Problem, core: Sequence[Part]) -> tuple[str, Outcome]:
    """What another solver says of these parts alone; where none is installed, dibs' own on the problem from scratch."""
    groups = [group for part in core for group in part.groups if part.kind == "constraint"]
    alone = Problem(
        bare.literals,
        groups=[*bare.groups, *(group for group in groups if group[2])],
        at_least_one=[literals for least, _, literals in groups if least and not literals],
        given=[part.literal for part in core if part.literal is not None],
    )
    for engine in CHECKERS:
        if installed(engine):
            return engine, solve(alone, engine=engine, max_seconds=CHECKING)
    return "a search from scratch", solve(alone, max_seconds=CHECKING)
