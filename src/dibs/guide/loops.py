"""The loops of a guide, compiled: softmax over cells, and what K steps keep. Lists are `Lists` of relations."""

from __future__ import annotations

import numpy as np

from dibs.compiled import entry, part

LEAST = 1e-30  # of a probability whose logarithm is taken


@entry()
def normalise(logits, open_, true, cell_start, cell_item, free):  # type: ignore[no-untyped-def]
    """Log of the softmax of `logits` [n, L] in each cell over its open literals; 0 where true, -inf elsewhere.

    In a cell that is `free` the softmax is also over "none of them", whose logit is 0.
    Returns (float32 [n, L], whether all logits of open literals are finite numbers).
    """
    found = np.full(open_.shape, -np.inf, np.float32)
    finite = True
    for s in range(len(open_)):
        for c in range(len(cell_start) - 1):
            top = 0.0 if free[c] else -np.inf
            for i in range(cell_start[c], cell_start[c + 1]):
                v = cell_item[i]
                if open_[s, v]:
                    finite = finite and np.isfinite(logits[s, v])
                    top = max(top, logits[s, v])
            total = np.exp(-top) if free[c] else 0.0
            for i in range(cell_start[c], cell_start[c + 1]):
                v = cell_item[i]
                if open_[s, v]:
                    total += np.exp(logits[s, v] - top)
            for i in range(cell_start[c], cell_start[c + 1]):
                v = cell_item[i]
                if open_[s, v]:
                    found[s, v] = logits[s, v] - top - np.log(total)
                elif true[s, v]:
                    found[s, v] = 0
    return found, finite


@entry()
def temper(found, possible, a, b, cell_start, cell_item, free):  # type: ignore[no-untyped-def]
    """Calibrate, in place: `found` [n, L], log-probabilities over the literals `possible` [n, L] of each cell.

    A state's temperature is exp(a + b u), where u is 1 - the probability of a cell's first value, averaged over the
    cells: the less a network knows about a state, the less its confidence is worth. Orders within a cell stay.
    """
    for s in range(len(found)):
        doubt, cells = 0.0, 0
        for c in range(len(cell_start) - 1):
            top = -np.inf
            for i in range(cell_start[c], cell_start[c + 1]):
                if possible[s, cell_item[i]]:
                    top = max(top, found[s, cell_item[i]])
            if top > -np.inf:
                first = np.exp(top)
                doubt += 1 - (max(first, 1 - first) if free[c] else first)
                cells += 1
        if cells == 0:
            continue
        scale = np.exp(-a - b * doubt / cells)
        for c in range(len(cell_start) - 1):
            top, total = -np.inf, 0.0
            for i in range(cell_start[c], cell_start[c + 1]):
                if possible[s, cell_item[i]]:
                    top = max(top, scale * found[s, cell_item[i]])
            if free[c] and top > -np.inf:  # one literal: what is left is for none of them
                none = scale * np.log(max(1 - np.exp(top / scale), LEAST))
                top = max(top, none)
                total = np.exp(none - top)
            for i in range(cell_start[c], cell_start[c + 1]):
                if possible[s, cell_item[i]]:
                    total += np.exp(scale * found[s, cell_item[i]] - top)
            for i in range(cell_start[c], cell_start[c + 1]):
                v = cell_item[i]
                if possible[s, v]:
                    found[s, v] = scale * found[s, v] - top - np.log(total)


@entry()
def open_cells(open_, cell_start, cell_item, free):  # type: ignore[no-untyped-def]
    """[n] how many cells have an open literal and may not stay empty."""
    count = np.zeros(len(open_), np.int64)
    for s in range(len(open_)):
        for c in range(len(cell_start) - 1):
            for i in range(cell_start[c], cell_start[c + 1]):
                if open_[s, cell_item[i]] and not free[c]:
                    count[s] += 1
                    break
    return count


@entry()
def keep_surest(  # type: ignore[no-untyped-def]
    found, open_, true, candidates, wanted, cell_start, cell_item, free, member_start, member, group_start, group
):
    """Make the next query of each state from `found` [n, L], in place: open_ and true [n, L].

    `wanted` [n]: how many cells are kept now, the surest first, each with its likeliest literal; a cell whose likeliest
    literal is excluded by a surer or an earlier one is passed over, and so are the cell of `candidates` [n, L] and
    those that are `free` to stay empty. Returns [n] how many cells were kept.
    """
    kept = np.zeros(len(open_), np.int64)
    cells = len(cell_start) - 1
    confidence, best = np.empty(cells), np.empty(cells, np.int64)
    for s in range(len(open_)):
        for c in range(cells):
            confidence[c], best[c] = -np.inf, -1
            for i in range(cell_start[c], cell_start[c + 1]):
                v = cell_item[i]
                if candidates[s, v] or free[c]:
                    best[c] = -1
                    break
                if open_[s, v] and (best[c] < 0 or found[s, v] > confidence[c]):
                    confidence[c], best[c] = found[s, v], v
            if best[c] < 0:
                confidence[c] = -np.inf
        before = open_[s].copy()
        taken = np.zeros(len(member_start) - 1, np.bool_)
        for v in np.flatnonzero(true[s]):
            for i in range(group_start[v], group_start[v + 1]):
                taken[group[i]] = True
        for c in np.argsort(-confidence, kind="mergesort"):
            v = best[c]
            if v < 0 or kept[s] >= wanted[s]:
                continue
            agreed = True
            for i in range(group_start[v], group_start[v + 1]):
                agreed = agreed and not taken[group[i]]
            if agreed:
                kept[s] += 1
                _close(open_[s], v, c, taken, cell_start, cell_item, member_start, member, group_start, group)
                true[s, v] = True
        _restore(open_[s], true[s], before, cell_start, cell_item, free)
    return kept


@part
def _close(open_, v, c, taken, cell_start, cell_item, member_start, member, group_start, group):  # type: ignore[no-untyped-def]
    """The literal v of cell c is kept: it and all that it excludes are not open any more."""
    for i in range(cell_start[c], cell_start[c + 1]):
        open_[cell_item[i]] = False
    for i in range(group_start[v], group_start[v + 1]):
        taken[group[i]] = True
        for j in range(member_start[group[i]], member_start[group[i] + 1]):
            open_[member[j]] = False


@part
def _restore(open_, true, before, cell_start, cell_item, free):  # type: ignore[no-untyped-def]
    """A cell that lost all its literals though none was kept gets them back."""
    for c in range(len(cell_start) - 1):
        alive = free[c]
        for i in range(cell_start[c], cell_start[c + 1]):
            v = cell_item[i]
            alive = alive or open_[v] or true[v]
        if not alive:
            for i in range(cell_start[c], cell_start[c + 1]):
                open_[cell_item[i]] = before[cell_item[i]]
