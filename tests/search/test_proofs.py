"""Proofs of dibs' own searches: whatever the search, a checker that shares no code with it accepts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dibs
from dibs.problem import Instance
from dibs.search.drat import Drat
from dibs.search.external.formula import encode
from dibs.search.nogoods import arrays, loop
from judge import solutions
from oddities import proves
from proving import KINDS, accepted, drawn, unsatisfiable, way
from randoms import formula, latin, sudoku, tight
from shell import SEARCHED, UNSAT
from stores import SMALL, patched

ANSWERS = 210
CONTRADICTION = dibs.CNF(2, [[1, 2], [-1, 2], [1, -2], [-1, -2]])
STRATEGIES: list[dict[str, Any]] = [
    {"policy": "plain"},
    {"policy": "auto", "guide_after": 3},
    {"policy": "guided"},
    {"strategy": "dfs", "level": "eliminate"},
    {"strategy": "dfs", "level": "naked", "tie": "random", "order": "random"},
    {"strategy": "restarts", "restart_base": 2, "order": "random"},
    {"order": "oracle", "strategy": "restarts"},
    {"strategy": "nogoods"},
    {"strategy": "nogoods", "level": "naked", "restart_base": 1},
    {"strategy": "nogoods", "root": "singles", "workers": 2},
]


def searched(kind: str, seed: int = 0) -> Instance:
    """An instance without a solution that takes some search."""
    rng = np.random.default_rng((7, seed))
    make: dict[str, Callable[[], Instance]] = {
        "formula": lambda: formula(rng, 40, 5.0),
        "tight": lambda: tight(rng),
        "sudoku": lambda: sudoku(rng, (3, 3), 26),
        "latin": lambda: latin(rng, 7, 16),
    }
    how: dict[str, Any] = (
        {"strategy": "dfs", "level": "naked"} if kind in ("sudoku", "latin") else {"strategy": "nogoods"}
    )
    for _ in range(1000):
        outcome = dibs.solve(found := make[kind](), **how)
        if outcome.status == "UNSAT" and outcome.backtracks > 20:
            return found
    raise AssertionError(f"{kind}: none was found")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "p.drat"


def test_whatever_the_problem_and_the_search(path: Path) -> None:
    """`make proofs` does the same with 10,000."""
    seen: Counter[str] = Counter()
    number = 0
    while seen["proofs"] < ANSWERS:
        rng = np.random.default_rng((3, number))
        instance, options = unsatisfiable(rng, KINDS[number % len(KINDS)]), way(rng)
        number += 1
        try:
            with patched(SMALL) if number % 3 == 0 else nullcontext():
                outcome = dibs.solve(instance, proof=path, max_nodes=5_000, **options)
        except ValueError:
            continue
        if outcome.status == "LIMIT":
            continue
        assert outcome.status == "UNSAT"
        assert accepted(instance, path), (number, options)
        path.unlink()
        seen["proofs"] += 1
        seen[outcome.search] += 1
    assert min(seen[search] for search in ("tree", "tree + guide", "nogoods")) > ANSWERS // 10, seen


@pytest.mark.parametrize("kind", ["formula", "sudoku", "latin"])
def test_every_strategy_where_there_is_much_to_prove(path: Path, kind: str) -> None:
    instance = searched(kind)
    for options in STRATEGIES:
        assert dibs.solve(instance, proof=path, **options).status == "UNSAT"
        assert accepted(instance, path), options


@pytest.mark.parametrize("seed", range(3))
def test_bounds_and_negation(path: Path, seed: int) -> None:
    instance = searched("tight", seed)
    for small in (False, True):
        with patched(SMALL) if small else nullcontext():
            dibs.solve(instance, proof=path, policy="auto", restart_base=2, workers=1 + seed % 2)
        assert accepted(instance, path)
        assert path.read_text().count("\n") > 10


def test_what_is_forgotten_is_deleted(path: Path) -> None:
    """Else a checker would drag all that was ever learned along."""
    with patched(SMALL):
        dibs.solve(searched("formula"), strategy="nogoods", restart_base=1, proof=path)
    lines = path.read_text().splitlines()
    assert sum(line.startswith("d ") for line in lines) > len(lines) / 10
    dibs.solve(searched("formula"), strategy="dfs", proof=path)
    lines = path.read_text().splitlines()
    assert sum(line.startswith("d ") for line in lines) > len(lines) / 10


@pytest.mark.parametrize(
    "options", [{}, {"strategy": "dfs", "level": "naked", "order": "random"}, {"strategy": "nogoods"}]
)
def test_no_second_solution(path: Path, options: dict[str, Any]) -> None:
    puzzle = dibs.Sudoku.parse(SEARCHED)
    outcome = dibs.solve(puzzle, max_solutions=2, proof=path, **options)
    assert outcome.solutions == 1
    assert accepted(puzzle, path, found=1)
    beside = path.with_name("p.drat.cnf")
    assert beside.read_text().startswith("c The last 1 clauses exclude the solutions that were found.\n")
    about = dibs.CNF.read(beside)
    assert about.clauses[:-1] == encode(puzzle).as_cnf().clauses
    cells = np.array([int(value) for value in outcome.solution])
    assert list(about.clauses[-1]) == sorted(-(9 * np.arange(81) + cells), reverse=True)


def test_all_solutions_of_a_formula_are_excluded(path: Path) -> None:
    problem = dibs.Problem(4, at_most_one=[[0, 1], [2, 3]], at_least_one=[[0, 2]])  # literals decided by themselves
    for instance in (dibs.CNF(3, [[1, 2], [-1, -2]]), problem):
        count = dibs.count_solutions(instance)
        assert dibs.solve(instance, max_solutions=count + 1, proof=path).solutions == count
        assert accepted(instance, path, found=count)
        path.unlink()
        dibs.solve(instance, max_solutions=count, proof=path)  # there might be others
        assert not path.exists()


@pytest.mark.parametrize("kind", ["formula", "odd", "latin", "bounded", "tight", "union"])
def test_all_solutions_by_nogoods_are_excluded(path: Path, kind: str) -> None:
    """More than are blocked, so that others are left by backtracking."""
    rng = np.random.default_rng(4)
    seen: list[int] = []
    while len(seen) < 5 or max(seen) < 20:
        count = solutions(instance := drawn(rng, kind), 300)
        if 0 < count < 300 and (len(seen) < 5 or count >= 20):
            with patched(SMALL) if len(seen) % 2 else nullcontext():
                outcome = dibs.solve(instance, strategy="nogoods", max_solutions=300, proof=path)
            assert outcome.solutions == count
            assert accepted(instance, path, found=count), (kind, len(seen))
            seen.append(count)


def test_formulas_are_proved_as_they_are(path: Path) -> None:
    assert dibs.solve(CONTRADICTION, proof=path).status == "UNSAT"
    assert [file.name for file in path.parent.iterdir()] == ["p.drat"]
    assert proves(CONTRADICTION, path.read_text())
    empty: list[list[list[int]]] = [[[]], [[1], [], [-1]], [[1, 2], []]]
    for clauses in empty:
        dibs.solve(dibs.CNF(2, clauses), proof=path)
        assert path.read_text() == "0\n"


@pytest.mark.parametrize("nodes", [1, 100_000])
def test_whoever_answers_writes_the_proof(path: Path, monkeypatch: pytest.MonkeyPatch, nodes: int) -> None:
    """Policy `auto` leaves a formula to CaDiCaL: then there is nothing in the proof of the search before."""
    monkeypatch.setattr("dibs.search.plan.NODES", nodes)
    instance = searched("formula")
    outcome = dibs.solve(instance, policy="auto", proof=path)
    assert outcome.status == "UNSAT"
    assert ("cadical195" in outcome.search) == (nodes == 1)
    assert accepted(instance, path)


def test_compressed(tmp_path: Path) -> None:
    instance = searched("formula")
    for name in ("p", "p.xz"):
        dibs.solve(instance, strategy="nogoods", proof=tmp_path / name)
    assert accepted(instance, tmp_path / "p.xz")
    assert (tmp_path / "p.xz").stat().st_size < (tmp_path / "p").stat().st_size


def test_without_unsat_there_is_no_proof(path: Path) -> None:
    dibs.solve(dibs.CNF(1, [[1]]), proof=path)
    dibs.solve(searched("formula"), max_nodes=1, proof=path)
    with pytest.raises(ValueError, match="a proof is about one instance"):
        dibs.solve_many([CONTRADICTION], proof=path)
    with pytest.raises(ValueError, match="solutions takes no proof"):
        dibs.solutions(CONTRADICTION, proof=path)
    assert list(path.parent.iterdir()) == []
    with pytest.raises(dibs.InputError, match="is a directory"):
        dibs.solve(CONTRADICTION, proof=path.parent)


@pytest.mark.parametrize("options", STRATEGIES[:-1])
def test_a_proof_changes_no_search(path: Path, options: dict[str, Any]) -> None:
    instance = searched("sudoku")
    without, with_proof = dibs.solve(instance, **options), dibs.solve(instance, proof=path, **options)
    for name in ("status", "nodes", "backtracks", "asks", "depth", "search"):
        assert getattr(without, name) == getattr(with_proof, name)


def test_the_plan_says_what_a_proof_leaves_out(path: Path) -> None:
    puzzle = dibs.Sudoku.parse(UNSAT)
    note = "no all-different filtering: a proof cannot have its reasons"
    assert note in dibs.plan(puzzle, strategy="nogoods", proof=path).describe()
    assert note not in dibs.plan(puzzle, strategy="nogoods").describe()
    assert note not in dibs.plan(puzzle, policy="plain", proof=path).describe()


def test_a_broken_kernel_is_caught(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that learns nogoods with a literal too few says UNSAT all the same; its proof is refused."""
    instance = searched("formula", 1)
    advance = loop.advance

    def broken(problem: Any, m: Any, unit: int, budget: int) -> None:
        """One failure at a time: a nogood of three literals or more loses one, where it is kept and in the log."""
        learnt = int(m.counts[arrays.NOGOODS])
        advance(problem, m, unit, 1)
        nogood = int(m.counts[arrays.NOGOODS]) - 1
        logged = int(m.counts[arrays.LOGGED])
        if nogood == learnt and m.length[nogood] > 2 and m.log[logged - m.length[nogood] - 1] == m.length[nogood]:
            m.log[logged - m.length[nogood] - 1] -= 1
            m.counts[arrays.LOGGED] -= 1
            m.length[nogood] -= 1

    dibs.solve(instance, strategy="nogoods", proof=path)
    assert accepted(instance, path)
    monkeypatch.setattr(loop, "advance", broken)
    assert dibs.solve(instance, strategy="nogoods", proof=path).status == "UNSAT"
    assert not accepted(instance, path)


@pytest.mark.parametrize("strategy", ["dfs", "nogoods"])
def test_a_lemma_with_a_literal_dropped_is_caught(path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str) -> None:
    instance = searched("formula")
    write = Drat.write

    def shorter(self: Drat, text: Any) -> None:
        lines = bytes(text).split(b"\n")
        cut = [line[line.index(b" ") + 1 :] if line.count(b" ") > 2 and line[:1] != b"d" else line for line in lines]
        write(self, np.frombuffer(b"\n".join(cut), np.uint8))

    monkeypatch.setattr(Drat, "write", shorter)
    assert dibs.solve(instance, strategy=strategy, proof=path).status == "UNSAT"
    assert not accepted(instance, path)


@pytest.mark.parametrize(("nodes", "answers"), [(4_000, "nogoods"), (1, "cadical195")])
def test_formulas_under_auto(nodes: int, answers: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The proof is of the search that answers: the nogood search, or CaDiCaL after it."""
    monkeypatch.setattr("dibs.search.plan.NODES", nodes)
    formula = searched("formula")
    outcome = dibs.solve(formula, proof=tmp_path / "proof")
    assert (outcome.status, outcome.search.split()[0]) == ("UNSAT", answers)
    assert accepted(formula, tmp_path / "proof")
