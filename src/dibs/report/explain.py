"""One search as people think of it: its decisions, what they lost and what they saved. As tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dibs.problem import CNF, Instance, Sudoku
from dibs.problem.grid import Grid, cell_name
from dibs.problem.own import Problem
from dibs.problem.symbols import symbol_of
from dibs.report.tree import Panel
from dibs.search.guidance import Guidance
from dibs.search.options import Options
from dibs.search.outcome import Status
from dibs.study.explain import Explained
from dibs.study.ledger import Decision, Ledger
from dibs.wording import plural

BAR = 30  # characters of the longest bar
WIDEST = 100  # characters of a puzzle that is shown


# Names of things


def where(instance: Instance, decision: Decision) -> str:
    """The domain that is branched on: r4c7, z12."""
    literal = decision.right if decision.right >= 0 else ~decision.right
    if isinstance(instance, Grid):
        return cell_name(literal // instance.size, instance.size)
    if isinstance(instance, CNF):
        return f"z{literal // 2 + 1}"
    if isinstance(instance, Problem) and any(one < 0 for one in decision.candidates):
        return str(instance.name(literal))
    return f"group {decision.domain}"


def value(instance: Instance, literal: int) -> str:
    """What a candidate says of its domain: 5, True, or a literal's own name."""
    if isinstance(instance, Grid):
        return symbol_of(literal % instance.size + 1, instance.size)
    if isinstance(instance, CNF):
        return str(literal % 2 == 0)
    if literal < 0:
        return "False"
    return str(instance.name(literal)) if isinstance(instance, Problem) else str(literal)


def described(options: Options, guidance: Guidance) -> str:
    """How a search was done, without what is as always: `level naked, guide relational, trigger binary`."""
    usual = Options()
    guided = guidance.guide is not None
    parts = [f"level {options.level}", f"ties by {options.tie}"]
    parts += [f"guide {guidance.guide}", f"trigger {options.trigger}"] if guided else [f"values {options.order}"]
    parts += [f"alpha {guidance.alpha:g}"] if guided and not options.guide_selects else []
    parts += [f"{guidance.steps} steps"] if guidance.steps > 1 else []
    for name in ("select", "reuse", "max_asks", "strategy"):
        if getattr(options, name) != getattr(usual, name):
            parts.append(f"{name} {getattr(options, name)}")
    return ", ".join(parts)


# The terminal


def tables(instance: Instance, searches: Sequence[Explained]) -> Iterator[RenderableType]:
    """Everything about the first search; of the second what it lost at the same decisions, or its own table."""
    first, *others = searches
    other = others[0] if others else None
    if len(text := instance.line()) <= WIDEST:
        yield text
    together = other if other and same_path(first.ledger, other.ledger) else None
    yield from _one(instance, first, together)
    if other:
        if together:
            yield ""
            yield f"{other.name}: {described(other.options, other.guidance)}"
            yield from _sums(other, measured=False)
        else:
            yield ""
            yield from _one(instance, other, None)
        yield ""
        yield compared(first, other)
    if any(search.ledger.tree is not None and search.ledger.nodes for search in searches):
        yield ""
        yield bars(searches)


def same_path(one: Ledger, other: Ledger) -> bool:
    """Whether both searches made the same decisions, in whatever order the values were tried."""

    def path(ledger: Ledger) -> list[tuple[int, int, frozenset[int]]]:
        return [(d.domain, d.right, frozenset(d.candidates)) for d in ledger.decisions]

    return bool(one.decisions) and path(one) == path(other)


def _one(instance: Instance, search: Explained, beside: Explained | None) -> Iterator[RenderableType]:
    yield f"{search.name}: {described(search.options, search.guidance)}"
    if search.ledger.decisions:
        yield _decisions(instance, search, beside)
    yield from _sums(search, measured=True)


def _decisions(instance: Instance, search: Explained, beside: Explained | None) -> Table:
    guided = search.guidance.guide is not None
    probability = ", the guide's probability" if guided else ""
    caption = f"candidates in the order tried{probability}; [x] is the solution's; lost and saved: nodes below a value"
    table = Table(caption=Text(caption, style="table.caption"), caption_justify="left")
    for name, justify in (("depth", "right"), ("where", "left"), ("candidates", "left"), ("first", "left")):
        table.add_column(name, justify=justify, no_wrap=name != "candidates")  # type: ignore[arg-type]
    for name in ("lost", "saved", *([f"lost by {beside.name}"] if beside else [])):
        table.add_column(name, justify="right")
    for i, one in enumerate(search.ledger.decisions):
        row = [str(one.depth), where(instance, one), _candidates(instance, one, guided), _first(one)]
        row += [_lost(instance, one), _saved(instance, one)]
        row += [_lost(instance, beside.ledger.decisions[i])] if beside else []
        table.add_row(*map(Text, row))  # as they are: square brackets would be taken for styles
    table.add_section()
    sums = [f"{search.ledger.lost:,}", f"{search.ledger.saved:,}{'+' if search.ledger.cut else ''}"]
    right = sum(not one.mistakes for one in search.ledger.decisions)
    share = f"{right} of {len(search.ledger.decisions)}"
    table.add_row("", "", "sum", share, *sums, *([f"{beside.ledger.lost:,}"] if beside else []))
    return table


def _candidates(instance: Instance, one: Decision, guided: bool) -> str:
    """`[5] 0.61  3 0.39`, with what the guide had to do with it."""
    shown = (guided and (one.probability or one.score)) or (None,) * len(one.candidates)
    parts = []
    for literal, number in zip(one.candidates, shown, strict=True):
        name = value(instance, literal)
        name = f"[{name}]" if literal == one.right else name
        parts.append(name if number is None else f"{name} {_short(number, one.probability is not None)}")
    note = {"asked": "", "kept": "  (kept)", "no": "  (not asked)"}[one.ranked] if guided else ""
    return "  ".join(parts) + note


def _short(number: float, probability: bool) -> str:
    if not probability:
        return f"{number:.3g}"
    if 0 < number < 0.0005:
        return "<.001"
    return ">.999" if 0.9995 <= number < 1 else f"{number:.3f}"


def _first(one: Decision) -> str:
    return "right" if not one.mistakes else "wrong" if one.mistakes == 1 else f"{one.mistakes} wrong"


def _lost(instance: Instance, one: Decision) -> str:
    pairs = zip(one.others, one.entered, strict=False)
    return ", ".join(f"{value(instance, literal)}: {nodes:,}" for literal, nodes in pairs)


def _saved(instance: Instance, one: Decision) -> str:
    found = []
    some = zip(one.others, one.siblings, one.cut, one.solvable, strict=False)
    for literal, nodes, cut, solvable in list(some)[one.mistakes :]:
        what = "a solution too" if solvable else f"{nodes:,}{'+' if cut else ''}"
        found.append(f"{value(instance, literal)}: {what}")
    return ", ".join(found)


def identity(search: Explained) -> str:
    """`27 decisions + 123 nodes in failing branches = 150 nodes`, or what there is to say without a path."""
    ledger = search.ledger
    if ledger.status is Status.LIMIT:
        after = plural(search.nodes, "node", ",")
        return f"LIMIT after {after}: no answer, so there is no path to show; --max-nodes allows more"
    if not search.nodes:
        return (
            f"{ledger.status}: propagation alone {'solves' if ledger.status is Status.SAT else 'refutes'} it, 0 nodes"
        )
    if ledger.status is Status.SAT:
        parts = [
            plural(len(ledger.decisions), "decision", ","),
            f"{plural(ledger.lost, 'node', ',')} in failing branches",
        ]
    else:
        parts = [f"{plural(ledger.pathless_nodes, 'node', ',')} that all fail"]
    if ledger.runs > 1:
        parts.append(f"{plural(ledger.earlier_nodes, 'node', ',')} in {plural(ledger.runs - 1, 'earlier run', ',')}")
    if search.beside:
        parts.append(f"{plural(search.beside, 'node', ',')} of the search beside it")
    if len(parts) == 1:
        return f"{ledger.status}: {parts[0]}: there is no solution, so no order of values could have helped"
    return f"{ledger.status}: {' + '.join(parts)} = {plural(search.nodes, 'node', ',')}"


def _sums(search: Explained, measured: bool) -> Iterator[str]:
    if search.story:
        yield search.story
    yield identity(search)
    ledger = search.ledger
    if not measured or not ledger.decisions:
        return
    least = "at least " if ledger.cut else ""
    saved = f"saved {least}{plural(ledger.saved, 'node', ',')}"
    if any(any(one.solvable) for one in ledger.decisions):
        yield f"{saved} in failing branches; there are several solutions, and values that lead to another do not count"
    elif ledger.runs > 1 or not classical(search.options):
        yield f"{saved} in failing branches, each measured by a plain search of its own"
    else:
        even = len(ledger.decisions) + sum(one.wrong for one in ledger.decisions) / 2
        yield (
            f"{saved}: the worst order needs {least}{ledger.nodes + ledger.saved:,}, "
            f"a random one {least}{even:,.0f} on average, the best {len(ledger.decisions):,}"
        )


def classical(options: Options) -> bool:
    """Whether value order is all that a guide changes: then a failing sibling costs the same in any order."""
    return not options.guide_selects and options.strategy == "dfs" and options.tie != "random"


def compared(first: Explained, other: Explained) -> str:
    words = f"{first.name} {plural(first.nodes, 'node', ',')}, {other.name} {plural(other.nodes, 'node', ',')}"
    unfinished = [one.name for one in (first, other) if one.ledger.status is Status.LIMIT]
    if unfinished:
        return f"{words}; {' and '.join(unfinished)} met the limit"
    less = other.nodes - first.nodes
    if not less:
        return f"{words}: the same"
    factor = max(first.nodes, other.nodes) / max(min(first.nodes, other.nodes), 1)
    return f"{words}: {plural(abs(less), 'node', ',')} {'saved' if less > 0 else 'lost'}, a factor of {factor:,.1f}"


def bars(searches: Sequence[Explained]) -> Table:
    """Nodes by depth, side by side and on one scale."""
    counts = [[] if one.ledger.tree is None else one.ledger.tree.by_depth().tolist() for one in searches]
    most = max(max(count, default=0) for count in counts)
    table = Table(title="nodes by depth", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("depth", justify="right")
    for search in searches:
        table.add_column("", justify="right")
        table.add_column(search.name, min_width=BAR // len(searches))
    size = BAR // len(searches)
    for depth in range(max(map(len, counts))):
        row = [str(depth)]
        for count in counts:
            nodes = count[depth] if depth < len(count) else 0
            row += [f"{nodes:,}" if nodes else "", "█" * max(round(size * nodes / most), 1) if nodes else ""]
        table.add_row(*row)
    return table


# JSON and the figure


def as_dict(instance: Instance, line: int, searches: Sequence[Explained]) -> dict[str, Any]:
    """Everything, under keys that stay."""
    found = {
        "id": line,
        "family": instance.structure.family,
        "puzzle": instance.line(),
        **({"box": list(instance.box)} if isinstance(instance, Sudoku) else {}),
        "searches": [_search(instance, one) for one in searches],
    }
    if len(searches) == 2:
        first, other = searches
        found["same_path"] = same_path(first.ledger, other.ledger)
        found["fewer_nodes"] = other.nodes - first.nodes
    return found


def _search(instance: Instance, search: Explained) -> dict[str, Any]:
    ledger = search.ledger
    asked = search.plan or (search.options, search.guidance)
    return {
        "name": search.name,
        "options": asdict(search.options),
        "guidance": asdict(search.guidance),
        "plan": {"options": asdict(asked[0]), "guidance": asdict(asked[1])},
        "status": ledger.status.value,
        "solution": ledger.outcome.solution,
        "nodes": search.nodes,
        "backtracks": ledger.backtracks,
        "asks": ledger.outcome.asks,
        "runs": ledger.runs,
        "identity": {
            "decisions": len(ledger.decisions),
            "lost": ledger.lost,
            "earlier_nodes": ledger.earlier_nodes,
            "pathless_nodes": ledger.pathless_nodes,
            "nodes_beside": search.beside,
        },
        "saved": ledger.saved,
        "siblings_cut": ledger.cut,
        "story": search.story,
        "decisions": [_decision(instance, one) for one in ledger.decisions],
        "nodes_by_depth": [] if ledger.tree is None else ledger.tree.by_depth().tolist(),
    }


def _decision(instance: Instance, one: Decision) -> dict[str, Any]:
    place = {literal: i for i, literal in enumerate(one.others)}
    candidates = []
    for i, literal in enumerate(one.candidates):
        other = place.get(literal)
        measured = other is not None and other < len(one.siblings)
        candidates.append(
            {
                "value": value(instance, literal),
                "literal": literal,
                "right": literal == one.right,
                "probability": _number(one.probability, i),
                "score": _number(one.score, i),
                "nodes_entered": one.entered[other] if other is not None and other < one.mistakes else None,
                "nodes": one.siblings[other] if measured and other is not None else None,
                "cut": bool(measured and other is not None and one.cut[other]),
                "solvable": literal == one.right or bool(measured and other is not None and one.solvable[other]),
            }
        )
    return {
        "depth": one.depth,
        "where": where(instance, one),
        "domain": one.domain,
        "guide": {"asked": "asked", "kept": "kept", "no": "not asked"}[one.ranked],
        "candidates": candidates,
        "mistakes": one.mistakes,
        "lost": one.lost,
        "saved": one.saved,
        "good": one.good,
        "wrong": one.wrong,
    }


def _number(numbers: tuple[float, ...] | None, i: int) -> float | None:
    """JSON has neither NaN nor infinity."""
    return None if numbers is None or not isfinite(numbers[i]) else numbers[i]


def panels(searches: Sequence[Explained]) -> list[Panel]:
    """What the figure shows of each search."""
    found = []
    for search in searches:
        ledger = search.ledger
        if ledger.tree is None:
            raise ValueError("the figure needs ledgers with trees")
        earlier = f", {ledger.earlier_nodes:,} earlier" if ledger.earlier_nodes else ""
        note = {
            Status.SAT: f"{len(ledger.decisions):,} path, {ledger.lost:,} failing{earlier}",
            Status.UNSAT: "no solution, all fail",
            Status.LIMIT: "cut at the limit",
        }[ledger.status]
        found.append(Panel(search.name, f"{ledger.nodes:,} nodes: {note}", ledger.tree, ledger.status is Status.SAT))
    return found
