"""`dibs train`: a guide from nothing."""

from __future__ import annotations

import signal
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from cyclopts import Parameter

from dibs.commands.terminal import Meter, Terminal
from dibs.errors import Refused, refusing
from dibs.problem import InputError

if TYPE_CHECKING:
    from dibs.model.config import Config
    from dibs.model.tasks import Sources
    from dibs.model.train import Progress
    from dibs.training.record import Report


def train(
    source: Annotated[
        str,
        Parameter(help="instances (a folder, a file, module:function), or a configuration (a TOML file or its name)"),
    ],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=("--output", "--out"), help="folder of the run; default: runs/ and a name")
    ] = None,
    resume: Annotated[bool, Parameter(help="go on with the run in that folder")] = False,
    minutes: Annotated[float | None, Parameter(help="instances: time for all of it; default: 20")] = None,
    instances: Annotated[int | None, Parameter(help="instances: how many; default: by time")] = None,
    steps: Annotated[int | None, Parameter(help="instances: steps of training; default: by time")] = None,
    seed: Annotated[int | None, Parameter(help="instances: of everything that is drawn; default: 0")] = None,
    segments: Annotated[
        int | None,
        Parameter(help="instances: above 1, the guide may think for so many times 12 rounds; see docs/OWN_GUIDES.md"),
    ] = None,
    start: Annotated[str | None, Parameter(help="instances: a guide whose weights are the beginning")] = None,
    network: Annotated[
        str | None, Parameter(help="instances: module:Class of your own in place of ours; see docs/OWN_GUIDES.md")
    ] = None,
    data: Annotated[Path | None, Parameter(help="configuration: where puzzles are kept; default: runs/data")] = None,
    threads: Annotated[int, Parameter(help="threads of one process")] = 1,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", help="configuration: table.key=value over its own")] = (),
) -> int:
    """Train a guide for a family of problems, and write it to OUTPUT/guide.

    From instances: a folder or file of .cnf, .knf, .opb, problem .json,
    Sudokus or squares, or a function from a seed to a model. They are
    solved, a network learns from their solutions, and the guide is judged
    on a part that it has not seen, beside dibs without it and every engine
    that is installed. The last line says whether to use it; OUTPUT has
    verdict.json and report.html.

    From a configuration: puzzles are generated first (by seed, on all cores) and kept for the next
    run; none of them has 17 givens. Each validation is a line: how often the
    right value comes first (p_s) at the MRV cell of states on the way to the
    solution, at the root, by depth and by arity, and at the surest open cell.
    OUTPUT has log.csv, TensorBoard events and checkpoint.pt, from which
    --resume goes on after Ctrl-C or a crash as if nothing had happened.

    For example:
      dibs train my-instances/ --minutes 20 --out my-guide
      dibs train mymodule:family --minutes 20 --out my-guide
      dibs solve tomorrow.json --guide my-guide
      dibs train configs/relational-9x9.toml
      dibs train configs/relational-9x9.toml --resume
      dibs train configs/relational-9x9.toml --set train.steps=2000 --output runs/try
      dibs solve puzzles.txt --guide runs/relational-9x9/guide
    """
    with Terminal(lambda _: Meter("loading torch")):
        try:
            import torch
            from lightning_fabric import Fabric  # noqa: F401
        except ImportError as error:
            raise Refused(f"dibs: training needs {error.name}: pip install 'dibs[train]'") from None
        from dibs.model.config import Config
        from dibs.model.train import train as run

    if threads < 1:
        raise Refused(f"dibs: threads = {threads}: it must be a whole number, 1 or more")
    torch.set_num_threads(threads)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what ends jobs on a cluster; as Ctrl-C
    given: dict[str, Any] = {"minutes": minutes, "instances": instances, "steps": steps, "seed": seed}
    given |= {"segments": segments, "start": start, "network": network}
    said = {name: one for name, one in given.items() if one is not None}  # of a run on instances
    if _are_instances(source):
        if data is not None or set_:
            raise Refused(f"dibs: {'--data' if data else '--set'} is for a configuration, and {source} is none")
        return _from_instances(source, output, resume, said)
    plan = _overridden(Config.read(source), set_)
    if said:
        raise Refused(f"dibs: --{next(iter(said))} is for instances; a configuration says it itself: see --set")
    folder = output or Path("runs") / plan.name
    if (folder / "checkpoint.pt").exists() and not resume:
        raise Refused(f"dibs: {folder} holds a run already: go on with --resume, or take another --output")
    folder.mkdir(parents=True, exist_ok=True)
    same = (f" --data {data}" if data else "") + "".join(f" --set {one}" for one in set_)
    data = data or Path("runs/data")
    with _alone(folder), _Screen() as screen:
        if plan.train.devices != 1:  # other processes cannot share this terminal
            run(plan, _made(plan, data, screen), folder, _line, resume)
            return 0
        sources = _made(plan, data, screen)
        try:
            run(plan, sources, folder, screen.step, resume)
        except KeyboardInterrupt:
            screen.terminal.close()
            again = " --resume" if (folder / "checkpoint.pt").exists() else ""
            screen.terminal.say(f"interrupted; go on with: dibs train {source} --output {folder}{same}{again}")
            raise
    print(f"the guide is in {folder / 'guide'}")
    return 0


def _are_instances(source: str) -> bool:
    path = Path(source)
    if not path.exists() and ("/" in source or "\\" in source) and path.suffix != ".toml":
        return True  # `collect` says that it is not there
    return path.is_dir() or (path.exists() and path.suffix != ".toml") or (":" in source and not path.exists())


def _from_instances(source: str, output: Path | None, resume: bool, said: dict[str, Any]) -> int:
    """`said`: what was said of the run, as `dibs.train` takes it."""
    from rich.console import Console

    from dibs.report import tabular
    from dibs.training.page import table
    from dibs.training.run import train as run

    folder = output or Path("runs") / (Path(source.replace(":", ".")).stem or "own")
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder), _Phases() as screen:
        try:
            with refusing():
                found = run(source, out=folder, resume=resume, report=screen.show, **said)
        except KeyboardInterrupt:
            screen.terminal.close()
            same = "".join(f" --{name} {value}" for name, value in said.items())
            screen.terminal.say(f"interrupted; go on with: dibs train {source}{same} --out {folder} --resume")
            raise
    console = Console()
    console.print(tabular.terminal(table(found.verdict), console.width))
    print(found.verdict)
    print(f"the guide is in {found.folder}, the report in {folder / 'report.html'}")
    return 0


class _ProgressLines:
    """Lines on standard output, and below them how far it is."""

    def __init__(self) -> None:
        self.terminal = Terminal(self.meter)

    def __enter__(self) -> Self:
        self.terminal.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.close()

    def meter(self, seconds: float) -> Meter | None:
        raise NotImplementedError


class _Phases(_ProgressLines):
    """Of a run on instances."""

    def __init__(self) -> None:
        self.now: Report | None = None
        super().__init__()

    def show(self, now: Report) -> None:
        self.now = now
        if now.line:
            self.terminal.rows(now.line + "\n")

    def meter(self, seconds: float) -> Meter | None:
        return Meter(self.now.phase, self.now.share) if self.now else Meter("reading instances")


def _made(plan: Config, cache: Path, screen: _Screen) -> Sources:
    from dibs.model import many_solutions, puzzles

    try:
        if plan.data.formulas:
            return many_solutions.load(plan.data, screen.making)
        return puzzles.load(plan.data, cache, screen.making)
    except InputError:
        raise
    except ValueError as error:  # a generator cannot do what [data] asks for
        raise Refused(f"dibs: [data] {error}") from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two runs in one folder would overwrite each other's checkpoints."""
    with (folder / "lock").open("w") as lock:
        try:
            import fcntl
        except ImportError:  # no such locks on this system
            yield
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"dibs: another run is at work in {folder}: take another --output") from None
        yield


class _Screen(_ProgressLines):
    """Of a run that a configuration says: puzzles that are made, then validations."""

    def __init__(self) -> None:
        self.making_: tuple[str, int, int] | None = None
        self.now: Progress | None = None
        super().__init__()

    def making(self, source: str, made: int, wanted: int) -> None:
        self.making_ = source, made, wanted

    def step(self, now: Progress) -> None:
        self.now = now
        if now.note:
            self.terminal.say(now.note)
        if now.figures:
            self.terminal.rows(_row(now))

    def meter(self, seconds: float) -> Meter | None:
        if self.now:
            left = round(self.now.left)
            text = f"step {self.now.step:,} of {self.now.steps:,}, loss {self.now.loss:.4f}, {self.now.rate:.1f}/s"
            clock = f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left"
            return Meter(f"{text}, {clock}", self.now.step / self.now.steps)
        if self.making_ and seconds > 2:
            source, made, wanted = self.making_
            return Meter(f"making data: {source}, {made:,} of {wanted:,}", made / wanted)
        return None


def _row(now: Progress) -> str:
    figures = "  ".join(f"{name} {value:.4f}" for name, value in now.figures.items())
    return f"step {now.step:>7,}  loss {now.loss:.4f}  {figures}\n"


def _line(now: Progress) -> None:
    """The report of a run with several processes."""
    if now.note or now.figures:
        print(now.note or _row(now), end="" if now.figures else "\n", flush=True)


def _overridden(plan: Config, changes: tuple[str, ...]) -> Config:
    """`table.key=value`, the value as in TOML; a bare word is a string."""
    tables = plan.tables()
    for change in changes:
        key, sign, text = change.partition("=")
        table, dot, name = key.partition(".")
        if not sign or not dot or table not in tables:
            raise Refused(f"dibs: --set {change}: expected e.g. train.steps=1000")
        try:
            value: Any = tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError:
            value = text
        tables[table][name] = value
    return type(plan).of(plan.name, tables, "--set")
