"""CaDiCaL 1.9.5: it takes phases, or the guide decides near the root."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.engines import cdcl
from dibs.engines.advisor import Bools, Choice
from dibs.engines.task import Found, Task


def run(task: Task) -> Found:
    if task.advice != "decisions":
        return cdcl.run("cadical195", task, cdcl.set_phases)
    deciders: list[Decider] = []
    found = cdcl.run("cadical195", task, lambda task, solver: deciders.append(Decider(task, solver)))
    for decider in deciders:
        if decider.failure:
            raise decider.failure
    return found


class Decider:
    """The guide in CaDiCaL's place: python-sat calls these methods (`pysat.engines.Propagator` documents them).

    It only decides. It never propagates, adds a clause or refuses a model, so the answer is CaDiCaL's own. Its calls
    cost time for every assignment, so it lets go of the solver once it may not ask any more.
    """

    is_lazy = False

    def __init__(self, task: Task, solver: Any) -> None:
        assert task.advisor is not None
        self.task = task
        self.solver = solver
        self.advisor = task.advisor
        self.failure: BaseException | None = None  # of the guide: it must not be raised through the solver
        self._sign = np.sign(task.formula.signed)
        self._variable = np.abs(task.formula.signed)
        self._fixed: list[int] = []  # assignments that will never be undone
        self._trail: list[int] = []
        self._marks: list[int] = []  # where each level begins in the trail
        self._quiet: int | None = None  # the level at which the guide was unsure: nobody asks below it
        self._kept: tuple[int, NDArray[np.float64]] | None = None  # the level and the scores of the last ask
        self._answers = 0  # states that the guide was asked about, or that a kept ranking served
        self._done = False
        solver.connect_propagator(self)
        for variable in np.unique(self._variable).tolist():
            solver.observe(variable)

    # Keeping the state

    def on_assignment(self, literal: int, fixed: bool = False) -> None:
        (self._fixed if fixed else self._trail).append(literal)

    def on_new_level(self) -> None:
        self._marks.append(len(self._trail))

    def on_backtrack(self, to: int) -> None:
        if to < len(self._marks):
            del self._trail[self._marks[to] :], self._marks[to:]
        if self._quiet is not None and to <= self._quiet:
            self._quiet = None
        if self._kept is not None and to < self._kept[0]:
            self._kept = None

    def state(self) -> tuple[Bools, Bools]:
        """[literals] what is open and what is true."""
        value = np.zeros(self.task.formula.variables + 1, np.int64)
        assigned = np.array([z for z in self._fixed + self._trail if abs(z) < len(value)], np.int64)
        value[np.abs(assigned)] = np.sign(assigned)
        of_literal = value[self._variable] * self._sign
        return of_literal == 0, of_literal > 0

    # Deciding

    def decide(self) -> int:
        """The guide's decision, or 0: CaDiCaL decides."""
        level = len(self._marks)
        if self._done or level >= self.task.options.depth or (self._quiet is not None and level > self._quiet):
            return 0
        try:
            choice = self._choice(level)
        except BaseException as failure:
            self.failure = failure
            self._let_go()
            return 0
        if choice is None:
            return 0
        signed = int(self.task.formula.signed[choice.literal])
        return signed if choice.value else -signed

    def _choice(self, level: int) -> Choice | None:
        if self._answers >= self.task.options.asks or self.task.left() <= 0 or self.task.stopped():
            self._let_go()
            return None
        self._answers += 1
        open_, true = self.state()
        if self._kept is not None:
            least = self.task.options.sure if self.advisor.static else self.task.options.keep
            choice = None if least is None else self.advisor.surest(open_, self._kept[1])
            if choice is not None and least is not None and choice.share >= least:
                return choice
            if self.advisor.static:  # it would say the same again
                self._quiet = level
                return None
        scores = self.advisor.ask(open_, true, level)
        self._kept = (0 if self.advisor.static else level), scores
        choice = self.advisor.surest(open_, scores)
        if choice is None or choice.share < self.task.options.sure:
            self._quiet = level
            return None
        return choice

    def _let_go(self) -> None:
        self._done = True
        self.solver.disable_propagator()

    # What it never does

    def check_model(self, _model: list[int]) -> bool:
        return True

    def propagate(self) -> list[int]:
        return []

    def provide_reason(self, _literal: int) -> list[int]:
        return []

    def add_clause(self) -> list[int]:
        return []
