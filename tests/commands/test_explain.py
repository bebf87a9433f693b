"""`dibs explain`: the table, the sum, the JSON and the figure, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dibs
from dibs.guide import card
from dibs.report import tree
from dibs.report.tree import Panel
from dibs.study.ledger import Tree
from shell import BLANK, PUZZLE, SEARCHED, UNSAT, Run, runner

SVG = "{http://www.w3.org/2000/svg}"
HARD = "1....7.9..3..2...8..96..5....53..9...1..8...26....4...3......1..4......7..7...3.."
PIGEONS = "p cnf 6 9\n1 2 0\n3 4 0\n5 6 0\n-1 -3 0\n-1 -5 0\n-3 -5 0\n-2 -4 0\n-2 -6 0\n-4 -6 0\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def explained(run: Run, *words: object) -> dict[str, Any]:
    result = run("explain", *words, "--json")
    assert (result.code, result.err) == (0, "")
    found: dict[str, Any] = json.loads(result.out)
    for search in found["searches"]:
        assert sum(search["identity"].values()) == search["nodes"]
        assert search["identity"]["decisions"] == len(search["decisions"])
        assert search["identity"]["lost"] == sum(one["lost"] for one in search["decisions"])
        assert search["saved"] == sum(one["saved"] for one in search["decisions"])
        if not search["identity"]["nodes_beside"]:
            assert sum(search["nodes_by_depth"]) == search["nodes"]
    return found


def test_table_and_sum(run: Run, guides: Path) -> None:
    result = run("explain", HARD, "--guide", guides / "relational")
    assert (result.code, result.err) == (0, "")
    outcome = dibs.solve(
        dibs.Sudoku.parse(HARD), guide=dibs.load_guide(guides / "relational"), level="naked", trigger="binary"
    )
    sums = re.search(r"SAT: (\d+) decisions \+ ([\d,]+) nodes? in failing branches = ([\d,]+) nodes", result.out)
    assert sums
    path, lost, nodes = (int(part.replace(",", "")) for part in sums.groups())
    assert path + lost == nodes == outcome.nodes
    rows = re.findall(r"^│ +\d+ │ r\dc\d +│ (.+?) +│ (right|wrong|\d wrong) +│", result.out, re.MULTILINE)
    assert len(rows) == path
    for candidates, first in rows:
        if "not asked" not in candidates:
            assert re.fullmatch(r"\[?\d\]? (\d\.\d{3}|<\.001|>\.999)  \[?\d\]? (\d\.\d{3}|<\.001|>\.999)", candidates)
        assert candidates.startswith("[") == (first == "right")
    assert HARD in result.out
    assert re.search(r"saved [\d,]+ nodes: the worst order needs [\d,]+, a random one [\d,]+ on average", result.out)


def test_json_has_everything(run: Run, guides: Path) -> None:
    [search] = explained(run, HARD, "--guide", guides / "relational", "--alpha", 1)["searches"]
    assert search["options"]["level"] == "naked"
    assert search["guidance"]["alpha"] == 1
    for depth, one in enumerate(search["decisions"]):
        assert one["depth"] == depth
        right = [candidate for candidate in one["candidates"] if candidate["right"]]
        others = [candidate for candidate in one["candidates"] if not candidate["right"]]
        assert len(right) == 1
        assert one["guide"] == ("asked" if len(one["candidates"]) == 2 else "not asked")
        assert one["wrong"] == sum(candidate["nodes"] for candidate in others)
        assert one["lost"] == sum(candidate["nodes_entered"] or 0 for candidate in others)
        assert one["wrong"] == one["lost"] + one["saved"]
        if one["guide"] == "asked":
            shares = [candidate["probability"] for candidate in one["candidates"]]
            assert sum(shares) == pytest.approx(1)
            assert shares == sorted(shares, reverse=True)
        cell = (int(one["where"][1]) - 1) * 9 + int(one["where"][3]) - 1
        assert search["solution"][cell] == right[0]["value"]


@pytest.mark.parametrize("name", ["ascending", "lcv", "mcv", "random", "oracle", "plain"])
def test_compare(run: Run, guides: Path, name: str) -> None:
    found = explained(run, HARD, "--guide", guides / "relational", "--compare", name)
    first, other = found["searches"]
    assert other["name"] == name
    assert other["guidance"]["guide"] is None
    assert found["fewer_nodes"] == other["nodes"] - first["nodes"]
    if name != "plain":
        assert found["same_path"]
        assert other["options"]["order"] == name
        outcome = dibs.solve(dibs.Sudoku.parse(HARD), policy="plain", level="naked", tie="index", order=name)
        assert other["nodes"] == outcome.nodes
    if name == "oracle":
        assert other["identity"]["lost"] == 0
    text = run("explain", HARD, "--guide", guides / "relational", "--compare", name).out
    assert (f"lost by {name}" in " ".join(text.split())) == found["same_path"]
    assert "nodes by depth" in text
    assert f"{name} {other['nodes']:,} nodes" in text


def test_compare_with_policies_and_guides(run: Run, shipped: Path) -> None:
    first, other = explained(run, HARD, "--level", "hidden", "--compare", "guided", "--nodes", 5000)["searches"]
    assert (first["name"], first["options"]["level"]) == ("paper", "hidden")
    assert (other["options"]["strategy"], other["options"]["max_nodes"]) == ("restarts", 5000)
    first, other = explained(run, HARD, "--policy", "plain", "--compare", shipped / "transformer")["searches"]
    assert (first["guidance"]["guide"], first["asks"]) == (None, 0)
    assert (other["name"], other["asks"] > 0, other["options"]["tie"]) == ("transformer", True, "impact")


@pytest.mark.parametrize(
    ("puzzle", "words", "says"),
    [
        (HARD, [], "auto: plain search did it, the guide was not asked"),
        (
            HARD,
            ["--guide-after", 5, "--level", "naked"],
            "auto: plain search found this; a guided one beside it had 1 node by then",
        ),
        (
            SEARCHED,
            ["--level", "eliminate"],
            "auto: plain search had no answer after 2,000 nodes; a guided one beside it found this",
        ),
    ],
)
def test_auto_says_what_happened(run: Run, puzzle: str, words: list[object], says: str) -> None:
    words = ["--policy", "auto", "--guide", card.shipped()["relational"], *words]
    [search] = explained(run, puzzle, *words)["searches"]
    outcome = json.loads(run("solve", puzzle, *words, "--json").out)
    assert (search["nodes"], search["solution"], search["story"]) == (outcome["nodes"], outcome["solution"], says)
    assert says in " ".join(run("explain", puzzle, *words).out.split())


def test_without_a_path(run: Run, tmp_path: Path, shipped: Path) -> None:
    assert "SAT: propagation alone solves it, 0 nodes" in run("explain", PUZZLE).out
    assert "UNSAT: propagation alone refutes it, 0 nodes" in run("explain", UNSAT).out
    limited = run("explain", HARD, "--nodes", 3, "--svg", tmp_path / "limited.svg")
    assert "LIMIT after 3 nodes: no answer, so there is no path to show; --max-nodes allows more" in limited.out
    formula = run("explain", PIGEONS, "--svg", tmp_path / "pigeons.svg")
    assert formula.code == 0
    assert re.search(r"UNSAT: \d+ nodes? that all fail: there is no solution", formula.out)
    assert "without a guide: " in formula.out
    for name in ("limited.svg", "pigeons.svg"):
        ElementTree.parse(tmp_path / name)
    solved = run("explain", PUZZLE, "--compare", "ascending", "--svg", tmp_path / "nothing.svg")
    assert solved.code == 0
    ElementTree.parse(tmp_path / "nothing.svg")


def test_several_solutions(run: Run, guides: Path) -> None:
    result = run("explain", "." * 16, "--guide", guides / "relational")
    assert "there are several solutions" in result.out
    assert "the worst order" not in result.out


def test_other_families(run: Run) -> None:
    formula = run("explain", "p cnf 3 3\n1 2 0\n-1 3 0\n-1 -3 0\n", "--policy", "plain", "--level", "naked").out
    assert re.search(r"│ z1 +│ True  \[False\] +│ wrong +│ True: 0 │", formula)
    latin = run("explain", "." * 9, "--family", "latin", "--policy", "plain", "--json")
    assert json.loads(latin.out)["searches"][0]["decisions"][0]["where"] == "r1c1"


def test_where_the_puzzle_comes_from(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"# some\n{PUZZLE}\n{SEARCHED}\n")
    plain = ["--policy", "plain", "--level", "naked"]
    assert explained(run, path, *plain)["puzzle"] == PUZZLE
    found = explained(run, path, "--line", 3, *plain)
    assert (found["id"], found["puzzle"]) == (3, SEARCHED)
    result = run("explain", "-", *plain, "--json", stdin=SEARCHED.encode())
    assert json.loads(result.out)["searches"] == found["searches"]
    dashed = run("explain", SEARCHED.replace(".", "-"), *plain, "--json")
    assert json.loads(dashed.out)["searches"] == found["searches"]
    assert run("explain", path, "--line", 9).complaint == f"{path}: no puzzle begins at line 9"
    path.write_text(f"{PUZZLE}\n{PUZZLE[:-3]}x\n")
    assert run("explain", path, "--line", 2).complaint.startswith(f"{path}:2")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--guide", "nowhere"], "nowhere: no such guide; dibs comes with "),
        (["--compare", "ascendign"], "dibs: compare = 'ascendign': did you mean 'ascending'? It is one of ascending, "),
        (["--compare", "no/where"], "dibs: compare = 'no/where': did you mean "),
        (["--svg", "nowhere/trees.svg"], "nowhere/trees.svg: cannot be written: no such folder"),
        (["--svg", "trees.png"], "trees.png: the figure is an SVG: name it so, trees.svg"),
        (["--limit", "0"], "dibs: limit = 0: it must be a whole number, 1 or more"),
        (["--count", "2"], "dibs: explain shows the search for one solution: leave --max-solutions out"),
        (
            ["--policy", "plain", "--reuse", "0.5"],
            "dibs: reuse = 0.5 is about a guide: name one with guide, or a policy",
        ),
        (["--level", "odd"], "dibs: "),
    ],
)
def test_refusals(run: Run, words: list[str], says: str) -> None:
    assert run("explain", HARD, *words).complaint.startswith(says)


def test_more_refusals(run: Run, guides: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    path = tmp_path / "folder.svg"
    assert run("explain", PUZZLE, "--policy", "plain", "--svg", path).complaint == f"{path}: is a directory"
    says = run("explain", "." * 16, "--guide", guides / "transformer").complaint
    assert says.startswith("<argument>:1: these weights take 9x9 Sudokus; this puzzle is 4x4")
    assert run("explain", "p cnf 1 1\n1 0\n", "--policy", "paper").complaint.startswith("<argument>:1: ")
    assert run("explain", "12").complaint.startswith("<argument>:1")


def elements(text: str, name: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text).iter(SVG + name))


def test_figure(run: Run, guides: Path, tmp_path: Path) -> None:
    words = ["--guide", guides / "relational", "--compare", "ascending"]
    for name in ("one.svg", "two.svg"):
        assert run("explain", SEARCHED, *words, "--svg", tmp_path / name).code == 0
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    said = [element.text for element in elements(text, "text")]
    assert {"paper", "ascending", "depth", "depth: decisions above the node", "values in the order tried →"} <= {*said}
    kinds = {element.get("class") for element in elements(text, "path")}
    assert {"path", "deep", "first", "second"} <= kinds
    assert (run("explain", SEARCHED, *words[:2], "--svg", tmp_path / "one.svg").code, len(text) < 200_000) == (0, True)


def grown(nodes: int, most: int, seed: int) -> Tree:
    """A random tree of that many nodes: a path to a solution, and bushes to the left of it."""
    rng = np.random.default_rng(seed)
    depth, on_path, now, path = [0], [True], 0, 0
    for step in range(1, nodes):
        if step % (nodes // 10) == 0:
            path += 1
            depth.append(path)
            on_path.append(True)
            now = path
            continue
        now = min(max(now + 1 - int(rng.geometric(0.5)) + 1, path + 1), most)
        depth.append(min(now, depth[-1] + 1))
        on_path.append(False)
    return Tree(np.array(depth), np.ones(nodes, np.int64), np.array(on_path))


@pytest.mark.parametrize("most", [30, 60, 2000])
def test_large_trees_are_aggregated(most: int) -> None:
    one, two = (Panel(name, "a note", grown(100_000, most, seed), True) for seed, name in enumerate(("a & b", "c")))
    text = tree.svg([one, two])
    assert len(text) < 2_000_000
    assert "a &amp; b" in text
    assert any((element.text or "").startswith("Aggregated: ") for element in elements(text, "text"))
    assert text == tree.svg([one, two])


def test_layout_keeps_every_node_in_its_place() -> None:
    of = tree.layout(Tree(np.array([0, 1, 2, 2, 1, 2]), np.ones(6, np.int64), np.array([1, 0, 0, 0, 1, 1], bool)), True)
    assert of.depth == [0, 1, 2, 2, 1, 2, 3]
    assert of.parent == [-1, 0, 1, 1, 0, 4, 5]
    assert of.end == [7, 4, 3, 4, 7, 7, 7]
    assert of.x.tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 6, 1 / 2, 5 / 6, 5 / 6, 5 / 6])
    assert of.kind == ["path", "shallow", "shallow", "shallow", "path", "path", "path"]
    runs = tree.layout(Tree(np.array([0, 1, 0, 1]), np.array([1, 1, 2, 2]), np.array([0, 0, 1, 1], bool)), True)
    assert runs.kind == ["earlier", "earlier", "path", "path", "path"]
    assert runs.parent == [-1, 0, -1, 2, 3]


def test_help_names_the_default(run: Run) -> None:
    text = run("explain", "--help").out
    assert "--policy is paper unless you name another" in text
    assert "--compare" in text
    assert BLANK not in text
