"""Time on large generated instances, kind by kind: our search against other engines, by what a user waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dibs.bench.kinds import InstanceKind
from dibs.dtypes import Bools, Floats
from dibs.report.figures import COLUMN, GREY, SMALL, legend, pens, thousands, whole
from dibs.report.run import Run
from dibs.report.section import Picture, Section
from dibs.report.tabular import MISSING, Column, Line, Tabular, number
from dibs.report.tabular import Cell as Text

SHARES = {"p50": 0.5, "p95": 0.95}
COUNTS = "conflicts or nodes"  # what each kind of search counts: they do not compare
CAPTION = (
    "p50 / p95; ratio: time over that of the best peer, an engine without a guide; search: without what is outside its "
    "own clock; conflicts of an engine, nodes of our own search"
)
LOWER = "LIMIT counts searches that ended at their limit: unsolved, and in every figure with at least the limit (≥)."
ROUNDING = 1e-9  # of percentiles
ACROSS = 3  # panels side by side
ABOVE = 1.25  # where an arrow stands above its figure
WIDE = 2 * COLUMN + 0.2  # inches: both columns of a paper


class Figure(NamedTuple):
    """A percentile of times or counts. `least`: it falls on a search that ended at its limit, and is a lower bound."""

    value: float
    least: bool

    def __str__(self) -> str:
        return ("≥ " if self.least else "") + number(self.value)


class Ratio(NamedTuple):
    """Of one figure to another, and what it bounds: "" exact, "≥" or "≤"; value NaN where nothing can be said."""

    value: float
    bound: str

    def __str__(self) -> str:
        return f"{self.bound} {number(self.value)}".strip() if np.isfinite(self.value) else MISSING


@dataclass(frozen=True)
class Contest:
    """Who takes part: rows by their names, and which of them are peers, engines without a guide."""

    rows: tuple[str, ...]
    engines: tuple[str, ...]  # of each row; "own" is dibs' own search
    guided: tuple[bool, ...]
    limits: tuple[float, ...]  # ms; 0 where there is none
    named: tuple[bool, ...] = ()  # whether a policy's row names its guide

    @classmethod
    def of(cls, run: Run) -> Contest:
        rows = run.manifest["rows"]
        return cls(
            tuple(run.rows),
            tuple(row.get("engine", "own") for row in rows),
            tuple("guide" in row["guidance"] for row in rows),
            tuple(1e3 * float(row["options"].get("seconds") or 0) for row in rows),
            tuple("guide" in row for row in rows),
        )

    @property
    def peers(self) -> list[int]:
        return [at for at, engine in enumerate(self.engines) if engine != "own" and not self.guided[at]]

    @property
    def ours(self) -> int | None:
        """The first row that is dibs' own search."""
        return next((at for at, engine in enumerate(self.engines) if engine == "own"), None)


@dataclass(frozen=True, eq=False)
class KindTimes:
    """What was measured in one kind: [instances, rows] each. Times of searches at a limit are at least the limit."""

    kind: InstanceKind
    time: Floats  # ms
    search: Floats  # ms: of it on the search's own clock
    cpu: Floats  # seconds of CPU time; where that was not measured, of the clock
    counts: Floats
    limited: Bools
    status: NDArray[np.str_]
    load: Floats  # [rows] ms that loading the guide took

    def times(self, row: int, clock: str = "time") -> dict[str, Figure]:
        """`clock`: time or search."""
        return percentiles(getattr(self, clock)[:, row], self.limited[:, row])

    def best(self, peers: Sequence[int], what: str, clock: str = "time") -> int | None:
        """The peer with the least p50 or p95; a bound counts as more than the same time reached."""
        found = {row: self.times(row, clock)[what] for row in peers}
        return min(found, key=lambda row: (found[row].value, found[row].least), default=None)


def section(run: Run) -> Section:
    contest = Contest.of(run)
    every = list(measured(run, contest))
    title = f"{run.manifest['title']}: {_counted(every)}"
    words = (
        "Time is what a user waits for, from the instance to the checked answer: writing the formula or making the "
        "engine, search, and the guide. All rows of an instance ran one after the other in one process, each instance "
        "beginning with another row.",
        loading(contest, every),
        *disagreement(every),
    )
    costs = run.manifest.get("training", {})
    tables = tuple(_table(contest, one, run.manifest["title"], costs.get(one.kind.label)) for one in every)
    pictures = _cactus(contest, every), _orders(contest, every)
    return Section("", title, words, tables, tuple(one for one in pictures if one))


def _counted(every: Sequence[KindTimes]) -> str:
    sizes = sorted({len(one.time) for one in every})
    some = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f"{some} instances of each of {len(every)} kinds" if len(every) > 1 else f"{some} of {every[0].kind.label}"


def measured(run: Run, contest: Contest) -> Iterator[KindTimes]:
    """The kinds in the order of the experiment; those of which nothing is done in every row are left out."""
    labels = run.part(run.rows[0])["kind"].to_numpy()
    time, nodes, conflicts, load = (run.matrix(what) for what in ("time", "nodes", "backtracks", "load_seconds"))
    search = time - 1e3 * run.matrix("around_seconds")
    status = run.records["status"].to_numpy().astype(str).reshape(len(run.rows), run.done).T
    limited = status == "LIMIT"
    time, search = (np.where(limited, np.maximum(clock, contest.limits), clock) for clock in (time, search))
    cpu = run.matrix("cpu_seconds")
    cpu = np.where(cpu > 0, cpu, time / 1e3)
    counts = np.where([engine == "own" for engine in contest.engines], nodes, conflicts)
    for kind in (InstanceKind(**one) for one in run.manifest["choice"]["kind"]):
        there = labels == kind.label
        if there.any():
            loads = 1e3 * np.median(load[there], axis=0)
            clocks = time[there], search[there], cpu[there]
            yield KindTimes(kind, *clocks, counts[there], limited[there], status[there], loads)


def percentiles(values: Floats, limited: Bools) -> dict[str, Figure]:
    """p50 and p95, linear between ranks; one that longer searches would raise is a lower bound."""
    longer = np.where(limited, 2 * values.max() + 1, values)
    found = {}
    for name, share in SHARES.items():
        value = float(np.quantile(values, share))
        found[name] = Figure(value, bool(np.quantile(longer, share) > value * (1 + ROUNDING) + ROUNDING))
    return found


def ratio(own: Figure, peer: Figure) -> Ratio:
    if (own.least and peer.least) or peer.value == 0:
        return Ratio(float("nan"), "")
    return Ratio(own.value / peer.value, "≥" if own.least else "≤" if peer.least else "")


def _table(contest: Contest, one: KindTimes, title: str, training: float | None) -> Tabular:
    best = {what: one.best(contest.peers, what) for what in SHARES}
    loaded = one.load.any()
    lines = []
    for at, row in enumerate(contest.rows):
        times = one.times(at)
        counts = percentiles(one.counts[:, at], one.limited[:, at])
        ratios: Text = tuple(
            MISSING if peer is None else str(ratio(times[what], one.times(peer)[what])) for what, peer in best.items()
        )
        solved = f"{100 * (1 - one.limited[:, at].mean()):.4g} %"
        figures = one.times(at, "search"), counts
        cells: list[Text] = [row, tuple(map(str, times.values())), ratios]
        cells += [tuple(map(str, some.values())) for some in figures]
        cells += [solved, str(int(one.limited[:, at].sum()))] + [number(one.load[at] or None)] * bool(loaded)
        lines.append(Line(tuple(cells)))
    parts = tuple(SHARES)
    names = "time, ms", "ratio", "search, ms", COUNTS
    columns = [Column("solver"), *(Column(name, parts) for name in names)]
    columns += [Column("solved"), Column("LIMIT")] + [Column("guide load, ms")] * bool(loaded)
    notes = (*gained(contest, one, training), *verdict(contest, one), *[LOWER] * bool(one.limited.any()))
    name = f"{title}: {len(one.time):,} of {one.kind.label}"
    return Tabular(key(one.kind), name, tuple(columns), tuple(lines), CAPTION, notes)


def key(kind: InstanceKind) -> str:
    """`latin-25-40`, `sudoku-25x25-44-kept`: of a file."""
    return "-".join("".join(letter if letter.isalnum() or letter in ". " else "" for letter in kind.label).split())


def gained(contest: Contest, one: KindTimes, training: float | None) -> tuple[str, ...]:
    """What a guide for this kind makes of our own search, and when its `training` in seconds has paid."""
    own = [at for at, engine in enumerate(contest.engines) if engine == "own"]
    guided, plain = ([at for at in own if contest.named[at] is have] for have in (True, False))
    if not guided or not plain or one.kind.trained is None:
        return ()
    mine, other = (one.times(some[0]) for some in (guided, plain))
    share = ", ".join(f"{ratio(mine[what], other[what])} of it at {what}" for what in SHARES)
    gain = float((one.time[:, plain[0]] - one.time[:, guided[0]]).mean()) / 1e3
    paid = (
        f"training ({training:,.0f} s) has paid after {training / gain:,.0f} instances" if training and gain > 0 else ""
    )
    never = "training does not pay" if training and gain <= 0 else ""
    names = f"{contest.rows[guided[0]]} beside {contest.rows[plain[0]]}"
    return ("; ".join(part for part in (f"{names}: {share}", paid, never) if part) + ".",)


def verdict(contest: Contest, one: KindTimes) -> tuple[str, ...]:
    """Whether our first row is below the best peer at p50 and at p95, in a sentence for each clock."""
    if contest.ours is None or not contest.peers:
        return ()
    name = contest.rows[contest.ours]
    found = {clock: "; ".join(_compared(contest, one, what, clock) for what in SHARES) for clock in ("time", "search")}
    inner = "Writing the formula, making the engine and checking the answer left out"
    return f"{name}: {found['time']}.", f"{inner}, {name}: {found['search']}."


def _compared(contest: Contest, one: KindTimes, what: str, clock: str) -> str:
    peer = one.best(contest.peers, what, clock)
    assert contest.ours is not None
    assert peer is not None
    own, other = one.times(contest.ours, clock)[what], one.times(peer, clock)[what]
    ended = one.best([at for at in contest.peers if not one.times(at, clock)[what].least], what, clock)
    if ended is not None and one.times(ended, clock)[what].value <= own.value:
        # A peer with a lower bound may be better still; this one is good enough to say so.
        peer, other = ended, one.times(ended, clock)[what]
    share = ratio(own, other)
    both = f"{contest.rows[peer]} ({own} against {other} ms"
    if own.least and other.least:
        return f"at {what} nothing can be said, both end at their limit: {both})"
    if other.least and own.value >= other.value:
        return f"at {what} nothing can be said, the best peer ends at its limit: {both})"
    if own.least and own.value < other.value:
        return f"at {what} nothing can be said, it ends at its limit: {both})"
    where = "below" if own.value < other.value else "level with" if share == (1, "") else "not below"
    return f"at {what} {where} the best peer, {both}, {share} of it)"


def loading(contest: Contest, every: Sequence[KindTimes]) -> str:
    """What was done before the clock started, and what loading the guides took."""
    found = {row: max(one.load[at] for one in every) for at, row in enumerate(contest.rows)}
    some = ", ".join(f"{row}: {number(ms)} ms" for row, ms in found.items() if ms)
    before = (
        "Not in the times, because a process does it once: compiling or loading the search kernel, the tables that our "
        "search keeps for a size, and loading a guide with its compiled code, all on throw-away instances."
    )
    if not some:
        return before
    return f"{before} Loading took ({some}); rows with the same guide share it, and the first guide brings the code."


def disagreement(every: Sequence[KindTimes]) -> tuple[str, ...]:
    """A sentence if rows contradict each other: there must be none."""
    found = sum(int(((one.status == "SAT").any(axis=1) & (one.status == "UNSAT").any(axis=1)).sum()) for one in every)
    return (f"Rows contradict each other about {found:,} instances: one of them is wrong.",) if found else ()


# Figures


def _pens(contest: Contest) -> dict[int, Mapping[str, Any]]:
    """Keywords for `plot`, by row. A guided engine has the pen of the same engine alone, thin and with hollow marks.

    Rows beyond those that can be told apart have none.
    """
    alone = {contest.engines[at]: at for at in contest.peers}
    leader = [alone.get(engine, at) for at, engine in enumerate(contest.engines)]
    own = dict(zip(dict.fromkeys(leader), pens(), strict=False))
    thin = {"linewidth": 0.7, "markerfacecolor": "white"}
    return {at: own[of] | (thin if of != at else {}) for at, of in enumerate(leader) if of in own}


def _cactus(contest: Contest, every: Sequence[KindTimes]) -> Picture:
    """How many instances are solved within a time, a panel for each kind."""
    styles = _pens(contest)
    columns = min(ACROSS, len(every))
    lines = -(-len(every) // columns)
    limit = max(contest.limits)

    def draw(figure: Any) -> None:
        panels = figure.subplots(lines, columns, sharex=True, squeeze=False).ravel()
        for axes, one in zip(panels, every, strict=False):
            for at, pen in styles.items():
                times = np.sort(one.time[~one.limited[:, at], at])
                name = contest.rows[at] if one is every[0] else None
                steps = np.append(times[:1], times), np.arange(min(1, len(times)) + len(times))
                marks = (1, max(1, len(times) // 6))
                axes.plot(*steps, label=name, drawstyle="steps-post", markevery=marks, **pen)
            if limit:
                axes.axvline(limit, color=GREY, linewidth=0.6, linestyle=(0, (1, 1.5)))
            axes.set_title(one.kind.label, fontsize=SMALL)
            axes.set(xscale="log", ylim=(0, 1.05 * len(one.time)))
            thousands(axes.xaxis)
            whole(axes.yaxis)
        for axes in panels[len(every) :]:
            axes.set_visible(False)
        for at, axes in enumerate(panels[: len(every)]):
            if at % columns == 0:
                axes.set_ylabel("solved")
            if at + columns >= len(every):
                axes.set_xlabel("time, ms")
                axes.xaxis.set_tick_params(labelbottom=True)
        legend(figure, loc="outside upper center", ncols=min(3, columns + 1), columnspacing=1.2)

    words = "Instances solved within a time, by kind; further left and higher is better."
    words += " Dotted: the limit." * bool(limit) + _hollow(contest) + _dropped(contest, len(styles))
    size = (WIDE if columns > 1 else COLUMN, 0.6 + 0.16 * -(-len(styles) // 3) + 1.5 * lines + 0.6 * (columns == 1))
    return Picture("cactus", "Instances solved against time", words, size, draw)


def _orders(contest: Contest, every: Sequence[KindTimes]) -> Picture | None:
    """Time against the order of Latin squares; None with fewer than two orders."""
    hardest: dict[int, KindTimes] = {}
    for one in every:
        order = one.kind.order
        if one.kind.family == "latin" and order is not None:
            before = hardest.get(order)
            # By all rows together, so that none is favoured.
            if before is None or np.log(one.time).mean() > np.log(before.time).mean():
                hardest[order] = one
    if len(hardest) < 2:
        return None
    orders = sorted(hardest)
    styles = _pens(contest)

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(SHARES), sharex=True, sharey=True, squeeze=False)[0]
        for axes, what in zip(panels, SHARES, strict=True):
            for at, pen in styles.items():
                found = [hardest[order].times(at)[what] for order in orders]
                name = contest.rows[at] if axes is panels[0] else None
                axes.plot(orders, [figure.value for figure in found], label=name, **pen)
                cut = [
                    (order, ABOVE * figure.value) for order, figure in zip(orders, found, strict=True) if figure.least
                ]
                axes.plot(
                    *np.array(cut).reshape(-1, 2).T, color=pen["color"], marker=r"$\uparrow$", mew=0.2, linestyle=""
                )
            axes.set(yscale="log", xlabel="order", xticks=orders)
            axes.set_title(what, fontsize=SMALL)
            thousands(axes.yaxis)
        panels[0].set_ylabel("time, ms")
        legend(figure, loc="outside upper center", ncols=3, columnspacing=1.2)

    kinds = "; ".join(hardest[order].kind.label for order in orders)
    words = "Time by order of the square, at p50 and p95. Of each order the share of holes that took all rows together "
    words += f"longest: {kinds}." + _hollow(contest) + _dropped(contest, len(styles))
    if any(one.limited.any() for one in hardest.values()):
        words += " Arrows: at least so much, the search ended at its limit."
    return Picture("orders", "Time against order", words, (WIDE, 2.4 + 0.16 * -(-len(styles) // 3)), draw)


def _hollow(contest: Contest) -> str:
    alone = {contest.engines[at] for at in contest.peers}
    some = any(guided and engine in alone for guided, engine in zip(contest.guided, contest.engines, strict=True))
    return " Thin lines, hollow marks: the same engine with a guide." if some else ""


def _dropped(contest: Contest, shown: int) -> str:
    return f" {shown} of {len(contest.rows)} rows are drawn." if shown < len(contest.rows) else ""
