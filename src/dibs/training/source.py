"""Where instances come from: a folder, a file, a function of a seed, or a list."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dibs.guide.by_name import by_name
from dibs.guide.card import NAMES
from dibs.guide.features import GROUP_KINDS
from dibs.guide.graph import named_groups
from dibs.problem import InputError, Instance, read_instances
from dibs.problem.structure import Structure
from dibs.solving import instance_of
from dibs.wording import one_line

Source = str | Path | Callable[[int], Any] | Iterable[Any]

SHOWN = 20  # faults, at most
GRIDS_AND_FORMULAS = ("sudoku", "latin", "cnf")


@dataclass(frozen=True)
class Collected:
    """Instances of one family; `faults` are the first that could not be taken, each with its place, and how many."""

    label: str
    instances: list[Instance]
    family: str  # "problem" for all but grids and formulas
    kinds: tuple[str, ...]  # of their groups, the cells first
    faults: list[str] = field(default_factory=list)

    @property
    def function(self) -> str:
        """module:function, if they come from one; "" otherwise."""
        return self.label if ":" in self.label and not Path(self.label).exists() else ""


def collect(source: Source, count: int, enough: Callable[[int], bool] = lambda found: False) -> Collected:
    """At most `count` different instances; InputError in a line where there are none, or where they do not fit.

    They are the same ones whenever it is called, up to where so many that were found are `enough`.
    """
    label, drawn = _open(source, count)
    instances: list[Instance] = []
    faults: list[str] = []
    seen: dict[bytes, str] = {}
    repeated = 0
    for place, one in drawn:
        if isinstance(one, Exception):
            said = one_line(one) if isinstance(one, ValueError) else f"{type(one).__name__}: {one_line(one)}"
            faults.append(said if said.startswith(place) else f"{place}: {said}")
            continue
        key = _fingerprint(one)
        if key in seen:
            repeated += 1
            continue
        seen[key] = place
        instances.append(one)
        if len(instances) == count or enough(len(instances)):
            break
    left = sum(1 for _ in _files(source)) - count if isinstance(source, str | Path) else 0
    if faults:
        lost = f"{len(faults)} could not be taken"
        faults[SHOWN:] = [f"{lost}: these are the first" if len(faults) > SHOWN else lost]
    if repeated:
        faults.append(f"{repeated} had come before: each is taken once")
    if left > 0 and len(instances) == count:
        faults.append(f"{count} of {count + left} files are taken, at random")
    if not instances:
        raise InputError("has no instance that can be read" + (f"; {faults[0]}" if faults else ""), label)
    family, kinds = _family(label, instances, list(seen.values()))
    return Collected(label, instances, family, kinds, faults)


def as_instance(one: Any) -> Instance:
    """A problem, whatever it is said in: an instance, a `dibs.Model` or a model of CPMpy."""
    if type(one).__module__.startswith("cpmpy"):
        from dibs.cpmpy import CPM_dibs

        return CPM_dibs(one).native_model
    found = instance_of(one)
    if isinstance(found, Instance):
        return found
    raise InputError(f"{type(one).__name__} is no problem: give a Model, Problem, CNF, Sudoku, Latin or CPMpy model")


def _open(source: Source, count: int) -> tuple[str, Iterator[tuple[str, Instance | Exception]]]:
    if isinstance(source, str) and ":" in source and not Path(source).exists():
        return source, _called(_function(source), source, count)
    if isinstance(source, str | Path):
        return str(source), _read(Path(source), count)
    if callable(source):
        name = getattr(source, "__name__", "the function")
        return name, _called(source, name, count)
    return "the list", ((f"number {i}", _attempt(as_instance, one)) for i, one in enumerate(source))


def _function(source: str) -> Callable[[int], Any]:
    found = by_name(source)
    if not callable(found):
        raise InputError("is no function of a seed", source)
    made: Callable[[int], Any] = found
    return made


def _called(family: Callable[[int], Any], name: str, count: int) -> Iterator[tuple[str, Instance | Exception]]:
    """Seeds from 0 on, a few more than are wanted where some fail or repeat."""
    for seed in range(count + max(10, count // 5)):
        yield f"{name}({seed})", _attempt(lambda seed=seed: as_instance(family(seed)))


def _attempt(make: Callable[..., Instance], *arguments: Any) -> Instance | Exception:
    try:
        return make(*arguments)
    except Exception as error:  # the user's own code
        return error
    except SystemExit as error:  # of a script that is no module
        return RuntimeError(f"it ends the program ({error})")


def _read(path: Path, count: int) -> Iterator[tuple[str, Instance | Exception]]:
    """Of a folder with more files than are wanted, some at random: names often go by size or by age."""
    if not path.exists():
        raise InputError("no such file or folder", str(path))
    files = sorted(_files(path))
    if len(files) > count:
        files = [files[i] for i in np.random.default_rng(0).permutation(len(files))]
    for file in files:
        try:
            for line, one in read_instances(file):
                yield (f"{file}" if isinstance(one, Exception) else f"{file}:{line}"), one
        except InputError as error:
            yield str(file), error


def _files(source: str | Path) -> Iterator[Path]:
    path = Path(source)
    yield from (one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def _fingerprint(instance: Instance) -> bytes:
    digest = hashlib.sha256()
    of: Structure = instance.structure
    if of.family not in ("sudoku", "latin"):
        for array in (of.start, of.member, of.least, of.most):
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(str((of.family, of.shape)).encode())
    for name, numbers in (*of.features.literals.items(), *of.features.groups.items()):
        digest.update(name.encode() + numbers.tobytes())
    digest.update(np.sort(instance.given).tobytes())
    return digest.digest()


def _family(label: str, instances: list[Instance], places: list[str]) -> tuple[str, tuple[str, ...]]:
    """The one family of all, and the kinds of its groups."""
    first: dict[str, str] = {}
    for one, place in zip(instances, places, strict=True):
        first.setdefault(one.structure.family, place)
    families = sorted(first)
    if len(families) > 1 and not set(families) <= {"sudoku", "latin"}:
        said = " and ".join(f"{family} ({first[family]})" for family in families)
        raise InputError(f"has instances of {said}: a guide is for one family", label)
    if families[0] in GRIDS_AND_FORMULAS and not any(one.structure.bounded for one in instances):
        return families[0], GROUP_KINDS
    names = sorted({name for one in instances for name in named_groups(one.structure).names})
    if len(names) >= NAMES:
        raise InputError(
            f"has {len(names)} kinds of groups, at most {NAMES - 1} can be learned: use fewer roles", label
        )
    for what in ("literals", "groups"):
        own = {name for one in instances for name in getattr(one.structure.features, what)}
        if len(own) > NAMES:
            raise InputError(f"has {len(own)} features of {what}, at most {NAMES} can be learned", label)
    return "problem", (GROUP_KINDS[0], *names)  # a role may have the name of the first, too
