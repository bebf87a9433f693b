"""What was said, the policy and the problem become one plan: every field that was said is in it, or is refused."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import dibs
from dibs import CNF, Asks, Latin, Options, Problem, Sudoku
from dibs.cli import main
from dibs.generate import latin, sudoku
from dibs.guide import Guidance
from dibs.guide.lazy import LazyGuide
from dibs.problem.structure import Structure
from dibs.search.guidance import LARGE_SUDOKU, SUITED, suited_name
from dibs.search.options import ALIASES
from dibs.search.plan import Plan, Request, without_guide
from dibs.search.policies import BY_SIZE, FREE, OWN_TREE, POLICIES, RUN
from dibs.search.slices import MOST
from dibs.search.tree.search import TreeSearch
from guides import BAD, Scored, seeded

SMALL = (Sudoku.parse("." * 81), CNF(2, [[1, 2]]), Latin([0] * 100))
MEDIUM = (Sudoku.parse("." * 256), Latin([0] * 121))
GRIDS = (Latin([0] * 289), Sudoku([0] * 625))
OWN = Problem(2, exactly_one=[[0, 1]])  # a family for which no guide comes with dibs

# For every field, values that are not its default.
OTHERS: dict[str, tuple[Any, ...]] = {
    "level": ("eliminate", "naked"),
    "strategy": ("restarts", "nogoods"),
    "select": ("first", "confident"),
    "tie": ("degree", "random"),
    "order": ("lcv", "random", "oracle"),
    "trigger": ("binary",),
    "reuse": (0.0, 0.5),
    "max_asks": (0, 3),
    "guide_after": (0, 7),
    "restart_base": (5,),
    "root": ("locked",),
    "max_nodes": (0, 100),
    "max_seconds": (1.5,),
    "max_solutions": (2,),
    "seed": (4,),
    "guide": ("transformer",),
    "alpha": (0.5,),
    "steps": (3,),
    "threads": (2,),
    "runtime": ("onnx",),
    "rounds": (3,),
    "network_only": (True,),
}


def in_plan(plan: Plan, name: str) -> Any:
    return getattr(plan.options if hasattr(plan.options, name) else plan.guidance, name)


def planned(request: dict[str, Any], structure: Structure) -> Plan | None:
    """The plan, or None where it is refused, in one short line."""
    try:
        return Request(**request).plan(structure)
    except ValueError as refusal:
        words = str(refusal)
    assert "\n" not in words
    assert len(words) < 200
    return None


def test_the_table_has_every_field() -> None:
    assert OTHERS.keys() == {f.name for f in [*fields(Options), *fields(Guidance)]}
    for f in [*fields(Options), *fields(Guidance)]:
        assert f.default not in OTHERS[f.name]


@pytest.mark.parametrize("policy", [None, *POLICIES])
@pytest.mark.parametrize("own_guide", [False, True])
def test_what_was_said_is_in_the_plan_or_is_refused(policy: str | None, own_guide: bool) -> None:
    """Every pair of fields, for a small and a large grid, a formula, and a problem without a guide."""
    said = [{}, *({name: value} for name, values in OTHERS.items() for value in values)]
    done = refused = 0
    for one, other in product(said, said):
        for problem in (*SMALL[:2], GRIDS[0], OWN):
            both = {**one, **other}
            request: dict[str, Any] = {"policy": policy, "explicit": both, "own_guide": own_guide}
            if plan := planned(request, problem.structure):
                for name, value in both.items():
                    assert in_plan(plan, name) == value, (request, problem)
                search = plan.first if plan.search == "cadical195" else plan.search
                assert search == ("nogoods" if plan.options.strategy == "nogoods" else "tree")
                assert plan.options.strategy != "restarts" or plan.options.max_solutions == 1
            done += plan is not None
            refused += plan is None
    assert done > 500
    assert refused > 100


def test_aliases_say_the_same() -> None:
    for short, long in ALIASES.items():
        for value in OTHERS[long]:
            assert Request(explicit={short: value}) == Request(explicit={long: value})
            with pytest.raises(ValueError, match=f"{short} and {long} are the same option"):
                Request(explicit={short: value, long: value})


@pytest.mark.parametrize(
    ("name", "near"),
    [("level_", "level"), ("restarts_base", "restart_base"), ("timeout", "max_seconds"), ("asks", "max_asks")],
)
def test_an_unknown_option_is_refused_with_the_nearest_one(name: str, near: str) -> None:
    with pytest.raises(ValueError, match=f"^there is no option '{name}': did you mean '{near}'"):
        dibs.solve(OWN, **{name: 1})  # type: ignore[arg-type]


def test_only_who_says_nothing_about_how_to_search_gets_auto() -> None:
    assert Request().policy == Request(explicit={"max_nodes": 5, "seed": 1, "threads": 2}).policy == "auto"
    assert Request(own_guide=True).policy is None
    for name in ("level", "strategy", "select", "tie", "order", "root", "guide"):
        assert Request(explicit={name: OTHERS[name][0]}).policy is None, name
    for name in ("trigger", "reuse", "max_asks", "guide_after"):
        assert Request(explicit={name: OTHERS[name][0]}, own_guide=True).policy is None, name


def test_when_a_guide_by_name_is_asked_does_not_say_how_to_search() -> None:
    usual = Request(explicit={"guide": "mine"}).plan(OWN.structure)
    assert (usual.search, usual.easy) == ("nogoods", OWN_TREE)
    saying: list[dict[str, Any]] = [{"guide_after": 7}, {"max_asks": 3}, {"guide_after": 0, "max_asks": 1}]
    for said in saying:
        plan = Request(explicit={"guide": "mine", **said}).plan(OWN.structure)
        assert plan == replace(usual, options=replace(usual.options, **said)), said
    for name, value in (("strategy", "restarts"), ("trigger", "binary"), ("reuse", 0.5)):
        plan = Request(explicit={"guide": "mine", "guide_after": 7, name: value}).plan(OWN.structure)
        assert plan.search == "tree", name


def test_policies_choose_by_the_problem() -> None:
    for policy, problem in product(FREE, SMALL):
        plan = Request(policy).plan(problem.structure)
        if (policy, problem.family) != ("auto", "cnf"):
            assert (plan.search, plan.options) == ("tree", Request(policy).options)
    for medium in MEDIUM:  # a short plain search first; but guided from the first node on, if that is said
        plan = Request("auto").plan(medium.structure)
        assert (plan.search, plan.easy, plan.options.guide_after) == ("nogoods", BY_SIZE[1].tree, 1_000)
        assert Request("guided").plan(medium.structure).search == "tree"
    for policy, grid in product(FREE, GRIDS):
        plan = Request(policy).plan(grid.structure)
        large = plan.options
        assert (plan.search, large.strategy, large.root, large.restart_base) == (
            "nogoods", "nogoods", "locked", RUN,
        )  # fmt: skip
        assert (large.select, large.max_asks, large.level) == ("mrv", None, "hidden")
        assert large.guide_after == (BY_SIZE[2].guide_after if policy == "auto" else None)
        assert any("nogoods because" in note for note in plan.notes)
        assert not plan.raced
    for policy, problem in product(POLICIES.keys() - FREE, (*SMALL, *MEDIUM, *GRIDS)):
        assert Request(policy).plan(problem.structure).search == "tree"


def test_what_was_said_narrows_the_choice_in_a_large_grid() -> None:
    for policy, grid in product(FREE, GRIDS):
        of = grid.structure
        said: dict[str, Any]
        for said in (
            {}, {"level": "naked"}, {"restart_base": 7}, {"order": "random"}, {"root": "singles"}, {"max_solutions": 2},
        ):  # fmt: skip
            assert Request(policy, said).plan(of).search == "nogoods", said
        for said in (
            {"select": "confident"}, {"select": "mrv"}, {"tie": "degree"}, {"trigger": "binary"}, {"reuse": 0.5},
            {"steps": 2, "select": "mrv"}, {"order": "lcv"}, {"level": "eliminate"},
            {"strategy": "dfs"}, {"strategy": "restarts"},
        ):  # fmt: skip
            plan = Request(policy, said).plan(of)
            assert plan.search == "tree", said
            assert plan.options.strategy == said.get("strategy", "restarts")


def test_without_a_guide_it_is_the_plain_search() -> None:
    for policy in ("auto", "guided"):
        plan = Request(policy, {"strategy": "dfs"}).plan(OWN.structure)
        assert (plan.guided, plan.raced, plan.guidance) == (False, False, Guidance())
        assert plan.options == Request("plain").plan(OWN.structure).options == plan.plain
        assert plan.notes == ("no guide for the family problem comes with dibs",)


def test_several_solutions_are_searched_without_a_race() -> None:
    """Runs of the tree search, and races, would find the same solutions again."""
    for policy, own_guide in product(POLICIES, (False, True)):
        request = Request(policy, {"max_solutions": 5}, own_guide=own_guide)
        for problem in (*SMALL, *GRIDS):
            plan = request.plan(problem.structure)
            if policy in FREE and problem in GRIDS:
                assert (plan.search, plan.raced) == ("nogoods", False)
                continue
            assert (plan.search, plan.options.strategy, plan.raced) == ("tree", "dfs", False)
            wanted = own_guide or policy in ("guided", "paper")  # `auto` has one for long searches only
            assert plan.guided == wanted
            assert (plan.guidance.guide is not None) == (wanted and not own_guide)
    for said in ({"strategy": "restarts"}, {"guide_after": 3}):
        with pytest.raises(ValueError, match=r"is for one solution"):
            Request("auto", {"max_solutions": 2, **said})
    blank = Sudoku.parse("1" + "." * 15)
    assert dibs.solve(blank, count=100).asks == 0
    assert dibs.solve(blank, policy="auto", guide="relational", count=2).asks > 0


def test_notes_say_why_and_nothing_else() -> None:
    for policy, said in product((None, "auto", "plain"), ({"root": "locked"}, {"strategy": "nogoods"})):
        assert Request(policy, said).plan(SMALL[0].structure).notes == ()


def test_without_guide_leaves_nothing_that_is_about_one() -> None:
    for policy in POLICIES:
        plain = without_guide(Request(policy).options)
        assert plain == without_guide(plain)
        assert (plain.reuse, plain.guide_after, plain.max_asks, plain.trigger) == (None, None, None, "always")
        assert plain.select != "confident"
        assert plain.strategy == "dfs"
    nogoods = Options(strategy="nogoods", restart_base=9)
    assert without_guide(nogoods) == nogoods


def test_a_plan_says_all_that_is_used() -> None:
    for policy, problem in product(POLICIES, (*SMALL, *MEDIUM, *GRIDS, OWN)):
        plan = Request(policy).plan(problem.structure)
        told = plan.as_dict()
        assert told["search"] == plan.search
        assert ("root" in told) == (plan.search == "nogoods")
        assert ("select" in told) == (plan.search == "tree")
        assert ("guide" in told) == plan.guided
        words = plan.describe()
        first = "tree" if plan.search == "tree" else "plain tree search for" if plan.easy else "nogood"
        if plan.first == "nogoods":
            first = "nogood search for"
        assert words.startswith(first)
        assert (plan.guidance.guide or "no guide") in words


@pytest.mark.parametrize(
    "said", [{"guide_after": 5}, {"max_asks": 3}, {"threads": 2}, {"guide": "auto"}, {"select": "confident"}]
)
def test_what_is_said_about_a_guide_needs_one(said: dict[str, Any]) -> None:
    """A policy does without where none comes with dibs; a user who speaks of it is told."""
    [(name, value)] = said.items()
    with pytest.raises(ValueError, match=f"^{name} = {value!r} is about a guide: no guide for the family problem"):
        Request("auto", said).plan(OWN.structure)


def test_settings_are_in_the_words_of_a_plan() -> None:
    said = {"alpha": 0.3, "steps": 4, "threads": 2, "runtime": "onnx", "rounds": 9, "network_only": True, "seed": 7}
    words = Request("paper", said).plan(SMALL[0].structure).describe().split("; ")
    assert {f"{name} {value}" for name, value in said.items()} <= set(words)
    usual = Request("paper").plan(SMALL[0].structure).describe()
    assert not any(name in usual for name in said)
    assert "; all solutions" in Request("plain", {"max_solutions": MOST}).plan(SMALL[0].structure).describe()


def test_engines_have_no_seed() -> None:
    with pytest.raises(ValueError, match="seed = 4 is for dibs' own search, not for engine cp-sat"):
        Request(None, {"seed": 4}, engine="cp-sat")


def test_the_plan_is_what_solve_does() -> None:
    [square] = latin(1, order=17, holes=0.35, balanced=True, seed=4)
    ways: tuple[dict[str, Any], ...] = ({}, {"policy": "plain"}, {"strategy": "restarts"})
    for problem, said in product((SMALL[0], square, OWN), ways):
        plan = dibs.plan(problem, **said)
        outcome = dibs.solve(problem, **said)
        assert outcome.search.split()[0] == ("tree" if plan.easy is not None else plan.search)  # easy ones, all of them


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


def test_the_guide_of_a_policy_is_that_of_the_family() -> None:
    asked: set[str | None] = set()
    auto = LazyGuide(Guidance(guide="auto"))
    for instance in (Sudoku.parse("." * 81), Latin([0] * 16), CNF(2, [[1, 2]]), Sudoku([0] * 625)):
        assert auto.refusal(instance.structure) is None
        name, why = suited_name("auto", instance.structure)
        assert not why
        assert Request("guided").plan(instance.structure).guidance.guide == name
        asked.add(name)
    assert asked == {*SUITED.values(), LARGE_SUDOKU}
    assert auto.refusal(OWN.structure) == "no guide for the family problem comes with dibs"
    assert suited_name("transformer", OWN.structure) == ("transformer", "")
    [square] = latin(1, order=20, holes=0.42, balanced=True, seed=4)
    assert dibs.solve(square, policy="guided").asks == 1


def test_what_the_nogood_search_refuses() -> None:
    for words, said in (
        ({"level": "eliminate"}, "strategy = 'nogoods' needs level naked or hidden"),
        ({"select": "confident"}, "select = 'confident' is for the tree search, and strategy = 'nogoods' is not"),
        ({"tie": "impact"}, "tie = 'impact' is for the tree search"),
        ({"order": "lcv"}, "needs order ascending, random, oracle, not lcv"),
    ):
        for policy in (None, "auto", "guided", "plain"):
            with pytest.raises(ValueError, match=said):
                Request(policy, {"strategy": "nogoods", **words}, own_guide=True)
    with pytest.raises(ValueError, match="root = 'locked' needs strategy nogoods, not dfs"):
        Request(None, {"strategy": "dfs", "root": "locked"})
    with pytest.raises(ValueError, match="a plan would have chosen another"):
        TreeSearch([Latin([0] * 16)], Options(strategy="nogoods"))


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"policy": "best"}, "policy = 'best': choose one of auto, guided, paper, plain"),
        ({"explicit": {"trigger": "binary"}}, "trigger = 'binary' is about a guide: name one with guide, or a policy"),
        ({"policy": "plain", "explicit": {"reuse": 0.5}}, "reuse = 0.5 is about a guide"),
        ({"explicit": {"select": "confident"}}, "select = 'confident' is about a guide"),
        ({"explicit": {"guide": "sat"}, "own_guide": True}, "guide: give an object or a name, not both"),
        ({"explicit": {"order": "oracle"}, "own_guide": True}, "order = 'oracle' is a guide itself"),
        ({"explicit": {"strategy": "dfs", "restart_base": 3}}, "restart_base = 3 needs strategy restarts or nogoods"),
        ({"policy": "auto", "explicit": {"max_solutions": 2, "guide_after": 9}}, "guide_after = 9 is for one solution"),
        ({"policy": "guided", "explicit": {"alpha": 0.5}}, "alpha = 0.5 is about the cell that MRV takes"),
        ({"policy": "auto", "engine": "glucose4"}, "policy = 'auto' is for dibs' own search, not for engine glucose4"),
        ({"explicit": {"level": "naked"}, "engine": "glucose4"}, "level = 'naked' is for dibs' own search"),
        ({"engine": "chaff"}, "engine = 'chaff': choose one of own, glucose4"),
    ],
)
def test_what_makes_no_sense_for_any_problem_is_refused_at_once(request_: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as refusal:
        Request(**request_)
    assert str(refusal.value).startswith(says)


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
    dibs.solve(square, strategy="nogoods", guide=Scored(scores), max_asks=1)
    assert [asks.selecting for asks in seen] == [True]
    assert (seen[0].candidates == seen[0].open).all()


@pytest.mark.parametrize("said", [{"level": "eliminate"}, {"order": "lcv"}, {"order": "mcv"}, {"order": "jw"}])
@pytest.mark.parametrize("policy", ["auto", "guided"])
def test_what_looks_at_domains_is_a_search_of_domains_in_a_large_grid(policy: str, said: dict[str, Any]) -> None:
    """It used to be a traceback: groups were branched on, for which these words have no meaning."""
    for grid in (next(latin(1, order=20, holes=0.2, seed=1)), next(sudoku(1, box=(5, 5), kept=0.6, seed=1))):
        outcome = dibs.solve(grid, policy=policy, nodes=2000, **said)
        assert outcome.status in ("SAT", "LIMIT")


def test_formulas_that_are_not_easy_are_for_cadical() -> None:
    random3 = CNF(20, [[i + 1, (i + 7) % 20 + 1, -((i + 12) % 20) - 1] for i in range(20)])
    parity = CNF(3, [[1, 2, 3], [1, -2, -3], [-1, 2, -3], [-1, -2, 3]])
    plan, other = dibs.plan(random3), dibs.plan(parity)
    assert (plan.search, plan.first, plan.guidance.guide) == ("cadical195", "nogoods", "sat")
    assert (other.search, other.guided, other.easy) == ("cadical195", False, 1000)
    assert "this is not random 3-SAT" in other.describe()
    assert dibs.plan(parity, policy="auto", guide="sat").guided  # it was said
    limited = dibs.plan(random3, max_nodes=10)
    assert limited.search == "nogoods"
    assert limited.options.max_nodes == 10
    assert "max_nodes is not for CaDiCaL" in limited.describe()
    assert dibs.plan(random3, max_solutions=2).search == "tree"


def test_a_few_bounds_among_many_clauses_are_for_cadical_too() -> None:
    rng = np.random.default_rng(2)
    clauses = [((rng.permutation(40)[:3] + 1) * rng.choice([-1, 1], 3)).tolist() for _ in range(150)]
    few, many = CNF(40, clauses, [(0, 2, range(1, 11))]), CNF(40, clauses[:20], [(0, 2, range(1, 11))])
    plan = dibs.plan(few)
    assert (plan.search, plan.first, plan.guided) == ("cadical195", "nogoods", False)
    assert dibs.plan(many).search == dibs.plan(few, max_solutions=2).search == "nogoods"
    for least in range(4):  # and the answers are right
        formula = CNF(40, clauses, [(least, 2 if least < 3 else 3, range(1, 11))])
        assert dibs.solve(formula).status == dibs.solve(formula, strategy="nogoods").status


def test_formulas_without_python_sat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.search.formulas.has_python_sat", lambda: False)
    formula = CNF(3, [[1, 2], [-1, 3]])
    plan = dibs.plan(formula)
    assert (plan.search, plan.easy) == ("nogoods", None)
    assert "pip install 'dibs[sat]'" in plan.describe()
    assert dibs.solve(formula).status == "SAT"


@pytest.mark.parametrize("seed", range(3))
def test_what_the_first_search_leaves_is_answered(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One node of the nogood search, then CaDiCaL: the answers are the same, the cost is that of both."""
    monkeypatch.setattr("dibs.search.plan.NODES", 1)
    rng = np.random.default_rng(seed)
    both = set()
    for _ in range(30):
        clauses = [(rng.permutation(12)[:2] + 1) * rng.choice([-1, 1], 2) for _ in range(15)]
        formula = CNF(12, [clause.tolist() for clause in clauses])
        outcome = dibs.solve(formula, max_seconds=60)
        assert outcome.status == dibs.solve(formula, policy="plain").status
        both.add(outcome.search)
    assert both == {"nogoods", "cadical195"}
