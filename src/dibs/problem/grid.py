"""What Sudokus and Latin squares share: a Latin square is a Sudoku without boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dibs.dtypes import Values
from dibs.problem import batch
from dibs.problem.filled import Filled
from dibs.problem.shape import Box, Shape, shape
from dibs.problem.structure import Instance, Structure
from dibs.problem.symbols import (
    MOST_SYMBOLS,
    PLAIN,
    SYMBOL_OF,
    VALUE_OF,
    Cell,
    alphabet,
    arrange,
    misfit,
    scan,
    symbol_of,
)
from dibs.problem.text import InputError
from dibs.wording import plural


class Grid(Instance):
    """An n x n grid of values 1..n, some of them given. Immutable; equal by content.

    `values` is uint8 [n * n], row by row, 0 for a blank.
    """

    __slots__ = ("shape", "values")
    shape: Shape
    values: Values

    title: ClassVar[str]  # how messages call the family
    lettered: ClassVar[int]  # the largest size that is written with one character for each cell

    def __init__(self, values: ArrayLike, box: Box | None = None) -> None:
        """Check size and range; equal givens in a unit are allowed here (such a grid has no solution)."""
        array = np.array(values).ravel()
        self.shape = self.shape_of(len(array), box)
        if array.dtype.kind == "f" and np.isin(array, np.arange(self.size + 1)).all():  # what np.zeros makes
            array = array.astype(np.int64)
        if not np.issubdtype(array.dtype, np.integer) or array.min() < 0 or array.max() > self.size:
            raise InputError(f"the values of a {self._name(self.size)} are whole numbers 0..{self.size}")
        self.values = array.astype(np.uint8)
        self.values.flags.writeable = False

    @classmethod
    def _of(cls, of: Shape, values: Values) -> Self:
        """Without any check; `values` must not be changed any more."""
        grid = cls.__new__(cls)
        grid.shape = of
        grid.values = values
        return grid

    @classmethod
    def known(cls, cells: int, box: Box | None) -> Shape | str:
        """The shape of a grid with so many cells, or why there is none."""
        raise NotImplementedError

    @classmethod
    def shape_of(cls, cells: int, box: Box | None) -> Shape:
        """`known`, or InputError."""
        found = cls.known(cells, box)
        if isinstance(found, str):
            raise InputError(found)
        return found

    @classmethod
    def fitting(cls, box: Box | None) -> Callable[[int], bool]:
        """Whether so many cells make a grid."""
        return lambda cells: isinstance(cls.known(cells, box), Shape)

    @classmethod
    def _name(cls, size: int) -> str:
        return f"{size}x{size} {cls.title}"

    @property
    def size(self) -> int:
        return self.shape.size

    @property
    def structure(self) -> Structure:
        return self.shape.structure

    @property
    def given(self) -> NDArray[np.int64]:
        cells = self.values.nonzero()[0]
        return cells * self.size + self.values[cells] - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grid):
            return NotImplemented
        return self.shape is other.shape and self.values.tobytes() == other.values.tobytes()

    def __hash__(self) -> int:
        return hash((self.size, self.shape.box, self.values.tobytes()))

    def __repr__(self) -> str:
        return f"<{self._name(self.size)}, {np.count_nonzero(self.values)} givens>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.size, self.shape.box, self.values.tobytes())

    # Text to grid

    @classmethod
    def _parse(cls, text: str | ArrayLike, box: Box | None, repeats: bool = False) -> Self:
        if not isinstance(text, str):
            return cls._of_array(text, box, repeats)
        quick = cls._plain(text.strip(), box)
        if quick is not None:
            of, values = quick
            if repeats or not of.repeats(values):
                return cls._of(of, values)
        rows = scan(text)
        cells = arrange(rows, cls.fitting(box))
        if cells is None:
            raise misfit(rows, lambda count: str(cls.known(count, box)))
        of = cls.shape_of(len(cells), box)
        values = cls._read(cells, of.size)
        if not repeats and of.repeats(values):
            raise cls._repetition(of, values, cells)
        return cls._of(of, values)

    @classmethod
    def _of_array(cls, values: ArrayLike, box: Box | None, repeats: bool) -> Self:
        """Numbers in place of a text, 0 for a blank."""
        try:
            array = np.array(values)
        except ValueError:
            raise InputError("the rows of an array are all of one length") from None
        if not array.ndim:
            raise TypeError(f"{values!r} is neither a text nor an array of numbers")
        array = array.ravel()
        grid = cls(array) if box is None else cls(array, box)
        if not repeats and grid.shape.repeats(grid.values):
            found = cls._repetition(grid.shape, grid.values, [Cell(str(v), 1, i + 1) for i, v in enumerate(array)])
            raise InputError(found.message)
        return grid

    @classmethod
    def _plain(cls, text: str, box: Box | None) -> tuple[Shape, Values] | None:
        """Shape and values of a text that is nothing but one character for each cell; no other check."""
        of = cls.known(len(text), box)
        if isinstance(of, str) or of.size > MOST_SYMBOLS or not text.isascii():
            return None
        raw = text.encode("ascii")
        if raw.translate(None, PLAIN[of.size]):
            return None
        return of, np.frombuffer(raw.translate(VALUE_OF), np.uint8)

    @classmethod
    def _read(cls, cells: Sequence[Cell], size: int) -> Values:
        values = np.zeros(len(cells), np.uint8)
        for i, cell in enumerate(cells):
            value = cell.value
            if not 0 <= value <= size:
                raise cell.error(f"'{cell.text}' is not a value of a {cls._name(size)} ({alphabet(size)})")
            values[i] = value
        values.flags.writeable = False
        return values

    @classmethod
    def _repetition(cls, of: Shape, values: Values, cells: Sequence[Cell]) -> InputError:
        """The first two equal givens."""
        first, cell, kind = next(repetitions(of, values))
        square = "; if it is a Latin square, use --family latin" if kind == 2 else ""
        return cells[cell].error(f"{both_are(of, values, first, cell)}{square}")

    @classmethod
    def many(cls, texts: Sequence[str], box: Box | None = None, repeats: bool = False) -> list[Self | InputError]:
        """`parse` of each text, or its error; one-line texts of one size take about 1 us each."""
        found: list[Self | InputError] = []
        for text, values in zip(texts, cls._plain_many(texts, box), strict=True):
            if values is not None:
                found.append(values)
                continue
            try:
                found.append(cls._parse(text, box, repeats))
            except InputError as error:
                found.append(error)
        return found

    @classmethod
    def _plain_many(cls, texts: Sequence[str], box: Box | None) -> Sequence[Self | None]:
        """The texts that are plain and right, if all are equally long; None where `parse` has to look."""
        nothing = [None] * len(texts)
        if len(texts) < 2 or len(set(map(len, texts))) > 1:
            return nothing
        of = cls.known(len(texts[0]), box)
        values = None if isinstance(of, str) else batch.values_of(of, texts)
        if isinstance(of, str) or values is None:
            return nothing
        right = batch.sound(of, values)
        return [cls._of(of, row) if ok else None for row, ok in zip(values, right, strict=True)]

    # Grid to literals and to text

    @classmethod
    def givens(cls, instances: Sequence[Self]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        of, values = instances[0].shape, cls._stacked(instances)
        grid, cell = values.nonzero()
        return grid, cell * of.size + values[grid, cell] - 1

    @classmethod
    def solutions(cls, instances: Sequence[Self], true: Sequence[NDArray[np.int64]]) -> list[Any]:
        of = instances[0].shape
        if of.size > cls.lettered:
            return super().solutions(instances, true)
        # Literals go cell by cell, so ascending literals are the cells in order.
        one = true[0] if len(true) == 1 else np.concatenate(true)
        text = (one % of.size + 1).astype(np.uint8).tobytes().translate(SYMBOL_OF).decode("ascii")
        return [Filled(text[i : i + of.cells]) for i in range(0, len(text), of.cells)]

    @classmethod
    def _stacked(cls, instances: Sequence[Self]) -> Values:
        """uint8 [k, n * n] the values of k grids of one shape."""
        joined = b"".join([instance.values.tobytes() for instance in instances])
        return np.frombuffer(joined, np.uint8).reshape(len(instances), -1)

    def decode(self, literals: NDArray[np.int64]) -> Filled:
        values = np.zeros(self.shape.cells, np.uint8)
        values[literals // self.size] = literals % self.size + 1
        return Filled(self._write(values))

    def line(self, solution: str | None = None) -> str:
        return self._write(self.values) if solution is None else solution

    def _write(self, values: Values) -> str:
        if self.size <= self.lettered:
            return values.tobytes().translate(SYMBOL_OF).decode("ascii")
        return " ".join(str(value) if value else "." for value in values.tolist())

    def format(self, solution: str | None = None) -> str:
        n = self.size
        values = self.values if solution is None else self._solution_array(solution)
        width = len(str(n))
        shown = [(str(value) if value else ".").rjust(width) for value in values.tolist()]
        rows, wide = self.shape.box or (n, n)
        dashes = wide * (width + 1)
        rule = "+".join(["-" * dashes, *["-" * (dashes + 1)] * (n // wide - 2), "-" * dashes])
        lines = []
        for row in range(n):
            if row and row % rows == 0:
                lines.append(rule)
            cells = shown[row * n : row * n + n]
            lines.append(" | ".join(" ".join(cells[i : i + wide]) for i in range(0, n, wide)))
        return "\n".join(lines)

    # Checking: shares nothing with the structure that the kernel searches

    def _solution_array(self, solution: str) -> NDArray[np.integer[Any]]:
        """[cells] its values; what is no symbol is none that a grid may have."""
        if self.size > self.lettered:
            return np.array([Cell(part, 1, 1).value for part in solution.split()], np.int64)
        return np.frombuffer(solution.encode("latin-1", "replace").translate(VALUE_OF), np.uint8)

    def _solution_values(self, solution: str) -> list[int]:
        values: list[int] = self._solution_array(solution).tolist()
        return values

    def violation(self, solution: str) -> str | None:
        n, values = self.size, self._solution_values(solution)
        if len(values) != n * n:
            return f"{plural(len(values), 'cell')} instead of {n * n}"
        for i, (value, given) in enumerate(zip(values, self.values.tolist(), strict=True)):
            if not 1 <= value <= n:
                return f"{cell_name(i, n)} has no value 1..{n}"
            if given and value != given:
                return f"{cell_name(i, n)} is {symbol_of(value, n)}, but {symbol_of(given, n)} is given"
        for name, cells in self._named_units():
            missing = set(range(1, n + 1)) - {values[cell] for cell in cells}
            if missing:
                return f"{name} has no {symbol_of(min(missing), n)}"
        return None

    def _named_units(self) -> list[tuple[str, list[int]]]:
        n = self.size
        named = [(f"row {r + 1}", [r * n + c for c in range(n)]) for r in range(n)]
        named += [(f"column {c + 1}", [r * n + c for r in range(n)]) for c in range(n)]
        if self.shape.box:
            rows, wide = self.shape.box
            corners = [(r, c) for r in range(0, n, rows) for c in range(0, n, wide)]
            for number, (top, left) in enumerate(corners, 1):
                cells = [(top + r) * n + left + c for r in range(rows) for c in range(wide)]
                named.append((f"box {number}", cells))
        return named

    @classmethod
    def violations(cls, instances: Sequence[Any], solutions: Sequence[Any]) -> list[str | None]:
        """`violation` for many; about 1 us each where all are of one shape and right."""
        if not instances or len({id(instance.shape) for instance in instances}) > 1:
            return super().violations(instances, solutions)
        of: Shape = instances[0].shape
        if len(instances) == 1 and of.size <= cls.lettered:
            [instance], [solution] = instances, solutions
            right = batch.solved_one(of, instance.values, instance._solution_array(solution))
            return [None if right else instance.violation(solution)]
        values = batch.values_of(of, solutions) if of.size <= cls.lettered else None
        if values is None:
            return super().violations(instances, solutions)
        checked = zip(instances, solutions, batch.solved(of, cls._stacked(instances), values), strict=True)
        return [None if ok else instance.violation(solution) for instance, solution, ok in checked]


def cell_name(cell: int, size: int) -> str:
    return f"r{cell // size + 1}c{cell % size + 1}"


def repetitions(of: Shape, values: Values) -> Iterator[tuple[int, int, int]]:
    """Two cells with equal givens, and the kind of their unit: rows (0) before columns before boxes."""
    for kind in range(of.units.shape[1]):
        seen: dict[tuple[int, int], int] = {}
        for cell in values.nonzero()[0].tolist():
            first = seen.setdefault((int(of.units[cell, kind]), int(values[cell])), cell)
            if first != cell:
                yield first, cell, kind


def both_are(of: Shape, values: Values, one: int, other: int) -> str:
    """`r1c1 and r1c5 are both 7`."""
    both = f"{cell_name(one, of.size)} and {cell_name(other, of.size)}"
    return f"{both} are both {symbol_of(int(values[one]), of.size)}"


def _restore(cls: type[Grid], size: int, box: Box | None, values: bytes) -> Grid:
    return cls._of(shape(size, box), np.frombuffer(values, np.uint8))
