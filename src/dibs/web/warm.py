"""What the first search would wait for: Numba, the compiled kernels, the usual guide."""

from __future__ import annotations

from dibs.guide.steps import compile_loops
from dibs.problem import CNF, Sudoku
from dibs.search.options import Options
from dibs.search.policy import POLICIES, waiting


def warm_up() -> None:
    from dibs.search.engine import Engine

    swept, watched = Sudoku.parse("." * 16), CNF(2, [[1, 2]])
    for instance in (swept, watched):  # the kernel has two forms, and each of them two
        for traced in (True, False):
            Engine([instance], Options(), traced=traced).run()
    waiting(POLICIES["paper"].guidance).load()
    compile_loops()
