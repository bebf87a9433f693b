"""How to search: one frozen record, each field with its range and its help. The command line is made from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dibs.problem.structure import Level, Structure
from dibs.ranges import check, option

Tie = Literal["index", "degree", "reach", "random"]
Order = Literal["ascending", "true", "lcv", "mcv", "jw", "random", "oracle"]
Trigger = Literal["always", "binary", "ternary", "worth"]
Select = Literal["mrv", "mrv-confident", "confident", "first", "weighted", "auto"]

LARGE = 256  # cells of the largest grid where `auto` is `confident`: 16x16
RUN = 256  # nodes, or failures, of the shortest run in larger ones
WEIGHTED_ORDERS = ("ascending", "true", "random", "oracle")  # of values that need not be those of one domain
EASY = 96  # nodes of the search there before the guide comes in
Strategy = Literal["dfs", "restarts", "discrepancy", "learn"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a search does. Nothing here can change an answer, only how soon it comes, or LIMIT where a limit is set."""

    level: Level = option(
        "hidden", "what one choice propagates: singles (naked, hidden), and what a line and a box lock (locked)", Level
    )
    tie: Tie = option("index", "which of the domains with the fewest values is branched on", Tie)
    order: Order = option(
        "ascending", "which value is tried first; in a formula true is ascending, jw Jeroslow and Wang's", Order
    )
    trigger: Trigger = option(
        "always", "where the guide is asked: any node, 2 values, 3 or more, where it is worth the time", Trigger
    )
    select: Select = option(
        "mrv",
        "which variable is branched on: the fewest values (in a formula: one of the smallest clause); of these, "
        "or of all, where the guide is sure; the first; weighted: of cells and places alike, what has few open and "
        "often failed; auto: weighted in grids above 16x16, in a Sudoku with level locked for hidden, else confident",
        Select,
    )
    keep: float | None = option(
        None, "a ranking serves the nodes below it while its surest choice is this probable", None, 0, 1, whole=False
    )
    asks: int | None = option(None, "ask the guide at most so often", least=0)
    price: float | None = option(
        None, "trigger worth: what an ask costs, in nodes; by default measured at the start", least=0, whole=False
    )
    worth: str | None = option(None, "trigger worth: a file that `dibs model worth` wrote; by default dibs' own")
    strategy: Strategy = option(
        "dfs",
        "depth first; begin again after a while; likely paths first; with select weighted: learn from every failure "
        "what cannot be true together (with count above 1 always dfs)",
        Strategy,
    )
    unit: int = option(32, "nodes of the shortest run of restarts, failures of that of learn", least=1)
    after: int | None = option(
        None, "search without the guide first; from about so many nodes on, with it as well", least=0
    )
    nodes: int | None = option(None, "stop with LIMIT after this many nodes", least=0)
    seconds: float | None = option(
        None, "stop with LIMIT after this many seconds of search and guide", least=0, whole=False
    )
    seed: int = option(0, "seed of random ties and orders", least=0)
    count: int = option(1, "go on until this many solutions are found", least=1)

    def __post_init__(self) -> None:
        check(self)
        if self.select == "weighted" and self.level == "eliminate":
            raise ValueError("select = 'weighted' needs level naked, hidden or locked: eliminate watches no groups")
        if self.strategy == "learn" and self.select not in ("weighted", "auto"):
            raise ValueError(f"strategy = 'learn' needs select = 'weighted', not {self.select!r}")
        if self.strategy == "learn" and self.order not in WEIGHTED_ORDERS:
            raise ValueError(f"strategy = 'learn' needs order ascending or random, not {self.order}")

    @property
    def guide_selects(self) -> bool:
        """Whether a ranking also chooses the variable to branch on."""
        return self.select in ("mrv-confident", "confident", "auto")

    @property
    def all_ranked(self) -> bool:
        """Whether the guide is asked about all open literals, not just about those of one domain."""
        return self.guide_selects or self.select == "weighted"

    def suited(self, structure: Structure) -> Options:
        """What selection `auto` stands for in problems of a structure; any other is itself.

        In a large grid runs are longer, the search learns from its failures, and the guide comes in sooner: there a
        node costs ten times as much as in a small one. With any other strategy one ranking of the root serves the whole
        search. In a large Sudoku level `locked` takes the place of `hidden`. Level `eliminate` and orders that look at
        domains make it a search of domains there as well.
        """
        if self.select != "auto":
            return self
        large = structure.family in ("sudoku", "latin") and structure.decisions > LARGE
        if not large or self.level == "eliminate" or self.order not in WEIGHTED_ORDERS:
            return replace(self, select="confident", strategy="restarts" if self.strategy == "learn" else self.strategy)
        after = None if self.after is None else min(self.after, EASY)
        level = "locked" if structure.family == "sudoku" and self.level == "hidden" else self.level
        strategy = "learn" if self.strategy == "restarts" else self.strategy
        asks = self.asks if strategy == "learn" else 1
        return replace(
            self, select="weighted", level=level, keep=0.0, asks=asks, strategy=strategy, unit=RUN, after=after
        )
