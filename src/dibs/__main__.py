"""`python -m dibs`."""

import sys

from dibs.cli import main

if __name__ == "__main__":
    sys.exit(main())
