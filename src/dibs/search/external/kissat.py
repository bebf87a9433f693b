"""Kissat: a process of its own, which reads DIMACS. It takes nothing from a guide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired
from tempfile import TemporaryDirectory
from time import perf_counter

from dibs.search.external.task import Found, Task
from dibs.search.outcome import Status

PACKAGE = "passagemath-kissat"
PATIENCE = 0.02  # seconds between two looks at the clock and at `stopped`
GRACE = 1.0  # seconds that it has for its statistics once it is told to end
STATUS = {10: Status.SAT, 20: Status.UNSAT}  # by exit code
NO_ANSWER = 0
COUNTER = re.compile(rb"^c (conflicts|decisions): +(\d+)", re.MULTILINE)


def binary() -> Path:
    """The program in the installed package; ImportError names the package if it is not there."""
    found = distribution(PACKAGE)
    for file in found.files or ():
        if (file.parent.name, file.stem) == ("bin", "kissat"):
            return Path(str(found.locate_file(file)))
    raise ImportError(f"{PACKAGE} has no program", name=PACKAGE)


BINARY = binary()  # where the module is imported: an engine that is not installed is named before any search


def run(task: Task) -> Found:
    with TemporaryDirectory(prefix="dibs-kissat-") as folder:
        formula, proof = Path(folder) / "formula.cnf", Path(folder) / "proof"
        formula.write_text(dimacs(task.formula.variables, task.formula.clauses), "ascii")
        words = [str(BINARY), str(formula)]
        if task.proof:
            words += [str(proof), "--no-binary"]
        if task.left() <= 0 or task.stopped():
            return Found(Status.LIMIT, None, 0, 0)
        begin = perf_counter()
        code, text = _run(words, task)
        took = perf_counter() - begin
        status = STATUS.get(code, Status.LIMIT)
        counters = {name.decode(): int(value) for name, value in COUNTER.findall(text)}
        return Found(
            status=status,
            true=task.formula.true(_model(text)) if status is Status.SAT else None,
            decisions=counters.get("decisions", 0),
            conflicts=counters.get("conflicts", 0),
            proof=proof.read_text("ascii").splitlines() if task.proof and status is Status.UNSAT else None,
            seconds=took,
        )


def dimacs(variables: int, clauses: Sequence[Sequence[int]]) -> str:
    """The formula as text. Not by way of `CNF`, which checks what is known to be right: a second for a large square."""
    lines = (" ".join(map(str, [*clause, 0])) for clause in clauses)
    return "\n".join([f"p cnf {variables} {len(clauses)}", *lines, ""])


def _run(words: list[str], task: Task) -> tuple[int, bytes]:
    """The exit code and what it printed. It is ended once time is up or somebody wants it to end.

    Ctrl-C in a terminal goes to a process group, and this one has its own: only we end it. Should we be killed, it ends
    at its next line of progress, which nobody reads.
    """
    with Popen(words, stdout=PIPE, stderr=STDOUT, process_group=0) as process:
        try:
            while task.left() > 0 and not task.stopped():
                with suppress(TimeoutExpired):
                    text, _ = process.communicate(timeout=max(0.0, min(PATIENCE, task.left())))
                    if process.returncode not in STATUS:
                        last = text.decode(errors="replace").strip().splitlines()[-1:]
                        raise RuntimeError(f"kissat ended with {process.returncode} and no answer: {''.join(last)}")
                    return process.returncode, text
            process.terminate()
            with suppress(TimeoutExpired):
                text, _ = process.communicate(timeout=GRACE)
                return process.returncode, text
        finally:
            process.kill()  # does nothing to a process that has ended
    return NO_ANSWER, b""


def _model(text: bytes) -> list[int]:
    return [int(z) for line in text.splitlines() if line.startswith(b"v") for z in line[1:].split()]
