"""What the page draws, and for whom: trees as the figures of `dibs explain` have them, large ones too; labels,
contrast, three widths, two colour schemes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import browser as browsers
from dibs.report.tree import layout
from dibs.study.ledger import Tree

LIMIT = 300_000  # bytes of the whole page


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with browsers.visiting(browser, address) as visit:
        yield visit.open()


@pytest.fixture(scope="module")
def modules(browser: Browser, address: str) -> Iterator[Page]:
    """A page whose modules are called from outside: nothing is done on it."""
    with browsers.visiting(browser, address) as visit:
        yield visit.open()


def grown(nodes: int, seed: int, runs: int = 1) -> tuple[list[int], list[int], list[int]]:
    """(parent, depth, path): a random tree, depth first, in runs that begin again."""
    chance = random.Random(seed)
    parent, depth = [-1], [0]
    stack = [0]
    starts = {nodes * k // runs for k in range(1, runs)}
    while len(parent) < nodes:
        if len(parent) in starts:
            stack.clear()
        while len(stack) > 1 and (chance.random() < 0.45 or len(stack) > 40):
            stack.pop()
        parent.append(stack[-1] if stack else -1)
        depth.append(len(stack))
        stack.append(len(parent) - 1)
    return parent, depth, stack


DRAWN = """async ([parent, depth, status, path, n]) => {
  const { Tree, KINDS } = await import("/static/tree.js");
  const tree = new Tree();
  const zeros = parent.map(() => 0);
  tree.add({ parent, depth, domain: zeros, value: zeros, asked: zeros });
  if (status) tree.finish(status, path);
  const lines = [];
  const entries = n < 0 ? tree.size : tree.entries(n);
  tree.lines(entries, -1, 0, (node, x0, y0, x1, y1, kind, own) => lines.push([node, x1, KINDS[kind], own]));
  return { lines, depths: tree.byDepth(entries), end: Array.from(tree.end.slice(0, entries)) };
}"""


@pytest.mark.parametrize(("seed", "runs"), [(1, 1), (2, 1), (3, 4), (4, 9)])
def test_trees_are_laid_out_as_in_the_figures(modules: Page, seed: int, runs: int) -> None:
    parent, depth, path = grown(400, seed, runs)
    run = np.cumsum(np.array(parent) < 0, dtype=np.int64)
    on_path = np.isin(np.arange(400), path)
    tree = Tree(np.array(depth), run, on_path)
    expected = layout(tree, solved=True)
    found = modules.evaluate(DRAWN, [parent, depth, "SAT", path, -1])
    assert [line[0] for line in found["lines"]] == list(range(401))
    assert np.allclose([line[1] for line in found["lines"]], expected.x)
    assert [line[2] for line in found["lines"]] == expected.kind
    assert found["depths"] == tree.by_depth().tolist()


def test_a_search_without_solution_fails_as_a_whole(modules: Page) -> None:
    parent, depth, _ = grown(200, 5)
    tree = Tree(np.array(depth), np.ones(200, np.int64), np.zeros(200, bool))
    found = modules.evaluate(DRAWN, [parent, depth, "UNSAT", [], -1])
    assert [line[2] for line in found["lines"]] == layout(tree, solved=False).kind


@pytest.mark.parametrize("n", [1, 2, 57, 199, 250])
def test_the_beginning_of_a_tree_is_drawn_as_the_tree_that_it_was(modules: Page, n: int) -> None:
    """Playing back and a search that has come so far show the same picture."""
    parent, depth, path = grown(300, 6)
    later = modules.evaluate(DRAWN, [parent, depth, "SAT", path, n])
    then = modules.evaluate(DRAWN, [parent[:n], depth[:n], "", [], -1])
    assert later["lines"] == then["lines"]
    assert later["depths"] == then["depths"]


def test_searches_that_take_turns_stay_two_trees(modules: Page) -> None:
    """Policy auto: 0-1-2 of one search, 3-4 of another, then the first goes on below its node 1."""
    parent, depth = [-1, 0, 1, -1, 3, 1, 5], [0, 1, 2, 0, 1, 2, 3]
    found = modules.evaluate(DRAWN, [parent, depth, "SAT", [0, 1, 5, 6], -1])
    kinds = [line[2] for line in found["lines"]]
    # Nodes 0 and 1 are entered again as copies before node 5, so that the path is whole.
    assert kinds == ["earlier"] * 5 + ["path"] * 5
    assert found["depths"] == [2, 2, 2, 1]


def test_an_event_stream_may_come_in_any_pieces(page: Page) -> None:
    text = browsers.events(("start", {"a": 1}), ("nodes", {"first": 0, "words": "r1c1 → 5"}), ("end", {"ok": True}))
    page.route("**/api/race", lambda route: route.fulfill(content_type="text/event-stream", body=text))
    found = page.evaluate(
        """async () => {
          const { stream } = await import("/static/api.js");
          const real = window.fetch;
          const whole = new Uint8Array(await (await real("/api/race", { method: "POST" })).arrayBuffer());
          const said = [];
          for (const step of [1, 3, 7, whole.length]) {
            window.fetch = async () => new Response(new ReadableStream({
              start(control) {
                for (let i = 0; i < whole.length; i += step) control.enqueue(whole.slice(i, i + step));
                control.close();
              },
            }));
            const events = [];
            await stream("/api/race", {}, undefined, (name, data) => events.push([name, data]));
            said.push(JSON.stringify(events));
          }
          window.fetch = real;
          return said;
        }"""
    )
    assert len(set(found)) == 1
    assert "r1c1 → 5" in found[0]


def test_a_tree_of_100_000_nodes_is_aggregated_and_says_so(page: Page) -> None:
    parent, depth, path = grown(100_000, 7)
    body = "".join(browsers.stream(parent, depth, path, of) for of in (0, 1))
    page.route("**/api/race", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    browsers.race(page)
    words = page.locator("#panel-sudoku .merged").first.inner_text()
    said = re.fullmatch(r"Aggregated: ([\d,]+) nodes drawn as ([\d,]+) lines\.", words)
    assert said
    nodes, lines = (int(number.replace(",", "")) for number in said.groups())
    assert nodes == 100_000
    assert lines <= 5_000
    page.locator("#panel-sudoku canvas").first.focus()
    page.keyboard.press("End")
    expect(page.locator("#panel-sudoku .chosen").first).to_contain_text("The solution")


def test_a_search_that_breaks_off_is_said(page: Page) -> None:
    text = browsers.events(("start", {}), ("error", {"error": "the guide is gone"}))
    page.route("**/api/race", lambda route: route.fulfill(content_type="text/event-stream", body=text))
    page.locator("#sudoku-start").click()
    expect(page.locator("#sudoku-trouble")).to_contain_text("the guide is gone")
    expect(page.locator("#panel-sudoku .state").first).to_have_text("failed")


# The page as a whole


def test_the_page_is_small_and_needs_nobody_else(browser: Browser, address: str) -> None:
    with browsers.visiting(browser, address) as visit:
        sizes: dict[str, int] = {}
        visit.page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
        page = visit.open()
        page.locator("#tab-cnf").click()
        expect(page.locator("#variables .variable").first).to_be_visible()
        assert all(url.startswith(address) for url in visit.requests)
        assert 30_000 < sum(sizes.values()) < LIMIT


def test_every_control_has_a_name(page: Page) -> None:
    controls = "button, input, select, textarea, canvas, [role=img], [role=grid]"
    nameless = """controls => [...document.querySelectorAll(controls)]
      .filter(one => !one.closest("template"))
      .filter(one => !(one.getAttribute("aria-label") || one.labels?.length
        || one.getAttribute("aria-labelledby") || one.textContent.trim()))
      .map(one => one.outerHTML.slice(0, 120))"""
    page.locator("#heat").check()
    assert page.evaluate(nameless, controls) == []
    broken = """() => ["aria-labelledby", "aria-controls", "aria-describedby", "for"]
      .flatMap(name => [...document.querySelectorAll(`[${name}]`)].map(one => one.getAttribute(name)))
      .filter(id => !document.getElementById(id))"""
    assert page.evaluate(broken) == []
    twice = """() => { const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
      return ids.filter((id, i) => ids.indexOf(id) !== i); }"""
    assert page.evaluate(twice) == []
    assert page.locator("h1").count() == 1
    assert page.locator("[role=tab]").count() == page.locator("[role=tabpanel]").count() == 2
    assert page.locator("[role=alert]").count() >= 4
    assert page.locator("p.hint").count() >= 12  # a short paragraph for each thing


def test_everything_is_reached_by_the_keyboard(page: Page) -> None:
    browsers.race(page)
    page.locator("#tab-sudoku").focus()
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if reached[-1] == "sudoku-json":
            break
    wanted = {
        "clear",
        "cell active",
        "text",
        "sudoku-examples",
        "size",
        "givens",
        "heat",
        "guide",
        "sudoku-left",
        "sudoku-start",
    }
    assert wanted <= set(reached)
    assert {"sudoku-play", "sudoku-position", "sudoku-speed", "sudoku-share", "sudoku-svg", "sudoku-json"} <= set(
        reached
    )
    assert page.evaluate("document.querySelectorAll('canvas[role=application]:not([tabindex=\"0\"])').length") == 0


TEXTS = {  # what is written on what; 4.5 : 1 is wanted
    "text": ["bg", "surface", "cell", "peer", "raised", "heat"],
    "muted": ["bg", "surface", "cell", "peer", "raised"],
    "on-accent": ["accent", "path"],
    "on-deep": ["deep"],
    "error": ["error-bg", "surface"],
    "good": ["raised", "surface"],
    "known": ["cell", "peer"],
    "surface": ["text"],
}
LINES = {  # lines, marks and the borders of controls; 3 : 1 is wanted
    **{name: ["surface"] for name in ("path", "open", "deep", "second", "shallow", "earlier")},
    "mark": ["surface", "cell"],
    "edge": ["surface", "raised"],
    "focus": ["surface", "cell", "bg"],
    "accent": ["raised"],
}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(browser: Browser, address: str, scheme: Any) -> None:
    read = "name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()"
    with browsers.visiting(browser, address, color_scheme=scheme) as visit:
        page = visit.open()
        for pairs, least in ((TEXTS, 4.5), (LINES, 3)):
            for front, grounds in pairs.items():
                for behind in grounds:
                    ratio = contrast(page.evaluate(read, front), page.evaluate(read, behind))
                    assert ratio >= least, f"{scheme}: {front} on {behind} has {ratio:.2f}"
        by_system = page.evaluate(read, "bg")
        other = "light" if scheme == "dark" else "dark"
        while page.locator("#theme").inner_text() != f"Colours: {other}":
            page.locator("#theme").click()
        assert page.evaluate(read, "bg") != by_system
        page.reload()
        page.locator("html[data-ready]").wait_for(state="attached")
        assert page.locator("#theme").inner_text() == f"Colours: {other}"
        while page.locator("#theme").inner_text() != f"Colours: {scheme}":
            page.locator("#theme").click()
        assert page.evaluate(read, "bg") == by_system


OVERLAPS = """() => {
  const kinds = "button, input, select, textarea, canvas, .board, h1, h2, h3, p, dt, dd, label";
  const shown = [...document.querySelectorAll(`${kinds}, .out, .state, .chart, .legend li`)]
    .filter(one => one.checkVisibility() && one.id !== "said" && !one.closest(".board"))
    .map(one => [one, one.getBoundingClientRect()]).filter(([, box]) => box.width > 1 && box.height > 1);
  const found = [];
  for (let i = 0; i < shown.length; i++) for (let k = i + 1; k < shown.length; k++) {
    const [a, p] = shown[i], [b, q] = shown[k];
    if (a.contains(b) || b.contains(a) || a.classList.contains("whole") || b.classList.contains("whole")) continue;
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide > 1 && high > 1) found.push(`${a.id || a.outerHTML.slice(0, 60)} / ${b.id || b.outerHTML.slice(0, 60)}`);
  }
  for (const [one, box] of shown) {
    if (box.right > innerWidth + 1 || box.left < -1) found.push(`outside: ${one.id || one.outerHTML.slice(0, 60)}`);
    const cut = getComputedStyle(one).overflow !== "visible" || one.matches("button, dd, h3");
    if (cut && !one.matches("input, select, textarea") && one.scrollWidth > one.clientWidth + 1 && one.clientWidth)
      found.push(`cut off: ${one.id || one.outerHTML.slice(0, 80)}`);
  }
  return found;
}"""


@pytest.mark.parametrize("width", [375, 768, 1024, 1920])
def test_nothing_overlaps_and_nothing_is_cut_off(browser: Browser, address: str, width: int) -> None:
    with browsers.visiting(browser, address, width=width) as visit:
        page = visit.open()
        for tab in ("sudoku", "cnf"):
            page.locator(f"#tab-{tab}").click()
            browsers.race(page, tab)
            assert page.evaluate(OVERLAPS) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_motion_a_race_is_shown_at_its_end(browser: Browser, address: str) -> None:
    with browsers.visiting(browser, address, reduced_motion="reduce") as visit:
        page = visit.open()
        page.locator("#sudoku-speed").fill("-3")
        page.locator("#sudoku-start").click()
        expect(page.locator("#panel-sudoku .state").first).to_have_text("solved")
