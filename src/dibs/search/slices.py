"""How much a search does between two looks at the clock and at Ctrl-C, and the largest numbers for kernels."""

from __future__ import annotations

QUICK, SLOW = 0.01, 0.02  # seconds of a slice: the next one is longer, or shorter
MOST = 2**62  # no search gets that far
LONGEST = 2**31  # nodes or failures of the shortest run: times the Luby sequence it must not overflow


def fitted(work: int, took: float, most: int) -> int:
    """Work of the next slice, where one with so much work took so many seconds; at most `most`."""
    if took > SLOW:
        return max(1, int(work * SLOW / took))
    return min(2 * work, most) if took < QUICK else work
