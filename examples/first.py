"""The five lines of the README: `python examples/first.py`."""

import dibs
from dibs.generate import latin

# A Latin square of order 40 with 41 % of its cells blank, solved and checked.
square = next(latin(1, order=40, holes=0.41, balanced=True, seed=1))
outcome = dibs.solve(square)
print(outcome.status, f"{outcome.nodes:,} nodes, {outcome.seconds:.2f} s")

# A problem of your own: four guests, two tables, no more than two at each, and Ann and Bob not both at the left.
m = dibs.Model()
seat = {guest: m.choice(guest, ["left", "right"]) for guest in ("Ann", "Bob", "Cleo", "Dan")}
for table in ("left", "right"):
    m.at_most(2, [seat[guest] == table for guest in seat], role="table")
m.forbid(seat["Ann"] == "left", seat["Bob"] == "left")
outcome = m.solve()
print(outcome[seat["Ann"]], outcome[seat["Bob"]])

# Every question: all solutions, whether there is only one, and why there is none.
print(dibs.count_solutions(m.problem()), dibs.is_unique(square))
print(dibs.why(dibs.Sudoku.parse("123....4........")))
