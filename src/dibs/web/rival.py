"""A process in which another engine fills a Latin square: `python -m dibs.web.rival ENGINE SECONDS`.

It says `ready` when everything is loaded, reads the values as JSON, and answers as `square.ended` has it.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from dibs.problem import Latin
from dibs.search.external.registry import adapter
from dibs.solving import solve
from dibs.web.square import ended


def main(engine: str, seconds: str) -> None:
    adapter(engine)  # loaded before the clock runs
    print("ready", flush=True)
    values = np.array(json.load(sys.stdin), np.uint8)
    n = round(len(values) ** 0.5)
    outcome = solve(Latin(values.reshape(n, n)), engine=engine, max_seconds=float(seconds))
    print(json.dumps(ended(outcome)))


if __name__ == "__main__":
    main(*sys.argv[1:])
