"""The instances of an experiment: a list, a sample of it, relabelled, with more givens; or generated; all by seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from pathlib import Path

import numpy as np

from dibs.bench.experiment import PUZZLES, Choice
from dibs.lists import LISTS, path_of
from dibs.problem import InputError, Instance, Sudoku, read_instances

FORMULAS = 1000  # of each size or kind, unless `sample` says otherwise
BUNDLED = {"sample17": "sample17.txt", "hard300": "hard300.txt", "doubted": "doubted.txt.xz"}


@dataclass(frozen=True)
class Instances:
    """What is searched. `number`, `givens`, `variables` and `kind` say where each comes from."""

    every: Sequence[Instance]
    number: Sequence[int]  # its place in the list, from 0; of a formula, among those of its kind
    givens: Sequence[int]  # its number of givens, where the experiment asks for that; otherwise 0
    variables: Sequence[int]  # of a generated formula; otherwise 0
    kind: Sequence[str]  # the label of a generated one's kind; of others, and of formulas by `variables`, empty
    digest: str  # of the problems: runs with the same rows and the same digest have the same counts

    def __len__(self) -> int:
        return len(self.every)


def chosen(choice: Choice) -> Instances:
    """The instances that a choice stands for; the first bad one raises."""
    if choice.kinds():
        return generated(choice)
    assert not isinstance(choice.sample, tuple), "that is about generated instances"
    every = load(choice.puzzles or PUZZLES)
    number = np.arange(len(every))
    if choice.sample is not None and choice.sample < len(every):
        rng = np.random.default_rng(choice.seed)
        number = np.sort(rng.choice(len(every), choice.sample, replace=False))
    some: Sequence[Instance] = [every[i] for i in number.tolist()]
    if choice.relabel is not None:
        some = relabelled(some, choice.relabel)
    buckets = [0] * len(some)
    if choice.givens is not None:
        buckets = np.repeat(choice.givens, len(some)).tolist()
        some = [one for givens in choice.givens for one in revealed(some, givens, choice.seed)]
        number = np.tile(number, len(choice.givens))
    return Instances(some, number.tolist(), buckets, [0] * len(some), [""] * len(some), _digest(some))


def generated(choice: Choice) -> Instances:
    """So many instances of each kind. More of them begin with the same ones.

    Formulas by `variables` have different clauses, about as many as half of all formulas can bear: the sets of the
    paper's Table 3.
    """
    kinds = choice.kinds()
    count = choice.sample or FORMULAS
    counts = count if isinstance(count, tuple) else (count,) * len(kinds)
    parts = [list(kind.made(count, seed)) for (kind, seed), count in zip(kinds, counts, strict=True)]
    some = [one for part in parts for one in part]
    owner = [kind for (kind, _), part in zip(kinds, parts, strict=True) for _ in part]
    return Instances(
        every=some,
        number=[i for part in parts for i in range(len(part))],
        givens=[0] * len(some),
        variables=[kind.variables or 0 for kind in owner],
        kind=[kind.label if choice.kind else "" for kind in owner],
        digest=_digest(some),
    )


def _digest(some: Sequence[Instance]) -> str:
    return hashlib.sha256("\n".join(one.line() for one in some).encode()).hexdigest()[:16]


def load(puzzles: str, most: int | None = None) -> list[Instance]:
    """The instances of a bundled or fetched list, or of a file; the first bad one raises."""
    found: list[Instance] = []
    for _, item in islice(read_instances(_source(puzzles)), most):
        if isinstance(item, InputError):
            raise item
        found.append(item)
    return found


def _source(puzzles: str) -> str:
    if puzzles in BUNDLED:
        return str(files("dibs") / "data" / BUNDLED[puzzles])
    return str(path_of(puzzles)) if puzzles in LISTS and not Path(puzzles).exists() else puzzles


def relabelled(instances: Sequence[Instance], seed: int) -> list[Instance]:
    """Each Sudoku under a random symmetry of its shape: lists are often in canonical form. Others stay as they are."""
    from dibs.generate.canonical import shuffled

    rng = np.random.default_rng(seed)
    return [
        Sudoku._of(one.shape, shuffled(one.values[None], rng, one.shape)[0]) if isinstance(one, Sudoku) else one
        for one in instances
    ]


def revealed(instances: Sequence[Instance], givens: int, seed: int) -> list[Instance]:
    """The same Sudokus with cells of their solutions revealed, until there are so many givens.

    Which cells come first depends on the seed only: a puzzle with 20 givens has those that it has with 19.
    """
    from dibs.solving import solve_together

    found: list[Instance] = []
    for one, outcome in zip(instances, solve_together(instances, policy="plain"), strict=True):
        if not isinstance(one, Sudoku) or outcome.solution is None:
            raise InputError("givens can be added to Sudokus with a solution only")
        rng = np.random.default_rng([seed, len(found)])
        values = np.array(one.values)
        blank = rng.permutation(np.flatnonzero(values == 0))
        missing = givens - (len(values) - len(blank))
        if not 0 <= missing <= len(blank):
            raise InputError(f"a puzzle with {len(values) - len(blank)} givens cannot have {givens}")
        values[blank[:missing]] = Sudoku.parse(outcome.solution, one.box).values[blank[:missing]]
        found.append(Sudoku._of(one.shape, values))
    return found
