"""The theorems on solution paths made by hand, where every figure can be counted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handmade import Record, made, path

from dibs.report.path import States, changed_siblings, fit, least_share, remaining, theorem_1, theorem_3
from dibs.report.run import Run
from dibs.report.section import Section
from dibs.report.tabular import Cell
from dibs.report.views import section
from dibs.report.views.theory import growth, waste

# values, tried before the right one, nodes of those, nodes of all failing ones
FIRST = path((2, 1, 4, 4), (3, 1, 2, 9), (2, 0, 0, 3))
SECOND = path((2, 0, 0, 5))
SINGLES = path()  # no decision at all
CUT = path((2, 1, 8, 8), status="LIMIT")


def run(folder: Path, **rows: list[Record]) -> Run:
    return made(folder, "theory", {name.replace("_", " "): some for name, some in rows.items()})


def states(folder: Path, *records: Record) -> States:
    return States.of(run(folder, row=list(records)).part("row"))


def line(found: Section, key: str, *first: str) -> dict[str, Cell]:
    table = next(one for one in found.tables if one.key == key)
    [cells] = [one.cells for one in table.lines if one.cells[: len(first)] == first]
    return dict(zip((column.name for column in table.columns), cells, strict=True))


def test_states(tmp_path: Path) -> None:
    found = states(tmp_path, FIRST, SINGLES, SECOND, CUT)
    assert found.nodes.tolist() == [9, 0, 1]
    assert found.search.tolist() == [0, 0, 0, 2]
    assert found.depth.tolist() == [0, 1, 2, 0]
    assert found.good.tolist() == [4, 1, 0, 0]
    assert found.lost().tolist() == [6, 0, 0]
    assert found.below().tolist() == [9, 4, 1, 1]
    assert (found.limits, found.unsolvable) == (1, 0)


def test_the_identities_hold(tmp_path: Path) -> None:
    found = states(tmp_path, FIRST, SINGLES, SECOND)
    assert (theorem_1(found), theorem_3(found)) == (0, 0)


def test_violations_are_counted(tmp_path: Path) -> None:
    more = path((2, 1, 4, 4), (2, 0, 0, 3), more=1)
    assert theorem_3(states(tmp_path / "a", FIRST, more, SECOND)) == 1
    assert theorem_1(states(tmp_path / "b", FIRST, more, SECOND)) == 2, "both of its binary states"
    wrong = FIRST | {"ledger_wrong": [5, 9, 3]}  # the first of them was entered, and had 4
    found = states(tmp_path / "c", wrong)
    assert (theorem_1(found), theorem_3(found)) == (1, 0)
    good = FIRST | {"ledger_good": [4, 1, 1]}
    assert theorem_1(states(tmp_path / "d", good)) == 1
    said = section(run(tmp_path / "e", row=[FIRST, more]))
    assert "violated 3 times" in said.words[0]
    assert line(said, "identities", "row")["against Theorem 3"] == "1"


def test_failing_siblings_are_the_same_in_every_row(tmp_path: Path) -> None:
    other = path((2, 0, 0, 4), (3, 0, 0, 9), (2, 1, 3, 3))
    differs = path((2, 0, 0, 7), (3, 0, 0, 9), (2, 1, 3, 3))
    found = run(tmp_path, a=[CUT, FIRST, SECOND], b=[SECOND, other, CUT], c=[SECOND, differs, SECOND])
    a, b, c = (States.of(found.part(row)) for row in "abc")
    assert changed_siblings(b, a) == (3, 0), "the search that both have solved"
    assert changed_siblings(c, a) == (4, 1)
    cut = States.of(run(tmp_path / "cut", d=[SECOND, differs | {"ledger_cut": [True, False, False]}, CUT]).part("d"))
    assert changed_siblings(cut, a) == (2, 0), "one that was cut says nothing"


def test_the_section(tmp_path: Path) -> None:
    found = section(run(tmp_path, mine=[FIRST, SECOND, SINGLES, CUT]))
    assert "holds for all 3 searches and Theorem 1 at all 3 binary states" in found.words[0]
    assert line(found, "identities", "mine") == {
        "row": "mine", "searches": "3", "against Theorem 3": "0", "binary states": "3", "against Theorem 1": "0",
        "shared states": "4", "T differs": "0", "LIMIT": "1",
    }  # fmt: skip
    means = line(found, "means", "mine")
    assert (means["p_s"], means["T(s_g)"], means["T(s_w)"]) == ("0.6667", "1.33", "4")  # 4, 0, 0 and 4, 3, 5
    assert (means["wasted nodes"], means["n (1 - p_s) E[T(s_w)]"], means["ratio"]) == ("4", "4", "1.000")
    gap = line(found, "gap", "mine")
    assert (gap["nodes"], gap["decisions"], gap["δ_s"]) == ("10", "4", "0.5000")
    assert (gap["lost, 2 values"], gap["lost, 3+ values"], gap["gap"]) == ("4", "2", "60.0 %")
    assert line(found, "by-arity", "mine", "3")["p_s"] == "0.0000"
    assert line(found, "by-arity", "mine", "2")["of the gap"] == "66.7 %"
    assert line(found, "by-depth", "mine", "0")["T(s_w)"] == "4.5"
    assert line(found, "by-depth", "mine", "1")["T(s_g)"] == "1"
    assert all("LIMIT" in {column.name for column in table.columns} for table in found.tables)
    assert any("have no solution path" in note for note in found.tables[0].notes)


def slow_remaining(records: list[Record]) -> tuple[list[int], list[int]]:
    total, rest = [], []
    for one in records:
        binary = [arity == 2 for arity in one["ledger_arity"]]
        total.append(sum(binary))
        rest += [sum(binary[at + 1 :]) for at in range(len(binary)) if binary[at]]
    return total, rest


def random_paths(rng: np.random.Generator, count: int) -> list[Record]:
    found = []
    for _ in range(count):
        decisions = []
        for _ in range(rng.integers(0, 9)):
            arity, wrong = int(rng.choice([2, 2, 3])), int(rng.integers(0, 50))
            place = int(rng.integers(0, arity))
            entered = 0 if not place else wrong if place == arity - 1 else int(rng.integers(0, wrong + 1))
            decisions.append((arity, place, entered, wrong))
        found.append(path(*decisions))
    return found


def test_random_paths(tmp_path: Path) -> None:
    """Against loops over the records."""
    records = random_paths(np.random.default_rng(0), 60)
    found = states(tmp_path, *records)
    assert (theorem_1(found), theorem_3(found)) == (0, 0)
    total, rest = remaining(found)
    assert (total.tolist(), rest.tolist()) == slow_remaining(records)
    wasted = [
        sum(
            w
            for a, p, w in zip(one["ledger_arity"], one["ledger_place"], one["ledger_wrong"], strict=True)
            if a == 2 and p
        )
        for one in records
    ]
    assert waste(found)[1].tolist() == wasted
    one = fit(found)
    assert one is not None
    wrong = found.wrong[found.binary]
    x, y = rest[wrong > 0], np.log(wrong[wrong > 0])
    slope = np.cov(x, y)[0, 1] / np.var(x, ddof=1)
    assert math.log(one.b) == pytest.approx(slope)
    assert one.r2 == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    below = wrong[wrong > 0] <= one.envelope * one.b**x * (1 + 1e-12)
    assert 0.99 <= below.mean() < 1
    assert one.states + one.empty == found.binary.sum()


def test_an_exponential_is_found(tmp_path: Path) -> None:
    some = [path(*((2, 1, 3 * 2**k, 3 * 2**k) for k in reversed(range(size)))) for size in (4, 6)]
    one = fit(states(tmp_path, *some))
    assert one is not None
    assert (one.b, one.c, one.r2, one.envelope) == pytest.approx((2, 3, 1, 3))
    assert one.rho == 0
    assert one.bound(np.array([4, 6])) == pytest.approx([3 * 15, 3 * 63]), "the sum of what was wasted"


def test_flat_trees_fail_the_assumption(tmp_path: Path) -> None:
    flat = [path((2, 1, 3, 3), (2, 1, 4, 4), (2, 1, 5, 5))] * 2
    said = " ".join(section(run(tmp_path, mine=flat)).words)
    assert "do not grow at all" in said
    assert fit(states(tmp_path / "one", SECOND)) is None


def test_the_growth_of_what_is_wasted() -> None:
    total = np.repeat([2, 3, 4, 5], [10, 20, 30, 1])
    wasted = 7 * 1.5**total + np.tile([-1.0, 1.0], 31)[:61]
    assert growth(total, wasted) == pytest.approx(1.5, abs=0.02), "the last number has one search only"
    assert growth(total[:30], wasted[:30]) is None


def test_rho_is_of_a_depth_with_enough_states() -> None:
    depth = np.repeat([0, 1, 2], [40, 40, 3])
    right = np.concatenate([np.arange(40) < 30, np.arange(40) < 20, np.zeros(3, bool)])
    assert least_share(depth, right) == (0.5, 1)
    share, at = least_share(depth[-3:], right[-3:])
    assert (share, at) == (0, -1)


def test_what_a_real_ledger_says(tmp_path: Path) -> None:
    """The columns that the runner writes, and not only those made here."""
    from dibs.bench.experiment import Row
    from dibs.bench.instances import chosen
    from dibs.bench.records import Store, frame
    from dibs.bench.runner import Bench, described
    from dibs.report.views import read
    from dibs.search.options import Options
    from runs import plan

    rows = [Row("ascending", Options(level="naked")), Row("mcv", Options(level="naked", order="mcv"))]
    from dataclasses import replace

    experiment = replace(plan(rows, "sample17", sample=3), ledger=True, view="theory")
    instances = chosen(experiment.choice)
    bench = Bench(experiment, instances)
    store = Store.open(tmp_path / "run", described(experiment, instances))
    for task in bench.tasks([]):
        columns: dict[str, Any] = bench.perform(task)
        store.append(frame(columns))
    store.close()
    found = section(read(tmp_path / "run"))
    assert "holds for all 6 searches" in found.words[0]
    assert line(found, "identities", "mcv")["T differs"] == "0"
