"""Install the wheel into an empty environment elsewhere and use it there: `python website/elsewhere.py dist`.

What a newcomer has: no checkout, no extras, an empty folder. Only what the wheel brings can make this work.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PUZZLE = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"

USED = f"""
import dibs
outcome = dibs.solve(dibs.Sudoku.parse({PUZZLE!r}))
assert outcome.status == "SAT" and outcome.solution.array.shape == (9, 9)
m = dibs.Model()
choices = [m.choice(name, "ab") for name in ("x", "y")]
m.all_different(choices)
assert dibs.count_solutions(m) == 2
assert dibs.solve(dibs.Sudoku.parse("4.....1..3......"), guide="relational", level="naked").asks
from importlib.metadata import metadata
about = metadata("dibs")
assert about["Version"] == dibs.__version__ and about["License-Expression"] == "MIT" and about.get_all("Project-URL")
print(dibs.__file__)
"""


@contextmanager
def elsewhere(folder: Path, extras: str = "") -> Iterator[tuple[Path, dict[str, str], str]]:
    """(an empty folder, the environment of its processes, what to install): nothing of this checkout, no path to it, no
    cache of what was compiled here."""
    [wheel] = folder.resolve().glob("*.whl")
    [_] = folder.glob("*.tar.gz")
    with tempfile.TemporaryDirectory(prefix="dibs-elsewhere-") as place:
        home = Path(place)
        venv.create(home / "venv", with_pip=True)
        (home / "empty").mkdir()
        world = {name: os.environ[name] for name in os.environ if not name.startswith(("PYTHON", "NUMBA", "XDG"))}
        world |= {"HOME": str(home), "PATH": f"{home / 'venv' / 'bin'}:{os.environ['PATH']}"}
        configured = Path.home() / ".config" / "pip" / "pip.conf"
        if configured.is_file():  # where packages come from is this machine's affair
            world["PIP_CONFIG_FILE"] = str(configured)
        yield home / "empty", world, str(wheel) + extras


def main(folder: Path) -> None:
    with elsewhere(folder) as (empty, world, wheel):

        def call(*words: str) -> str:
            print("$", *words, flush=True)
            return subprocess.run(words, cwd=empty, env=world, check=True, stdout=subprocess.PIPE, text=True).stdout

        call("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        assert call("dibs", "--version").strip()
        assert "SAT" in call("dibs", "solve", PUZZLE)
        assert str(empty.parent) in call("python", "-c", USED)
        assert "relational" in call("dibs", "guides")
    print(f"{Path(wheel).name}: installed and used elsewhere")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
