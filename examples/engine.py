"""The engine by hand: searches that stop where they want a ranking, and a guide asked for all of them at once."""

import numpy as np

import dibs
from dibs.bench.instances import load
from dibs.search.tree.search import TreeSearch

puzzles = load("hard300")
engine = TreeSearch(puzzles, dibs.Options(level="hidden", trigger="binary"), guided=True)
batches = []
while asks := engine.advance():  # every search is now finished or waiting
    batches.append(len(asks))
    engine.answer(asks, np.zeros(asks.open.shape))  # your model's logits go here
outcomes = engine.outcomes()

if __name__ == "__main__":
    print(f"{len(outcomes)} puzzles, {sum(batches):,} asks in {len(batches):,} batches, the first of {batches[0]}")
    print("all solved:", all(outcome is not None and outcome.status == "SAT" for outcome in outcomes))
