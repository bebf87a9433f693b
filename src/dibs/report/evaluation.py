"""What was found out about a guide, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table

if TYPE_CHECKING:
    from dibs.model.evaluate import Evaluation
    from dibs.study.judge import Accuracy

MOST_DEPTH = 10  # this depth and all below it share a row
MOST_ARITY = 5  # this arity and all above it


def tables(title: str, found: Evaluation) -> Iterator[RenderableType]:
    """The right value first, calibration, cost and speed; `Evaluation.as_dict` has every depth and bin."""
    yield title
    yield _accuracy(found)
    yield _calibration(found)
    if found.cost:
        c = found.cost
        mean = c.nodes / max(c.siblings, 1)
        yield f"cost-weighted p_s {c.accuracy:.4f}: each state counts with the nodes of its wrong values"
        yield (
            f"  {c.siblings:,} wrong values of {c.states:,} states cost {mean:,.1f} nodes each on average "
            f"({c.capped:,} cut at {c.limit:,})"
        )
        yield f"  tried in the guide's order, {c.entered:,} of {c.nodes:,} nodes are entered"
    if found.speed:
        yield _speed(found)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", expand=False)
    for name in columns:
        table.add_column(name, justify="left" if name == columns[0] else "right", no_wrap=True)
    return table


def _accuracy(found: Evaluation) -> Table:
    table = _table("The solution's value comes first", "states", "number", "p_s, MRV cell", "surest open cell")

    def rows(name: str, parts: dict[int, Accuracy], most: int) -> None:
        for at in sorted({min(key, most) for key in parts}):
            some = [part for key, part in parts.items() if min(key, most) == at]
            more = "+" if at == most and max(parts) > most else ""
            row(f"{name} {at}{more}", *some)

    def row(name: str, *parts: Accuracy) -> None:
        states, right, surest = (sum(getattr(part, f) for part in parts) for f in ("states", "right", "surest"))
        table.add_row(name, f"{states:,}", f"{right / states:.4f}", f"{surest / states:.4f}")

    row("all", found.overall)
    row("root", found.root)
    table.add_section()
    rows("depth", {at: part for at, part in found.by_depth.items() if at}, MOST_DEPTH)
    table.add_section()
    rows("values", found.by_arity, MOST_ARITY)
    return table


def _calibration(found: Evaluation) -> Table:
    table = _table("Calibration of the likeliest value", "cells", "number", "confidence", "right", "ECE, 15 bins")
    for name, part in (("all open cells", found.cells), ("MRV cell", found.branch)):
        figures = (part.mean_confidence, part.accuracy, part.ece)
        table.add_row(name, f"{part.predictions:,}", *(f"{figure:.4f}" for figure in figures))
    return table


def _speed(found: Evaluation) -> Table:
    batches = sorted({part.batch for part in found.speed})
    columns = [f"batch {batch}" for batch in batches]
    table = _table("Milliseconds for a state", "states", "open literals", *columns)
    for name in ("root", "path"):
        row = {part.batch: part for part in found.speed if part.states == name}
        literals = max(row.values(), key=lambda part: part.batch).open
        table.add_row(name, f"{literals:.0f}", *(f"{row[batch].milliseconds:.3g}" for batch in batches))
    return table
