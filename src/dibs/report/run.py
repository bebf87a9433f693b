"""The records of a run as its views see them: of the instances that every row has, and what must be said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dibs.bench.experiment import PUZZLES
from dibs.bench.kinds import InstanceKind
from dibs.bench.records import Store
from dibs.bench.summary import COUNTS, Summary, summarise
from dibs.dtypes import Floats

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Run:
    manifest: Mapping[str, Any]  # run.json
    records: pl.DataFrame  # row by row, each with the same instances in the same order

    @classmethod
    def of(cls, manifest: Mapping[str, Any], records: pl.DataFrame) -> Run:
        """`records` as `Store.records` has them: what is not done in every row is left out."""
        import polars as pl

        rows = len(manifest["rows"])
        there = records.group_by("instance").agg(pl.len().alias("records"), pl.col("row").n_unique().alias("rows"))
        everywhere = there.filter((pl.col("records") == rows) & (pl.col("rows") == rows))["instance"]
        if len(everywhere) < len(there):
            records = records.filter(pl.col("instance").is_in(everywhere.implode()))
        return cls(manifest, records)

    @classmethod
    def read(cls, folder: Path, columns: Sequence[str] = ()) -> Run:
        store = Store.read(folder)
        return cls.of(store.manifest, store.records((*COUNTS, "number", "givens", *columns)))

    @property
    def rows(self) -> list[str]:
        return [row["name"] for row in self.manifest["rows"]]

    @property
    def done(self) -> int:
        """Instances that every row has."""
        return len(self.records) // len(self.rows)

    @cached_property
    def summaries(self) -> list[Summary]:
        return summarise(self.records)

    def matrix(self, column: str) -> Floats:
        """[instances, rows] of a column; `time` and `model` are in milliseconds."""
        seconds = {"time": ("search_seconds", "model_seconds"), "model": ("model_seconds",)}
        if column in seconds:
            return 1e3 * sum((self.matrix(part) for part in seconds[column]), np.zeros(()))
        values = self.records[column].to_numpy().astype(np.float64)
        return np.ascontiguousarray(values.reshape(len(self.rows), self.done).T)

    def part(self, row: str) -> pl.DataFrame:
        """The records of one row, by instance."""
        at = self.rows.index(row)
        return self.records[at * self.done : (at + 1) * self.done]

    def title(self) -> str:
        """`Table 1: 49,158 of royle17, relabelled by seed 0`, `Table 3: 1,000 formulas of each size`."""
        choice = self.manifest["choice"]
        text = f"{self.manifest['title']}: {self.records['number'].n_unique():,}"
        if variables := choice.get("variables"):
            if isinstance(choice.get("sample"), list):
                return text.replace(": ", ": up to ", 1) + " formulas of each size"
            return f"{text} formulas " + ("of each size" if len(variables) > 1 else f"with {variables[0]} variables")
        if kinds := choice.get("kind"):
            return f"{text} of " + (f"each of {len(kinds)} kinds" if len(kinds) > 1 else InstanceKind(**kinds[0]).label)
        text += f" of {Path(choice.get('puzzles', PUZZLES)).name}"
        if choice.get("relabel") is not None:
            text += f", relabelled by seed {choice['relabel']}"
        if givens := choice.get("givens"):
            text += f", each with {min(givens)} to {max(givens)} givens"
        return text

    def warnings(self) -> tuple[str, ...]:
        """What a reader of any figure must be told."""
        found = []
        count = self.manifest["instances"]["count"]
        if self.done < count:
            found.append(
                f"The run is not complete: of {count:,} instances {self.done:,} are done in every row; "
                "all figures are about these."
            )
        if len(versions := self._different("version")) > 1:
            found.append(f"Records of {len(versions)} versions of dibs are mixed: {_listed(versions)}.")
        if len(machines := self._different("machine")) > 1:
            found.append(f"Times are of {len(machines)} machines: {_listed(machines, '; ')}.")
        return tuple(found)

    def origin(self) -> str:
        """Where the figures come from."""
        guides = [f"{name} {digest}" for name, digest in self.manifest.get("guides", {}).items()]
        choice = self.manifest["choice"]
        drawn = "formulas" if "variables" in choice else "instances" if "kind" in choice else "sample"
        by_seed = {"sample", "variables", "kind"} & set(choice)
        sample = f"{drawn} drawn by seed {choice.get('seed', 0)}" if by_seed else ""
        instances = f"instances {self.manifest['instances']['digest']}"
        versions, machines = (", ".join(self._different(what)) for what in ("version", "machine"))
        engines = [f"{name} of {package}" for name, package in self.manifest.get("engines", {}).items()]
        parts = [f"dibs {versions}", instances, sample]
        parts += [f"{what}: {', '.join(some)}" for what, some in (("guides", guides), ("engines", engines)) if some]
        parts.append(machines)
        return f"Made of records of {'; '.join(part for part in parts if part)}."

    def _different(self, column: str) -> dict[str, int]:
        counts = self.records[column].value_counts().sort(column)
        return dict(counts.rows())


def _listed(different: Mapping[str, int], between: str = ", ") -> str:
    return between.join(f"{one} ({records:,} records)" for one, records in different.items())
