"""How an outcome is written: for readers, as JSON, or as SAT competitions ask for it."""

from __future__ import annotations

import json
from typing import Any

from dibs.commands.source import Place
from dibs.commands.tally import duration
from dibs.problem import CNF, InputError, Instance
from dibs.search import Outcome, Status
from dibs.search.outcome import listed
from dibs.search.stream import Found
from dibs.wording import plural

Answer = tuple[Place, Instance, Found]

SAT_WORDS = {Status.SAT: "SATISFIABLE", Status.UNSAT: "UNSATISFIABLE", Status.LIMIT: "UNKNOWN"}
SAT_CODES = {Status.SAT: 10, Status.UNSAT: 20, Status.LIMIT: 0}


def counters(outcome: Outcome, wanted: int, engine: str | None = None) -> str:
    """`SAT  31 nodes, 49 backtracks, depth 9, 0.4 ms`; with a guide also its asks, its model's calls and its time.

    Of an engine that is not dibs' own: `SAT  cadical195: 31 decisions, 49 conflicts, 0.4 ms`.
    """
    names = ("node", "backtrack") if engine is None else ("decision", "conflict")
    parts = [plural(outcome.nodes, names[0]), plural(outcome.backtracks, names[1])]
    if outcome.asks:
        parts.append(plural(outcome.asks, "ask"))
    if outcome.calls:
        parts.append(plural(outcome.calls, "call"))
    if engine is None:
        parts.append(f"depth {outcome.depth}")
    parts.append(duration(outcome.seconds))
    if outcome.asks:
        parts.append(f"guide {duration(outcome.guide_seconds)}")
    if wanted > 1:
        cut = outcome.solutions >= wanted or outcome.status is Status.LIMIT
        parts.insert(0, ("at least " if cut else "") + plural(outcome.solutions, "solution"))
    return f"{outcome.status}  {f'{engine}: ' if engine else ''}{', '.join(parts)}"


def found(place: Place, instance: Instance, solution: Any, as_json: bool) -> str:
    """One of several solutions of a single puzzle, on a line; of a formula its `v` lines."""
    if as_json:
        return _dumped({"id": place.id, "solution": listed(solution)})
    text = instance.format(solution) if isinstance(instance, CNF) else instance.line(solution)
    return text + "\n"


def verdict(outcome: Outcome) -> str:
    """`unique`, `several`, `none`, or `unknown` where a limit ended the search: what --unique says."""
    if outcome.solutions > 1:
        return "several"
    if outcome.status is Status.LIMIT:
        return "unknown"
    return "unique" if outcome.solutions else "none"


def unique(place: Place, instance: Instance, outcome: Outcome, plan: str, as_json: bool) -> str:
    """The answer to --unique: the solution, a second one if there is one, the verdict and what it cost."""
    if as_json:
        fields = {"id": place.id, **outcome.as_dict(), "plan": plan, "unique": verdict(outcome)}
        return _dumped(fields | ({"second": listed(outcome.others[0])} if outcome.others else {}))
    grids = "\n\n".join(map(instance.format, outcome.found)) + "\n" if outcome.found else ""
    return f"{grids}{verdict(outcome)}  {counters(outcome, 1)}\n"


def unique_row(place: Place, instance: Instance, outcome: Outcome) -> str:
    """One of many: `id verdict [solution [second solution]]`."""
    return " ".join([str(place.id), verdict(outcome), *map(instance.line, outcome.found)]) + "\n"


def one(instance: Instance, outcome: Outcome, wanted: int, engine: str | None = None) -> str:
    """The answer to a single puzzle: the grid, and what it cost."""
    if isinstance(instance, CNF):
        return _competition(instance, outcome, wanted, engine)
    grid = "" if outcome.solution is None else instance.format(outcome.solution) + "\n"
    return f"{grid}{counters(outcome, wanted, engine)}\n"


def _competition(formula: CNF, outcome: Outcome, wanted: int, engine: str | None) -> str:
    lines = [f"c {counters(outcome, wanted, engine)}", f"s {SAT_WORDS[_sat_status(outcome)]}"]
    if outcome.solution is not None:
        lines.append(formula.format(outcome.solution))
    return "\n".join(lines) + "\n"


def row(place: Place, instance: Instance, outcome: Outcome, wanted: int) -> str:
    """One of many: `id status [solutions] [solution]`; the number of solutions only where more than one is wanted.

    Then each solution has such a row.
    """
    parts = [str(place.id), outcome.status.value]
    if wanted > 1:
        parts.append(str(outcome.solutions))
    rows = [[*parts, instance.line(solution)] for solution in outcome.found] or [parts]
    return "".join(" ".join(row) + "\n" for row in rows)


def as_json(place: Place, outcome: Outcome, wanted: int, plan: str) -> str:
    """One object on one line. A grid's solution is its one-line text, that of a CNF a list of signed numbers."""
    fields = {"id": place.id, **outcome.as_dict(), "plan": plan}
    if wanted > 1:
        fields["solutions"] = outcome.solutions
    return _dumped(fields)


def _dumped(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":")) + "\n"


def failure(error: Exception, place: Place) -> InputError:
    """Why the puzzle at that place has no answer, in one line."""
    if isinstance(error, MemoryError):
        message = "there is not enough memory for it"
    else:
        message = " ".join(str(error).split())
        if not isinstance(error, ValueError) or not message:  # nobody meant it for a user's eyes: say what it is
            message = f"{type(error).__name__}: {message}".removesuffix(": ")
    return InputError(message, place.file, place.line)


def exit_code(instance: Instance, outcome: Outcome) -> int:
    """10 / 20 / 0 for a formula, as SAT solvers have it; a grid's answer is no error either way."""
    return SAT_CODES[_sat_status(outcome)] if isinstance(instance, CNF) else 0


def _sat_status(outcome: Outcome) -> Status:
    """A formula with a solution is satisfiable, even if a limit ended the search for more of them."""
    return Status.SAT if outcome.solutions else outcome.status
