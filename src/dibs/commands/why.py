"""`dibs why`: what contradicts each other in a problem that has no solution."""

from __future__ import annotations

import json as encoder
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from dibs.commands import source
from dibs.commands.answer import SAT_CODES
from dibs.commands.explain import only
from dibs.commands.tally import duration
from dibs.commands.terminal import Meter, Terminal
from dibs.errors import refusing
from dibs.problem.grid import Grid
from dibs.problem.parts import names
from dibs.problem.reading import Family
from dibs.problem.symbols import symbol_of
from dibs.ranges import checked_number
from dibs.search.outcome import Status
from dibs.wording import plural

if TYPE_CHECKING:
    from dibs.contradiction import Why


def why(
    puzzle: Annotated[str | None, Parameter(help="a file, - for standard input, or the puzzle itself")] = None,
    /,
    *,
    smallest: Annotated[bool, Parameter(help="look for as few givens and constraints as possible")] = False,
    max_seconds: Annotated[
        float | None, Parameter(name=("--max-seconds", "--seconds"), help="say what was found after this time")
    ] = None,
    json: Annotated[bool, Parameter(help="one JSON object")] = False,
    line: Annotated[int | None, Parameter(help="of a file: the puzzle that begins there; default: the first")] = None,
    family: Annotated[Family, Parameter(help="what the input is; auto: a CNF or Sudokus")] = "auto",
    box: Annotated[str | None, Parameter(help="rows x columns of a Sudoku's boxes, e.g. 2x5")] = None,
) -> int:
    """Say why a puzzle, a formula or a model has no solution.

    The answer is a set of givens and constraints that contradict each other,
    none of them too many: without any one of them there is a solution. Another
    solver checks it, if python-sat is installed. Of a grid's rows, columns and
    boxes it names the values that matter.

    --smallest looks for a set with as few givens and constraints as possible,
    and says whether there is none with fewer.

    Exit codes: 20 it has no solution, and this is why; 10 it has a solution;
    0 --max-seconds came first; 2 bad input or options.

    --json has the fields status, givens, constraints, minimal, smallest (true:
    proved; null: not asked), checked_by, seconds and calls.

    For example:
      dibs why 44..............
      dibs why puzzles.txt --line 12 --smallest
      dibs why formula.cnf --max-seconds 10 --json
      dibs why roster.json
    """
    from dibs import why as inquire

    text = source.find(puzzle)
    with refusing():
        if max_seconds is not None:
            max_seconds = checked_number("max_seconds", max_seconds, 0, None, whole=False)
        _, instance = only(text, line, family, box, repeats=True)
    with Terminal(lambda seconds: Meter(f"searching, {seconds:.0f} s") if seconds > 2 else None) as terminal:
        try:
            found = inquire(instance, smallest=smallest, max_seconds=max_seconds)
        except KeyboardInterrupt:
            terminal.say("interrupted; --max-seconds N says what is known by then")
            raise
        terminal.close()
        terminal.rows((encoder.dumps(found.as_dict()) if json else shown(found)) + "\n")
    return SAT_CODES[found.status]


def shown(found: Why) -> str:
    """For readers."""
    if found.status is Status.SAT:
        return "SAT  it has a solution: nothing contradicts itself"
    if found.status is Status.LIMIT:
        return f"LIMIT  not decided after {duration(found.seconds)}"
    counts = [len(found.givens), len(found.constraints)]
    what = [plural(n, name) for n, name in zip(counts, ("given", "constraint"), strict=True) if n]
    lines = [f"UNSAT  {' and '.join(what)} contradict each other"]
    lines += [f"  {name}" for name in names(found.parts)]
    if isinstance(found.problem, Grid):
        lines += ["", *board(found), ""]
    lines.append(
        "Each of them is needed: without it there is a solution."
        if found.minimal
        else "Time was up: perhaps not all of them are needed."
    )
    if found.smallest is not None:
        lines.append("No other set has fewer." if found.smallest else "Time was up: perhaps another set has fewer.")
    by = f"checked by {found.checked_by}" if found.checked_by else "not checked by another solver in time"
    lines.append(f"{by}; {plural(found.calls, 'call')}, {duration(found.seconds)}")
    return "\n".join(lines)


def board(found: Why) -> list[str]:
    """The grid: [5] for a given that is to blame, > and v at rows and columns that are."""
    grid = found.problem
    assert isinstance(grid, Grid)
    n, blamed = grid.size, {part.literal for part in found.parts if part.literal is not None}
    units = {part.within or part.name for part in found.parts if part.kind == "constraint"}
    rows, wide = grid.shape.box or (n, n)
    width = len(symbol_of(n, n))

    def cell(i: int) -> str:
        value = int(grid.values[i])
        text = (symbol_of(value, n) if value else ".").rjust(width)
        return f"[{text}]" if value and i * n + value - 1 in blamed else f" {text} "

    def joined(texts: list[str]) -> str:
        return "|".join("".join(texts[i : i + wide]) for i in range(0, n, wide))

    marks = [("v" if f"column {c + 1}" in units else " ").center(width + 2) for c in range(n)]
    lines = ["  " + joined(marks).replace("|", " ").rstrip()] if "v" in "".join(marks) else []
    for r in range(n):
        if r and r % rows == 0:
            lines.append("  " + "+".join(["-" * (wide * (width + 2))] * (n // wide)))
        mark = ">" if f"row {r + 1}" in units else " "
        lines.append(f"{mark} {joined([cell(i) for i in range(r * n, r * n + n)])}".rstrip())
    return lines
