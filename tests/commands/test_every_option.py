"""Every option can be reached from the shell, and does something or is refused; random legal ones end in a right answer
or in one line."""

from __future__ import annotations

import json
from dataclasses import Field
from typing import Any

import numpy as np
import pytest

import dibs
import draws
from dibs import CNF, Latin, Outcome, Problem, Sudoku
from dibs.generate import latin, sat
from dibs.problem import Instance
from dibs.search.external.registry import ENGINES
from judge import solutions
from randoms import mixture
from shell import SEARCHED, Result, Run, runner

CLOCK = ("seconds", "guide_seconds")
# Where an option may show: plain and guided search, the paper's, one that learns from failures; small and large.
PLACES = (
    "--policy plain",
    "--policy paper",
    "--policy guided",
    "--guide relational --level naked --trigger binary",
    "--guide relational --level naked --select confident",
    "--guide auto --trigger worth",
    "--level naked --order random --strategy restarts",
)
UNSEEN = ("threads", "runtime")  # they change who computes, and no count
SEARCHES = 150  # drawn from Python and as many from the shell
MOST = 12  # solutions that are counted


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture(scope="module")
def probes() -> list[list[str]]:
    [square], [formula] = latin(1, order=18, holes=0.45, seed=1), sat(1, variables=40, seed=2)
    return [[SEARCHED], [square.line(), "--family", "latin"], [formula.format(), "--family", "cnf"]]


def seen(result: Result) -> Any:
    """What a user sees but for the time; of a refusal its line."""
    if result.code == 2:
        return result.complaint
    return {key: value for key, value in json.loads(result.out.splitlines()[-1]).items() if key not in CLOCK}


def test_every_field_is_a_flag() -> None:
    assert draws.on_the_command_line() == {name for name, _ in draws.every()}


@pytest.mark.parametrize("f", [f for name, f in draws.every() if draws.values(f) and name not in UNSEEN])
def test_every_option_does_something(f: Field[Any], run: Run, probes: list[list[str]]) -> None:
    """Some value of it changes what is found or counted, somewhere; every value ends in an answer or in a line."""
    changes = False
    for probe in probes:
        for place in PLACES:
            if f"--{f.name.replace('_', '-')} " in f"{place} ":
                place = place.split(f"--{f.name} ")[0]  # the flags before it
            words = ["solve", *probe, "--json", *place.split(), "--nodes", "2000"]
            plain = seen(run(*words)) if f.name not in ("nodes", "max_nodes") else None
            for value in draws.values(f):
                found = seen(run(*words[:-2] if plain is None else words, *draws.flags({f.name: value})))
                changes |= isinstance(found, dict) and found != (plain or seen(run(*words[:-2])))
            if changes:
                return
    assert changes, f"{f.name} changes nothing"


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_runtime_reach_the_runtime(threads: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session of ONNX Runtime that is asked has so many."""
    import onnxruntime

    made: list[int] = []
    session = onnxruntime.InferenceSession

    def noting(model: Any, options: Any, *rest: Any, **more: Any) -> Any:
        made.append(options.intra_op_num_threads)
        return session(model, options, *rest, **more)

    monkeypatch.setattr(onnxruntime, "InferenceSession", noting)
    words = ["--policy", "paper", "--guide", "transformer", "--threads", threads, "--runtime", "onnx"]
    assert run("solve", SEARCHED, "--json", *words, "--nodes", 50).code == 0
    assert made == [threads]


# Random legal options


def fits(instance: Instance, given: dict[str, Any], status: str, found: int | None, solution: Any) -> None:
    """Right as an independent solver says, or cut off by a limit that was set."""
    wanted = min(MOST, given.get(draws.COUNT, 1))
    total = solutions(instance, wanted)
    if status == "LIMIT":
        assert any(draws.limits(name) for name in given), "nothing limits it"
        return
    assert status == ("SAT" if total else "UNSAT")
    if solution is not None and status == "SAT":
        assert instance.violation(solution) is None
    if found is not None and wanted < MOST:
        assert found == total


def asked_for(rng: np.random.Generator) -> tuple[Instance, dict[str, Any]]:
    [problem] = mixture(seed=int(rng.integers(2**30)), count=1)
    return problem, draws.drawn(rng)


@pytest.mark.parametrize("part", range(5))
def test_random_options_from_python(part: int, pytestconfig: pytest.Config) -> None:
    for number in range(5 * SEARCHES if pytestconfig.getoption("--all-options") else SEARCHES // 5):
        problem, given = asked_for(np.random.default_rng((1, part, number)))
        try:
            found = solved(problem, given)
            if isinstance(found, ValueError):
                assert str(found)
                assert "\n" not in str(found)
            else:
                fits(problem, given, found.status, found.solutions, found.solution)
        except BaseException as error:
            error.add_note(f"{problem!r}, {given}")
            raise


def solved(problem: Instance, given: dict[str, Any]) -> Outcome | ValueError:
    """How it ended, or why it was refused."""
    try:
        return dibs.solve(problem, **given)
    except ValueError as error:
        return error


@pytest.mark.parametrize("part", range(5))
def test_random_options_from_the_shell(part: int, run: Run, pytestconfig: pytest.Config) -> None:
    for number in range(5 * SEARCHES if pytestconfig.getoption("--all-options") else SEARCHES // 5):
        rng = np.random.default_rng((2, part, number))
        problem, given = asked_for(rng)
        if isinstance(problem, Problem):  # has no text
            continue
        words = ["--family", problem.structure.family, *draws.flags(given)]
        if isinstance(problem, Sudoku):
            words += ["--box", "x".join(map(str, problem.box))]
        if rng.random() < 0.2:
            words += ["--engine", str(rng.choice(list(ENGINES)))]
        text = problem.format() if isinstance(problem, CNF) else problem.line()
        try:
            result = run("solve", "-", "--json", *words, stdin=f"{text}\n".encode())
            if result.code == 2:
                assert result.complaint
                continue
            found = json.loads(result.out.splitlines()[-1])
            assert isinstance(problem, CNF | Latin | Sudoku)
            solution = found["solution"] if not isinstance(problem, CNF) else None
            fits(problem, given, found["status"], found.get("solutions"), solution)
        except BaseException as error:
            error.add_note(f"dibs solve {' '.join(words)} < {text!r}")
            raise
