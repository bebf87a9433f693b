"""Ways to search, by name. A policy is data: the options that it stands for, and the guide that it asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from dibs.guide.asks import Asks, Guide
from dibs.guide.guidance import Guidance
from dibs.problem import InputError
from dibs.problem.structure import Structure
from dibs.search.options import LARGE, Options

if TYPE_CHECKING:
    from dibs.guide.score import DiBS

PolicyName = Literal["auto", "guided", "paper", "plain"]


@dataclass(frozen=True)
class Policy:
    help: str
    options: Options
    guidance: Guidance


_PLAIN = Options(level="hidden", tie="reach")
_GUIDED = replace(_PLAIN, select="confident", keep=0.9, strategy="auto")

SUITED = {"sudoku": "relational", "latin": "relational-latin", "cnf": "sat"}  # guide `auto`, by family
LARGE_SUDOKU = "relational-sudoku"  # and for Sudokus above 16x16

POLICIES: dict[str, Policy] = {
    "auto": Policy(
        "plain search; a guided one beside it once an instance has proved to be hard",
        replace(_GUIDED, after=1_000),
        Guidance(guide="auto"),
    ),
    "guided": Policy("guided from the first node on, asked rarely, with restarts", _GUIDED, Guidance(guide="auto")),
    "paper": Policy(
        "DiBS as in the paper: asked about the order of two values, depth first",
        Options(level="naked", trigger="binary"),
        Guidance(guide="relational"),
    ),
    "plain": Policy("classical search, no guide", _PLAIN, Guidance()),
}


LIMITS = ("nodes", "seconds", "seed", "count")  # fields of `Options` that do not say how to search
HOW = tuple(f.name for f in fields(Options) if f.name not in LIMITS)
OF_GUIDES = ("select", "keep", "asks", "after")  # without a guide they would do nothing


class Waiting(Guide):
    """A guide that is loaded when it is first needed: most instances never need it.

    Guide `auto` is the one that comes with dibs for the family at hand.
    """

    def __init__(self, guidance: Guidance) -> None:
        self.guidance = guidance
        self.passes = guidance.steps
        self._lock = Lock()
        self._loaded: dict[str, DiBS] = {}

    def load(self, structure: Structure | None = None) -> DiBS:
        """The guide for problems of a structure; `auto` without one is that for 9x9 Sudokus."""
        from dibs.guide.load import chosen

        name = suited(self.guidance.guide, structure)
        with self._lock:
            if name not in self._loaded:
                found = chosen(replace(self.guidance, guide=name))
                assert found is not None
                self._loaded[name] = found
            return self._loaded[name]

    def refusal(self, structure: Structure) -> str | None:
        """Why it cannot take problems of this structure, or None."""
        try:
            return self.load(structure).refusal(structure)
        except _NoGuide as error:
            return str(error)

    def rank(self, asks: Asks) -> NDArray[Any]:
        return self.load(asks.structure).rank(asks)


class _NoGuide(InputError):
    """No guide for a family comes with dibs."""


def suited(name: str | None, structure: Structure | None) -> str:
    """The guide that a name means; `auto`: the one that comes with dibs for such problems, InputError if none does."""
    if name != "auto":
        return name or ""
    family, cells = ("sudoku", 81) if structure is None else (structure.family, structure.decisions)
    return suited_to(family, cells)


def suited_to(family: str, cells: int) -> str:
    """Guide `auto` for a family, and so many cells or variables."""
    if family not in SUITED:
        raise _NoGuide(f"no guide for the family {family} comes with dibs")
    return LARGE_SUDOKU if family == "sudoku" and cells > LARGE else SUITED[family]


@cache
def waiting(guidance: Guidance) -> Waiting:
    """One for each record: the weights are read once in a process."""
    return Waiting(guidance)


def chosen_fields(name: str | None, given: Mapping[str, Any], guided: bool = False) -> tuple[Options, Guidance]:
    """The records of a policy, with the fields that a user gave in place of its own.

    Without a name it is `auto`; but a user who says how to search, or brings a guide, gets just that.
    """
    if name is not None and name not in POLICIES:
        raise ValueError(f"policy = {name!r}: choose one of {', '.join(POLICIES)}")
    told = guided or any(key in given for key in (*HOW, "guide"))
    base = Policy("", Options(), Guidance()) if name is None and told else POLICIES[name or "auto"]
    if base.guidance.guide is None and not guided and given.get("guide") is None:
        for key in OF_GUIDES:
            if key in given and given[key] not in (getattr(Options(), key), "first"):
                raise ValueError(f"{key} = {given[key]!r} is about a guide: name one with guide, or a policy")
    if base.options.strategy == "auto" and "select" in given and "strategy" not in given:
        given = {**given, "strategy": "restarts"}  # whoever says what to branch on gets a search that does
    if given.get("strategy") == "nogoods" and "select" not in given:
        given = {**given, "select": "mrv"}
    own = {key: value for key, value in given.items() if key not in Options.__dataclass_fields__}
    options = replace(base.options, **{key: value for key, value in given.items() if key not in own})
    guidance = replace(base.guidance, **own)
    if guidance.guide is not None and options.order == "oracle":
        raise ValueError("order = 'oracle' is a guide itself: give one or the other")
    for key in ("alpha", "steps"):
        if options.all_ranked and key in given and given[key] != getattr(Guidance(), key):
            raise ValueError(f"{key} = {given[key]!r} is about the cell that MRV takes: it needs select = 'mrv'")
    return options, guidance
