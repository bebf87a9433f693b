"""`dibs data`: published lists and sets, fetched or taken from files, and checked, by `dibs.lists` and `dibs.sets`."""

from __future__ import annotations

import json as encoder
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from cyclopts import App, Parameter

from dibs import lists, sets
from dibs.commands.terminal import Meter, Terminal, show
from dibs.errors import Refused
from dibs.lists import PuzzleList
from dibs.problem.text import InputError
from dibs.sets import InstanceSet
from dibs.wording import one_line, plural
from dibs.writing import explained

HELP = """\
Get the published puzzle lists and sets of large instances that dibs is
measured on.

A list is checked by its puzzles, not by its file: a copy from anywhere will
do, in any order and packing. So is a set, and a part of it will do. Both are kept in the folder $DIBS_DATA, or else
in dibs/lists of the user's cache.

For example:
  dibs data list
  dibs data get royle17
  dibs data get royle17 --from sudoku17.txt
  dibs data get qwh --from LSC/data
  dibs bench baselines --puzzles "$(dibs data path royle17)"
"""

TIMEOUTS = (10, 30)  # seconds until the server answers; between two pieces of the file
CHUNK = 1 << 16
QUIET = 2  # seconds without a line of progress
NAMED = 3  # files that a line about many names

app = App(name="data", help=HELP, help_format="plaintext")

Name = Annotated[str, Parameter(help="one of those that `dibs data list` shows")]


@app.command(name="list")
def overview(*, json: Annotated[bool, Parameter(help="one JSON object")] = False) -> int:
    """Which lists there are, and which of them are here.

    Of a list that is here only the length is checked; `dibs data get` checks
    every puzzle.

    For example:
      dibs data list
    """
    if json:
        described = {"lists": list(map(_described, lists.LISTS.values()))}
        described |= {"sets": list(map(_described, sets.SETS.values()))}
        print(encoder.dumps({"folder": str(lists.folder()), **described}))
    else:
        _show()
    return 0


@app.command
def get(
    name: Name,
    /,
    *more: Annotated[str, Parameter(help="further lists; an archive that has several is fetched once")],
    source: Annotated[
        Path | None,
        Parameter(name="--from", help="take a copy that you have: text, .gz, .xz, .zip; of a set also a folder"),
    ] = None,
    force: Annotated[bool, Parameter(help="also if the list is here already; of a set, forget what is here")] = False,
) -> int:
    """Fetch a list, or take it from a file, check it and keep it.

    Puzzles are normalised (blanks as dots), sorted and compared by checksum.
    A copy that differs is refused, and nothing is stored.

    A set is taken from a file or from all files of a folder that are of it,
    as they were published or as dibs reads them. What is new is added to what
    is here. A file with anything else in it is refused.

    For example:
      dibs data get royle17
      dibs data get royle17 top1465
      dibs data get royle17 --from data.zip
      dibs data get color03 --from LSC/data
    """
    wanted = [sets.find(one) for one in dict.fromkeys((name, *more))]
    with _Archives() as archives:
        for one in wanted:
            if isinstance(one, InstanceSet):
                _import(one, source, force)
                continue
            if not force and one.is_intact():
                print(f"{one.name} is here already: {one.path}")
                continue
            if not force and one.state() != "missing":
                print(f"{one.path}: is damaged, a new copy is taken", file=sys.stderr)
            puzzles = lists.read(one, str(source)) if source else archives.read(one)
            print(f"{one.name}: {one.puzzles:,} puzzles, checked: {lists.store(one, puzzles)}")
    return 0


@app.command
def path(name: Name, /) -> int:
    """Print where a list is, for scripts; an error says how to get it.

    For example:
      dibs solve "$(dibs data path top1465)"
    """
    one = sets.find(name)
    if isinstance(one, InstanceSet):
        one.load()  # raises where there is nothing
    print(one.path if isinstance(one, InstanceSet) else lists.path_of(name))
    return 0


def _import(one: InstanceSet, source: Path | None, fresh: bool) -> None:
    if source is None:
        raise InputError(f"{one.name} is not fetched: {sets.how(one)}")
    found, others = sets.read(one, source)
    if others:
        some = ", ".join(path.name for path in others[:NAMED]) + ", ..." * (len(others) > NAMED)
        print(f"{source}: left out, not of {one.name}: {plural(len(others), 'file', ',')} ({some})", file=sys.stderr)
    count = sets.store(one, found, fresh)
    part = "all" if count == one.puzzles else f"{count:,} of {one.puzzles:,}"
    print(f"{one.name}: {len(found):,} instances, {part} are here: {one.path}")


def _described(one: PuzzleList | InstanceSet) -> dict[str, Any]:
    record = {"name": one.name, "puzzles": one.puzzles, "what": one.what, "state": one.state(), "path": str(one.path)}
    if isinstance(one, PuzzleList):
        return record | {"sha256": one.sha256, "url": one.url, "member": one.member}
    return record | {"family": one.family, "url": one.url, "here": len(one.load()) if one.state() == "here" else 0}


def _show() -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("list", "puzzles", "what it is", ""):
        table.add_column(title, justify="right" if title == "puzzles" else "left", no_wrap=title != "what it is")
    for one in lists.LISTS.values():
        state = one.state()
        table.add_row(one.name, f"{one.puzzles:,}", one.what, "not here" if state == "missing" else state)
    for some in sets.SETS.values():
        here = f"{len(some.load()):,} here" if some.state() == "here" else "not here"
        table.add_row(some.name, f"{some.puzzles:,}", some.what, here)
    show([table])
    print(
        f"\nThe folder is {lists.folder()}; `dibs data get NAME` fetches a list, and "
        "`dibs data get NAME --from FOLDER` imports a set."
    )


class _Archives:
    """What is fetched by one command: each address once."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._fetched: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder:
            self._folder.cleanup()

    def read(self, one: PuzzleList) -> list[str]:
        """The puzzles of a list from its address; an error says what else can be done."""
        try:
            if one.url is None:
                raise InputError(f"{one.name} is not published by itself")
            if one.url not in self._fetched:
                self._fetched[one.url] = self._fetch(one, one.url)
            return lists.read(one, self._fetched[one.url], one.url)
        except InputError as error:
            raise InputError(f"{error.message}; {_otherwise(one)}", error.file) from None

    def _fetch(self, one: PuzzleList, url: str) -> str:
        # Beside the lists and not in /tmp, which may be small: the archive is far larger than they are.
        with explained(lists.folder()):
            if self._folder is None:
                lists.folder().mkdir(parents=True, exist_ok=True)
                self._folder = TemporaryDirectory(prefix="fetching-", dir=lists.folder())
            target = str(Path(self._folder.name) / str(len(self._fetched)))
            _download(one, url, target)
        return target


class _Progress:
    """What pooch wants of a progress bar."""

    total = 0

    def __init__(self) -> None:
        self.done = 0

    def update(self, count: int) -> None:
        self.done += count

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass

    def meter(self, seconds: float) -> Meter | None:
        if seconds < QUIET:
            return None
        if not self.total:
            return Meter(f"{self.done / 1e6:.1f} MB")
        done = min(self.done, self.total)
        return Meter(f"{done / 1e6:.1f} of {self.total / 1e6:.1f} MB", done / self.total)


def _download(one: PuzzleList, url: str, target: str) -> None:
    """Fetch the address of a list into a file."""
    try:
        pooch = import_module("pooch")
    except ImportError:
        raise Refused(f"dibs: fetching needs pooch: pip install 'dibs[bench]'; {_otherwise(one)}") from None
    failure = import_module("requests").RequestException
    progress = _Progress()
    with Terminal(progress.meter):
        try:
            pooch.HTTPDownloader(progressbar=progress, chunk_size=CHUNK, timeout=TIMEOUTS)(url, target, None)
        except failure as error:
            raise InputError(f"{one.name} could not be fetched: {_reason(error, urlsplit(url).netloc)}") from None


def _reason(error: Any, host: str) -> str:
    """Why a download failed, in a few words."""
    if error.response is not None:
        return f"{host} answers {error.response.status_code} {error.response.reason}"
    kinds = import_module("requests").exceptions
    if isinstance(error, kinds.Timeout):
        return f"{host} does not answer"
    if isinstance(error, (kinds.ConnectionError, kinds.ChunkedEncodingError)):
        return f"the connection to {host} failed"
    return one_line(error)


def _otherwise(one: PuzzleList) -> str:
    place = f" (it is {f'{one.member} in ' * bool(one.member)}{one.url})" if one.url else ""
    return f"`dibs data get {one.name} --from FILE` imports a copy that you have{place}"
