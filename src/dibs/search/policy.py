"""Ways to search, by name. A policy is data: the options that it stands for, and the guide that it asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from dibs.guide.asks import Asks
from dibs.guide.card import find, verify
from dibs.guide.guidance import Guidance
from dibs.problem.structure import Structure
from dibs.search.options import Options

if TYPE_CHECKING:
    from dibs.guide.score import DiBS

PolicyName = Literal["auto", "guided", "paper", "plain"]


@dataclass(frozen=True)
class Policy:
    help: str
    options: Options
    guidance: Guidance


_PLAIN = Options(level="hidden", tie="reach")
_GUIDED = replace(_PLAIN, select="confident", keep=0.9, strategy="restarts")

POLICIES: dict[str, Policy] = {
    "auto": Policy(
        "plain search; a guided one beside it once an instance has proved to be hard",
        replace(_GUIDED, after=1_000),
        Guidance(guide="relational"),
    ),
    "guided": Policy(
        "guided from the first node on, asked rarely, with restarts", _GUIDED, Guidance(guide="relational")
    ),
    "paper": Policy(
        "DiBS as in the paper: asked about the order of two values, depth first",
        Options(level="naked", trigger="binary"),
        Guidance(guide="relational"),
    ),
    "plain": Policy("classical search, no guide", _PLAIN, Guidance()),
}


LIMITS = ("nodes", "seconds", "seed", "count")  # fields of `Options` that do not say how to search
HOW = tuple(f.name for f in fields(Options) if f.name not in LIMITS)
OF_GUIDES = ("select", "keep", "asks", "price", "worth", "after")  # without a guide they would do nothing


class Waiting:
    """A guide that is loaded when it is first needed: most instances never need it."""

    def __init__(self, guidance: Guidance) -> None:
        self.guidance = guidance
        self.passes = guidance.steps
        self._lock = Lock()
        self._loaded: DiBS | None = None

    def load(self) -> DiBS:
        from dibs.guide.load import chosen

        with self._lock:
            if self._loaded is None:
                self._loaded = chosen(self.guidance)
            assert self._loaded is not None
            return self._loaded

    def refusal(self, structure: Structure) -> str | None:
        """Why it cannot take problems of this structure, or None; another family need not load it."""
        if self._loaded is None and (family := verify(find(self.guidance.guide or "")).family) != structure.family:
            return f"{self.guidance.guide} is a guide for the family {family}, not {structure.family}"
        return self.load().refusal(structure)

    def rank(self, asks: Asks) -> NDArray[Any]:
        return self.load().rank(asks)


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
            if key in given and given[key] not in (getattr(Options(), key), "first", "weighted"):
                raise ValueError(f"{key} = {given[key]!r} is about a guide: name one with guide, or a policy")
    own = {key: value for key, value in given.items() if key not in Options.__dataclass_fields__}
    options = replace(base.options, **{key: value for key, value in given.items() if key not in own})
    guidance = replace(base.guidance, **own)
    if guidance.guide is not None and options.order == "oracle":
        raise ValueError("order = 'oracle' is a guide itself: give one or the other")
    for key in ("alpha", "steps"):
        if options.all_ranked and key in given and given[key] != getattr(Guidance(), key):
            raise ValueError(f"{key} = {given[key]!r} is about the cell that MRV takes: it needs select = 'mrv'")
    return options, guidance
