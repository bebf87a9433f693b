"""TEMPLATE of a family: copy it to `src/dibs/problem/`, rename it, and say in `structure` what it is.

This one is an assignment: n people, n tasks, everybody has one task and every task one person; some are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance, Structure


class Assignment(Instance):
    """`Assignment(3, {0: 2})`: of three people the first has the last task."""

    family: ClassVar[str] = "assignment"

    def __init__(self, size: int, fixed: Mapping[int, int]) -> None:
        # Whatever a user can get wrong is refused here, in one line.
        for person, task in fixed.items():
            if not (0 <= person < size and 0 <= task < size):
                raise ValueError(f"person {person}, task {task}: both are numbers from 0 to {size - 1}")
        self.size, self.fixed = size, dict(fixed)

    @property
    def structure(self) -> Structure:
        """What all instances of one size share: instances with the same structure are searched together."""
        return _structure(self.size)

    @property
    def given(self) -> NDArray[np.int64]:
        return np.array([person * self.size + task for person, task in self.fixed.items()], np.int64)

    def decode(self, literals: NDArray[np.int64]) -> list[int]:
        """The task of each person."""
        tasks: list[int] = (literals % self.size).tolist()  # ascending literals are ascending people
        return tasks

    def violation(self, solution: Sequence[int]) -> str | None:
        """From the definition, not from `structure`: this is the proof of every answer."""
        if sorted(solution) != list(range(self.size)):
            return "a task is done twice, or not at all"
        wrong = next((person for person, task in self.fixed.items() if solution[person] != task), None)
        return None if wrong is None else f"person {wrong} has another task"

    def format(self, solution: Sequence[int] | None = None) -> str:
        return f"{self.line(solution)}\n"

    def line(self, solution: Sequence[int] | None = None) -> str:
        tasks = [self.fixed.get(person) for person in range(self.size)] if solution is None else solution
        return " ".join("." if task is None else str(task) for task in tasks)


@cache
def _structure(size: int) -> Structure:
    """Literal `person * size + task`: the person has the task."""
    literals = np.arange(size * size).reshape(size, size)
    return Structure.build(size * size, decide=literals, implied=literals.T, family="assignment", shape=(size,))
