"""What a search did and what a guide said, looked at closely: for explain, the playground, eval and experiments.

`ledger`: where the nodes of a search went; `siblings`: what it would cost to enter a value; `listener` and `witness`:
guides under observation; `judge`: what they said, held against the solution; `explain`: a search done as `solve` would.
"""
