"""The regressions of trigger `worth`, held against what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table

if TYPE_CHECKING:
    from dibs.model.worth import Fit


def tables(title: str, found: Mapping[str, Fit]) -> Iterator[RenderableType]:
    yield title
    for level, one in found.items():
        yield f"level {level}: fitted to {one.states:,} states; on 1, log(open literals), depth, log(values)"
        for name, part in (("log nodes of a failing sibling", one.cost), ("logit of the hit rate", one.gain)):
            yield f"  {name}: " + ", ".join(f"{x:+.3f}" for x in part)
        table = Table(
            title="Other puzzles, by what is predicted, an eighth of the states each",
            title_justify="left",
            expand=False,
        )
        for column in ("states", "failing sibling: nodes predicted", "measured", "hit rate predicted", "measured"):
            table.add_column(column, justify="right")
        for cost, gain in zip(one.cost_check, one.gain_check, strict=True):
            figures = (
                f"{cost.predicted:,.1f}",
                f"{cost.measured:,.1f}",
                f"{gain.predicted:.3f}",
                f"{gain.measured:.3f}",
            )
            table.add_row(f"{cost.states:,}", *figures)
        yield table
