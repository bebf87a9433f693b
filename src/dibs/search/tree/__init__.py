"""The tree search: the paper's, with exact counters, in batches of thousands."""

import sys


def kernel_ready() -> bool:
    """Whether the kernel has been compiled, or loaded from the cache; False before the first search."""
    advance = getattr(sys.modules.get("dibs.search.tree.loop"), "advance", None)
    return advance is not None and bool(getattr(advance, "overloads", True))
