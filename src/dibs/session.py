"""A problem that is asked about again and again, by one search that keeps what it learns.

session = dibs.Session(puzzle)
session.solve(assume=["r1c3=5"])
row = session.add((1, 1, ["r1c1=5", "r1c2=5"]))
session.remove(row)
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import index
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dibs.clock import never
from dibs.problem.linear import impossible_bounds
from dibs.problem.structure import Instance
from dibs.problem.words import (
    chosen,
    group_shown,
    listed,
    literal_of,
    shown,
    truth,
    without_givens,
    words_for,
)
from dibs.search.contract import Around, Asks, Ranks
from dibs.search.nogoods import arrays
from dibs.search.nogoods.answers import KEPT
from dibs.search.nogoods.incremental import Call, Group, Incremental, Switch
from dibs.search.outcome import Outcome, Status, WrongSolution
from dibs.solving import instance_of, solver

__all__ = ["Handle", "Session"]

Bools = NDArray[np.bool_]

RANKINGS = 64  # of a guide that are kept
RETURNED = 16  # givens that are put first at once: all are assumed anew then
REFUSED = {
    "engine": "is not dibs' own search",
    "proof": "is for one answer",
    "root": "would look at givens that may go again",
    "max_solutions": "is for one answer: use near, or add what excludes a solution",
    "strategy": "is nogoods in a session",
}


class Handle:
    """Something that was added to a session, and can be removed."""

    def __init__(self, session: Session, literal: int | None = None, switch: Switch | None = None) -> None:
        self._session, self._literal, self._switch = session, literal, switch

    @property
    def name(self) -> str:
        """For readers."""
        of = self._session
        if self._literal is not None:
            return shown(of.problem, self._literal)
        assert self._switch is not None
        [(least, most, literals)] = self._switch.groups
        return group_shown(of.problem, least, most, literals, of._roles.get(self._switch))

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Session:
    """A search that is asked again: with assumptions, with more or fewer givens and groups.

    `problem`: a grid, a formula, a `Problem` or a `Model`. `guide`, `policy` and other keyword arguments are those of
    `solve`, for the nogood search; limits are those of each call. Literals are said as the family has them: "r1c3=5"
    and "r1c3!=5", signed numbers, names and `Not` of them, in models literals or ("name", value). What calls teach
    stays, as far as it follows from the problem itself: givens and whatever was added can go at any time.
    """

    def __init__(
        self, problem: Any, *, guide: Ranks | str | None = None, policy: str | None = None, **options: Any
    ) -> None:
        of = instance_of(problem)
        for name in options:
            full = {"count": "max_solutions"}.get(name, name)
            if full in REFUSED and (full, options[name]) != ("strategy", "nogoods"):
                raise ValueError(f"{name} = {options[name]!r} {REFUSED[full]}")
        if options.get("order") == "oracle":
            raise ValueError("order = 'oracle' is for one answer: it solves the problem first")
        made = solver(guide, policy, {**options, "strategy": "nogoods"})
        plan = made.plan(of)
        self.problem: Instance = of
        self._model = problem if problem is not of else None
        self._options = plan.options
        asked = made.guide if plan.guided else None
        takes = asked is not None and asked.refusal(of.structure) is None
        self._guide = _Kept(asked) if asked is not None and takes else None
        asks = 0 if self._guide is None else 1 if self._guide.static else arrays.NEVER
        self._search = Incremental(without_givens(of), plan.options, asks)
        self._givens: dict[int, Handle] = {}
        self._order = array("i")  # the same, in the order in which they are assumed
        self._gone: Counter[int] = Counter()  # how often each was taken back
        self._returned: dict[int, None] = {}  # those that came back after one time, and are not put first yet
        self._ever: set[int] = set()  # all that was given since their negations got literals of their own
        self._added: dict[Switch, Handle] = {}
        self._roles: WeakKeyDictionary[Switch, str] = WeakKeyDictionary()
        self._wordings: dict[int, Any] = {}  # what is assumed in this call, as it was said
        self._search.named = self._named
        self._read: deque[tuple[Any, Bools]] = deque(maxlen=KEPT)  # solutions, and what holds in them
        self._heard: dict[str, int] = {}  # literals by their words, as far as they are texts
        self._said = _Words(of)
        for literal in of.given.tolist():
            self._give(literal)

    def _literal(self, name: Any) -> int:
        if isinstance(name, str) and name in self._heard:
            return self._heard[name]
        model = getattr(name, "model", None)
        if model is not None and self._model is not None and model is not self._model:
            raise ValueError(f"{name!r} is of another model")
        literal = literal_of(self.problem, name)
        if isinstance(name, str):
            self._heard[name] = literal
        return literal

    @property
    def givens(self) -> tuple[Any, ...]:
        """What is given now, as `assume` takes it."""
        return tuple(map(self._said.__getitem__, self._givens))

    @property
    def added(self) -> tuple[Handle, ...]:
        """The groups that were added and not removed."""
        return tuple(self._added.values())

    # What the problem is

    def add(self, what: Any) -> Handle:
        """Add to the problem, until it is removed.

        Args:
            what: a given; a list of literals, one of which at least is true; or a group (least, most, literals,
                role).

        Returns:
            A handle for `remove`.
        """
        if isinstance(what, list):
            return self._group(1, len(what), what, None)
        if isinstance(what, tuple) and len(what) in (3, 4, 5) and isinstance(what[2], Sequence | set | range):
            return self._group(what[0], what[1], what[2], what[3] if len(what) > 3 else None)
        return self._give(self._literal(what))

    def _give(self, literal: int) -> Handle:
        if literal in self._givens:
            raise ValueError(f"{shown(self.problem, literal)} is given already")
        self._givens[literal] = handle = Handle(self, literal)
        self._order.append(literal)
        if self._gone[literal] == 1:
            self._returned[literal] = None
            if len(self._returned) == RETURNED:
                self._put_first()
        if literal >= 0:
            self._ever.add(literal)
        return handle

    def _put_first(self) -> None:
        """Assume what went once and came back before all else: it will stay, and others will go.

        Whatever goes takes all with it that was assumed later. What comes and goes more often than once stays last.
        """
        others = [literal for literal in self._order if literal not in self._returned]
        self._order = array("i", [*self._returned, *others])
        self._returned.clear()

    def _group(self, least: Any, most: Any, names: Iterable[Any], role: str | None) -> Handle:
        literals = [self._literal(one) for one in names]
        name = group_shown(self.problem, least, most, literals, role)
        try:
            least, most = index(least), index(most)
        except TypeError:
            raise ValueError(f"{name}: bounds are whole numbers") from None
        if len(set(literals)) < len(literals):
            twice = next(one for i, one in enumerate(literals) if one in literals[:i])
            raise ValueError(f"{name}: {shown(self.problem, twice)} is there twice")
        if len(literals) and (impossible := impossible_bounds(least, most, len(literals))):
            raise ValueError(f"{name}: {impossible}")
        switch = self._search.add([(least, most, literals)])
        self._added[switch] = handle = Handle(self, switch=switch)
        if role is not None:
            self._roles[switch] = role
        return handle

    def remove(self, what: Any) -> None:
        """Take something back.

        Args:
            what: what was added, by its handle, or a given, by its handle or its words.
        """
        if not isinstance(what, Handle):
            literal = self._literal(what)
            if literal not in self._givens:
                raise ValueError(f"{shown(self.problem, literal)} is not given")
            self._take(literal)
        elif what._literal is not None and self._givens.get(what._literal) is what:
            self._take(what._literal)
        elif what._switch is not None and self._added.get(what._switch) is what:
            del self._added[what._switch]
            self._search.remove(what._switch)
        else:
            raise ValueError(f"{what.name} is not in this session: it was removed, or added to another")

    def _take(self, literal: int) -> None:
        del self._givens[literal]
        self._order.pop(int((np.frombuffer(self._order, np.int32) == literal).argmax()))
        self._returned.pop(literal, None)
        self._gone[literal] += 1

    # Questions

    def solve(
        self, assume: Iterable[Any] = (), *, max_nodes: int | None = None, max_seconds: float | None = None
    ) -> Outcome:
        """Solve the problem as it is now.

        Args:
            assume: more literals that are true, for this call only.
            max_nodes: of this call.
            max_seconds: of this call.

        Returns:
            An `Outcome`. UNSAT is about these assumptions: `outcome.failing` has those of them, and those givens and
            handles of groups, that cannot hold together; it is empty where the problem has no solution without any of
            them.

        Examples:
            >>> import dibs
            >>> session = dibs.Session(dibs.Sudoku.parse("4.....1..3......"))
            >>> tuple(sorted(session.solve(assume=["r1c2=4"]).failing))
            ('r1c1=4', 'r1c2=4')
        """
        wordings = {self._literal(one): one for one in listed("assume", assume)}
        options = self._options
        if max_nodes is not None or max_seconds is not None:
            nodes = options.max_nodes if max_nodes is None else max_nodes
            options = replace(
                options, max_nodes=nodes, max_seconds=options.max_seconds if max_seconds is None else max_seconds
            )
        return self._call(wordings, [], options)

    def _call(
        self, assumed: dict[int, Any], more: Sequence[Switch], options: Any = None, prefer: Sequence[int] = ()
    ) -> Outcome:
        self._wordings = {literal: words for literal, words in assumed.items() if literal not in self._givens}
        switches = [*self._added, *more]
        literals = self._order + array("i", self._wordings)
        if any(~literal in self._ever for literal in assumed):  # is it still forced? Others will be asked as well
            self._search.expect(self._ever)
            self._ever.clear()
        self._search.begin(switches, literals, options or self._options, prefer)
        outcome = self._search.outcome()  # it may be decided already
        if outcome is None and self._guide is None:
            self._search.advance(never)
            outcome = self._search.outcome()
        elif outcome is None:
            call = Call(self._search, self.problem)
            call.run(self._guide)
            [outcome] = call.outcomes()
        assert outcome is not None
        if outcome.status is Status.SAT:
            self._check(outcome.solution, literals, [group for switch in switches for group in switch.groups])
        return outcome

    def _check(self, solution: Any, literals: Sequence[int], groups: Iterable[Group]) -> None:
        """What the checker of the family cannot know: givens, assumptions and groups of this call."""
        holds = self._holds(solution)
        held = holds[np.array(literals, np.int32)]
        if not held.all():
            raise WrongSolution(f"{self.problem!r}: {shown(self.problem, literals[int(held.argmin())])} does not hold")
        for least, most, members in groups:
            if not least <= holds[np.array(members, np.int32)].sum() <= most:
                raise WrongSolution(f"{self.problem!r}: not {group_shown(self.problem, least, most, members)}")

    def _holds(self, solution: Any) -> Bools:
        """[2 literals] whether a literal holds, or `~literal`, which counts from the end; from the solution itself.

        Of a text that was read before, as it was then.
        """
        for known, holds in self._read:
            if known is solution:
                return holds
        true = truth(self.problem, solution)
        holds = np.concatenate([true, ~true[::-1]])
        if isinstance(solution, str):
            self._read.appendleft((solution, holds))
        return holds

    def _named(self, found: list[Any]) -> tuple[Any, ...]:
        """Givens, assumptions and handles of switches in the user's words."""
        said, assumed, added = self._said, self._wordings, self._added
        count = 0
        while count < len(found) and isinstance(found[count], Switch):  # they are assumed before all else
            count += 1
        failing = [assumed[one] if one in assumed else said[one] for one in found[count:]]
        return (*failing, *(added[one] for one in found[:count] if one in added))

    def near(self, solution: Any, assume: Iterable[Any] = ()) -> Iterator[Outcome]:
        """Solutions of the problem as it is now, those with the fewest changes first, each once.

        A change is a cell, a variable or a literal with another value. Where a limit of the session comes first, the
        last outcome is LIMIT.

        Args:
            solution: in the family's own form; it need not be a solution any more.
            assume: more literals that are true.

        Returns:
            An iterator of `Outcome`s.
        """
        wordings = {self._literal(one): one for one in listed("assume", assume)}
        liked = chosen(self.problem, solution)
        used: list[Switch] = []
        try:
            yield from self._nearest(liked, wordings, used)
        finally:
            for switch in used:
                self._search.remove(switch)

    def _nearest(self, liked: list[int], wordings: dict[int, Any], used: list[Switch]) -> Iterator[Outcome]:
        size = len(liked)
        bound = self._search.add([(0, size, liked)])
        used.append(bound)
        best, same = None, -1
        while same < size:
            outcome = self._call(wordings, [bound], prefer=liked)
            if outcome.status is not Status.SAT:
                break
            best, same = outcome, self._same(outcome, liked)
            self._search.tighten(bound, min(same + 1, size))
        if best is None or (outcome.status is Status.LIMIT):
            yield outcome
            return
        yield best
        blocks = [self._block(best, size, used)]
        while same >= 0:
            bound = self._search.add([(same, size, liked)])
            used.append(bound)
            while (outcome := self._call(wordings, [bound, *blocks], prefer=liked)).status is Status.SAT:
                yield outcome
                blocks.append(self._block(outcome, size, used))
            if outcome.status is Status.LIMIT:
                yield outcome
            if outcome.status is Status.LIMIT or bound not in self._search.failing:
                return  # without the bound there is no other one either
            used.remove(bound)
            self._search.remove(bound)
            same -= 1

    def _same(self, outcome: Outcome, liked: list[int]) -> int:
        return int(self._holds(outcome.solution)[liked].sum())

    def _block(self, outcome: Outcome, size: int, used: list[Switch]) -> Switch:
        """A group that excludes a solution."""
        used.append(self._search.add([(0, size - 1, chosen(self.problem, outcome.solution))]))
        return used[-1]


class _Words(dict[int, Any]):
    """What literals are called, by the literal; a name is made when it is first asked for."""

    def __init__(self, of: Instance) -> None:
        self._of = of

    def __missing__(self, literal: int) -> Any:
        self[literal] = words_for(self._of, literal)
        return self[literal]


class _Kept(Around):
    """A guide that is asked about a state once, as long as it is among the last ones."""

    def __init__(self, guide: Any) -> None:
        super().__init__(guide)
        self._said: OrderedDict[bytes, NDArray[Any]] = OrderedDict()

    def rank(self, asks: Asks) -> NDArray[Any]:
        key = np.packbits(asks.open).tobytes() + np.packbits(asks.true).tobytes()
        if key not in self._said:
            self._said[key] = np.array(asks.checked(self.guide.rank(asks)))
            if len(self._said) > RANKINGS:
                self._said.popitem(last=False)
        self._said.move_to_end(key)
        return self._said[key]
