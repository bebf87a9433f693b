"""What the page is told of a puzzle, of a guide's beliefs and of a node; generated puzzles; exports."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")

import httpx

import dibs
from dibs.bench.experiment import Row
from dibs.generate.check import uniqueness
from dibs.guide.lazy import lazy_guide
from dibs.problem import InputError
from dibs.problem.shape import shape
from dibs.search.guidance import Guidance
from dibs.search.plan import Request
from dibs.study.ledger import ledgers
from dibs.web import catalogue, limits, make
from dibs.web.board import instance_of, root
from dibs.web.node import at_node
from dibs.web.scheduling import Job, Slots
from dibs.web.trace import TracedSearch
from pages import told
from shell import PUZZLE, SOLUTION, UNSAT, Run, runner

HARD = ".4...8....1..........1...856.2...7......73..65...........6.....8...213..9..8....4"
FORMULA = next(one["text"] for one in catalogue.examples() if one["name"] == "random, 50 variables")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def asked(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def complaint(client: httpx.Client, path: str, **body: Any) -> str:
    answer = client.post(path, json=body)
    assert answer.status_code == 400
    words: str = answer.json()["error"]
    return words


# About


def test_about(client: httpx.Client) -> None:
    about = client.get("/api/about").json()
    assert about["version"] == dibs.__version__
    assert about["sizes"][0] == 4
    assert about["sizes"][-1] == 16
    for family, guide in (("sudoku", "relational"), ("cnf", "sat")):
        some = [one for one in about["searches"] if one["families"] == [family]]
        searches = {one["id"]: one for one in some}
        assert len(searches) == len(some)
        assert [one for one in some if one["oracle"]]
        assert searches["dibs"]["guided"]
        assert {"auto", "guided", "plain"} <= set(searches)
        assert guide in [one["name"] for one in about["guides"] if family in one["families"]]
    assert about["limits"]["most_nodes"] == limits.MOST_NODES


def test_searches_are_those_of_the_tables() -> None:
    from dibs.bench.experiment import Experiment

    for family, name, least in (("sudoku", "table1", 15), ("cnf", "sat", 11)):
        rows = {
            row.name: replace(row, options=replace(row.options, max_nodes=None)) for row in Experiment.read(name).rows
        }
        shown = {one.row.name: one.row for one in catalogue.searches(family).values()}
        assert len(shown.keys() & rows.keys()) >= least
        assert all(shown[name] == rows[name] for name in shown.keys() & rows.keys())


def test_examples(client: httpx.Client) -> None:
    """Each can be read, and is as hard as it says; those of a family go from easy to hard."""
    limit = {"easy": (0, 20), "medium": (21, 200), "hard": (201, 5000), "very hard": (5001, limits.NODES)}
    order: dict[str, list[int]] = {}
    sizes = set()
    for example in client.get("/api/about").json()["examples"]:
        family, text = example["family"], example["text"]
        read = asked(client, "/api/read", family=family, text=text)
        sizes.add(read.get("size"))
        assert not read.get("conflicts")
        outcome = dibs.solve(instance_of(family, text), level="naked")
        least, most = limit[example["difficulty"]]
        assert least <= outcome.nodes <= most
        assert example["words"].startswith(f"{outcome.nodes:,} node")
        order.setdefault(family, []).append(outcome.nodes)
        if family == "sudoku":
            assert dibs.is_unique(dibs.Sudoku.parse(text))
    assert sizes >= {4, 6, 9, 12, 16}
    assert all(counts == sorted(counts) for counts in order.values())


# A puzzle


def test_read(client: httpx.Client) -> None:
    found = asked(client, "/api/read", family="sudoku", text=PUZZLE)
    assert (found["size"], found["box"], found["line"]) == (9, [3, 3], PUZZLE)
    assert found["values"] == [0 if c == "." else int(c) for c in PUZZLE]
    assert found["symbols"] == list("123456789")
    assert (found["conflicts"], found["givens"]) == ([], 30)
    for cell, left in enumerate(found["candidates"]):
        row, column = divmod(cell, 9)
        peers = {
            found["values"][i]
            for i in range(81)
            if i // 9 == row or i % 9 == column or (i // 27, i % 9 // 3) == (row // 3, column // 3)
        }
        expected = [] if found["values"][cell] else [v for v in range(1, 10) if v not in peers]
        assert left == expected
    grid = dibs.Sudoku.parse(PUZZLE).format()
    assert asked(client, "/api/read", family="sudoku", text=grid)["line"] == PUZZLE


def test_conflicts_are_shown_in_place(client: httpx.Client) -> None:
    text = "5...5...." + "." * 9 + ".5......." + "." * 45 + "5........"
    found = asked(client, "/api/read", family="sudoku", text=text)
    assert [(one["cells"], one["value"]) for one in found["conflicts"]] == [([0, 4], 5), ([0, 72], 5), ([0, 19], 5)]
    assert found["conflicts"][0]["words"] == "r1c1 and r1c5 are both 5"
    assert "r1c1 and r1c5 are both 5" in found["words"]
    stuck = "123456..." + "." * 9 + ".......78" + "........9" + "." * 45
    found = asked(client, "/api/read", family="sudoku", text=stuck)
    assert found["conflicts"] == []
    assert found["candidates"][8] == []
    assert "r1c9 has no candidate left" in found["words"]


def test_other_sizes_and_boxes(client: httpx.Client) -> None:
    blank = "." * 144
    assert asked(client, "/api/read", family="sudoku", text=blank)["box"] == [3, 4]
    assert asked(client, "/api/read", family="sudoku", text=blank, box=[4, 3])["box"] == [4, 3]
    found = asked(client, "/api/read", family="sudoku", text="G" + "." * 255)
    assert (found["size"], found["values"][0], found["symbols"][-1]) == (16, 16, "G")
    found = asked(client, "/api/read", family="cnf", text="c a remark\np cnf 3 2\n1 -2 0 3\n0\n")
    assert (found["variables"], found["clauses"]) == (3, [[1, -2], [3]])
    assert asked(client, "/api/read", family="cnf", text=found["line"])["clauses"] == [[1, -2], [3]]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"text": "12x" + "." * 13}, "line 1, column 3: 'x' is not a value of a 4x4 Sudoku"),
        ({"text": "." * 80}, "80 cells"),
        ({"text": ""}, "no cells"),
        ({"text": "." * 16, "box": [1, 4]}, "both must be at least 2"),
        ({"text": "." * 16, "box": [2, 3]}, "boxes of 2 rows and 3 columns make 36"),
        ({"text": "." * 1296}, "36x36 is too large for the page"),
        ({"family": "cnf", "text": "1 2 0"}, "line 1, column 1: a clause before the header"),
        ({"family": "cnf", "text": "p cnf 0 0\n"}, "nothing to show"),
        ({"family": "cnf", "text": "p cnf 51 0\n"}, "up to 50"),
        ({"family": "cnf", "text": "p cnf 1 1001\n" + "1 0\n" * 1001}, "1,000"),
        ({"family": "latin"}, "family"),
        ({"text": 5}, "text"),
        ({"more": 1}, "more"),
    ],
)
def test_what_cannot_be_read(client: httpx.Client, body: dict[str, Any], words: str) -> None:
    assert words in complaint(client, "/api/read", **{"family": "sudoku", "text": "." * 16, **body})


@pytest.mark.parametrize("size", list(make.FEWEST))
def test_generated_puzzles(client: httpx.Client, size: int) -> None:
    givens = make.USUAL[size]
    found = asked(client, "/api/generate", family="sudoku", size=size, givens=givens, seed=3)
    assert found == asked(client, "/api/generate", family="sudoku", size=size, givens=givens, seed=3)
    grid = dibs.Sudoku.parse(found["line"])
    assert (grid.size, int((grid.values > 0).sum()), found["givens"]) == (size, givens, givens)
    assert uniqueness(shape(size, grid.box), grid.values[None]).tolist() == [1]
    for wrong in (make.FEWEST[size] - 1, size * size + 1):
        assert f"for {size}x{size} from" in complaint(client, "/api/generate", family="sudoku", size=size, givens=wrong)


def test_generated_formulas(client: httpx.Client) -> None:
    found = asked(client, "/api/generate", family="cnf", variables=12, clauses=40)
    formula = dibs.CNF.parse(found["line"])
    assert (formula.variables, len(formula.clauses)) == (12, 40)
    again = asked(client, "/api/generate", family="cnf", variables=12, clauses=40, seed=found["seed"])
    assert again == found
    assert "variables" in complaint(client, "/api/generate", family="cnf", variables=51)
    assert "size = 25" in complaint(client, "/api/generate", family="sudoku", size=25)


# What a guide believes


@pytest.mark.parametrize("text", [HARD, ".3..1.4...1.....", PUZZLE])
def test_marginals(client: httpx.Client, text: str) -> None:
    instance = instance_of("sudoku", text)
    n = instance.size  # type: ignore[union-attr]
    found = asked(client, "/api/marginals", family="sudoku", text=text, guide="relational", steps=5)
    assert len(found["steps"]) == len(found["entropy"]) == 5
    open_, true = root(instance)
    shares = np.array(found["steps"])
    assert shares.shape == (5, n * n, n)
    expected = (
        lazy_guide(Guidance(guide="relational"))
        .load(instance.structure)
        .denoiser.log_probabilities(instance.structure, open_[None], true[None])
    )
    assert np.exp(expected[0]).reshape(n * n, n) == pytest.approx(shares[0], abs=1e-4)
    assert shares.sum(axis=2) == pytest.approx(np.ones((5, n * n)), abs=1e-3)
    given = true.reshape(n * n, n)
    assert (shares[:, given] == 1).all()
    assert found["entropy"][-1] <= found["entropy"][0]
    assert asked(client, "/api/marginals", family="sudoku", text=text, steps=1)["steps"] == found["steps"][:1]
    assert not found["impossible"]


def test_marginals_of_a_puzzle_without_solution(client: httpx.Client) -> None:
    stuck = "123456..." + "." * 9 + ".......78" + "........9" + "." * 45
    found = asked(client, "/api/marginals", family="sudoku", text=stuck, guide="relational", steps=2)
    assert found["impossible"]
    found = asked(client, "/api/marginals", family="sudoku", text=UNSAT, guide="relational", steps=2)
    assert found["impossible"]
    assert found["entropy"] == [0, 0]  # singles end in a contradiction: the guide says nothing


def test_marginals_that_cannot_be_had(client: httpx.Client) -> None:
    assert "9x9" in complaint(client, "/api/marginals", family="sudoku", text="." * 16, guide="transformer")
    assert "guide = 'other'" in complaint(client, "/api/marginals", family="sudoku", text=HARD, guide="other")
    assert "steps" in complaint(client, "/api/marginals", family="sudoku", text=HARD, steps=9)
    assert "choose one of sat" in complaint(client, "/api/marginals", family="cnf", text=FORMULA, guide="relational")


def test_marginals_of_a_formula(client: httpx.Client) -> None:
    found = asked(client, "/api/marginals", family="cnf", text=FORMULA, steps=2)
    assert len(found["steps"]) == 2
    for step in found["steps"]:
        assert np.allclose(np.sum(step, axis=1), 1, atol=1e-4)


def test_the_root_of_a_formula_has_its_units() -> None:
    open_, true = root(dibs.CNF(4, [[1], [-1, 2], [-2, -3, 4], [3, 4]]))
    assert true.tolist() == [True, False, True, False, False, False, False, False]
    assert open_.tolist() == [False] * 4 + [True] * 4


# A node


@pytest.mark.parametrize("search", ["mrv", "fc", "dibs", "oracle-2-values", "guided", "confident-kept-restarts"])
def test_nodes_on_the_path_are_the_decisions_of_the_ledger(client: httpx.Client, search: str) -> None:
    row = catalogue.search_for("sudoku", search)
    guide = lazy_guide(row.guidance) if row.guidance.guide else None
    [ledger] = ledgers([dibs.Sudoku.parse(HARD)], row.options, guide, siblings=False)
    solution = [int(c) for c in str(ledger.outcome.solution)]
    path = told(client, family="sudoku", text=HARD, search=search).end["path"]
    assert len(path) == len(ledger.decisions)
    for number, decision in list(zip(path, ledger.decisions, strict=True))[::3]:
        found = asked(client, "/api/node", family="sudoku", text=HARD, search=search, node=number)
        assert (found["domain"], found["depth"]) == (decision.domain, decision.depth)
        assert [one["value"] for one in found["tried"]] == [literal % 9 for literal in decision.candidates]
        results = [one["result"] for one in found["tried"]]
        wrong = decision.mistakes
        assert results == ["failed"] * wrong + ["solution"] + ["not entered"] * (len(results) - wrong - 1)
        assert [one["nodes"] for one in found["tried"]][: wrong + 1] == [*decision.entered, decision.good]
        if guide:
            assert found["guide"] == decision.ranked
            assert [one["probability"] for one in found["tried"]] == pytest.approx(decision.probability or [], abs=1e-5)
            assert [one["score"] for one in found["tried"]] == pytest.approx(decision.score or [], abs=1e-4)
        for cell, (value, left) in enumerate(zip(found["values"], found["candidates"], strict=True)):
            assert bool(value) != bool(left)
            assert solution[cell] in (value, *left)
        assert set(found["candidates"][decision.domain]) == {literal % 9 + 1 for literal in decision.candidates}


@pytest.mark.parametrize(
    ("family", "text", "search"),
    [
        *(("sudoku", HARD, search) for search in ("mrv", "fc-degree", "plain")),
        *(("cnf", FORMULA, search) for search in ("first-true", "dibs", "dibs-confident", "plain")),
    ],
)
def test_all_nodes_of_a_tree(client: httpx.Client, family: str, text: str, search: str) -> None:
    """What a node says of the nodes below it is what the tree has."""
    tree = told(client, family=family, text=text, search=search, nodes=2000)
    parents = tree.nodes["parent"]
    total = len(parents)
    size = [1] * total
    for i in range(total - 1, 0, -1):
        if parents[i] >= 0:
            size[parents[i]] += size[i]
    for number in range(0, total, max(1, total // 12)):
        found = asked(client, "/api/node", family=family, text=text, search=search, nodes=2000, node=number)
        assert found["domain"] == tree.nodes["domain"][number]
        assert found["depth"] == tree.nodes["depth"][number]
        below = {tree.nodes["value"][i]: size[i] for i in range(total) if parents[i] == number}
        tried = {one["value"]: one["nodes"] for one in found["tried"] if one["nodes"] is not None}
        assert {value: nodes for value, nodes in tried.items() if nodes} == below
        on_path = number in tree.end["path"]
        assert on_path == any(one["result"] == "solution" for one in found["tried"])


@pytest.mark.parametrize("after", [0, 40])
def test_nodes_of_two_searches_that_take_turns(after: int) -> None:
    options = replace(Request("auto").options, level="naked", guide_after=after, max_nodes=2000)
    row = Row("auto", options, Guidance(guide="relational"))
    instance, guide = instance_of("sudoku", HARD), lazy_guide(row.guidance)
    columns: dict[str, list[int]] = {}

    def put(name: str, fields: dict[str, Any]) -> None:
        for column in ("domain", "depth", "run") if name == "nodes" else ():
            columns.setdefault(column, []).extend(fields[column])

    followed = TracedSearch(instance, row, guide, Job(Slots(1)), nullcontext(), put)
    with followed.job:
        followed.run()
    assert len({run > 0 for run in columns["run"]}) == 2
    last = len(columns["run"]) - 1
    for number in {0, 1, last // 3, last // 2, last, *followed.path()[:3]}:
        with Job(Slots(1)) as job:
            found = at_node(instance, row, guide, number, job, nullcontext())
        assert (found["domain"], found["depth"]) == (columns["domain"][number], columns["depth"][number])
        assert (found["guide"] is None) == (columns["run"][number] == 0)
    with Job(Slots(1)) as job, pytest.raises(InputError):
        at_node(instance, row, guide, last + 1, job, nullcontext())


def test_no_such_node(client: httpx.Client) -> None:
    for search in ("fc", "dibs", "plain", "oracle-every-node"):
        words = complaint(client, "/api/node", family="sudoku", text=HARD, search=search, node=200_000)
        assert words.startswith("node = 200000: this search has no such node")
    words = complaint(client, "/api/node", family="sudoku", text=HARD, search="fc", node=50, nodes=50)
    assert words.startswith("node = 50")
    assert asked(client, "/api/node", family="sudoku", text=HARD, search="fc", node=49, nodes=50)["depth"] > 0
    assert complaint(client, "/api/node", family="sudoku", text=SOLUTION, search="fc", node=0)


# Exports


@pytest.mark.parametrize(
    ("family", "text", "first", "second"),
    [
        ("sudoku", HARD, "dibs", "fc"),
        ("sudoku", HARD, "auto", "guided"),
        ("sudoku", HARD, "oracle-every-node", "mrv"),
        ("cnf", FORMULA, "auto", "oracle"),
        ("cnf", FORMULA, "dibs", "mrv-jw"),
    ],
)
def test_an_export_is_read_by_explain(
    client: httpx.Client, run: Run, tmp_path: Path, family: str, text: str, first: str, second: str
) -> None:
    searches: list[dict[str, Any]] = [{"search": first}, {"search": second, "seed": 4}]
    found = asked(client, "/api/export", family=family, text=text, searches=searches)
    assert [one["name"] for one in found["searches"]] == [first, second]
    for one, search in zip(found["searches"], searches, strict=True):
        end = told(client, family=family, text=text, **search).end
        assert {key: one[key] for key in ("status", "nodes", "solution")} == {
            key: end[key] for key in ("status", "nodes", "solution")
        }
    (tmp_path / "run.json").write_text(json.dumps(found))
    result = run("explain", tmp_path / "run.json", "--limit", limits.SIBLING, "--json")
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out) == found
    result = run("explain", tmp_path / "run.json", "--svg", tmp_path / "trees.svg")
    assert (result.code, result.err) == (0, "")
    assert f"{first} {found['searches'][0]['nodes']:,} node" in result.out
    assert (tmp_path / "trees.svg").exists()


def test_exports_that_cannot_be_had(client: httpx.Client) -> None:
    some = {"family": "sudoku", "text": HARD}
    assert "searches" in complaint(client, "/api/export", **some, searches=[])
    assert "searches" in complaint(client, "/api/export", **some, searches=[{"search": "fc"}] * 3)
    assert "search = 'x'" in complaint(client, "/api/export", **some, searches=[{"search": "x"}])
