"""Formulas with bounds: KNF, OPB, python-sat's own, and the files of problems, by name and by how they begin."""

from __future__ import annotations

import io
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysat.formula import CNF as PySAT
from pysat.formula import CNFPlus

import dibs
from dibs import CNF, InputError, InputLimits, Latin, Sudoku, save_problem
from dibs.problem.opb import read_opb

N = 4
SIGNED = st.integers(-N, N).filter(bool)
CLAUSES = st.lists(st.lists(SIGNED, max_size=3), max_size=3)
BOUNDS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.lists(SIGNED, unique=True, max_size=5)), max_size=3
)


def models(formula: CNF) -> list[list[int]]:
    """By the checker alone."""
    every = ([sign * v for v, sign in enumerate(signs, 1)] for signs in product((1, -1), repeat=formula.variables))
    return [model for model in every if formula.violation(model) is None]


def formula(clauses: list[list[int]], bounds: list[tuple[int, int, list[int]]]) -> CNF:
    return CNF(N, clauses, [(a, a + b, group) for a, b, group in bounds if a <= len(group)])


@given(CLAUSES, BOUNDS)
def test_groups_are_what_they_say(clauses: list[list[int]], bounds: list[tuple[int, int, list[int]]]) -> None:
    made = formula(clauses, bounds)
    for signs in product((1, -1), repeat=N):
        model = [sign * v for v, sign in enumerate(signs, 1)]
        right = all(set(clause) & set(model) for clause in clauses)
        right &= all(a <= sum(z in model for z in g) <= b for a, b, g in made.groups)
        assert (made.violation(model) is None) == right


@given(CLAUSES, BOUNDS)
def test_knf_comes_back(clauses: list[list[int]], bounds: list[tuple[int, int, list[int]]]) -> None:
    made = formula(clauses, bounds)
    back = CNF.parse(made.format())
    assert models(back) == models(made)
    assert pickle.loads(pickle.dumps(made)) == made
    assert CNF.parse(back.format()) == back


@given(CLAUSES, BOUNDS)
def test_engines_agree(clauses: list[list[int]], bounds: list[tuple[int, int, list[int]]]) -> None:
    made = formula(clauses, bounds)
    assert dibs.solve(made, engine="cadical195").status == ("SAT" if models(made) else "UNSAT")


def test_knf_text() -> None:
    made = CNF.parse("c x\np knf 4 3\nk 2 1 2 -3 0 1\n4 0 c y\nk 2 1 -1 0\n")
    assert made.groups == ((2, 3, (1, 2, -3)),)
    assert made.clauses == ((1, 4), ())  # a variable is not true and false
    assert made.structure.family == "knf"
    assert repr(made) == "<CNF, 4 variables, 2 clauses, 1 groups>"
    assert CNF(2, [[1]]).structure.family == "cnf"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p knf 3 1\nk 2 1 2 3", "line 2, column 1: the last clause has no 0"),
        ("p knf 3 1\nk", "line 2, column 1: the last clause has no 0"),
        ("p knf 3 1\nk -1 1 2 3 0", "line 2, column 3: at least -1: a bound is 0 or more"),
        ("p knf 3 1\nk 1 1 1 2 0", "line 2, column 1: literal 1 is there twice"),
        ("p knf 3 1\nk 2 1 2 1\n2 0", "line 2, column 1: literal 1 is there twice"),
        ("p knf 3 2\n1 2 0 k 5 1 2 0", "line 2, column 7: at least 5 of 2 literals cannot hold"),
        ("p knf 3 1\n1 k 2 0", "line 2, column 3: 'k' is not a whole number"),
        ("p cnf 3 1\nk 1 1 2 0", "line 2, column 1: 'k' is not a whole number"),
        ("p knf 3 1\nk 2 1 4 0", "line 2, column 7: literal 4 is out of range"),
        ("p knf 3 2\nk 2 1 3 0", "line 1, column 1: header says 2 clauses, file has 1"),
    ],
)
def test_bad_knf(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        CNF.parse(text)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ((5, 5, [1, 2, 3, 4]), "group 1: exactly 5 of 4 literals cannot hold"),
        ((2, 1, [1, 2]), "group 1: bounds 2 to 1"),
        ((0, 1, [1, 2, 1]), "group 1: literal 1 is there twice"),
        ((0, 1, [9]), "group 1: literal 9 is out of range"),
        ((0, 1.5, [1]), "group 1: write"),
        ((0, [1]), "group 1: write"),
    ],
)
def test_bad_groups(group: tuple[int, int, list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CNF(4, [], [group])


def test_formulas_of_python_sat() -> None:
    assert CNF(PySAT(from_clauses=[[1, -2], [3]])) == CNF(3, [[1, -2], [3]])
    plus = CNFPlus(from_string="p cnf+ 4 3\n1 2 0\n1 2 3 4 <= 2\n-1 -2 -3 >= 2\n")
    made = CNF(plus)
    expected = [m for m in models(CNF(4, [[1, 2]])) if sum(z > 0 for z in m) <= 2 and sum(z < 0 for z in m[:3]) >= 2]
    assert models(made) == expected
    assert dibs.solve(made, engine="cadical195").status == "SAT"
    with pytest.raises(TypeError, match="give variables and clauses, or a formula of python-sat"):
        CNF(3)


OPB = """* #variable= 5 #constraint= 4
* a comment
+1 x1 +1 x2 +1 x3 >= 2 ;
-2 x1 +2 ~x4
 = 0 ;
3 x2 3 x5 <= 4 ; +1 x1 >= -1 ;
"""


def test_opb() -> None:
    made = read_opb(OPB.splitlines())
    found = models(made)
    for model in models(CNF(5, [])):
        x = [0, *(int(z > 0) for z in model)]
        right = x[1] + x[2] + x[3] >= 2 and -2 * x[1] + 2 * (1 - x[4]) == 0 and 3 * x[2] + 3 * x[5] <= 4
        assert (model in found) == right


@given(
    st.lists(st.tuples(st.sampled_from([-2, 2]), SIGNED), max_size=5),
    st.sampled_from([">=", "<=", "="]),
    st.integers(-12, 12),
)
def test_every_sum_of_equal_coefficients(terms: list[tuple[int, int]], relation: str, right: int) -> None:
    """A variable with both signs has twice the coefficient, or none: then there may be nothing to count."""
    text = " ".join(f"{c:+d} {'~' if z < 0 else ''}x{abs(z)}" for c, z in terms) + f" {relation} {right} ;"
    sums: dict[int, int] = {}
    for c, z in terms:
        sums[abs(z)] = sums.get(abs(z), 0) + (c if z > 0 else -c)
    lines = [f"* #variable= {N} #constraint= 1", text]
    if len({z for _, z in terms}) < len(terms):
        with pytest.raises(InputError, match=r"^line 2: ~?x\d is there twice in one constraint$"):
            read_opb(lines)
        return
    if len({abs(c) for c in sums.values() if c}) > 1:
        with pytest.raises(InputError, match=r"^line 2: x\d: coefficient .* differs from"):
            read_opb(lines)
        return
    expected = []
    for model in models(CNF(N, [])):
        total = sum(c * (z in model) for c, z in terms)
        if {">=": total >= right, "<=": total <= right, "=": total == right}[relation]:
            expected.append(model)
    if not expected:
        with pytest.raises(InputError, match=r"^line 2: this constraint cannot hold"):
            read_opb(lines)
        return
    assert models(read_opb(lines)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("+1 x1 +2 x2 >= 2 ;", "line 1: x2: coefficient 2 differs from 1"),
        ("+1 x1 >= 1 ;\n+1 x1 +1 ~x2\n+1 x1 >= 1 ;", "line 3: x1 is there twice"),
        ("+1 x1 >= 1 ;\n+1 x1 +1 x2 >= 5 ;", "line 2: this constraint cannot hold"),
        ("\nmin: +1 x1 ;", "line 2: an objective"),
        ("+1 x1 x2 >= 1 ;", "line 1: 'x2' has no coefficient: products"),
        ("+1 x1 >= 1", "line 1: the last constraint has no ;"),
        ("+1 x1 ;", "line 1: a constraint needs >="),
        ("+1 x1 >= 1 2 ;", "line 1: '2' where a ; is expected"),
        ("+1 +1 x1 >= 1 ;", r"line 1: '\+1' where a variable is expected"),
        ("+1 y1 >= 1 ;", "line 1: 'y1' is no part of a linear constraint"),
        ("+1 x0 >= 1 ;", "line 1: 'x0' is no part"),
        ("+1 >= 1 ;", "line 1: '>=' where"),
        ("+1 x7 >= 1 ;", "line 1: more than 6 variables; --max-variables"),
        ("* #variable= 2 #constraint= 2\n+1 x1 >= 1 ;\n", "line 1: header says 2 constraints, file has 1"),
        ("* a\n* #variable= 2 #constraint= 1\n+1 x1 >= 1 ;\n+1 x2 >= 1 ;\n", "line 2: header says 1 constraints, file"),
        ("* #variable= 2 #constraint= 1\n+1 x3 >= 1 ;\n", "line 2: x3 is out of range: the header says 2 variables"),
        ("+1 x1 +1 x2 +1 x3 +1 x4 >= 1 ;", "line 1: more than 3 terms in a constraint; --max-clause"),
    ],
)
def test_bad_opb(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        read_opb(text.split("\n"), limits=InputLimits(max_variables=6, max_clause=3))


@pytest.mark.parametrize(
    "text", ["+1 x1 >= 1 ;\n", " 2 ~x3 2 x1 <= 2;", "- 1 x12 >= -1 ;", "min: +1 x1 ;\n+1 x1 >= 1 ;"]
)
def test_opb_without_a_header_is_recognised(text: str) -> None:
    [(line, found)] = dibs.read_instances(io.StringIO(text))
    assert line == 1
    assert isinstance(found, CNF) or "an objective" in str(found)


def test_files_are_recognised(tmp_path: Path) -> None:
    """By their names, and on standard input by how they begin."""
    problem = dibs.Problem(3, groups=[(2, 3, [0, 1, 2])])
    save_problem(problem, tmp_path / "x.json")
    texts = {"x.json": (tmp_path / "x.json").read_text(), "x.knf": "p knf 3 1\nk 2 1 2 3 0\n", "x.opb": OPB}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        [(_, by_name)] = dibs.read_instances(tmp_path / name)
        [(_, by_text)] = dibs.read_instances(io.StringIO(text))
        assert isinstance(by_name, dibs.Instance)
        assert repr(by_name) == repr(by_text)
        assert dibs.solve(by_name, engine="cadical195").status == "SAT"
    (tmp_path / "bad.json").write_text('{"dibs": "problem", "version": 7}')
    [(_, error)] = dibs.read_instances(tmp_path / "bad.json")
    assert str(error) == f"{tmp_path / 'bad.json'}: is of version 7; this dibs reads version 1"
    with pytest.raises(InputError, match="more than 20 characters in one formula"):
        list(dibs.read_instances(tmp_path / "x.json", limits=InputLimits(max_text=20)))


def test_arrays_in_place_of_text() -> None:
    grid = np.zeros((9, 9), int)
    grid[0, 0] = 5
    assert Sudoku.parse(grid) == Sudoku.parse("5" + "." * 80)
    assert Sudoku.parse(grid.tolist()) == Sudoku.parse("5" + "." * 80)
    assert Sudoku.parse(grid.astype(float)) == Sudoku.parse("5" + "." * 80)
    assert Latin.parse([[1, 0], [0, 0]]) == Latin.parse("1...")
    grid[1, 1] = 5
    with pytest.raises(InputError, match=r"^r1c1 and r2c2 are both 5; if it is a Latin square, use --family latin"):
        Sudoku.parse(grid)
    assert Sudoku.parse(grid, repeats=True).values[10] == 5
    grid[0, 1] = 5
    with pytest.raises(InputError, match=r"^r1c1 and r1c2 are both 5$"):
        Sudoku.parse(grid)
    for wrong in (0.5, np.nan, np.inf, -1.0, 10.0):
        with pytest.raises(InputError, match="whole numbers 0"):
            Sudoku.parse(np.full((9, 9), wrong))
    with pytest.raises(InputError, match="rows of an array are all of one length"):
        Latin.parse([[1, 0], [0]])


@pytest.mark.parametrize("nothing", [None, 3.5, b"1..."])
def test_what_is_neither_text_nor_file(nothing: Any) -> None:
    with pytest.raises(TypeError, match="is neither a text nor an array of numbers"):
        Sudoku.parse(nothing)
    with pytest.raises(TypeError, match="is no text"):
        dibs.CNF.parse(nothing)
    for read in (dibs.CNF.read, dibs.read_problem, lambda source: list(dibs.read_instances(source))):
        with pytest.raises(TypeError, match="is neither a path nor an open text file"):
            read(nothing)
