"""Making instances: Sudokus, Latin squares, random k-SAT; searches for few givens, for hard and for doubted puzzles.

Numba is loaded when the first instance is made, not by this import.
"""

from dibs.generate.canonical import canonical
from dibs.generate.doubting import doubted
from dibs.generate.formulas import sat
from dibs.generate.hardening import hard
from dibs.generate.lowering import low_clue
from dibs.generate.squares import latin
from dibs.generate.sudokus import sudoku

__all__ = ["canonical", "doubted", "hard", "latin", "low_clue", "sat", "sudoku"]
