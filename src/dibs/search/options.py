"""How to search: one frozen record, each field with its range and its help. The command line is made from it.

`Options` are those of one search, all of them decided. What a user said is a few of these fields; a `Plan`
(`search/plan.py`) is what becomes of that in view of the problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dibs.problem.structure import Level
from dibs.ranges import check, option

Tie = Literal["index", "degree", "impact", "random"]
Order = Literal["ascending", "lcv", "mcv", "jw", "random", "oracle"]
Trigger = Literal["always", "binary", "ternary"]
Select = Literal["mrv", "first", "confident"]
Strategy = Literal["dfs", "restarts", "nogoods"]
Root = Literal["singles", "locked"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a search does. Nothing here can change an answer, only how soon it comes, or LIMIT where a limit is set."""

    level: Level = option("hidden", "what one choice propagates", Level)
    strategy: Strategy = option(
        "dfs",
        "depth first; begin again after a while (restarts); or keep from every failure what cannot be true together "
        "(nogoods): a search of its own for long searches, on groups as well as cells",
        Strategy,
    )
    select: Select = option(
        "mrv",
        "tree search, the variable to branch on: the fewest values (in a formula: of the smallest clause), the first, "
        "or where the guide is sure and a choice decides much",
        Select,
    )
    tie: Tie = option("index", "tree search: which of the variables with the fewest values", Tie)
    order: Order = option("ascending", "which value is tried first; jw: Jeroslow and Wang's, for formulas", Order)
    trigger: Trigger = option("always", "tree search: ask the guide at any node, at 2 values, at 3 or more", Trigger)
    reuse: float | None = option(
        None,
        "tree search: a ranking serves the nodes below it while its surest choice is this probable",
        None,
        0,
        1,
        whole=False,
    )
    max_asks: int | None = option(None, "ask the guide at most so often", least=0)
    guide_after: int | None = option(
        None, "search without the guide first; from about so many nodes on, with it as well", least=0
    )
    restart_base: int = option(32, "restarts, nogoods: nodes, or failures, of the shortest run", least=1)
    root: Root = option(
        "singles", "nogoods: what is followed once, at the root: singles, also what a line and a box lock", Root
    )
    max_nodes: int | None = option(None, "stop with LIMIT after this many nodes", least=0)
    max_seconds: float | None = option(
        None, "stop with LIMIT after this many seconds of search and guide", least=0, whole=False
    )
    max_solutions: int = option(1, "go on until this many solutions are found", least=1)
    seed: int = option(0, "seed of random ties and orders", least=0)

    def __post_init__(self) -> None:
        check(self)

    @property
    def guide_selects(self) -> bool:
        """Whether a ranking also chooses the variable to branch on: then it is of all open literals."""
        return self.select == "confident" or self.strategy == "nogoods"


LIMITS = ("max_nodes", "max_seconds", "max_solutions", "seed")  # these do not say how to search
ALIASES = {
    "nodes": "max_nodes",
    "seconds": "max_seconds",
    "count": "max_solutions",
}  # also taken, in Python as in the shell
OF_GUIDES = ("trigger", "reuse", "max_asks", "guide_after")  # without a guide they would do nothing
OF_TREE = ("select", "tie", "trigger", "reuse", "alpha", "steps")  # the nogood search has no use for them
OF_NOGOODS = ("root",)
NOGOOD_ORDERS = ("ascending", "random", "oracle")  # of literals that need not be those of one cell
