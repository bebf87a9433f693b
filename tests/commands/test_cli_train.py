"""`dibs train`: from a configuration to a guide, and what is refused."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from shell import Run, runner, start

CONFIG = """
[model]
kind = "relational"
width = 8
rounds = 2

[data]
box = [2, 2]
minimal = 200

[train]
steps = 6
batch = 8
levels = { eliminate = 1 }
judged = "eliminate"
validate = 3
checkpoint = 3
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("dibs.model.puzzles.PIECE", {"minimal": 100})
    # Tests run in the main thread of a process that has its own idea of SIGTERM.
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    path = tmp_path / "mine.toml"
    path.write_text(CONFIG)
    return path


def test_a_guide_from_nothing(run: Run, config: Path, tmp_path: Path) -> None:
    words = ["--output", tmp_path / "run", "--data", tmp_path / "data"]
    result = run("train", config, *words)
    assert (result.code, result.err) == (0, "")
    first, second, last = result.out.splitlines()
    assert first.startswith("step       3  loss ")
    assert second.startswith("step       6  loss ")
    assert all(name in second for name in ("p_s", "surest", "root", "arity_2"))
    assert last == f"the guide is in {tmp_path / 'run' / 'guide'}"
    solved = run("solve", "1...............", "--guide", tmp_path / "run" / "guide", "--trigger", "always", "--json")
    assert (solved.code, solved.err) == (0, "")
    again = run("train", config, *words)
    assert (
        again.complaint
        == f"dibs: {tmp_path / 'run'} holds a run already: go on with --resume, or take another --output"
    )
    longer = run("train", config, *words, "--resume", "--set", "train.steps=9")
    assert longer.out.splitlines()[0].startswith("step       9")


def test_two_runs_do_not_share_a_folder(run: Run, config: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    folder = tmp_path / "run"
    folder.mkdir()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another run is at work" in run("train", config, "--output", folder).complaint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[train]\nstep = 3", "[train] unknown key 'step'; did you mean 'steps'?"),
        ("[trian]\nsteps = 3", "unknown key 'trian'; did you mean 'train'?"),
        ("[train]\nsteps = 0", "[train] steps = 0: 1 or more"),
        ("[train]\nsteps = 'many'", "[train] steps = 'many': expected a value like 10000"),
        ("[train]\nroot = 2", "[train] root = 2.0: 0 to 1"),
        ("[train]\nschedule = 'linear'", "[train] schedule = 'linear': choose one of cosine, trapezoid"),
        ("[train]\nmix = {hard = -1}", "[train] mix = {'hard': -1}: shares, 0 or more, not all of them 0"),
        ("[train]\nlevels = {strong = 1}", "[train] levels: unknown key 'strong'; did you mean "),
        ("[train]\ndevices = 0", '[train] devices = 0: a whole number, 1 or more, or "auto"'),
        ("[data]\nbox = 3", "[data] box = 3: two whole numbers above 0, e.g. [3, 3]"),
        ("[model]\nkind = 'rational'", "[model] kind = 'rational': choose one of relational, transformer"),
        ("model = 3", "[model] is not a table"),
        ("steps = ", "is not TOML: "),
    ],
)
def test_bad_configurations(run: Run, config: Path, text: str, says: str) -> None:
    config.write_text(text)
    assert run("train", config).complaint.startswith(f"{config}: {says}")


def test_bad_words(run: Run, config: Path, tmp_path: Path) -> None:
    assert "no such configuration" in run("train", tmp_path / "none.toml").complaint
    assert run("train", config, "--set", "steps=3").complaint == "dibs: --set steps=3: expected e.g. train.steps=1000"
    assert run("train", config, "--set", "train.stepps=3").complaint.startswith("--set: [train] unknown key 'stepps'")
    assert "no puzzles" in run("train", config, "--set", "data.minimal=0", "--output", tmp_path / "r").complaint
    mixed = run("train", config, "--set", "train.mix={hard=1}", "--output", tmp_path / "r", "--data", tmp_path / "d")
    assert mixed.complaint == "[train] mix has hard, but [data] does not"
    assert run("train", config, "--threads", "0").complaint == "dibs: threads = 0: it must be a whole number, 1 or more"
    assert (
        "no checkpoint to resume from"
        in run("train", config, "--resume", "--output", tmp_path / "r", "--data", tmp_path / "d").complaint
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_and_resumed(config: Path, tmp_path: Path, how: signal.Signals, run: Run) -> None:
    words = ["--output", tmp_path / "run", "--data", tmp_path / "data", "--set", "train.validate=1"]
    process = start("train", config, *words, "--set", "train.steps=1000000")
    assert process.stdout
    for _ in range(3):
        assert process.stdout.readline().startswith(b"step ")
    process.send_signal(how)
    _, says = process.communicate(timeout=300)
    assert process.returncode == 130
    command = " ".join(["dibs train", *map(str, [config, *words]), "--set train.steps=1000000 --resume"])
    assert says.decode() == f"interrupted; go on with: {command}\n"
    from dibs.model.checkpoint import Checkpoint

    step = Checkpoint.read(tmp_path / "run" / "checkpoint.pt").step
    assert step >= 3
    resumed = run("train", config, *words, "--resume", "--set", f"train.steps={step + 1}")
    *made_up, last, _ = resumed.out.splitlines()  # a validation that the signal cut off comes first
    assert last.startswith(f"step {step + 1:>7,}  loss ")
    assert [line[:12] for line in made_up] in ([], [f"step {step:>7,}"])


def test_instances_to_a_verdict(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of formulas; the last lines say whether to use the guide and where it is."""
    from dibs.generate import sat

    monkeypatch.setattr("signal.signal", lambda *_: None)  # the tests have a handler of their own
    for seed, formula in enumerate(sat(12, variables=12, satisfiable=True, seed=1)):
        (tmp_path / f"{seed}.cnf").write_text(formula.format())
    out = tmp_path / "out"
    told = run("train", str(tmp_path), "--minutes", "0.02", "--out", str(out), "--instances", "12", "--steps", "7")
    assert told.code == 0, told.err
    assert "step 7 of 7 " in told.out
    assert "12 instances, 2 of them for the verdict only" in told.out
    assert "se this guide" in told.out
    assert f"the guide is in {out / 'guide'}" in told.out
    for more, why in ((["--set", "train.steps=3"], "--set is for a configuration"), ([], "holds a run already")):
        again = run("train", str(tmp_path), "--minutes", "0.02", "--out", str(out), "--instances", "12", *more)
        assert again.code == 2
        assert why in again.err


def test_what_is_for_instances_is_refused_with_a_configuration(run: Run, config: Path) -> None:
    told = run("train", str(config), "--minutes", "3")
    assert told.code == 2
    assert "--minutes is for instances" in told.err


def test_the_command_that_goes_on_is_whole(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its seed or number of instances it would be a run on other ones, without its minutes a longer one."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dibs.training.run.train", interrupted)
    out = tmp_path / "out"
    said = ["--minutes", "0.5", "--instances", "40", "--steps", "9", "--seed", "3000000", "--network", "mine:Net"]
    result = run("train", tmp_path, *said, "--out", out)
    command = f"dibs train {tmp_path} {' '.join(said)} --out {out} --resume"
    assert (result.code, result.err) == (130, f"interrupted; go on with: {command}\n")
