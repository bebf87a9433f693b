"""`dibs model`: what a trained guide is, and how good it is. The work is done in `dibs.model`."""

from __future__ import annotations

import json as encoder
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from dibs.commands.solve import COMPILING
from dibs.commands.terminal import Meter, Terminal, pace, show
from dibs.errors import Refused
from dibs.problem.text import InputError
from dibs.search.tree import kernel_ready

if TYPE_CHECKING:
    from dibs.model.evaluate import Evaluation
    from dibs.problem import Sudoku

HELP = """\
Look at a trained guide: what it is, and how good it is.

A guide is a folder with card.json, model.onnx and its weights, or the
name of one that comes with dibs.

For example:
  dibs model info relational
  dibs model eval relational --puzzles sample17
  dibs model eval runs/mine/guide --puzzles puzzles.txt --json
"""


app = App(name="model", help=HELP, help_format="plaintext")

Guide = Annotated[str, Parameter(help="a guide that comes with dibs, or its folder")]
Json = Annotated[bool, Parameter(help="one JSON object")]


@app.command
def info(guide: Guide, /, *, json: Json = False) -> int:
    """What a guide is: size, configuration, training data, licence.

    Both of its files are checked against the SHA-256 on its card.

    For example:
      dibs model info relational
    """
    from dibs.guide.card import find, verify
    from dibs.report.guide import described, listed

    folder = find(guide)
    found = described(folder, verify(folder))
    if json:
        print(encoder.dumps(found))
    else:
        show([listed(found)])
    return 0


@app.command(name="eval")
def evaluate(
    guide: Guide,
    /,
    *,
    puzzles: Annotated[
        str | None, Parameter(help="a file of Sudokus with one solution each, sample17 or hard300")
    ] = None,
    instances: Annotated[
        str | None, Parameter(help="in place of puzzles, any family: a folder, a file or module:function")
    ] = None,
    limit: Annotated[float | None, Parameter(help="instances: seconds for one; default: 10")] = None,
    level: Annotated[Literal["naked", "hidden"], Parameter(help="what one choice propagates")] = "naked",
    sample: Annotated[int | None, Parameter(help="only the first N puzzles")] = None,
    seed: Annotated[int, Parameter(help="of the random relabelling")] = 0,
    threads: Annotated[int, Parameter(help="threads of one forward pass")] = 1,
    rounds: Annotated[int | None, Parameter(help="of a relational guide; by default as its card says")] = None,
    network_only: Annotated[bool, Parameter(help="the network alone, without following singles first")] = False,
    json: Json = False,
    figure: Annotated[Path | None, Parameter(help="write a reliability diagram: .svg, .png or .pdf")] = None,
) -> int:
    """How good a guide is at the states on the way to the solution.

    Every puzzle is relabelled at random (digits, rows, columns, bands, stacks,
    transposition) and searched with a perfect guide; at each state of that
    path, the guide's first value is held against the solution: at the cell
    with the fewest values (p_s) and at the cell it is surest of. Calibration,
    the cost of its mistakes in nodes and its speed are measured at the same
    states. --json has every depth and every bin.

    With --instances it is judged by the clock: dibs with it and without it,
    and every engine that is installed, in turn on each instance, at most
    100 or --sample of them.

    A guide that sees candidates follows what is certain (singles in any row, column,
    box or cell) before it asks its network; --network-only judges the network alone.

    For example:
      dibs model eval relational --puzzles sample17
      dibs model eval relational --puzzles hard300 --level hidden --sample 50
      dibs model eval runs/mine/guide --puzzles mine.txt --figure reliability.svg
      dibs model eval my-guide --instances new-instances/
    """
    _check(sample, seed, threads, rounds)
    if instances is not None:
        others = {"puzzles": puzzles, "rounds": rounds, "figure": figure, "network-only": network_only or None}
        for name, value in others.items():
            if value is not None:
                raise Refused(f"dibs: --{name} does not go with --instances")
        return _by_the_clock(guide, instances, sample or 100, 10.0 if limit is None else limit, json)
    if puzzles is None:
        raise Refused("dibs: what to judge it on? --puzzles for Sudokus, --instances for any family")
    if limit is not None:
        raise Refused("dibs: --limit goes with --instances")
    if figure:
        from dibs.report.reliability import check

        check(figure)
    from dibs.guide.denoiser import Denoiser

    denoiser = Denoiser.load(guide, threads, rounds=rounds, network_only=network_only)
    some = _read(puzzles, sample)
    found = _watched(denoiser, some, puzzles, level, seed)
    if json:
        from dibs.report.guide import described

        about: dict[str, Any] = {"guide": described(denoiser.folder, denoiser.card), "list": puzzles}
        about |= {"rounds": rounds, "network_only": network_only}
        print(encoder.dumps(about | found.as_dict()))
    else:
        from dibs.report.evaluation import tables

        name = f"{guide} (network alone)" if network_only else guide
        show(tables(f"{name} on {puzzles}: {found.puzzles:,} puzzles, relabelled, level {level}", found))
    if figure:
        from dibs.report.reliability import draw

        draw(figure, f"{denoiser.folder.name}, {puzzles}", {"open cells": found.cells, "MRV cell": found.branch})
    return 0


def _by_the_clock(guide: str, instances: str, count: int, limit: float, json: bool) -> int:
    from rich.console import Console

    from dibs.guide.card import find
    from dibs.report import tabular
    from dibs.training.page import table
    from dibs.training.source import collect
    from dibs.training.verdict import judge

    if not 0 < limit < float("inf"):
        raise Refused(f"dibs: limit = {limit}: it must be above 0")
    given = collect(instances, count)
    done = 0

    def meter(seconds: float) -> Meter | None:
        return (
            Meter(f"{done} of {len(given.instances)} instances", done / len(given.instances)) if seconds > 2 else None
        )

    def progress(now: int, of: int) -> None:
        nonlocal done
        done = now

    with Terminal(meter):
        found = judge(find(guide), given.instances, limit=limit, seconds=float("inf"), progress=progress)
    if json:
        print(encoder.dumps(found.as_dict()))
        return 0
    for fault in given.faults:
        print(f"dibs: {fault}", file=sys.stderr)
    console = Console()
    console.print(tabular.terminal(table(found), console.width))
    print(found)
    return 0


def _check(sample: int | None, seed: int, threads: int, rounds: int | None = None) -> None:
    wanted = (("sample", sample, 1), ("seed", seed, 0), ("threads", threads, 1), ("rounds", rounds, 1))
    for name, value, least in wanted:
        if value is not None and value < least:
            raise Refused(f"dibs: {name} = {value}: it must be a whole number, {least} or more")


def _read(puzzles: str, sample: int | None) -> list[Sudoku]:
    from dibs.bench.instances import load
    from dibs.problem import Sudoku

    found = load(puzzles, sample)
    for number, puzzle in enumerate(found, 1):
        if not isinstance(puzzle, Sudoku):
            raise InputError(f"puzzle {number} is no Sudoku: guides are judged on Sudokus", puzzles)
    return [puzzle for puzzle in found if isinstance(puzzle, Sudoku)]


def _watched(
    denoiser: Any, some: list[Sudoku], puzzles: str, level: Literal["naked", "hidden"], seed: int
) -> Evaluation:
    """The evaluation, with progress after two seconds."""
    from dibs.model.evaluate import evaluate as run

    now: tuple[str, int, int] = ("", 0, 0)

    def note(what: str, done: int, total: int) -> None:
        nonlocal now
        now = what, done, total

    def meter(seconds: float) -> Meter | None:
        what, done, total = now
        if seconds < 2:
            return None
        if not kernel_ready():
            return Meter(COMPILING)
        return Meter(f"{done:,} of {total:,} {what}", done / total) if total else pace(done, what, seconds, None)

    with Terminal(meter) as terminal:
        try:
            return run(denoiser, some, level=level, seed=seed, progress=note)
        except InputError as error:
            raise error if error.file else InputError(error.message, puzzles) from None
        except KeyboardInterrupt:
            terminal.close()
            terminal.say("interrupted: no figures; --sample N judges fewer puzzles")
            raise
