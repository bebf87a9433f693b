"""`dibs solve`: one puzzle, or a file of a million."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain, islice
from typing import Annotated

from cyclopts import Parameter

from dibs.commands import Refused, answer, source
from dibs.commands.engine import Engine
from dibs.commands.fields import Flags, Given
from dibs.commands.interrupt import Interrupt
from dibs.commands.tally import Tally
from dibs.commands.terminal import Meter, Terminal, pace
from dibs.engines.options import EngineName
from dibs.engines.registry import ENGINES, check_proofs
from dibs.problem import InputError, Instance, read_instances
from dibs.problem.limits import DEFAULT, InputLimits
from dibs.problem.reading import Family, Item
from dibs.search import Outcome
from dibs.search.options import Options
from dibs.search.policy import PolicyName, Waiting, chosen_fields, waiting
from dibs.search.solve import kernel_ready, solve_batches

COMPILING = "compiling the search kernel (once; later starts use the cache)"

LOADING = "loading the guide"

_TAKES = ", ".join(f"{engine.takes} to {name}" for name, engine in ENGINES.items())
_ENGINE = f"what searches: dibs itself or another solver; a guide gives {_TAKES}"


def solve(
    puzzle: Annotated[str | None, Parameter(help="a file, - for standard input, or the puzzle itself")] = None,
    /,
    *,
    policy: Annotated[PolicyName | None, Parameter(help="what the flags below are by default; see above")] = None,
    given: Flags = Given(),  # noqa: B008 (frozen)
    engine: Annotated[EngineName, Parameter(help=_ENGINE)] = "own",
    proof: Annotated[str | None, Parameter(help="write a DRAT proof of UNSAT to this file")] = None,
    json: Annotated[bool, Parameter(help="one JSON object per puzzle")] = False,
    family: Annotated[Family, Parameter(help="what the input is; auto: a CNF or Sudokus")] = "auto",
    box: Annotated[str | None, Parameter(help="rows x columns of a Sudoku's boxes, e.g. 2x5")] = None,
    workers: Annotated[int | None, Parameter(help="threads for a file of many puzzles; default: all cores")] = None,
    limits: Annotated[InputLimits, Parameter(name="*")] = DEFAULT,
) -> int:
    """Solve a puzzle, or every puzzle of a file.

    A file may hold puzzles one on a line, as grids, as CSV, or one DIMACS
    formula, and may be packed with gzip or xz.

    One puzzle is answered with its grid and what the search cost. Of many,
    each is a line LINE STATUS SOLUTION, where LINE is where it begins (with
    --count above 1: LINE STATUS SOLUTIONS SOLUTION); a summary goes to
    standard error. A formula is answered as in SAT competitions, with the
    exit codes 10, 20 and 0. Bad input or options: exit code 2; so is a puzzle
    of many that could not be solved, after all others.

    --json has the fields id (LINE), status, solution, nodes, backtracks, asks,
    calls, depth, seconds and guide_seconds; with --count above 1 also
    solutions. seconds is the search alone, guide_seconds what its guide took;
    the limit --seconds is on their sum.

    --policy says how to search; every flag that you give goes before it.
      auto    plain search, and a guided one beside it once a puzzle has proved
              to be hard (the default, if no flag says how to search)
      guided  guided from the first node on, asked rarely, with restarts
      paper   DiBS as in the paper: --guide relational --level naked
              --trigger binary --alpha 0.8 --steps 1
      plain   classical search: --level hidden --tie reach, no guide
    Without --policy, flags from --level to --guide are taken as they are:
    --level naked is plain search with naked singles, --guide relational asks
    that guide at the nodes that --trigger names. calls are forward passes.

    --engine hands the problem to another solver. It asks --guide once, about
    the root, for phases (glucose4, cadical195) or hints (cp-sat); --seconds is
    as ever. Its decisions are counted as nodes, its conflicts as backtracks.
    --proof FILE (glucose4, cadical195) writes a DRAT proof; a puzzle's formula
    goes to FILE.cnf.

    For example:
      dibs solve 4.....1..3.....2
      dibs solve puzzles.txt.gz --tie degree --nodes 100000 --json
      dibs solve square.txt --family latin --count 2
      cat formula.cnf | dibs solve -
      dibs solve puzzles.txt --policy paper --json
      dibs solve puzzles.txt --policy guided --select confident --keep 0.8
      dibs solve formula.cnf --engine cadical195 --proof formula.drat
      dibs solve puzzles.txt --engine cadical195 --guide relational
    """
    if workers is not None and workers < 1:
        raise Refused(f"dibs: workers = {workers}: it must be a whole number, 1 or more")
    text = source.find(puzzle)
    other: Engine | None = None
    try:
        if proof is not None:
            check_proofs(engine)
        if engine == "own":
            options, guidance = chosen_fields(policy, given.as_dict())
            guide = waiting(guidance) if guidance.guide else None
        else:
            own = {"policy": policy, "workers": workers}
            own = {key: value for key, value in own.items() if value is not None}
            other = Engine(engine, {**own, **given.as_dict()}, proof)
            options, guide = Options(), other.guide
        items = read_instances(text.source, family, source.parse_box(box), name=text.name, limits=limits)
    except ValueError as error:
        raise Refused(f"dibs: {error}") from None
    if guide and options.after is None and guide.guidance.guide != "auto":
        with Terminal(lambda seconds: Meter(LOADING) if seconds > 1 else None):
            guide.load()
    with Interrupt() as interrupt:
        items = interrupt.reading(items)
        first = list(islice(items, 2))
        if proof is not None and len(first) > 1:
            raise Refused("dibs: a proof is about one puzzle or formula, and there are several")
        run = _Run(interrupt, options, guide, json, workers, text, other)
        return run.one(*first[0]) if len(first) == 1 else run.many(chain(first, items))


class _Run:
    """One call of the command."""

    def __init__(
        self,
        interrupt: Interrupt,
        options: Options,
        guide: Waiting | None,
        json: bool,
        workers: int | None,
        given: source.Input,
        engine: Engine | None = None,
    ) -> None:
        self.interrupt = interrupt
        self.options = options
        self.guide = guide
        self.json = json
        self.workers = workers
        self.given = given
        self.engine = engine
        self.tally = Tally()
        self.lines: int | None = None  # of the file; counted when somebody waits

    def solved(self, problems: Iterator[tuple[int, Instance]]) -> Iterator[list[answer.Answer]]:
        """Batches of answers. The search runs in threads, so that Ctrl-C is heard even while the kernel compiles."""
        if self.engine is not None:
            return self.engine.solved(problems, self.interrupt.stop.is_set)
        settings = asdict(self.options)
        if self.guide is None:
            settings["policy"] = "plain"
        return solve_batches(problems, guide=self.guide, workers=self.workers, stop=self.interrupt.stop, **settings)

    def checked(self, line: int, item: Instance | InputError) -> Instance | InputError:
        """An instance that the guide cannot take becomes an error of its line."""
        if self.guide is None or self.options.after is not None or isinstance(item, InputError):
            return item
        try:
            reason = self.guide.refusal(item.structure)
        except Exception as error:
            return answer.failure(error, self.given.label, line)
        return InputError(reason, self.given.label, line) if reason else item

    def one(self, line: int, item: Instance | InputError) -> int:
        item = self.checked(line, item)
        if isinstance(item, InputError):
            raise item
        with Terminal(self.waiting) as terminal:
            answers = list(chain.from_iterable(self.solved(iter([(line, item)]))))
            terminal.close()
            if not answers:
                terminal.say("interrupted")
                raise KeyboardInterrupt
            [(_, _, outcome)] = answers
            if isinstance(outcome, Exception):
                named = isinstance(outcome, InputError) and outcome.file
                raise outcome if named else answer.failure(outcome, self.given.label, line) from None
            wanted = self.options.count
            name = self.engine.name if self.engine else None
            write = answer.as_json(line, outcome, wanted) if self.json else answer.one(item, outcome, wanted, name)
            terminal.rows(write)
            if self.engine and (about := self.engine.about_proof(item, outcome)):
                terminal.say(about)
            return answer.exit_code(item, outcome)

    def many(self, items: Iterator[Item]) -> int:
        """Good ones are solved, bad ones reported; what was finished before a Ctrl-C is printed and summed up."""
        tally, wanted = self.tally, self.options.count
        broken: InputError | None = None
        with Terminal(self.working) as terminal:
            try:
                for batch in self.solved(self.good(items, terminal)):
                    solved = [(line, i, found) for line, i, found in batch if isinstance(found, Outcome)]
                    if self.json:
                        rows = [answer.as_json(line, outcome, wanted) for line, _, outcome in solved]
                    else:
                        rows = [answer.row(line, instance, outcome, wanted) for line, instance, outcome in solved]
                    if solved:
                        terminal.rows("".join(rows))
                        tally.add(solved[-1][0], (outcome for _, _, outcome in solved))
                    for line, _, found in batch:
                        if isinstance(found, Exception):
                            self.bad(answer.failure(found, self.given.label, line), terminal)
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
        return 2 if tally.bad or broken else 0

    def good(self, items: Iterator[Item], terminal: Terminal) -> Iterator[tuple[int, Instance]]:
        for line, item in items:
            item = self.checked(line, item)
            if isinstance(item, InputError):
                self.bad(item, terminal)
            else:
                yield line, item

    def bad(self, error: InputError, terminal: Terminal) -> None:
        """One puzzle has no answer; the others do."""
        self.tally.bad += 1
        terminal.say(str(error))

    def waiting(self, seconds: float) -> Meter | None:
        if seconds > 1 and self.engine is None and not kernel_ready():
            return Meter(COMPILING)
        return Meter(f"searching, {seconds:.0f} s") if seconds > 2 else None

    def working(self, seconds: float) -> Meter | None:
        if not self.tally.done:
            return self.waiting(seconds)
        if seconds <= 2:
            return None
        if self.lines is None:
            self.lines = source.count_lines(self.given.source) or 0
        share = min(self.tally.line / self.lines, 1) if self.lines else None
        return pace(self.tally.done, "puzzles", seconds, share)
