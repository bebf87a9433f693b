"""Large grids: what strategy `auto` stands for, which guide is asked, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import CNF, Asks, Latin, Options, Sudoku
from dibs.cli import main
from dibs.generate import latin, sudoku
from dibs.guide import Guidance
from dibs.search.engine import Engine
from dibs.search.policy import LARGE_SUDOKU, SUITED, Waiting, chosen_fields, suited
from guides import BAD, Scored, seeded


def test_no_guide_changes_an_answer_in_a_large_grid() -> None:
    squares = list(latin(2, order=18, holes=0.4, balanced=True, seed=1))
    values = squares[0].values.copy()
    hole = int(np.flatnonzero(values == 0)[0])
    row = values[hole // 18 * 18 : hole // 18 * 18 + 18]
    absent = [v for v in range(1, 19) if v not in row and v not in values[hole % 18 :: 18]]
    for value in absent:  # a value that leaves no solution, if there is one
        values[hole] = value
        squares.append(Latin(values))
    known = [dibs.solve(square, policy="plain").status for square in squares]
    for name, scores in (BAD | {"seeded": seeded}).items():
        for policy in ("auto", "guided"):
            found = dibs.solve_many(squares, policy=policy, guide=Scored(scores))
            assert [one.status for one in found] == known, name


def test_what_auto_stands_for() -> None:
    auto = Options(select="confident", keep=0.9, strategy="auto", after=1000)
    for instance in (Sudoku.parse("." * 81), CNF(2, [[1, 2]]), Sudoku.parse("." * 256)):
        assert auto.suited(instance.structure) == replace(auto, strategy="restarts")
    for grid in (Latin([0] * 289), Sudoku([0] * 625)):
        large = auto.suited(grid.structure)
        assert (large.select, large.strategy, large.asks, large.level) == ("mrv", "nogoods", None, "hidden")
        assert large.after is not None
        assert large.after < 1000
        assert replace(auto, unit=7).suited(grid.structure).unit == 7
        assert replace(auto, level="naked").suited(grid.structure).level == "naked"
        counting = replace(auto, count=2).suited(grid.structure)
        assert (counting.select, counting.strategy) == ("mrv", "dfs")
        for strategy in ("dfs", "restarts"):
            said = replace(auto, strategy=strategy)
            assert said.suited(grid.structure) == said


def test_whoever_says_what_to_branch_on_gets_a_tree_search() -> None:
    structure = Sudoku([0] * 625).structure
    for given in ({"select": "confident"}, {"select": "mrv"}, {"select": "first"}):
        options, _ = chosen_fields("auto", given)
        assert (options.suited(structure).select, options.suited(structure).strategy) == (given["select"], "restarts")
    options, _ = chosen_fields("auto", {"strategy": "nogoods"})
    assert options.suited(structure).strategy == "nogoods"


def test_the_guide_of_a_policy_is_that_of_the_family() -> None:
    asked: set[str] = set()
    auto = Waiting(Guidance(guide="auto"))
    for instance in (Sudoku.parse("." * 81), Latin([0] * 16), CNF(2, [[1, 2]]), Sudoku([0] * 625)):
        assert auto.refusal(instance.structure) is None
        asked.add(suited("auto", instance.structure))
    assert asked == {*SUITED.values(), LARGE_SUDOKU}
    own = dibs.Problem(2, exactly_one=[[0, 1]])
    assert auto.refusal(own.structure) == "no guide for the family problem comes with dibs"
    with pytest.raises(dibs.InputError, match="no guide for the family problem"):
        dibs.solve(own, policy="guided")
    assert suited("transformer", own.structure) == "transformer"
    [square] = latin(1, order=20, holes=0.42, balanced=True, seed=4)
    assert dibs.solve(square, policy="guided").asks == 1


def test_what_is_refused() -> None:
    for words, said in (
        ({"level": "eliminate"}, "strategy = 'nogoods' needs level naked or hidden"),
        ({"select": "confident"}, "branches on what failed often: select = 'confident' is not for it"),
        ({"order": "lcv"}, "needs order ascending or random, not lcv"),
    ):
        given: dict[str, Any] = {"strategy": "nogoods", **words}
        with pytest.raises(ValueError, match=said):
            Options(**given)
    with pytest.raises(ValueError, match="is not the kernel's"):
        Engine([Latin([0] * 16)], Options(strategy="nogoods"))


def test_it_cannot_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    [square] = latin(1, order=17, holes=0.3, seed=1)
    for words in (["--policy", "auto"], ["--strategy", "nogoods", "--policy", "plain"], ["--compare", "guided"]):
        assert main(["explain", square.line(), "--family", "latin", *words]) == 2
        assert "strategy nogoods cannot be explained" in capsys.readouterr().err


def test_every_open_literal_is_asked_about() -> None:
    seen: list[Asks] = []

    def scores(asks: Asks) -> Any:
        seen.append(asks)
        return np.zeros(asks.open.shape)

    [square] = latin(1, order=7, holes=0.8, seed=9)
    dibs.solve(square, strategy="nogoods", guide=Scored(scores), asks=1)
    assert [asks.selecting for asks in seen] == [True]
    assert (seen[0].candidates == seen[0].open).all()


@pytest.mark.parametrize("said", [{"level": "eliminate"}, {"order": "lcv"}, {"order": "mcv"}, {"order": "jw"}])
@pytest.mark.parametrize("policy", ["auto", "guided"])
def test_what_looks_at_domains_is_a_search_of_domains_in_a_large_grid(policy: str, said: dict[str, Any]) -> None:
    """It used to be a traceback: groups were branched on, for which these words have no meaning."""
    for grid in (next(latin(1, order=20, holes=0.2, seed=1)), next(sudoku(1, box=(5, 5), kept=0.6, seed=1))):
        outcome = dibs.solve(grid, policy=policy, nodes=2000, **said)
        assert outcome.status in ("SAT", "LIMIT")
