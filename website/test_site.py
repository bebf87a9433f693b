"""The built site as a reader has it: from disk, on a screen and a phone, without a network. `make docs` runs this."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, sync_playwright

SITE = Path(__file__).resolve().parents[1] / "build" / "site"
PAGES = sorted(page for page in SITE.rglob("*.html") if page.name != "404.html")  # that one is for servers
LINK = re.compile(r'\b(?:href|src)="([^"]+)"')
PHONE, SCREEN = {"width": 375, "height": 667}, {"width": 1280, "height": 800}


def test_the_site_is_there() -> None:
    assert len(PAGES) > 50


def test_links_lead_somewhere() -> None:
    """Files, and places in them."""
    ids = {page: set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8"))) for page in PAGES}
    broken = []
    for page in PAGES:
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, place = link.replace("&amp;", "&").partition("#")
            target = (page.parent / unquote(path)).resolve() if path else page
            if not target.exists() or (place and target in ids and unquote(place) not in ids[target]):
                broken.append(f"{page.relative_to(SITE)}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere() -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe|source)[^>]*\bsrc="(https?:)?//|<link[^>]*rel="(?!canonical)[^>]*href="https?:'
    )
    assert not [page.name for page in PAGES if loaded.search(page.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("CI_BROWSER") == "required":
            pytest.fail("no chromium on the path, and CI_BROWSER=required")
        pytest.skip("no chromium on the path")
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.mark.parametrize("size", [PHONE, SCREEN], ids=["phone", "screen"])
def test_every_page_fits_and_asks_for_nothing(browser: Browser, size: dict[str, int]) -> None:
    """No page is wider than the window, none has an error, and none wants anything but files."""
    context = browser.new_context(viewport=size, offline=True)  # type: ignore[arg-type]
    page = context.new_page()
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(f"{page.url}: {error}"))
    wide = []
    for path in PAGES:
        page.goto(path.as_uri(), wait_until="load")
        if (width := page.evaluate("document.documentElement.scrollWidth")) > size["width"]:
            wide.append(f"{path.relative_to(SITE)}: {width}")
    context.close()
    assert not errors
    assert not [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))]
    assert not wide


def test_search_works_from_disk(browser: Browser) -> None:
    page = browser.new_page(viewport=SCREEN)  # type: ignore[arg-type]
    page.goto((SITE / "index.html").as_uri())
    page.wait_for_function("window.component$")  # the theme is there
    page.locator("input[name=query]").press_sequentially("nogoods")  # it listens to keys
    page.wait_for_selector(".md-search-result__item a", timeout=120_000)
    assert "NOGOODS.html" in (page.get_attribute(".md-search-result__item a", "href") or "")
    page.close()


def test_notebooks_show_what_they_made() -> None:
    """Trees in the page on searches, a grid in the first one, a verdict in the one on training."""
    text = {path.stem: path.read_text(encoding="utf-8") for path in (SITE / "tutorials").glob("*.html")}
    assert len(text) == 6
    assert text["read_a_search"].count("data:image/svg+xml") == 2
    assert "<td>8</td>" in text["solve_and_read"]
    assert "se this guide" in text["train_a_guide"]
