"""The tree search: the paper's, with exact counters, in batches of thousands."""
