"""What a training run is: one TOML file with the tables [model], [data] and [train], each a frozen record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from dibs.bundled import read_toml
from dibs.guide.card import LAYERS, MOST
from dibs.problem import InputError
from dibs.problem.structure import LEVELS, Level
from dibs.problem.text import check_keys

Kind = Literal["relational", "transformer"]
Schedule = Literal["cosine", "trapezoid"]

SOURCES = ("csv", "minimal", "easy", "low", "hard", "doubted", "listed")  # of puzzles, as in [data]


def _key(default: Any, help: str, least: float | None = None, most: float | None = None) -> Any:
    metadata = {"help": help, "least": least, "most": most}
    return field(default_factory=lambda: default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Model:
    kind: Kind = _key("relational", "which denoiser")
    width: int = _key(32, "of the hidden state", 1, MOST)
    rounds: int = _key(16, "relational: how often messages pass", 1, MOST)
    inference_rounds: int = _key(
        0, "relational: rounds of the finished guide, whose weights can go on; 0: as in training", 0, MOST
    )
    settled: float = _key(
        0.0,
        "relational: a finished guide needs no more rounds where log-probabilities change by less; 0: it goes on",
        0,
        1,
    )
    probes: bool = _key(False, "relational, Sudokus: it is asked about what trying each literal leaves open")
    layers: int = _key(3, "transformer: blocks", 1, LAYERS)
    heads: int = _key(12, "transformer: attention heads", 1, LAYERS)
    candidates: bool = _key(False, "transformer: it sees which values of a cell are open; not in the paper")
    relations: bool = _key(False, "transformer: attention has a bias for what two cells share; not in the paper")
    loops: int = _key(1, "transformer: how often the state goes through the blocks; in the paper once", 1, LAYERS)
    dropout: float = _key(0.0, "transformer: share of activations dropped in training", 0, 1)


@dataclass(frozen=True, kw_only=True)
class Data:
    """Puzzles, by source, or formulas. No puzzle has 17 givens: those are the test set."""

    box: tuple[int, int] = _key((3, 3), "rows and columns of a box")
    csv: str = _key("", "a file with the columns quizzes,solutions instead of generated puzzles")
    minimal: int = _key(0, "random minimal puzzles", 0)
    easy: int = _key(0, "random puzzles with `givens` clues", 0)
    givens: tuple[int, int] = _key((24, 35), "least and most clues of the easy ones")
    low: int = _key(0, "minimal 9x9 puzzles with 18 or 19 clues, by local search", 0)
    hard: int = _key(0, "minimal 9x9 puzzles that cost at least 60 nodes with hidden singles, by local search", 0)
    doubted: int = _key(0, "minimal 9x9 puzzles that earlier guides doubted: the first so many of dibs' own list", 0)
    listed: str = _key("", "a file with puzzles of your own, each with one solution")
    formulas: int = _key(0, "satisfiable random 3-SAT formulas at the threshold instead of puzzles", 0)
    variables: tuple[int, int] = _key((5, 60), "least and most variables of a formula, evenly on a log scale")
    solutions: int = _key(12, "solutions of a formula, which targets are drawn from", 1)
    seed: int = _key(1, "of the generators", 0)
    held: float = _key(0.02, "share of each source that is held out for validation", 0, 0.5)


@dataclass(frozen=True, kw_only=True)
class Train:
    steps: int = _key(10_000, "of `updates` each", 1)
    batch: int = _key(64, "states of one update, in each process", 1)
    updates: int = _key(1, "relational: updates of the weights in a step, one after each segment of `rounds`", 1, 1000)
    segments: int = _key(1, "relational: a state stays for 1 to so many segments, fewer if it is solved", 1, 1000)
    lr: float = _key(2e-3, "highest learning rate", 0)
    schedule: Schedule = _key("trapezoid", "trapezoid: constant, then falling over `decay`")
    warmup: int = _key(100, "steps until the highest learning rate", 0)
    decay: float = _key(0.3, "trapezoid: the last share of the steps, in which the rate falls to 0", 0, 1)
    weight_decay: float = _key(1e-4, "of AdamW", 0)
    clip: float = _key(1.0, "largest norm of a gradient", 0)
    start: str = _key("", "begin with the weights of this guide, by name or folder, in place of random ones")
    ema: float = _key(0.999, "decay of the averaged weights, which are the ones that are used, in an update", 0, 1)
    seed: int = _key(0, "of weights, batches and dropout", 0)
    mix: dict[str, float] = _key({}, "share of each source in a batch; by default as many as there are")
    root: float = _key(1 / 3, "relational: share of states at the root", 0, 1)
    deepest: int = _key(7, "relational: the other states have 1 to so many decisions above them", 1)
    levels: dict[str, float] = _key({"naked": 0.6, "hidden": 0.4}, "relational: share of states after each propagation")
    masks: float = _key(0.1, "relational: share of randomly masked solutions", 0, 1)
    diffusion_steps: int = _key(20, "T of the masking schedule", 1)
    teacher: str = _key("", "transformer: learn what this guide says at search states, in place of masked solutions")
    soft: float = _key(0.9, "share of the teacher in the target; the rest is the solution", 0, 1)
    reweight: bool = _key(True, "transformer: weight of a token grows with its loss")
    judged: Level = _key("naked", "level of the states that validation looks at")
    validate: int = _key(500, "steps between two validations", 1)
    checkpoint: int = _key(250, "steps between two checkpoints", 1)
    precision: str = _key("32-true", "as lightning-fabric names it, e.g. 16-mixed")
    accelerator: str = _key("auto", "cpu, cuda or auto")
    devices: int | str = _key(1, "processes or GPUs, or auto")


@dataclass(frozen=True)
class Config:
    name: str
    model: Model
    data: Data
    train: Train

    @classmethod
    def read(cls, source: str | Path) -> Config:
        """From a TOML file, or by the name of one that comes with dibs.

        An unknown key names the nearest valid one, a value out of range its range.
        """
        path, table = read_toml(str(source), "configs", "configuration")
        return cls.of(path.stem, table, str(path))

    @classmethod
    def of(cls, name: str, table: dict[str, Any], file: str) -> Config:
        """From nested tables, as in TOML or in a checkpoint."""
        check_keys(table, {"model", "data", "train"}, file, "")
        parts: list[Any] = []
        for key, kind in (("model", Model), ("data", Data), ("train", Train)):
            part = table.get(key, {})
            if not isinstance(part, dict):
                raise InputError(f"[{key}] is not a table", file=file)
            check_keys(part, {f.name for f in fields(kind)}, file, f"[{key}] ")
            parts.append(kind(**{k: _checked(kind, k, v, f"[{key}] ", file) for k, v in part.items()}))
        if parts[0].kind != "relational" and max(parts[2].segments, parts[2].updates) > 1:
            key = "segments" if parts[2].segments > 1 else "updates"
            raise InputError(
                f"[train] {key} = {getattr(parts[2], key)}: a {parts[0].kind} has no hidden state to carry", file
            )
        _check_teacher(parts[0], parts[2], file)
        if parts[2].segments > parts[2].updates:
            raise InputError(
                f"[train] segments = {parts[2].segments}: a step has {parts[2].updates} updates, one for each segment",
                file,
            )
        return cls(name, *parts)

    def tables(self) -> dict[str, Any]:
        """The nested tables that `of` takes."""
        return {"model": asdict(self.model), "data": asdict(self.data), "train": asdict(self.train)}


def _check_teacher(model: Model, train: Train, file: str) -> None:
    """Masked solutions have no candidates: what sees them learns from a teacher."""
    if train.teacher and model.kind != "transformer":
        raise InputError(f"[train] teacher = {train.teacher!r}: only a transformer has one", file)
    if model.candidates and not train.teacher:
        raise InputError("[model] candidates = true: such a transformer needs a [train] teacher", file)


def _checked(kind: Any, key: str, value: Any, where: str, file: str) -> Any:
    """`value` in the type of the field's default, or an InputError that says what is wanted."""
    found = next(f for f in fields(kind) if f.name == key)
    default, least, most = getattr(kind(), key), found.metadata["least"], found.metadata["most"]
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple) or len(value) != 2 or not all(type(v) is int and v > 0 for v in value):
            raise InputError(f"{where}{key} = {value!r}: two whole numbers above 0, e.g. {list(default)}", file=file)
        return tuple(value)
    if key == "devices":
        if value != "auto" and (type(value) is not int or value < 1):
            raise InputError(f'{where}{key} = {value!r}: a whole number, 1 or more, or "auto"', file=file)
        return value
    if isinstance(default, float) and type(value) is int:
        value = float(value)
    if type(value) is not type(default):
        raise InputError(f"{where}{key} = {value!r}: expected a value like {default!r}", file=file)
    if isinstance(default, dict):
        known = LEVELS if key == "levels" else SOURCES
        check_keys(value, known, file, f"{where}{key}: ")
        good = all(isinstance(v, int | float) and v >= 0 for v in value.values())
        if not good or ((value or key == "levels") and not sum(value.values())):
            raise InputError(f"{where}{key} = {value!r}: shares, 0 or more, not all of them 0", file=file)
    choices = {"kind": get_args(Kind), "schedule": get_args(Schedule), "judged": LEVELS}.get(key)
    if choices and value not in choices:
        raise InputError(f"{where}{key} = {value!r}: choose one of {', '.join(choices)}", file=file)
    if least is not None and not (least <= value and (most is None or value <= most)):
        raise InputError(f"{where}{key} = {value!r}: {least} " + (f"to {most}" if most else "or more"), file=file)
    return value
