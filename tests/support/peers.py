"""The engines that tests run, as the registry has them."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.problem import InputError
from dibs.search.external.registry import ENGINES, adapter

EVERY = list(ENGINES)
GUIDED = [name for name, engine in ENGINES.items() if engine.takes]
PROVERS = [name for name, engine in ENGINES.items() if engine.clauses]


def guide_for(engine: str, guide: Any) -> Any:
    """The guide, or None for an engine that takes none."""
    return guide if engine in GUIDED else None


def installed(engine: str) -> str:
    """The engine; a test that asks for one that is not installed is skipped."""
    try:
        adapter(engine)
    except InputError as error:
        pytest.skip(str(error))
    return engine
