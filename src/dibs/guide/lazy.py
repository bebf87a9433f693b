"""Guides by name, loaded when they are first asked: most instances never need theirs."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from dibs.problem import InputError
from dibs.problem.structure import Structure
from dibs.search.contract import Asks, Guide
from dibs.search.guidance import Guidance, suited_name

if TYPE_CHECKING:
    from dibs.guide.score import DiBS


class LazyGuide(Guide):
    """A guide that is read from its folder when it is first needed; `auto` is another one for each family."""

    def __init__(self, guidance: Guidance) -> None:
        self.guidance = guidance
        self.passes = guidance.steps
        self._lock = Lock()
        self._loaded: dict[str, DiBS] = {}

    def load(self, structure: Structure) -> DiBS:
        """The guide for problems of a structure; InputError where none comes with dibs."""
        assert self.guidance.guide is not None
        name, why = suited_name(self.guidance.guide, structure)
        if name is None:
            raise InputError(why)
        return self.load_named(name)

    def load_named(self, name: str) -> DiBS:
        from dibs.guide.load import load_guide

        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = load_guide(name, **self.guidance.settings)
            return self._loaded[name]

    def refusal(self, structure: Structure) -> str | None:
        """Why it cannot take problems of this structure, or None."""
        assert self.guidance.guide is not None
        name, why = suited_name(self.guidance.guide, structure)
        return why if name is None else self.load_named(name).refusal(structure)

    def rank(self, asks: Asks) -> NDArray[Any]:
        return self.load(asks.structure).rank(asks)


@cache
def lazy_guide(guidance: Guidance) -> LazyGuide:
    """One for each record: the weights are read once in a process."""
    return LazyGuide(guidance)
