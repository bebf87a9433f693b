"""What a search did, for whoever looks at it."""

from __future__ import annotations

from dibs.compiled import part
from dibs.search.tree.planes import Flag, Int
from dibs.search.tree.state import EVENT, LOGGED, Searches


@part
def note(s: Searches, rich: Flag, kind: Int, what: Int) -> None:
    """Log an event, where events are wanted."""
    if rich is not None and len(s.log):
        s.log[s.counts[LOGGED]] = (kind << EVENT) | what
        s.counts[LOGGED] += 1
