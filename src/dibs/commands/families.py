"""The commands of `dibs generate` for families of problems of all kinds; `dibs.generate` makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from cyclopts import Parameter

from dibs.commands.making import Count, Maker, Seed, command, files, write
from dibs.problem import Instance, Problem
from dibs.problem.stored import to_json

Problems = Annotated[Path | None, Parameter(name="--output", help="a file; for more than one instance a folder")]
GraphKind = Literal["flat", "geometric"]


def timetable(
    count: Count = 1,
    /,
    *,
    classes: Annotated[int, Parameter(help="classes of the school")] = 40,
    teachers: Annotated[int, Parameter(help="its teachers, as many as classes or more")] = 40,
    hours: Annotated[int, Parameter(help="hours of the week")] = 40,
    fixed: Annotated[float, Parameter(help="share of the plan that is given")] = 0.46,
    away: Annotated[float, Parameter(help="share of a teacher's free hours in which they are away")] = 0.0,
    seed: Seed = 0,
    output: Problems = None,
) -> int:
    """Timetables of a school, a part of which is fixed, as problems in JSON.

    Each can be completed. One goes to standard output or to the file
    --output; more of them to the folder --output. Number i is the one of seed
    SEED + i - 1. `dibs train dibs.generate.timetable:family` learns from such
    instances.

    For example:
      dibs generate timetable 20 --classes 36 --teachers 36 --hours 36 --output weeks
    """
    from dibs.generate.timetable import timetable as made

    how: dict[str, Any] = {"classes": classes, "teachers": teachers, "hours": hours, "fixed": fixed, "away": away}
    return problems(lambda i: made(i, **how), count, seed, output, "timetables", "week-")


def colouring(
    count: Count = 1,
    /,
    *,
    nodes: Annotated[int, Parameter(help="nodes of the graph")] = 200,
    colours: Annotated[int, Parameter(help="how many colours, 3 or more")] = 8,
    degree: Annotated[float, Parameter(help="neighbours of a node, on the average")] = 26.0,
    fixed: Annotated[float, Parameter(help="share of the nodes whose colour is given")] = 0.15,
    kind: Annotated[GraphKind, Parameter(help="which nodes are joined")] = "flat",
    seed: Seed = 0,
    output: Problems = None,
) -> int:
    """Graphs to be coloured, a part of which is, as problems in JSON.

    Each can be coloured. flat: all nodes have as many neighbours of each
    other colour. geometric: near points of a square are neighbours. Files and
    seeds are as for timetables.

    For example:
      dibs generate colouring 20 --nodes 250 --output graphs
    """
    from dibs.generate.colouring import colouring as made

    how: dict[str, Any] = {"nodes": nodes, "colours": colours, "degree": degree, "fixed": fixed, "kind": kind}
    return problems(lambda i: made(i, **how), count, seed, output, "graphs", "graph-")


def cars(
    count: Count = 1,
    /,
    *,
    cars: Annotated[int, Parameter(help="cars of a line")] = 60,
    use: Annotated[float, Parameter(help="cars with an option, of all that its workshop could take")] = 0.95,
    seed: Seed = 0,
    output: Problems = None,
) -> int:
    """Lines of cars to be sequenced (CSPLib 001), as problems in JSON.

    Each has a solution. Files and seeds are as for timetables.

    For example:
      dibs generate cars 20 --cars 60 --use 0.9 --output lines
    """
    from dibs.generate.cars import cars as made

    return problems(lambda i: made(i, count=cars, use=use), count, seed, output, "lines", "line-")


def roster(
    count: Count = 1,
    /,
    *,
    nurses: Annotated[int, Parameter(help="nurses of the ward, 4 or more")] = 20,
    days: Annotated[int, Parameter(help="days of the plan, 7 or more")] = 28,
    fixed: Annotated[float, Parameter(help="share of the plan that is given")] = 0.5,
    seed: Seed = 0,
    output: Problems = None,
) -> int:
    """Rosters of nurses, a part of which is agreed, as problems in JSON.

    Each can be completed. Every shift is covered; nobody works more than five
    days of seven, more than was agreed, or too soon. Files and seeds are as
    for timetables.

    For example:
      dibs generate roster 20 --nurses 12 --days 21 --output wards
    """
    from dibs.generate.roster import roster as made

    how: dict[str, Any] = {"nurses": nurses, "days": days, "fixed": fixed}
    return problems(lambda i: made(i, **how), count, seed, output, "rosters", "ward-")


def tiling(
    count: Count = 1,
    /,
    *,
    rows: Annotated[int, Parameter(help="rows of the board, 4 or more")] = 10,
    columns: Annotated[int, Parameter(help="its columns; the cells are a multiple of 5")] = 14,
    fixed: Annotated[float, Parameter(help="share of the pieces that lie already")] = 0.0,
    seed: Seed = 0,
    output: Problems = None,
) -> int:
    """Boards for pentominoes that may not be turned, as problems in JSON.

    Each can be tiled with its pieces. Files and seeds are as for timetables.

    For example:
      dibs generate tiling 20 --rows 10 --columns 12 --output boards
    """
    from dibs.generate.tiling import tiling as made

    how: dict[str, Any] = {"rows": rows, "columns": columns, "fixed": fixed}
    return problems(lambda i: made(i, **how), count, seed, output, "boards", "board-")


def routes(
    count: Count = 1,
    /,
    *,
    size: Annotated[int, Parameter(help="rows and columns of the grid")] = 18,
    routes: Annotated[int, Parameter(help="how many routes fill it")] = 18,
    seed: Seed = 0,
    output: Problems = None,
) -> int:
    """Routes that fill a grid and do not cross, as formulas in DIMACS form.

    Each has a solution. The ends of the routes are given; the formula does
    not say what it is about. Files and seeds are as for timetables.

    For example:
      dibs generate routes 20 --size 12 --routes 10 --output grids
    """
    from dibs.generate.routes import routes as made

    named = command("routes", count, size=size, routes=routes, seed=seed)
    target = files(count, output, "grid-", ".cnf", "formulas")
    make = seeded(lambda i: made(i, size=size, count=routes), count, seed)
    return write(make, count, target, lambda i, formula: f"c {named}; number {i + 1}\n{formula.format()}")


def problems(made: Callable[[int], Problem], count: int, seed: int, output: Path | None, what: str, stem: str) -> int:
    """`count` problems from `seed` on."""
    target = files(count, output, stem, ".json", what)
    return write(seeded(made, count, seed), count, target, lambda i, one: to_json(cast(Problem, one)))


def seeded(made: Callable[[int], Instance], count: int, seed: int) -> Maker:
    def make() -> Iterable[Instance]:
        made(seed)  # what makes no sense is said before a file is begun
        return (made(seed + i) for i in range(count))

    return make


COMMANDS = (timetable, colouring, cars, roster, tiling, routes)
