# `make run` and `make test` are all a newcomer needs; both install what they use into .venv.
PYTHON ?= python3
VENV := .venv
RUNS ?= runs
BIN := $(VENV)/bin

.PHONY: docs docs-quick dist ten-tasks run test check quick lowest chromium agreement soak proofs all-options mutants bench-interrupts bench-core bench-adversaries bench-cold bench-engines bench-file bench-formulas bench-mixed bench-page bench-resume bench-published bench-session why-confirmed screenshots figure-depths figure-sizes figure-growth figure-story results clean solutions bench-unique bench-workers agreement-bounded bench-own cpmpy-suite families

run: $(VENV)/.installed
	$(BIN)/dibs bench baselines

test: check

check: $(VENV)/.test-installed chromium
	$(BIN)/ruff check src tests benchmarks examples website
	$(BIN)/ruff format --check src tests benchmarks examples website
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/dibs warm
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

# The documentation site, in build/site: notebooks are run, warnings are errors, every page is looked at in a browser, and
# commands in pages that take minutes are started and stopped.
docs: $(VENV)/.docs-installed chromium
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python -m pytest -q -p no:cacheprovider website

# The same while writing: notebooks are shown as they are, and nothing is looked at.
docs-quick: $(VENV)/.docs-installed
	NO_MKDOCS_2_WARNING=1 NOTEBOOKS="as they are" $(BIN)/mkdocs build --strict

# Sdist and wheel, in dist/; the wheel is installed into an empty environment elsewhere, and used there.
dist: $(VENV)/.docs-installed
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python website/elsewhere.py dist

# The ten tasks of docs/TEN_TASKS.md with the wheel in dist/, in an empty environment (some minutes; it installs torch there).
ten-tasks: dist
	$(BIN)/python website/newcomer.py dist

# For every change: lint, types, and the tests that catch most (within a minute on two quiet cores).
QUICK := tests/test_ranges.py tests/problem tests/search/test_counters.py tests/search/test_selfcheck.py \
  tests/search/test_agreement.py tests/search/test_engine.py tests/guide/test_guides.py tests/commands/test_every_option.py \
  tests/examples/test_templates.py
quick: $(VENV)/.test-installed
	$(BIN)/ruff check src tests benchmarks examples website
	$(BIN)/ruff format --check src tests benchmarks examples website
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 $(QUICK) -k 'not bombs and not does_something and not reference_counts'

# The lowest versions that pyproject.toml allows, in an environment of their own, and the tests that use most of them.
LOWEST := .venv-lowest
LOWEST_TESTS := tests/test_compiled.py tests/test_ranges.py tests/test_writing.py tests/problem tests/search/test_counters.py \
  tests/guide/test_native.py tests/guide/test_runtime.py tests/bench/test_records.py tests/commands/test_cli_start.py
lowest:
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet uv
	$(LOWEST)/bin/uv pip compile --quiet --resolution lowest-direct --extra test --python $(LOWEST)/bin/python \
	  --output-file $(LOWEST)/lowest.txt pyproject.toml
	$(LOWEST)/bin/pip install --quiet --constraint $(LOWEST)/lowest.txt --editable '.[test]'
	$(LOWEST)/bin/dibs warm
	$(LOWEST)/bin/python -m pytest -q -n auto --maxprocesses 4 $(LOWEST_TESTS)

# The page of the playground is tested in Debian's chromium; where it is missing and cannot be installed, those tests are skipped.
chromium:
	@command -v chromium > /dev/null || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && echo "installing chromium" && \
	  { apt-get install -qq -y --no-install-recommends chromium > /dev/null 2>&1 || \
	    { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } > /dev/null 2>&1; }; } || \
	  echo "no chromium: the tests of the page will be skipped"

# A million (problem, options, guide) triples against a SAT solver, on two cores (within an hour; TRIPLES=1000 fewer).
agreement: $(VENV)/.test-installed
	PYTHONPATH=tests/support $(BIN)/python benchmarks/agreement.py $(if $(TRIPLES),--triples $(TRIPLES))

# 20,000 random problems with bounds, groups of up to 1,000 literals among them, under all options and bad guides (PROBLEMS=400 fewer).
agreement-bounded: $(VENV)/.test-installed
	PYTHONPATH=tests/support $(BIN)/python benchmarks/agreement.py --bounded $(or $(PROBLEMS),20000)

# The 10,000 random problems of the tests under all options and guides together, 10,000 formulas, and 7,500 draws of random
# options from Python and the shell (half an hour).
all-options: $(VENV)/.test-installed
	$(BIN)/python -m pytest tests/search/test_answers.py tests/search/external/test_engines_agree.py tests/commands/test_every_option.py --all-options

# CPMpy's own tests with dibs as the solver: CPMPY=folder is a checkout of CPMpy, whose own version is tested (hours for all of them;
# TESTS="tests/test_solverinterface.py" some).
CPMPY_TESTS := tests/test_solverinterface.py tests/test_solvers_solhint.py tests/test_solveAll.py tests/test_globalconstraints.py \
  tests/test_solvers.py tests/test_constraints.py
cpmpy-suite: $(VENV)/.test-installed
	test -n "$(CPMPY)" || { echo "CPMPY=folder: a checkout of https://github.com/CPMpy/cpmpy"; exit 1; }
	cd "$(CPMPY)" && PYTHONPATH=. $(abspath $(BIN))/python -m pytest -q -p dibs.cpmpy --solver=dibs -W ignore --tb=line $(or $(TESTS),$(CPMPY_TESTS))

# The nogood search on ten kinds of problems that fall apart, a million failures each, every nogood verified (hours;
# CONFLICTS=20000 is a minute).
soak: $(VENV)/.test-installed
	PYTHONPATH=tests/support $(BIN)/python benchmarks/soak.py $(CONFLICTS)

# 10,000 UNSAT answers of dibs' own searches under all options and bad guides, every proof checked (some ten minutes; ANSWERS=500
# fewer, DRAT_TRIM=program: by drat-trim as well).
proofs: $(VENV)/.test-installed
	PYTHONPATH=tests/support $(BIN)/python benchmarks/proofs.py $(if $(ANSWERS),--answers $(ANSWERS)) $(if $(DRAT_TRIM),--drat-trim $(DRAT_TRIM))

# 500 signals at random moments of training runs; all of them, resumed, must end as an undisturbed one (ten minutes).
bench-interrupts: $(VENV)/.test-installed
	$(BIN)/python benchmarks/interrupts.py

# A few dozen faults put into the code, one at a time: the tests must notice each (an hour; MUTANTS="gate resume" some of them).
mutants: $(VENV)/.test-installed
	$(BIN)/python benchmarks/mutants.py $(MUTANTS)

# Ratios of the compiled core against yardsticks, all in one run. PUZZLES=file takes another list of 9x9 puzzles.
bench-core: $(VENV)/.test-installed
	$(BIN)/python benchmarks/core.py $(PUZZLES)

# What useless guides cost policy `auto`, as ratios to plain search (some minutes).
bench-adversaries: $(VENV)/.test-installed
	$(BIN)/python benchmarks/adversaries.py

# What a guide does for Glucose, CaDiCaL and CP-SAT: conflicts and time (an hour; SAMPLE=10 less).
bench-engines: $(VENV)/.test-installed
	$(BIN)/dibs bench engines $(if $(SAMPLE),--sample $(SAMPLE))

# Policy `auto` on 2,000 mixed large instances against Glucose, the cost of UNSAT, memory at order 40 (half an hour).
bench-mixed: $(VENV)/.test-installed
	$(BIN)/python benchmarks/mixed.py

# Policy `auto` on 300 mixed formulas beside CaDiCaL alone and our search alone, and on the two named ones (half an hour).
bench-formulas: $(VENV)/.test-installed
	$(BIN)/python benchmarks/formulas.py
	$(BIN)/python benchmarks/formulas.py --named

# Queens, pentominoes, and how long nogoods are where groups have bounds (some minutes).
bench-own: $(VENV)/.test-installed
	$(BIN)/python benchmarks/own.py

# A guide for each of six families, 20 minutes each, and what they are worth on fresh instances (some hours; MINUTES=1 SAMPLE=2 to see it work).
FAMILIES := timetable colouring cars roster tiling routes
families: $(VENV)/.test-installed
	for name in $(FAMILIES); do test -e runs/families/$$name/verdict.json || \
		$(BIN)/dibs train dibs.generate.$$name:family --minutes $(or $(MINUTES),20) --out runs/families/$$name --resume || exit 1; done
	$(BIN)/dibs bench families $(if $(SAMPLE),--sample $(SAMPLE))

# One large Latin square in a fresh process, against the engines: everything loaded on the clock.
# FIRST=1: what the first answers cost where nothing is compiled yet, in CPU seconds.
bench-cold: $(VENV)/.test-installed
	$(BIN)/python benchmarks/cold.py $(if $(FIRST),--first)

# All solutions of 5,000 random problems against a SAT solver, by one worker and two (some minutes; PROBLEMS=500 fewer).
solutions: $(VENV)/.test-installed
	PYTHONPATH=tests/support:examples $(BIN)/python benchmarks/solutions.py $(if $(PROBLEMS),--problems $(PROBLEMS))

# Two workers on one instance against one: squares, formulas, bounds (half an hour on two quiet cores; KINDS=bounds some of it).
bench-workers: $(VENV)/.test-installed
	$(BIN)/python benchmarks/workers.py $(foreach kind,$(KINDS),--kinds $(kind))

# What it takes to know that a solution is the only one, as ratios to the first solution (PUZZLES=file takes a list of Sudokus).
bench-unique: $(VENV)/.test-installed
	$(BIN)/python benchmarks/unique.py $(or $(PUZZLES),25x25)

# What one core solves of published squares, a row for each of FILES (SECONDS=30 a limit other than 10 CPU seconds).
bench-published: $(VENV)/.test-installed
	$(BIN)/python benchmarks/published.py $(FILES) $(if $(SECONDS),--seconds $(SECONDS))

# Sessions against fresh calls: digging puzzles, toggling givens, as CPU-time ratios (some minutes).
bench-session: $(VENV)/.test-installed
	$(BIN)/python benchmarks/session.py

# 500 contradictory problems: each explanation confirmed by Glucose, with CPU times (some minutes; COUNT=50 fewer).
why-confirmed: $(VENV)/.test-installed
	$(BIN)/python benchmarks/why.py $(if $(COUNT),--count $(COUNT))

# Throughput and memory of `dibs solve` on a file of a million puzzles.
bench-file: $(VENV)/.test-installed
	$(BIN)/python benchmarks/file.py

# Where a guide is right, what a mistake costs and where it is asked, by depth: docs/figures/depths.svg (half a minute).
# PUZZLES=file takes another list and writes depths-file.svg, SAMPLE=200 a random sample of it.
figure-depths: $(VENV)/.test-installed
	$(BIN)/python benchmarks/depths.py $(PUZZLES) $(if $(SAMPLE),--sample $(SAMPLE))

# Plain, guided and auto on 9x9 to 25x25: docs/figures/sizes.svg (some minutes).
figure-sizes: $(VENV)/.test-installed
	$(BIN)/python benchmarks/sizes.py

# Time and asks against the order of a Latin square: docs/figures/growth.svg (some minutes).
figure-growth: $(VENV)/.test-installed
	$(BIN)/python benchmarks/growth.py

# The tables and figures of docs/RESULTS.md from the runs of `dibs bench` in the folder RUNS; the page says which.
results: $(VENV)/.test-installed
	$(BIN)/python benchmarks/results.py $(RUNS)

# Kill a run ten times, its workers and a Ray worker; the records must be those of an undisturbed run (some minutes).
bench-resume: $(VENV)/.test-installed
	PYTHONPATH=tests/support $(BIN)/python benchmarks/resume.py

# How quick the playground's page is, in Debian's chromium: bytes, first paint, frames, large trees (a minute).
bench-page: $(VENV)/.test-installed
	$(BIN)/python benchmarks/page.py

# The search that the playground opens with: src/dibs/web/static/replay.json (half a minute; SEEDS=0-240 looks for others).
.PHONY: replay
replay: $(VENV)/.test-installed
	$(BIN)/python benchmarks/you_choose.py $(if $(SEEDS),--seeds $(SEEDS))

# The picture of the README, from that search: docs/figures/story.svg (a second).
figure-story: $(VENV)/.test-installed
	$(BIN)/python benchmarks/story.py

# The pictures of the playground in docs/PLAYGROUND.md, taken in Debian's chromium.
screenshots: $(VENV)/.test-installed
	$(BIN)/python benchmarks/screenshots.py

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[bench]'
	touch $@

$(VENV)/.test-installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/.installed

$(VENV)/.docs-installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[test,docs]'
	touch $@ $(VENV)/.installed $(VENV)/.test-installed

clean:
	rm -rf $(VENV) $(LOWEST) .mypy_cache .ruff_cache .pytest_cache dist build
	find . -name __pycache__ -type d -exec rm -rf {} +
