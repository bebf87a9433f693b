"""The stream behind `dibs solve FILE`: order, failures, and being stopped."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from dibs import Instance, Outcome, Sudoku, solve_many
from dibs.search.stream import solve_batches
from dibs.search.tree import kernel_ready
from dibs.solving import solver
from shell import BLANK, PUZZLE, SOLUTION, UNSAT

GOOD, EMPTY, NONE = Sudoku.parse(PUZZLE), Sudoku.parse(BLANK), Sudoku.parse(UNSAT)
AUTO, COUNTING = solver(None, None, {}), solver(None, None, {"max_solutions": 10**12})  # it never ends


def test_tags_stay_with_their_outcomes() -> None:
    problems = [GOOD, NONE] * 500
    batches = list(solve_batches(((f"no. {i}", p) for i, p in enumerate(problems)), AUTO, workers=2))
    assert [(tag, p) for batch in batches for tag, p, _ in batch] == [(f"no. {i}", p) for i, p in enumerate(problems)]
    assert [o.solution for batch in batches for _, _, o in batch if isinstance(o, Outcome)] == [SOLUTION, None] * 500
    assert len(batches[0]) == 1
    assert kernel_ready()


@pytest.mark.parametrize("given", [0, 1, 2, 5, 100])
def test_what_a_failing_iterator_gave_is_solved(given: int) -> None:
    def failing() -> Iterator[Instance]:
        yield from [GOOD] * given
        raise OSError("gone")

    outcomes: list[Outcome] = []
    with pytest.raises(OSError, match="gone"):
        outcomes.extend(solve_many(failing(), workers=2))
    # `extend` keeps what came before the failure.
    assert [outcome.solution for outcome in outcomes] == [SOLUTION] * given


def test_stop_hands_over_what_is_finished() -> None:
    stop = Event()
    problems = [GOOD, GOOD, EMPTY, GOOD, GOOD]
    found: list[int] = []
    for batch in solve_batches(enumerate(problems), COUNTING, workers=1, stop=stop):
        found += [tag for tag, _, _ in batch]
        if len(found) == 2:
            stop.set()  # the blank grid is never finished
    assert found[:2] == [0, 1]
    assert 2 not in found
    assert found == sorted(found)


def test_a_reader_that_stops_early_stops_the_search() -> None:
    stop = Event()
    stream = solve_batches(enumerate([GOOD, EMPTY, EMPTY]), COUNTING, workers=2, stop=stop)
    assert [tag for tag, _, _ in next(stream)] == [0]
    stream.close()
    assert stop.is_set()


def test_ctrl_c_in_the_input_raises_after_what_is_finished() -> None:
    def interrupted() -> Iterator[Instance]:
        yield from [GOOD] * 20
        raise KeyboardInterrupt

    outcomes: list[Outcome] = []
    with pytest.raises(KeyboardInterrupt):
        outcomes.extend(solve_many(interrupted(), workers=1))
    assert {outcome.solution for outcome in outcomes} == {SOLUTION}
