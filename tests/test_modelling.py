"""The modelling layer: what is said is what holds, and errors name the variable."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import Model, read_problem, save_problem
from dibs.problem.variables import Literal
from randoms import bounded

Say = Callable[[Model, dict[str, Any]], None]
SAID: dict[str, tuple[Say, Callable[[int, int, bool], bool]]] = {
    "at_most": (
        lambda m, v: m.at_most(1, [v["x"] == 1, v["y"] == 1, v["a"]]),
        lambda x, y, a: (x == 1) + (y == 1) + a <= 1,
    ),
    "at_least": (
        lambda m, v: m.at_least(2, [v["x"] == 1, v["y"] != 2, ~v["a"]]),
        lambda x, y, a: (x == 1) + (y != 2) + (not a) >= 2,
    ),
    "exactly": (
        lambda m, v: m.exactly(2, [v["x"] == 3, v["y"] == 1, v["a"]]),
        lambda x, y, a: (x == 3) + (y == 1) + a == 2,
    ),
    "between": (
        lambda m, v: m.between(1, 2, [v["x"] == 3, v["y"] == 1, v["a"]]),
        lambda x, y, a: 1 <= (x == 3) + (y == 1) + a <= 2,
    ),
    "all_different": (lambda m, v: m.all_different([v["x"], v["y"]]), lambda x, y, a: x != y),
    "implies": (lambda m, v: m.implies(v["a"], v["x"] == 2), lambda x, y, a: not a or x == 2),
    "implies from all": (
        lambda m, v: m.implies([v["a"], v["y"] == 1], v["x"] == 2),
        lambda x, y, a: not (a and y == 1) or x == 2,
    ),
    "implies its negation": (lambda m, v: m.implies(v["a"], ~v["a"]), lambda x, y, a: not a),
    "implies itself": (lambda m, v: m.implies(v["a"], v["a"]), lambda x, y, a: True),
    "implies from one twice": (
        lambda m, v: m.implies([v["a"], v["a"]], v["x"] == 2),
        lambda x, y, a: not a or x == 2,
    ),
    "require": (lambda m, v: m.require(v["x"] != 2), lambda x, y, a: x != 2),
    "forbid": (lambda m, v: m.forbid(v["y"] == 2), lambda x, y, a: y != 2),
    "forbid together": (
        lambda m, v: m.forbid(v["y"] == 2, v["x"] == 2, v["a"]),
        lambda x, y, a: not (y == 2 and x == 2 and a),
    ),
    "linear": (
        lambda m, v: m.linear([(2, v["a"]), (-2, v["x"] == 1), (2, v["y"] == 1)], most=1),
        lambda x, y, a: 2 * a - 2 * (x == 1) + 2 * (y == 1) <= 1,
    ),
    "linear, least": (
        lambda m, v: m.linear(
            [(3, v["a"]), (3, ~v["a"]), (-3, v["x"] == 1), (3, v["x"] == 1), (3, v["y"] == 1)], least=4
        ),
        lambda x, y, a: 3 + 3 * (y == 1) >= 4,
    ),
}


def variables() -> tuple[Model, dict[str, Any]]:
    m = Model()
    return m, {"x": m.choice("x", [1, 2, 3]), "y": m.choice("y", [1, 2]), "a": m.boolean("a")}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_holds(name: str) -> None:
    say, holds = SAID[name]
    m, v = variables()
    say(m, v)
    problem = m.problem()
    for x, y, a in product((1, 2, 3), (1, 2), (True, False)):
        assert (problem.violation({"x": x, "y": y, "a": a}) is None) == holds(x, y, a), (x, y, a)
    outcome = m.solve(engine="cadical195")
    assert holds(outcome["x"], outcome["y"], outcome["a"])


def test_every_call_takes_a_model() -> None:
    m, v = variables()
    m.forbid(v["x"] == 1)
    assert dibs.solve(m).solution == m.solve().solution
    assert dibs.plan(m) == dibs.plan(m.problem())
    assert [outcome["x"] for outcome in dibs.solve_many([m, m.problem()])] == [2, 2]


@pytest.mark.parametrize("ask", [dibs.solve, dibs.plan, dibs.count_solutions, dibs.why, dibs.explain, dibs.Session])
@pytest.mark.parametrize("text", ["4.....1..3......", np.zeros((9, 9))])
def test_what_is_no_problem_is_refused_in_one_line(ask: Callable[[Any], Any], text: Any) -> None:
    with pytest.raises(TypeError, match="is not an instance to solve: parse a text") as found:
        ask(text)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 200


def test_outcome_by_variable() -> None:
    m, v = variables()
    m.require(v["x"] == 2)
    m.require(~v["a"])
    outcome = m.solve()
    assert outcome[v["x"]] == outcome["x"] == 2
    assert outcome[v["a"]] is outcome["a"] is False
    assert outcome[~v["a"]] is True
    assert outcome[v["x"] == 2] is True
    assert outcome[v["x"] != 2] is False
    assert outcome.solution == {"x": 2, "y": outcome["y"], "a": False}
    with pytest.raises(KeyError):
        outcome["z"]
    m.forbid(v["x"] == 2)
    with pytest.raises(LookupError, match="no solution to look into: UNSAT"):
        m.solve()["x"]


def test_names_that_read_alike() -> None:
    m = Model()
    for name in (1, "1", ("r", 1)):
        m.require(m.boolean(name))
    assert m.solve().as_dict()["solution"] == {"1": True, "'1'": True, "('r', 1)": True}


def test_seats() -> None:
    """The example of the documentation."""
    m, guests, tables = Model(), "ABCDEFGHIJ", (1, 2, 3)
    seat = {guest: m.choice(guest, tables) for guest in guests}
    for table in tables:
        m.at_most(4, [seat[guest] == table for guest in guests], role="table")
    m.forbid(seat["A"] == 1)
    outcome = m.solve(engine="cadical195")
    assert outcome[seat["A"]] != 1
    assert max([outcome[seat[guest]] for guest in guests].count(table) for table in tables) <= 4
    assert m.problem().structure.roles.count("table") == 3
    m.at_most(1, [seat[guest] == 3 for guest in guests], role="table")
    assert m.solve(engine="cadical195").status == "UNSAT"


def test_all_values_taken_are_implied() -> None:
    m = Model()
    cells = [m.choice(i, "abcd") for i in range(4)]
    m.all_different(cells, role="row")
    assert m.problem().structure.need.tolist() == [2] * 4 + [1] * 4
    assert m.problem().structure.roles == (None,) * 4 + ("row",) * 4
    assert dibs.count_solutions(m.problem()) == 24
    assert dibs.count_solutions(m.problem(), limit=23) == 23


def unwritable(m: Model) -> Model:
    m.choice("z", [object])
    return m


def _twice(m: Model, v: dict[str, Any]) -> Any:
    return m.at_most(1, [v["a"], v["x"] == 1, v["a"]], role="shift")


BAD: dict[str, tuple[Callable[[Model, dict[str, Any]], Any], type[Exception], str]] = {
    "no values": (lambda m, v: m.choice("z", []), ValueError, "^'z': a choice needs at least one value"),
    "equal values": (lambda m, v: m.choice("z", [1, 2, 1]), ValueError, "^'z': the value 1 is there twice"),
    "value": (lambda m, v: m.choice("z", [[1]]), ValueError, r"^'z': \[1\] cannot be a value"),
    "name": (lambda m, v: m.boolean("x"), ValueError, "^'x': there is a variable of this name already"),
    "unknown value": (lambda m, v: v["x"] == 4, ValueError, "^'x': 4 is none of its values"),
    "two choices": (lambda m, v: v["x"] == v["y"], TypeError, "^'x' == 'y': compare a choice with one of its values"),
    "cannot hold": (
        lambda m, v: m.exactly(5, [v["a"]], role="r"),
        ValueError,
        r"^exactly 5 of 1 literals cannot hold \(r; about 'a'\)",
    ),
    "order": (
        lambda m, v: m.between(2, 1, [v["a"], v["x"] == 1]),
        ValueError,
        r"^bounds 2 to 1: .* \(about 'a', 'x'\)",
    ),
    "twice": (_twice, ValueError, r"^'a' is twice in a group \(shift\)"),
    "coefficient": (
        lambda m, v: m.linear([(2, v["a"]), (3, v["x"] == 1)], most=3),
        ValueError,
        "^'x' == 1: coefficient 3 differs from 2",
    ),
    "a choice": (lambda m, v: m.at_most(1, [v["x"]]), TypeError, "^'x' is a choice, not a literal"),
    "a string": (lambda m, v: m.at_most(1, ["x"]), TypeError, "^'x' is no literal"),  # type: ignore[list-item]
    "another model": (lambda m, v: m.require(Model().boolean("b")), ValueError, "^'b' is of another model"),
    "too few values": (
        lambda m, v: m.all_different([v["y"], m.choice("z", [1, 2]), m.choice("w", [1])]),
        ValueError,
        "'y', 'z', 'w', ...: 3 choices cannot differ",
    ),
    "truth": (lambda m, v: bool(v["a"]), TypeError, "^'a' is true or false in a solution only"),
    "nothing": (lambda m, v: Model().problem(), ValueError, "^a model needs at least one variable"),
    "unwritable": (lambda m, v: unwritable(m).save("never"), ValueError, "^'z': .* cannot be written as JSON"),
}


# What a type checker would have refused.
BAD_TYPES: dict[str, tuple[Callable[[Any, dict[str, Any]], Any], type[Exception], str]] = {
    "at least": (lambda m, v: m.at_least(2, [v["a"]]), ValueError, r"^at least 2 of 1 literals cannot hold \(about"),
    "no bound": (lambda m, v: m.at_most(None, [v["a"]]), ValueError, "^most = None"),
    "half a bound": (lambda m, v: m.at_most(1.5, [v["a"]]), ValueError, r"whole numbers, not 0 and 1.5 \(about 'a'\)"),
    "a word": (lambda m, v: m.at_least("1", [v["a"]]), ValueError, r"whole numbers, not '1' \(about 'a'\)"),
    "no list": (lambda m, v: m.exactly(1, v["a"]), TypeError, r"^'a' is no list: write \['a', ...\]"),
    "no role": (lambda m, v: m.at_most(1, [v["a"]], role=3), ValueError, "^a group: the role 3 is no text"),
    "negation twice": (lambda m, v: m.exactly(1, [~v["a"], ~v["a"]]), ValueError, "^~'a' is twice in a group"),
    "no values at all": (lambda m, v: m.choice("z", 5), TypeError, "^'z': 5 is no list of values"),
    "a list as name": (lambda m, v: m.boolean(["z"]), TypeError, r"^\['z'\] cannot be a name"),
    "different from itself": (lambda m, v: m.all_different([v["x"], v["x"]]), ValueError, "^'x' is there twice"),
    "one choice": (lambda m, v: m.all_different(v["x"]), TypeError, "^<choice 'x' of 3> is no list"),
    "different role": (lambda m, v: m.all_different([v["x"]], role=3), ValueError, "the role 3 is no text"),
    "half a coefficient": (
        lambda m, v: m.linear([(2.0, v["a"])], most=3),
        ValueError,
        "^'a': the coefficient 2.0 is no whole number",
    ),
    "half a sum": (lambda m, v: m.linear([(2, v["a"])], most=1.5), ValueError, "^bounds are whole numbers, not 1.5"),
    "no terms": (lambda m, v: m.linear([v["a"]], most=1), TypeError, r"^'a' is no term: write \(coefficient, "),
    "implied choice": (lambda m, v: m.implies(v["x"], v["a"]), TypeError, "^'x' is a choice, not a literal"),
    "forbidden choice": (lambda m, v: m.forbid(v["x"]), TypeError, "^'x' is a choice, not a literal"),
    "forbidden list": (lambda m, v: m.forbid([v["a"]]), TypeError, r"^\['a'\] is no literal"),
    "forbidden nothing": (lambda m, v: m.forbid(), ValueError, "^forbid: which literals"),
}


@pytest.mark.parametrize("name", [*BAD, *BAD_TYPES])
def test_errors_name_the_variable(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    m, v = variables()
    before = len(m._groups)
    do, kind, message = (BAD | BAD_TYPES)[name]
    with pytest.raises(kind, match=message):
        do(m, v)
    assert len(m._groups) == before
    assert not list(tmp_path.iterdir())


def test_literals_are_named() -> None:
    _, v = variables()
    assert [repr(v["x"] == 1), repr(v["x"] != 1), repr(~v["a"])] == ["'x' == 1", "~'x' == 1", "~'a'"]
    assert isinstance(v["x"] == 1, Literal)
    assert repr(v["x"]) == "<choice 'x' of 3>"


def test_saved_models_come_back(tmp_path: Path) -> None:
    m = Model()
    x = m.choice(("row", 1), [(1, 2), "b", np.int64(3)])
    a = m.boolean("a")
    m.at_most(1, [x == "b", ~a], role="pair")
    m.require(~a)
    m.save(tmp_path / "m.json")
    problem = read_problem(tmp_path / "m.json")
    for solution in ({("row", 1): value, "a": a} for value in ((1, 2), "b", 3) for a in (True, False)):
        assert problem.violation(solution) == m.problem().violation(solution)
    assert problem.structure.roles == m.problem().structure.roles
    assert dibs.solve(problem).solution in ({("row", 1): (1, 2), "a": False}, {("row", 1): 3, "a": False})


def test_saved_problems_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for named in (False, True):
        for _ in range(20):
            problem = bounded(rng, 6)
            if named:
                problem.names = [f"x{i}" for i in range(problem.literals)]
                problem._number = {name: i for i, name in enumerate(problem.names)}
            save_problem(problem, tmp_path / "p.json")
            back = read_problem(tmp_path / "p.json")
            assert back.names == problem.names
            for signs in product((True, False), repeat=problem.literals):
                true = [problem.name(i) for i, sign in enumerate(signs) if sign]
                assert (back.violation(true) is None) == (problem.violation(true) is None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "is of version 2; this dibs reads version 1"),
        ({"dibs": "other"}, "is no problem of dibs"),
        ({"grups": []}, "unknown key 'grups'; did you mean 'groups'?"),
        ({"literals": 0}, "a problem needs at least one literal"),
        ({"literals": 1.5}, "literals: 1.5 is not a whole number"),
        ({"literals": 2_000_000}, "more than 1,000,000 literals; --max-variables N allows more"),
        ({"names": ["a"]}, "one of literals, names and variables must be there"),
        ({"at_least_one": [[4]]}, r"at_least_one\[0\]: literal 4 is out of range 1\.\.3"),
        ({"at_least_one": [[0]]}, r"at_least_one\[0\]: literal 0 is out of range 1\.\.3"),
        ({"at_least_one": [1]}, r"at_least_one\[0\]: expected a list"),
        ({"groups": [[5, 5, [1, 2]]]}, r"groups\[0\]: exactly 5 of 2 literals cannot hold"),
        ({"groups": [[0, 1, [1, 1]]]}, r"groups\[0\]: literal 1 is there twice"),
        ({"groups": [[0, 1]]}, r"groups\[0\]: write \[least, most, \[literals\]\]"),
        ({"groups": [[0, "1", [1]]]}, r"groups\[0\]: bounds are whole numbers"),
        ({"groups": [[0, 2, [1, 2], None, True]]}, r"groups\[0\]: only groups of exactly one may be implied"),
        ({"decide": [3]}, r"decide: there is no exactly_one\[3\]"),
        ({"literals": None, "variables": []}, "one of literals"),
    ],
)
def test_bad_json(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"dibs": "problem", "version": 1, "literals": 3, **change}))
    with pytest.raises(dibs.InputError, match=message) as caught:
        read_problem(path)
    assert caught.value.file == str(path)


def test_bad_json_names_the_line(tmp_path: Path) -> None:
    """Of the group, wherever it stands."""
    path = tmp_path / "p.json"
    head = '{"dibs": "problem",\n "exactly_one": [[1, 2],\n  [3]], "version": 1, "names": ["groups", "[", "}"],\n\n'
    groups = '"groups": [[1, 1, [1, 2]],\n [0, 2, [1, 3], "a, [role]"],\n\n [0, 2, [1, -2, 1], "b"]]}'
    path.write_text(head + groups)
    with pytest.raises(dibs.InputError, match=r"groups\[2\]: literal 1 is there twice$") as caught:
        read_problem(path)
    assert caught.value.line == 1 + (head + groups[: groups.index("[0, 2, [1, -2")]).count("\n")
    path.write_text(head.replace("[3]", "[3, 3]") + groups)
    with pytest.raises(dibs.InputError, match=r"exactly_one\[1\]: literal 3 is there twice$") as caught:
        read_problem(path)
    assert caught.value.line == 3
    path.write_text(head + '"groups": [[0, 3, [1, 2, 3]], [2, 2, [1]]], "groups": [],\n' + groups)
    with pytest.raises(dibs.InputError, match=r"the key 'groups' is there twice$"):
        read_problem(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"dibs": NaN}', "[]", "3", '{"dibs": "problem"}', "9" * 5000]
)
def test_no_json(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(dibs.InputError):
        read_problem(tmp_path / "p.json")


@pytest.mark.parametrize("implied", [False, True])
def test_a_variable_of_a_file_has_one_of_its_values_whether_a_group_says_so_or_not(
    implied: bool, tmp_path: Path
) -> None:
    """A file by hand has no group for it; one that is implied counts at level `hidden` only."""
    path = tmp_path / "model.json"
    fields: dict[str, Any] = {"variables": [{"name": "x", "values": [1, 2, 3]}, {"name": "a"}]}
    fields["variables"].append({"name": "y", "values": ["u", "v"]})
    fields["groups"] = [[1, 1, [1, 2, 3], "cell", implied], [0, 1, [1, 4]]]
    path.write_text(json.dumps({"dibs": "problem", "version": 1, **fields}))
    problem = read_problem(path)
    found = {tuple(solution.values()) for solution in dibs.solutions(problem, level="naked")}
    assert found == {(x, a, y) for x in (1, 2, 3) for a in (True, False) for y in "uv" if not (x == 1 and a)}
    assert dibs.count_solutions(problem) == 10
    again = tmp_path / "again.json"
    save_problem(problem, again)
    assert len(read_problem(again).groups) == len(problem.groups)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ([], "a model needs at least one variable"),
        ([{"name": "a", "values": []}], "'a': values are to be different, and at least one"),
        ([{"name": "a", "values": [1, 1]}], "'a': values are to be different"),
        ([{"name": "a"}, {"name": "a"}], "'a': there are two variables of this name"),
        ([{"values": [1]}], r"variables\[0\]: write"),
        ([{"name": {}}], r"variables\[0\]: an object is neither a name nor a value"),
    ],
)
def test_bad_variables(variables: list[Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"dibs": "problem", "version": 1, "variables": variables}))
    with pytest.raises(dibs.InputError, match=message):
        read_problem(path)


def test_counts_end_at_their_limit_if_they_have_one() -> None:
    free = dibs.Problem(11, groups=[(0, 10, range(11))])
    assert dibs.count_solutions(free) == 1000
    assert dibs.count_solutions(free, limit=None) == 2**11 - 1
