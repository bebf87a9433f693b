"""Numbers and errors as a line of text has them."""

from __future__ import annotations


def plural(count: int, what: str, form: str = "") -> str:
    """`1 node`, `31 nodes`; with the form "," also `1,234 nodes`."""
    return f"{count:{form}} {what}" + "s" * (count != 1)


def one_line(error: Exception) -> str:
    """What it says, without line breaks; the name of its kind where it says nothing."""
    return " ".join(str(error).split()) or type(error).__name__
