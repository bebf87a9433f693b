"""How functions are compiled, and where the result is kept from one start to the next.

    @entry()    called from Python: compiled once for each kind of arguments, and kept on disk
    @part       called by compiled code, and made one with its caller
    @inlined    the same, by Numba before it looks at types

Numba's own cache looks at the file of a function only: a constant or a callee that changes in another file is not
noticed. Here the folder's name has a hash of *all* files that compiled code is made of (`sources`), so that kernels can
be cut into files like other code.

One file holds one compiled function for one kind of arguments, beside a hash of its content: a file that is damaged, or
half there, is made again. Where nothing can be kept, everything works, and is compiled at every start.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread, get_ident
from typing import Any, TypeVar, cast

import llvmlite
import numba
from numba import njit
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from dibs.clock import uncounted

KEPT = 4  # folders of other versions that stay
DOT = 1.0  # seconds from one dot to the next, while something is compiled
RECENT = 24 * 3600.0  # seconds: and those that were used in that time, perhaps by processes that still run

PACKAGE = Path(__file__).parent

# Nobody who has not set up logging misses a warning, and whoever does not want it knows what to do:
# logging.getLogger("dibs").setLevel("ERROR").
_log = logging.getLogger("dibs")
_warned: set[str] = set()
_drawing: dict[int, list[tuple[Event, Thread]]] = {}  # by thread: the dots of what it compiles


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a part as it was written down: it is optimised, and becomes machine code, with its caller only.

    Numba does both for every function, and again for what it was inlined into: most of the time of compilation.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Part(Compiler):  # type: ignore[misc]
    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = _PartLibrary(targetctx.codegen(), "part")
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *rest)
        # Numba knows what it has compiled by a builtin function that calls it. Parts have none: any other that is not
        # shared, and raises when it is called, will do.
        self.state.targetctx.get_executable = lambda *_: {}.pop


# Nobody but compiled code calls a part: it needs no way in.
_PART: dict[str, Any] = {
    "forceinline": True,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}

Function = TypeVar("Function", bound=Callable[..., Any])


def part(function: Function) -> Function:
    """For a function that only compiled code calls. A call would cost more than most of them do."""
    return cast(Function, njit(pipeline_class=_Part, **_PART)(function))


def inlined(function: Function) -> Function:
    """The same for one that hands addresses on, as native.py does."""
    return cast(Function, njit(inline="always")(function))


def entry(**options: Any) -> Any:
    """For a function that Python calls: compiled at its first call, runs without the GIL. `options` are `njit`'s."""

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = njit(nogil=True, **options)(function)
        if hasattr(compiled, "_cache"):  # not where Numba is switched off
            compiled._cache = _Kept(function)
            compiled._compile_for_args = uncounted(_patient(compiled._compile_for_args))  # called to compile or load
        return compiled

    return decorate


def _patient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; what `_announce` began to draw in this thread ends with it."""

    def run(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        finally:
            for over, dots in _drawing.pop(get_ident(), ()):
                over.set()
                dots.join()

    return run


class _Kept(NullCache):  # type: ignore[misc]
    """The compiled forms of one function, as files: what Numba asks before it compiles, and tells afterwards."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"

    @property
    def cache_path(self) -> str | None:
        found = folder()
        return None if found is None else str(found)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these arguments; None if there is nothing, or nothing that can be read."""
        # Of what Numba loads before it compiles, compiled code needs no more than this (it hashes nothing): the rest
        # takes longer than all else from here to the answer. Whatever has to be compiled after all loads it.
        rtsys.initialize(target_context)
        path = self._file(sig, target_context.codegen())
        found = None
        if path is not None:
            try:
                found = CompileResult._rebuild(target_context, *pickle.loads(_read(path)))
            except FileNotFoundError:
                pass
            except Exception:  # whatever is wrong with it, it is made again
                with suppress(OSError):
                    path.unlink()
        if found is None:
            _announce()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled. `data` is a result of Numba's compiler."""
        path = self._file(sig, data.codegen)
        if path is None or "unwritable" in _warned or data.library.has_dynamic_globals:
            return
        try:
            _write(path, dumps(data._reduce()))
        except OSError as error:
            _tell("unwritable", f"compiled code cannot be kept in {path.parent} ({error.strerror or error})")

    def _file(self, sig: Any, codegen: Any) -> Path | None:
        """The file for arguments of these types on a processor of this kind."""
        parent = folder()
        key = hashlib.sha256(repr((self.name, str(sig), codegen.magic_tuple())).encode()).hexdigest()[:16]
        return None if parent is None else parent / f"{self.name}-{key}.bin"


def _read(path: Path) -> bytes:
    """What `_write` wrote; ValueError if it is anything else. Damaged code must not even be looked at."""
    whole = path.read_bytes()
    if hashlib.sha256(whole[32:]).digest() != whole[:32]:
        raise ValueError(f"{path} is damaged")
    return whole[32:]


def _write(path: Path, content: bytes) -> None:
    """Under its name the file is there with all of its content, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(name, "xb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


@cache
def folder() -> Path | None:
    """Where compiled code of this version is kept; None where nothing can be written.

    A folder that is there already may be read-only, as in an image: what it has is used.
    """
    name = f"compiled-{version(sources(PACKAGE))}"
    tried = [parent / name for parent in parents()]
    for path in tried:
        try:
            new = not path.is_dir()
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
            os.utime(path)
        except OSError:
            continue
        if new:
            forget(path)
        return path
    for path in tried:
        if path.is_dir():
            return path
    _tell("unwritable", f"compiled code cannot be kept (no folder can be written: {', '.join(map(str, tried))})")
    return None


def parents() -> list[Path]:
    """The folders that it may be kept in, the first that can be written: what the user says, or the usual ones."""
    if numba.config.CACHE_DIR:
        return [Path(numba.config.CACHE_DIR)]
    return [Path(AppDirs("dibs", appauthor=False).user_cache_dir), PACKAGE / "__pycache__"]


def forget(path: Path) -> None:
    """Remove the folders of other versions beside a new one, but for the last `KEPT` and those used lately."""
    others = []
    for other in path.parent.glob("compiled-*"):
        with suppress(OSError):  # another process may be faster
            others.append((other.stat().st_mtime, other))
    for used, other in sorted(others, reverse=True)[KEPT + 1 :]:
        if other != path and time.time() - used > RECENT:
            shutil.rmtree(other, ignore_errors=True)


def sources(package: Path) -> list[Path]:
    """The files that compiled code is made of: those with compiled functions, and all of the package that they import.

    What they import may be a constant, which compiled code has in it.
    """
    texts = {path: path.read_bytes() for path in package.rglob("*.py")}
    found = {path for path, text in texts.items() if re.search(rb"^@(entry|part|inlined)\b", text, re.MULTILINE)}
    new = found
    while new:
        new = {other for path in new for other in _imported(texts[path], package) if other in texts} - found
        found |= new
    return sorted(found)


def _imported(text: bytes, package: Path) -> Iterable[Path]:
    """Files of the package that a file may import at its top: `from package.module import names` is all there is."""
    for module, names in re.findall(rb"^from ([\w.]+) import (\([^)]*\)|.*)", text, re.MULTILINE):
        first, *path = module.decode().split(".")
        if first == package.name:
            of = package.joinpath(*path)
            yield of.with_suffix(".py")
            for name in re.findall(r"\w+", names.decode()):
                yield of / f"{name}.py"


def version(files: Iterable[Path]) -> str:
    """A hash of these files and of what compiles them."""
    found = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, sys.version)).encode())
    for path in files:
        content = path.read_bytes()
        found.update(f"{path.name} {len(content)} ".encode() + content)
    return found.hexdigest()[:16]


def _announce() -> None:
    """Something is about to be compiled, which takes a while: say so, once."""
    parent = folder()
    if "unwritable" not in _warned and parent is not None:
        what = "compiling for this machine, 5 to 25 seconds, once"
        _tell("compiling", f"{what}; kept in {parent.parent} (all at once: dibs warm)")
    if _log.isEnabledFor(logging.WARNING):
        over = Event()
        dots = Thread(target=_dots, args=(over,), daemon=True)
        dots.start()
        _drawing.setdefault(get_ident(), []).append((over, dots))


def _dots(over: Event) -> None:
    """A dot for each second until it is over, on a terminal; not where somebody else says what there is to say."""
    drawn = False
    while not over.wait(DOT):
        if not _log.handlers and sys.stderr is not None and sys.stderr.isatty():
            print(".", end="", file=sys.stderr, flush=True)
            drawn = True
    if drawn:
        print(file=sys.stderr, flush=True)


def _tell(what: str, line: str) -> None:
    """One line on standard error, once, unless logging says otherwise."""
    if what not in _warned:
        _warned.add(what)
        if what == "unwritable":
            line += ": every start takes 5 to 25 seconds longer"
        _log.warning("dibs: %s", line)
