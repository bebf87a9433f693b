"""Puts faults into the code, one at a time, and looks whether the tests notice: `make mutants`.

    python benchmarks/mutants.py                 all of them (an hour)
    python benchmarks/mutants.py gate checker    those whose name begins so

A mutant is a line of the code with a fault in it, and the tests that must fail then. Each runs in a copy of the tree.
Tests of a mutant in compiled code run without compiling, where they are small enough. First all these tests must pass
without any fault. A mutant that survives shows what no test would notice: write that test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "benchmarks", "examples", "configs", "experiments", "docs")
SECONDS = 900  # a search that does not end was noticed, too


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str  # below src/dibs
    old: str  # occurs once
    new: str
    tests: tuple[str, ...]  # arguments of pytest
    compiled: bool = True  # False: Numba is switched off

    @property
    def path(self) -> Path:
        return Path("src/dibs") / self.file


TRIPLES = ("tests/search/test_agreement.py", "-k", "answers")  # small problems under all options and guides
CHECKERS = ("tests/problem/test_checkers.py",)
LEARNER = ("tests/search/test_learner.py", "-k")
SIGNALS = ("tests/model/test_train.py", "-k")
GATE = ("tests/web/test_server_gate.py", "-k")
RACE = ("tests/search/test_policies.py", "-k", "time")
TABLES, PLANES = "search/tree/tables.py", "search/tree/planes.py"
STORE = ("tests/bench/test_records.py",)
PROOFS = ("tests/search/test_proofs.py", "-x")
EVERY, SESSIONS = ("tests/search/test_enumeration.py",), ("tests/search/test_sessions.py",)
WORKERS = ("tests/search/test_workers.py",)
SELFCHECK = ("tests/search/test_selfcheck.py",)  # what shows only where nogoods meet one another


def faults(area: str, file: str, tests: tuple[str, ...], compiled: bool = True) -> Callable[..., list[Mutant]]:
    """Mutants of one file that the same tests must notice, from the name, the old and the new code of each."""

    def of(*each: tuple[str, str, str]) -> list[Mutant]:
        return [Mutant(f"{area}: {name}", file, old, new, tests, compiled) for name, old, new in each]

    return of


MUTANTS = [
    # Checkers of solutions.
    *faults("checker", "problem/batch.py", CHECKERS)(
        ("a batch ignores givens", " & ((given == 0) | (given == values))", ""),
        ("no boxes", "    if of.box:\n        rows", "    if False:\n        rows"),
        ("no columns", "[grid, grid.transpose(1, 0, 2)]", "[grid]"),
        ("a unit may lack a value", "axis=1) == full", "axis=1) <= full"),
    ),
    *faults("checker", "problem/own.py", CHECKERS)(
        ("own givens", "        if missing:\n", "        if False:\n"),
        ("own groups", "not least <= count <= most", "not least <= count"),
    ),
    *faults("checker", "search/outcome.py", ("tests/search/test_engine.py", "-k", "checked"))(
        (
            "nobody looks",
            "        if wrong:\n            raise WrongSolution",
            "        if False:\n            raise WrongSolution",
        ),
    ),
    # The search.
    *faults("search", "search/tree/propagate.py", TRIPLES, compiled=False)(
        ("an empty domain is no failure", "if (free_a & ~once_a) | (free_b & ~once_b):", "if free_b & ~once_b:"),
        (
            "an empty group is no failure",
            "        if empty:\n            return -1",
            "        if False:\n            return -1",
        ),
    ),
    *faults("search", PLANES, TRIPLES, compiled=False)(
        ("undo leaves groups", "s.group[t.watch[unsigned(k)]] += change", "s.group[t.watch[unsigned(k)]] += 0"),
        (
            "undo leaves planes",
            "s.plane[s.trail[unsigned(i)]] ^= s.lost[unsigned(i)]",
            "s.plane[s.trail[unsigned(i)]] ^= np.uint64(0)",
        ),
    ),
    *faults("search", "search/tree/loop.py", TRIPLES, compiled=False)(
        ("one solution too many", "place + 1 >= rules.wanted or", "place + 1 > rules.wanted or"),
        (
            "one node too many",
            "rules.ask_nodes * counts[state.ASKS] >= counts[state.MOST]",
            "rules.ask_nodes * counts[state.ASKS] > counts[state.MOST]",
        ),
    ),
    *faults("search", TABLES, TRIPLES, compiled=False)(
        ("needs are ignored", 'CHECK if level == "eliminate" else FORCE', "IGNORE"),
        ("empty groups are fine", "hopeless=bool((watched & (sizes == 0)).any())", "hopeless=False"),
        ("units are not forced", "lone = watched & (sizes == 1)", "lone = watched & (sizes == 0)"),
    ),
    *faults("search: nogoods", "search/nogoods/groups.py", TRIPLES, compiled=False)(
        ("exclusive groups are not", "        if p.exclusive[g]:\n", "        if p.exclusive[g] and p.need[g]:\n"),
    ),
    *faults("search: nogoods", "search/nogoods/analyse.py", SELFCHECK)(
        ("a decision says nothing", "            see(p, m, m.arena[i])", "            pass"),
        (
            "too much follows",
            "            if not granted(p, m, reason, noting):\n                return False",
            "            pass",
        ),
    ),
    *faults("search: sessions", "search/nogoods/analyse.py", SESSIONS)(
        (
            "a nogood that needs another forgets what that one needs",
            "        gather(m, m.needs, nogood)\n    else:",
            "        pass\n    else:",
        ),
        (
            "groups that were cut need nothing",
            "    elif m.counts[arrays.CUT]:\n        gather(m, m.closed, group)\n",
            "",
        ),
    ),
    *faults("search: nogoods", "search/nogoods/propagate.py", TRIPLES, compiled=False)(
        ("groups stay held", "                m.held[g] -= 1", "                m.held[g] -= 0"),
        ("sums are not restored", "                m.total[g] += literal", "                m.total[g] += 0"),
    ),
    *faults("search: nogoods", "search/nogoods/forget.py", SELFCHECK)(
        ("void nogoods stay", "                void = True", "                void = False"),
    ),
    *faults("search", "search/nogoods/arrays.py", (*LEARNER, "recent"), compiled=False)(
        ("weights grow by half", "GROWTH = 1.02", "GROWTH = 1.5"),
    ),
    *faults("search", "search/nogoods/forget.py", (*LEARNER, "room"), compiled=False)(
        ("the room for nogoods stays", "counts[arrays.ROOM] += arrays.MORE_ROOM", "pass"),
    ),
    *faults("search", "search/nogoods/search.py", (*LEARNER, "forgotten"))(
        ("a full store is dropped", "self.memory = arrays.grown(self.memory)", "counts[arrays.FULL] = 0"),
    ),
    *faults("search: nogoods", "search/nogoods/propagate.py", (*LEARNER, "many_groups"))(
        ("the best of a block stays", "counts[arrays.AHEAD] = counts[arrays.LOOKED] = 0", "counts[arrays.AHEAD] = 0"),
    ),
    # All solutions, sessions, several cores.
    *faults("every", "search/nogoods/every.py", EVERY)(
        (
            "a flip becomes a decision",
            "m.touched[noted] = -1 - literal if i == m.mark[level - 1] else literal",
            "m.touched[noted] = -1 - literal",
        ),
        ("failures go back beyond the floor", "back(p, m, max(level, aim.counts[FLOOR]))", "back(p, m, level)"),
        ("what is blocked comes again", "        block(p, m, level)\n    else:", "        back(p, m, 0)\n    else:"),
        (
            "what is not in the projection is flipped",
            "while level > 0 and not aim.among[m.trail[m.mark[level - 1]]]:",
            "while False:",
        ),
    ),
    *faults("every", "search/nogoods/every.py", WORKERS)(
        ("a part goes on in the others", "        if level <= aim.counts[BOTTOM]:", "        if level == 0:"),
    ),
    *faults("assume", "search/nogoods/assume.py", SESSIONS)(
        (
            "what is denied does not fail",
            "(literal == denied or (m.seen[literal] and m.reason[literal] == NONE))",
            "m.seen[literal] and m.reason[literal] == NONE",
        ),
        (
            "a call begins where another was",
            "while same < most and m.assumed[same] == assumed[same]:",
            "while same < most:",
        ),
        (
            "what was assumed before refutes",
            "there = there and (m.reason[cause] != NONE or m.stamp[cause + 1] == -1)",
            "there = True",
        ),
        ("groups sleep on", "    if literal < 0:\n        wake(p, m)", "    if literal < 0:\n        pass"),
    ),
    *faults("assume", "search/nogoods/decide.py", SESSIONS)(
        (
            "choices among too few groups",
            "            m.listed[found] = p.choices[i]\n            found += 1",
            "            m.listed[found] = p.choices[i]\n            found += i % 7 > 0",
        ),
    ),
    *faults("workers", "search/nogoods/team.py", WORKERS)(
        ("a cube gets lost", "self._cubes += cubes[1:]", "self._cubes += cubes[2:]"),
        ("what was given away is done twice", "aim.counts[every.BOTTOM] += 1", "aim.counts[every.BOTTOM] += 0"),
    ),
    # Proofs.
    *faults("proof", "search/nogoods/analyse.py", PROOFS)(
        (
            "a nogood has a literal too few",
            "        if not follows(p, m, literal, False):",
            "        if k > 1 and not follows(p, m, literal, False):",
        ),
    ),
    *faults("proof", "search/tree/lemmas.py", PROOFS)(
        ("a choice is left out", "    for i in range(r.end[node]):", "    for i in range(r.end[min(node, 1)]):"),
    ),
    *faults("proof", "search/nogoods/lemmas.py", PROOFS)(
        (
            "a nogood is not noted",
            "        m.counts[arrays.LOGGED] += length + 1",
            "        m.counts[arrays.LOGGED] += 0",
        ),
    ),
    # Limits.
    *faults("limits", TABLES, ("tests/search/test_tables.py",))(
        ("groups of any size", "MOST_MEMBERS = (1 << 13) - 1", "MOST_MEMBERS = (1 << 14) - 1"),
        ("any sum of addresses", " or total[watched].max(initial=0) >= ONE", ""),
    ),
    *faults("limits", "search/race.py", RACE)(
        ("the guided side has time of its own", "guided.elsewhere[mine] = plain.used(rows)", "pass"),
        ("the plain side has time of its own", "plain.elsewhere[rows] = guided.used(mine)", "pass"),
    ),
    *faults("limits", "search/nogoods/dives.py", (*LEARNER, "asked or limits"))(
        (
            "asks are not counted",
            "if self._begun > 1 and self.asks < self.most else NEVER",
            "if self._begun > 1 else NEVER",
        ),
    ),
    *faults("limits", "questions.py", ("tests/search/test_options_and_calls.py",))(
        ("a count may be cut", '{*LIMITS, *ALIASES} - {"seed"}', '{"max_seconds", "max_solutions"}'),
    ),
    *faults("limits", "ranges.py", ("tests/test_ranges.py",))(
        ("a number may be infinite", " or (highest is not None and number > highest)", ""),
    ),
    # Training that goes on, and records.
    *faults("resume", "model/train.py", (*SIGNALS, "signals"))(
        (
            "signals in the middle of a step",
            "with interrupts_later(signal.SIGINT, signal.SIGTERM):\n                        torch",
            "if True:\n                        torch",
        ),
    ),
    *faults("resume", "model/train.py", (*SIGNALS, "learns"))(
        ("the average stands still", "_average(state.average, plain, t.ema, state.step * t.updates + number)", "pass"),
    ),
    *faults("resume", "model/checkpoint.py", (*SIGNALS, "signals or made_up"))(
        (
            "the loss is forgotten",
            "{f.name: getattr(self, f.name) for f in fields(self)}",
            "{f.name: getattr(self, f.name) for f in fields(self)[:-1]}",
        ),
    ),
    *faults("resume", "model/train.py", (*SIGNALS, "undisturbed"))(
        ("the optimiser is new", "        optimiser.load_state_dict(state.optimiser)\n", ""),
        (
            "dropout goes on as it likes",
            "torch.manual_seed(_hash(t.seed, fabric.global_rank, state.step))  # dropout",
            "pass",
        ),
    ),
    *faults("resume", "model/train.py", (*SIGNALS, "made_up"))(
        ("a validation is lost", "if log and state.step:", "if False:"),
    ),
    *faults("resume", "model/train.py", (*SIGNALS, "refused"))(
        ("other data is fine", "if state.data != data:", "if False:"),
    ),
    *faults("resume", "model/log.py", (*SIGNALS, "made_up or log_goes or signals"))(
        ("rows of the future stay", 'if int(row["step"]) <= start', 'if row["step"]'),
    ),
    *faults("resume", "model/train.py", (*SIGNALS, "rate"))(
        ("no warm-up", "up = min(1.0, (step + 1) / max(t.warmup, 1))", "up = 1.0"),
        ("no decay", "t.lr * up * min(1.0, (t.steps - step) / max(t.decay * t.steps, 1))", "t.lr * up"),
        ("half a cosine", "math.cos(math.pi * step / t.steps)", "math.cos(math.pi * step / t.steps / 2)"),
    ),
    *faults("resume", "model/relational.py", ("tests/model/test_relational.py", "-k", "segments"))(
        ("segments forget", "h = hidden if fresh is None else torch.where(fresh[:, None], h, hidden)", "pass"),
    ),
    *faults("resume", "model/tasks.py", (*SIGNALS, "updates"))(
        ("one update", "range(t.updates)", "range(1)"),
    ),
    *faults("resume", "interrupt.py", ("tests/test_interrupt.py",))(
        ("handlers are lost", "            restore()  # a signal", "            pass  # a signal"),
    ),
    *faults("resume", "bench/records.py", STORE)(
        (
            "another experiment's records",
            "                store._compare(cls.read(folder).manifest, mixed)",
            "                pass",
        ),
        ("what was left stays", "                left.unlink()", "                pass"),
    ),
    # Figures.
    *faults("figures", "bench/summary.py", ("tests/bench/test_summary.py",))(
        (
            "90 percent of a percentile",
            "np.quantile(drawn, [0.025, 0.975]) * n",
            "np.quantile(drawn, [0.05, 0.95]) * n",
        ),
        (
            "90 percent of a mean",
            "np.quantile(drawn @ means / n, [0.025, 0.975])",
            "np.quantile(drawn @ means / n, [0.05, 0.95])",
        ),
    ),
    *faults("figures", "report/bootstrap.py", ("tests/report/test_views.py", "-k", "interval or bootstrap"))(
        (
            "90 percent of a change",
            "np.quantile(usable, [0.025, 0.975], axis=0)",
            "np.quantile(usable, [0.05, 0.95], axis=0)",
        ),
    ),
    # The gate of the playground.
    *faults("gate", "web/gate.py", (*GATE, "host or served"))(
        ("any host", "if name not in self.hosts and not", "if False and not"),
        ("any name everywhere", "(self.anywhere and _is_address(name))", "self.anywhere"),
    ),
    *faults("gate", "web/gate.py", (*GATE, "website or names or malformed"))(
        ("any origin", 'if origin.lower() != f"http://{host}":', "if False:"),
    ),
    *faults("gate", "web/gate.py", (*GATE, "website"))(
        ("other sites", 'in ("cross-site", "same-site") and (', "in () and ("),
    ),
    *faults("gate", "web/gate.py", (*GATE, "itself"))(
        ("any kind of body", 'kind.strip().lower() != "application/json"', "False"),
        ("any method", 'if scope["method"] != wanted:', "if False:"),
        ("two hosts", "if len(given) != 1:", "if not given:"),
        ("bodies without end", "                if len(body) > limits.BODY:", "                if False:"),
    ),
    *faults("gate", "web/gate.py", (*GATE, "malformed"))(
        ("a query", 'if scope["query_string"]:', "if False:"),
    ),
    *faults("gate", "web/gate.py", (*GATE, "hosts"))(
        ("a port that is none", "(?::[0-9]{1,5})?", "(?::.*)?"),
    ),
    *faults("gate", "web/protocol.py", (*GATE, "slow_headers"))(
        ("slow headers", "call_later(limits.HEAD_SECONDS, self._too_late)", "call_later(600, self._too_late)"),
    ),
    *faults("gate", "web/protocol.py", (*GATE, "waited_longest"))(
        ("slow sockets keep others out", "                self.connections.discard(oldest)", "                pass"),
    ),
    *faults("gate", "web/gate.py", (*GATE, "headers"))(
        ("no headers", "                headers[name] = value", "                pass"),
    ),
    *faults("bounds", "search/nogoods/groups.py", ("tests/search/test_bounds.py", "-k", "agrees"))(
        (
            "a group may hold one more",
            "if m.held[g] == p.most[g - len(p.need)] and",
            "if m.held[g] == p.most[g - len(p.need)] + 1 and",
        ),
    ),
    *faults("bounds", "search/nogoods/groups.py", ("tests/search/test_bounds.py", "-k", "taken_at_once"))(
        ("what a group still needs is not taken", "elif m.held[g] < least:", "elif m.held[g] < 0:"),
    ),
    *faults("bounds", "search/nogoods/analyse.py", ("tests/search/test_bounds.py", "-k", "follows or agrees"))(
        (
            "reasons leave out the true members",
            "if m.state[literal] == arrays.TRUE and m.position[literal] < m.position[excluded]:",
            "if m.state[literal] == arrays.TRUE and m.position[literal] < 0:",
        ),
    ),
    *faults("bounds", "problem/own.py", ("tests/problem/test_own_problem.py", "-k", "bounds_and_negations"))(
        (
            "the checker of a problem takes one more",
            "if not bounds.least <= count <= bounds.most:",
            "if not bounds.least <= count <= bounds.most + 1:",
        ),
    ),
]


def occurrences(mutant: Mutant, root: Path = ROOT) -> int:
    return (root / mutant.path).read_text(encoding="utf-8").count(mutant.old)


def copied(folder: Path) -> Path:
    """The tree in `folder`; with what was compiled, whose files keep their times."""
    for name in COPIED:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, folder / name)
    shutil.copy2(ROOT / "pyproject.toml", folder)
    return folder


def passes(root: Path, tests: Sequence[str], compiled: bool) -> bool:
    """Whether these tests of a tree pass; they do not if they take too long."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    if not compiled:
        words += ["-W", "ignore::RuntimeWarning"]  # Python's numbers overflow where those of the machine wrap
        environment |= {"NUMBA_DISABLE_JIT": "1"}
    quiet = subprocess.DEVNULL
    try:
        return (
            subprocess.run(words, cwd=root, env=environment, stdout=quiet, stderr=quiet, timeout=SECONDS).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def killed(mutant: Mutant) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        root = copied(Path(folder))
        path = root / mutant.path
        path.write_text(path.read_text(encoding="utf-8").replace(mutant.old, mutant.new), encoding="utf-8")
        return not passes(root, mutant.tests, mutant.compiled)


def main(*names: str) -> int:
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name.startswith(names)]
    if stale := [mutant for mutant in chosen if occurrences(mutant) != 1]:
        for mutant in stale:
            print(f"{mutant.name}: its line occurs {occurrences(mutant)} times in {mutant.path}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        root = copied(Path(folder))
        for tests, compiled in dict.fromkeys((mutant.tests, mutant.compiled) for mutant in chosen):
            if not passes(root, tests, compiled):
                print(f"without any fault these tests fail: {' '.join(tests)}")
                return 1
    survivors = []
    for number, mutant in enumerate(chosen, 1):
        begin = perf_counter()
        dead = killed(mutant)
        if not dead:
            survivors.append(mutant.name)
        took = perf_counter() - begin
        print(
            f"{number:>3} of {len(chosen)}  {'killed  ' if dead else 'SURVIVED'}  {mutant.name}  ({took:.0f} s)",
            flush=True,
        )
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
