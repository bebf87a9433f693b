"""All that is compiled, compiled once: for an image, a class-room, a benchmark, the playground.

Each part runs a small thing as its users do, so that arguments have the types they have there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np

HARD = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."


def warm(playing: bool = False) -> Iterator[tuple[str, float]]:
    """Compile, or load, one thing after the other: (what it was, seconds). `playing`: what the playground needs."""
    parts: dict[str, Callable[[], object]] = {"tree search": _tree, "guides": _guides, "nogood search": _nogoods}
    parts |= {"squares": _squares} if playing else {}
    if not playing:
        parts |= {"proofs": _proofs, "generators": _generators, "training": _training}
    for name, part in parts.items():
        begin = perf_counter()
        part()
        yield name, perf_counter() - begin


def _tree() -> None:
    """The kernel has three forms: for groups that are swept or watched, and a rich one."""
    from dibs.problem import CNF, Sudoku
    from dibs.search.options import Options
    from dibs.search.tree.search import TreeSearch

    square = Sudoku.parse("." * 16)
    for instance, traced in ((square, False), (CNF(2, [[1, 2]]), False), (square, True)):
        TreeSearch([instance], Options(), traced=traced).run()


def _nogoods() -> None:
    from dibs.problem import Latin
    from dibs.session import Session
    from dibs.solving import solve

    for count in (1, 2):
        solve(Latin.parse("." * 16), strategy="nogoods", max_solutions=count)
    session = Session(Latin.parse("." * 16))
    session.solve(assume=["r1c1!=1"])
    session._search.cut_away()  # what hard calls have of their own
    session._search.rejoin()


def _proofs() -> None:
    from dibs.problem import CNF
    from dibs.search.drat import Drat
    from dibs.search.options import Options
    from dibs.search.tree.search import TreeSearch

    drat = Drat(len, np.array([1, -1]))
    drat.false(np.array([1]))
    TreeSearch([CNF(1, [[1]])], Options(), proof=drat).run()


def _guides() -> None:
    """The guide of the usual policies, what K steps do, and one that tries each literal first."""
    from dibs.problem import Sudoku
    from dibs.solving import solve

    solve(Sudoku.parse(HARD), policy="paper", steps=2, max_nodes=1)
    solve(Sudoku.parse(HARD), policy="guided", max_nodes=1)
    solve(Sudoku.parse(HARD), guide="relational-probing", max_nodes=1)


def _generators() -> None:
    from dibs.generate import canonical, latin, sudoku
    from dibs.generate.loops import tally_pair, tally_single
    from dibs.problem import Sudoku

    list(latin(1, order=4, holes=4, balanced=True))
    list(sudoku(1, box=(2, 2), kept=0.6, workers=1))
    canonical(Sudoku.parse(HARD))
    solutions, cells = np.zeros((0, 81), np.uint8), np.zeros(0, np.int64)
    tally_single(solutions, cells, np.zeros(0, np.uint8))
    tally_pair(solutions, cells, np.zeros((0, 0), np.uint8))


def _squares() -> None:
    """A race of Latin squares: made, and solved as by anybody."""
    from dibs.generate import latin
    from dibs.solving import solve

    solve(next(latin(1, order=16, holes=0.5, balanced=True)))


def _training() -> None:
    from dibs.guide.graph import graph
    from dibs.problem import Sudoku

    structure = Sudoku.parse("." * 16).structure
    graph(structure, np.ones((1, structure.literals), bool))
