"""`dibs.explain`: the searches of `dibs explain`, as an object."""

from __future__ import annotations

import json

import pytest

import dibs

PUZZLE = dibs.Sudoku.parse(".4...8....1..........1...856.2...7......73..65...........6.....8...213..9..8....4")


def test_two_trees_and_their_numbers() -> None:
    shown = dibs.explain(PUZZLE)
    assert [search.name for search in shown.searches] == ["paper", "ascending"]
    assert repr(shown) == f"<paper: {shown.searches[0].nodes:,} nodes, ascending: 985 nodes>"
    for search in shown.searches:
        assert search.nodes == len(search.ledger.decisions) + search.ledger.lost
    assert "ascending 985 nodes: " in str(shown)
    page = shown._repr_html_()
    assert page.count("<img") == 1, "a picture: styles of an SVG in the page would reach everything else"
    assert "data:image/svg+xml;base64," in page
    assert json.loads(json.dumps(shown.as_dict(7)))["id"] == 7


def test_one_search_and_other_problems() -> None:
    assert len(dibs.explain(PUZZLE, compare=None, policy="plain").searches) == 1
    m = dibs.Model()
    m.all_different([m.choice(name, "abc") for name in "xyz"])
    assert dibs.explain(m, policy="plain", compare="mcv").searches[0].ledger.status == "SAT"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"compare": "ascendin"}, "did you mean 'ascending'"),
        ({"limit": 0}, "limit = 0"),
        ({"max_solutions": 2}, "one solution"),
        ({"guide": dibs.Guide()}, "a name or a folder"),
        ({"policy": "guided", "strategy": "nogoods"}, "nogoods cannot be explained"),
        ({"level": "odd"}, "level"),
    ],
)
def test_refusals(said: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        dibs.explain(PUZZLE, **said)  # type: ignore[arg-type]
