"""`dibs data get` for published sets: known by content, in whole or in part, in the formats of their authors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dibs
from dibs import Latin, Problem, Sudoku, sets
from dibs.bench.experiment import Choice
from dibs.bench.instances import chosen
from dibs.bench.kinds import InstanceKind
from dibs.generate import latin, sudoku
from dibs.problem import InputError
from dibs.problem.stated import Graph
from dibs.sets import SETS
from shell import Run, runner

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "data" / "published"
CSPLIB = list(latin(3, order=30, holes=374, seed=1))  # of its order and holes
QWH = list(latin(4, order=50, holes=0.7, seed=2))
EMPTY = [Latin([0] * order**2) for order in (30, 40)]  # of COLOR03


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("DIBS_DATA", str(tmp_path / "lists"))
    return runner(capsys, monkeypatch)


def written(path: Path, squares: list[Latin]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"# one\n{square.format()}\n" for square in squares))
    return path


def authors(square: Latin) -> dict[str, str]:
    """A square as the authors of sets write it."""
    n, values = square.size, square.values.astype(int)
    places = np.flatnonzero(values)
    triples = "".join(f"{at // n} {at % n} {values[at] - 1}\n" for at in places)
    rows = values.reshape(n, n)
    below = "\n".join(" ".join(f"{value - 1:3}" for value in row) for row in rows)
    above = "|\n".join(", ".join(map(str, row)) for row in rows)
    return {"txt": f"{n}\n{triples}", "pls": f"order {n}\n{below}\n", "dzn": f"N = {n};\nstart = [| {above} |];\n"}


def test_every_format_is_the_same_square(run: Run, tmp_path: Path) -> None:
    for ending, text in authors(CSPLIB[0]).items():
        path = tmp_path / f"square.{ending}"
        path.write_text(text)
        code, out, err = run("data", "get", "csplib067", "--from", path, "--force")
        assert (code, err) == (0, "")
        assert out == f"csplib067: 1 instances, 1 of 40 are here: {tmp_path / 'lists' / 'csplib067.txt'}\n"
        assert SETS["csplib067"].load() == CSPLIB[:1]


def test_a_part_and_later_more_in_one_order(run: Run, tmp_path: Path) -> None:
    assert run("data", "get", "csplib067", "--from", written(tmp_path / "a", CSPLIB[:2])).code == 0
    assert run("data", "get", "csplib067", "--from", written(tmp_path / "b", CSPLIB[1:])).code == 0
    stored = SETS["csplib067"].path.read_text()
    assert sorted(one.line() for one in CSPLIB) == stored.splitlines()
    run("data", "get", "csplib067", "--from", written(tmp_path / "c", CSPLIB[::-1]), "--force")
    assert SETS["csplib067"].path.read_text() == stored
    assert run("data", "path", "csplib067").out == f"{SETS['csplib067'].path}\n"


def test_a_folder_with_files_of_many_sets(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    written(folder / "deep" / "qwh.txt", QWH)
    written(folder / "csplib.txt", CSPLIB)
    written(folder / "mixed.txt", [*QWH[:1], *CSPLIB])
    (folder / "README.md").write_text("about it\n")
    (folder / "picture").write_bytes(bytes(range(256)))
    code, out, err = run("data", "get", "qwh", "--from", folder)
    assert (code, err.count("\n")) == (0, 1)
    assert err == f"{folder}: left out, not of qwh: 4 files (README.md, csplib.txt, mixed.txt, ...)\n"
    assert "qwh: 4 instances, 4 of 1,800 are here" in out
    told = json.loads(run("data", "list", "--json").out)["sets"]
    assert {one["name"]: one["here"] for one in told} == dict.fromkeys(SETS, 0) | {"qwh": 4}
    assert "4 here" in run("data", "list").out


def test_what_is_not_of_a_set_is_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "squares.txt", [*CSPLIB, *QWH])
    said = f"{path}: is not of csplib067: it has a Latin square of order 50 with 1750 holes; nothing was stored"
    assert run("data", "get", "csplib067", "--from", path).complaint == said
    assert run("data", "get", "qwh", "--from", tmp_path / "none").complaint.startswith(f"{tmp_path / 'none'}: ")
    assert " has no file of qcp: " in run("data", "get", "qcp", "--from", tmp_path).complaint
    assert run("data", "get", "qwh").complaint == f"qwh is not fetched: {sets.how(SETS['qwh'])}"
    assert run("data", "path", "qwh").complaint == f"the set qwh is not here: {sets.how(SETS['qwh'])}"
    assert "did you mean color03?" in run("data", "get", "color3").complaint
    (tmp_path / "odd").write_text("30\n1 2\n")
    complaint = run("data", "get", "csplib067", "--from", tmp_path / "odd").complaint
    assert complaint == f"{tmp_path / 'odd'}: 2 numbers are no Latin square of order 30"
    assert not SETS["csplib067"].path.exists()


def test_instances_of_one_set_are_of_no_other(run: Run, tmp_path: Path) -> None:
    """COLOR03 has squares with the order and the holes of others: there it is the squares themselves that count."""
    assert [SETS["color03"].has(one) for one in (*EMPTY, *QWH, Latin([1, *[0] * 899]))] == [True] * 2 + [False] * 5
    assert not any(one.has(square) for name, one in SETS.items() for square in EMPTY if name != "color03")
    [large] = sudoku(1, box=(5, 5), kept=0.45, seed=0, workers=1)
    assert [name for name, one in SETS.items() if one.has(large)] == ["gecode-sudoku"]
    assert isinstance(large, Sudoku)


def test_a_damaged_set_is_noticed(run: Run, tmp_path: Path) -> None:
    run("data", "get", "csplib067", "--from", written(tmp_path / "a", CSPLIB))
    SETS["csplib067"].path.write_text(QWH[0].line() + "\n")
    with pytest.raises(InputError, match="is damaged: a Latin square of order 50 with 1750 holes is not of csplib067"):
        SETS["csplib067"].load()


def test_a_cell_takes_its_class_from_the_set(run: Run, tmp_path: Path) -> None:
    fuller = list(latin(2, order=60, holes=0.4, seed=3))
    run("data", "get", "qwh", "--from", written(tmp_path / "a", QWH + fuller))
    cell = InstanceKind(family="published", set="qwh", order=50, filled=0.3)
    assert (cell.label, cell.guide) == ("qwh 50, 30 % filled", "relational-latin")
    assert InstanceKind(family="published", set="gecode-sudoku").guide == "relational-sudoku"
    some = list(cell.made(3, 7))
    assert len({one.line() for one in some}) == 3
    assert {one.line() for one in some} < {one.line() for one in QWH}
    assert list(cell.made(2, 7)) == some[:2]
    every = chosen(Choice(kind=(cell, InstanceKind(family="published", set="qwh", order=60))))
    assert (every.kind, every.number) == (["qwh 50, 30 % filled"] * 4 + ["qwh 60"] * 2, [0, 1, 2, 3, 0, 1])
    with pytest.raises(InputError, match=r"nothing of qwh 70 is here: `dibs data get qwh --from FOLDER`"):
        InstanceKind(family="published", set="qwh", order=70).made(1, 0)
    for bad, message in (({"set": "qw"}, "set = 'qw': choose one of qwh,"), ({}, "the family published needs set")):
        with pytest.raises(ValueError, match=message):
            InstanceKind(family="published", **bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"filled = 30: it must be a fraction"):
        InstanceKind(family="published", set="qwh", filled=30)


CARS = """a set of problems

# Problem 1
# Satisfiable
100 5 3
0 50 0 1 0 0 0
1 30 1 0 0 1 0
2 20 0 0 1 0 0
200 5 2
1 2 1 2 1
2 3 3 5 5
0 60 1 0 0 0 1   # a comment
1 140 0 0 0 0 0
"""


def test_cars(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(CARS)
    assert run("data", "get", "cars", "--from", tmp_path / "x.txt").out.startswith(
        "cars: 2 instances, 2 of 109 are here"
    )
    first, second = SETS["cars"].load()
    assert (first.cars, second.cars) == (100, 200)
    assert first.capacity == second.capacity == ((1, 2), (2, 3), (1, 3), (2, 5), (1, 5))
    assert second.classes == ((60, (1, 0, 0, 0, 1)), (140, (0, 0, 0, 0, 0)))
    kind = InstanceKind(family="published", set="cars")
    assert (kind.label, kind.guide) == ("cars", None)
    posed = {one.line(): one for one in kind.made(2, 0)}
    assert set(posed) == {first.line(), second.line()}
    one = posed[first.line()]
    assert isinstance(one, Problem)
    line = [0, 1, 0, 2, 0] * 20  # 40 cars without an option
    for of, right in ((line, False), ([0, 1, 0, 2, 0, 1, 0, 1, 0, 2] * 10, True)):
        options = [o for o in range(5) if any(options[o] for _, options in first.classes)]  # those that some class has
        lacking = [
            300 + 100 * k + i for k, o in enumerate(options) for i, c in enumerate(of) if not first.classes[c][1][o]
        ]
        assert (one.violation([*(3 * i + c for i, c in enumerate(of)), *lacking]) is None) == right
    answer = dibs.solve(one, max_seconds=60)
    assert answer.status == "SAT"
    order = [literal % 3 for literal in answer.solution if literal < 300]
    assert [order.count(c) for c in range(3)] == [50, 30, 20]
    for option, (most, window) in enumerate(first.capacity):
        having = [first.classes[c][1][option] for c in order]
        assert all(sum(having[i : i + window]) <= most for i in range(100 - window + 1))
    for old, new in (("100 5 3", "100 5 4"), ("0 50 0", "0 51 0"), ("1 2 1 2 1\n", ""), (CARS, "no numbers")):
        (tmp_path / "x.txt").write_text(CARS.replace(old, new))
        said = run("data", "get", "cars", "--from", tmp_path / "x.txt").complaint
        assert said == f"{tmp_path / 'x.txt'}: is no file of car sequencing as CSPLib has them"
    (tmp_path / "x.txt").write_text(CARS[CARS.index("200") :].replace("2 3 3 5 5", "2 3 3 5 6"))
    assert (
        "it has a sequence of 200 cars with 5 options"
        in run("data", "get", "cars", "--from", tmp_path / "x.txt").complaint
    )
    with pytest.raises(ValueError, match="order = 100 is about squares: cars has none"):
        InstanceKind(family="published", set="cars", order=100)


def test_graphs(run: Run, tmp_path: Path) -> None:
    """The queens of 5 x 5 squares are known whatever the order of their edges; other graphs are not."""
    squares = [(i, j) for i in range(5) for j in range(5)]
    edges = [
        (a, b)
        for a, (i, j) in enumerate(squares, 1) for b, (k, m) in enumerate(squares, 1)
        if a != b and (i == k or j == m or abs(i - k) == abs(j - m))
    ]  # fmt: skip
    path = tmp_path / "any name"
    path.write_text("c both ways\np edge 25 320\n" + "".join(f"e {b} {a}\n" for a, b in reversed(edges)) + "e 3 3\n")
    assert run("data", "get", "colouring", "--from", path).out.startswith("colouring: 1 instances, 1 of 89 are here")
    [graph] = SETS["colouring"].load()
    five, four = (posed() for posed in SETS["colouring"].posed([graph]))
    assert [one.line() for one in (five, four)] == ["queen5_5, 5 colours", "queen5_5, 4 colours"]
    assert [dibs.solve(one).status for one in (five, four)] == ["SAT", "UNSAT"]
    colour = {literal // 5: literal % 5 for literal in dibs.solve(five).solution}
    assert all(colour[a - 1] != colour[b - 1] for a, b in edges)
    path.write_text("p edge 25 1\ne 1 2\n")
    assert "is not of colouring: it has a graph of 1 edges" in run("data", "get", "colouring", "--from", path).complaint
    path.write_text("p edge 25 1\ne 1 x\n")
    assert "is no graph as DIMACS has them" in run("data", "get", "colouring", "--from", path).complaint
    SETS["colouring"].path.write_text("1-2 3\n")
    with pytest.raises(InputError, match="is damaged; `dibs data get colouring"):
        SETS["colouring"].load()


def test_colours_in_their_order_lose_no_colouring() -> None:
    """As many colours as are enough, found without that order, are enough with it, and one less is not."""
    rng = np.random.default_rng(4)
    for _ in range(12):
        n = int(rng.integers(4, 13))
        edges = [(a, b) for a in range(1, n + 1) for b in range(a + 1, n + 1) if rng.random() < rng.choice([0.2, 0.5])]
        if not edges:
            continue
        nodes = sorted({node for edge in edges for node in edge})
        for colours in range(1, 6):
            m = dibs.Model()
            choice = {node: m.choice(node, range(colours)) for node in nodes}
            for edge in edges:
                for colour in range(colours):
                    m.at_most(1, [choice[node] == colour for node in edge])
            posed = Graph(tuple(edges)).posed("random", colours)
            assert dibs.solve(posed).status == m.solve().status


@pytest.mark.shared_data
@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published instances are not beside the checkout")
def test_the_published_files(run: Run) -> None:
    places = {"gecode-sudoku": "sudoku"}
    places |= {"cars": "cars", "colouring": "colouring"}
    counts = {"qwh": 180, "color03": 15, "csplib067": 20, "qcp": 16, "gecode-sudoku": 9, "cars": 94, "colouring": 89}
    for name, count in counts.items():
        folder = REFERENCE / places.get(name, "latin")
        assert run("data", "get", name, "--from", folder).out.startswith(f"{name}: {count} instances, ")
        squares = SETS[name].load()
        assert len(squares) == count
        assert not any(one.has(square) for one in SETS.values() if one.name != name for square in squares[::9])
