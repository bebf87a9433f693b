"""Each view on records made by hand, with figures computed by hand or by a slow implementation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handmade import made, manifest, options, record, stored

from dibs.bench.experiment import Experiment
from dibs.report import bootstrap, published
from dibs.report.bootstrap import change, changes, resampled
from dibs.report.figures import beyond, short
from dibs.report.section import Section
from dibs.report.tabular import Cell, Tabular
from dibs.report.views import difficulty, mixed, read, section, sections, steps
from dibs.report.views.distribution import spread_out


def table(made: Section, key: str) -> Tabular:
    return next(one for one in made.tables if one.key == key)


def line(found: Tabular, *first: str) -> dict[str, Cell]:
    """The cells of the line that begins so, by the names of their columns."""
    [cells] = [one.cells for one in found.lines if one.cells[: len(first)] == first]
    return dict(zip((column.name for column in found.columns), cells, strict=True))


def test_plain_rows(tmp_path: Path) -> None:
    run = made(tmp_path, "rows", {"a": [{"nodes": n} for n in range(101)], "b": [{"nodes": 5}] * 101})
    found = section(run)
    assert found.title == "Made: 101 of few"
    a = line(table(found, "rows"), "a")
    assert a["nodes"] == ("50", "50", "95")
    assert a["backtracks"] == ("100", "100", "190")
    assert a["time, ms"] == ("50", "50", "95")
    assert a["most"] == "100"
    assert line(table(found, "intervals"), "b")["nodes: mean"] == "5 (5 to 5)"
    assert [one.key for one in found.pictures] == ["nodes", "time"]


def test_p_s_is_there_if_a_guide_was_asked(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = [{"path_place": [0, 0, 1], "calls": 3}, {"path_place": [0]}]
    run = made(tmp_path, "rows", {"plain": [{}, {}], "guided": asked})
    rows = table(section(run), "rows")
    assert line(rows, "guided")["p_s"] == "0.7500"
    assert line(rows, "plain")["p_s"] == "-"


def test_times_of_a_row_that_was_asked_on_the_path_are_left_out(tmp_path: Path) -> None:
    only = {"calls": 7, "options": options(asked="path"), "path_place": [0]}
    run = made(tmp_path, "rows", {"plain": [{}], "guided": [only]})
    found = section(run)
    guided = line(table(found, "rows"), "guided")
    assert (guided["time, ms"], guided["calls"], guided["model, ms"]) == ("-", "-", "-")
    assert guided["nodes"] == ("1", "1", "1")
    assert line(table(found, "intervals"), "guided")["time, ms: mean"] == "-"
    assert any("asked on the way" in note for note in table(found, "rows").notes)


def test_limits_are_counted_and_kept(tmp_path: Path) -> None:
    run = made(tmp_path, "rows", {"a": [{"nodes": 1}, {"nodes": 99, "status": "LIMIT"}]})
    for found in section(run).tables:
        assert line(found, "a")["LIMIT"] == "1"
        assert any("lower bound" in note for note in found.notes)
    assert line(section(run).tables[0], "a")["nodes"] == ("50", "50", "94.1")


def test_an_incomplete_run_says_so(tmp_path: Path) -> None:
    records = [
        record(row, i, nodes) for row, some in {"a": (1, 2, 90), "b": (3, 4)}.items() for i, nodes in enumerate(some)
    ]
    found = section(read(stored(tmp_path / "x", manifest("ab", 5), records)))
    said = "of 5 instances 2 are done in every row"
    assert said in found.words[0]
    assert all(any(said in note for note in one.notes) for one in found.tables)
    assert line(found.tables[0], "a")["nodes"] == ("1.5", "1.5", "1.95")


def test_a_run_without_a_complete_instance_has_words_only(tmp_path: Path) -> None:
    for records in ([], [record("a", 0), record("b", 1)], [record("a", 0), record("a", 0)]):
        folder = stored(tmp_path / str(len(list(tmp_path.iterdir()))), manifest("ab", 2), records)
        found = section(read(folder))
        assert (found.tables, found.pictures) == ((), ())
        assert "of 2 instances 0 are done" in found.words[0]


def test_versions_and_machines_are_not_mixed_in_silence(tmp_path: Path) -> None:
    by_row = {"a": [{"version": "1"}, {"version": "2"}], "b": [{"machine": "m"}, {"machine": "other"}]}
    run = made(tmp_path / "x", "rows", by_row)
    for found in section(run).tables:
        assert any("2 versions of dibs are mixed: 1 (3 records), 2 (1 records)" in note for note in found.notes)
        assert any("2 machines: m (3 records); other (1 records)" in note for note in found.notes)
    other = made(tmp_path / "y", "rows", {"a": [{"version": "3"}]})
    assert mixed([run, other]) == "The runs of this report are of 3 versions of dibs: 1, 2, 3."
    assert mixed([other, other]) == ""


def test_the_same_experiment_twice_has_two_names(tmp_path: Path) -> None:
    runs = [made(tmp_path / name, "rows", {"a": [{}]}) for name in "xyz"]
    found = sections(runs)
    assert [one.key for one in found] == ["made", "made-2", "made-3"]
    assert [one.tables[0].key for one in found] == ["made-rows", "made-2-rows", "made-3-rows"]


def test_paths_do_not_get_into_a_report(tmp_path: Path) -> None:
    run = made(tmp_path, "rows", {"a": [{}]}, choice={"puzzles": str(tmp_path / "mine.txt")})
    assert section(run).title == "Made: 1 of mine.txt"


# The published figures, as SPEC section 7 has them.
TABLE_1 = """
| MRV | 22165 / 4665 / 98711 | 19645 / 9811 / 73485 | 19582 / 9747 / 73421 |
| + FC | 11560 / 2457 / 51861 | 3870 / 1556 / 16360 | 7723 / 3095 / 32701 |
| + Degree | 7418 / 2174 / 31582 | 13405 / 5719 / 56231 | 13341 / 5655 / 56167 |
| + FC + LCV | 9554 / 2088 / 42929 | 3248 / 1268 / 14096 | 6479 / 2516 / 28177 |
| + FC + Degree | 5185 / 1529 / 22243 | 2246 / 845 / 9795 | 4477 / 1671 / 19580 |
| + FC + LCV + Degree | 4004 / 1118 / 17250 | 1667 / 584 / 7555 | 3319 / 1150 / 15100 |
| DiBS | 9218 / 2705 / 38978 | 1399 / 619 / 5632 | 2783 / 1221 / 11249 |
"""


# And Table 3: time p95, nodes, backtracks, nodes p95, backtracks p95; for 5, 7 and 9 variables.
TABLE_3 = """
| Glucose4 | 0.06, 5.11, 1.56, 6, 3 | 0.07, 5.96, 1.98, 8, 4 | 0.11, 6.71, 2.31, 10, 5 |
| First + True | 0.20, 5.14, 2.07, 7, 4 | 0.30, 6.23, 2.58, 10, 6 | 0.52, 7.92, 3.57, 14, 9 |
| MRV + True | 0.26, 5.04, 1.97, 7, 4 | 0.40, 5.96, 2.41, 10, 6 | 0.66, 7.18, 2.98, 12, 8 |
| MRV + JW | 0.33, 3.52, 0.45, 6, 3 | 0.51, 4.69, 1.12, 8, 5 | 0.83, 5.95, 1.66, 11, 6 |
| DiBS | 5.61, 3.81, 0.73, 6, 3 | 8.50, 4.65, 1.19, 8, 5 | 13.53, 5.88, 1.66, 10, 6 |
"""


def test_published_figures_of_formulas() -> None:
    said: dict[int, dict[str, list[float]]] = {5: {}, 7: {}, 9: {}}
    for text in TABLE_3.strip().splitlines():
        name, *cells = (cell.strip() for cell in text.strip("|").split("|"))
        for variables, cell in zip(said, cells, strict=True):
            said[variables][name] = [float(value) for value in cell.split(",")]
    assert {n: {row: list(one) for row, one in rows.items()} for n, rows in published.TABLE3.items()} == said
    assert published.TABLE3[9]["DiBS"].nodes_p95 == 10
    rows = {row.name for row in Experiment.read("sat").rows}
    assert all(set(some) - {published.GLUCOSE} <= rows for some in published.TABLE3.values())


def test_published_figures() -> None:
    rows = [[cell.strip() for cell in text.strip("|").split("|")] for text in TABLE_1.strip().splitlines()]
    said = {row[0]: [tuple(map(float, cell.split("/"))) for cell in row[1:]] for row in rows}
    assert {name: list(figures.values()) for name, figures in published.TABLE1.items()} == said
    assert list(published.ABLATION_BASE) == [7165.1, 30567.8, 1634.8, 3254.3]
    assert list(published.ABLATION["always-call"]) == [162.64, 163.61, -40.56, -40.82]
    assert list(published.ABLATION["MRV >= 3"]) == [14.38, 10.01, 88.24, 88.62]
    assert (published.STEPS[2]["model"], published.STEPS[8]["time"]) == (81.44, 249.48)


def test_published_rows_are_those_of_the_experiments() -> None:
    rows = {row.name: row for row in Experiment.read("table1").rows}
    assert {*published.TABLE1, *published.REVERSED} <= set(rows)
    for ours in published.REVERSED:
        assert rows[ours].options.order == "mcv"
    assert set(published.ABLATION) <= {row.name for row in Experiment.read("ablation").rows}


def test_published_gaps_are_those_of_the_paper(tmp_path: Path) -> None:
    """The last columns of its Table 1, at the rows whose order of values the published code had."""
    run = made(tmp_path, "table1", {name: [{}] for name in (*published.TABLE1, *published.REVERSED)})
    gaps = table(section(run), "gaps-p95")

    def said(row: str) -> list[str]:
        return [line(gaps, row)[what][0] for what in ("time", "nodes", "backtracks")]

    assert said("MRV") == ["+153.2 %", "+1,204.8 %", "+552.7 %"]
    assert said("+ Degree") == ["-19.0 %", "+898.4 %", "+399.3 %"]
    assert said("+ FC + MCV") == ["+10.1 %", "+150.3 %", "+150.5 %"]
    assert said("+ FC + MCV + Degree") == ["-55.7 %", "+34.1 %", "+34.2 %"]
    assert said("+ FC + LCV") == ["-", "-", "-"], "the published code has no such order"


def test_table_1(tmp_path: Path) -> None:
    nodes = {"MRV": (4, 8), "+ FC + MCV": (3, 3), "DiBS": (1, 3), "mine": (0, 1)}
    by_row: dict[str, list[dict[str, Any]]] = {row: [{"nodes": n} for n in some] for row, some in nodes.items()}
    for one in by_row["mine"]:
        one["options"] = options(asked="path")
    run = made(tmp_path, "table1", by_row)
    found = section(run)
    names = [one.cells[0] for one in table(found, "figures").lines]
    assert names == ["MRV", "published", "+ FC + MCV", "published as + FC + LCV", "DiBS", "published", "mine"]
    assert table(found, "figures").lines[1].cells[2] == ("19,645", "9,811", "73,485")
    mean = table(found, "gaps-mean")
    assert line(mean, "MRV")["nodes"] == ("+1,304.2 %", "+200.0 %")  # 19645 / 1399 and 6 / 2
    assert line(mean, "mine")["nodes"] == ("-", "-75.0 %")
    assert line(mean, "mine")["time"] == ("-", "-"), "it has no time of its own"
    p95 = table(found, "gaps-p95")
    assert line(p95, "MRV")["backtracks"] == ("+552.7 %", "+169.0 %")  # 15.6 over 5.8


def test_networks_alone(tmp_path: Path) -> None:
    """A search that ended at its limit has not been solved by the network, whatever it did not take back."""
    some: list[dict[str, Any]] = [{"backtracks": 0}, {"backtracks": 0, "path_place": [0, 0]}, {"nodes": 7}]
    run = made(tmp_path, "alone", {"guided": [*some, {"backtracks": 0, "status": "LIMIT"}], "plain": [{}] * 4})
    found = table(section(run), "alone")
    guided = line(found, "guided")
    assert (guided["no backtrack"], guided["p_s"], guided["LIMIT"]) == ("0.5000", "1.0000", "1")
    assert guided["nodes"] == ("2.5", "1.0", "6.1", "7.0")
    assert line(found, "plain")["no backtrack"] == "0.0000"


def test_ablation(tmp_path: Path) -> None:
    by_row: dict[str, list[dict[str, Any]]] = {
        "DiBS": [{"nodes": 10, "path_place": [0]}, {"nodes": 30, "path_place": [1]}],
        "always-call": [{"nodes": 5, "search_seconds": 0.08}, {"nodes": 5, "search_seconds": 0.08}],
        "again": [{"nodes": 10}, {"nodes": 30, "status": "LIMIT"}],
        "network": [{"nodes": 20, "options": options(asked="path")}, {"nodes": 60}],
    }
    found = section(made(tmp_path, "ablation", by_row))
    rows = table(found, "changes")
    assert line(rows, "DiBS")["here"] == ("20", "29", "20", "40")
    assert line(rows, "DiBS")["published"] == ("7,165", "30,568", "1,635", "3,254")
    always = line(rows, "always-call")
    assert always["here"] == ("+300.0 %", "+175.9 %", "-75.0 %", "-75.0 %")  # 80 over 20, 80 over 29, 5 over 20
    assert always["published"] == ("+162.64 %", "+163.61 %", "-40.56 %", "-40.82 %")
    assert always["nodes, 95 %"] == "-83.3 to -50.0 %"
    assert line(rows, "again")["here"] == ("+0.0 %",) * 4
    assert (line(rows, "again")["published"], line(rows, "again")["LIMIT"]) == ("-", "1")
    assert line(rows, "network")["here"] == ("-", "-", "+100.0 %", "+100.0 %")
    assert line(rows, "DiBS")["p_s"] == "0.5000"
    assert "again is the same search as DiBS: its times differ by noise only." in rows.notes


def test_difficulty(tmp_path: Path) -> None:
    givens = [17, 17, 29, 29]
    nodes = {"+ FC + LCV": (10, 30, 4, 0), "+ FC + MCV": (40, 40, 0, 2), "DiBS": (5, 5, 0, 0)}
    by_row: dict[str, list[dict[str, Any]]] = {
        row: [{"nodes": n, "givens": g, "number": i % 2} for i, (n, g) in enumerate(zip(some, givens, strict=True))]
        for row, some in nodes.items()
    }
    by_row["DiBS"][0]["status"] = "LIMIT"
    run = made(tmp_path, "difficulty", by_row, choice={"givens": [17, 29]})
    assert run.title() == "Made: 2 of sample17, each with 17 to 29 givens"
    found = section(run)
    assert line(table(found, "nodes"), "17") == {
        "givens": "17", "puzzles": "2", "+ FC + LCV": "20", "+ FC + MCV": "40", "DiBS": "5", "LIMIT": "1",
    }  # fmt: skip
    gain = table(found, "gain-nodes")
    assert line(gain, "17")["DiBS"] == "+75.0 % (+50.0 to +83.3)"  # 5 / 20; drawn twice: 5 / 10 and 5 / 30
    assert str(line(gain, "17")["+ FC + MCV"]).startswith("-100.0 % (-300.0 to")
    assert str(line(gain, "29")["DiBS"]).startswith("+100.0 %")
    assert (line(gain, "17")["LIMIT"], line(gain, "29")["LIMIT"]) == ("1", "0")
    against_mcv = table(found, "gain-nodes-mcv")
    assert str(line(against_mcv, "17")["DiBS"]).startswith("+87.5 %")
    none = made(tmp_path / "none", "difficulty", {"a": [{"nodes": 0, "givens": 29}], "b": [{"nodes": 1, "givens": 29}]})
    assert line(table(section(none), "gain-nodes"), "29")["b"] == "-", "nothing to gain"


def test_formulas(tmp_path: Path) -> None:
    """The paper's nodes are tries + 1; sizes do not mix, and what ended at a limit stays."""
    variables = [5, 20, 5, 20]
    tries = {"First + True": (4, 30, 6, 10), "mine": (2, 99, 2, 1)}
    by_row: dict[str, list[dict[str, Any]]] = {
        row: [
            {"variables": n, "number": i // 2, "tries": t, "backtracks": t - 1, "search_seconds": t / 1000}
            for i, (n, t) in enumerate(zip(variables, some, strict=True))
        ]
        for row, some in tries.items()
    }
    by_row["mine"][1]["status"] = "LIMIT"
    by_row["mine"][1]["calls"] = 8
    run = made(tmp_path, "sat", by_row, choice={"puzzles": None, "variables": [5, 20], "seed": 3})
    assert run.title() == "Made: 2 formulas of each size"
    assert "formulas drawn by seed 3" in run.origin()
    found = section(run)
    assert [one.key for one in found.tables] == ["nodes", "n5", "n20"]
    nodes = table(found, "nodes")
    assert line(nodes, "First + True") == {
        "solver": "First + True", "n = 5": "6 (5 to 7)", "n = 20": "21 (11 to 31)", "LIMIT": "0",
    }  # fmt: skip
    assert line(nodes, "published")["n = 5"] == "5.14"
    assert line(nodes, "published")["n = 20"] == "-"
    assert line(nodes, "mine")["LIMIT"] == "1"
    small = table(found, "n5")
    assert [one.cells[0] for one in small.lines] == ["First + True", "published", "mine", "published: Glucose4"]
    assert line(small, "First + True")["nodes"] == ("6", "6", "6.9")
    assert line(small, "First + True")["backtracks"] == ("4", "4", "4.9")
    assert line(small, "published")["nodes"] == ("5.14", "-", "7")
    assert line(small, "published: Glucose4")["time"] == ("-", "-", "0.3")  # 0.06 over 0.20
    assert line(small, "mine")["time"] == ("0.4", "0.4", "0.339")  # 2 over 5, and 2 over 5.9
    assert "calls" not in line(small, "mine"), "nobody was asked there"
    large = table(found, "n20")
    assert [one.cells[0] for one in large.lines] == ["First + True", "mine"], "nothing is published"
    assert line(large, "mine")["nodes"] == ("51", "51", "95.1")
    assert (line(large, "mine")["solved"], line(large, "mine")["LIMIT"], line(large, "mine")["calls"]) == (
        "50 %",
        "1",
        "4",
    )
    assert any("lower bound" in note for note in large.notes)
    assert not any("lower bound" in note for note in small.notes)
    assert [one.key for one in found.pictures] == ["growth"]
    few = made(tmp_path / "few", "sat", by_row, choice={"puzzles": None, "variables": [5, 20], "sample": [2, 1]})
    assert few.title() == "Made: up to 2 formulas of each size"
    one = made(tmp_path / "one", "rows", {"a": [{"variables": 9}]}, choice={"puzzles": None, "variables": [9]})
    assert section(one).title == "Made: 1 formulas with 9 variables"


def test_the_axis_of_gains() -> None:
    floor, ticks = difficulty.scale(np.array([0.03, 3.0]))
    assert floor == pytest.approx(0.01)
    assert {round(at, 9): text for at, text in ticks.items()} == {0.01: "99", 0.1: "90", 0.5: "50", 1: "0", 10: "-900"}
    floor, ticks = difficulty.scale(np.array([0.0, 0.2]))
    assert ticks[floor] == "100"
    _, ticks = difficulty.scale(np.array([0.5, 1.2]))
    assert (max(ticks), ticks[2.0]) == (2, "-100")


def test_steps(tmp_path: Path) -> None:
    def row(k: int, nodes: tuple[int, int], places: tuple[list[int], list[int]], sure: float) -> list[dict[str, Any]]:
        return [
            {"nodes": n, "options": options(steps=k), "model_seconds": k / 100, "path_place": p,
             "path_sure": [sure + 0.1 * i for i in range(len(p))]}
            for n, p in zip(nodes, places, strict=True)
        ]  # fmt: skip

    by_row = {
        "K = 1": row(1, (10, 10), ([0, 1, 0], [1]), 0.5),
        "K = 2": row(2, (11, 12), ([1, 0, 0], [0]), 0.6),
        "K = 8": row(8, (20, 20), ([0, 1, 0], [0, 0]), 0.7),
    }
    run = made(tmp_path, "steps", by_row)
    found = section(run)
    costs = table(found, "costs")
    assert str(line(costs, "K = 2")["nodes"]).startswith("+15.0 % (+10.0 to +20.0")
    assert str(line(costs, "K = 2")["model time"]) == "+100.0 % (+100.0 to +100.0)"
    assert line(costs, "K = 2")["published"] == ("+28.83 %", "+81.44 %", "+1.53 %")
    assert line(costs, "K = 8")["published"] == ("+249.48 %", "-", "-")
    two, eight = steps.quality(run, "K = 2"), steps.quality(run, "K = 8")
    assert (two.states, two.matched, two.better, two.worse, two.unmatched, two.first) == (4, 4, 2, 1, 0, 3)
    assert two.sure == pytest.approx((0.675, 0.6, 0.65, 0.725))  # of 0.6, 0.7, 0.8 and 0.6
    assert (eight.matched, eight.better, eight.worse, eight.unmatched, eight.first) == (3, 0, 0, 1, 4)
    assert line(table(found, "rankings"), "K = 8")["unmatched searches"] == "1"
    assert any("1 searches were not asked as often" in word for word in found.words)


def test_paired_bootstrap() -> None:
    rng = np.random.default_rng(1)
    base = np.exp(rng.normal(3, 1, 400))
    values = np.stack([base, 2 * base, base[rng.permutation(400)]], axis=1)
    same, double, other = changes(values)
    assert tuple(same) == (0, 0, 0)
    assert tuple(double) == pytest.approx((1, 1, 1)), "pairs are drawn together"
    drawn = []  # the same, one draw after the other
    for _ in range(2000):
        some = values[rng.integers(400, size=400)]
        drawn.append(some[:, 2].mean() / some[:, 0].mean() - 1)
    assert (other.low, other.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.03)
    assert np.isnan(changes(np.zeros((3, 2)))[1].value)
    assert np.isnan(change(1, 0))


def test_the_interval_of_a_change_covers_95_percent() -> None:
    values = np.ones((500, 2))
    values[:, 1] += np.random.default_rng(5).normal(size=500) / 10
    error = values[:, 1].std() / np.sqrt(500)
    found = [changes(values, seed=seed)[1] for seed in range(20)]
    assert np.mean([(one.low - one.value) / error for one in found]) == pytest.approx(-1.96, abs=0.08)
    assert np.mean([(one.high - one.value) / error for one in found]) == pytest.approx(1.96, abs=0.08)


def test_drawing_groups_is_as_uncertain(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.exp(np.random.default_rng(0).normal(0, 1.5, (6001, 1)))
    one_by_one = resampled(values).std()
    monkeypatch.setattr(bootstrap, "UNITS", 1000)
    assert resampled(values).std() == pytest.approx(one_by_one, rel=0.1)
    assert resampled(values).mean() == pytest.approx(values.mean(), rel=0.02)


def test_the_share_beyond() -> None:
    x, share = beyond(np.array([0.0, 1, 2, 2, 8]))
    assert x.tolist() == [1, 1, 2, 8]
    assert share.tolist() == [80, 60, 20, 0]
    values = np.random.default_rng(0).lognormal(5, 2, 5000)
    x, share = beyond(values)
    assert len(x) < 250
    assert share[1:] == pytest.approx([100 * (values > at).mean() for at in x[1:]])
    assert [part.tolist() for part in beyond(np.zeros(3))] == [[], []]


def test_rows_of_a_figure_are_spread_out() -> None:
    means = {f"r{i}": float((7 * i) % 20) for i in range(20)}
    found = spread_out(means, 7)
    assert len(found) == 7
    assert {min(means, key=lambda row: means[row]), max(means, key=lambda row: means[row])} <= set(found)
    assert found == [row for row in means if row in found]
    assert [short(value) for value in (0.01, 1, 1e3, 1e5, 1e6)] == ["0.01", "1", "1k", "100k", "1M"]


def test_a_view_for_every_kind_of_experiment() -> None:
    from typing import get_args

    from dibs.bench.experiment import View
    from dibs.report.views import VIEWS

    assert set(VIEWS) == set(get_args(View))
    assert json.loads(options(steps=2)) == {"steps": 2}
