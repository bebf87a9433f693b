"""Which ranking serves which node: when it is asked for, how long it is kept, and that it is never the wrong one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dibs
from dibs import Asks, Latin, Options
from dibs.bench.instances import load
from dibs.problem import Instance
from dibs.search.tree.consult import CAUTION, DOUBT, HOPEFUL, LEAST_WEIGHT, STAKE
from dibs.search.tree.loop import LEAST_CHANCE
from dibs.search.tree.restart import LESSON
from dibs.search.tree.state import RANKINGS
from dibs.solving import solve_together
from guides import BAD, SURE, Scored, knowing, seeded
from randoms import formula, mixture, stubborn
from replay import Node, State, Traced, traced

SELECTS = ("mrv", "confident")
STRATEGIES = ("dfs", "restarts")
KEEPS = (None, 0, 0.5, 0.9, 1.0)
TRIGGERS = ("always", "binary", "ternary")
HARD = load("hard300", 12)
NEAR = 1e-5  # what is that close to a threshold may go either way: the kernel's shares have 32 bits
Scores = NDArray[np.float32]


@pytest.fixture(scope="module")
def problems() -> list[Instance]:
    made: list[Instance] = [*mixture(seed=41, count=90), *stubborn(seed=42, count=16), *HARD[:2]]
    return [one for one in made if dibs.solve(one, policy="plain").nodes > 1]


def widely(asks: Asks) -> NDArray[Any]:
    """Encodes the state, and is now more, now less sure."""
    return seeded(asks, 2.5)


def quite_sure(asks: Asks) -> NDArray[Any]:
    """Encodes the state, and is nearly sure: so much so that the solution seems to be below even far down."""
    return seeded(asks, 4.0)


@dataclass
class Ranking:
    place: int  # how many rankings were in force above it
    scores: Scores
    above: Ranking | None


@dataclass
class Served:
    ranking: Ranking | None
    trust: bool  # no first choice has failed since it was made
    probable: float  # the solution is below the node
    mass: float  # log-probability of the path
    rest: float  # what is still to be tried above
    chance: dict[int, float]


class Rules:
    """The rules of `reuse`, `max_asks`, `trigger` and `select`, with room for any number of rankings.

    A ranking serves the nodes below it while its surest choice has the probability `reuse` and no first choice has
    failed since. Otherwise the guide is asked if it is triggered, the asks are not used up and the solution is probably
    here. Where it is not asked, the nearest ranking above serves all the same.

    `check` asserts that every node of a traced search was asked for, or was not, and was ordered, as they say. Where a
    search keeps RANKINGS rankings already it may have lost the last one: then an older one may stand in for it.
    """

    def __init__(self, found: Traced, how: Options) -> None:
        self.found, self.how, self.slow = found, how, found.slow
        self.keeps = how.reuse is not None or how.strategy != "dfs"
        self.root: Ranking | None = None
        self.lesson = np.zeros(found.slow.base[-1])  # what cut runs have taken from the scores
        self.served: dict[int, Served] = {}
        self.asks = self.lost = self.kept = 0

    def check(self) -> None:
        for run in self.found.told.runs:
            for node in run.nodes:
                self.serve(node)
            for node in run.cut or []:
                self.lesson[node.tried[-1]] += LESSON
        assert self.asks == self.found.outcome.asks

    def serve(self, node: Node) -> None:
        mrv = self.slow.mrv(node.state)
        asked = self.found.asked.get(node.number)
        above, trusted, mass, rest = self.above(node)
        probable = float(np.exp(mass) / (np.exp(mass) + rest))
        may = must = False  # be served by the ranking above without asking
        if above:
            share, _ = self.pick(node, above, mrv, probable)
            least = 0.0 if node.depth == 0 or self.how.reuse is None else self.how.reuse
            may = trusted and share >= least - NEAR
            must = trusted and share >= min(least + NEAR, 1.0)
        full = above is not None and above.place >= RANKINGS - 1 and node.depth > 0
        wanted = self.triggered(node.state) and (self.how.max_asks is None or self.asks < self.how.max_asks)
        if asked is not None:
            assert wanted, "one ask too many"
            assert not must or full, "the ranking above would have served"
            assert above is None or probable >= HOPEFUL - NEAR, "the solution is probably elsewhere"
            self.asks += 1
            ranking = Ranking(above.place + 1 if above else min(node.depth, 1), clean(asked), above)
            if node.depth == 0 and self.keeps:
                self.root = ranking
            choices: list[Ranking | None] = [ranking]
        else:
            assert may or not wanted or (above and probable < HOPEFUL + NEAR), "it should be asked here"
            choices = [above]
            self.kept += above is not None and node.depth > 0
            older = above if full else None  # whatever was asked since has taken its room: an older one must do
            while older and (older := older.above):
                choices.append(older)
        fits = [one for one in choices if self.fits(node, one, mrv, probable)]
        assert fits, "ordered by a ranking that is not in force here"
        used = fits[0]
        trust = asked is not None or may
        if used is not choices[0]:
            self.lost += 1
            trust = False
        self.served[node.number] = Served(used, trust, probable, mass, rest, self.chances(used, node.values))

    def above(self, node: Node) -> tuple[Ranking | None, bool, float, float]:
        """(the ranking in force above a node, whether it is trusted, mass, rest)."""
        if not node.above:
            return self.root, True, 0.0, 0.0
        parent, place = node.above
        known = self.served[parent.number]
        later = sum(chance for v, chance in known.chance.items() if v not in parent.tried[: place + 1])
        mass = known.mass + float(np.log(known.chance[parent.tried[place]]))
        rest = known.rest + float(np.exp(known.mass)) * later
        return known.ranking if self.how.reuse is not None else None, known.trust and place == 0, mass, rest

    def triggered(self, state: State) -> bool:
        size = self.slow.arity(state)
        return {"always": size >= 2, "binary": size == 2, "ternary": size >= 3}[self.how.trigger]

    def scores(self, ranking: Ranking) -> NDArray[np.float64]:
        return ranking.scores - self.lesson

    def chances(self, ranking: Ranking | None, values: list[int]) -> dict[int, float]:
        """The share of each value among all of them, not below LEAST_CHANCE; equal where there is no ranking."""
        if ranking is None or not values:
            return {v: 1 / len(values) for v in values}
        keys = self.scores(ranking)[values]
        weights = np.exp(keys - keys.max())
        return dict(zip(values, np.maximum(weights / weights.sum(), LEAST_CHANCE).tolist(), strict=True))

    def first(self, ranking: Ranking, values: list[int]) -> tuple[float, int]:
        """(share, value) of the first choice; an empty domain is a sure thing."""
        if not values:
            return 1.0, -1
        keys = self.scores(ranking)[values]
        return 1 / float(np.exp(keys - keys.max()).sum()), values[int(keys.argmax())]

    def fits(self, node: Node, ranking: Ranking | None, mrv: int, probable: float) -> bool:
        """Whether domain and order of the values are those of a ranking."""
        if ranking is None:
            return node.domain == mrv and node.tried == node.values[: len(node.tried)]
        scores = self.scores(ranking)
        order = sorted(node.values, key=lambda v: -scores[v])
        return node.tried == order[: len(node.tried)] and self.pick(node, ranking, mrv, probable)[1]

    def pick(self, node: Node, ranking: Ranking, mrv: int, probable: float) -> tuple[float, bool]:
        """(share of the first choice at the domain that this ranking selects, whether it is the node's domain)."""
        slow, state = self.slow, node.state
        # In a formula a variable that is decided by itself may have one value left: then MRV it is.
        single = bool(slow.clauses) and min(slow.size(state, domain) for domain in slow.undecided(state)) < 2
        confident = self.how.select == "confident"
        if confident and slow.clauses:
            probable = 1.0  # there are many solutions: none is elsewhere
        if self.how.select == "mrv" or probable < HOPEFUL - NEAR or single:
            return self.first(ranking, slow.values(state, mrv))[0], node.domain == mrv
        found: dict[int, tuple[float, float]] = {}
        for domain in slow.undecided(state):
            if confident or slow.size(state, domain) == slow.size(state, mrv):
                share, value = self.first(ranking, slow.values(state, domain) or [slow.base[domain]])
                found[domain] = (self.rank(state, share, value) if confident else share), share
        best = max(rank for rank, _ in found.values())
        close = {domain for domain, (rank, _) in found.items() if rank >= best * (1 - NEAR)}
        share = found[min(close)][1]
        if probable < HOPEFUL + NEAR:
            close.add(mrv)
        return share, node.domain in close

    def rank(self, state: State, share: float, value: int) -> float:
        """How `confident` rates a choice."""
        slow = self.slow
        if not slow.clauses:
            return float(share**CAUTION * (1 + slow.reach(state, value)))
        stakes = (len(slow.undecided(state)) / STAKE) ** 2
        own, other = (LEAST_WEIGHT + slow.weight(state, some) for some in (1 << value, slow.rivals[value]))
        return float(share ** (stakes - DOUBT) * own**stakes * other)


def clean(scores: Scores) -> Scores:
    return np.clip(np.where(np.isnan(scores), -1e30, scores), -1e30, 1e30).astype(np.float32)


def checked(problem: Instance, how: Options, scores: Any = widely) -> Rules:
    rules = Rules(traced(problem, how, scores), how)
    rules.check()
    return rules


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("select", SELECTS)
def test_rankings_are_never_stale(problems: list[Instance], select: str, strategy: str) -> None:
    """Every reuse, trigger and limit of asks; scores encode the state, so another ranking is another order."""
    asks, units = cycle((None, 1, None, 4, 9)), cycle((1, 3, 8))
    kept = asked = 0
    for turn, (keep, trigger) in enumerate(product(KEEPS, TRIGGERS)):
        for problem in problems[turn % 13 :: 13]:
            how: dict[str, Any] = {"select": select, "strategy": strategy, "reuse": keep, "trigger": trigger}
            how["level"] = "naked" if strategy == "dfs" else "hidden"
            rules = checked(problem, Options(max_asks=next(asks), restart_base=next(units), **how))
            kept += rules.kept
            asked += rules.asks
    assert kept > 20
    assert asked > 40


@pytest.mark.parametrize("select", SELECTS)
def test_more_rankings_on_a_path_than_there_is_room_for(select: str) -> None:
    """Then an older one may serve, or it is asked again; the one that took its place must not be used."""
    rng = np.random.default_rng(0)
    deep: list[Instance] = [Latin.parse("12345.." + "." * 42), *(formula(rng, 60, 4.1) for _ in range(4))]
    deep += [formula(rng, 200, 4.2) for _ in range(2)]
    most = lost = 0
    for problem, asks in product(deep, (None, 12)):
        how: dict[str, Any] = {"select": select, "level": "naked", "max_asks": asks}
        rules = checked(problem, Options(reuse=1.0, max_nodes=300, **how), quite_sure)
        most = max([most, *(one.ranking.place + 1 for one in rules.served.values() if one.ranking)])
        lost += rules.lost
    assert most > RANKINGS
    assert lost > 0


def test_without_keeping_it_asks_wherever_it_is_triggered(problems: list[Instance]) -> None:
    for problem, (select, trigger) in zip(problems, cycle(product(SELECTS, TRIGGERS)), strict=False):
        found = traced(problem, Options(select=select, trigger=trigger, level="naked"), widely)  # type: ignore[arg-type]
        for node in found.told.nodes:
            size = found.slow.arity(node.state)
            assert (node.number in found.asked) == (
                size > 1 and trigger in ("always", "binary" if size == 2 else "ternary")
            )


def unbroken(found: Traced, node: Node) -> bool:
    """Whether only first choices lead from the nearest node that was asked for to this one."""
    while node.above and node.above[1] == 0:
        node = node.above[0]
        if node.number in found.asked:
            return True
    return False


@pytest.mark.parametrize("select", SELECTS)
def test_whatever_is_kept_serves_until_a_first_choice_fails(problems: list[Instance], select: str) -> None:
    """reuse = 0: asked at the root, and after a failure where the solution is probably below."""
    kept = renewed = 0
    for problem in problems:
        rules = checked(problem, Options(select=select, reuse=0.0))  # type: ignore[arg-type]
        found = rules.found
        for node in found.told.nodes:
            if node.number in found.asked:
                assert not unbroken(found, node)
                assert node.depth == 0 or rules.served[node.number].probable >= HOPEFUL - NEAR
                renewed += node.depth > 0
            elif not unbroken(found, node):
                assert found.slow.arity(node.state) < 2 or rules.served[node.number].probable < HOPEFUL + NEAR
            else:
                kept += 1
        assert 0 in found.asked or found.slow.arity(found.told.nodes[0].state) < 2
    assert kept > 50
    assert renewed > 5


@pytest.mark.parametrize("select", SELECTS)
def test_keeping_only_what_is_certain(problems: list[Instance], select: str) -> None:
    """reuse = 1: for a guide that is never certain no ranking serves twice where the solution is probably below."""
    asked = served = 0
    for problem in problems:
        rules = checked(problem, Options(select=select, reuse=1.0))  # type: ignore[arg-type]
        for node in rules.found.told.nodes:
            if rules.slow.arity(node.state) > 1 and rules.served[node.number].probable >= HOPEFUL + NEAR:
                assert node.number in rules.found.asked
                asked += node.depth > 0
        sure = checked(problem, Options(select=select, reuse=1.0), SURE["overconfident"])  # type: ignore[arg-type]
        served += sum(
            unbroken(sure.found, node) for node in sure.found.told.nodes if node.number not in sure.found.asked
        )
    assert asked > 20
    assert served > 10


@pytest.mark.parametrize("select", SELECTS)
def test_one_ask_can_order_the_whole_search(problems: list[Instance], select: str) -> None:
    def wild(asks: Asks) -> NDArray[Any]:
        scores: NDArray[Any] = np.clip(BAD["wild"](asks), -1e30, 1e30)  # who gives up at the root orders nothing
        return scores

    long = 0
    for problem, scores in product(problems, (widely, wild, BAD["reversed"])):
        found = traced(problem, Options(select=select, reuse=0.0, max_asks=1), scores)  # type: ignore[arg-type]
        if 0 not in found.asked:
            continue
        root = clean(found.asked[0])
        for node in found.told.nodes:
            order = sorted(node.values, key=lambda v: -root[v])
            assert node.tried == order[: len(node.tried)]
        assert found.asked.keys() == {0}
        long += len(found.told.nodes) > 10
    assert long > 10


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("keep", KEEPS)
def test_who_knows_the_solution_never_fails(strategy: str, keep: float | None) -> None:
    """Log-probabilities 0 and -20: sure, and right."""
    options: dict[str, Any] = {"select": "confident", "reuse": keep, "strategy": strategy}
    for level in ("naked", "hidden"):
        outcomes = solve_together(HARD, guide=Scored(knowing), level=level, **options)
        plain = solve_together(HARD, policy="plain", level=level)
        for outcome, known in zip(outcomes, plain, strict=True):
            assert outcome.solution == known.solution
            assert outcome.backtracks == 0
            assert outcome.nodes == outcome.depth
            assert outcome.asks == (1 if keep in (0, 0.5, 0.9) else outcome.nodes)
    assert sum(outcome.backtracks for outcome in plain) > 50


def test_mrv_takes_one_of_the_fewest_and_confident_others_too(problems: list[Instance]) -> None:
    larger = 0
    for problem, strategy, keep in zip(problems, cycle(STRATEGIES), cycle(KEEPS), strict=False):
        for select in SELECTS:
            how = Options(select=select, strategy=strategy, reuse=keep, restart_base=3)  # type: ignore[arg-type]
            found = traced(problem, how, widely)
            for node in found.told.nodes:
                excess = len(node.values) - found.slow.size(node.state, found.slow.mrv(node.state))
                assert excess == 0 or select == "confident"
                larger += excess > 0
    assert larger > 20


@pytest.mark.parametrize("select", SELECTS)
def test_an_empty_domain_is_selected_next(select: str) -> None:
    """Level `eliminate` notices it only when it is selected; nobody may put that off."""
    dead = 0
    for puzzle, keep in product(HARD[:2], (None, 0, 0.9)):
        how: dict[str, Any] = {"select": select, "reuse": keep, "level": "eliminate", "max_nodes": 200}
        found = traced(puzzle, Options(**how), lambda asks: seeded(asks, 10.0))
        for node in found.told.nodes:
            if found.slow.size(node.state, found.slow.mrv(node.state)) == 0:
                assert not node.values
                dead += 1
    assert dead > 20
