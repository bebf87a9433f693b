"""A real browser on the playground: the server in a process of its own, Chromium, and what every visit must keep to."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

import shell

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 600  # seconds that the first start may compile
expect.set_options(timeout=30_000)  # for a machine that is busy with other work


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server that is ready to search."""
    process = shell.start("serve", "--port", 0)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert line.startswith("http://"), line
        address = line.split()[0]
        for _ in range(2 * PATIENCE):
            with urllib.request.urlopen(f"{address}api/about") as answer:
                if json.load(answer).get("ready", True):
                    break
            time.sleep(0.5)
        yield address
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium; without one the test is skipped, or fails where CI_BROWSER=required."""
    if CHROMIUM is None:
        if os.environ.get("CI_BROWSER") == "required":
            pytest.fail("no chromium on the path, and CI_BROWSER=required")
        pytest.skip("no chromium on the path: the page is tested in a real browser or not at all")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page, and what went wrong on it."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.address = address
        self.page = context.new_page()
        self.page.set_default_timeout(20_000)
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(message.text)

    def open(self, link: str = "") -> Page:
        self.page.goto(self.address + link)
        self.page.locator("html[data-ready]").wait_for(state="attached")
        return self.page

    def outside(self) -> list[str]:
        """Requests that left this machine."""
        return [url for url in self.requests if not url.startswith((self.address, "blob:", "data:"))]


@contextmanager
def visiting(browser: Browser, address: str, width: int = 1280, height: int = 900, **wishes: Any) -> Iterator[Visit]:
    """A visit in a context of its own. Whatever it does, nothing may be fetched from outside and nothing may fail."""
    context = browser.new_context(viewport={"width": width, "height": height}, **wishes)
    try:
        visit = Visit(context, address)
        yield visit
        assert visit.outside() == []
        assert [fault for fault in visit.faults if "400" not in fault] == []  # refused input is not a fault
    finally:
        context.close()


def race(page: Page, tab: str = "sudoku") -> None:
    """Race the two chosen searches to their ends."""
    page.locator(f"#{tab}-start").click()
    page.evaluate(f"document.getElementById('{tab}-finish').click()")  # nothing happens where it is over already
    for which in (0, 1):
        expect(page.locator(f"#panel-{tab} .state").nth(which)).to_have_class(re.compile("SAT|LIMIT"), timeout=30_000)


def events(*pairs: tuple[str, dict[str, Any]]) -> str:
    """A stream as the server writes it."""
    return "".join(f"event: {name}\ndata: {json.dumps(fields)}\n\n" for name, fields in pairs)


def stream(parent: list[int], depth: list[int], path: list[int] | None, of: int = 0, batch: int = 2000) -> str:
    """A search of a race as the server tells it; `path` leads to a solution, None means that there is none."""
    found: list[tuple[str, dict[str, Any]]] = [("start", {})]
    for first in range(0, len(parent), batch):
        some = slice(first, first + batch)
        zeros = [0] * len(parent[some])
        found.append(("nodes", {"first": first, "parent": parent[some], "depth": depth[some], "domain": zeros,
                                "value": zeros, "asked": zeros}))  # fmt: skip
    counters = {"nodes": len(parent), "backtracks": 2 * len(parent), "asks": 0, "calls": 0, "seconds": 0.5}
    status = "UNSAT" if path is None else "SAT"
    found.append(("end", {**counters, "status": status, "solution": "." * 81, "path": path or []}))
    return events(*((name, {"of": of, **fields}) for name, fields in found))
