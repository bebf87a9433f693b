"""The text of a grid: which symbol is which value, and where the cells of a text are.

A cell is one character (`1`-`9`, `A`-`Z` for 10 to 35, `@` for 36), or a number where numbers are set apart by blanks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dibs.problem.text import InputError
from dibs.wording import plural

SYMBOLS = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ@"  # by value; 0 is a blank
BLANKS = ".0_-*?"
MOST_SYMBOLS = len(SYMBOLS) - 1
UNKNOWN = 255


def _values() -> bytes:
    table = bytearray([UNKNOWN] * 256)
    for value, symbol in enumerate(SYMBOLS):
        table[ord(symbol)] = table[ord(symbol.lower())] = value
    for blank in BLANKS:
        table[ord(blank)] = 0
    return bytes(table)


VALUE_OF = _values()  # for bytes.translate: character -> value, or UNKNOWN
SYMBOL_OF = SYMBOLS.encode().ljust(256, b"!")  # for bytes.translate: value -> character

# PLAIN[n]: every character that a cell of an n x n grid may have, for bytes.translate(None, PLAIN[n]) to delete.
PLAIN = [bytes(c for c in range(256) if VALUE_OF[c] <= n) for n in range(MOST_SYMBOLS + 1)]

_TOKEN = re.compile(r"[^\s|+,]+")
_NUMBER = re.compile(r"[0-9]{1,3}", re.ASCII)


class Cell(NamedTuple):
    text: str
    line: int
    column: int

    @property
    def value(self) -> int:
        """Its value, 0 for a blank, or -1 for a symbol that is none."""
        if len(self.text) == 1:
            code = ord(self.text)
            return VALUE_OF[code] if code < 256 and VALUE_OF[code] != UNKNOWN else -1
        return int(self.text) if _NUMBER.fullmatch(self.text) else -1

    def error(self, message: str) -> InputError:
        return InputError(message, line=self.line, column=self.column)


class Row(NamedTuple):
    """One line of text that has cells, as tokens between blanks and separators."""

    tokens: list[Cell]

    @property
    def dashes(self) -> bool:
        """A rule below a band of boxes, or a row of blanks: only the count of cells tells."""
        return all(set(token.text) == {"-"} for token in self.tokens)

    @property
    def numbers(self) -> bool:
        """Every token can be one cell."""
        return all(len(token.text) == 1 or _NUMBER.fullmatch(token.text) for token in self.tokens)

    @property
    def characters(self) -> int:
        return sum(len(token.text) for token in self.tokens)

    def cells(self, numbers: bool) -> list[Cell]:
        if numbers:
            return self.tokens
        return [Cell(c, line, column + i) for text, line, column in self.tokens for i, c in enumerate(text)]


def without_comment(line: str) -> str:
    return line[: line.index("#")] if "#" in line else line


def is_rule(line: str) -> bool:
    """`------+-------+------`, `=======`: what is drawn between boxes and can be nothing else."""
    marks = set(line) - set(" \t\r\n")
    return marks <= set("+=-|:") and bool(marks & set("+="))


def scan(text: str) -> list[Row]:
    """The rows of cells of a text, without comments and rules."""
    rows = []
    for number, whole in enumerate(text.split("\n"), 1):
        line = without_comment(whole)
        if not is_rule(line):
            tokens = [Cell(found.group(), number, found.start() + 1) for found in _TOKEN.finditer(line)]
            if tokens:
                rows.append(Row(tokens))
    return rows


def arrange(rows: Sequence[Row], fits: Callable[[int], bool]) -> list[Cell] | None:
    """The cells of a grid, in the first reading whose count `fits`, or None.

    Numbers come before characters: a text whose tokens are all numbers and are as many as a grid has cells is no
    accident. Lines of dashes are rows of blanks if they fit as such, otherwise rules.
    """
    undashed = [row for row in rows if not row.dashes]
    for numbers in (True, False):
        for kept in (rows, undashed):
            if not numbers or all(row.numbers for row in kept):
                cells = [cell for row in kept for cell in row.cells(numbers)]
                if fits(len(cells)):
                    return cells
    return None


def misfit(rows: Sequence[Row], explain: Callable[[int], str]) -> InputError:
    """Why no reading of the rows fits; `explain` says what is wrong with a count of cells."""
    if not rows:
        return InputError("no cells: the text is empty")
    kept = [row for row in rows if not row.dashes] or rows
    # Pieces of three digits are the boxes of a 9x9 grid rather than numbers; no row of numbers is that short.
    numbers = all(row.numbers for row in kept) and max(len(row.tokens) for row in kept) >= 4
    counts = [len(row.cells(numbers)) for row in kept]
    message = explain(sum(counts))
    usual, times = Counter(counts).most_common(1)[0]
    odd = next((i for i, count in enumerate(counts) if count != usual), -1)
    if odd >= 0 and times > 1:
        message += f"; this row has {plural(counts[odd], 'cell')}, most have {usual}"
    return kept[odd].cells(numbers)[-1].error(message)


def symbol_of(value: int, size: int) -> str:
    """How a value is written in messages."""
    return SYMBOLS[value] if size <= MOST_SYMBOLS else str(value)


def alphabet(size: int) -> str:
    """What a cell may hold, in words."""
    if size <= 9:
        return f"1-{size}, or . for a blank"
    if size > MOST_SYMBOLS:
        return f"1-{size}, or . for a blank"
    return f"1-{size}, with {SYMBOLS[10 : size + 1]} for 10 and up, or . for a blank"
