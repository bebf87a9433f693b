"""The reliability diagram: how often predictions of a given confidence were right, and how many there were."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Floats
from dibs.problem.text import InputError
from dibs.report.figures import COLUMN, SMALL, plain, ready
from dibs.report.figures import STYLE as STYLE
from dibs.writing import explained, replacing

if TYPE_CHECKING:
    from dibs.study.reliability import Reliability

SUFFIXES = (".svg", ".png", ".pdf")
INCHES = COLUMN, 4.2
COLOURS = "#0072b2", "#d55e00"  # told apart by everybody, and in grey
MARKERS = "o", "s"


def check(path: Path) -> None:
    """Raise InputError where `draw` could not, before hours of work are spent."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"a figure ends in {', '.join(SUFFIXES)}", str(path))
    if not path.absolute().parent.is_dir():
        raise InputError("cannot be written: no such folder", str(path))
    ready()


def draw(path: Path, title: str, curves: dict[str, Reliability]) -> None:
    """Write the figure of one or two curves, by name; the suffix of `path` says the format."""
    check(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=INCHES, layout="constrained")
        drawn(figure, curves).set_title(title, fontsize=8)
        kind = path.suffix.lower()[1:]
        with explained(path), replacing(path) as file:
            figure.savefig(file, format=kind, dpi=300, metadata={"Date": None} if kind == "svg" else None)


def drawn(figure: Any, curves: dict[str, Reliability]) -> Any:
    """The diagram in a Matplotlib figure; its upper axes."""
    top, low = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    _accuracy(top, curves)
    _counts(low, curves)
    return top


def _accuracy(axes: Any, curves: dict[str, Reliability]) -> None:
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--", zorder=1)
    for (name, curve), colour, marker in zip(curves.items(), COLOURS, MARKERS, strict=False):
        full = curve.count > 0
        x, y = (part[full] / curve.count[full] for part in (curve.confidence, curve.right))
        error = np.abs(_interval(y, curve.count[full]) - y)
        label = f"{name}: ECE {curve.ece:.3f}"
        axes.errorbar(x, y, error, color=colour, marker=marker, markersize=3, linewidth=1, elinewidth=0.6, label=label)
    axes.set(xlim=(0, 1), ylim=(0, 1), ylabel="share that was right")
    axes.legend(frameon=False, loc="upper left", fontsize=SMALL)
    plain(axes)


def _interval(share: Floats, count: NDArray[np.int64]) -> Floats:
    """[2, n] Wilson's 95 % interval of shares [n] of `count` predictions: a bin with few of them says little."""
    z = 1.96**2 / count
    middle, half = share + z / 2, np.sqrt(z * (share * (1 - share) + z / 4))
    found: Floats = np.stack([middle - half, middle + half]) / (1 + z)
    return found


def _counts(axes: Any, curves: dict[str, Reliability]) -> None:
    for (_, curve), colour in zip(curves.items(), COLOURS, strict=False):
        edges = np.linspace(0, 1, len(curve.count) + 1)
        axes.stairs(curve.count, edges, color=colour, linewidth=1)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.set(xlabel="probability of the likeliest value", ylabel="predictions")
    plain(axes)
