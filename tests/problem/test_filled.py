"""Solutions of grids: text as ever, and arrays."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import dibs
from dibs.problem.filled import Filled


@pytest.mark.parametrize("puzzle", [dibs.Sudoku.parse("1" + "." * 80), dibs.Latin([0] * 16), dibs.Latin([0] * 1600)])
def test_arrays_of_solutions(puzzle: dibs.Sudoku | dibs.Latin) -> None:
    """Lettered grids and those that are written with numbers."""
    solution = dibs.solve(puzzle).solution
    assert isinstance(solution, Filled)
    assert solution.array.shape == (puzzle.size, puzzle.size)
    assert type(puzzle)(solution.array).line() == solution
    assert (np.sort(solution.array, axis=0) == np.arange(1, puzzle.size + 1)[:, None]).all()
    assert json.loads(json.dumps(solution)) == str(solution) == solution
    assert pickle.loads(pickle.dumps(solution)).array.tolist() == solution.array.tolist()


def test_notebooks_show_rows() -> None:
    class Printer:
        said = ""

        def text(self, text: str) -> None:
            self.said += text

    printer = Printer()
    Filled("1234341221434321")._repr_pretty_(printer, False)
    assert printer.said == "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1"


def test_notebooks_show_tables() -> None:
    solution = dibs.solve(dibs.Latin([1, 0, 0, 0])).solution
    assert solution._repr_html_() == "<table><tr><td>1</td><td>2</td></tr><tr><td>2</td><td>1</td></tr></table>"


def test_notebooks_show_outcomes() -> None:
    shown = dibs.solve(dibs.Latin([1, 0, 0, 0]))._repr_html_()
    assert shown.startswith("<p>SAT: ")
    assert shown.endswith("</table>")
    m = dibs.Model()
    m.boolean("a<b")
    assert "<th>a&lt;b</th>" in m.solve()._repr_html_()
    assert dibs.solve(dibs.CNF(1, [[1], [-1]]))._repr_html_().startswith("<p>UNSAT: ")
    assert dibs.solve(dibs.CNF(1, [[1]]))._repr_html_().endswith("<pre>[1]</pre>")


def test_an_unknown_variable_is_named() -> None:
    m = dibs.Model()
    m.boolean("a")
    with pytest.raises(KeyError, match="'b' is no variable of the solution"):
        m.solve()["b"]


def test_printed_outcomes_show_what_was_found_and_what_it_cost() -> None:
    cost, *rows = str(dibs.solve(dibs.Latin([1, 0, 0, 0]))).splitlines()
    assert cost.startswith("SAT: ")
    assert rows == ["1 2", "2 1"]
    m = dibs.Model()
    m.choice("seat of Ann", [3])
    assert str(m.solve()).splitlines()[1:] == ["seat of Ann = 3"]
    assert str(dibs.solve(dibs.Latin([1, 1, 0, 0]))).startswith("UNSAT: ")
    assert len(str(dibs.solve(dibs.CNF(2, [[1], [2]]))).splitlines()) == 2
