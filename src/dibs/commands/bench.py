"""`dibs bench`: an experiment, its records, and its table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from dibs.commands.solve import COMPILING
from dibs.commands.terminal import Meter, Terminal, pace, screen
from dibs.errors import Refused, refusing
from dibs.search.tree import kernel_ready

if TYPE_CHECKING:
    from dibs.bench.experiment import Experiment
    from dibs.bench.instances import Instances
    from dibs.bench.records import Store


def bench(
    experiment: Annotated[str, Parameter(help="a TOML file, or the name of one that comes with dibs")] = "baselines",
    /,
    *,
    quick: Annotated[bool, Parameter(help="the experiment's small fixed sample: two minutes at most")] = False,
    puzzles: Annotated[str | None, Parameter(help="another list of puzzles: a file, sample17, royle17 ...")] = None,
    sample: Annotated[int | None, Parameter(help="only N puzzles, drawn at random; N of each generated kind")] = None,
    seed: Annotated[int | None, Parameter(help="of the sample, or of generated instances")] = None,
    relabel: Annotated[int | None, Parameter(help="permute digits, rows, columns ... at random, by this seed")] = None,
    out: Annotated[Path | None, Parameter(help="the folder of the run; by default runs/NAME")] = None,
    fresh: Annotated[bool, Parameter(help="forget the records that are there and begin anew")] = False,
    mix_versions: Annotated[bool, Parameter(help="go on though the records are of another version of dibs")] = False,
    workers: Annotated[int | None, Parameter(help="processes; by default 1, of a cluster as many as it has")] = None,
    cluster: Annotated[str | None, Parameter(help="address of a Ray cluster; `local` starts one here")] = None,
    gpus_per_worker: Annotated[float, Parameter(help="of the cluster, for each worker, e.g. 0.25")] = 0.0,
    markdown: Annotated[bool, Parameter(help="print the table as Markdown")] = False,
) -> int:
    """Run the rows of an experiment on a list of puzzles, keep a record of every search, and print the table.

    Records are Parquet files in the folder of the run. A run that was ended,
    however that happened, goes on where it was; one that is complete prints
    its table again. `dibs report` makes all tables and figures of a run.

    Every search runs to its end unless the row sets a limit; runs that end at
    a limit are counted in the last column and stay in every figure. Times are
    wall-clock of one search on one core; rows take turns. Rows with a trained
    guide search many puzzles at once: their times are shares of a batch,
    search and model together. Rows of an experiment that interleaves them
    run one after the other on each instance, other engines among them.

    For example:
      dibs bench
      dibs bench table1 --quick
      dibs bench ablation --workers 2
      dibs bench sat --sample 100
      dibs bench large --quick
      dibs bench my-rows.toml --puzzles my-puzzles.txt --sample 500 --markdown
    """
    from dibs.bench.experiment import Experiment
    from dibs.bench.instances import chosen
    from dibs.bench.records import Store, frames
    from dibs.bench.runner import described, engines, guides

    if workers is not None and workers < 1:
        raise Refused(f"dibs: workers = {workers}: it must be 1 or more")
    if not 0 <= gpus_per_worker < float("inf"):
        raise Refused(f"dibs: gpus_per_worker = {gpus_per_worker}: it must be a number, 0 or more")
    if gpus_per_worker and cluster is None:
        raise Refused("dibs: --gpus-per-worker is about a cluster: name one with --cluster")
    frames()
    plan = Experiment.read(experiment)
    if quick and plan.quick is None:
        raise Refused(f"dibs: {experiment} has no [quick] sample: use --sample N")
    base = plan.quick if quick and plan.quick else plan.choice
    given: dict[str, Any] = {"puzzles": puzzles, "sample": sample, "seed": seed, "relabel": relabel}
    with refusing():
        plan = replace(plan, choice=replace(base, **{k: v for k, v in given.items() if v is not None}))
    guides(plan)  # before instances are generated: one that is not there raises
    engines(plan)
    if plan.interleave and (cluster is not None or (workers or 1) > 1):
        raise Refused(f"dibs: the rows of {experiment} take turns in one process: no --workers, no --cluster")
    folder = out or Path("runs") / _name(plan.name, quick, puzzles, sample, seed, relabel)
    with Terminal(lambda seconds: Meter("getting the instances ready") if seconds > 1 else None):
        instances = chosen(plan.choice)
    store = Store.open(folder, described(plan, instances), mixed=mix_versions, fresh=fresh)
    try:
        ended = _run(plan, instances, store, workers, cluster, gpus_per_worker)
    finally:
        store.close()
    _show(store, plan, markdown)
    return ended


def _name(name: str, quick: bool, puzzles: str | None, *numbers: int | None) -> str:
    """Of the folder: the experiment, and what was asked for on the command line."""
    named = zip(("sample", "seed", "relabel"), numbers, strict=True)
    parts = [name, *["quick"] * quick, *([Path(puzzles).stem] if puzzles else [])]
    return "-".join([*parts, *(f"{what}{number}" for what, number in named if number is not None)])


def _run(
    plan: Experiment, instances: Instances, store: Store, workers: int | None, cluster: str | None, gpus: float
) -> int:
    """Perform what is missing; the exit code."""
    from dibs.bench import pool
    from dibs.bench.runner import Bench, write_records

    total = len(plan.rows) * len(instances)
    done = store.records(()).rows()
    count = start = len(done)

    def meter(seconds: float) -> Meter | None:
        if count == start and not kernel_ready():
            return Meter(COMPILING) if seconds > 1 else None
        left = total - start
        return pace(count - start, "searches", seconds, (count - start) / left if left else 1.0)

    def heard(records: int) -> None:
        nonlocal count
        count += records

    with Terminal(meter) as terminal:
        if 0 < start < total:
            terminal.say(f"{store.folder}: {start:,} of {total:,} records are here; going on")
        elif start == total:
            terminal.say(f"{store.folder}: complete; --fresh runs it again")
            return 0
        try:
            ready = Bench(plan, instances)
            tasks = ready.tasks(done)
            if cluster is not None:
                performed = pool.cluster(plan, instances, tasks, cluster, workers, gpus)
            elif workers is not None and workers > 1:
                performed = pool.processes(plan, instances, tasks, workers)
            else:
                performed = pool.here(ready, tasks)
            try:
                write_records(store, performed, heard)
            except OSError as error:
                kept = len(store.records(()))
                raise Refused(
                    f"{store.folder}: cannot be written: {error.strerror or error}; "
                    f"{kept:,} of {total:,} records are there, and the same command goes on with them"
                ) from None
        except KeyboardInterrupt:
            terminal.close()
            kept = len(store.records(()))
            terminal.say(f"interrupted: {kept:,} of {total:,} records are in {store.folder}; the same command goes on")
            return 130
    return 0


def _show(store: Store, plan: Experiment, markdown: bool) -> None:
    """The table of all rows, about the instances that every row has; nothing if there are none."""
    from dibs.bench.summary import COUNTS
    from dibs.report import table, tabular
    from dibs.report.run import Run
    from dibs.report.views import read, section

    if plan.view in ("sat", "large", "published"):  # means over instances of all sizes would say nothing
        tables = section(read(store.folder)).tables
    else:
        run = Run.of(store.manifest, store.records(COUNTS))
        if not run.done:
            return
        tables = (table.figures(_title(plan, run.done, store.manifest["instances"]["count"]), run.summaries),)
    if markdown:
        print("\n\n".join(map(tabular.markdown, tables)))
        return
    console = screen(max(map(tabular.wide, tables), default=80))
    for one in tables:
        console.print(tabular.terminal(one, console.width))


def _title(plan: Experiment, done: int, count: int) -> str:
    title = f"{plan.title}: {done:,} " + (f"of {plan.choice.puzzles}" if plan.choice.puzzles else "generated")
    if plan.choice.relabel is not None:
        title += f", relabelled by seed {plan.choice.relabel}"
    return title + (f" (of {count:,}: the run is not complete)" if done < count else "")
