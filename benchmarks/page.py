"""How quick the playground's page is, in a real browser without a GPU: `make bench-page`.

Bytes of the page, first paint, frames of the replay and of a race of squares, frames while trees of 10,000 nodes grow,
and the time until trees of 100,000 are open. The trees are random ones, handed to the page in the place of the
server's answer, so that what is measured is the page.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, expect

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

import browser as browsers

VISITS = 5
FRAMES = """() => {
  window.gaps = [];
  let before = 0;
  const tick = (now) => {
    if (before) window.gaps.push(now - before);
    before = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""
OPENED = """() => new Promise(done => {
  const begin = performance.now();
  const pills = document.querySelectorAll("#panel-sudoku .state");
  const look = () => [...pills].every(pill => pill.classList.contains("SAT"))
    ? done(performance.now() - begin) : requestAnimationFrame(look);
  document.getElementById("sudoku-start").click();
  document.getElementById("sudoku-finish").click();
  look();
})"""


def grown(nodes: int, seed: int) -> tuple[list[int], list[int], list[int]]:
    """(parent, depth, path) of a random tree, depth first."""
    chance = random.Random(seed)
    parent, depth, stack = [-1], [0], [0]
    while len(parent) < nodes:
        while len(stack) > 1 and (chance.random() < 0.45 or len(stack) > 40):
            stack.pop()
        parent.append(stack[-1])
        depth.append(len(stack))
        stack.append(len(parent) - 1)
    return parent, depth, stack


def feed(page: Page, nodes: int) -> None:
    """Both searches of the next race have random trees of so many nodes."""
    body = "".join(browsers.stream(*grown(nodes, of + 1), of=of) for of in (0, 1))
    page.unroute("**/api/race")
    page.route("**/api/race", lambda route: route.fulfill(content_type="text/event-stream", body=body))


def first_paint(browser: Browser, address: str) -> tuple[float, int]:
    """(milliseconds, bytes): median of some visits with an empty cache; everything that the page fetches."""
    times, sizes = [], {}
    for _ in range(VISITS):
        with browsers.visiting(browser, address) as visit:
            visit.page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
            page = visit.open()
            page.wait_for_timeout(300)
            found = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            times.append(found)
    page_files = {url: size for url, size in sizes.items() if "/api/" not in url}
    return median(times), sum(page_files.values())


def frames(page: Page, begin: Callable[[], None], end: Callable[[], None]) -> str:
    """How many frames there are from what `begin` presses until `end` has waited."""
    page.evaluate(FRAMES)
    begin()
    page.evaluate("window.gaps.length = 0")
    end()
    gaps = sorted(page.evaluate("window.gaps"))
    late = gaps[int(0.95 * len(gaps))]
    rate = 1000 * len(gaps) / sum(gaps)
    return f"{rate:.1f} frames a second, median {median(gaps):.1f} ms, 95 % within {late:.1f} ms ({len(gaps)} frames)"


def story(page: Page) -> None:
    """The replay, answered wrongly and rightly, and a square that dibs and plain search fill."""
    for number, word in enumerate(("Wrong.", "Right.")):
        told = partial(expect(page.locator("#told")).to_contain_text, word)
        print(f"the replay, {word} {frames(page, page.locator('.answer').nth(number).click, told)}")
    page.locator("#rival").select_option("plain")
    ended = page.locator("#clock-0")
    found = frames(page, page.locator("#go").click, lambda: expect(ended).to_have_class("won", timeout=120_000))
    print(f"squares: {found}")


def race(page: Page, nodes: int) -> str:
    """Frames while both trees grow, at the usual speed."""

    def solved() -> None:
        for which in (0, 1):
            expect(page.locator("#panel-sudoku .state").nth(which)).to_have_text("solved", timeout=120_000)

    feed(page, nodes)
    return frames(page, page.locator("#sudoku-start").click, solved)


def main() -> None:
    with browsers.chromium() as browser, browsers.serving() as address:
        paint, size = first_paint(browser, address)
        print(f"bytes of the page, without answers of the server: {size:,}")
        print(f"first contentful paint: {paint:.0f} ms (median of {VISITS} visits, empty cache)")
        with browsers.visiting(browser, address, width=1366, height=768) as visit:
            story(visit.open())
        for width, height in ((1280, 800), (1920, 1080)):
            with browsers.visiting(browser, address, width=width, height=height) as visit:
                page = visit.open()
                print(f"{width} x {height}: two trees of 10,000 nodes grow: {race(page, 10_000)}")
                times = []
                for _ in range(3):
                    feed(page, 100_000)
                    times.append(page.evaluate(OPENED))
                said = page.locator("#panel-sudoku .merged").first.inner_text()
                print(f"{width} x {height}: two trees of 100,000 nodes open in {median(times) / 1000:.2f} s ({said})")


if __name__ == "__main__":
    main()
