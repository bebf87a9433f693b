"""The policies as the Markdown table of docs/SEARCH.md: `python benchmarks/policies.py`."""

from __future__ import annotations

from dataclasses import asdict

from dibs import Options
from dibs.search.plan import Request
from dibs.search.policies import POLICIES


def table() -> list[str]:
    """A row for each policy, a column for each field that a policy changes; `-` where it is off."""
    plain = asdict(Options())
    fields = {name: asdict(Request(name).options) for name in POLICIES}
    always = ("level", "trigger")
    columns = [key for key in plain if key in always or any(row[key] != plain[key] for row in fields.values())]
    lines = ["| policy | " + " | ".join(f"`{key}`" for key in [*columns, "guide"]) + " |"]
    lines.append("|---" * (len(columns) + 2) + "|")
    for name, policy in POLICIES.items():
        guide = Request(name).guidance.guide
        cells = [fields[name][key] if guide or key != "trigger" else None for key in columns]
        shown = [_shown(cell) for cell in [*cells, guide]]
        lines.append(f"| `{name}`: {policy.help} | " + " | ".join(shown) + " |")
    return lines


def _shown(cell: str | float | None) -> str:
    return "-" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)


if __name__ == "__main__":
    print("\n".join(table()))
