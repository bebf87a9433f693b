"""`dibs solve --engine`: which flags another engine takes, and its answers in place of dibs' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dibs import engines
from dibs.commands.answer import Answer
from dibs.engines.proof import formula_path, own_formula
from dibs.engines.registry import adapter, chosen_fields
from dibs.problem import Instance
from dibs.search import Outcome, Status
from dibs.search.policy import Waiting, waiting
from dibs.search.solve import Found


class Engine:
    """An engine that is not dibs' own, with the user's settings; raises ValueError where they make no sense."""

    def __init__(self, name: str, given: Mapping[str, Any], proof: str | None) -> None:
        self.name = name
        self.options, guidance = chosen_fields(name, given)
        self.guide: Waiting | None = waiting(guidance) if guidance.guide else None
        self.proof = None if proof is None else Path(proof)
        adapter(name)  # raises where it is not installed

    def solved(self, problems: Iterator[tuple[int, Instance]], stopped: Callable[[], bool]) -> Iterator[list[Answer]]:
        """Answers one by one; none for a search that was stopped."""
        settings = asdict(self.options)
        for line, instance in problems:
            try:
                found: Found = engines.solve(
                    instance, self.name, guide=self.guide, proof=self.proof, stopped=stopped, **settings
                )
            except Exception as error:  # of this instance, see `solve_batches`
                found = error
            if isinstance(found, Outcome) and found.status is Status.LIMIT and stopped():
                return
            yield [(line, instance, found)]

    def about_proof(self, instance: Instance, outcome: Outcome) -> str | None:
        """What became of the proof, in one line."""
        if self.proof is None:
            return None
        if outcome.status is not Status.UNSAT:
            return f"{self.proof}: not written, the answer is {outcome.status}: a proof is for UNSAT"
        about = "" if own_formula(instance) else f" of the formula in {formula_path(self.proof)}"
        return f"{self.proof}: a DRAT proof{about}"
