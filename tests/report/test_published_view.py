"""The view of published sets: what is solved within a time, by CPU time, beside published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handmade import made

from dibs.report.section import Section
from dibs.report.views import section

CLASSES: tuple[dict[str, Any], ...] = ({"order": 50, "filled": 0.6}, {"order": 50, "filled": 0.7}, {})
LABELS = ("qwh 50, 60 % filled", "qwh 50, 70 % filled", "color03")
CELLS = [{"family": "published", "set": "qwh" if said else "color03", **said} for said in CLASSES]


def shown(folder: Path, **rows: list[dict[str, Any]]) -> Section:
    told = [{"name": row, "options": {"seconds": 100}, "guidance": {}, "asked": "everywhere"} for row in rows]
    return section(made(folder, "published", rows, choice={"kind": CELLS}, rows=told))


def search(label: str, cpu: float, status: str = "SAT", seconds: float = 9.0) -> dict[str, Any]:
    return {"kind": label, "cpu_seconds": cpu, "status": status, "search_seconds": seconds}


def test_shares_by_cpu_time(tmp_path: Path) -> None:
    first, second, third = LABELS
    ours = [search(first, 0.5), search(first, 20.0), search(second, 5.0), search(second, 99.0, "LIMIT")]
    theirs = [search(first, 50.0), search(first, 40.0, "LIMIT"), search(second, 0.0), search(second, 2.0)]
    ours.append(search(third, 0.1))
    theirs.append(search(third, 0.2))
    sixty, seventy, color, pooled = shown(tmp_path, ours=ours, theirs=theirs).tables
    assert [line.cells for line in sixty.lines] == [
        ("ours", "50 %", "50 %", "100 %", "10.2", "19", "0"),
        ("theirs", "0 %", "0 %", "≥ 50 %", "≥ 45", "≥ 49.5", "1"),  # given up after 40 seconds of CPU time
    ]
    assert [line.cells for line in seventy.lines] == [
        ("ours", "0 %", "50 %", "50 %", "≥ 52", "≥ 94.3", "1"),
        ("theirs", "0 %", "100 %", "100 %", "5.5", "8.65", "0"),  # without CPU time it is the clock's
        ("MMCOL, published", "-", "1.767 %", "-", "-", "-", "-"),
        ("FastLSC, published", "-", "17.97 %", "-", "-", "-", "-"),
        ("SRLS, published", "-", "72.97 %", "-", "-", "-", "-"),
    ]
    assert [column.name for column in color.columns][-4:] == ["1,000 s", "mean, s", "p95, s", "LIMIT"]
    assert color.lines[-1].cells[:5] == ("SRLS, published", "-", "-", "-", "92.8 %")
    assert pooled.title == "Made: 4 of qwh 50", "both classes together"
    assert pooled.lines[0].cells[:5] == ("ours", "25 %", "50 %", "75 %", "≥ 75 %")
    assert [line.quiet for line in pooled.lines] == [False, False, True, True, True]
