import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import tiny

# No deadline: the machine may be busy, and a test must not depend on the clock.
settings.register_profile("dibs", deadline=None, derandomize=True)
settings.load_profile("dibs")


def pytest_configure() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, and so would the processes that tests interrupt."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-options",
        action="store_true",
        help="every one of the 10,000 random problems under every level, tie, order and guide (`make all-options`)",
    )


@pytest.fixture(scope="session")
def guides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the untrained guides `relational` and `transformer`; leave them as they are."""
    folder = tmp_path_factory.mktemp("guides")
    tiny.relational(folder / "relational")
    tiny.transformer(folder / "transformer")
    return folder


@pytest.fixture(scope="session")
def served() -> Iterator[Any]:
    """A `pages.Site`: the playground on a free port, for all tests of its server."""
    pytest.importorskip("fastapi", reason="the playground needs fastapi: pip install 'dibs[web]'")
    import pages

    with pages.site() as site:
        yield site


@pytest.fixture
def client(served: Any) -> Iterator[Any]:
    """An `httpx.Client` of that server."""
    import httpx

    with httpx.Client(base_url=served.url, timeout=600) as client:
        yield client


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` runs compiled code, also where ONNX Runtime has a GPU."""
    monkeypatch.setattr("dibs.guide.runtime._has_gpu", lambda: False)


@pytest.fixture
def shipped(guides: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in the place of the guides that come with dibs."""
    found = {name: guides / name for name in ("relational", "transformer")}
    monkeypatch.setattr("dibs.guide.card.shipped", lambda: found)
    return guides


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
