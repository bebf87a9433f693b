"""The command line: finds the command, and turns whatever ends it into one line and an exit code.

Exit codes: 0 done, 2 bad input or options or an output that cannot be written, 130 Ctrl-C, 141 nobody reads the
output any more; a CNF 10 / 20 / 0, and so `why` for all families.
A new command is a function in `dibs.commands` and an entry of `COMMANDS`.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import NoneType
from typing import Any, get_args

from cyclopts import App, CycloptsError, Parameter, Token, convert

from dibs import InputError, __version__
from dibs.errors import Refused
from dibs.interrupt import plain_interrupts
from dibs.wording import one_line

HELP = """\
An exact solver for Sudokus, Latin squares, formulas and problems of your own,
that shows what its search cost. A guide, which has learned from instances, may
say which value is tried first: it can make the search quick or slow, never
wrong.

For example:
  dibs solve 4.....1..3.....2
  dibs solve formula.cnf --proof formula.drat
  dibs generate sudoku 100 --givens 24-28 --seed 1 --output puzzles.txt
  dibs why 44.............
  dibs train my-instances/ --minutes 20 --out my-guide
  dibs bench baselines
  dibs model eval relational --puzzles sample17
"""

# Where each is. Only the one that is called is imported, and heavy imports (numba, torch) belong inside the functions.
COMMANDS = {
    "solve": "dibs.commands.solve:solve",
    "explain": "dibs.commands.explain:explain",
    "why": "dibs.commands.why:why",
    "serve": "dibs.commands.serve:serve",
    "generate": "dibs.commands.generate:app",
    "bench": "dibs.commands.bench:bench",
    "report": "dibs.commands.report:report",
    "train": "dibs.commands.train:train",
    "guides": "dibs.commands.guides:guides",
    "model": "dibs.commands.model:app",
    "data": "dibs.commands.data:app",
    "warm": "dibs.commands.warm:warm",
}

NARROWEST = 8  # columns of a terminal that are believed

# A puzzle whose first cell is blank may begin with a dash: nothing that is spelled so is an option.
_DASHED_PUZZLE = re.compile(r"-|-[-.0-9_*?@A-Z\s|+,]{15,}")


def build(called: str = "") -> App:
    """The program; with the name of the command that is called, that one alone."""
    app = App(
        name="dibs",
        version=__version__,
        version_flags=["--version"],
        help=HELP,
        help_format="plaintext",
        default_parameter=Parameter(converter=_converted, negative=()),
    )
    for name, place in COMMANDS.items():
        if called in (name, "") or called not in COMMANDS:
            module, _, attribute = place.partition(":")
            app.command(getattr(import_module(module), attribute))
    if called not in COMMANDS:
        app.register_install_completion_command(help="Install completion for your shell (bash, zsh, fish).")
    return app


def _converted(kind: Any, tokens: Sequence[Token]) -> Any:
    """What Cyclopts does, but 1.5 is not rounded where a whole number is asked for, and the word none is no value."""
    kinds = get_args(kind) or (kind,)
    if NoneType in kinds and str not in kinds and tokens and tokens[0].value.lower() in ("none", "null"):
        raise ValueError(f"{tokens[0].value} is not a value of it: leave the flag out for what goes without it")
    if int in kinds and tokens and "." in tokens[0].value:
        if float not in kinds:
            raise ValueError(f"{tokens[0].value} is not a whole number")
        kind = float
    return convert(kind, tokens)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Without `argv` this is the program itself, which may end the process."""
    program = argv is None
    if program:
        _plain_streams()
        _wide_enough()
    tokens = _shielded(list(sys.argv[1:] if argv is None else argv))
    try:
        with plain_interrupts():
            code = _run(tokens)
        sys.stdout.flush()
        return code
    except (Refused, InputError) as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return _leave(130, program)
    except BrokenPipeError:
        _forget_output()
        return _leave(141, program)
    except SystemExit as end:  # so rich ends a process whose table or help nobody reads
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return _leave(141, program)
    except OSError as error:  # a full disk behind standard output, a folder that is gone
        _complain(f"{error.filename or 'output'}: {error.strerror or error}")
        _forget_output()
        return _leave(2, program)


def _plain_streams() -> None:
    """A stream that was closed (`>&-`) goes nowhere; what a stream cannot encode is written as an escape."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _wide_enough() -> None:
    """Some shells say COLUMNS=0; to put a table into so few columns takes rich for ever."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) < NARROWEST:
        del os.environ["COLUMNS"]


def _run(tokens: list[str]) -> int:
    try:
        # Only while parsing: a ValueError is then what an options dataclass says to a value out of range.
        app = build(tokens[0] if tokens else "")
        command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return _complain(f"dibs: {one_line(error)}")
    except ValueError as error:
        return _complain(f"dibs: {error}")
    return int(command(*bound.args, **bound.kwargs) or 0)


def _shielded(tokens: list[str]) -> list[str]:
    """`solve -` and `explain --5-3...` have a puzzle that looks like an option; behind `--` it does not."""
    if tokens[:1] not in (["solve"], ["explain"], ["why"]) or "--" in tokens:
        return tokens
    dashed = [token for token in tokens if _DASHED_PUZZLE.fullmatch(token)]
    return [token for token in tokens if token not in dashed] + (["--", *dashed] if dashed else [])


def _complain(line: str) -> int:
    with suppress(OSError):  # nobody can be told
        print(line, file=sys.stderr)
    return 2


def _forget_output() -> None:
    """Python flushes standard output once more at the end; what cannot be written goes nowhere."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(code: int, program: bool) -> int:
    """Threads that compile or ask a slow guide cannot be stopped; do not wait for them."""
    with suppress(OSError):
        sys.stdout.flush()
    if program and any(thread.name.startswith("dibs") for thread in threading.enumerate()):
        os._exit(code)
    return code
