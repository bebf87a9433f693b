"""Kissat: a process of its own, which reads DIMACS.

It has no door for a guide, but it can be told to try True first. So a variable of which the guide wants False is
written as its negation, and read back as that from models and proofs: the phases that other engines are given.
"""

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
        wanted = [] if task.wishes is None else task.formula.literals(task.wishes)
        written = names(task.formula.variables, wanted)
        formula.write_text(dimacs(task.formula.variables, task.formula.clauses, written), "ascii")
        words = [str(BINARY), str(formula)]
        if wanted:
            words.append("--forcephase=true")
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
            true=task.formula.true(_model(text, written)) if status is Status.SAT else None,
            decisions=counters.get("decisions", 0),
            conflicts=counters.get("conflicts", 0),
            proof=_proof(proof, written) if task.proof and status is Status.UNSAT else None,
            seconds=took,
        )


def names(variables: int, wanted: Sequence[int] = ()) -> dict[int, str]:
    """How each signed variable is written: what is wanted is positive.

    It says itself what a name stands for, as names of negations are negations of names.
    """
    sign = [1] * (variables + 1)
    for z in wanted:
        sign[abs(z)] = 1 if z > 0 else -1
    return {z: str(sign[abs(z)] * z) for z in range(-variables, variables + 1)}


def dimacs(variables: int, clauses: Sequence[Sequence[int]], written: dict[int, str]) -> str:
    """The formula as text. Not by way of `CNF`, which checks what is known to be right: a second for a large square."""
    lines = (" ".join([*map(written.__getitem__, clause), "0"]) for clause in clauses)
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


def _model(text: bytes, written: dict[int, str]) -> list[int]:
    return [int(written[int(z)]) for line in text.splitlines() if line.startswith(b"v") for z in line[1:].split()]


def _proof(path: Path, written: dict[int, str]) -> list[str]:
    """Its lines, about the variables of the formula and those that Kissat adds; "d" is before a clause it deletes."""
    back = {str(z): name for z, name in written.items()}
    return [" ".join(back.get(word, word) for word in line.split()) for line in path.read_text("ascii").splitlines()]
