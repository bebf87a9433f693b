"""A kind of generated or published instances. Its settings and a seed say which ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import isqrt
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dibs import generate
from dibs.generate.families import OwnFamily, families
from dibs.problem import InputError, Instance
from dibs.problem.latin import LARGEST as LARGEST_LATIN
from dibs.ranges import checked_number
from dibs.search.guidance import suited_to
from dibs.sets import SETS, how

LEAST = 5  # variables of a formula: with fewer there are not as many different clauses as it would have
LARGEST_SUDOKU = 36


@dataclass(frozen=True, kw_only=True)
class InstanceKind:
    """Which instances are generated, or taken from a published set. A setting that its family does not have is None."""

    family: str  # one of NEEDS, or a family of `dibs.generate.families` with the settings that it has by default
    order: int | None = None  # of a Latin square
    holes: float | None = None  # a fraction of its cells, or a number of them
    balanced: bool | None = None  # as many holes in every row and column; otherwise anywhere
    size: int | None = None  # of a Sudoku: rows and columns
    kept: float | None = None  # a fraction of a full grid's cells, or a number of them, is given
    variables: int | None = None  # of a satisfiable random 3-SAT formula with different clauses
    set: str | None = None  # of published instances: those that `dibs data get` imported, of that order and so filled
    filled: float | None = None  # a fraction of the cells
    trained: str | None = None  # of other problems: the guide that is `auto` for them

    NEEDS: ClassVar[dict[str, tuple[str, ...]]] = {
        "latin": ("order", "holes"),
        "sudoku": ("size", "kept"),
        "sat": ("variables",),
        "published": ("set",),
    }
    TAKES: ClassVar[dict[str, tuple[str, ...]]] = {  # as well
        "latin": ("balanced",),
        "published": ("order", "filled"),
    }

    def __post_init__(self) -> None:
        if self.own is None and self.family not in self.NEEDS:
            raise ValueError(f"family = {self.family!r}: choose one of {', '.join([*self.NEEDS, *families()])}")
        needs = self.NEEDS.get(self.family, ())
        takes = ("trained",) if self.own else self.TAKES.get(self.family, ())
        for key, value in self.settings().items():
            if key not in ("family", *needs, *takes):
                raise ValueError(f"{key} = {value!r} is not a setting of the family {self.family}")
        if lacking := next((key for key in needs if getattr(self, key) is None), None):
            raise ValueError(f"the family {self.family} needs {' and '.join(needs)}: there is no {lacking}")
        if self.balanced not in (None, True, False):
            raise ValueError(f"balanced = {self.balanced!r}: choose true or false")
        if self.trained is not None and not isinstance(self.trained, str):
            raise ValueError(f"trained = {self.trained!r}: it must be the name of a guide, or its folder")
        for name, least, most in (("order", 1, LARGEST_LATIN), ("variables", LEAST, None), ("size", 4, LARGEST_SUDOKU)):
            if (value := getattr(self, name)) is not None:
                checked_number(name, value, least, most, whole=True)
        if self.size is not None and isqrt(self.size) ** 2 != self.size:
            raise ValueError(f"size = {self.size}: boxes are square, choose 4, 9, 16, 25 or 36")
        if self.family == "published" and self.set not in SETS:
            raise ValueError(f"set = {self.set!r}: choose one of {', '.join(SETS)}")
        if self.set is not None and SETS[self.set].family == "problem":
            for name in ("order", "filled"):
                if (value := getattr(self, name)) is not None:
                    raise ValueError(f"{name} = {value!r} is about squares: {self.set} has none")
        if self.filled is not None and not (_number(self.filled) and 0 <= self.filled <= 1):
            raise ValueError(f"filled = {self.filled!r}: it must be a fraction of the cells")
        for name in ("holes", "kept"):
            if (value := getattr(self, name)) is not None and not _number(value):
                raise ValueError(f"{name} = {value!r}: it must be a fraction of the cells, or a number of them")
        if self.set is None:
            self.made(1, 0)  # the generator checks the rest; it makes nothing yet

    def settings(self) -> dict[str, Any]:
        """Its settings; `InstanceKind(**settings)` is the same kind."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @property
    def own(self) -> OwnFamily | None:
        """What is generated, where it is neither a grid nor a random formula."""
        return families().get(self.family)

    @property
    def label(self) -> str:
        """`latin 25, 40 %`, `sudoku 25x25, 44 % kept`, `sat 50`, `qwh 50, 30 % filled`: what records and tables say."""
        if self.family == "latin":
            return f"latin {self.order}, {self._share()}" + (" anywhere" if not self.balanced else "")
        if self.family == "sudoku":
            share = f"{100 * self.kept:.3g} %" if isinstance(self.kept, float) else self.kept
            return f"sudoku {self.size}x{self.size}, {share} kept"
        if self.family == "published":
            share = "" if self.filled is None else f", {100 * self.filled:.3g} % filled"
            return " ".join(str(part) for part in (self.set, self.order) if part is not None) + share
        return self.family if self.own else f"sat {self.variables}"

    @property
    def guide(self) -> str | None:
        """Guide `auto` for its instances, if there is one."""
        if self.own:
            return self.trained
        family: str = "cnf" if self.family == "sat" else self.family
        cells = (self.size or 0) ** 2
        if self.set is not None:
            family, cells = SETS[self.set].family, max(SETS[self.set].shapes, default=0) ** 2
        return suited_to(family, cells)[0]

    @property
    def training(self) -> float | None:
        """Seconds that its guide took to train, where it is still in the folder of its run (docs/FAMILIES.md)."""
        run = Path(self.trained or "") / "run.json"
        if self.trained is None or not run.is_file():
            return None
        spent: dict[str, float] = json.loads(run.read_text(encoding="utf-8"))["seconds"]
        return sum(seconds for phase, seconds in spent.items() if phase != "judge")

    def _share(self) -> str:
        """Of holes, as they are made: balanced ones are a whole number in each row."""
        assert self.order is not None
        assert self.holes is not None
        if not isinstance(self.holes, float):
            return f"{self.holes} holes"
        share = round(self.holes * self.order) / self.order if self.balanced else self.holes
        return f"{100 * share:.3g} %"

    def seed(self, seed: int) -> int:
        """Of this kind in an experiment with such a seed; whatever other kinds there are, it stays the same."""
        return int.from_bytes(hashlib.sha256(f"{seed} {self.label}".encode()).digest()[:6], "big")

    def made(self, count: int, seed: int) -> Iterator[Instance]:
        """So many instances; more of them begin with the same ones. Of a published set, as many as are there."""
        if self.set is not None:
            return self._imported(count, seed)
        if self.own:
            return map(self.own.make, range(seed, seed + count))
        if self.family == "latin":
            assert self.order is not None
            assert self.holes is not None
            balanced = bool(self.balanced)
            return generate.latin(count, order=self.order, holes=self.holes, balanced=balanced, seed=seed)
        if self.family == "sudoku":
            side = isqrt(self.size or 0)
            return generate.sudoku(count, box=(side, side), kept=self.kept, seed=seed)
        assert self.variables is not None
        return generate.sat(count, variables=self.variables, satisfiable=True, distinct=True, seed=seed)

    def _imported(self, count: int, seed: int) -> Iterator[Instance]:
        """Drawn by the seed from what is here of the set."""
        assert self.set is not None
        of = SETS[self.set]
        some = [one for one in of.load() if self.order is None or one.size == self.order]
        if self.filled is not None:
            some = [one for one in some if round((one.values > 0).mean(), 2) == round(self.filled, 2)]
        if not some:
            raise InputError(f"nothing of {self.label} is here: {how(of)}")
        posed = of.posed(some)
        return iter([posed[i]() for i in np.random.default_rng(seed).permutation(len(posed))[:count]])


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
