"""`dibs solve`: one puzzle, or a file of a million."""

from __future__ import annotations

import json as encoder
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from dibs.commands import answer, source
from dibs.commands.fields import Flags, Given
from dibs.commands.interrupt import Interrupt
from dibs.commands.making import aside
from dibs.commands.tally import Tally
from dibs.commands.terminal import Meter, Terminal, pace
from dibs.errors import Refused
from dibs.problem import InputError, Instance, read_instances
from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.reading import Family, Item
from dibs.questions import Solutions
from dibs.search import Outcome
from dibs.search.external.proof import about_proof, formula_path
from dibs.search.external.registry import ENGINES, EngineName
from dibs.search.plan import Request
from dibs.search.policies import PolicyName
from dibs.search.slices import MOST
from dibs.search.solver import EXCLUDED, Solver
from dibs.search.stream import cores, solve_batches
from dibs.search.tree import kernel_ready
from dibs.solving import ready

Placed = tuple[source.Place, Instance | InputError]

UNIQUE_CODES = {"unique": 0, "several": 1, "none": 1, "unknown": 3}  # exit codes of --unique
COMPILING = "compiling the search kernel (once; later starts use the cache)"

LOADING = "loading the guide"

_TAKES = "; ".join(
    f"{what} to {', '.join(name for name, engine in ENGINES.items() if engine.takes == what)}"
    for what in dict.fromkeys(engine.takes for engine in ENGINES.values() if engine.takes)
)
_ENGINE = f"what searches: dibs itself or another solver; a guide gives {_TAKES}"


def solve(
    *puzzles: Annotated[str, Parameter(help="files, - for standard input, or a puzzle itself")],
    policy: Annotated[PolicyName | None, Parameter(help="what the flags below are by default; see above")] = None,
    given: Flags = Given(),  # noqa: B008 (frozen)
    engine: Annotated[EngineName, Parameter(help=_ENGINE)] = "own",
    proof: Annotated[
        str | None, Parameter(help="write a DRAT proof that there is no (further) solution to this file")
    ] = None,
    every: Annotated[bool, Parameter(name="--all", negative="", help="all solutions, each on a line")] = False,
    unique: Annotated[bool, Parameter(negative="", help="whether there is just one solution; see above")] = False,
    plan: Annotated[bool, Parameter(help="say how it would be searched, and do not search")] = False,
    json: Annotated[bool, Parameter(help="one JSON object per puzzle")] = False,
    family: Annotated[Family, Parameter(help="what the input is; auto: a CNF or Sudokus")] = "auto",
    box: Annotated[str | None, Parameter(help="rows x columns of a Sudoku's boxes, e.g. 2x5")] = None,
    workers: Annotated[int | None, Parameter(help="cores; default: all, for --all and a formula 1")] = None,
    cluster: Annotated[str | None, Parameter(help="address of a Ray cluster; `local` starts one here")] = None,
    limits: Annotated[InputLimits, Parameter(name="*")] = DEFAULT,
) -> int:
    """Solve a puzzle, or every puzzle of one or more files.

    A file may hold puzzles one on a line, as grids or as CSV, one formula
    (DIMACS, KNF, OPB) or one problem as m.save writes it, and may be packed
    with gzip or xz.

    One puzzle is answered with its grid and what the search cost. Of many,
    each is a line LINE STATUS SOLUTION, where LINE is where it begins (of
    several files FILE:LINE); a summary goes to standard error. A formula is
    answered as in SAT competitions, with the exit codes 10, 20 and 0. Bad input or options: exit code 2; so is a puzzle
    of many that could not be solved, after all others.

    --json has the fields id (LINE), status, solution, nodes, backtracks, asks,
    calls, depth, seconds, guide_seconds, search (which one answered) and plan;
    with --max-solutions above 1 also solutions. seconds is the search alone,
    guide_seconds what its guide took; --max-seconds limits their sum.

    --count N prints up to N solutions, --all all of them: of one puzzle each
    on a line, as it is found, then what they cost; of many a line LINE STATUS
    SOLUTIONS SOLUTION for each, where SOLUTIONS is how many were found. With
    --json each is an object {id, solution}, and the puzzle's own comes last.
    Of one puzzle the time of printing is within --max-seconds, too.

    --unique finds a solution, and a second one or a proof that there is none.
    It prints what it has found, then one of the words unique, several, none
    (no solution), unknown (a limit); of many puzzles LINE WORD SOLUTION
    SECOND; with --json the fields unique (the word) and second. Exit code: 0
    if all are unique, 1 if one is not, 3 if a limit leaves one unknown.

    --policy says how to search; every flag that you give goes before it, or is
    refused. --plan says what comes of both.
      auto    plain search, and a guided one beside it once a puzzle has proved
              to be hard; nogoods in larger grids and in problems of your own (the
              default, if no flag says how to search)
      guided  guided from the first node on, asked rarely, with restarts
      paper   DiBS as in the paper: --guide relational --level naked
              --trigger binary --alpha 0.8 --steps 1
      plain   classical search: --level hidden --tie impact, no guide
    Without --policy, flags from --level to --guide are taken as they are:
    --level naked is plain search with naked singles, --guide relational asks
    that guide at the nodes that --trigger names. calls are forward passes.

    --engine hands the problem to another solver. It asks --guide once, about
    the root, for phases (glucose4, cadical195, kissat) or hints (cp-sat);
    --max-seconds is as ever. Its decisions are counted as nodes, its conflicts
    as backtracks.

    --cluster ADDRESS solves on a Ray cluster: many puzzles in batches, one
    puzzle on all its cores (docs/SEARCH.md).

    --proof FILE (of dibs' own search and all engines but cp-sat) writes a DRAT
    proof of UNSAT, packed if the name ends in .xz; a puzzle's formula goes to
    FILE.cnf. With --max-solutions 2 it is a proof that there is no second one.

    For example:
      dibs solve 4.....1..3.....2
      dibs solve puzzles.txt.gz --tie degree --max-nodes 100000 --json
      dibs solve square.txt --family latin --max-solutions 2
      dibs solve puzzles.txt --unique
      dibs solve monday.cnf tuesday.cnf
      dibs solve model.json --all --json
      cat formula.cnf | dibs solve -
      dibs solve puzzles.txt --policy paper --json
      dibs solve puzzles.txt --policy guided --select confident --reuse 0.8
      dibs solve formula.cnf --proof formula.drat
      dibs solve puzzle.txt --max-solutions 2 --proof unique.drat
      dibs solve puzzles.txt --engine cadical195 --guide relational
    """
    if workers is not None and workers < 1:
        raise Refused(f"dibs: workers = {workers}: it must be a whole number, 1 or more")
    if cluster is not None and proof is not None:
        raise Refused("dibs: a proof is written here: give --proof or --cluster")
    if unique and engine != "own":
        raise Refused(f"dibs: --unique is for dibs' own search, not for engine {engine}")
    texts = [source.find(puzzle) for puzzle in puzzles or (None,)]
    if proof is not None:
        if every:
            raise Refused(f"dibs: a proof excludes at most {EXCLUDED:,} solutions: give --count N in place of --all")
        source.keep(texts, proof, formula_path(Path(proof)))
    try:
        request = Request(policy, _wanted(given.as_dict(), every, unique), engine=engine)
        solver = ready(request, proof=proof)
        read = partial(read_instances, family=family, box=source.parse_box(box), limits=limits)
        streams = [(text, read(text.source, name=text.name)) for text in texts]
    except ValueError as error:
        if isinstance(error, InputError) and error.file:  # it names its place
            raise
        raise Refused(f"dibs: {error}") from None
    with Interrupt() as interrupt:
        items = interrupt.reading(_places(streams))
        run = _Run(interrupt, request, solver, json, workers, texts, unique, cluster)
        if plan:
            return run.planned(items)
        first = list(islice(items, 2))
        if proof is not None and len(first) > 1:
            raise Refused("dibs: a proof is about one puzzle or formula, and there are several")
        if len(first) > 1 or not first:
            return run.many(chain(first, items))
        several = run.wanted > 1 and not unique and proof is None
        if several and cluster is not None:
            raise Refused("dibs: all solutions of one puzzle are found here: give --workers, not --cluster")
        return run.each(*first[0]) if several else run.one(*first[0])


def _places(streams: list[tuple[source.Input, Iterator[Item]]]) -> Iterator[Placed]:
    """What all inputs hold, one after the other; of several, one that cannot be read is an error like any other."""
    several = len(streams) > 1
    for text, items in streams:
        try:
            for line, item in items:
                yield source.Place(text.label, line, several), item
        except InputError as error:
            if not several:
                raise
            yield source.Place(text.label, error.line or 1, several), error


def _wanted(explicit: dict[str, Any], every: bool, unique: bool) -> dict[str, Any]:
    """What was said, and how many solutions are wanted."""
    if every + unique + ("max_solutions" in explicit) > 1:
        raise ValueError("of --all, --unique and --count, give one: each says how many solutions are wanted")
    return {**explicit, "max_solutions": MOST if every else 2} if every or unique else explicit


@dataclass
class _Run:
    """One call of the command."""

    interrupt: Interrupt
    request: Request
    solver: Solver
    json: bool
    workers: int | None
    given: list[source.Input]
    unique: bool
    cluster: str | None = None
    tally: Tally = field(default_factory=Tally)
    code: int = 0  # of --unique
    lines: int | None = None  # of the file; counted when somebody waits

    @property
    def wanted(self) -> int:
        """How many solutions of each puzzle."""
        return self.request.options.max_solutions

    def solved(self, problems: Iterator[tuple[source.Place, Instance]]) -> Iterator[list[answer.Answer]]:
        """Batches of answers. The search runs in threads, so that Ctrl-C is heard even while the kernel compiles."""
        if self.cluster is not None:
            from dibs import cluster

            return cluster.solve_batches(problems, self.request, self.cluster, self.workers, self.interrupt.stop)
        return solve_batches(problems, self.solver, self.workers, self.interrupt.stop)

    def checked(self, place: source.Place, item: Instance | InputError) -> Instance | InputError:
        """An instance that has no plan, or that the guide cannot take, becomes an error of its line."""
        if isinstance(item, InputError):
            return item
        try:
            plan = self.solver.plan(item)
            needs = plan.guided and self.solver.guide is not None and plan.options.guide_after is None
            reason = self.solver.guide.refusal(item.structure) if needs and self.solver.guide else None
        except Exception as error:
            if isinstance(error, InputError) and error.file:
                raise  # of the guide's own files: no fault of this puzzle
            return answer.failure(error, place)
        return InputError(reason, place.file, place.line) if reason else item

    def planned(self, items: Iterator[Placed]) -> int:
        """Say what would be done, once for puzzles that have the same plan."""
        known: set[str] = set()
        for place, item in items:
            item = self.checked(place, item)
            if isinstance(item, InputError):
                raise item
            plan = self.solver.plan(item)
            text = encoder.dumps({"id": place.id, **plan.as_dict()}) if self.json else plan.describe()
            if plan.describe() not in known:
                known.add(plan.describe())
                print(text)
        return 0

    def one(self, place: source.Place, item: Instance | InputError) -> int:
        item = self.checked(place, item)
        if isinstance(item, InputError):
            raise item
        # A formula that is not easy is CaDiCaL's, and nogoods go on beside it: that is for one core.
        self.solver.workers = self.workers or (1 if self.solver.plan(item).first == "nogoods" else cores())
        with Terminal(self.waiting) as terminal:
            answers = list(chain.from_iterable(self.solved(iter([(place, item)]))))
            terminal.close()
            if not answers:
                terminal.say("interrupted")
                raise KeyboardInterrupt
            [(_, _, outcome)] = answers
            if isinstance(outcome, Exception):
                named = isinstance(outcome, InputError) and outcome.file
                raise outcome if named else answer.failure(outcome, place) from None
            engine = None if self.request.engine == "own" else self.request.engine
            if self.unique:
                name = self.solver.plan(item).name
                terminal.rows(answer.unique(place, item, outcome, name, self.json))
            elif self.json:
                terminal.rows(self.json_row(place, item, outcome))
            else:
                terminal.rows(answer.one(item, outcome, self.wanted, engine))
            if self.solver.proof is not None:
                terminal.say(about_proof(self.solver.proof, item, outcome, self.wanted))
            return UNIQUE_CODES[answer.verdict(outcome)] if self.unique else answer.exit_code(item, outcome)

    def each(self, place: source.Place, item: Instance | InputError) -> int:
        """All solutions of one puzzle, as they are found, then what they cost."""
        item = self.checked(place, item)
        if isinstance(item, InputError):
            raise item
        instance, stop = item, self.interrupt.stop
        self.solver.reading = True
        self.solver.workers = self.workers or 1  # the order of solutions is the same in every run, unless said
        stream = Solutions(self.solver.stream(instance, stopped=stop.is_set))
        with Terminal(self.waiting) as terminal:
            first = None
            for solution in aside(lambda: stream, stop):
                first = solution if first is None else first
                terminal.rows(answer.found(place, instance, solution, self.json))
            terminal.close()
            outcome = stream.outcome
            if self.interrupt.pressed or outcome is None:
                terminal.say("interrupted")
                raise KeyboardInterrupt
            if self.json:
                terminal.rows(self.json_row(place, instance, replace(outcome, solution=first)))
            else:  # they are printed already
                terminal.rows(answer.one(instance, replace(outcome, solution=None), self.wanted))
            return answer.exit_code(instance, outcome)

    def several(self, place: source.Place, instance: Instance, outcome: Outcome) -> str:
        """The solutions of one of many as JSON, where several are wanted."""
        each = outcome.found if self.wanted > 1 else ()
        return "".join(answer.found(place, instance, solution, True) for solution in each)

    def json_row(self, place: source.Place, instance: Instance, outcome: Outcome) -> str:
        return answer.as_json(place, outcome, self.wanted, self.solver.plan(instance).name)

    def unique_row(self, place: source.Place, instance: Instance, outcome: Outcome) -> str:
        self.code = max(self.code, UNIQUE_CODES[answer.verdict(outcome)])
        if self.json:
            return answer.unique(place, instance, outcome, self.solver.plan(instance).name, True)
        return answer.unique_row(place, instance, outcome)

    def many(self, items: Iterator[Placed]) -> int:
        """Good ones are solved, bad ones reported; what was finished before a Ctrl-C is printed and summed up."""
        tally = self.tally
        broken: InputError | None = None
        with Terminal(self.working) as terminal:
            try:
                for batch in self.solved(self.good(items, terminal)):
                    solved = [(place, i, found) for place, i, found in batch if isinstance(found, Outcome)]
                    if self.unique:
                        rows = [self.unique_row(*one) for one in solved]
                    elif self.json:
                        rows = [self.several(*one) + self.json_row(*one) for one in solved]
                    else:
                        rows = [answer.row(*one, self.wanted) for one in solved]
                    if solved:
                        terminal.rows("".join(rows))
                        tally.add(solved[-1][0].line, (outcome for _, _, outcome in solved))
                    for place, _, found in batch:
                        if isinstance(found, Exception):
                            self.bad(answer.failure(found, place), terminal)
            except InputError as error:  # the rest of the file cannot be read
                broken = error
            except KeyboardInterrupt:
                self.interrupt.pressed = True
            terminal.close()
            if broken:
                terminal.say(str(broken))
            terminal.say(tally.summary(self.interrupt.pressed))
        if self.interrupt.pressed:
            raise KeyboardInterrupt
        return 2 if tally.bad or broken else self.code

    def good(self, items: Iterator[Placed], terminal: Terminal) -> Iterator[tuple[source.Place, Instance]]:
        for place, item in items:
            item = self.checked(place, item)
            if isinstance(item, InputError):
                self.bad(item, terminal)
            else:
                yield place, item

    def bad(self, error: InputError, terminal: Terminal) -> None:
        """One puzzle has no answer; the others do."""
        self.tally.bad += 1
        terminal.say(str(error))

    def waiting(self, seconds: float) -> Meter | None:
        if seconds > 1 and self.request.engine == "own" and not kernel_ready():
            return Meter(COMPILING)
        return Meter(f"searching, {seconds:.0f} s") if seconds > 2 else None

    def working(self, seconds: float) -> Meter | None:
        if not self.tally.done:
            return self.waiting(seconds)
        if seconds <= 2:
            return None
        if self.lines is None:
            self.lines = source.count_lines(self.given[0].source) or 0 if len(self.given) == 1 else 0
        share = min(self.tally.line / self.lines, 1) if self.lines else None
        return pace(self.tally.done, "puzzles", seconds, share)
