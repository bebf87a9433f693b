"""`dibs data`: a list is what its checksum says, wherever it comes from; nothing else is ever stored."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import random
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_server
from threading import Thread
from typing import Any

import pytest

from dibs import lists
from dibs.commands import data
from dibs.lists import LISTS, PuzzleList
from dibs.sets import SETS
from faults import NEVER, Disk
from shell import Run, runner

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "data"


def some(count: int, seed: int) -> list[str]:
    """Lines that look like puzzles."""
    rng = random.Random(seed)
    return ["".join(rng.choice("....123456789") for _ in range(81)) for _ in range(count)]


PUZZLES = some(40, 1)
OTHERS = some(40, 2)
TEXT = "".join(f"{puzzle}\n" for puzzle in PUZZLES)
STORED = "".join(f"{puzzle}\n" for puzzle in sorted(PUZZLES))
HOW = "`dibs data get tiny --from FILE` imports a copy that you have"


def zipped(**files: str | bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("data")
        for name, content in files.items():
            archive.writestr(f"data/{name}", content)
    return packed.getvalue()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where lists are kept; nothing is written elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("DIBS_DATA", str(tmp_path / "lists"))
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "lists"


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> PuzzleList:
    """A list of its own, at an address where nobody listens."""
    one = PuzzleList(
        name="tiny",
        puzzles=len(PUZZLES),
        what="a list for tests",
        sha256=lists.checksum(sorted(PUZZLES)),
        url="http://127.0.0.1:9/data.zip",
        member="data/tiny_list",
    )
    monkeypatch.setitem(LISTS, "tiny", one)
    return one


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    path = tmp_path / "copy.txt"
    path.write_text(TEXT)
    return path


# Copies that are right, whatever they look like.


def spoken(puzzles: list[str]) -> str:
    """With comments, blank lines, a rating, and a puzzle in a comment."""
    lines = [f"  {puzzle} 11.2 # hard\r\n\n" for puzzle in puzzles]
    return f"# the list\n  #{OTHERS[0]}\n{''.join(lines)}an 80: {OTHERS[1][:80]}\nan 82: {OTHERS[1]}1\n"


GOOD: dict[str, bytes] = {
    "plain": TEXT.encode(),
    "bom": b"\xef\xbb\xbf" + TEXT.encode(),
    "backwards": "\n".join(reversed(PUZZLES)).encode(),
    "twice": (TEXT + TEXT).encode(),
    "zeros": TEXT.replace(".", "0").encode(),
    "both blanks": (TEXT + TEXT.replace(".", "0")).encode(),
    "spoken": spoken(PUZZLES).encode(),
    "csv": ("id,puzzle\n" + "".join(f"{i},{puzzle},1\n" for i, puzzle in enumerate(PUZZLES))).encode(),
    "gz": gzip.compress(TEXT.encode()),
    "xz": lzma.compress(TEXT.encode()),
    "zip": zipped(tiny_list=TEXT, other="\n".join(OTHERS)),
    "zip with another name": zipped(a="\n".join(OTHERS), b=b"\0\xff", c=TEXT),
}


@pytest.mark.parametrize("kind", GOOD)
def test_a_copy_in_any_form(run: Run, folder: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "copy"
    path.write_bytes(GOOD[kind])
    assert run("data", "get", "tiny", "--from", path) == (0, f"tiny: 40 puzzles, checked: {folder}/tiny.txt\n", "")
    assert (folder / "tiny.txt").read_text() == STORED
    assert os.listdir(folder) == ["tiny.txt"]
    assert lists.path_of("tiny") == folder / "tiny.txt"


def test_standard_input(run: Run, folder: Path) -> None:
    assert run("data", "get", "tiny", "--from=-", stdin=gzip.compress(TEXT.encode())).code == 0
    assert (folder / "tiny.txt").read_text() == STORED


# Copies that are not.

ARCHIVE = zipped(tiny_list=TEXT)
BAD: dict[str, tuple[bytes, str]] = {
    "truncated": (TEXT[:-82].encode(), "is not tiny: 39 different puzzles instead of 40; nothing was stored"),
    "cut within": (TEXT[:-9].encode(), "is not tiny: 39 different puzzles instead of 40; nothing was stored"),
    "one more": ((TEXT + OTHERS[0]).encode(), "is not tiny: 41 different puzzles instead of 40; nothing was stored"),
    "duplicates": ("\n".join([*PUZZLES[1:], PUZZLES[1]]).encode(), "is not tiny: 39 different puzzles instead of 40;"),
    "relabelled": (
        TEXT.translate(str.maketrans("123456789", "234567891")).encode(),
        "is not tiny: 40 puzzles is right, but they are others (relabelled?); nothing was stored",
    ),
    "one digit": (("1" if TEXT[0] != "1" else "2").encode() + TEXT[1:].encode(), "is not tiny: 40 puzzles is right"),
    "prose": (b"hello\n", "is not tiny: it has no 9x9 Sudoku, one to a line; nothing was stored"),
    "empty": (b"", "is not tiny: it has no 9x9 Sudoku"),
    "binary": (b"\0\1\2", "is not a text file"),
    "cut gz": (GOOD["gz"][:-9], "is damaged: "),
    "cut xz": (GOOD["xz"][:-9], "is damaged: "),
    "cut zip": (ARCHIVE[: len(ARCHIVE) // 2], "is damaged: File is not a zip file"),
    "empty zip": (b"PK\5\6" + bytes(18), "has no file in it"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_copy_that_differs(run: Run, folder: Path, tmp_path: Path, kind: str) -> None:
    content, message = BAD[kind]
    path = tmp_path / "copy"
    path.write_bytes(content)
    assert run("data", "get", "tiny", "--from", path).complaint.startswith(f"{path}: {message}")
    assert not folder.exists()


def test_an_archive_that_differs(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.zip"
    path.write_bytes(zipped(a="nothing", b="\n".join(PUZZLES[:30]), c="\n".join(OTHERS[:7])))
    message = f"{path}:data/b: is not tiny: 30 different puzzles instead of 40; nothing was stored"
    assert run("data", "get", "tiny", "--from", path).complaint == message
    middle = len(ARCHIVE) // 2
    path.write_bytes(ARCHIVE[:middle] + bytes(9) + ARCHIVE[middle + 9 :])
    assert run("data", "get", "tiny", "--from", path).complaint.startswith(f"{path}: is damaged: ")
    assert not folder.exists()


def test_no_such_file(run: Run, tmp_path: Path) -> None:
    none = tmp_path / "none"
    assert run("data", "get", "tiny", "--from", none).complaint == f"{none}: does not exist"
    assert run("data", "get", "tiny", "--from", tmp_path).complaint == f"{tmp_path}: is a directory"


# Part of a larger list.


def test_a_list_that_is_not_published_by_itself(
    run: Run, folder: Path, tiny: PuzzleList, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LISTS, "tiny", replace(tiny, url=None, member=None))
    says = "tiny is not published by itself; `dibs data get tiny --from FILE` imports a copy that you have"
    assert run("data", "get", "tiny").complaint == says
    path = tmp_path / "copy"
    path.write_text("\n".join(PUZZLES))
    assert run("data", "get", "tiny", "--from", path).code == 0
    assert (folder / "tiny.txt").read_text() == STORED


# What is here.


def test_already_here(run: Run, folder: Path, copy: Path) -> None:
    run("data", "get", "tiny", "--from", copy)
    before = (folder / "tiny.txt").stat()
    assert run("data", "get", "tiny") == (0, f"tiny is here already: {folder}/tiny.txt\n", "")
    after = (folder / "tiny.txt").stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
    assert run("data", "get", "tiny", "--force", "--from", copy).out.startswith("tiny: 40 puzzles, checked")
    assert (folder / "tiny.txt").stat().st_mtime_ns > before.st_mtime_ns


@pytest.mark.parametrize("damage", [STORED[:-1], STORED.replace("1", "2"), TEXT, ""])
def test_a_damaged_list_is_noticed(run: Run, folder: Path, copy: Path, damage: str) -> None:
    folder.mkdir()
    stored = folder / "tiny.txt"
    stored.write_text(damage)
    short = len(damage) != len(STORED)
    assert json.loads(run("data", "list", "--json").out)["lists"][-1]["state"] == ("damaged" if short else "here")
    assert run("data", "path", "tiny").code == (2 if short else 0)
    failed = run("data", "get", "tiny")
    assert failed.code == 2
    assert failed.err.startswith(f"{stored}: is damaged, a new copy is taken\n")
    assert HOW in failed.err
    assert stored.read_text() == damage
    assert run("data", "get", "tiny", "--from", copy).code == 0
    assert stored.read_text() == STORED


def test_the_path(run: Run, folder: Path, copy: Path) -> None:
    assert run("data", "path", "tiny").complaint == (
        "the list tiny is not here: `dibs data get tiny` fetches it, "
        "`dibs data get tiny --from FILE` takes a copy that you have"
    )
    run("data", "get", "tiny", "--from", copy)
    assert run("data", "path", "tiny") == (0, f"{folder}/tiny.txt\n", "")
    (folder / "tiny.txt").write_text("")
    assert run("data", "path", "tiny").complaint.startswith(f"the list tiny is damaged ({folder}/tiny.txt): `dibs data")


def test_the_overview(run: Run, folder: Path, copy: Path) -> None:
    run("data", "get", "tiny", "--from", copy)
    shown = run("data", "list").out
    rows = {line.split()[0]: line.rstrip() for line in shown.splitlines() if line[:1].strip()}
    assert rows["royle17"].startswith("royle17         49,158  Sudokus with 17 clues")
    assert rows["royle17"].endswith("  not here")
    assert rows["qcp"].endswith("  not here")
    assert rows["tiny"].split() == ["tiny", "40", "a", "list", "for", "tests", "here"]
    assert str(folder) in shown
    found = json.loads(run("data", "list", "--json").out)
    assert found["folder"] == str(folder)
    assert [(one["name"], one["puzzles"], one["state"]) for one in found["lists"]] == [
        ("royle17", 49158, "missing"),
        ("hardest11", 24383, "missing"),
        ("top1465", 1465, "missing"),
        ("tiny", 40, "here"),
    ]
    assert found["lists"][3]["path"] == f"{folder}/tiny.txt"


@pytest.mark.parametrize("command", ["get", "path"])
def test_no_such_list(run: Run, command: str) -> None:
    assert run("data", command, "roile17").complaint == "no list is called 'roile17'; did you mean royle17?"
    names = ["royle17", "hardest11", "top1465", "tiny", *SETS]
    assert run("data", command, "x").complaint == f"no list is called 'x'; there are {', '.join(names)}"


# Where lists are kept.


def test_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lists.folder() == tmp_path / "lists"
    for unset in ("", None):
        if unset is None:
            monkeypatch.delenv("DIBS_DATA")
        else:
            monkeypatch.setenv("DIBS_DATA", unset)
        assert lists.folder() == tmp_path / "home" / ".cache" / "dibs" / "lists"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert lists.folder() == tmp_path / "home" / ".cache" / "dibs" / "lists"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert lists.folder() == tmp_path / "cache" / "dibs" / "lists"


def test_a_folder_that_cannot_be_made(run: Run, tmp_path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_DATA", str(copy / "lists"))
    message = f"{copy}/lists/tiny.txt: cannot be written: Not a directory"
    assert run("data", "get", "tiny", "--from", copy).complaint == message
    assert run("data", "get", "tiny").complaint.startswith(f"{copy}/lists: cannot be written: Not a directory; `dibs")
    assert copy.read_text() == TEXT


def test_a_full_disk_leaves_nothing(run: Run, folder: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = f"{folder}/tiny.txt: cannot be written: No space left on device"
    disk = Disk(monkeypatch)
    disk.full = 3  # within the puzzles
    assert run("data", "get", "tiny", "--from", copy).complaint == message
    assert os.listdir(folder) == []
    disk.full = NEVER
    run("data", "get", "tiny", "--from", copy)
    disk.full = disk.steps + 3
    assert run("data", "get", "tiny", "--from", copy, "--force").complaint == message
    assert (folder / "tiny.txt").read_text() == STORED
    assert os.listdir(folder) == ["tiny.txt"]


# Fetching.


class Server:
    """A web server for one file; `short` promises so many bytes more than it sends."""

    def __init__(self) -> None:
        self.content = b""
        self.short = 0
        self.asked: list[str] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append(self.path)
                if self.path != "/data.zip":
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(owner.content) + owner.short))
                self.end_headers()
                self.wfile.write(owner.content)

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._http.server_port}"
        self.url = f"http://{self.host}/data.zip"
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server(tiny: PuzzleList, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("pooch", reason="fetching needs the extra bench")
    server = Server()
    monkeypatch.setitem(LISTS, "tiny", replace(tiny, url=server.url))
    yield server
    server.close()


def test_a_list_is_fetched(run: Run, folder: Path, server: Server) -> None:
    server.content = ARCHIVE
    assert run("data", "get", "tiny") == (0, f"tiny: 40 puzzles, checked: {folder}/tiny.txt\n", "")
    assert (folder / "tiny.txt").read_text() == STORED
    assert os.listdir(folder) == ["tiny.txt"]
    assert "is here already" in run("data", "get", "tiny").out
    assert server.asked == ["/data.zip"]
    assert run("data", "get", "tiny", "--force").code == 0
    assert len(server.asked) == 2


def test_an_archive_is_fetched_once(
    run: Run, folder: Path, tiny: PuzzleList, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = replace(tiny, name="second", url=server.url, member="data/b", sha256=lists.checksum(sorted(OTHERS)))
    monkeypatch.setitem(LISTS, "second", second)
    server.content = zipped(tiny_list=TEXT, b="\n".join(OTHERS))
    assert run("data", "get", "tiny", "second", "tiny").out.count("\n") == 2
    assert sorted(os.listdir(folder)) == ["second.txt", "tiny.txt"]
    assert server.asked == ["/data.zip"]


def test_a_plain_text_is_fetched(
    run: Run, folder: Path, tiny: PuzzleList, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LISTS, "tiny", replace(tiny, url=server.url, member=None))
    server.content = TEXT.encode()
    assert run("data", "get", "tiny").code == 0
    assert (folder / "tiny.txt").read_text() == STORED


@pytest.mark.parametrize("kind", ["relabelled", "cut zip", "truncated"])
def test_what_is_fetched_differs(run: Run, folder: Path, server: Server, kind: str) -> None:
    server.content, message = BAD[kind]
    assert run("data", "get", "tiny").complaint.startswith(f"{server.url}: {message}; {HOW} (it is data/tiny_list in ")
    assert os.listdir(folder) == []


def test_the_connection_breaks_off(run: Run, folder: Path, server: Server) -> None:
    server.content, server.short = ARCHIVE, 9
    assert run("data", "get", "tiny").complaint == (
        f"tiny could not be fetched: the connection to {server.host} failed; {HOW} "
        f"(it is data/tiny_list in {server.url})"
    )
    assert os.listdir(folder) == []


def test_the_server_has_it_not(
    run: Run, folder: Path, tiny: PuzzleList, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LISTS, "tiny", replace(tiny, url=f"http://{server.host}/none", member=None))
    assert run("data", "get", "tiny").complaint == (
        f"tiny could not be fetched: {server.host} answers 404 Not Found; {HOW} (it is http://{server.host}/none)"
    )
    assert os.listdir(folder) == []


def test_no_network(run: Run, folder: Path, server: Server) -> None:
    server.close()
    assert run("data", "get", "tiny").complaint.startswith(
        f"tiny could not be fetched: the connection to {server.host} failed; {HOW}"
    )
    assert os.listdir(folder) == []


def test_a_server_that_does_not_answer(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "TIMEOUTS", (5, 0.05))
    with create_server(("127.0.0.1", 0)) as silent:  # the system connects, nobody answers
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setitem(LISTS, "tiny", replace(LISTS["tiny"], url=f"http://{host}/data.zip"))
        complaint = run("data", "get", "tiny").complaint
        assert complaint.startswith(f"tiny could not be fetched: {host} does not answer; {HOW}")


def test_without_pooch(run: Run, folder: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    complaint = run("data", "get", "tiny").complaint
    assert complaint.startswith(f"dibs: fetching needs pooch: pip install 'dibs[bench]'; {HOW}")
    assert os.listdir(folder) == []
    assert run("data", "get", "tiny", "--from", copy).code == 0


def test_progress_is_said_after_two_seconds() -> None:
    progress = data._Progress()
    progress.update(1 << 20)
    assert progress.meter(1.9) is None
    assert progress.meter(2.1) == ("1.0 MB", None)
    progress.total = 4 << 20
    assert progress.meter(2.1) == ("1.0 of 4.2 MB", 0.25)
    progress.update(9 << 20)
    assert progress.meter(9) == ("4.2 of 4.2 MB", 1)


# The lists themselves.


def test_the_registry() -> None:
    for name, one in LISTS.items():
        assert one.name == name
        assert len(bytes.fromhex(one.sha256)) == 32


@pytest.mark.shared_data
@pytest.mark.skipif(not REFERENCE.exists(), reason="an extra: the reference lists are not beside this checkout")
@pytest.mark.parametrize("name", ["royle17", "hardest11", "top1465"])
def test_the_reference_lists(run: Run, folder: Path, tmp_path: Path, name: str) -> None:
    one, source = LISTS[name], REFERENCE / f"{name}.txt"
    assert run("data", "get", name, "--from", source).code == 0
    assert one.is_intact()
