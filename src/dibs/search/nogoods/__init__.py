"""The nogood search: what failed together is noted as a nogood, and the search jumps back to where that matters.

Pure functions on arrays, compiled by Numba, on one problem cut down to what its root leaves open. A *nogood* is a set
of literals that cannot all be true. Every reason is such a set: a literal is false because a true one excludes it, or
because a nogood lacks only it; a literal is true because the rest of a group that needs one is false.

A file for each verb; `loop.py` is the table of contents. Nothing is recursive, nothing is allocated per node, and a
search can be put aside and taken up again.
"""
