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
from collections.abc import Sequence
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


def _kernel(name: str, old: str, new: str, file: str = "search/tree/propagate.py") -> Mutant:
    return Mutant(f"search: {name}", file, old, new, TRIPLES, compiled=False)


def _nogoods(verb: str, name: str, old: str, new: str, compiled: bool = True) -> Mutant:
    """Compiled: what shows only where nogoods meet one another, in problems that need search."""
    tests = ("tests/search/test_selfcheck.py",) if compiled else TRIPLES
    return Mutant(f"search: nogoods: {name}", f"search/nogoods/{verb}.py", old, new, tests, compiled)


MUTANTS = [
    # Checkers of solutions.
    Mutant(
        "checker: a batch ignores givens", "problem/batch.py", " & ((given == 0) | (given == values))", "", CHECKERS
    ),
    Mutant(
        "checker: no boxes", "problem/batch.py", "    if of.box:\n        rows", "    if False:\n        rows", CHECKERS
    ),
    Mutant("checker: no columns", "problem/batch.py", "[grid, grid.transpose(1, 0, 2)]", "[grid]", CHECKERS),
    Mutant("checker: a unit may lack a value", "problem/batch.py", "axis=1) == full", "axis=1) <= full", CHECKERS),
    Mutant("checker: own givens", "problem/own.py", "        if missing:\n", "        if False:\n", CHECKERS),
    Mutant("checker: own groups", "problem/own.py", "not least <= count <= most", "not least <= count", CHECKERS),
    Mutant(
        "checker: nobody looks",
        "search/outcome.py",
        "        if wrong:\n            raise WrongSolution",
        "        if False:\n            raise WrongSolution",
        ("tests/search/test_engine.py", "-k", "checked"),
    ),
    # The search.
    _kernel("an empty domain is no failure", "if (free_a & ~once_a) | (free_b & ~once_b):", "if free_b & ~once_b:"),
    _kernel(
        "an empty group is no failure",
        "        if empty:\n            return -1",
        "        if False:\n            return -1",
    ),
    _kernel(
        "undo leaves groups", "s.group[t.watch[unsigned(k)]] += change", "s.group[t.watch[unsigned(k)]] += 0", PLANES
    ),
    _kernel(
        "undo leaves planes",
        "s.plane[s.trail[unsigned(i)]] ^= s.lost[unsigned(i)]",
        "s.plane[s.trail[unsigned(i)]] ^= np.uint64(0)",
        PLANES,
    ),
    _kernel(
        "one solution too many",
        "place + 1 >= rules.wanted or",
        "place + 1 > rules.wanted or",
        "search/tree/loop.py",
    ),
    _kernel(
        "one node too many",
        "rules.ask_nodes * counts[state.ASKS] >= counts[state.MOST]",
        "rules.ask_nodes * counts[state.ASKS] > counts[state.MOST]",
        "search/tree/loop.py",
    ),
    _kernel("needs are ignored", 'CHECK if level == "eliminate" else FORCE', "IGNORE", TABLES),
    _kernel(
        "empty groups are fine",
        "hopeless=bool((watched & (sizes == 0)).any())",
        "hopeless=False",
        TABLES,
    ),
    _kernel(
        "units are not forced",
        "lone = watched & (sizes == 1)",
        "lone = watched & (sizes == 0)",
        TABLES,
    ),
    _nogoods(
        "groups",
        "exclusive groups are not",
        "        if p.exclusive[g]:\n",
        "        if p.exclusive[g] and p.need[g]:\n",
        False,
    ),
    _nogoods("analyse", "a decision says nothing", "            see(p, m, m.arena[i])", "            pass"),
    _nogoods(
        "analyse",
        "too much follows",
        "            if not granted(p, m, reason, noting):\n                return False",
        "            pass",
    ),
    Mutant(
        "search: sessions: a nogood that needs another forgets what that one needs",
        "search/nogoods/analyse.py",
        "        gather(m, m.needs, nogood)\n    else:",
        "        pass\n    else:",
        SESSIONS,
        True,
    ),
    Mutant(
        "search: sessions: groups that were cut need nothing",
        "search/nogoods/analyse.py",
        "    elif m.counts[arrays.CUT]:\n        gather(m, m.closed, group)\n",
        "",
        SESSIONS,
        True,
    ),
    _nogoods(
        "propagate", "groups stay held", "                m.held[g] -= 1", "                m.held[g] -= 0", False
    ),
    _nogoods(
        "propagate",
        "sums are not restored",
        "                m.total[g] += literal",
        "                m.total[g] += 0",
        False,
    ),
    _nogoods("forget", "void nogoods stay", "                void = True", "                void = False"),
    Mutant(
        "search: weights grow by half",
        "search/nogoods/arrays.py",
        "GROWTH = 1.02",
        "GROWTH = 1.5",
        (*LEARNER, "recent"),
        False,
    ),
    Mutant(
        "search: the room for nogoods stays",
        "search/nogoods/forget.py",
        "counts[arrays.ROOM] += arrays.MORE_ROOM",
        "pass",
        (*LEARNER, "room"),
        False,
    ),
    Mutant(
        "search: a full store is dropped",
        "search/nogoods/search.py",
        "self.memory = arrays.grown(self.memory)",
        "counts[arrays.FULL] = 0",
        (*LEARNER, "forgotten"),
    ),
    # All solutions, sessions, several cores.
    Mutant(
        "every: a flip becomes a decision",
        "search/nogoods/every.py",
        "m.touched[noted] = -1 - literal if i == m.mark[level - 1] else literal",
        "m.touched[noted] = -1 - literal",
        EVERY,
    ),
    Mutant(
        "every: failures go back beyond the floor",
        "search/nogoods/every.py",
        "back(p, m, max(level, aim.counts[FLOOR]))",
        "back(p, m, level)",
        EVERY,
    ),
    Mutant(
        "every: what is blocked comes again",
        "search/nogoods/every.py",
        "        block(p, m, level)\n    else:",
        "        back(p, m, 0)\n    else:",
        EVERY,
    ),
    Mutant(
        "every: what is not in the projection is flipped",
        "search/nogoods/every.py",
        "while level > 0 and not aim.among[m.trail[m.mark[level - 1]]]:",
        "while False:",
        EVERY,
    ),
    Mutant(
        "every: a part goes on in the others",
        "search/nogoods/every.py",
        "        if level <= aim.counts[BOTTOM]:",
        "        if level == 0:",
        WORKERS,
    ),
    Mutant(
        "assume: what is denied does not fail",
        "search/nogoods/assume.py",
        "(literal == denied or (m.seen[literal] and m.reason[literal] == NONE))",
        "m.seen[literal] and m.reason[literal] == NONE",
        SESSIONS,
    ),
    Mutant(
        "assume: a call begins where another was",
        "search/nogoods/assume.py",
        "while same < most and m.assumed[same] == assumed[same]:",
        "while same < most:",
        SESSIONS,
    ),
    Mutant(
        "assume: what was assumed before refutes",
        "search/nogoods/assume.py",
        "there = there and (m.reason[cause] != NONE or m.stamp[cause + 1] == -1)",
        "there = True",
        SESSIONS,
    ),
    Mutant(
        "assume: choices among too few groups",
        "search/nogoods/decide.py",
        "            m.listed[found] = p.choices[i]\n            found += 1",
        "            m.listed[found] = p.choices[i]\n            found += i % 7 > 0",
        SESSIONS,
    ),
    Mutant(
        "assume: groups sleep on",
        "search/nogoods/assume.py",
        "    if literal < 0:\n        wake(p, m)",
        "    if literal < 0:\n        pass",
        SESSIONS,
    ),
    Mutant(
        "workers: a cube gets lost",
        "search/nogoods/team.py",
        "self._cubes += cubes[1:]",
        "self._cubes += cubes[2:]",
        WORKERS,
    ),
    Mutant(
        "workers: what was given away is done twice",
        "search/nogoods/team.py",
        "aim.counts[every.BOTTOM] += 1",
        "aim.counts[every.BOTTOM] += 0",
        WORKERS,
    ),
    # Proofs.
    Mutant(
        "proof: a nogood has a literal too few",
        "search/nogoods/analyse.py",
        "        if not follows(p, m, literal, False):",
        "        if k > 1 and not follows(p, m, literal, False):",
        PROOFS,
    ),
    Mutant(
        "proof: a choice is left out",
        "search/tree/lemmas.py",
        "    for i in range(r.end[node]):",
        "    for i in range(r.end[min(node, 1)]):",
        PROOFS,
    ),
    Mutant(
        "proof: a nogood is not noted",
        "search/nogoods/lemmas.py",
        "        m.counts[arrays.LOGGED] += length + 1",
        "        m.counts[arrays.LOGGED] += 0",
        PROOFS,
    ),
    # Limits.
    Mutant(
        "limits: groups of any size",
        TABLES,
        "MOST_MEMBERS = (1 << 13) - 1",
        "MOST_MEMBERS = (1 << 14) - 1",
        ("tests/search/test_tables.py",),
    ),
    Mutant(
        "limits: any sum of addresses",
        TABLES,
        " or total[watched].max(initial=0) >= ONE",
        "",
        ("tests/search/test_tables.py",),
    ),
    Mutant(
        "limits: the guided side has time of its own",
        "search/race.py",
        "guided.elsewhere[mine] = plain.used(rows)",
        "pass",
        RACE,
    ),
    Mutant(
        "limits: the plain side has time of its own",
        "search/race.py",
        "plain.elsewhere[rows] = guided.used(mine)",
        "pass",
        RACE,
    ),
    Mutant(
        "limits: asks are not counted",
        "search/nogoods/dives.py",
        "if self._begun > 1 and self.asks < self.most else NEVER",
        "if self._begun > 1 else NEVER",
        (*LEARNER, "asked or limits"),
    ),
    Mutant(
        "limits: a count may be cut",
        "questions.py",
        '{*LIMITS, *ALIASES} - {"seed"}',
        '{"max_seconds", "max_solutions"}',
        ("tests/search/test_options_and_calls.py",),
    ),
    Mutant(
        "limits: a number may be infinite",
        "ranges.py",
        " or (highest is not None and number > highest)",
        "",
        ("tests/test_ranges.py",),
    ),
    # Training that goes on.
    Mutant(
        "resume: signals in the middle of a step",
        "model/train.py",
        "with interrupts_later(signal.SIGINT, signal.SIGTERM):\n                        torch",
        "if True:\n                        torch",
        (*SIGNALS, "signals"),
    ),
    Mutant(
        "resume: the average stands still",
        "model/train.py",
        "_average(state.average, plain, t.ema, state.step * t.updates + number)",
        "pass",
        (*SIGNALS, "learns"),
    ),
    Mutant(
        "resume: the loss is forgotten",
        "model/checkpoint.py",
        "{f.name: getattr(self, f.name) for f in fields(self)}",
        "{f.name: getattr(self, f.name) for f in fields(self)[:-1]}",
        (*SIGNALS, "signals or made_up"),
    ),
    Mutant(
        "resume: the optimiser is new",
        "model/train.py",
        "        optimiser.load_state_dict(state.optimiser)\n",
        "",
        (*SIGNALS, "undisturbed"),
    ),
    Mutant(
        "resume: a validation is lost", "model/train.py", "if log and state.step:", "if False:", (*SIGNALS, "made_up")
    ),
    Mutant(
        "resume: other data is fine", "model/train.py", "if state.data != data:", "if False:", (*SIGNALS, "refused")
    ),
    Mutant(
        "resume: rows of the future stay",
        "model/log.py",
        'if int(row["step"]) <= start',
        'if row["step"]',
        (*SIGNALS, "made_up or log_goes or signals"),
    ),
    Mutant(
        "resume: dropout goes on as it likes",
        "model/train.py",
        "torch.manual_seed(_hash(t.seed, fabric.global_rank, state.step))  # dropout",
        "pass",
        (*SIGNALS, "undisturbed"),
    ),
    Mutant(
        "resume: no warm-up",
        "model/train.py",
        "up = min(1.0, (step + 1) / max(t.warmup, 1))",
        "up = 1.0",
        (*SIGNALS, "rate"),
    ),
    Mutant(
        "resume: no decay",
        "model/train.py",
        "t.lr * up * min(1.0, (t.steps - step) / max(t.decay * t.steps, 1))",
        "t.lr * up",
        (*SIGNALS, "rate"),
    ),
    Mutant(
        "resume: half a cosine",
        "model/train.py",
        "math.cos(math.pi * step / t.steps)",
        "math.cos(math.pi * step / t.steps / 2)",
        (*SIGNALS, "rate"),
    ),
    Mutant(
        "resume: segments forget",
        "model/relational.py",
        "h = hidden if fresh is None else torch.where(fresh[:, None], h, hidden)",
        "pass",
        ("tests/model/test_relational.py", "-k", "segments"),
    ),
    Mutant(
        "resume: one update",
        "model/tasks.py",
        "range(t.updates)",
        "range(1)",
        (*SIGNALS, "updates"),
    ),
    Mutant(
        "resume: handlers are lost",
        "interrupt.py",
        "            restore()  # a signal",
        "            pass  # a signal",
        ("tests/test_interrupt.py",),
    ),
    # Records that go on.
    Mutant(
        "resume: another experiment's records",
        "bench/records.py",
        "                store._compare(cls.read(folder).manifest, mixed)",
        "                pass",
        STORE,
    ),
    Mutant(
        "resume: what was left stays",
        "bench/records.py",
        "                left.unlink()",
        "                pass",
        STORE,
    ),
    # Figures.
    Mutant(
        "figures: 90 percent of a percentile",
        "bench/summary.py",
        "np.quantile(drawn, [0.025, 0.975]) * n",
        "np.quantile(drawn, [0.05, 0.95]) * n",
        ("tests/bench/test_summary.py",),
    ),
    Mutant(
        "figures: 90 percent of a mean",
        "bench/summary.py",
        "np.quantile(drawn @ means / n, [0.025, 0.975])",
        "np.quantile(drawn @ means / n, [0.05, 0.95])",
        ("tests/bench/test_summary.py",),
    ),
    Mutant(
        "figures: 90 percent of a change",
        "report/bootstrap.py",
        "np.quantile(usable, [0.025, 0.975], axis=0)",
        "np.quantile(usable, [0.05, 0.95], axis=0)",
        ("tests/report/test_views.py", "-k", "interval or bootstrap"),
    ),
    # The gate of the playground.
    Mutant(
        "gate: any host",
        "web/gate.py",
        "if name not in self.hosts and not",
        "if False and not",
        (*GATE, "host or served"),
    ),
    Mutant(
        "gate: any name everywhere",
        "web/gate.py",
        "(self.anywhere and _is_address(name))",
        "self.anywhere",
        (*GATE, "host or served"),
    ),
    Mutant(
        "gate: any origin",
        "web/gate.py",
        'if origin.lower() != f"http://{host}":',
        "if False:",
        (*GATE, "website or names or malformed"),
    ),
    Mutant(
        "gate: other sites", "web/gate.py", 'in ("cross-site", "same-site") and (', "in () and (", (*GATE, "website")
    ),
    Mutant(
        "gate: any kind of body",
        "web/gate.py",
        'kind.strip().lower() != "application/json"',
        "False",
        (*GATE, "itself"),
    ),
    Mutant("gate: any method", "web/gate.py", 'if scope["method"] != wanted:', "if False:", (*GATE, "itself")),
    Mutant("gate: a query", "web/gate.py", 'if scope["query_string"]:', "if False:", (*GATE, "malformed")),
    Mutant("gate: a port that is none", "web/gate.py", "(?::[0-9]{1,5})?", "(?::.*)?", (*GATE, "hosts")),
    Mutant(
        "gate: slow headers",
        "web/protocol.py",
        "call_later(limits.HEAD_SECONDS, self._too_late)",
        "call_later(600, self._too_late)",
        (*GATE, "slow_headers"),
    ),
    Mutant(
        "gate: slow sockets keep others out",
        "web/protocol.py",
        "                self.connections.discard(oldest)",
        "                pass",
        (*GATE, "waited_longest"),
    ),
    Mutant("gate: two hosts", "web/gate.py", "if len(given) != 1:", "if not given:", (*GATE, "itself")),
    Mutant(
        "gate: bodies without end",
        "web/gate.py",
        "                if len(body) > limits.BODY:",
        "                if False:",
        (*GATE, "itself"),
    ),
    Mutant(
        "gate: no headers",
        "web/gate.py",
        "                headers[name] = value",
        "                pass",
        (*GATE, "headers"),
    ),
    Mutant(
        "bounds: a group may hold one more",
        "search/nogoods/groups.py",
        "if m.held[g] == p.most[g - len(p.need)] and",
        "if m.held[g] == p.most[g - len(p.need)] + 1 and",
        ("tests/search/test_bounds.py", "-k", "agrees"),
    ),
    Mutant(
        "bounds: what a group still needs is not taken",
        "search/nogoods/groups.py",
        "elif m.held[g] < least:",
        "elif m.held[g] < 0:",
        ("tests/search/test_bounds.py", "-k", "taken_at_once"),
    ),
    Mutant(
        "bounds: reasons leave out the true members",
        "search/nogoods/analyse.py",
        "if m.state[literal] == arrays.TRUE and m.position[literal] < m.position[excluded]:",
        "if m.state[literal] == arrays.TRUE and m.position[literal] < 0:",
        ("tests/search/test_bounds.py", "-k", "follows or agrees"),
    ),
    Mutant(
        "bounds: the checker of a problem takes one more",
        "problem/own.py",
        "if not bounds.least <= count <= bounds.most:",
        "if not bounds.least <= count <= bounds.most + 1:",
        ("tests/problem/test_own_problem.py", "-k", "bounds_and_negations"),
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
