"""One instance on several cores: searches side by side that tell each other what they learn, and share the space.

They begin as the same search with other random numbers: other walks, and other weights of groups. Whoever ends first
answers. Where a proof is likelier than luck the space is split, and that of all solutions always (nogoods/team.py).
Which of them answers depends on the clock, so counters may differ from run to run; what they answer does not. A search
that raises gives back its cube: the others do without it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from math import inf
from queue import Full, Queue
from threading import Event, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dibs.clock import clock, never
from dibs.problem.structure import Instance
from dibs.search.contract import Guide
from dibs.search.drat import Drat
from dibs.search.nogoods.batch import NogoodSearch
from dibs.search.nogoods.search import Bools
from dibs.search.nogoods.team import PATIENCE, Counter, Cube, Member, Team, Turn
from dibs.search.options import Options
from dibs.search.outcome import Outcome, Status

AHEAD = 2  # batches of solutions for each worker that nobody has taken yet


def stream(
    instance: Instance,
    options: Options,
    guide: Guide | None,
    *,
    workers: int,
    place: int = 0,
    stopped: Callable[[], bool] = never,
    turn: AbstractContextManager[Any] | None = None,
    proof: Drat | None = None,
    over: Bools | None = None,
    count: bool = False,
    reading: bool = False,
) -> Generator[Sequence[Any], None, Outcome | None]:
    """Solutions as they are found; then the outcome, without them: LIMIT where nothing is decided, None where stopped.

    `reading`: whoever takes solutions does so within `max_seconds`. `turn` is held while the guide is asked; the others
    as for `NogoodSearch`. A proof, of one solution at most, has what all of them learn: nothing is told, and the space
    stays whole.
    """
    if workers < 1:
        raise ValueError(f"workers = {workers}: it must be 1 or more")
    several, wanted = options.max_solutions > 1 or over is not None, options.max_solutions
    team = Team(workers, proof is None and splits(instance), proof is None, wanted)
    how: dict[str, Any] = {"guided": guide is not None, "static": guide is not None and guide.static}
    how |= {"places": [place], "over": over, "count": count, "proof": proof}
    turn = turn or (Lock() if guide is not None else nullcontext())
    queue: Queue[Sequence[Any] | None] = Queue(AHEAD * workers)
    gone = Event()  # nobody takes solutions any more
    late, limit = False, options.max_seconds
    end = inf if limit is None or not reading else clock() + limit

    def over_now() -> bool:
        return team.ended.is_set() or gone.is_set() or stopped()

    def hand_over(some: Sequence[Any] | None) -> None:
        while not gone.is_set():
            with suppress(Full):
                queue.put(some, timeout=PATIENCE)
                return

    def search(worker: int) -> Outcome | None:
        try:
            make = partial(Counter if several else Member, team, worker)
            one = NogoodSearch([instance], options, variant=worker, make=make, **how)
            while True:
                one.run(guide, lambda: over_now() or one.ready, turn)
                [outcome] = one.outcomes()
                if outcome is not None or not one.ready:
                    break
                hand_over(one.take())
            if outcome is not None and (worker == 0 or team.searches[worker]):  # at the root all find the same
                hand_over(outcome.found)
            if outcome is not None and outcome.status is not Status.LIMIT:
                team.ended.set()
            return outcome
        finally:
            team.leave(worker)
            hand_over(None)

    with ThreadPoolExecutor(workers, thread_name_prefix="dibs") as pool:
        going = [pool.submit(search, worker) for worker in range(workers)]
        try:
            given, ended = 0, 0
            while ended < workers:
                some = queue.get()
                ended += some is None
                if some and given < wanted:
                    yield some[: wanted - given]
                    given += len(some)
                    late = given < wanted and clock() >= end
                if late:
                    break
        finally:
            gone.set()  # also where one raises: the others end within milliseconds
    errors = [error for error in (one.exception() for one in going) if error is not None]
    outcomes = [one.result() for one in going if one.exception() is None]
    decided = next((one for one in outcomes if one and one.status is not Status.LIMIT), None)
    if not team.members and decided:  # at the root
        return replace(decided, solution=None, others=())
    total = min(team.solutions, wanted) if several and not late else given
    if late or (decided is None and total < wanted):
        if errors and (several or not any(outcomes)):
            raise errors[0]
        if stopped():
            return None
        return team.outcome(Status.LIMIT, total)
    return team.outcome(Status.SAT if total else Status.UNSAT, total)


def splits(instance: Instance) -> bool:
    """Whether the space is split for one solution: squares have walks and guides, whose luck is worth more."""
    return instance.structure.family not in ("sudoku", "latin")


def take_turn(
    instance: Instance,
    options: Options,
    guide: Guide | None,
    cube: Cube,
    variant: int,
    heard: Sequence[NDArray[np.int32]],
    seconds: float,
) -> tuple[Outcome, Turn, list[Cube]]:
    """A search in a cube for so many seconds, of one that others search elsewhere: the outcome is LIMIT where the whole
    is not decided; what it has told, and failed for; and parts of the cube, where that is not decided."""
    team, end = Turn(cube, heard), clock() + seconds
    how: dict[str, Any] = {"guided": guide is not None, "static": guide is not None and guide.static}
    one = NogoodSearch([instance], options, variant=variant, make=partial(Member, team, 0), **how)
    one.run(guide, lambda: team.ended.is_set() or clock() >= end)
    [outcome] = one.outcomes()
    if outcome is not None:
        return outcome, team, []
    member = team.searches[0]
    if member is None:  # the root took all of the time
        return Outcome(Status.LIMIT, seconds=seconds), team, []
    return member.cost(Status.LIMIT, 0), team, [] if team.ended.is_set() else member.parts()
