"""What one page may use. Every number here holds for each request; together they bound the whole server."""

from __future__ import annotations

BODY = 64 * 1024  # bytes of a request
HEAD_SECONDS = 10.0  # that the first lines of a request may take to arrive
BODY_SECONDS = 10.0  # and the rest of it
LARGEST = 16  # rows of a Sudoku
VARIABLES = 50  # of a formula
CLAUSES = 1_000
NODES, MOST_NODES = 100_000, 250_000  # of a search, by default and at most
SECONDS, MOST_SECONDS = 30.0, 30.0  # of search and guide
ORDER, SQUARE_SECONDS = 40, 20.0  # of a Latin square, and of each of the two that fill it
WHY_SECONDS = 10.0  # to say why there is no solution
MOST_STEPS = 8  # denoising steps that are shown
SEED = 2**53 - 1  # the largest whole number that a page can write exactly

CONNECTIONS = 1_000  # at once; more are told to come back
ACTIVE = 128  # searches that share the cores; others wait until one of them is done
HEAVY = 2  # exports at once: they keep whole trees
MAKING = 1  # puzzles that are generated at once: that cannot be put aside
SQUARES = 2  # races of Latin squares at once: one of the two may be a process of its own
SLICE = 0.01  # seconds that a search runs while others wait for a core
BATCH = 2_000  # nodes of one event
UNREAD = 8  # batches that a search is ahead of its reader
PATIENCE = 30.0  # seconds that a search waits for a reader who does not read
BEAT = 0.1  # seconds between two looks at the counters
SIBLING = 1_000  # nodes after which an export gives up measuring a branch that was not entered
