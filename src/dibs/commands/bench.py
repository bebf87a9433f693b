"""`dibs bench`: an experiment, and its table."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Annotated

from cyclopts import Parameter

from dibs.commands import Refused
from dibs.commands.solve import COMPILING
from dibs.commands.terminal import Meter, Terminal, pace
from dibs.search.solve import kernel_ready


def bench(
    experiment: Annotated[str, Parameter(help="a TOML file, or the name of one that comes with dibs")] = "baselines",
    /,
    *,
    puzzles: Annotated[str | None, Parameter(help="another list of puzzles: a file, sample17 or hard300")] = None,
    sample: Annotated[int | None, Parameter(help="only the first N puzzles")] = None,
    relabel: Annotated[int | None, Parameter(help="permute digits, rows, columns ... at random, by this seed")] = None,
    markdown: Annotated[bool, Parameter(help="print the table as Markdown")] = False,
) -> int:
    """Run the rows of an experiment on a list of puzzles and print mean, median and p95.

    Every search runs to its end unless the row sets a limit; runs that end at
    a limit are counted in the last column and stay in every figure. Times are
    wall-clock of one search on one core; rows take turns on each puzzle. Rows
    with a trained guide search many puzzles at once: their times are shares of
    a batch, search and model together.

    For example:
      dibs bench
      dibs bench baselines --puzzles hard300 --sample 50
      dibs bench my-rows.toml --puzzles my-puzzles.txt --markdown
    """
    from rich.console import Console

    from dibs.bench.experiment import Experiment, load, relabelled
    from dibs.bench.runner import Record, run
    from dibs.bench.summary import summarise
    from dibs.report import table

    if relabel is not None and relabel < 0:
        raise Refused(f"dibs: relabel = {relabel}: it must be a whole number, 0 or more")
    if sample is not None and sample < 1:
        raise Refused(f"dibs: sample = {sample}: it must be a whole number, 1 or more")
    plan = Experiment.read(experiment)
    instances = load(puzzles or plan.puzzles, sample)
    title = f"{plan.title}: {len(instances)} of {puzzles or plan.puzzles}"
    if relabel is not None:
        instances = relabelled(instances, relabel)
        title += f", relabelled by seed {relabel}"
    total = len(plan.rows) * len(instances)
    records: list[Record] = []

    def meter(seconds: float) -> Meter | None:
        if not kernel_ready():
            return Meter(COMPILING) if seconds > 1 else None
        return pace(len(records), "searches", seconds, len(records) / total)

    interrupted = False
    with Terminal(meter) as terminal:
        try:
            for record in run(plan, instances):
                records.append(record)
        except KeyboardInterrupt:
            interrupted = True
        terminal.close()
        if interrupted:
            # So that every row is about the same puzzles: those that all rows with any record have finished.
            done = Counter(record.row for record in records)
            whole = min(done.values(), default=0)
            records = [record for record in records if record.instance < whole]
            rows = f" and {len(done)} of {len(plan.rows)} rows" if len(done) < len(plan.rows) else ""
            terminal.say(f"interrupted: the table is about the first {whole} of {len(instances)} puzzles{rows}")
    summaries = summarise(records)
    if markdown:
        print(table.markdown(title, summaries))
    else:
        console = Console() if sys.stdout.isatty() else Console(width=table.wide(summaries))
        console.print(table.terminal(title, summaries, console.width))
    return 130 if interrupted else 0
