"""The one interface between search and guidance: a batch of states goes out, scores come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dibs.problem.structure import Instance, Structure


@dataclass(frozen=True)
class Asks:
    """States that wait for a ranking: n searches over one structure with L literals."""

    structure: Structure
    instances: Sequence[Instance]  # [n] the instance that each search is about
    rows: NDArray[np.int64]  # [n] the engine's own number of each search
    open: NDArray[np.bool_]  # [n, L] literals that are neither true nor killed
    true: NDArray[np.bool_]  # [n, L] literals that are chosen or forced
    candidates: NDArray[np.bool_]  # [n, L] the open literals of the domain to branch on: the ones to be ordered
    depth: NDArray[np.int64]  # [n] decisions above the node
    selecting: bool = False  # the scores also choose the domain: they are read as log-probabilities, candidates are all

    def __len__(self) -> int:
        return len(self.rows)

    def checked(self, scores: Any) -> NDArray[Any]:
        """What a guide returned, as an array; refuses anything of another shape or kind than [n, L] real numbers."""
        found = np.asarray(scores)
        if found.shape != self.open.shape or found.dtype.kind not in "fiub":
            raise ValueError(
                f"the guide returned {found.dtype} of shape {found.shape}; "
                f"asked were real numbers of shape {self.open.shape}: a score for each literal of each state"
            )
        return found


@runtime_checkable
class Guide(Protocol):
    """Anything that can say what to try first.

    `rank` returns real numbers [n, L]; among the candidates of an ask the highest score is tried first, equal scores
    in ascending order, NaN last. A guide can only reorder: no score, however bad, changes an answer. Where a literal
    is decided by itself (it is in no decision group), a positive score tries it true first. Minus infinity for every
    candidate says that no order can help: the guide is not asked again below that state.

    If the attribute `static` is true, scores do not depend on the state and a search asks only once. The attribute
    `passes` says how many forward passes of a model one ask takes, for `Outcome.calls`; without it, none.
    """

    def rank(self, asks: Asks) -> NDArray[Any]: ...
