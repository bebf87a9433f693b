"""One instance on several cores: nogood searches that differ, side by side. Whoever ends first answers.

They are the same search with other random numbers: other walks, and other weights of groups, at first and after an
ask. Which one answers depends on the clock, so counters may differ from run to run; what they answer does not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from threading import Event, Lock
from typing import Any

from dibs.clock import never
from dibs.problem.structure import Instance
from dibs.search.contract import Guide
from dibs.search.drat import Drat
from dibs.search.nogoods.batch import NogoodSearch
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status


def side_by_side(
    instance: Instance,
    options: Options,
    guide: Guide | None,
    *,
    workers: int,
    place: int = 0,
    stopped: Callable[[], bool] = never,
    turn: AbstractContextManager[Any] | None = None,
    proof: Drat | None = None,
) -> Outcome | None:
    """The outcome of the first search that is decided; LIMIT where none is; None where it was stopped.

    The first of the searches is the one that a single core would do. `turn` is held while the guide is asked.
    """
    if workers < 1:
        raise ValueError(f"workers = {workers}: it must be 1 or more")
    ended = Event()
    turn = turn or (Lock() if guide is not None else nullcontext())

    def search(variant: int) -> Outcome | None:
        one = NogoodSearch(
            [instance],
            options,
            guided=guide is not None,
            static=guide is not None and guide.static,
            places=[place],
            variant=variant,
            proof=proof,
        )
        one.run(guide, lambda: ended.is_set() or stopped(), turn)
        return one.outcomes()[0]

    with ThreadPoolExecutor(workers, thread_name_prefix="dibs") as pool:
        going = {pool.submit(search, variant) for variant in range(workers)}
        outcomes: list[Outcome | None] = []
        try:
            while going:
                done, going = wait(going, return_when=FIRST_COMPLETED)
                outcomes += [one.result() for one in done]
                if any(one and one.status != Status.LIMIT for one in outcomes):
                    break
        finally:
            ended.set()  # also where one raises: the others end within milliseconds
    found = [one for one in outcomes if one]
    return next((one for one in found if one.status != Status.LIMIT), found[0] if found else None)
