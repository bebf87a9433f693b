"""The paper's theorems held against searches: two as identities, one as a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.dtypes import Bools, Floats
from dibs.report import table
from dibs.report.figures import COLUMN, GREY, MOST, PENS, legend, pens, thousands, whole
from dibs.report.path import (
    ENVELOPE,
    FEWEST,
    Fit,
    States,
    changed_siblings,
    enough,
    fit,
    remaining,
    theorem_1,
    theorem_3,
)
from dibs.report.run import Run
from dibs.report.section import Picture, Section
from dibs.report.tabular import MISSING, Cell, Column, Line, Tabular, number

DEPTHS = ((0, 0), (1, 1), (2, 2), (3, 4), (5, 6), (7, 9), (10, 14), (15, None))  # that share a line
MOST_ARITY = 5  # this arity and all above it share a line
CUT = "Failing siblings that were given up at a limit count with what they had: T(s_w) is a lower bound there."
LEFT_OUT = "Searches that ended at a limit have no solution path; they are counted and left out."
UNSOLVABLE = "Searches without a solution have no solution path either and are left out."

Rows = dict[str, States]


def section(run: Run) -> Section:
    rows = {row: States.of(run.part(row)) for row in run.rows}
    title = run.title()
    fits = {row: found for row, states in rows.items() if (found := fit(states))}
    tables = [
        _identities(title, rows),
        _means(title, rows),
        _gap(title, rows),
        _by(title, rows, "arity"),
        _by(title, rows, "depth"),
        _fits(title, rows, fits),
        table.figures(f"{title}: all figures", run.summaries),
    ]
    pictures = [_depths(rows)]
    if fits:
        first = next(iter(fits))
        pictures += [_remaining(first, rows[first], fits[first]), _bound(first, rows[first], fits[first])]
    return Section("", title, _words(rows, fits), tuple(tables), tuple(pictures))


def _words(rows: Rows, fits: dict[str, Fit]) -> tuple[str, ...]:
    broken = sum(theorem_1(states) + theorem_3(states) for states in rows.values())
    searches = sum(len(states.length) for states in rows.values())
    binary = sum(int(states.binary.sum()) for states in rows.values())
    first = f"Theorem 3 holds for all {searches:,} searches and Theorem 1 at all {binary:,} binary states, exactly."
    if broken:
        first = f"The identities are violated {broken:,} times: the records or the theorems are wrong."
    words = [
        f"{first} Theorem 3: the nodes of a search are the decisions on its solution path and the nodes of the failing "
        "siblings that it entered. Theorem 1: from a state with two values on, there are 1 + T(s_g) nodes, and T(s_w) "
        "more if the wrong value comes first.",
        "In the mean, the paper writes (1 - p_s) E[T(s_w)] for the second part. Over many states that needs mistakes "
        "that do not depend on T(s_w): under a ratio of 1, mistakes are made where they cost little; above it, where "
        "they cost much.",
    ]
    if fits:
        row, found = next(iter(fits.items()))
        words += [_verdict(row, found), _loose(row, rows[row], found)]
    return tuple(words)


def _verdict(row: str, found: Fit) -> str:
    """Whether Theorem 4's assumption describes the failing subtrees."""
    b, r2 = f"b = {found.b:.3f}", f"R² = {found.r2:.3f}"
    if found.b <= 1:
        return (
            "Theorem 4 assumes that failing subtrees grow exponentially with the binary decisions that remain. Here "
            f"they do not grow at all ({b}, {r2}, {row}): the assumption fails."
        )
    share = f"what remains explains {100 * found.r2:.0f} % of the variance of log T(s_w)"
    if found.r2 >= 0.8:
        judged = "the assumption describes them well"
    elif found.r2 >= 0.2:
        judged = "there is such a trend, and much of the size is decided by something else"
    else:
        judged = "the assumption is true of the trend only and says next to nothing about a single state"
    return (
        "Theorem 4 assumes that failing subtrees grow exponentially with the binary decisions that remain: "
        f"{b}, {r2} ({row}): {share}, so {judged}."
    )


def _loose(row: str, states: States, found: Fit) -> str:
    """How far the bound is from what was measured."""
    total, wasted = waste(states)
    bound = found.bound(total)
    times = f"{bound.mean() / wasted.mean():,.1f} times" if wasted.mean() else "no multiple of"
    words = (
        f"With ρ, b and c of the table, the bound on what wrong siblings of binary states cost is {times} the measured "
        f"mean ({row}), and {int((wasted > bound).sum()):,} of {len(total):,} searches exceed it: ρ is about the "
        "mean at a depth and not about a single search."
    )
    rate = growth(total, wasted)
    if rate is None:
        return words
    grows = f"the measured mean grows {rate:.2f} times, the bound {found.b:.2f} times"
    return f"{words} With each binary state more on the path {grows}."


def growth(total: NDArray[np.int64], wasted: Floats) -> float | None:
    """By what the mean of wasted [S] is multiplied when `total` [S] grows by one: least squares on its logarithm,
    each number of states with the weight of its searches. None if there are fewer than three."""
    count = np.bincount(total)
    mean = np.bincount(total, wasted) / np.maximum(count, 1)
    some = np.flatnonzero((count >= enough(len(total))) & (mean > 0))
    if len(some) < 3:
        return None
    return float(np.exp(np.polyfit(some, np.log(mean[some]), 1, w=np.sqrt(count[some]))[0]))


def waste(states: States) -> tuple[NDArray[np.int64], Floats]:
    """[S] binary states on each path, and the nodes of those failing siblings that came first there."""
    total, _ = remaining(states)
    spent = np.where(states.right | ~states.binary, 0, states.wrong)
    return total, np.bincount(states.search, spent, len(total)).astype(np.float64)


def _notes(rows: Rows) -> tuple[str, ...]:
    cut = any(states.cut.any() for states in rows.values())
    limited = any(states.limits for states in rows.values())
    unsolvable = any(states.unsolvable for states in rows.values())
    return (*[CUT] * cut, *[LEFT_OUT] * limited, *[UNSOLVABLE] * unsolvable)


def _made(
    key: str, title: str, names: Sequence[str], lines: Sequence[Sequence[Cell]], caption: str, rows: Rows
) -> Tabular:
    """A table that ends with the searches left out."""
    columns = tuple(map(Column, (*names, "LIMIT")))
    return Tabular(key, title, columns, tuple(Line(tuple(line)) for line in lines), caption, _notes(rows))


def _identities(title: str, rows: Rows) -> Tabular:
    base = next(iter(rows.values()))
    lines = []
    for row, states in rows.items():
        shared, changed = changed_siblings(states, base)
        counts = (len(states.length), theorem_3(states), int(states.binary.sum()), theorem_1(states), shared, changed)
        lines.append([row, *(f"{count:,}" for count in counts), str(states.limits)])
    names = ("row", "searches", "against Theorem 3", "binary states", "against Theorem 1", "shared states", "T differs")
    caption = (
        "violations, counted exactly; T differs: failing siblings of a state that is also on the first row's path, "
        "with another number of nodes than there"
    )
    return _made("identities", f"{title}: identities", names, lines, caption, rows)


def _means(title: str, rows: Rows) -> Tabular:
    lines = []
    for row, states in rows.items():
        at = states.binary
        count = int(at.sum())
        if not count:
            lines.append([row, "0", *[MISSING] * 7, str(states.limits)])
            continue
        right, wrong = states.right[at], states.wrong[at]
        spent = int(wrong[~right].sum())
        product = (1 - right.mean()) * wrong.mean() * count
        means = number(float(states.good[at].mean())), number(float(wrong.mean()))
        ratio = f"{spent / product:.3f}" if product else MISSING
        cut = f"{int(states.cut[at].sum()):,}"
        figures = [f"{count:,}", f"{right.mean():.4f}", *means, number(spent), number(float(product)), ratio, cut]
        lines.append([row, *figures, str(states.limits)])
    names = ("row", "binary states", "p_s", "T(s_g)", "T(s_w)", "wasted nodes", "n (1 - p_s) E[T(s_w)]", "ratio", "cut")
    caption = (
        "states with two values on solution paths; means of T in nodes; wasted: the sum of T(s_w) where it came first"
    )
    return _made("means", f"{title}: Theorem 1 in the mean", names, lines, caption, rows)


def _gap(title: str, rows: Rows) -> Tabular:
    lines = []
    for row, states in rows.items():
        total = int(states.nodes.sum())
        lost = [int(states.entered[some].sum()) for some in (states.binary, ~states.binary)]
        share = [f"{100 * part / total:.1f} %" if total else MISSING for part in (*lost, sum(lost))]
        delta = f"{1 - states.right.mean():.4f}" if len(states) else MISSING
        figures = [f"{total:,}", f"{len(states):,}", delta, *(f"{part:,}" for part in lost), *share]
        lines.append([row, *figures, str(states.limits)])
    names = ("row", "nodes", "decisions", "δ_s", "lost, 2 values", "lost, 3+ values", "2 values", "3+ values", "gap")
    caption = (
        "what a perfect order would save: nodes of the failing siblings entered, δ_s T(s_w), and as a share of all "
        "nodes; δ_s: how often a wrong value comes first"
    )
    return _made("gap", f"{title}: oracle gap", names, lines, caption, rows)


def _by(title: str, rows: Rows, what: str) -> Tabular:
    """States of an arity, or of a range of depths."""
    lines: list[list[str]] = []
    for row, states in rows.items():
        for name, there in _arities(states) if what == "arity" else _ranges(states):
            count = int(there.sum())
            if not count:
                continue
            means = [number(float(part[there].mean())) for part in (states.good, states.wrong)]
            lost = states.entered[there].sum() / max(int(states.entered.sum()), 1)
            share = f"{states.right[there].mean():.4f}"
            lines.append([row, name, f"{count:,}", share, *means, f"{100 * lost:.1f} %", str(states.limits)])
    names = ("row", "values" if what == "arity" else "depth", "states", "p_s", "T(s_g)", "T(s_w)", "of the gap")
    caption = "p_s: the right value comes first; mean nodes below the right value and below all failing ones"
    return _made(f"by-{what}", f"{title}: by {'values' if what == 'arity' else 'depth'}", names, lines, caption, rows)


def _arities(states: States) -> list[tuple[str, Bools]]:
    low = [(str(k), states.arity == k) for k in range(2, MOST_ARITY)]
    return [*low, (f"{MOST_ARITY}+", states.arity >= MOST_ARITY)]


def _ranges(states: States) -> list[tuple[str, Bools]]:
    found = []
    for first, last in DEPTHS:
        name = f"{first}+" if last is None else str(first) if first == last else f"{first} to {last}"
        found.append((name, (states.depth >= first) & (states.depth <= (np.inf if last is None else last))))
    return found


def _fits(title: str, rows: Rows, fits: dict[str, Fit]) -> Tabular:
    lines = []
    for row, found in fits.items():
        states = rows[row]
        total, spent = waste(states)
        wasted, bound = float(spent.mean()), float(found.bound(total).mean())
        at = "all" if found.rho_depth < 0 else str(found.rho_depth)
        rho = f"{found.rho:.4f} (depth {at})"
        figures = [f"{found.states:,}", f"{found.empty:,}", f"{found.b:.3f}", number(found.c), f"{found.r2:.3f}"]
        lines.append([row, *figures, number(found.envelope), rho, number(wasted), number(bound), str(states.limits)])
    names = ("row", "T > 0", "T = 0", "b", "c", "R²", "c at 99 %", "ρ", "wasted nodes", "bound")
    caption = (
        "T(s_w) = c b^(H - h), least squares on log T at binary states; H: binary states on the path, h: the number of "
        f"this one; c at 99 %: the least with which {100 * ENVELOPE:.0f} % of them lie below the bound; ρ: the least "
        f"p_s of a depth with {FEWEST} binary states or more; wasted: nodes of a search in wrong siblings of binary "
        "states, mean; bound: (1 - ρ) c (b^H - 1) / (b - 1), mean"
    )
    return _made("fit", f"{title}: Theorem 4", names, lines, caption, rows)


def _depths(rows: Rows) -> Picture:
    """p_s of the rows above; the price of a mistake, which is the same for all rows, below."""
    shown = list(rows.items())[:MOST]

    def draw(figure: Any) -> None:
        top, low = figure.subplots(2, 1, sharex=True, height_ratios=[1, 1])
        for (row, states), pen in zip(shown, pens(), strict=False):
            depth, share = by_depth(states, states.binary, states.right)
            top.plot(depth, share, label=row, **pen)
        top.set(ylabel="p_s, 2 values", ylim=(0, 1.04))
        states = shown[0][1]
        some = (
            ("T(s_w), 2 values", states.binary, states.wrong),
            ("T(s_w), 3 values or more", ~states.binary, states.wrong),
        )
        for (label, there, values), pen in zip(some, pens(), strict=False):
            depth, mean = by_depth(states, there, values)
            low.plot(depth[mean > 0], mean[mean > 0], label=label, **pen)
        low.set(yscale="log", ylabel="nodes, mean", xlabel="depth: decisions above the state")
        thousands(low.yaxis)
        whole(low.xaxis)
        low.margins(y=0.15)
        legend(low, loc="upper right")
        handles, labels = top.get_legend_handles_labels()
        legend(figure, handles=handles, labels=labels, loc="outside upper left")

    words = (
        "Above: how often the right of two values comes first. Below: nodes of the failing siblings of a state "
        f"({shown[0][0]}). Depths with few states are left out."
    )
    return Picture("depth", "p_s and T(s_w) by depth", words, (COLUMN, 3.6 + 0.14 * len(shown)), draw)


def by_depth(states: States, there: Bools, values: NDArray[Any]) -> tuple[Floats, Floats]:
    """Depths with enough states, and means of `values` [n] at their states `there` [n]."""
    depth = states.depth[there]
    count = np.bincount(depth)
    total = np.bincount(depth, values[there].astype(np.float64))
    some = np.flatnonzero(count >= enough(len(depth)))
    return some.astype(np.float64), total[some] / count[some]


def _remaining(row: str, states: States, found: Fit) -> Picture:
    """T(s_w) against the binary decisions that remain: quantiles of the states, the fit and the bound."""
    _, rest = remaining(states)
    wrong = states.wrong[states.binary]
    rest, wrong = rest[wrong > 0], wrong[wrong > 0]
    count = np.bincount(rest)
    places = np.flatnonzero(count >= min(enough(len(rest)), count.max()))
    low, middle, high, tail = np.array([np.quantile(wrong[rest == x], [0.25, 0.5, 0.75, 0.99]) for x in places]).T

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        style = list(pens())
        axes.fill_between(places, low, high, color=PENS[1].color, alpha=0.2, linewidth=0, label="middle half")
        axes.plot(places, middle, label="median", **style[1])
        axes.plot(places, tail, label="99 %", linestyle="none", marker="_", markersize=6, color="black")
        line = np.array([places[0], places[-1]], np.float64)
        axes.plot(line, found.c * found.b**line, color=PENS[2].color, linewidth=1.3, label=f"fit: b = {found.b:.2f}")
        bound = {"color": GREY, "linewidth": 1.1, "linestyle": (0, (4, 2))}
        axes.plot(line, found.envelope * found.b**line, label=f"bound at {100 * ENVELOPE:.0f} %", **bound)
        _finish(figure, axes, "T(s_w), nodes", "binary decisions that remain, H - h")

    words = (
        f"Nodes of the failing sibling at binary states ({row}), where it has any; R² = {found.r2:.3f}. The bound of "
        "Theorem 4 is a straight line here."
    )
    return Picture("remaining", "T(s_w) against what remains", words, (COLUMN, 2.9), draw)


def _bound(row: str, states: States, found: Fit) -> Picture:
    """What wrong siblings of binary states cost a search, against how many such states its path has."""
    total, wasted = waste(states)
    count = np.bincount(total)
    places = np.flatnonzero(count >= min(enough(len(total)) // 2, count.max()))
    quartiles = np.array([np.quantile(wasted[total == x], [0.25, 0.5, 0.75]) for x in places]).T
    mean = np.array([wasted[total == x].mean() for x in places])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        low, _, high = np.maximum(quartiles, 0.5)
        axes.fill_between(places, low, high, color=PENS[1].color, alpha=0.2, linewidth=0, label="middle half")
        axes.plot(places[mean > 0], mean[mean > 0], label="mean", **next(pens()))
        bound = found.bound(places)
        axes.plot(places[bound > 0], bound[bound > 0], color=GREY, linewidth=1.1, linestyle=(0, (4, 2)), label="bound")
        _finish(figure, axes, "nodes in wrong siblings", "binary states on the path, H")

    words = (
        f"Nodes that a search spends in wrong siblings of binary states ({row}), and the bound of Theorem 4 with the "
        "measured ρ, b and c. If the bound had the right shape, the mean would rise as it does."
    )
    return Picture("bound", "The bound of Theorem 4", words, (COLUMN, 2.8), draw)


def _finish(figure: Any, axes: Any, nodes: str, places: str) -> None:
    """Nodes on a scale of powers, against whole numbers."""
    axes.set(yscale="log", ylabel=nodes, xlabel=places)
    thousands(axes.yaxis)
    whole(axes.xaxis)
    legend(figure, loc="outside upper left", ncols=3, columnspacing=1.0)
