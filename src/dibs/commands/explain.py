"""`dibs explain`: one search, decision by decision."""

from __future__ import annotations

import json as encoder
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from dibs.commands import source
from dibs.commands.fields import Flags, Given
from dibs.commands.solve import COMPILING, LOADING
from dibs.commands.terminal import Meter, Terminal, show
from dibs.errors import Refused, refusing
from dibs.explaining import SIBLING, searches
from dibs.problem import InputError, Instance, read_instances
from dibs.problem.reading import Family
from dibs.search.policies import PolicyName
from dibs.search.tree import kernel_ready
from dibs.writing import explained, write

if TYPE_CHECKING:
    from dibs.study.explain import Explained, ToExplain


def explain(
    puzzle: Annotated[str | None, Parameter(help="a file, - for standard input, or the puzzle itself")] = None,
    /,
    *,
    compare: Annotated[str | None, Parameter(help="a second search: an order, a policy or a guide")] = None,
    svg: Annotated[Path | None, Parameter(help="draw the search trees to this file")] = None,
    json: Annotated[bool, Parameter(help="one JSON object")] = False,
    limit: Annotated[int, Parameter(help="nodes after which the measurement of a sibling is given up")] = SIBLING,
    line: Annotated[int | None, Parameter(help="of a file: the puzzle that begins there; default: the first")] = None,
    policy: Annotated[PolicyName | None, Parameter(help="what the flags below are by default: paper")] = None,
    given: Flags = Given(),  # noqa: B008 (frozen)
    family: Annotated[Family, Parameter(help="what the input is; auto: a CNF or Sudokus")] = "auto",
    box: Annotated[str | None, Parameter(help="rows x columns of a Sudoku's boxes, e.g. 2x5")] = None,
) -> int:
    """Show where the nodes of one search went.

    For every decision on the way to the solution: the candidates in the order
    tried, the guide's probabilities, which was tried first, the nodes lost in
    failing branches before the right one, and the nodes saved: failing
    branches that were not entered, each measured by a search of its own.
    Decisions and lost nodes add up to the nodes of the search exactly.

    --policy is paper unless you name another (dibs solve --help lists them);
    every flag that you give goes before it: --guide relational-large is the
    paper's search with that guide, --level hidden its search with hidden
    singles. A formula is searched without a guide unless you name one. A
    search ends with LIMIT at 1,000,000 nodes unless --max-nodes says otherwise.

    --compare puts a second search beside it:
      ascending, lcv, mcv, random, oracle  the same with this order, no guide
      plain, paper, guided, auto           this policy just as it is
      a guide's name or folder             the same with that guide

    A file that --json or the playground (dibs serve) has written holds its
    puzzle and how it was searched: the same searches are done again.

    --svg draws both search trees (solution path bold, deep failing branches
    red) and the nodes by depth.

    For example:
      dibs explain puzzles.txt
      dibs explain puzzles.txt --line 12 --guide transformer --compare ascending
      dibs explain puzzles.txt --policy plain --compare guided --svg trees.svg
      dibs explain formula.cnf --level naked --json
      dibs explain run.json --svg trees.svg
    """
    _check(limit, svg)
    flags = given.as_dict()
    if flags.get("max_solutions", 1) != 1:
        raise Refused("dibs: explain shows the search for one solution: leave --max-solutions out")
    text = source.find(puzzle)
    if text.name is None and isinstance(text.source, str) and text.source != "-":
        from dibs.report.stored import is_stored

        if is_stored(text.source):
            own = {"compare": compare, "line": line, "policy": policy, "family": family, "box": box}
            return _again(text.source, {**own, **flags}, limit, svg, json)
    with refusing():
        number, instance = only(text, line, family, box)
        wanted = searches(instance, policy, flags, compare)
    found = _Work(instance, InputError("", text.label, number), limit).every(wanted)
    return _show(instance, number, found, svg, json)


def _again(path: str, given: dict[str, Any], limit: int, svg: Path | None, json: bool) -> int:
    """The searches that a file of `--json` holds, done again."""
    from dibs.report.stored import read

    if flags := [key for key, value in given.items() if value not in (None, "auto")]:
        raise Refused(f"{path}: it says itself how to search: leave --{flags[0]} out")
    stored = read(path)
    found = _Work(stored.instance, InputError("", path), limit).every(stored.requests)
    for one, nodes in zip(found, stored.nodes, strict=True):
        if one.nodes != nodes and isinstance(nodes, int):
            print(f"{path}: {one.name} had {nodes:,} nodes there and has {one.nodes:,} here", file=sys.stderr)
    return _show(stored.instance, stored.line, found, svg, json)


def _show(instance: Instance, number: int, found: list[Explained], svg: Path | None, json: bool) -> int:
    from dibs.report.explain import as_dict, panels, tables

    if svg:
        from dibs.report.tree import svg as drawn

        _write(svg, drawn(panels(found)))
    if json:
        print(encoder.dumps(as_dict(instance, number, found)))
    else:
        show(tables(instance, found))
    return 0


def _check(limit: int, svg: Path | None) -> None:
    if limit < 1:
        raise Refused(f"dibs: limit = {limit}: it must be a whole number, 1 or more")
    if svg and svg.suffix.lower() != ".svg":
        raise Refused(f"{svg}: the figure is an SVG: name it so, {svg.stem or 'trees'}.svg")
    if svg and not svg.absolute().parent.is_dir():
        raise Refused(f"{svg}: cannot be written: no such folder")


def only(
    text: source.Input, line: int | None, family: Family, box: str | None, repeats: bool = False
) -> tuple[int, Instance]:
    """The puzzle that is meant, and the line where it begins."""
    for number, item in read_instances(text.source, family, source.parse_box(box), name=text.name, repeats=repeats):
        if line is None or number == line:
            if isinstance(item, InputError):
                raise item
            return number, item
    raise Refused(f"{text.label}: no puzzle begins at line {line}")


class _Work:
    """The searches of one call, and the line of progress meanwhile."""

    def __init__(self, instance: Instance, place: InputError, limit: int) -> None:
        self.instance = instance
        self.place = place
        self.limit = limit
        self.measured = (0, 0)

    def every(self, wanted: list[ToExplain]) -> list[Explained]:
        from dibs.study.explain import Explainer

        def report(done: int, total: int) -> None:
            self.measured = done, total

        with Terminal(self.meter):
            explainer = Explainer(self.instance, self.limit, place=self.place, report=report)
            return [explainer.explained(request) for request in wanted]

    def meter(self, seconds: float) -> Meter | None:
        done, total = self.measured
        if seconds < 2:
            return None
        if not kernel_ready():
            return Meter(COMPILING)
        return Meter(f"{done:,} of {total:,} siblings", done / total) if total else Meter(LOADING)


def _write(path: Path, text: str) -> None:
    with explained(path):
        write(path, text.encode())
