"""CNF: DIMACS with all its oddities, structure, checking."""

from __future__ import annotations

import gzip
import lzma
import pickle
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.problem import CNF, InputError
from dibs.problem.structure import Need

LITERALS = st.integers(1, 6).flatmap(lambda v: st.sampled_from([v, -v]))
FORMULAS = st.builds(lambda clauses: CNF(6, clauses), st.lists(st.lists(LITERALS, max_size=4), max_size=8))


@given(FORMULAS)
def test_text_reads_back(formula: CNF) -> None:
    assert CNF.parse(formula.format()) == formula
    header, *clauses = formula.format().splitlines()
    tokens = " ".join(clauses).split()
    assert CNF.parse("\n".join([header, *tokens])) == CNF.parse("\n".join([header, " ".join(tokens)])) == formula
    assert hash(pickle.loads(pickle.dumps(formula))) == hash(formula)


@given(FORMULAS)
def test_structure_has_the_formula_s_models(formula: CNF) -> None:
    structure = formula.structure
    assert structure.decisions == formula.variables
    assert formula.given.size == 0
    for signs in product((False, True), repeat=formula.variables):
        literals = np.array([2 * v + (not sign) for v, sign in enumerate(signs)])
        counts = [len(np.intersect1d(structure.members(g), literals)) for g in range(structure.groups)]
        assert counts[: formula.variables] == [1] * formula.variables
        holds = all(count >= 1 for count in counts)
        solution = formula.decode(literals)
        assert solution == [v if sign else -v for v, sign in enumerate(signs, 1)]
        assert (formula.violation(solution) is None) == holds


def test_repeated_tautological_and_empty_clauses() -> None:
    formula = CNF(2, [[1, 1, -2], [2, -2], []])
    structure = formula.structure
    assert len(formula.clauses) == 3
    assert [structure.members(g).tolist() for g in range(2, structure.groups)] == [[0, 3], []]
    assert structure.need.tolist() == [Need.REQUIRED] * 4
    assert structure.exclusive.tolist() == [True, True, False, False]
    assert formula.violation([1, 2]) == "clause 3 (empty) is not satisfied"


def test_oddities_of_dimacs() -> None:
    text = "c head\n\n  p  cnf 3 4\nc between\n1 -2\n3 0 -1\nc inside a clause\n0 2 3 0 0\n%\n0\nrubbish\n"
    assert CNF.parse(text) == CNF(3, [[1, -2, 3], [-1], [2, 3], []])
    assert CNF.parse("p cnf 0 0") == CNF(0, [])
    assert CNF.parse("p cnf 2 1\r\n1 2 0\r\n") == CNF(2, [[1, 2]])
    assert CNF.parse("p cnf 2 2\n1\t2 0 c a comment behind a clause 7 0\n-1 c and in one\n0 %\n0\n") == CNF(
        2, [[1, 2], [-1]]
    )
    assert CNF.parse("cnf is a comment\np cnf 1 1\n+1 -0\n%\n") == CNF(1, [[1]])


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "no header 'p cnf VARIABLES CLAUSES'"),
        ("c only", 1, 1, "no header 'p cnf VARIABLES CLAUSES'"),
        ("1 2 0\np cnf 2 1", 1, 1, "a clause before the header 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 2 1\n p cnf 2 1\n1 0", 2, 2, "a second header 'p cnf'"),
        ("p cnf 2\n1 0", 1, 1, "the header must be 'p cnf VARIABLES CLAUSES'"),
        ("p sat 2 1\n1 0", 1, 1, "the header must be 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 2 -1\n", 1, 1, "the header must be 'p cnf VARIABLES CLAUSES'"),
        ("c\np cnf 2 5\n1 0 2 0\n-1 0 -2 0", 2, 1, "header says 5 clauses, file has 4"),
        ("p cnf 2 1\n1  -3 0", 2, 4, "literal -3 is out of range: the header says 2 variables"),
        ("p cnf 2 1\n1 2 z 0", 2, 5, "'z' is not a whole number"),
        ("p cnf 20 1\n1_0 0", 2, 1, "'1_0' is not a whole number"),
        ("p cnf 2 1\n1 2.0 0", 2, 3, "'2.0' is not a whole number"),
        ("p cnf 2 2\n1 0\n1\n2", 3, 1, "the last clause has no 0 at its end"),
        ("p cnf 2 2\n1 0  1\n2", 2, 6, "the last clause has no 0 at its end"),
        ("p cnf 2 2\n1 0\n2\n%\n0\n", 3, 1, "the last clause has no 0 at its end"),
        ("p cnf 2 1\n1 0\n2 0\n", 1, 1, "header says 1 clauses, file has 2"),
        ("p cnf 2 1\n1 0\n0\n", 1, 1, "header says 1 clauses, file has 2"),
        ("p cnf 0 1\n-1 0\n", 2, 1, "literal -1 is out of range: the header says 0 variables"),
        ("p cnf 2 1\n\t1 % 0", 2, 2, "the last clause has no 0 at its end"),
        ("c x\n  1 0", 2, 3, "a clause before the header 'p cnf VARIABLES CLAUSES'"),
        ("%\n0\n", 1, 1, "no header 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 2 1\n1 --2 0", 2, 3, "'--2' is not a whole number"),
        ("p cnf 99999999999 0\n", 1, 7, "99999999999 is more than 2147483647, the most that solvers count to"),
    ],
)
def test_error(text: str, line: int, column: int | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        CNF.parse(text)
    assert (caught.value.message, caught.value.line, caught.value.column) == (message, line, column)


def test_constructor_checks_literals() -> None:
    for literal in (0, 3, -3):
        with pytest.raises(ValueError, match=rf"clause 2: literal {literal} is out of range 1\.\.2"):
            CNF(2, [[1], [literal]])
    with pytest.raises(ValueError, match="-1 variables"):
        CNF(-1, [])


def test_files(tmp_path: Path) -> None:
    formula = CNF(3, [[1, -2], [3]])
    path = tmp_path / "a.cnf"
    formula.write(path)
    (tmp_path / "bom.cnf").write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert CNF.read(tmp_path / "bom.cnf") == formula
    packed = {"b.gz": gzip.compress(path.read_bytes()), "c.xz": lzma.compress(path.read_bytes())}
    for name, content in packed.items():
        (tmp_path / name).write_bytes(content)
    assert all(CNF.read(tmp_path / name) == formula for name in ("a.cnf", *packed))
    path.write_text("p cnf 1 1\n2 0\n")
    with pytest.raises(InputError) as caught:
        CNF.read(path)
    assert str(caught.value) == f"{path}:2:1: literal 2 is out of range: the header says 1 variables"


def test_solution_in_text_and_words() -> None:
    formula = CNF(60, [[1, -2]])
    solution = [v if v % 2 else -v for v in range(1, 61)]
    assert formula.line(solution[:3]) == "1 -2 3"
    lines = formula.format(solution).splitlines()
    assert all(line.startswith("v ") and len(line) <= 78 for line in lines)
    assert [int(z) for line in lines for z in line[2:].split()] == [*solution, 0]
    assert formula.violation(solution) is None
    assert formula.violation([-1, 2, *solution[2:]]) == "clause 1 (1 -2) is not satisfied"
    assert formula.violation(solution[1:]) == "the variables 1..60 do not have one value each"
    assert formula.violation([1, 1, *solution[2:]]) == "the variables 1..60 do not have one value each"
