"""`dibs solve --plan`: what was given is in the plan, or was refused; none is ignored."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.problem import Instance
from dibs.search.plan import GUIDANCE, OPTIONS
from dibs.search.policies import POLICIES
from oddities import odd_formula
from shell import PUZZLE, SEARCHED, UNSAT, Run, runner

FORMULA = "p cnf 3 2\n1 2 3 0\n-1 -2 0\n"
LARGE = "." * 625
NO_GUIDE = "no guide for the family problem comes with dibs"

# A value of each field that is not its default.
GIVEN: dict[str, Any] = {
    "level": "naked", "strategy": "restarts", "select": "first", "tie": "degree", "order": "random",
    "trigger": "binary", "reuse": 0.5, "max_asks": 7, "guide_after": 40, "restart_base": 9, "root": "locked",
    "max_nodes": 50, "max_seconds": 2.5, "max_solutions": 3, "seed": 4, "guide": "relational", "alpha": 0.5,
    "steps": 2, "threads": 2, "runtime": "onnx", "rounds": 3, "network_only": True,
}  # fmt: skip
OTHERS: dict[str, list[Any]] = {  # values that are refused for other reasons
    "level": ["eliminate", "hidden"],
    "strategy": ["nogoods", "dfs"],
    "select": ["confident", "mrv"],
    "order": ["oracle", "lcv", "ascending"],
    "trigger": ["always"],
    "guide": ["auto", "sat"],
    "root": ["singles"],
    "max_solutions": [1],
    "guide_after": [0],
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture(scope="module")
def problems() -> list[Instance]:
    return [
        dibs.Sudoku.parse(PUZZLE),
        dibs.Sudoku.parse(LARGE),
        dibs.Latin([0] * 400),
        odd_formula(3, 0),
        dibs.Problem(4, exactly_one=[[0, 1], [2, 3]]),
    ]


def honoured(said: dict[str, Any], plan: dict[str, Any]) -> list[str]:
    """What of it is not in a plan; `auto` is the name of a guide that is there."""
    auto = said.get("guide") == "auto"
    return [
        name
        for name, value in said.items()
        if (name == "guide" and auto and plan.get(name) in (None, "auto"))
        or (not (name == "guide" and auto) and (name not in plan or plan[name] != value))
    ]


def test_the_property_is_about_every_field() -> None:
    assert set(GIVEN) == {*OPTIONS, *GUIDANCE}
    defaults = {**vars(dibs.Options()), **vars(dibs.plan(dibs.Sudoku.parse(PUZZLE), policy="plain").guidance)}
    assert all(GIVEN[name] != defaults[name] for name in GIVEN)


@pytest.mark.parametrize("policy", [None, *POLICIES])
@pytest.mark.parametrize("name", [*OPTIONS, *GUIDANCE])
def test_given_is_planned_or_refused(problems: list[Instance], policy: str | None, name: str) -> None:
    """Each field alone and beside any other one, with and without a guide's name, for every family."""
    ways: list[dict[str, Any]] = []
    for value in [GIVEN[name], *OTHERS.get(name, [])]:
        ways += [{name: value}, {name: value, "guide": "relational"} if name != "guide" else {name: value}]
        for other in GIVEN:
            if other != name:
                ways.append({name: value, other: GIVEN[other]})
    planned = 0
    refused: list[str] = []
    for said in ways:
        for problem in problems:
            try:
                plan = dibs.plan(problem, policy=policy, **said).as_dict()
            except ValueError as error:
                refused.append(str(error))
                continue
            planned += 1
            left = honoured(said, plan)
            if NO_GUIDE in plan["notes"]:  # what would be a guide's has nobody to go to, and that is said
                left = [field for field in left if field not in GUIDANCE]
            assert not left, (said, policy, problem.structure.family, plan)
    assert planned
    assert not [error for error in refused if "\n" in error or not any(field in error for field in GIVEN)]


COMBINATIONS = [
    (PUZZLE, "--level naked"),
    (PUZZLE, "--tie degree --order lcv --seed 3"),
    (PUZZLE, "--max-nodes 5 --max-seconds 2 --max-solutions 4"),
    (PUZZLE, "--nodes 5 --seconds 2 --count 4"),
    (PUZZLE, "--policy auto --guide-after 30"),
    (PUZZLE, "--policy auto --count 2"),
    (PUZZLE, "--policy auto --guide-after 30 --count 2"),
    (PUZZLE, "--policy guided --reuse 0.7 --max-asks 3"),
    (PUZZLE, "--policy guided --network-only"),
    (PUZZLE, "--policy paper --alpha 0.5 --steps 3"),
    (PUZZLE, "--policy plain --tie index"),
    (PUZZLE, "--policy plain --reuse 0.5"),
    (PUZZLE, "--guide relational --select confident --strategy restarts --restart-base 8"),
    (PUZZLE, "--guide relational --strategy nogoods --root locked --threads 2"),
    (PUZZLE, "--guide relational --strategy nogoods --trigger binary"),
    (PUZZLE, "--strategy nogoods --tie degree"),
    (PUZZLE, "--strategy dfs --restart-base 4"),
    (PUZZLE, "--order oracle --trigger binary"),
    (PUZZLE, "--order oracle --guide relational"),
    (PUZZLE, "--reuse 0.5"),
    (PUZZLE, "--root locked --strategy restarts"),
    (LARGE, "--policy auto"),
    (LARGE, "--policy auto --level naked --restart-base 64"),
    (LARGE, "--policy auto --tie degree"),
    (LARGE, "--policy guided --order lcv"),
    (LARGE, "--policy auto --max-solutions 2 --seed 9"),
    (FORMULA, "--order jw --level naked"),
    (FORMULA, "--guide sat --trigger ternary"),
    (FORMULA, "--guide relational"),
    (FORMULA, "--policy auto --max-asks 2"),
    ("1" + "." * 399, "--family latin --policy guided --root singles"),
    ("1" + "." * 399, "--family latin --strategy nogoods --max-solutions 2"),
    (PUZZLE, "--engine cadical195 --guide relational --threads 2 --seed 3"),
    (PUZZLE, "--engine cadical195 --level naked"),
    (PUZZLE, "--engine kissat --seconds 3"),
]
SHORT = {"nodes": "max_nodes", "seconds": "max_seconds", "count": "max_solutions"}


def fields_of(words: str) -> dict[str, Any]:
    """The fields of options that are given in a command line, with their values as JSON has them."""
    found: dict[str, Any] = {}
    for part in words.split("--")[1:]:
        name, *value = part.replace("-", "_", part.split()[0].count("-")).split()
        full = SHORT.get(name, name)
        if full in GIVEN:
            kind = type(GIVEN[full])
            found[full] = kind(value[0]) if value else True
    return found


@pytest.mark.parametrize(("text", "words"), COMBINATIONS)
def test_on_the_command_line(run: Run, text: str, words: str) -> None:
    result = run("solve", text, *words.split(), "--plan", "--json")
    said = fields_of(words)
    if result.code:
        named = [name for name in said if name in result.complaint]
        assert named or "these weights take" in result.complaint, result.complaint
        return
    plan = json.loads(result.out)
    assert plan["id"] == 1
    assert honoured(said, plan) == []
    shown = run("solve", text, *words.split(), "--plan")
    assert (shown.code, shown.err, shown.out.count("\n")) == (0, "", 1)
    begins = {"tree": "tree search, ", "nogoods": "nogood search "}.get(plan["search"], f"engine {plan['search']}; ")
    assert shown.out.startswith(begins)
    assert all(note in shown.out for note in plan["notes"])
    assert (plan.get("guide") or "no guide") in shown.out or plan.get("order") == "oracle"


def test_some_are_refused_and_some_are_not(run: Run) -> None:
    """The test above would also pass if everything were refused."""
    codes = [run("solve", text, *words.split(), "--plan").code for text, words in COMBINATIONS]
    assert 20 <= codes.count(0) < len(codes)
    assert set(codes) == {0, 2}


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        (
            PUZZLE,
            "--level naked",
            "tree search, level naked, values ascending; MRV, ties by index, depth first; no guide",
        ),
        (
            PUZZLE,
            "",
            "tree search, level hidden, values ascending; plain (MRV, ties by impact, depth first); from 1,000 nodes "
            "on a guided one beside it: branching where the guide is sure, runs of 32 nodes and more; guide "
            "relational, asked at any node, a ranking serves while it is 0.9 sure",
        ),
        (
            LARGE,
            "--nodes 5000",
            "nogood search on what singles and locked sets leave open at the root, level hidden; values ascending, "
            "runs of 256 failures and more; guide relational-sudoku, asked about the root after 96 nodes, then on "
            "dives; at most 5,000 nodes; nogoods because the grid has 625 cells",
        ),
        (
            PUZZLE,
            "--engine glucose4 --guide relational",
            "engine glucose4; guide relational, asked once for phases",
        ),
    ],
)
def test_in_words(run: Run, text: str, words: str, says: str) -> None:
    assert run("solve", text, *words.split(), "--plan").out == f"{says}\n"


def test_a_plan_is_no_search_and_is_said_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.commands.solve.solve_batches", pytest.fail)
    path = tmp_path / "list"
    path.write_text(f"{PUZZLE}\n{SEARCHED}\n{LARGE}\n{UNSAT}\n{LARGE}\n")
    lines = run("solve", path, "--plan").out.splitlines()
    assert [line.split(" search")[0] for line in lines] == ["tree", "nogood"]
    made = [json.loads(line) for line in run("solve", path, "--plan", "--json").out.splitlines()]
    assert [(plan["id"], plan["search"]) for plan in made] == [(1, "tree"), (3, "nogoods")]
    path.write_text(f"{PUZZLE}\n{PUZZLE[:80]}\n")
    bad = run("solve", path, "--plan")
    assert (bad.code, bad.err.count("\n")) == (2, 1)
    assert bad.err.startswith(f"{path}:2:80: 80 cells")


@pytest.mark.parametrize("short", SHORT)
def test_short_names(run: Run, short: str) -> None:
    long = f"--{SHORT[short].replace('_', '-')}"
    plans = [run("solve", PUZZLE, word, 3, "--plan", "--json").out for word in (f"--{short}", long)]
    assert plans[0] == plans[1]
    assert json.loads(plans[0])[SHORT[short]] == 3
    problem, given = dibs.Sudoku.parse(PUZZLE), dict[str, Any]({short: 3})
    assert dibs.plan(problem, **given) == dibs.plan(problem, **dict[str, Any]({SHORT[short]: 3}))
    with pytest.raises(ValueError, match=f"^{short} and {SHORT[short]} are the same option: give one of them$"):
        dibs.plan(problem, **given, **dict[str, Any]({SHORT[short]: 3}))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        dibs.Options(**given)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("node", "nodes"), ("max_node", "max_nodes"), ("timeout", "max_seconds"), ("time_limit", "max_seconds"),
        ("levl", "level"), ("asks", "max_asks"), ("solutions", "max_solutions"), ("restart_bas", "restart_base"),
        ("guide_aft", "guide_after"), ("polcy", "policy"), ("engin", "engine"), ("network", "network_only"),
    ],
)  # fmt: skip
def test_did_you_mean(name: str, meant: str) -> None:
    given: dict[str, Any] = {name: 3}
    with pytest.raises(ValueError, match=rf"^there is no option '{name}': did you mean '{meant}'\?$"):
        dibs.solve(dibs.Sudoku.parse(PUZZLE), **given)


def test_an_option_like_no_other_is_answered_with_all_of_them() -> None:
    with pytest.raises(ValueError, match=r"^there is no option 'xyzzy': there are level, strategy, .*, seed$"):
        dibs.solve(dibs.Sudoku.parse(PUZZLE), xyzzy=3)


def test_answers_name_their_search_and_their_plan(run: Run) -> None:
    for words, search, plan in [
        ("--policy plain", "tree", "tree"),
        ("--strategy nogoods", "nogoods", "nogoods"),
        ("--policy guided", "tree + guide", "tree + relational"),
        ("--guide relational --strategy nogoods", "nogoods + guide", "nogoods + relational"),
        ("", "tree", "tree + relational"),
    ]:
        answer = json.loads(run("solve", SEARCHED, *words.split(), "--json").out)
        assert (answer["search"], answer["plan"]) == (search, plan), words


def test_the_parts_of_a_race(run: Run) -> None:
    """Both searches are there, and the counters are their sums."""
    puzzle = dibs.Sudoku.parse("8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..")
    alone = dibs.solve(puzzle, policy="plain", level="naked")
    assert alone.parts == ()
    both = dibs.solve(puzzle, policy="auto", level="naked", guide_after=2)
    assert [part.search for part in both.parts] == ["tree", "tree + guide"]
    assert both.search in ("tree", "tree + guide")
    for name in ("nodes", "backtracks", "asks", "seconds", "guide_seconds"):
        assert sum(getattr(part, name) for part in both.parts) == pytest.approx(getattr(both, name))
    assert (both.parts[0].asks, both.parts[0].guide_seconds) == (0, 0)
    assert both.parts[1].asks > 0
    easy = dibs.solve(dibs.Sudoku.parse(PUZZLE))
    assert (easy.search, easy.parts) == ("tree", ())


def test_every_pair_of_policies_is_another_plan() -> None:
    problem = dibs.Sudoku.parse(PUZZLE)
    for one, other in combinations(POLICIES, 2):
        assert dibs.plan(problem, policy=one).describe() != dibs.plan(problem, policy=other).describe()
