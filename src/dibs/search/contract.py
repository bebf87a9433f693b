"""The one interface between search and guidance: a batch of states goes out, scores come back.

`Guide` is who answers, `Asks` are what is asked, `Searcher` is who asks; `Searcher.run` is the one driver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock, never, waiting
from dibs.problem.structure import Instance, Structure
from dibs.search.outcome import Outcome


@dataclass(frozen=True)
class Asks:
    """States that wait for a ranking: n searches over one structure with L literals.

    All of it is for reading: the arrays, those of the structure included, refuse to be written to. Nothing that
    becomes of it changes a search: who asks keeps its own account of the searches that wait.
    """

    structure: Structure
    instances: Sequence[Instance]  # [n] the instance that each search is about
    rows: NDArray[np.int64]  # [n] the engine's own number of each search
    open: NDArray[np.bool_]  # [n, L] literals that are neither true nor killed
    true: NDArray[np.bool_]  # [n, L] literals that are chosen or forced
    candidates: NDArray[np.bool_]  # [n, L] the open literals of the domain to branch on: the ones to be ordered
    depth: NDArray[np.int64]  # [n] decisions above the node
    selecting: bool = False  # the scores also choose the domain: they are read as log-probabilities, candidates are all

    def __post_init__(self) -> None:
        object.__setattr__(self, "instances", list(self.instances))
        for name in ("rows", "open", "true", "candidates", "depth"):
            seen = self.__dict__[name].view()
            seen.flags.writeable = False
            object.__setattr__(self, name, seen)
        of = self.structure
        for shared in (of.start, of.member, of.exclusive, of.need, *of.memberships):
            shared.flags.writeable = False

    @classmethod
    def of(
        cls,
        structure: Structure,
        instances: Sequence[Instance],
        open_: NDArray[np.bool_],
        true: NDArray[np.bool_],
        *,
        candidates: NDArray[np.bool_] | None = None,
        rows: NDArray[np.int64] | None = None,
        depth: NDArray[np.int64] | None = None,
        selecting: bool = True,
    ) -> Asks:
        """States as a guide is asked about them; by default at the root, about all that is open.

        Args:
            structure: what all instances share.
            instances: one for each state.
            open_: [n, L] literals that are neither true nor false.
            true: [n, L] literals that are true.
            candidates: [n, L] literals that are branched on; all open ones, by default.
            rows: the searches that ask.
            depth: [n] decisions above each state.
            selecting: whether scores of all cells are wanted, to choose among them.

        Returns:
            The asks.
        """
        n = len(open_)
        return cls(
            structure=structure,
            instances=instances,
            rows=np.arange(n) if rows is None else rows,
            open=open_,
            true=true,
            candidates=open_ if candidates is None else candidates,
            depth=np.zeros(n, np.int64) if depth is None else depth,
            selecting=selecting,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def subset(self, rows: NDArray[np.int64]) -> Asks:
        """Some of the states, by their places here.

        Args:
            rows: places of the states.

        Returns:
            Asks about these states.
        """
        if len(rows) == len(self):
            return self
        parts = {name: self.__dict__[name][rows] for name in ("rows", "open", "true", "candidates", "depth")}
        return replace(self, instances=[self.instances[i] for i in rows], **parts)

    @property
    def checked(self) -> Callable[[Any], NDArray[Any]]:
        """`asks.checked(guide.rank(asks))` is what a guide returned, as an array; refuses all but real numbers [n, L].

        The shape is that of the asks before the guide has seen them.
        """
        return partial(checked, shape=self.open.shape)


def checked(scores: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A guide's scores as an array; refuses anything of another shape or kind than real numbers of `shape`."""
    found = np.asarray(scores)
    if found.shape != shape or found.dtype.kind not in "fiub":
        raise ValueError(
            f"the guide returned {found.dtype} of shape {found.shape}; "
            f"asked were real numbers of shape {shape}: a score for each literal of each state"
        )
    return found


class Ranks(Protocol):
    """All that an object needs to guide a search; `Guide` says what `rank` returns."""

    def rank(self, asks: Asks, /) -> Any: ...


class Guide:
    """Anything that can say what to try first: subclass it, and write `rank`. The rest has defaults.

    `rank` returns real numbers [n, L]; among the candidates of an ask the highest score is tried first, equal scores
    in ascending order, NaN last. A guide can only reorder: no score, however bad, changes an answer. Where a literal
    is decided by itself (it is in no decision group), a positive score tries it true first. Minus infinity for every
    candidate says that no order can help: the guide is not asked again below that state.
    """

    static: bool = False  # scores do not depend on the state: a search asks only once
    passes: int = 0  # forward passes of a model for one ask, for `Outcome.calls`

    def refusal(self, structure: Structure) -> str | None:
        """Why it cannot take problems of this structure.

        Args:
            structure: of the problems.

        Returns:
            A line, or None if it can.
        """
        return None

    def rank(self, asks: Asks) -> NDArray[Any]:
        """Say what to try first: write this one.

        Args:
            asks: n waiting states over L literals; for reading only.

        Returns:
            Scores, real numbers [n, L]; of the candidates of a state the highest is tried first.
        """
        raise NotImplementedError(f"{type(self).__name__} is a guide without a method rank(asks)")


class Around(Guide):
    """A guide around another one: whatever it does not say itself is the other's."""

    def __init__(self, guide: Guide) -> None:
        self.guide = guide
        self.static, self.passes = guide.static, guide.passes

    def refusal(self, structure: Structure) -> str | None:
        return self.guide.refusal(structure)

    def rank(self, asks: Asks) -> NDArray[Any]:
        return self.guide.rank(asks)


class _Adapted(Guide):
    """An object of another class that has `rank`, and perhaps some of the other attributes."""

    def __init__(self, found: Ranks) -> None:
        self.found = found
        self.static = bool(getattr(found, "static", Guide.static))
        self.passes = int(getattr(found, "passes", Guide.passes))
        self._refusal = getattr(found, "refusal", None)

    def refusal(self, structure: Structure) -> str | None:
        return self._refusal(structure) if self._refusal else None

    def rank(self, asks: Asks) -> NDArray[Any]:
        scores: NDArray[Any] = self.found.rank(asks)
        return scores


def as_guide(found: Ranks) -> Guide:
    """Any object with a method `rank` as a guide. A `Guide` is itself.

    Every call that takes a user's guide begins with it, so that all others can rely on a `Guide`.

    Args:
        found: the object.

    Returns:
        A `Guide`.

    Raises:
        TypeError: it has no method `rank`.
    """
    if isinstance(found, Guide):
        return found
    if not callable(getattr(found, "rank", None)):
        raise TypeError(f"{type(found).__name__} is not a guide: it has no method rank(asks)")
    return _Adapted(found)


class Searcher:
    """Searches of instances that share a structure, which can be put aside wherever they want a ranking.

    Three kinds: the tree search, the nogood search, engines of others. A subclass writes `advance`, `answer`, `charge`
    and `outcomes`; whoever wants to look at a search while it runs calls them by hand:

        while asks := searcher.advance():
            searcher.answer(asks, guide.rank(asks))
        outcomes = searcher.outcomes()
    """

    structure: Structure

    def advance(self, stopped: Callable[[], bool] = never) -> Asks | None:
        """Search on until every search is finished or waits for a ranking; those that wait, None when all are done.

        Once `stopped()` is true it returns None early; unfinished searches can be taken up again.
        """
        raise NotImplementedError

    def answer(self, asks: Asks, scores: NDArray[Any]) -> None:
        """Hand over a guide's scores [len(asks), literals]; refuses anything of another shape or kind."""
        raise NotImplementedError

    def charge(self, seconds: float, passes: int) -> None:
        """What the last answer cost: the searches that it was for share the time, and have so many passes each."""
        raise NotImplementedError

    def wait(self, seconds: float) -> None:
        """So many seconds went by outside of the only search, and are on its limit."""

    def patience(self) -> float:
        """Seconds that an answer may take before it comes too late for every search that waits."""
        return inf

    @property
    def ready(self) -> bool:
        """Whether there are solutions to take."""
        return False

    def take(self) -> list[Any]:
        """The solutions of the only instance that were found since, verified: the outcome will not have them."""
        return []

    def outcomes(self) -> list[Outcome | None]:
        """One for each instance, None where the search is not finished. Every solution has been verified."""
        raise NotImplementedError

    def run(
        self,
        guide: Ranks | None = None,
        stopped: Callable[[], bool] = never,
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        """Advance and answer until every search is finished, or `stopped()`.

        `turn` is held while the guide is asked, so that threads can share one; waiting for it is nobody's time.
        """
        asked = None if guide is None else as_guide(guide)
        while asks := self.advance(stopped):
            if asked is None:
                raise ValueError("the searches wait for a ranking, but there is no guide")
            with turn or nullcontext():
                begin = clock()
                with waiting(self.patience()):
                    scores = asked.rank(asks)
                took = clock() - begin
            begin = clock()
            self.answer(asks, scores)
            self.charge(took + clock() - begin, asked.passes)
