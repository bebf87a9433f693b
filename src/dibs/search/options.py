"""How to search: one frozen record, each field with its range and its help. The command line is made from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dibs.problem.structure import Level, Structure
from dibs.ranges import check, option

Tie = Literal["index", "degree", "reach", "random"]
Order = Literal["ascending", "lcv", "mcv", "jw", "random", "oracle"]
Trigger = Literal["always", "binary", "ternary"]
Select = Literal["mrv", "confident", "first"]

LARGE = 256  # cells of the largest grid where strategy `auto` is restarts: 16x16
RUN = 256  # nodes, or failures, of the shortest run in larger ones
NOGOOD_ORDERS = ("ascending", "random", "oracle")  # of values that need not be those of one domain
EASY = 96  # nodes of the search there before the guide comes in
Strategy = Literal["dfs", "restarts", "nogoods", "auto"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a search does. Nothing here can change an answer, only how soon it comes, or LIMIT where a limit is set."""

    level: Level = option("hidden", "what one choice propagates: nothing forced, naked singles, or hidden too", Level)
    tie: Tie = option("index", "which of the domains with the fewest values is branched on", Tie)
    order: Order = option(
        "ascending", "which value is tried first; in a formula ascending is true, jw Jeroslow and Wang's", Order
    )
    trigger: Trigger = option("always", "where the guide is asked: any node, 2 values, 3 or more", Trigger)
    select: Select = option(
        "mrv",
        "which variable is branched on: the fewest values (in a formula: one of the smallest clause); where the guide "
        "is sure; the first",
        Select,
    )
    keep: float | None = option(
        None, "a ranking serves the nodes below it while its surest choice is this probable", None, 0, 1, whole=False
    )
    asks: int | None = option(None, "ask the guide at most so often", least=0)
    strategy: Strategy = option(
        "dfs",
        "depth first; begin again after a while; nogoods: note after every failure what cannot be true together, and "
        "branch on what failed often; auto: nogoods in grids above 16x16, else restarts (count above 1: always dfs)",
        Strategy,
    )
    unit: int = option(32, "nodes of the shortest run of restarts, failures of that of nogoods", least=1)
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
        if self.strategy == "nogoods":
            if self.select != "mrv":
                raise ValueError(
                    f"strategy = 'nogoods' branches on what failed often: select = {self.select!r} is not for it"
                )
            if self.level == "eliminate":
                raise ValueError("strategy = 'nogoods' needs level naked or hidden: eliminate forces nothing")
            if self.order not in NOGOOD_ORDERS:
                raise ValueError(f"strategy = 'nogoods' needs order ascending or random, not {self.order}")

    @property
    def guide_selects(self) -> bool:
        """Whether a ranking also chooses the variable to branch on."""
        return self.select == "confident"

    @property
    def all_ranked(self) -> bool:
        """Whether the guide is asked about all open literals, not just about those of one domain."""
        return self.guide_selects or self.strategy == "nogoods"

    def suited(self, structure: Structure) -> Options:
        """What strategy `auto` stands for in problems of a structure; any other is itself.

        In a large grid it is the nogood search. Runs are longer there, and the guide comes in sooner: a node costs ten
        times as much as in a small one. Whoever counts solutions gets the tree search by MRV there, and so does whoever
        asks for what the nogood search does not have.
        """
        if self.strategy != "auto":
            return self
        large = structure.family in ("sudoku", "latin") and structure.decisions > LARGE
        if large and self.count > 1:
            return replace(self, select="mrv" if self.guide_selects else self.select, strategy="dfs")
        if not large or not self.guide_selects or self.level == "eliminate" or self.order not in NOGOOD_ORDERS:
            return replace(self, strategy="restarts")
        after = None if self.after is None else min(self.after, EASY)
        unit = RUN if self.unit == Options.unit else self.unit
        return replace(self, select="mrv", strategy="nogoods", unit=unit, after=after)
