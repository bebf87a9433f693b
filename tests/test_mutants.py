"""The list of mutants is alive: each has its line in the code. `make mutants` runs them."""

from __future__ import annotations

import pytest

from mutants import MUTANTS, ROOT, Mutant, occurrences


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_has_its_line(mutant: Mutant) -> None:
    assert occurrences(mutant) == 1
    assert mutant.old != mutant.new
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    compile(source.replace(mutant.old, mutant.new), str(mutant.path), "exec")
    assert (ROOT / mutant.tests[0]).exists()


def test_names_are_told_apart() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
