"""Sessions: whatever was asked before, each answer is that of an independent solver, and what fails really fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pysat.solvers import Solver

import dibs
from dibs import CNF, Not, Problem, Session
from dibs.problem import Instance
from dibs.problem.words import literal_of, without_givens, words_for
from dibs.search.selfcheck import Judge, check_state
from guides import BAD, Scored
from judge import _between, clauses
from randoms import bounded, cnf, problem, sudoku, tight


class Double:
    """The session's twin: clauses written down anew for each question."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        _, self.clauses = clauses(without_givens(instance))
        self.top = max([instance.structure.literals, *(abs(z) for clause in self.clauses for z in clause)])

    def signed(self, said: Any) -> int:
        """The variable of a literal, as `clauses` numbers them."""
        literal, of = literal_of(self.instance, said), self.instance
        positive, plain = literal >= 0, literal if literal >= 0 else ~literal
        if isinstance(of, CNF):
            return int(words_for(of, literal))
        if isinstance(of, Problem) and plain >= of.literals:
            positive, plain = not positive, of.negated[plain - of.literals]
        return plain + 1 if positive else -plain - 1

    def solvable(self, literals: list[Any], groups: list[tuple[int, int, list[Any]]]) -> bool:
        made, top = [*self.clauses, *([self.signed(said)] for said in literals)], self.top
        for least, most, members in groups:
            more = _between(least, most, [self.signed(said) for said in members], top)
            top = max([top, *(abs(z) for clause in more for z in clause)])
            made += more
        with Solver("glucose4", bootstrap_with=made) as solver:
            return bool(solver.solve())


def drawn(rng: np.random.Generator) -> Instance:
    kind = int(rng.integers(0, 5))
    return [
        lambda: sudoku(rng, (2, 2), int(rng.integers(0, 9))),
        lambda: cnf(rng),
        lambda: problem(rng),
        lambda: bounded(rng, 12),
        lambda: tight(rng),
    ][kind]()


def some(rng: np.random.Generator, instance: Instance, most: int) -> list[Any]:
    """Random literals and negations, each once and not both."""
    chosen: dict[int, Any] = {}
    for literal in rng.integers(0, instance.structure.literals, int(rng.integers(0, most + 1))).tolist():
        said = words_for(instance, literal)
        if rng.random() < 0.3:
            said = Not(said)
        chosen.setdefault(literal_of(instance, said), said)
    return list(chosen.values())


def lived(
    rng: np.random.Generator, instance: Instance, calls: int, after: Callable[[Session], None] = lambda session: None,
    **options: Any,
) -> int:  # fmt: skip
    """A session that is changed and asked at random; how many answers were no."""
    session, double = Session(instance, **options), Double(instance)
    givens, groups, no = list(session.givens), {}, 0
    for _ in range(calls):
        if rng.random() < 0.3 and (more := some(rng, instance, 1)) and more[0] not in session.givens:
            literal = literal_of(instance, more[0])
            if all(literal_of(instance, said) != literal for said in givens):
                session.add(more[0])
                givens.append(more[0])
        if rng.random() < 0.3 and givens:
            session.remove(givens.pop(int(rng.integers(len(givens)))))
        if rng.random() < 0.4:
            members = some(rng, instance, 6)
            least = int(rng.integers(0, len(members) + 1))
            group = least, int(rng.integers(least, len(members) + 1)), members
            groups[session.add(group)] = group
        if rng.random() < 0.3 and groups:
            handle = list(groups)[int(rng.integers(len(groups)))]
            session.remove(handle)
            del groups[handle]
        assumed = some(rng, instance, 4)
        outcome = session.solve(assume=assumed)
        literals = [*givens, *assumed]
        assert outcome.status == ("SAT" if double.solvable(literals, list(groups.values())) else "UNSAT")
        if outcome.status == "UNSAT":
            no += 1
            said = [one for one in outcome.failing if not isinstance(one, dibs.session.Handle)]
            known = {literal_of(instance, one) for one in literals}
            assert all(literal_of(instance, one) in known for one in said)
            assert not double.solvable(said, [groups[one] for one in outcome.failing if one in groups])
        after(session)
    return no


@pytest.mark.parametrize("seed", range(4))
def test_every_answer_is_that_of_a_solver(seed: int) -> None:
    rng = np.random.default_rng((20, seed))
    no = sum(lived(rng, drawn(rng), 12, order=("random", "ascending")[i % 2], seed=i) for i in range(60))
    assert 100 < no < 600
