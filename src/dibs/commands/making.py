"""From a generator of instances to an output: progress, Ctrl-C, and what went wrong, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import Annotated, TypeVar

from cyclopts import Parameter

from dibs.commands.interrupt import Interrupt
from dibs.commands.output import FileOutput, FolderOutput, Output, writing
from dibs.commands.terminal import Meter, Terminal, pace
from dibs.errors import Refused, refusing
from dibs.problem import Instance, Latin
from dibs.search.tree import kernel_ready

READ_AHEAD = 64
PATIENCE = 0.1  # seconds between two looks at Ctrl-C

Count = Annotated[int, Parameter(help="how many")]
Seed = Annotated[int, Parameter(help="the same seed, the same instances")]
Maker = Callable[[], Iterable[Instance]]
Made = TypeVar("Made")


class Examined:
    """How far a local search is; the generator calls it."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, count: int) -> None:
        self.count = count


def lines(make: Maker, count: int, named: str, path: Path | None, examined: Examined | None = None) -> int:
    """Grids: a comment, then one on each line, or as blocks where a line would be too long to read."""

    def text(number: int, grid: Instance) -> str:
        wide = isinstance(grid, Latin) and grid.size > Latin.lettered
        head = "" if number else f"# {named}\n"
        return f"{head}{grid.format()}\n\n" if wide else f"{head}{grid.line()}\n"

    def target(terminal: Terminal) -> Output:
        return FileOutput(terminal, path) if path else Output(terminal)

    return write(make, count, target, text, examined)


def numbered(named: str) -> Callable[[int, Instance], str]:
    """Formulas: a comment with the command and the number of each, then the formula."""
    return lambda number, formula: f"c {named}; number {number + 1}\n{formula.format()}"


def files(count: int, output: Path | None, stem: str, suffix: str, what: str) -> Callable[[Terminal], Output]:
    """Standard output or a file for one instance, a folder for more."""
    if count > 1 and output is None:
        raise Refused(f"dibs: {count} {what} need a folder: give --output DIR")

    def target(terminal: Terminal) -> Output:
        if output is None:
            return Output(terminal)
        return FileOutput(terminal, output) if count == 1 else FolderOutput(terminal, output, stem, suffix)

    return target


def write(
    make: Maker,
    count: int,
    target: Callable[[Terminal], Output],
    text: Callable[[int, Instance], str],
    examined: Examined | None = None,
) -> int:
    """Make `count` instances and write `text(number from 0, instance)` of each to `target`."""
    if count < 1:
        raise Refused(f"dibs: count = {count}: it must be a whole number, 1 or more")
    output: Output | None = None

    def meter(seconds: float) -> Meter | None:
        done = output.done if output else 0
        if examined and examined.count:
            return (
                Meter(f"{examined.count:,} looked at, {done:,} of {count:,} found", done / count)
                if seconds > 2
                else None
            )
        if not done:
            first = "making the first" if kernel_ready() else "compiling (once; later starts use the cache)"
            return Meter(first) if seconds > 1 else None
        return pace(done, f"of {count:,} made", seconds, done / count) if seconds > 2 else None

    with Interrupt() as interrupt, Terminal(meter) as terminal:
        made = _checked(aside(make, interrupt.stop))
        output = target(terminal)
        with writing(output, count):
            for number, instance in enumerate(made):
                output.put(text(number, instance))
            if interrupt.pressed and output.done < count:
                raise KeyboardInterrupt
        terminal.close()
        if output.done < count:
            terminal.say(f"dibs: only {output.done} of {count} were found")
            return 1
    return 0


def _checked(made: Iterator[Instance]) -> Iterator[Instance]:
    """The same; parameters out of range raise before anything is written."""
    with refusing():
        first = next(made, None)
    return chain([] if first is None else [first], made)


def aside(make: Callable[[], Iterable[Made]], stop: Event) -> Iterator[Made]:
    """What is made, in a thread: when Ctrl-C comes it may be deep in a kernel, and nobody waits for it."""
    ready: Queue[Made | BaseException | None] = Queue(READ_AHEAD)

    def run() -> None:
        end: BaseException | None = None
        try:
            for one in make():
                ready.put(one)
                if stop.is_set():
                    break
        except BaseException as error:
            end = error
        ready.put(end)

    Thread(target=run, name="dibs-making", daemon=True).start()
    try:
        while True:
            stopped = stop.is_set()
            try:
                item = ready.get(not stopped, PATIENCE)
            except Empty:
                if stopped:
                    return
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        while not ready.empty():  # room for the thread to see it
            ready.get_nowait()


def command(kind: str, count: int, /, **flags: object) -> str:
    """The command that makes the same again, for the comment in the first line."""
    given = {name: value for name, value in flags.items() if value is not None and value is not False}
    texts = [f"--{name}" if value is True else f"--{name} {value}" for name, value in given.items()]
    return " ".join(["dibs generate", kind, str(count), *texts])
