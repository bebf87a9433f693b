"""Training: it learns, it can be interrupted, and nothing is lost."""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dibs.model import puzzles as source
from dibs.model.checkpoint import Checkpoint
from dibs.model.config import Config
from dibs.model.export import load_module
from dibs.model.puzzles import Puzzles, fingerprint, load
from dibs.model.states import collect, eliminated
from dibs.model.train import Progress, _rate, train
from dibs.model.validation import Validation
from dibs.problem import InputError
from dibs.problem.shape import shape
from interrupts import Trials, log, puzzles, trials

FOUR = shape(4, (2, 2))


def _config(model: dict[str, Any], **train: Any) -> Config:
    data = {"box": [2, 2], "minimal": 3000, "held": 0.1}
    plan = {
        "batch": 32,
        "levels": {"eliminate": 1},
        "judged": "eliminate",
        "validate": 10**9,
        "checkpoint": 10**9,
        "warmup": 20,
        "lr": 5e-3,
    }
    return Config.of("test", {"model": model, "data": data, "train": plan | train}, "test")


TINY = {"kind": "relational", "width": 16, "rounds": 6}
SMALL = {"kind": "transformer", "width": 24, "layers": 1, "heads": 2, "dropout": 0.2}


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """The tensors are tiny: on a busy machine threads would wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Puzzles]:
    """4x4 puzzles without repetition, so that the held-out ones are unseen."""
    found = load(_config(TINY).data, tmp_path_factory.mktemp("data"), lambda *_: None)["minimal"]
    _, first = np.unique(found.puzzles, axis=0, return_index=True)
    first.sort()
    held = len(first) // 5
    return {"minimal": Puzzles(found.puzzles[first], found.solutions[first], held)}


class _Losses:
    """A report that keeps what it hears; it interrupts after step `stop`, as Ctrl-C would."""

    def __init__(self, stop: int = 0) -> None:
        self.stop = stop
        self.all: list[Progress] = []

    def __call__(self, now: Progress) -> None:
        self.all.append(now)
        if now.step == self.stop:
            raise KeyboardInterrupt


def test_a_tiny_guide_learns_4x4_from_nothing(four: dict[str, Puzzles], tmp_path: Path) -> None:
    heard = _Losses()
    train(_config(TINY, steps=400, ema=0.98), four, tmp_path, heard)
    figures = heard.all[-1].figures
    assert figures["p_s"] >= 0.97, figures
    assert (tmp_path / "guide" / "card.json").exists()


def test_with_shuffled_labels_there_is_nothing_to_learn(four: dict[str, Puzzles], tmp_path: Path) -> None:
    found = four["minimal"]
    rng = np.random.default_rng(0)
    # The digits of each solution are renamed at random: the puzzle says nothing about them any more.
    names = np.argsort(rng.random((len(found.solutions), 5))[:, 1:], axis=1).astype(np.uint8) + 1
    shuffled = np.take_along_axis(names, found.solutions.astype(np.int64) - 1, axis=1)
    heard = _Losses()
    plan = _config(TINY, steps=200, root=1.0, masks=0.0)
    train(plan, {"minimal": replace(found, solutions=shuffled, held=0)}, tmp_path, heard)
    cells = eliminated(FOUR, found.puzzles).reshape(-1, 16, 4)
    right = np.take_along_axis(cells, shuffled[:, :, None].astype(np.int64) - 1, axis=2)[:, :, 0]
    chance = float(np.log(cells.sum(axis=2)[right]).mean())
    last = np.mean([now.loss for now in heard.all[-20:]])
    assert last > 0.95 * chance


@pytest.mark.parametrize(
    ("model", "segments"), [(TINY, 1), (TINY, 3), (SMALL, 1)], ids=["relational", "segments", "transformer"]
)
def test_an_interrupted_run_ends_as_an_undisturbed_one(
    model: dict[str, Any], segments: int, four: dict[str, Puzzles], tmp_path: Path
) -> None:
    plan = _config(model, steps=40, checkpoint=12, segments=segments, updates=segments)
    train(plan, four, tmp_path / "whole", _Losses())
    with pytest.raises(KeyboardInterrupt):
        train(plan, four, tmp_path / "cut", _Losses(stop=19))
    assert Checkpoint.read(tmp_path / "cut" / "checkpoint.pt").step == 19
    train(plan, four, tmp_path / "cut", _Losses(), resume=True)
    _same(tmp_path / "whole", tmp_path / "cut")


def test_signals_at_any_moment_change_nothing(tmp_path: Path) -> None:
    """`make bench-interrupts` does 500 of them."""
    found = trials(25, 1, puzzles(tmp_path / "data"), tmp_path, lambda _: None)
    assert found == Trials(interrupts=25, equal=25, runs=found.runs)  # some runs may have ended before their signal


def test_a_step_has_so_many_updates(four: dict[str, Puzzles], tmp_path: Path) -> None:
    """The optimiser has counted them."""
    train(_config(TINY, steps=5, updates=4, segments=3), four, tmp_path, _Losses())
    optimiser = Checkpoint.read(tmp_path / "checkpoint.pt").optimiser
    assert {int(part["step"]) for part in optimiser["state"].values()} == {20}


def test_compiled_or_not_it_learns_the_same(
    four: dict[str, Puzzles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _config(TINY, steps=4, updates=3, segments=3)
    train(plan, four, tmp_path / "compiled", _Losses())
    monkeypatch.setattr("dibs.model.train._compiles", lambda *_: False)
    train(plan, four, tmp_path / "torch", _Losses())
    one, other = (Checkpoint.read(tmp_path / name / "checkpoint.pt").weights for name in ("compiled", "torch"))
    for name, value in one.items():
        np.testing.assert_allclose(value, other[name], rtol=0, atol=1e-3, err_msg=name)


def test_segments_need_updates() -> None:
    with pytest.raises(InputError, match=r"\[train\] segments = 3: a step has 2 updates, one for each segment"):
        _config(TINY, segments=3, updates=2)


def test_a_transformer_has_no_segments() -> None:
    with pytest.raises(InputError, match=r"\[train\] segments = 2: a transformer has no hidden state to carry"):
        _config(SMALL, segments=2)


def test_a_validation_that_was_interrupted_is_made_up(
    four: dict[str, Puzzles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _config(TINY, steps=12, validate=4, checkpoint=12)
    train(plan, four, tmp_path / "whole", _Losses())

    def interrupted(*_: Any) -> dict[str, float]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Validation, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(plan, four, tmp_path / "cut", _Losses())
    assert Checkpoint.read(tmp_path / "cut" / "checkpoint.pt").step == 4
    heard = _Losses()
    train(plan, four, tmp_path / "cut", heard, resume=True)
    assert [now.step for now in heard.all if now.figures] == [4, 8, 12]
    assert log(tmp_path / "cut") == log(tmp_path / "whole")
    _same(tmp_path / "whole", tmp_path / "cut")


def test_the_learning_rate_rises_stays_and_falls() -> None:
    steps, warmup = 100, 10

    def rates(**how: Any) -> list[float]:
        t = _config(TINY, steps=steps, warmup=warmup, lr=2.0, **how).train
        return [_rate(t, step) for step in range(steps)]

    trapezoid = rates(schedule="trapezoid", decay=0.4)
    assert trapezoid[:10] == pytest.approx([0.2 * (step + 1) for step in range(10)])
    assert trapezoid[10:60] == [2.0] * 50
    assert trapezoid[60:] == pytest.approx([2.0 * (100 - step) / 40 for step in range(60, 100)])
    cosine = rates(schedule="cosine")
    assert cosine[:10] == pytest.approx([0.1 * (s + 1) * (1 + math.cos(math.pi * s / 100)) for s in range(10)])
    assert cosine[50] == pytest.approx(1.0)
    assert cosine[99] == pytest.approx(1 + math.cos(0.99 * math.pi))
    assert rates(schedule="trapezoid", decay=0)[10:] == [2.0] * 90


def test_a_step_is_made_with_its_rate(four: dict[str, Puzzles], tmp_path: Path) -> None:
    plan = _config(TINY, steps=8, warmup=3, validate=1)
    train(plan, four, tmp_path, _Losses())
    assert [float(row["lr"]) for row in log(tmp_path)] == pytest.approx([_rate(plan.train, s) for s in range(8)], 1e-5)
    optimiser = Checkpoint.read(tmp_path / "checkpoint.pt").optimiser
    assert optimiser["param_groups"][0]["lr"] == _rate(plan.train, 7)


def test_a_killed_run_goes_on_from_its_last_checkpoint(
    four: dict[str, Puzzles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _config(TINY, steps=40, checkpoint=12)
    train(plan, four, tmp_path / "whole", _Losses())

    def killed(now: Progress) -> None:
        if now.step == 20:
            raise SystemExit  # nothing is written, as with kill -9

    with pytest.raises(SystemExit):
        train(plan, four, tmp_path / "cut", killed)
    assert Checkpoint.read(tmp_path / "cut" / "checkpoint.pt").step == 12
    train(plan, four, tmp_path / "cut", _Losses(), resume=True)
    _same(tmp_path / "whole", tmp_path / "cut")


def _same(one: Path, other: Path) -> None:
    a, b = Checkpoint.read(one / "checkpoint.pt"), Checkpoint.read(other / "checkpoint.pt")
    assert a.step == b.step
    assert a.data == b.data
    for mine, its in ((a.weights, b.weights), (a.average, b.average)):
        assert mine.keys() == its.keys()
        assert all(torch.equal(mine[name], its[name]) for name in mine)
    assert str(a.optimiser) == str(b.optimiser)
    mine, its = (load_module(folder / "guide").state_dict() for folder in (one, other))
    assert mine.keys() == its.keys()
    assert all(torch.equal(mine[name], its[name]) for name in mine)


def test_a_full_disk_keeps_the_previous_checkpoint(
    four: dict[str, Puzzles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _config(TINY, steps=12, checkpoint=4)
    write = torch.save
    calls = []

    def full(*args: Any, **kwargs: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*args, **kwargs)

    monkeypatch.setattr(torch, "save", full)
    heard = _Losses()
    train(plan, four, tmp_path, heard)
    notes = [now.note for now in heard.all if now.note]
    assert len(notes) == 1
    assert "step 8" in notes[0]
    assert "No space left" in notes[0]
    assert "\n" not in notes[0]
    assert Checkpoint.read(tmp_path / "checkpoint.pt").step == 12
    assert not list(tmp_path.glob("*.part*"))


def test_a_checkpoint_of_another_run_is_refused(four: dict[str, Puzzles], tmp_path: Path) -> None:
    train(_config(TINY, steps=2), four, tmp_path, _Losses())
    other = {"minimal": replace(four["minimal"], puzzles=four["minimal"].puzzles[::-1].copy())}
    with pytest.raises(InputError, match="other puzzles"):
        train(_config(TINY, steps=4), other, tmp_path, _Losses(), resume=True)
    with pytest.raises(InputError, match=r"another \[model\]"):
        train(_config(TINY | {"width": 8}, steps=4), four, tmp_path, _Losses(), resume=True)
    whole = (tmp_path / "checkpoint.pt").read_bytes()
    (tmp_path / "checkpoint.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="not a whole checkpoint"):
        train(_config(TINY, steps=4), four, tmp_path, _Losses(), resume=True)
    (tmp_path / "checkpoint.pt").unlink()
    with pytest.raises(InputError, match="no checkpoint"):
        train(_config(TINY, steps=4), four, tmp_path, _Losses(), resume=True)


def test_the_log_goes_on_where_it_was(four: dict[str, Puzzles], tmp_path: Path) -> None:
    plan = _config(TINY, steps=12, validate=2, checkpoint=4)
    with pytest.raises(KeyboardInterrupt):
        train(plan, four, tmp_path, _Losses(stop=7))
    train(plan, four, tmp_path, _Losses(), resume=True)
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["step", "2", "4", "6", "8", "10", "12"]
    assert {"loss", "p_s", "root", "surest", "lr"} <= set(lines[0].split(","))
    assert list((tmp_path / "tensorboard").iterdir())


def test_17_clue_puzzles_are_kept_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test_puzzle = np.zeros((1, 81), np.uint8)
    test_puzzle[0, :17] = 1
    monkeypatch.setattr(source, "make", lambda *_: test_puzzle)
    with pytest.raises(InputError, match="testing only"):
        load(Config.of("x", {"data": {"minimal": 1}}, "x").data, tmp_path, lambda *_: None)


def test_data_is_made_once_and_by_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Config.of("x", {"data": {"box": [2, 2], "easy": 50, "givens": [6, 9]}}, "x").data
    monkeypatch.setattr(source, "PIECE", source.PIECE | {"easy": 20})
    monkeypatch.setattr(source, "cores", lambda: 1)
    first = load(data, tmp_path / "a", lambda *_: None)
    again = load(data, tmp_path / "b", lambda *_: None)
    assert fingerprint(first) == fingerprint(again)
    assert fingerprint(load(replace(data, seed=2), tmp_path / "a", lambda *_: None)) != fingerprint(first)
    monkeypatch.setattr(source, "make", lambda *_: pytest.fail("made again"))
    assert fingerprint(load(data, tmp_path / "a", lambda *_: None)) == fingerprint(first)
    solved = first["easy"].solutions
    assert (np.sort(solved.reshape(-1, 4, 4), axis=2) == np.arange(1, 5)).all()


def test_validation_knows_right_from_wrong(four: dict[str, Puzzles]) -> None:
    class Knows:
        of = FOUR

        def __init__(self, sign: float) -> None:
            self.sign = sign

        def log_probabilities(self, _module: Any, open_: Any, true: Any) -> Any:
            at = np.flatnonzero((states.open == open_[:1]).all(axis=1))[0]
            wanted = self.sign * states.truth[at : at + len(open_)]
            return np.where(open_, wanted, -np.inf).astype(np.float32)

    held = four["minimal"]
    count = min(held.held, 100)
    states = collect(FOUR, held.puzzles[:count], held.solutions[:count], "eliminate")
    module = torch.nn.Identity()
    right = Validation(Knows(1.0), four, "eliminate")(module)
    wrong = Validation(Knows(-1.0), four, "eliminate")(module)
    assert set(right.values()) == {1.0}
    assert {value for name, value in wrong.items() if name != "alone"} == {0.0}  # singles alone solve some puzzles


def test_the_papers_recipe_runs_in_two_processes(four: dict[str, Puzzles], tmp_path: Path) -> None:
    paper = Config.read(Path(__file__).parents[2] / "configs" / "transformer-paper.toml")
    tables = paper.tables()
    tables["data"] |= {"box": [2, 2]}
    tables["train"] |= {"steps": 3, "batch": 8, "devices": 2, "accelerator": "cpu", "precision": "bf16-mixed"}
    plan = Config.of("paper", tables, "test")
    train(plan, {"easy": replace(four["minimal"], held=0)}, tmp_path, _nothing)
    state = Checkpoint.read(tmp_path / "checkpoint.pt")
    assert state.step == 3
    assert all(torch.isfinite(value).all() for value in state.weights.values())


def _nothing(now: Progress) -> None:
    """A report that other processes can be given."""


def test_a_log_goes_on_without_rows_of_the_future(tmp_path: Path) -> None:
    """A run may be killed after rows were written that its last checkpoint does not know."""
    from dibs.model.log import Log

    first = Log(tmp_path, 0)
    for step in (1, 2, 3):
        first.write(step, loss=float(step))
    first.close()
    again = Log(tmp_path, 2)
    assert again.has(2)
    assert not again.has(3)
    again.write(3, loss=30.0)
    again.close()
    assert (tmp_path / "log.csv").read_text().splitlines() == ["step,loss", "1,1", "2,2", "3,30"]
