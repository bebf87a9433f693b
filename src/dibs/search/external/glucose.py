"""Glucose 4: it takes phases."""

from __future__ import annotations

from dibs.search.external import cdcl
from dibs.search.external.task import Found, Task


def run(task: Task) -> Found:
    return cdcl.run("glucose4", task, interrupts=True)
