"""`dibs generate`: instances of every family, seeded. The work is done in `dibs.generate`."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from dibs import generate
from dibs.commands.families import command_of
from dibs.commands.making import Count, Examined, Seed, command, files, lines, numbered, write
from dibs.commands.source import parse_box
from dibs.errors import Refused
from dibs.generate.families import families
from dibs.problem import InputError, Sudoku, read_instances
from dibs.problem.shape import Box, shape
from dibs.problem.structure import Level
from dibs.problem.sudoku import SIZES, default_box

if TYPE_CHECKING:
    from dibs.guide.denoiser import Denoiser

HELP = """\
Make Sudokus, Latin squares with holes, SAT formulas, and problems of all
kinds: timetables, graphs, lines of cars, rosters, tilings, routes.

The same command with the same seed makes the same instances. They go to
standard output or, once complete, to --output; the first line is a comment
with the command that made them.

For example:
  dibs generate sudoku 100 --givens 24-28 --seed 1 --output puzzles.txt
  dibs generate latin 10 --order 30 --holes 380 --balanced
  dibs generate sat 1000 --variables 9 --satisfiable --output 3sat9
"""

app = App(name="generate", help=HELP, help_format="plaintext")

Workers = Annotated[int | None, Parameter(help="how many work at once; default: all cores")]
OutputFile = Annotated[Path | None, Parameter(name="--output", help="a file; default: standard output")]
Flag = Parameter(negative="")
for family in families().values():
    app.command(command_of(family))


@app.command
def sudoku(
    count: Count = 1,
    /,
    *,
    size: Annotated[int | None, Parameter(help="rows of the grid, e.g. 16: short for its usual box")] = None,
    box: Annotated[str | None, Parameter(help="rows x columns of a box; default: 3x3")] = None,
    givens: Annotated[str | None, Parameter(help="how many cells are given: 24, or a range 22-26")] = None,
    unique: Annotated[bool, Flag, Parameter(help="one solution: so it is without --kept, and not with it")] = False,
    minimal: Annotated[bool, Flag, Parameter(help="no given can be left out")] = False,
    symmetric: Annotated[bool, Flag, Parameter(help="the places of the givens look the same upside down")] = False,
    kept: Annotated[
        int | float | None, Parameter(help="how many cells of a full grid stay: 275, or a fraction 0.44; see above")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    output: OutputFile = None,
) -> int:
    """Sudokus with one solution, up to 25x25; with --kept, any up to 36x36.

    With --kept, cells of a random full grid are blanked at random. Such a
    puzzle can be completed, in one or more ways; it is quick to make at every
    size, and can be hard to solve.

    For example:
      dibs generate sudoku 1000 --minimal --seed 7 > minimal.txt
      dibs generate sudoku 5 --size 16 --givens 100-110
      dibs generate sudoku 2 --size 25 --unique
      dibs generate sudoku 50 --size 25 --kept 0.44 --seed 3
    """
    if unique and kept is not None:
        raise Refused(f"dibs: kept = {kept}: cells are kept at random, so without unique")
    boxes = _box(size, box)
    how: dict[str, Any] = {"minimal": minimal, "symmetric": symmetric, "kept": kept, "seed": seed}
    make = partial(generate.sudoku, count, box=boxes, givens=_givens(givens), workers=workers, **how)
    named = command("sudoku", count, box=f"{boxes[0]}x{boxes[1]}", givens=givens, **how)
    return lines(make, count, named, output)


@app.command
def latin(
    count: Count = 1,
    /,
    *,
    order: Annotated[int, Parameter(help="rows of the square")],
    holes: Annotated[int | float, Parameter(help="how many cells are left blank: 380, or a fraction 0.42")],
    balanced: Annotated[bool, Flag, Parameter(help="the same number of holes in every row and column")] = False,
    seed: Seed = 0,
    output: OutputFile = None,
) -> int:
    """Latin squares with holes: each can be completed, in one or more ways.

    Orders above 35 are written as grids with an empty line between them.

    For example:
      dibs generate latin 20 --order 33 --holes 400 --balanced
    """
    how: dict[str, Any] = {"order": order, "holes": holes, "balanced": balanced, "seed": seed}
    return lines(partial(generate.latin, count, **how), count, command("latin", count, **how), output)


@app.command
def sat(
    count: Count = 1,
    /,
    *,
    variables: Annotated[int, Parameter(help="how many variables")],
    clauses: Annotated[int | None, Parameter(help="how many clauses; default: as many as make it hard")] = None,
    k: Annotated[int, Parameter(help="literals of each clause")] = 3,
    satisfiable: Annotated[bool, Flag, Parameter(help="only formulas that have a solution")] = False,
    seed: Seed = 0,
    output: Annotated[Path | None, Parameter(help="a file; for more than one formula a folder")] = None,
) -> int:
    """Random k-SAT formulas in DIMACS form.

    One formula goes to standard output or to the file --output; more of them
    to uf<variables>-<number>.cnf in the folder --output.

    For example:
      dibs generate sat 1000 --variables 9 --satisfiable --output 3sat9
    """
    how: dict[str, Any] = {"variables": variables, "clauses": clauses, "k": k, "satisfiable": satisfiable, "seed": seed}
    target = files(count, output, f"uf{variables}-", ".cnf", "formulas")
    return write(partial(generate.sat, count, **how), count, target, numbered(command("sat", count, **how)))


@app.command
def low_clue(
    count: Count = 1,
    /,
    *,
    givens: Annotated[int, Parameter(help="how many cells are given at most")] = 17,
    start: Annotated[str | None, Parameter(help="a file of puzzles to start from")] = None,
    seed: Seed = 0,
    output: OutputFile = None,
) -> int:
    """9x9 Sudokus with very few givens and one solution, by local search.

    Each given less takes many times longer: 20 take about a second, 17 need a
    start that has 17 or 18.

    For example:
      dibs generate low-clue 10 --givens 20
      dibs generate low-clue 10 --start known17.txt
    """
    examined = Examined()
    make = partial(generate.low_clue, count, givens=givens, start=_read(start), seed=seed, progress=examined)
    return lines(make, count, command("low-clue", count, givens=givens, start=start, seed=seed), output, examined)


@app.command
def hard(
    count: Count = 1,
    /,
    *,
    nodes: Annotated[float, Parameter(help="the least mean cost in nodes")] = 60,
    level: Annotated[Level, Parameter(help="what one choice propagates while the cost is measured")] = "hidden",
    seed: Seed = 0,
    output: OutputFile = None,
) -> int:
    """9x9 Sudokus that cost many nodes, by local search.

    For example:
      dibs generate hard 10 --nodes 80 --seed 3
    """
    examined = Examined()
    make = partial(generate.hard, count, nodes=nodes, level=level, seed=seed, progress=examined)
    named = command("hard", count, nodes=f"{nodes:g}", level=level, seed=seed)
    return lines(make, count, named, output, examined)


@app.command
def doubted(
    count: Count = 1,
    /,
    *,
    guide: Annotated[str, Parameter(help="a guide that comes with dibs, or its folder")] = "relational",
    doubt: Annotated[float, Parameter(help="the least doubt, see above")] = 0.5,
    steps: Annotated[int, Parameter(help="how often a family breeds: the more, the more doubt")] = 8,
    start: Annotated[str | None, Parameter(help="a file of puzzles that families begin with; default: random")] = None,
    seed: Seed = 0,
    output: OutputFile = None,
) -> int:
    """9x9 Sudokus that a trained guide is unsure of, by local search.

    The doubt in a puzzle is -log of the probability that the guide gives to
    the right value of a cell, summed over the cells that hidden singles leave
    open and divided by 81. A guide that knows the solution has 0. One that
    knows nothing has 0.3 in random puzzles and 1 in the hardest that were
    published; one that is sure of wrong values has more. Such puzzles are what
    a guide should be trained on next (docs/TRAINING.md).

    The same seed makes the same puzzles as long as the guide is the same.

    For example:
      dibs generate doubted 1000 --seed 5 --output doubted.txt
      dibs generate doubted 1000 --guide runs/mine/guide --doubt 0.8
      dibs generate doubted 500 --guide relational-probing --start hard.txt
    """
    examined = Examined()
    named = command("doubted", count, guide=guide, doubt=f"{doubt:g}", steps=steps, start=start, seed=seed)
    how: dict[str, Any] = {"doubt": doubt, "steps": steps, "seed": seed, "progress": examined}
    return lines(
        lambda: generate.doubted(count, _denoiser(guide), start=_read(start), **how), count, named, output, examined
    )


def _box(size: int | None, box: str | None) -> Box:
    boxes = parse_box(box)
    if size is None:
        return boxes or (3, 3)
    if boxes and boxes[0] * boxes[1] != size:
        raise Refused(f"dibs: --size {size} and --box {box} disagree")
    usual = boxes or default_box(size)
    if usual is None or size not in SIZES:
        raise Refused(f"dibs: --size {size}: a Sudoku has one of the sizes {', '.join(map(str, SIZES))}")
    return usual


def _givens(text: str | None) -> tuple[int, int] | None:
    """`24` or `22-26`."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", text)
    if not found:
        raise Refused(f"dibs: --givens {text}: write a number or a range, e.g. 24 or 22-26")
    return int(found[1]), int(found[2] or found[1])


def _denoiser(guide: str) -> Denoiser:
    """A trained guide that takes 9x9 Sudokus; any other raises."""
    from dibs.guide.denoiser import Denoiser

    found = Denoiser.load(guide)
    if reason := found.refusal(shape(9, (3, 3)).structure):
        raise InputError(reason, guide)
    return found


def _read(path: str | None) -> list[Sudoku]:
    """The puzzles to start from; a bad one raises."""
    puzzles = []
    for line, item in read_instances(path, "sudoku") if path else ():
        if isinstance(item, InputError):
            raise item
        if not isinstance(item, Sudoku) or item.size != 9:
            raise InputError("not a 9x9 Sudoku", path, line)
        puzzles.append(item)
    return puzzles
