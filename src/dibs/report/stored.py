"""Searches that were written as JSON, by `dibs explain --json` or by the playground, to be done again.

What is read is the puzzle and how it was searched; every number is found anew.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields
from typing import Any, NamedTuple

from dibs.problem import CNF, InputError, Instance, Latin, Sudoku
from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.text import check_keys, open_text
from dibs.search.guidance import Guidance
from dibs.search.options import Options
from dibs.study.explain import ToExplain
from dibs.wording import one_line

LIMITS = InputLimits(max_line=DEFAULT.max_text)  # all of it is one line


class Stored(NamedTuple):
    line: int
    instance: Instance
    requests: list[ToExplain]
    nodes: list[Any]  # of each search, as the file has it


def is_stored(path: str) -> bool:
    """Whether the file is a JSON object, and no problem of the user's own, which says that it is one."""
    if not os.path.isfile(path):  # a pipe can be read once only
        return False
    with open_text(path, limits=LIMITS) as (_, lines):
        first = next((line for line in lines if line.strip()), "")
        if not first.lstrip().startswith("{"):
            return False
        try:
            return "dibs" not in json.loads("".join([first, *lines]))
        except (ValueError, RecursionError):
            return True


def read(path: str) -> Stored:
    """The searches of a file; InputError where it is not one of ours."""
    with open_text(path, limits=LIMITS) as (name, lines):
        try:
            table = json.loads("".join(lines))
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not JSON: {error}", path) from None
    searches = table.get("searches")
    if not isinstance(searches, list) or not 1 <= len(searches) <= 2 or not all(isinstance(s, dict) for s in searches):
        raise InputError("has no list 'searches' with one or two objects: is it from dibs explain --json?", name)
    try:
        requests = [_request(search, f"search {i}: ", name) for i, search in enumerate(searches, 1)]
        line = table.get("id", 1)
        return Stored(line if type(line) is int else 1, _instance(table), requests, [s.get("nodes") for s in searches])
    except InputError as error:
        raise error if error.file else InputError(f"puzzle: {error}", name) from None
    except (ValueError, TypeError) as error:
        raise InputError(one_line(error), name) from None


def _instance(table: dict[str, Any]) -> Instance:
    family, text, box = (table.get(key) for key in ("family", "puzzle", "box"))
    if not isinstance(text, str):
        raise ValueError("has no text 'puzzle'")
    if family == "cnf":  # on one line, as records have it
        return CNF.parse(re.sub(r"^\s*(p\s+cnf\s+\d+\s+\d+)[ \t]+(?=\S)", r"\1\n", text))
    if family == "latin":
        return Latin.parse(text)
    if family == "problem":
        raise ValueError("of a problem of your own it has the size only: explain the problem's file")
    if family != "sudoku":
        raise ValueError(f"family = {family!r}: choose one of sudoku, latin, cnf")
    if box is None:
        return Sudoku.parse(text)
    if not (isinstance(box, list) and len(box) == 2 and all(type(side) is int for side in box)):
        raise ValueError(f"box = {box!r}: it must be a list of rows and columns")
    return Sudoku.parse(text, (box[0], box[1]))


def _request(search: dict[str, Any], where: str, file: str) -> ToExplain:
    """How a search was done; `plan` has what was asked for, where that is not what was then done."""
    name, plan = search.get("name"), search.get("plan", search)
    if not isinstance(name, str) or not isinstance(plan, dict):
        raise ValueError(f"{where}it must have a text 'name', and 'options' and 'guidance'")
    tables = {}
    for kind, key in ((Options, "options"), (Guidance, "guidance")):
        table = plan.get(key)
        if not isinstance(table, dict):
            raise ValueError(f"{where}it has no object '{key}'")
        check_keys(table, {field.name for field in fields(kind)}, file, f"{where}{key}: ")
        tables[key] = table
    try:
        options, guidance = Options(**tables["options"]), Guidance(**tables["guidance"])
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}{error}") from None
    if options.max_solutions != 1:
        raise ValueError(f"{where}max_solutions = {options.max_solutions}: it must be 1")
    if not isinstance(guidance.guide, str | None):
        raise ValueError(f"{where}{guidance.guide!r} must be a text")
    return ToExplain(name, options, guidance, needs_guide=False)
