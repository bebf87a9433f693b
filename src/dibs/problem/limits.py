"""How much of an input is taken: a small file can unpack to gigabytes, and a line of a header can ask for as much."""

from __future__ import annotations

from dataclasses import dataclass

from dibs.ranges import check, option


@dataclass(frozen=True, kw_only=True)
class InputLimits:
    """Whatever is larger is refused in one line that names the limit. Characters are counted after unpacking.

    A list of puzzles may be of any length: it is read in constant memory.
    """

    max_line: int = option(1 << 20, "refuse input with a line of more characters", least=1)
    max_text: int = option(
        1 << 26, "refuse input with more characters in one formula, or from one puzzle to the next", least=1
    )
    max_variables: int = option(1_000_000, "refuse formulas with more variables", least=0, most=2**31 - 1)
    max_clause: int = option(1_000_000, "refuse formulas with a clause of more literals", least=0)

    def __post_init__(self) -> None:
        check(self)

    def excess(self, name: str, what: str) -> str:
        """What is said of input beyond a limit.

        Args:
            name: of the limit, a field.
            what: what there is too much of.

        Returns:
            A line that names the flag.
        """
        return f"more than {getattr(self, name):,} {what}; --{name.replace('_', '-')} N allows more"


DEFAULT = InputLimits()
