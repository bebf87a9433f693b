from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def served() -> Iterator[Any]:
    """A `pages.Site` for all tests of the server."""
    pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")
    import pages

    with pages.site() as site:
        yield site


@pytest.fixture
def client(served: Any) -> Iterator[Any]:
    """An `httpx.Client` of that server."""
    import httpx

    with httpx.Client(base_url=served.url, timeout=120) as client:
        yield client


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests of the page; each visit has a context of its own."""
    from browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def address(browser: Any) -> Iterator[str]:
    """Where a server of the playground answers, in a process of its own, ready to search."""
    from browser import serving

    with serving() as found:
        yield found
