"""Sessions: whatever was asked before, each answer is that of an independent solver, and what fails really fails."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from pysat.solvers import Solver

import dibs
from dibs import CNF, Not, Problem, Session
from dibs.generate import latin
from dibs.problem import Instance
from dibs.problem.words import literal_of, without_givens, words_for
from dibs.search.nogoods import arrays, incremental, loop
from dibs.search.nogoods.call import call
from dibs.search.nogoods.lines import lines
from dibs.search.nogoods.search import Search
from dibs.session import Handle
from guides import BAD, Scored
from judge import _between, clauses
from randoms import bounded, cnf, problem, sudoku, tight
from selfcheck import Judge, check_state, premises


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
    match int(rng.integers(0, 5)):
        case 0:
            return sudoku(rng, (2, 2), int(rng.integers(0, 9)))
        case 1:
            return cnf(rng)
        case 2:
            return problem(rng)
        case 3:
            return bounded(rng, 12)
    return tight(rng)


def some(rng: np.random.Generator, instance: Instance, most: int) -> list[Any]:
    """Random literals and negations, each once and not both."""
    chosen: dict[int, Any] = {}
    for literal in rng.integers(0, instance.structure.literals, int(rng.integers(0, most + 1))).tolist():
        said = words_for(instance, literal)
        if rng.random() < 0.3:
            said = Not(said)
        chosen.setdefault(literal_of(instance, said), said)
    return list(chosen.values())


def lived(rng: np.random.Generator, instance: Instance, calls: int, groups: float = 0.4, **options: Any) -> int:
    """A session that is changed and asked at random; how many answers were no."""
    session, double = Session(instance, **options), Double(instance)
    givens, no = list(session.givens), 0
    added: dict[Any, tuple[int, int, list[Any]]] = {}
    for _ in range(calls):
        if rng.random() < 0.3 and (more := some(rng, instance, 1)) and more[0] not in session.givens:
            literal = literal_of(instance, more[0])
            if all(literal_of(instance, said) != literal for said in givens):
                session.add(more[0])
                givens.append(more[0])
        if rng.random() < 0.3 and givens:
            session.remove(givens.pop(int(rng.integers(len(givens)))))
        if rng.random() < groups:
            members = some(rng, instance, 6)
            least = int(rng.integers(0, len(members) + 1))
            group = least, int(rng.integers(least, len(members) + 1)), members
            added[session.add(group)] = group
        if rng.random() < 0.3 and added:
            handle = list(added)[int(rng.integers(len(added)))]
            session.remove(handle)
            del added[handle]
        assumed = some(rng, instance, 4)
        outcome = session.solve(assume=assumed)
        literals = [*givens, *assumed]
        assert outcome.status == ("SAT" if double.solvable(literals, list(added.values())) else "UNSAT")
        if outcome.status == "UNSAT":
            no += 1
            said = [one for one in outcome.failing if not isinstance(one, Handle)]
            known = {literal_of(instance, one) for one in literals}
            assert all(literal_of(instance, one) in known for one in said)
            assert not double.solvable(said, [added[one] for one in outcome.failing if one in added])
    return no


@pytest.mark.parametrize("seed", range(4))
def test_every_answer_is_that_of_a_solver(seed: int) -> None:
    rng = np.random.default_rng((20, seed))
    no = sum(lived(rng, drawn(rng), 12, order=("random", "ascending")[i % 2], seed=i) for i in range(60))
    assert 100 < no < 600


@pytest.mark.parametrize("name", BAD)
def test_bad_guides_change_nothing(name: str) -> None:
    rng = np.random.default_rng((21, len(name)))
    assert sum(lived(rng, drawn(rng), 6, guide=Scored(BAD[name])) for _ in range(12)) > 5


class Watched:
    """Looks over a session's shoulder, failure by failure: a nogood and what it needs follow from the problem."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.judges: list[tuple[arrays.Problem, Judge]] = []
        self.verified = {"whole": 0, "cut": 0}
        monkeypatch.setattr(Search, "_step", lambda search, budget: self.step(search, budget))
        monkeypatch.setattr(incremental, "call", lambda *but_budget: call(*but_budget[:-1], 0))

    def step(self, search: Any, budget: int) -> None:
        problem, whole = search._whole or (search.problem, search.memory)
        memory, counts = search.memory, search.memory.counts
        if not self.judges or self.judges[-1][0] is not problem:
            self.judges.append((problem, Judge(problem)))
            self.judges[-1][1].take(whole)
        judge = self.judges[-1][1]
        for _ in range(budget):
            before, run = int(counts[arrays.CONFLICTS]), int(counts[arrays.RUN])
            loop.advance(search.problem, memory, 4, 1)
            if counts[arrays.RUN] != run and search._whole is None:
                judge.anew(memory)
            if counts[arrays.CONFLICTS] > before:
                learnt = search.open[memory.learnt[: counts[arrays.LENGTH]]].tolist()
                nogood = dict.fromkeys([*learnt, *premises(memory, memory.gathered)])
                judge.verify(np.array(list(nogood), np.int32))
                self.verified["whole" if search._whole is None else "cut"] += len(nogood) > 0
            check_state(search.problem, memory)
            if counts[arrays.PHASE] != arrays.RUNNING or counts[arrays.FULL]:
                break


def test_every_nogood_follows_without_the_assumptions(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    rng = np.random.default_rng(22)
    for _ in range(40):
        lived(rng, drawn(rng) if rng.random() < 0.3 else tight(rng), 10, seed=1, order="random")
    assert watched.verified["whole"] > 300


@pytest.mark.parametrize("hard", [1, 4])
def test_hard_calls_without_what_is_assumed(monkeypatch: pytest.MonkeyPatch, hard: int) -> None:
    """What is assumed is cut away after so many failures; all that is learnt there follows as well."""
    monkeypatch.setattr(incremental, "HARD", hard)
    watched = Watched(monkeypatch)
    rng = np.random.default_rng((25, hard))
    for i in range(6):
        [square] = latin(1, order=7, holes=40, seed=i)
        lived(rng, square, 8, groups=0.0, seed=1, order="random")
        lived(rng, threes(rng, 40), 8, groups=0.0, seed=1, order="random")
    assert watched.verified["cut"] > 100


def threes(rng: np.random.Generator, variables: int) -> CNF:
    """Random 3-SAT, about as often satisfiable as not."""
    chosen = [rng.choice(variables, 3, replace=False) + 1 for _ in range(int(4.26 * variables))]
    return CNF(variables, [(rng.choice([-1, 1], 3) * three).tolist() for three in chosen])


def test_bits_of_assumptions_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nogoods that need what is not assumed now are forgotten."""
    monkeypatch.setattr(incremental, "SPARE", 4)
    rng = np.random.default_rng(26)
    assert sum(lived(rng, sudoku(rng, (3, 3), 20), 60) for _ in range(4)) > 10


def test_numbers_are_given_anew_after_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "DEAD", 3)
    rng = np.random.default_rng(23)
    assert sum(lived(rng, drawn(rng), 30) for _ in range(10)) > 30
    session = Session(Problem(4))
    for i in range(50):
        session.remove(session.add([i % 4, Not((i + 1) % 4)]))
        assert session.solve(assume=[Not(0)]).status == "SAT"
    assert len(session._search.memory.state) < 30


def test_solutions_near_a_given_one() -> None:
    """All solutions, each once, fewest changes first."""
    rng = np.random.default_rng(24)
    for i in range(40):
        instance = (cnf(rng), problem(rng), bounded(rng, 7), sudoku(rng, (2, 2), 7))[i % 4]
        every = dibs.solve(without_givens(instance), order="random", seed=i).solution
        if every is None:
            continue
        session = Session(instance)
        outcomes = list(islice(session.near(every), 60))
        if outcomes[-1].status == "UNSAT":
            assert len(outcomes) == 1
            assert not Double(instance).solvable(list(session.givens), [])
            continue
        changes = [_changes(instance, every, outcome.solution) for outcome in outcomes]
        assert changes == sorted(changes)
        assert len({str(outcome.solution) for outcome in outcomes}) == len(outcomes)
        variables, formula = clauses(instance)
        with Solver("glucose4", bootstrap_with=formula) as solver:
            count = 0
            while count < 60 and solver.solve():
                count += 1
                model = set(solver.get_model() or [])
                solver.add_clause([-v if v in model else v for v in range(1, variables + 1)])
        assert len(outcomes) == count
        assert session.solve().status == "SAT"


def _changes(instance: Instance, one: Any, other: Any) -> int:
    if isinstance(instance, CNF):
        return len(set(one) - set(other))
    if isinstance(instance, Problem):
        return len(set(one) ^ set(other))
    return sum(a != b for a, b in zip(one, other, strict=True))


def test_what_fails_is_said_in_the_words_of_the_user() -> None:
    puzzle = dibs.Sudoku.parse("4.....1..3.....2")
    outcome = Session(without_givens(puzzle)).solve(assume=["r1c2=3", "R1C2 = 2"])
    assert (outcome.status, set(outcome.failing)) == ("UNSAT", {"r1c2=3", "R1C2 = 2"})
    session = Session(puzzle)
    assert session.givens == ("r1c1=4", "r2c3=1", "r3c2=3", "r4c4=2")
    assert session.solve(assume=["r1c1!=4"]).failing == ("r1c1=4", "r1c1!=4")
    session.remove("r1c1=4")
    assert session.solve(assume=["r1c1!=4"]).status == "SAT"

    model = dibs.Model()
    ann, bob = (model.choice(name, [1, 2]) for name in ("Ann", "Bob"))
    late = model.boolean("late")
    model.implies(late, ann == 1)
    model.all_different([ann, bob])
    session = Session(model)
    wanted = bob == 1
    assert set(session.solve(assume=[wanted, late]).failing) == {wanted, late}
    assert session.solve(assume=[("Bob", 1), Not("late")])[ann] == 2
    handle = session.add((1, 1, [late, bob == 1], "one of them"))
    assert handle.name == "exactly 1 of late, Bob = 1 (one of them)"
    assert set(session.solve(assume=[("Bob", 2), Not("late")]).failing) == {("Bob", 2), Not("late"), handle}
    session.remove(handle)
    assert session.solve(assume=[("Bob", 2), Not("late")]).status == "SAT"

    session = Session(CNF(3, [[1, 2], [-1, 3], [-2, 3]]))
    assert session.solve(assume=[1, -3]).failing == (1, -3)
    clause = session.add([-3])
    outcome = session.solve()
    assert (outcome.status, outcome.failing) == ("UNSAT", (clause,))
    assert Session(CNF(1, [[1], [-1]])).solve(assume=[1]).failing == ()


def test_limits_are_those_of_each_call() -> None:
    [square] = latin(1, order=9, holes=60, seed=3)
    session = Session(square)
    assert session.solve(max_nodes=0).status == "LIMIT"
    assert session.solve().status == "SAT"


def test_what_makes_no_sense_is_refused_in_one_line() -> None:
    session = Session(dibs.Sudoku.parse("4.....1..3.....2"))
    group = session.add((0, 1, ["r1c2=1", "r4c1=1"]))
    session.remove(group)
    guests = dibs.Model()
    guests.choice("Ann", [1, 2])
    assert Session(guests, strategy="nogoods").solve().status == "SAT"
    for wrong, said in (
        (lambda: session.remove(group), "is not in this session"),
        (lambda: session.remove("r1c2=3"), "r1c2=3 is not given"),
        (lambda: session.add("r1c1=4"), "r1c1=4 is given already"),
        (lambda: session.solve(assume=["r5c1=1"]), "there is no such cell"),
        (lambda: session.solve(assume=["r1c1=7"]), "there is no such value"),
        (lambda: session.solve(assume=[5]), "write a cell and its value"),
        (lambda: session.add((3, 2, ["r1c1=1"])), "r1c1=1"),
        (lambda: session.add((0, 1, ["r1c1=1", "r1c1=1"])), "is there twice"),
        (lambda: Session(CNF(2, [[1, 2]])).solve(assume=[3]), "a literal is a whole number from 1 to 2"),
        (lambda: Session(Problem(["a"])).solve(assume=["b"]), "'b' is not the name of a literal"),
        (lambda: Session(Problem(["a"]), engine="glucose4"), "is not dibs' own search"),
        (lambda: Session(Problem(["a"]), count=2), "is for one answer"),
        (lambda: Session(Problem(["a"]), tie="degree"), "is for the tree search"),
        (lambda: list(session.near("123")), "is no solution of"),
        (lambda: session.solve(assume="r1c2=1"), "assume = 'r1c2=1': give a list"),
        (lambda: session.near("1" * 16, assume="r1c2=1").__next__(), "assume = 'r1c2=1': give a list"),
        (lambda: list(Session(guests).near({"Ann": 4})), "'Ann': 4 is none of its values"),
    ):
        with pytest.raises(ValueError, match=said) as error:
            wrong()
        assert "\n" not in str(error.value)


def test_digging_and_toggling_have_the_answers_of_fresh_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.session.RETURNED", 4)  # what came back is put first again and again
    [full] = dibs.generate.sudoku(1, kept=1.0, seed=3, workers=1)
    values, order = full.values.copy(), np.random.default_rng(4).permutation(81).tolist()
    session = Session(full)
    for cell in [*order, *order[:30]]:  # some of them once more
        given = words_for(full, cell * 9 + int(full.values[cell]) - 1)
        if not values[cell]:
            continue
        session.remove(given)
        outcome = session.solve(assume=[given.replace("=", "!=")])
        trial = values.copy()
        trial[cell] = 0
        assert (outcome.status == "UNSAT") == dibs.is_unique(dibs.Sudoku(trial))
        if outcome.status == "UNSAT":
            values = trial
            left = [z for z in outcome.failing if "!=" not in z]
            assert set(left) <= set(session.givens)
            assert len(left) == len(outcome.failing) - 1
        else:
            session.add(given)
    assert set(session.givens) == {words_for(full, cell * 9 + int(v) - 1) for cell, v in enumerate(values) if v}


def test_an_answer_that_is_known_costs_no_search() -> None:
    session = Session(dibs.Sudoku.parse("4.....1..3......"))
    first = session.solve()
    again = session.solve(assume=[f"r4c4={first.solution[-1]}"])
    assert first.status == again.status == "SAT"
    assert again.solution is first.solution
    failing = session.solve(assume=["r1c2=4"]).failing
    assert failing == ("r1c1=4", "r1c2=4")
    assert session.solve(assume=["r4c3=2", " R1c2 = 4"]).failing == ("r1c1=4", " R1c2 = 4")  # as it was said


def test_groups_that_are_switched_on_alone_are_no_lines() -> None:
    """Long searches look for lines to walk on."""
    session = Session(Problem(6))
    session.add((2, 3, [0, 1, 2, 3]))
    assert session.solve().status == "SAT"
    assert lines(session._search.problem, np.ones(7, bool)) is None
