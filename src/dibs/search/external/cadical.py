"""CaDiCaL 1.9.5: it takes phases."""

from __future__ import annotations

from dibs.search.external import cdcl
from dibs.search.external.task import Found, Task


def run(task: Task) -> Found:
    return cdcl.run("cadical195", task, interrupts=False)
