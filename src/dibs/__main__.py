"""The program `dibs`, and `python -m dibs`: Ctrl-C while it is still loading ends it as later, without a word."""

import atexit
import os
import sys
import threading


def main() -> int:
    try:
        from dibs.cli import main as run
    except KeyboardInterrupt:
        return 130
    return _end(run())


def _end(code: int) -> int:
    """End the process where nothing is left to do, but for a thread: then it returns.

    Python would take apart all that it has loaded, piece by piece: a fifth of the time of `dibs solve` on a puzzle.
    """
    if threading.active_count() > 1:
        return code
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, KeyboardInterrupt):
        return code
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
