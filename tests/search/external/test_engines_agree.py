"""Every engine gives the same answer, whatever the guide says, and every "no" has a proof."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import dibs
from guides import BAD, SURE, Scored
from oddities import odd_formula, proves
from peers import GUIDED, PROVERS, guide_for

FORMULAS = 1_000
ALL = 10_000  # with --all-options
GUIDES = [None, *BAD.values(), *SURE.values()]


def test_status_models_and_proofs(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Each formula by dibs itself and by every solver that writes proofs, with another guide each time."""
    seen: Counter[str] = Counter()
    proof = tmp_path / "proof"
    for number in range(ALL if pytestconfig.getoption("--all-options") else FORMULAS):
        formula = odd_formula(6, number)
        status = dibs.solve(formula, policy="plain").status
        seen[status] += 1
        for turn, engine in enumerate(PROVERS):
            scores = GUIDES[(number // 3 + turn) % len(GUIDES)]
            guide = None if scores is None else Scored(scores, static=number % 5 == 0)
            outcome = dibs.solve(formula, engine=engine, guide=guide_for(engine, guide), proof=proof)
            assert outcome.status == status, (formula.format(), engine)
            assert proof.exists() == (status == "UNSAT")
            if status == "UNSAT":
                assert proves(formula, proof.read_text()), (formula.format(), engine)
                proof.unlink()
            else:
                assert formula.violation(outcome.solution) is None
    assert min(seen["SAT"], seen["UNSAT"]) > 0.25 * seen.total(), "the formulas have lost their variety"


@pytest.mark.parametrize("engine", [name for name in PROVERS if name in GUIDED])
def test_every_guide_on_formulas_that_need_search(engine: str, tmp_path: Path) -> None:
    for number in (0, 8, 16, 24, 32, 40):
        formula = odd_formula(7, number)
        status = dibs.solve(formula, engine=engine).status
        for scores in GUIDES[1:]:
            assert scores is not None
            outcome = dibs.solve(formula, engine=engine, guide=Scored(scores), proof=tmp_path / "p")
            assert outcome.status == status
            assert status == "SAT" or proves(formula, (tmp_path / "p").read_text())


def test_a_damaged_proof_is_no_proof(tmp_path: Path) -> None:
    """The checker can say no."""
    formula = next(f for n in range(0, 80, 8) if dibs.solve(f := odd_formula(6, n), policy="plain").status == "UNSAT")
    dibs.solve(formula, engine="cadical195", proof=tmp_path / "p")
    lines = (tmp_path / "p").read_text().splitlines()
    assert proves(formula, "\n".join(lines))
    assert not proves(formula, "\n".join(lines[:-1]))
    assert not proves(formula, "0\n")
    assert not proves(dibs.CNF(formula.variables, formula.clauses[: len(formula.clauses) // 2]), "\n".join(lines))
