"""Searches in the page: the counters of `dibs solve --json`, a tree that is the search's own, limits and manners."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")

import httpx

import dibs
import pages
from dibs.bench.experiment import Row
from dibs.guide.lazy import lazy_guide
from dibs.search.guidance import Guidance
from dibs.search.options import Options
from dibs.search.plan import Request
from dibs.study.ledger import ledgers
from dibs.web import catalogue, limits
from dibs.web.board import instance_of
from dibs.web.scheduling import Cancelled, Job, Slots
from dibs.web.trace import TracedSearch
from exact import exactly
from pages import Site, Told, alone, told
from shell import SEARCHED, UNSAT, Run, runner

HARD = ".4...8....1..........1...856.2...7......73..65...........6.....8...213..9..8....4"  # 985 nodes by `fc`
SMALL = ".3..1.4...1....."
LARGE = next(one["text"] for one in catalogue.examples() if one["name"] == "16x16, 102 givens")
FORMULA = next(one["text"] for one in catalogue.examples() if one["name"] == "random, 50 variables")
PIGEONS = next(one["text"] for one in catalogue.examples() if one["name"] == "7 pigeons, 6 holes")

ALL = [(family, name) for family in catalogue.EXPERIMENTS for name in catalogue.searches(family)]
SHARED = ("status", "solution", "nodes", "backtracks", "asks", "calls", "depth")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def solved(run: Run, path: Path, text: str, flags: str) -> dict[str, Any]:
    """What `dibs solve --json` says with these flags."""
    path.write_text(text)
    result = run("solve", path, *flags.split(), "--json")
    assert result.err == ""
    found: dict[str, Any] = json.loads(result.out)
    return found


def consistent(found: Told) -> None:
    """The events are a tree, and the counters count it."""
    end, nodes = found.end, found.nodes
    assert all(0 < batch <= limits.BATCH for batch in found.batches)
    assert sum(found.batches) == end["nodes"]
    assert sum(nodes.get("asked", [])) == end["asks"]
    for i, (parent, depth, value) in enumerate(
        zip(*(nodes.get(name, []) for name in ("parent", "depth", "value")), strict=True)
    ):
        assert -1 <= parent < i
        assert depth == (0 if parent < 0 else nodes["depth"][parent] + 1)
        assert (value < 0) == (parent < 0)
        assert parent < 0 or nodes["run"][parent] == nodes["run"][i]
    roots = [i for i, parent in enumerate(nodes.get("parent", [])) if parent < 0]
    assert sorted(nodes["run"][i] for i in roots) == list(range(len(roots)))
    for name in ("nodes", "backtracks", "asks"):
        series = [counters[name] for counters in found.counters]
        assert series == sorted(series)
        assert series[-1] == end[name]
    path = end["path"]
    assert bool(path) == (end["status"] == "SAT" and end["nodes"] > 0)
    assert [nodes["parent"][i] for i in path] == [-1, *path[:-1]][: len(path)]
    for above, below in pairwise(path):
        assert chosen(end["solution"], nodes["domain"][above]) == nodes["value"][below]


def chosen(solution: str | list[int], domain: int) -> int:
    """The index of the value that a solution has in a domain."""
    if isinstance(solution, list):
        return int(solution[domain] < 0)
    return ".123456789ABCDEFG".index(solution[domain]) - 1


@pytest.mark.parametrize(("family", "search"), ALL)
def test_counters_are_those_of_solve(client: httpx.Client, run: Run, tmp_path: Path, family: str, search: str) -> None:
    texts = (HARD, SMALL, LARGE) if family == "sudoku" else (FORMULA, PIGEONS)
    for text in texts:
        found = told(client, family=family, text=text, search=search, nodes=1000, seed=5)
        expected = solved(run, tmp_path / "puzzle", text, found.start["command"])
        assert {key: found.end[key] for key in SHARED} == {key: expected[key] for key in SHARED}
        consistent(found)


@pytest.mark.parametrize("search", ["mrv", "fc-mcv", "dibs", "oracle-every-node", "guided", "plain"])
@pytest.mark.parametrize("text", [HARD, SEARCHED, UNSAT])
def test_the_tree_is_that_of_the_ledger(client: httpx.Client, text: str, search: str) -> None:
    found = told(client, family="sudoku", text=text, search=search)
    consistent(found)
    row = catalogue.search_for("sudoku", search)
    guide = lazy_guide(row.guidance) if row.guidance.guide else None
    [ledger] = ledgers([dibs.Sudoku.parse(text)], row.options, guide, siblings=False, trees=True)
    assert ledger.tree is not None
    assert found.nodes.get("depth", []) == ledger.tree.depth.tolist()
    assert found.nodes.get("run", []) == (ledger.tree.run - 1).tolist()
    assert found.end["path"] == np.flatnonzero(ledger.tree.on_path).tolist()
    at = [found.nodes["domain"][i] for i in found.end["path"]]
    assert at == [decision.domain for decision in ledger.decisions]
    assert [found.nodes["asked"][i] for i in found.end["path"]] == [
        int(decision.ranked == "asked") for decision in ledger.decisions
    ]


def followed(row: Row, text: str, put: Callable[[str, dict[str, Any]], None]) -> TracedSearch:
    guide = lazy_guide(row.guidance) if row.guidance.guide else None
    return TracedSearch(instance_of("sudoku", text), row, guide, Job(Slots(1)), nullcontext(), put)


def untimed(outcome: dibs.Outcome) -> dibs.Outcome:
    """All but the seconds, which no two searches share."""
    parts = tuple(part._replace(seconds=0, guide_seconds=0) for part in outcome.parts)
    return replace(outcome, seconds=0, guide_seconds=0, parts=parts)


@pytest.mark.parametrize("after", [0, 3, 40])
@pytest.mark.parametrize("nodes", [None, 30, 500])
def test_two_searches_that_take_turns(after: int, nodes: int | None) -> None:
    options = replace(Request("auto").options, level="naked", guide_after=after, max_nodes=nodes)
    guidance = Guidance(guide="relational")
    batches: list[dict[str, Any]] = []
    one = followed(
        Row("auto", options, guidance), HARD, lambda name, fields: batches.append(fields) if name == "nodes" else None
    )
    with one.job:
        outcome = one.run()
    [expected] = exactly([dibs.Sudoku.parse(HARD)], options, lazy_guide(guidance))
    assert untimed(outcome) == untimed(expected)
    assert outcome.asks > 0 or nodes == 30
    columns: dict[str, list[int]] = {}
    for batch in batches:
        for name, values in batch.items():
            if name != "first":
                columns.setdefault(name, []).extend(values)
    end = {
        **{key: getattr(outcome, key) for key in ("nodes", "backtracks", "asks", "solution")},
        "status": outcome.status.value,
        "path": one.path(),
    }
    consistent(Told({}, columns, [one.counters()], end, [len(batch["parent"]) for batch in batches]))


def test_limits(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.search.tree.search.SLICE", 100)  # it looks at the clock after so much work
    found = told(client, family="sudoku", text=HARD, search="fc", nodes=10)
    assert (found.end["status"], found.end["nodes"], found.end["path"]) == ("LIMIT", 10, [])
    found = told(client, family="sudoku", text=HARD, search="fc", nodes=0)
    assert (found.end["status"], found.end["nodes"], found.batches) == ("LIMIT", 0, [])
    for search in ("fc", "oracle-every-node", "auto", "dibs"):
        found = told(client, family="sudoku", text=HARD, search=search, seconds=0)
        assert found.end["status"] == "LIMIT"
    defaults = told(client, family="sudoku", text=SMALL, search="fc").start["options"]
    assert (defaults["max_nodes"], defaults["max_seconds"]) == (limits.NODES, limits.SECONDS)
    for wish in ({"nodes": limits.MOST_NODES + 1}, {"seconds": limits.MOST_SECONDS + 1}, {"nodes": -1}, {"nodes": 1.5}):
        answer = client.post("/api/race", json=alone(family="sudoku", text=HARD, search="fc", **wish))
        assert answer.status_code == 400
        assert next(iter(wish)) in answer.json()["error"]


def test_the_largest_tree(client: httpx.Client) -> None:
    """All of it goes out, in batches, and nothing is kept: a blank grid has no end at this level."""
    text = LARGE.replace("B", ".").replace("A", ".")
    found = told(client, family="sudoku", text=text, search="mrv", nodes=limits.MOST_NODES)
    assert (found.end["status"], found.end["nodes"]) == ("LIMIT", limits.MOST_NODES)
    assert sum(found.batches) == limits.MOST_NODES
    assert max(found.batches) == limits.BATCH


def test_no_such_thing(client: httpx.Client) -> None:
    for wish, words in (
        ({"search": "fast"}, "search = 'fast': choose one of mrv, fc"),
        ({"search": "dibs", "guide": "../relational"}, "guide = '../relational': choose one of relational"),
        ({"search": "dibs", "guide": "transformer", "text": SMALL}, "these weights take 9x9 Sudokus"),
        ({"search": "fc", "text": "11" + "." * 14}, "line 1, column 2: r1c1 and r1c2 are both 1"),
        ({"search": "fc", "text": "." * 25 * 25}, "up to 16x16"),
        ({"search": "fc", "family": "cnf", "text": FORMULA}, "search = 'fc': choose one of first-true"),
        ({"search": "dibs", "family": "cnf", "text": FORMULA, "guide": "relational"}, "choose one of sat"),
        ({"search": "mrv-jw", "family": "cnf", "text": "p cnf 51 0\n"}, "up to 50"),
        (
            {"search": "mrv-jw", "family": "cnf", "text": "p cnf 2 1\n1 3 0\n"},
            "line 2, column 3: literal 3 is out",
        ),
    ):
        plain: dict[str, Any] = {"family": "sudoku", "text": HARD}
        answer = client.post("/api/race", json=alone(**(plain | wish)))
        assert answer.status_code == 400
        assert words in answer.json()["error"]


# Manners: a search ends with its page, waits for its turn, and is no faster than its reader


def until(what: Callable[[], bool]) -> None:
    """Wait for something that must come; a minute is for a machine that is very busy."""
    for _ in range(6000):
        if what():
            return
        sleep(0.01)
    raise AssertionError("it did not come")


LONG: dict[str, Any] = {
    "family": "sudoku",
    "text": LARGE.replace("B", ".").replace("A", "."),
    "search": "mrv",
    "nodes": 250_000,
}


def first_nodes(response: httpx.Response) -> Any:
    """Read until a search has entered nodes; the rest of its events."""
    events = pages.events(response.iter_lines())
    while next(events)[0] != "nodes":
        pass
    return events


def test_a_search_ends_with_its_page(served: Site, client: httpx.Client) -> None:
    until(lambda: served.workers.slots.running == 0)
    with client.stream("POST", "/api/race", json=alone(**LONG)) as response:
        rest = first_nodes(response)  # held: without it the search would be given up
        assert served.workers.slots.running == 1
        rest.close()
    until(lambda: served.workers.slots.running == 0)
    assert told(client, family="sudoku", text=HARD, search="fc").end["nodes"] == 985


def test_fifty_pages_do_not_block_one_another(
    served: Site, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of fifty long searches get on, and one more page is answered meanwhile."""
    monkeypatch.setattr(limits, "PATIENCE", 600.0)
    with ExitStack() as stack, httpx.Client(base_url=served.url, timeout=120, limits=httpx.Limits()) as many:
        streams = [stack.enter_context(many.stream("POST", "/api/race", json=alone(**LONG))) for _ in range(50)]
        events = [first_nodes(stream) for stream in streams]
        assert client.post("/api/read", json={"family": "sudoku", "text": HARD}).json()["givens"] == 21
        assert told(client, family="sudoku", text=HARD, search="dibs").end["status"] == "SAT"
        assert client.post("/api/node", json={"family": "sudoku", "text": HARD, "search": "fc", "node": 7}).is_success
        assert served.workers.slots.running == 50  # none of them is done
        assert all(next(some)[0] in ("nodes", "counters") for some in events)
    until(lambda: served.workers.slots.running == 0)


def test_more_searches_than_seats_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ACTIVE", 1)
    with (
        pages.site() as site,
        httpx.Client(base_url=site.url, timeout=120) as client,
        client.stream("POST", "/api/race", json=alone(**LONG)) as first,
    ):
        rest = first_nodes(first)  # held: without it the first search would be given up
        with client.stream("POST", "/api/race", json=alone(**{**LONG, "nodes": 10})) as second:
            events = pages.events(second.iter_lines())
            name, fields = next(events)
            assert name == "wait"
            assert "waits for its turn" in fields["words"]
            rest.close()
            first.close()
            assert [name for name, _ in events][-1] == "end"


def test_a_search_waits_for_the_kernel() -> None:
    with pages.site(warm=False) as site, httpx.Client(base_url=site.url, timeout=120) as client:
        assert client.get("/api/about").json()["ready"] is False
        with client.stream("POST", "/api/race", json=alone(family="sudoku", text=HARD, search="fc")) as response:
            events = pages.events(response.iter_lines())
            name, fields = next(events)
            assert name == "wait"
            assert "compiles" in fields["words"]
            site.workers.ready.set()
            assert [name for name, _ in events][-1] == "end"
        assert client.get("/api/about").json()["ready"] is True


def test_a_reader_who_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search runs a little ahead, waits, and is cancelled."""
    monkeypatch.setattr(limits, "PATIENCE", 0.3)
    with pages.site() as site, httpx.Client(base_url=site.url, timeout=120) as client:
        with client.stream("POST", "/api/race", json=alone(**LONG)) as response:
            until(lambda: site.workers.slots.running == 1)
            until(lambda: site.workers.slots.running == 0)
            found = list(pages.events(response.iter_lines()))
        name, fields = found[-1]
        assert name == "error"
        assert "cancelled" in fields["error"]
        assert sum(len(fields["parent"]) for name, fields in found if name == "nodes") < LONG["nodes"]


def test_a_race_is_one_stream(client: httpx.Client) -> None:
    """Both searches in one connection, each event marked; each search tells what it tells alone."""
    asked = {"family": "sudoku", "text": HARD, "searches": [{"search": "fc"}, {"search": "dibs"}]}
    with client.stream("POST", "/api/race", json=asked) as response:
        found = list(pages.events(response.iter_lines()))
    for of, search in enumerate(("fc", "dibs")):
        mine = [(name, fields) for name, fields in found if fields["of"] == of]
        assert [name for name, _ in mine if name in ("start", "end")] == ["start", "end"]
        expected = told(client, family="sudoku", text=HARD, search=search).end
        assert {key: mine[-1][1][key] for key in SHARED} == {key: expected[key] for key in SHARED}
        assert sum(len(fields["parent"]) for name, fields in mine if name == "nodes") == expected["nodes"]


def test_reading_keeps_nobody_waiting(served: Site, client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that takes long to read is read beside the loop."""
    begun, go = threading.Event(), threading.Event()

    def slow(*of: Any) -> dict[str, Any]:
        begun.set()
        assert go.wait(60)
        return {"words": "at last"}

    monkeypatch.setattr("dibs.web.board.read", slow)
    answers: list[httpx.Response] = []
    asked = {"family": "sudoku", "text": "." * 60_000}
    reader = threading.Thread(
        target=lambda: answers.append(httpx.post(f"{served.url}/api/read", json=asked, timeout=60))
    )
    reader.start()
    assert begun.wait(60)
    assert client.get("/api/about").status_code == 200
    go.set()
    reader.join()
    assert answers[0].json() == {"words": "at last"}


def test_puzzles_that_are_made_leave_seats_to_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of them wait for one another, not in the seats of searches."""
    begun, go = threading.Event(), threading.Event()

    def slow(*of: Any) -> dict[str, Any]:
        begun.set()
        assert go.wait(60)
        return {"line": SMALL}

    monkeypatch.setattr("dibs.web.make._sudoku", slow)
    monkeypatch.setattr(limits, "ACTIVE", 2)
    with pages.site() as site, httpx.Client(base_url=site.url, timeout=60) as client:
        makers = [
            threading.Thread(
                target=lambda: httpx.post(f"{site.url}/api/generate", json={"family": "sudoku"}, timeout=60)
            )
            for _ in range(5)
        ]
        for maker in makers:
            maker.start()
        assert begun.wait(60)
        until(lambda: len(site.server.server_state.connections) >= len(makers))
        assert told(client, family="sudoku", text=HARD, search="fc").end["nodes"] == 985
        go.set()
        for maker in makers:
            maker.join()


def square(client: httpx.Client, **asked: Any) -> list[tuple[str, dict[str, Any]]]:
    with client.stream("POST", "/api/square", json=asked) as response:
        assert response.status_code == 200, response.read()
        return list(pages.events(response.iter_lines()))


@pytest.mark.parametrize("rival", ["plain", "cadical195"])
def test_a_latin_square_is_filled_by_both(client: httpx.Client, rival: str) -> None:
    if rival != "plain":
        pytest.importorskip("pysat", reason="CaDiCaL needs python-sat")
    found = square(client, order=12, seed=3, rival=rival)
    assert found[0][0] == "start"
    given = np.array(found[0][1]["values"])
    assert len(given) == 144
    ends = [fields for name, fields in found if name == "end"]
    assert sorted(end["of"] for end in ends) == [0, 1]
    for end in ends:
        assert end["status"] == "SAT"
        filled = np.array(end["values"])
        assert (filled[given > 0] == given[given > 0]).all()
        for lines in (filled.reshape(12, 12), filled.reshape(12, 12).T):
            assert (np.sort(lines) == np.arange(1, 13)).all()
        assert end["seconds"] > 0
    again = square(client, order=12, seed=3, rival="plain")
    assert again[0][1]["values"] == given.tolist()


def test_a_rival_that_is_not_installed_is_refused(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    catalogue.rivals.cache_clear()
    try:
        assert [one["id"] for one in client.get("/api/about").json()["rivals"]] == ["plain"]
        answer = client.post("/api/square", json={"order": 12, "rival": "cadical195"})
    finally:
        catalogue.rivals.cache_clear()
    assert answer.status_code == 400
    assert answer.json()["error"] == "rival = 'cadical195': it is not installed; choose one of plain"


def test_a_race_of_squares_ends_with_its_page(served: Site, client: httpx.Client) -> None:
    """The process of the rival, too: a job ends when its process has."""
    pytest.importorskip("pysat", reason="CaDiCaL needs python-sat")
    until(lambda: served.workers.slots.running == 0)
    with client.stream("POST", "/api/square", json={"order": 40, "seed": 5, "rival": "cadical195"}) as response:
        events: Any = pages.events(response.iter_lines())
        while next(events)[0] != "state":
            pass
        assert served.workers.slots.running > 0
        events.close()
    until(lambda: served.workers.slots.running == 0)


def test_plain_search_is_watched_while_it_tries(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BEAT", 0.0)
    monkeypatch.setattr(limits, "SQUARE_SECONDS", 1.0)
    found = square(client, order=40, seed=3, rival="plain")
    given = np.array(found[0][1]["values"])
    states = [fields for name, fields in found if name == "state"]
    assert states
    for state in states:
        tried = np.array(state["values"])
        assert (tried[given > 0] == given[given > 0]).all()
        assert state["of"] == 1
    assert [state["nodes"] for state in states] == sorted(state["nodes"] for state in states)


def test_slots_are_taken_in_order() -> None:
    slots = Slots(1)
    order: list[int] = []
    slots.take()
    threads: list[threading.Thread] = []

    def work(i: int) -> None:
        slots.take()
        order.append(i)
        slots.give()

    for i in range(5):
        threads.append(threading.Thread(target=work, args=[i]))
        threads[-1].start()
        until(lambda: len(slots._waiting) == len(threads))
    assert slots.crowded
    assert not slots.try_take()
    slots.give()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
    assert slots.try_take()


def test_a_cancelled_search_raises() -> None:
    one = followed(Row("fc", Options(level="naked")), HARD, lambda name, fields: None)
    one.job.cancel()
    with one.job, pytest.raises(Cancelled):
        one.run()
