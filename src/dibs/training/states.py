"""States and labels as a file, for training elsewhere.

A state is what is open after propagation on the way to a known solution; its label is the share of the known solutions
that agree with the state and have a literal true. All states of a file are one after the other:

    state       [S + 1]  where the literals of each state begin
    instance    [S]      which instance it is of
    target      [N]      share of solutions, for each open literal
    literal     [N]      its number in the instance
    group       [E]      the groups of each literal, numbered in its state
    begin       [N + 1]  where those of each literal begin
    first       [S + 1]  where the groups of each state begin
    kind, least, most [G]  of each group: an index of `kinds`; at least and at most so many open literals are true
    literal_features [N, F], group_features [G, F]  features that the problems have of their own, as they were given

In a .safetensors file these are tensors, and the metadata has `kinds`, `source`, `literal_features` and
`group_features`. A .parquet file has a row for each state with lists in place of these.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dibs.guide.features import OwnFeatures
from dibs.guide.graph import own_features
from dibs.model.many_solutions import LEVEL
from dibs.model.own_states import known_of, states_of
from dibs.problem import InputError
from dibs.training.source import Source, collect
from dibs.writing import write

SOLUTIONS, NODES = 8, 20_000  # of an instance, and of a search for one


def export_states(source: Source, path: str | Path, *, instances: int = 200, seed: int = 0) -> int:
    """Solve instances as `dibs.train` does, and write their states with labels. Returns how many there are."""
    path = Path(path)
    if path.suffix not in (".safetensors", ".parquet"):
        raise InputError("must end in .safetensors or .parquet", str(path))
    given = collect(source, instances)
    names = own_features(one.structure for one in given.instances)
    own = OwnFeatures(*(tuple((name, 1.0) for name, _ in some) for some in names))  # as they are
    rows = list(_rows(given.instances, given.kinds, given.family, seed, own))
    if not rows:
        raise InputError(f"no instance was solved with {NODES:,} nodes, or nothing is open in them", given.label)
    content = BytesIO()
    named = {
        key: json.dumps([name for name, _ in some])
        for key, some in zip(("literal_features", "group_features"), own, strict=True)
    }
    if path.suffix == ".parquet":
        import polars

        more = {"kinds": list(given.kinds)} | {key: json.loads(some) for key, some in named.items()}
        lists = [{**{key: np.asarray(value).tolist() for key, value in row.items()}, **more} for row in rows]
        polars.DataFrame(lists).write_parquet(content)
        write(path, content.getvalue())
    else:
        from safetensors.numpy import save

        metadata = {"kinds": json.dumps(given.kinds), "source": given.label, **named}
        write(path, save(_joined(rows), metadata))
    return len(rows)


def _rows(
    instances: list[Any], kinds: tuple[str, ...], family: str, seed: int, own: OwnFeatures
) -> Iterator[dict[str, Any]]:
    """The arrays of each state."""
    for number, instance in enumerate(instances):
        known = known_of(instance, SOLUTIONS, seed + number, max_nodes=NODES)
        if not known.solved:
            continue
        rng = np.random.default_rng((seed, number))
        for state in states_of(instance, known.solutions, kinds, LEVEL.get(family, "hidden"), rng, own):
            groups = state.groups
            yield {
                "instance": number,
                "literal": np.flatnonzero(state.open),
                "target": state.target,
                **groups._asdict(),
            }


def _joined(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """All states as one set of arrays."""
    found = {
        name: np.concatenate([row[name] for row in rows])
        for name in ("literal", "target", "group", "kind", "least", "most", "literal_features", "group_features")
    }
    edges = np.cumsum([0, *(len(row["group"]) for row in rows)])
    begin = [row["begin"][:-1] + at for row, at in zip(rows, edges, strict=False)]
    found["begin"] = np.append(np.concatenate(begin), edges[-1])
    found["state"] = np.cumsum([0, *(len(row["target"]) for row in rows)])
    found["first"] = np.cumsum([0, *(len(row["kind"]) for row in rows)])
    found["instance"] = np.array([row["instance"] for row in rows])
    return found
