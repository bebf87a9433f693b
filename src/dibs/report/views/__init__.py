"""A view for each kind of experiment: a pure function from a run to a section of the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dibs.bench.records import Store
from dibs.problem import InputError
from dibs.report.run import Run
from dibs.report.section import Section
from dibs.report.views import ablation, alone, difficulty, large, published, rows, sat, steps, table1, theory

PATH = ("path_p", "path_place", "path_sure")
LEDGER = tuple(f"ledger_{what}" for what in ("arity", "p", "place", "entered", "wrong", "cut", "good"))

View = Callable[[Run], Section]
VIEWS: dict[str, View] = {
    "rows": rows.section,
    "table1": table1.section,
    "alone": alone.section,
    "ablation": ablation.section,
    "difficulty": difficulty.section,
    "steps": steps.section,
    "theory": theory.section,
    "sat": sat.section,
    "large": large.section,
    "published": published.section,
}
SIZES = ("variables", "tries")
KINDS = ("kind", "around_seconds", "load_seconds", "cpu_seconds")
# Beyond those of all views.
COLUMNS: dict[str, tuple[str, ...]] = {
    "steps": PATH,
    "theory": LEDGER,
    "sat": SIZES,
    "large": KINDS,
    "published": KINDS,
}


def read(folder: Path) -> Run:
    """A run with the columns that its view needs."""
    view = Store.read(folder).manifest.get("view", "rows")
    if view not in VIEWS:
        raise InputError(f"has a view that this version of dibs does not know: {view}", str(folder))
    return Run.read(folder, COLUMNS.get(view, ()))


def section(run: Run) -> Section:
    """What the run's view makes of it; a run in which no instance is done in every row has a sentence only.

    Every table says by itself what must be known about its records.
    """
    warnings = run.warnings()
    key = run.manifest["experiment"]
    if not run.done:
        return Section(key, run.manifest["title"], warnings)
    made = VIEWS[run.manifest.get("view", "rows")](run)
    tables = tuple(replace(table, notes=(*table.notes, *warnings)) for table in made.tables)
    return replace(made, key=key, words=(*warnings, *made.words, run.origin()), tables=tables)


def sections(runs: Sequence[Run]) -> list[Section]:
    """One for each run; an experiment that is there more than once gets a number."""
    found: dict[str, Section] = {}
    for made in map(section, runs):
        number, key = 1, made.key
        while key in found:
            number, key = number + 1, f"{made.key}-{number + 1}"
        found[key] = made.renamed(key)
    return list(found.values())


def mixed(runs: Sequence[Run]) -> str:
    """A sentence if not all records of a report are of one version of dibs; otherwise nothing."""
    versions = sorted({version for run in runs for version in run.records["version"].unique()})
    mixed = f"The runs of this report are of {len(versions)} versions of dibs: {', '.join(versions)}."
    return mixed if len(versions) > 1 else ""
