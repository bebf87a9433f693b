"""Numbered pieces of work on threads, handed out in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from dibs.search.stream import threads

T = TypeVar("T")


def in_order(make: Callable[[Sequence[int]], list[T]], count: int, batch: int, workers: int | None) -> Iterator[T]:
    """`make` of the numbers 0..count-1, in batches that grow to `batch`, on `workers` threads (default: all cores)."""
    return _in_order(make, count, batch, threads(workers))


def _in_order(make: Callable[[Sequence[int]], list[T]], count: int, batch: int, workers: int) -> Iterator[T]:
    pending: deque[Future[list[T]]] = deque()
    first, size = 0, min(8, batch)
    with ThreadPoolExecutor(workers, thread_name_prefix="dibs") as pool:
        try:
            while first < count or pending:
                while first < count and len(pending) <= workers:
                    numbers = range(first, min(first + size, count))
                    pending.append(pool.submit(make, numbers))
                    first, size = numbers.stop, min(2 * size, batch)
                yield from pending.popleft().result()
        finally:  # a reader that stops early waits only for the batches that run already
            for future in pending:
                future.cancel()
