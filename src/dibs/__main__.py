"""The program `dibs`, and `python -m dibs`: Ctrl-C while it is still loading ends it as later, without a word."""

import sys


def main() -> int:
    try:
        from dibs.cli import main as run
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
