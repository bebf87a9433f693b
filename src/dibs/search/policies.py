"""Policies: ways to search by name, and what they give to each search. Data, no code of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, NamedTuple

from dibs.problem.structure import Structure

PolicyName = Literal["auto", "guided", "paper", "plain"]

RUN = 256  # failures of the shortest run of the nogood search, by default
BOUNDED_RUN = 32  # where groups have bounds
PROOF_RUN = 4000  # of Sudokus, where more than one solution is asked for: most often there is none to be lucky with


class Shares(NamedTuple):
    """What policies `auto` and `guided` give to each search, in nodes, for problems of up to so many cells."""

    cells: float
    tree: float  # of the tree search before the nogood search takes over
    guide_after: int  # of the nogood search before its guide comes in


# Of grids: a node costs more in a larger one, and a nogood is worth more. 10x10, 16x16, and what is larger.
BY_SIZE = (Shares(100, inf, 1_000), Shares(256, 100, 1_000), Shares(inf, 0, 96))
OWN_TREE = 1_000  # `Shares.tree` of a user's own problem


def shares(structure: Structure) -> Shares:
    """Those of a problem, by its family and size."""
    found = next(one for one in BY_SIZE if structure.decisions <= one.cells)
    if structure.family in ("sudoku", "latin"):
        return found
    return found._replace(tree=OWN_TREE if structure.family == "problem" else inf)


def shortest_run(structure: Structure, solutions: int) -> int:
    """Failures of the shortest run of the nogood search, where so many solutions are asked for."""
    if structure.bounded:
        return BOUNDED_RUN
    return PROOF_RUN if structure.family == "sudoku" and solutions > 1 else RUN


@dataclass(frozen=True)
class Policy:
    """A way to search by name: data, no code."""

    help: str
    fields: Mapping[str, Any]


_PLAIN = {"level": "hidden", "tie": "impact"}
_GUIDED = {**_PLAIN, "select": "confident", "reuse": 0.9, "strategy": "restarts", "guide": "auto"}

POLICIES: Mapping[str, Policy] = {
    "auto": Policy(
        "plain search; a guided one beside it once an instance has proved to be hard; nogoods in large grids, "
        "and in formulas until CaDiCaL takes over",
        {**_GUIDED, "guide_after": 1_000},
    ),
    "guided": Policy("guided from the first node on, asked rarely, with restarts", _GUIDED),
    "paper": Policy(
        "DiBS as in the paper: asked about the order of two values, depth first",
        {"level": "naked", "trigger": "binary", "guide": "relational"},
    ),
    "plain": Policy("classical search, no guide", _PLAIN),
}
FREE = ("auto", "guided")  # policies that choose the search by the problem
