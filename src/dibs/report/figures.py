"""How figures look, and how they become files: the same numbers, the same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dibs.dtypes import Floats
from dibs.problem.text import InputError

if TYPE_CHECKING:
    from dibs.report.section import Picture

COLUMN = 3.4  # inches: one column of a paper
SMALL = 7  # points, of legends and labels within a figure
MOST = 7  # curves that can be told apart
POINTS = 160  # of a curve, about
STYLE: Any = {
    "font.size": 8,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.hashsalt": "dibs",  # the same figures, the same file
}


class Pen(NamedTuple):
    """Colours are told apart by everybody; in grey, dashes and markers do it."""

    color: str
    linestyle: Any
    marker: str


PENS = (
    Pen("#000000", "-", "o"),
    Pen("#0072b2", (0, (5, 1.5)), "s"),
    Pen("#d55e00", (0, (4, 1.2, 1, 1.2)), "^"),
    Pen("#009e73", (0, (1, 1)), "D"),
    Pen("#8e2b73", (0, (7, 1.5, 1, 1.5, 1, 1.5)), "v"),
    Pen("#7a5c00", "-", "x"),
    Pen("#3f8fc0", (0, (2, 1.5)), "P"),
)
GREY = "0.6"
PALE = "0.82"


def ready() -> None:
    """Raise InputError if there is nothing to draw with."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError("figures need matplotlib: pip install 'dibs[bench]'") from None


def pens() -> Iterator[dict[str, Any]]:
    """Keywords for `plot`, one set for each curve."""
    for pen in PENS:
        yield pen._asdict() | {"markersize": 3, "linewidth": 1.1, "markeredgewidth": 0.8}


def plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def drawn(picture: Picture) -> tuple[bytes, bytes]:
    """As SVG and as PNG."""
    ready()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=picture.inches, layout="constrained")
        picture.draw(figure)
        for axes in figure.axes:
            plain(axes)
        _settle(figure)
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Title": picture.title})
        figure.savefig(png, format="png", dpi=300)
    return svg.getvalue(), png.getvalue()


def _settle(figure: Any) -> None:
    """Lay it out once and for all, with the ticks that axes have chosen for their size.

    Otherwise the texts of ticks and the layout may chase each other, and every file would be laid out anew.
    """
    from matplotlib.ticker import FixedLocator, MaxNLocator

    engine = figure.get_layout_engine()
    engine.execute(figure)
    axes = [axis for one in figure.axes for axis in (one.xaxis, one.yaxis)]
    choosing = [axis for axis in axes if isinstance(axis.get_major_locator(), MaxNLocator)]
    for axis in choosing:
        axis.set_major_locator(FixedLocator(axis.get_majorticklocs()))
    if choosing:
        engine.execute(figure)
    figure.set_layout_engine("none")


def legend(where: Any, **more: Any) -> None:
    """Of a figure or of axes: small and without a frame."""
    where.legend(**{"frameon": False, "fontsize": SMALL, "handlelength": 2.8, "labelspacing": 0.3} | more)


def thousands(axis: Any) -> None:
    """Ticks of a logarithmic axis in plain words: 10, 1k, 1M."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(numticks=10))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())


def ones_and_threes(axis: Any) -> None:
    """Ticks of a logarithmic axis that may have less than a decade: 0.1, 0.3, 1, 3."""
    from matplotlib.ticker import LogLocator

    thousands(axis)
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=10))


def whole(axis: Any) -> None:
    """No ticks between whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(8, integer=True))


def short(value: float) -> str:
    """0.001, 1, 10, 1k, 100k, 1M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def beyond(values: Floats) -> tuple[Floats, Floats]:
    """x and how many of the values [n] exceed it, in %, from the smallest above 0 on: some points, and the thirty
    largest values one by one."""
    ordered = np.sort(values[values > 0])
    if not len(ordered):
        return np.zeros(0), np.zeros(0)
    near = np.searchsorted(ordered, np.geomspace(ordered[0], ordered[-1], POINTS)).clip(0, len(ordered) - 1)
    x = np.unique(np.append(ordered[near], ordered[-30:]))
    above = len(ordered) - np.searchsorted(ordered, x, side="right")
    return np.append(x[0], x), 100 * np.append(len(ordered), above) / len(values)
