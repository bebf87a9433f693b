"""What the scripts that draw figures share: a JSON with the numbers beside each SVG, and how both look."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dibs import Options, __version__
from dibs.guide.card import WEIGHTS, find, verify
from dibs.report.reliability import STYLE, check

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
GUIDE = "relational"
COLOURS = "#000000", "#0072b2", "#d55e00", "#999999"  # told apart by everybody; in grey, lines and markers do it
MARKERS = "o", "s", "^", "D"
LINES = "-", "--", "-.", ":"


def origin(command: str, guide: str = GUIDE) -> dict[str, Any]:
    """How the numbers were made."""
    weights = verify(find(guide)).sha256[WEIGHTS]
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    return {"command": command, "dibs": __version__, "guide": guide, "weights": weights[:12], "machine": machine}


def changed(options: Options) -> dict[str, Any]:
    """The options that are not the defaults."""
    plain = asdict(Options())
    return {key: value for key, value in asdict(options).items() if value != plain[key]}


def write(path: Path, found: dict[str, Any], size: tuple[float, float], draw: Callable[[Any, Any], None]) -> None:
    """`path` with the figure that `draw(figure, found)` makes, in inches, and the numbers beside it as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    check(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    path.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure, found)
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=300, metadata={"Date": None} if path.suffix == ".svg" else None)
    print(f"{path} and {path.with_suffix('.json').name}")
