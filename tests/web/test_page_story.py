"""What the page tells: the question it opens with, the race of squares, a race from its start to its finish."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

import browser as browsers
import pages
from dibs import Sudoku, solve
from dibs.guide.lazy import lazy_guide
from dibs.web import catalogue

WRONG_TURN = ".4...8....1..........1...856.2...7......73..65...........6.....8...213..9..8....4"
REPLAY: dict[str, Any] = json.loads((files("dibs.web") / "static" / "replay.json").read_text())
SYMBOLS = ".123456789ABCDEFG"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """Without motion: whatever is played is at its end at once."""
    with browsers.visiting(browser, address, reduced_motion="reduce") as visit:
        yield visit.open(f"#f=sudoku&p={WRONG_TURN}")


def answer(page: Page, right: bool) -> None:
    value = next(value for value in REPLAY["values"] if (value == REPLAY["right"]) == right)
    page.locator(".answer", has_text=re.compile(f"^{SYMBOLS[value]}$")).click()


def painted(page: Page, canvas: str, colour: str) -> int:
    """Pixels of a canvas that are nearer to a colour of the page than to any grey."""
    return int(
        page.evaluate(
            """([canvas, name]) => {
          const element = document.querySelector(canvas);
          const wanted = getComputedStyle(element).getPropertyValue(name).trim();
          const [r, g, b] = [1, 3, 5].map((i) => parseInt(wanted.slice(i, i + 2), 16));
          const { data } = element.getContext("2d").getImageData(0, 0, element.width, element.height);
          let n = 0;
          for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] < 40) continue;
            const same = Math.sign(data[i] - data[i + 2]) === Math.sign(r - b);
            n += same && Math.abs(data[i] - data[i + 2]) > 60;
          }
          return n;
        }""",
            [canvas, colour],
        )
    )


# You choose


def test_the_replay_is_what_the_searches_say() -> None:
    """The file agrees with itself and with searches of today; the failing tree is counted, not searched again."""
    puzzle = Sudoku.parse(REPLAY["givens"])
    assert sum(value > 0 for value in puzzle.values.reshape(-1)) == 100
    assert solve(puzzle, policy="plain", max_solutions=2).found == (REPLAY["solution"],)
    assert solve(puzzle, policy="plain").nodes == REPLAY["stronger"]
    row = catalogue.search_for("sudoku", "dibs")
    guided = solve(puzzle, guide=lazy_guide(row.guidance), level="naked", trigger="binary")
    assert guided.nodes == REPLAY["nodes"]
    assert SYMBOLS.index(REPLAY["solution"][REPLAY["cell"]]) == REPLAY["right"]
    assert min(REPLAY["values"]) != REPLAY["right"], "the page says that the smaller value is the wrong one"
    tree = REPLAY["wrong"]["tree"]
    assert sum(tree["nodes"]) == REPLAY["wrong"]["nodes"]
    assert tree["depth"][0] == 0
    assert min(tree["depth"][1:]) > 0
    assert all(low >= depth for low, depth in zip(tree["deepest"], tree["depth"], strict=True))
    assert max(REPLAY["steps"]) == REPLAY["path"]


def test_the_wrong_value_pours(page: Page) -> None:
    assert painted(page, "#avalanche", "--deep") == 0
    answer(page, right=False)
    expect(page.locator("#counter")).to_have_text(f"{REPLAY['wrong']['nodes']:,}")
    expect(page.locator("#told")).to_contain_text("Wrong.")
    chance = round(100 * REPLAY["belief"][REPLAY["values"].index(REPLAY["right"])])
    said = f"The network had said {SYMBOLS[REPLAY['right']]}, at {chance} %."
    expect(page.locator("#told")).to_contain_text(said)
    expect(page.locator("#honest")).to_contain_text(f"needs {REPLAY['stronger']} nodes")
    expect(page.locator("#puzzle .wrong-one")).to_have_count(1)
    assert painted(page, "#avalanche", "--deep") > 5_000


def test_the_right_value_drops_to_the_solution(page: Page) -> None:
    answer(page, right=False)
    answer(page, right=True)
    expect(page.locator("#counter")).to_have_text(str(REPLAY["path"]))
    expect(page.locator("#told")).to_contain_text("Right.")
    shown = page.locator("#puzzle .value").all_inner_texts()
    assert "".join(shown) == REPLAY["solution"]
    assert painted(page, "#avalanche", "--deep") == 0
    assert painted(page, "#avalanche", "--path") > 300


def test_the_counter_races(browser: Browser, address: str) -> None:
    """With motion: it only ever goes up, slowly at first, and it stops at the last node."""
    with browsers.visiting(browser, address) as visit:
        page = visit.open()
        page.evaluate(
            """() => {
              window.seen = [];
              const counter = document.getElementById("counter");
              const note = () => window.seen.push(Number(counter.textContent.replaceAll(",", "")));
              new MutationObserver(note).observe(counter, { childList: true });
            }"""
        )
        answer(page, right=False)
        expect(page.locator("#told")).to_contain_text("Wrong.", timeout=60_000)
        seen = page.evaluate("window.seen")
    assert seen == sorted(seen)
    assert seen[-1] == REPLAY["wrong"]["nodes"]
    assert len(set(seen)) > 5
    assert seen[len(seen) // 2] < REPLAY["wrong"]["nodes"] / 10


def test_the_question_is_there_while_the_kernel_compiles(browser: Browser) -> None:
    """In this order: the page is painted, its question answered, a race begun; then the kernel is ready."""
    with pages.site(warm=False) as site, browsers.visiting(browser, f"{site.url}/", reduced_motion="reduce") as visit:
        page = visit.open()
        assert page.evaluate("performance.getEntriesByName('first-contentful-paint').length") == 1
        expect(page.locator("#preparing")).to_be_visible()
        answer(page, right=True)
        expect(page.locator("#told")).to_contain_text("Right.")
        page.locator("#sudoku-start").click()
        expect(page.locator("#panel-sudoku .state").first).to_have_text("preparing")
        expect(page.locator("#panel-sudoku .merged").first).to_contain_text("compiles")
        assert not site.workers.ready.is_set()
        site.workers.ready.set()
        expect(page.locator("#panel-sudoku .state").first).to_have_text("solved")
        expect(page.locator("#preparing")).to_contain_text("large squares")
        site.workers.all_ready.set()
        expect(page.locator("#preparing")).to_be_hidden()


# Where it wins


def smaller(route: Route) -> None:
    """The race of squares with a square that plain search fills at once."""
    route.continue_(post_data=json.dumps({**json.loads(route.request.post_data or "{}"), "order": 12, "seed": 3}))


def test_a_square_is_filled_beside_a_rival(page: Page) -> None:
    page.route("**/api/square", smaller)
    page.locator("#rival").select_option("plain")
    expect(page.locator("#rival-name")).to_have_text("plain search")
    page.locator("#go").click()
    expect(page.locator("#square-told")).to_contain_text("times as quick")
    for of in (0, 1):
        expect(page.locator(f"#clock-{of}")).to_have_text(re.compile(r"^[\d.]+ m?s$"))
        expect(page.locator(f"#square-{of}")).to_have_attribute("aria-label", re.compile(": filled$"))
        assert painted(page, f"#square-{of}", "--path") > 2_000  # right, whoever has found it
        assert painted(page, f"#square-{of}", "--deep") == 0
    expect(page.locator("#go")).not_to_have_attribute("aria-busy", "true")


def test_a_rival_that_gives_up_is_said(page: Page) -> None:
    given = [0] * 16
    filled = [1, 2, 3, 4, 2, 1, 4, 3, 3, 4, 1, 2, 4, 3, 2, 1]
    told = [
        ("start", {"order": 4, "values": given, "seed": 5, "rival": "plain search"}),
        ("state", {"of": 1, "values": [4, 3, *given[2:]], "seconds": 7.5, "nodes": 10}),
        ("end", {"of": 0, "status": "SAT", "values": filled, "seconds": 0.1, "nodes": 3, "asks": 1}),
        ("end", {"of": 1, "status": "LIMIT", "values": None, "seconds": 20.0, "nodes": 9, "asks": 0}),
    ]
    body = browsers.events(*told)
    page.route("**/api/square", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    page.locator("#go").click()
    expect(page.locator("#square-told")).to_contain_text("dibs fills it in 0.10 s; plain search has not after 20.0 s.")
    expect(page.locator("#clock-1")).to_have_text("gave up after 20.0 s")


# The finish


def board(page: Page) -> str:
    said = page.locator("#board .cell").evaluate_all("all => all.map(one => one.querySelector('.value')?.textContent)")
    return "".join(one or "." for one in said)


def test_a_verdict_stays_and_the_board_is_solved(page: Page) -> None:
    browsers.race(page)
    verdict = page.locator("#sudoku-verdict")
    expect(verdict).to_contain_text("DiBS needs 9.4 times fewer nodes")
    expect(page.locator("#said")).to_contain_text("DiBS needs 9.4 times fewer nodes")  # to screen readers, and not
    expect(page.locator("#said")).not_to_have_class(re.compile("shown"))  # once more on the screen
    for words in ("985 nodes", "105 nodes"):
        expect(verdict.locator("li", has_text=words)).to_have_text(re.compile(r"solved, .* nodes, [\d.]+ m?s$"))
    assert board(page) == solve(Sudoku.parse(WRONG_TURN)).solution
    page.locator("#sudoku-position").fill("40")
    expect(verdict).to_be_visible()
    page.locator("#sudoku-finish").click()
    expect(page.locator("#viewing-words")).to_have_text("Solved.")
    page.locator("#back").click()
    assert board(page) == WRONG_TURN
    page.locator("#sudoku-right").select_option("guided")
    expect(verdict).to_be_hidden()


def test_the_board_fills_while_the_race_is_played(page: Page) -> None:
    browsers.race(page)
    page.locator("#sudoku-position").fill("15")
    some = [(given, now) for given, now in zip(WRONG_TURN, board(page), strict=True) if now != "."]
    assert 5 < sum(given == "." for given, _ in some) < 15  # decisions above the fifteenth node
    assert all(given in (".", now) for given, now in some)


EASED = """async ([most, speed]) => {
  const { Race } = await import("/static/race.js");
  const clock = { position: 0, most, speed };
  let seconds = 0;
  while (clock.position < most && seconds < 1000) {
    clock.position = Race.prototype.eased.call(clock, 0.01);
    seconds += 0.01;
  }
  return seconds;
}"""


def test_a_race_takes_as_long_whatever_its_size(page: Page) -> None:
    took = [page.evaluate(EASED, [most, 1]) for most in (20, 985, 13_805, 250_000)]
    assert 2 < took[0] < took[1] < took[2] < 8.1
    assert took[-1] == pytest.approx(8, abs=0.1)
    assert page.evaluate(EASED, [13_805, 4]) == pytest.approx(took[2] / 4, abs=0.1)


def test_both_trees_have_one_scale(page: Page) -> None:
    browsers.race(page)
    spans = """() => [...document.querySelectorAll("#panel-sudoku canvas")].map((canvas) => {
      const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let least = width, most = 0;
      for (let y = 0; y < height; y++) for (let x = 40; x < width; x++) {
        const i = 4 * (y * width + x);
        if (Math.abs(data[i] - data[i + 2]) > 60) { least = Math.min(least, x); most = Math.max(most, x); }
      }
      return most - least;
    })"""
    wide, narrow = page.evaluate(spans)
    assert narrow < wide / 4


# Try your own


def test_rows_without_a_given_are_as_high_as_others(page: Page) -> None:
    page.locator("#text").fill("." * 72 + "123456789")
    page.keyboard.press("Enter")
    expect(page.locator("#about-board")).to_contain_text("9 givens")
    boxes = page.locator("#board .cell").evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert max(boxes) - min(boxes) < 2


def test_wrong_beliefs_are_marked(page: Page) -> None:
    page.locator("#heat").check()
    expect(page.locator("#step")).to_be_enabled()
    solution = solve(Sudoku.parse(WRONG_TURN)).solution
    said = page.locator("#board .cell").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    wrong = 0
    for label, value in zip(said, solution, strict=True):
        if found := re.search(r"the guide says (\d)", label):
            assert (found[1] != value) == (f"which is wrong: it is {value}" in label)
            wrong += found[1] != value
    assert wrong > 0
    expect(page.locator("#board .mistaken")).to_have_count(wrong)
    expect(page.locator("#mistakes")).to_have_text(f"Wrong about {wrong} cells, marked red.")


def test_a_red_box_does_not_stay(page: Page) -> None:
    cell = page.locator("#board [aria-rowindex='1'] [aria-colindex='2']")
    cell.click()
    page.keyboard.press("x")
    expect(cell).to_have_class(re.compile("conflict"))
    page.keyboard.press("4")  # what it has already
    expect(page.locator("#errors")).to_be_empty()
    expect(cell).not_to_have_class(re.compile("conflict"))


def test_what_is_loaded_goes_before_what_was_edited(page: Page) -> None:
    def slowly(route: Route) -> None:
        page.wait_for_timeout(200)
        route.continue_()

    page.route("**/api/read", slowly)
    page.locator("#board [aria-rowindex='1'] [aria-colindex='1']").click()
    page.keyboard.press("7")  # a moment later the candidates would be asked for
    page.locator("#text").fill(WRONG_TURN[:36] + "11" + WRONG_TURN[38:])
    page.keyboard.press("Enter")
    expect(page.locator("#about-board")).to_contain_text("23 givens")


def test_a_contradiction_is_shown_on_the_board(page: Page) -> None:
    """The only value of r5c1 that leads to a solution is 4: another one contradicts some of the givens."""
    page.locator("#text").fill(WRONG_TURN[:36] + "1" + WRONG_TURN[37:])
    page.keyboard.press("Enter")
    expect(page.locator("#about-board")).to_contain_text("22 givens")
    expect(page.locator("#why")).to_be_hidden()
    browsers.race(page)
    expect(page.locator("#sudoku-verdict")).to_be_visible()
    page.locator("#why-not").click()
    expect(page.locator("#why-words")).to_contain_text("givens cannot be together; without any one of them")
    marked = page.locator("#board .culprit")
    cells = [int(one) for one in marked.evaluate_all("all => all.map((one) => one.dataset.cell)")]
    given = board(page)
    assert 36 in cells
    assert all(given[cell] != "." for cell in cells)
    only = "".join(value if i in cells else "." for i, value in enumerate(given))
    assert solve(Sudoku.parse(only)).status.value == "UNSAT"
    page.locator("#undo").click()
    expect(page.locator("#why")).to_be_hidden()
    expect(marked).to_have_count(0)


def test_formulas_have_beliefs(page: Page) -> None:
    page.locator("#tab-cnf").click()
    page.locator("#cnf-heat").check()
    expect(page.locator("#variables .variable.warm").first).to_have_text(re.compile(r"^z\d+\d*%$"))
    label = page.locator("#variables .variable.warm").first.get_attribute("aria-label") or ""
    assert re.search(r"the guide says true at [\d.]+%$", label)
    page.locator("#cnf-heat").uncheck()
    expect(page.locator("#variables .variable.warm")).to_have_count(0)


def test_a_link_carries_the_clock_and_the_node(browser: Browser, address: str) -> None:
    with browsers.visiting(browser, address, permissions=["clipboard-read", "clipboard-write"]) as visit:
        page = visit.open(f"#f=sudoku&p={WRONG_TURN}")
        browsers.race(page)
        page.locator("#sudoku-position").fill("60")
        page.locator("#panel-sudoku canvas").nth(1).focus()
        for key in ("Home", *["ArrowDown"] * 5):
            page.keyboard.press(key)
        expect(page.locator("#h-node")).to_have_text("Node 6: r6c4")
        page.locator("#sudoku-share").click()
        link = page.locator("#sudoku-link").input_value()
    with browsers.visiting(browser, address) as visit:
        page = visit.open(link.removeprefix(address))
        expect(page.locator("#h-node")).to_have_text("Node 6: r6c4")
        expect(page.locator("#sudoku-position-of")).to_have_text("60 of 985")
        expect(page.locator("#panel-sudoku .chosen").nth(1)).to_contain_text("Node 6, depth 5")


def tabs_to_start(page: Page) -> int:
    """How often Tab is pressed until the button has the focus."""
    for pressed in range(1, 60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "sudoku-start":
            return pressed
    raise AssertionError("Tab does not lead to Start")


def test_start_is_a_few_tabs_away(browser: Browser, address: str) -> None:
    with browsers.visiting(browser, address) as visit:
        page = visit.open()
        assert tabs_to_start(page) <= 15
        page.reload()
        page.locator("html[data-ready]").wait_for(state="attached")
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        assert tabs_to_start(page) <= 6


def test_slow_clicks_show_that_they_are_busy(page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/generate", lambda route: held.append(route))
    button = page.get_by_role("button", name="Generate").first
    button.click()
    expect(button).to_have_attribute("aria-busy", "true")
    expect(button).to_be_disabled()
    held[0].fulfill(status=400, content_type="application/json", body='{"error": "not today"}')
    expect(button).to_be_enabled()
    expect(page.locator("#errors")).to_have_text("not today")


def test_a_server_that_has_gone_is_said(browser: Browser) -> None:
    with browsers.visiting(browser, "http://unused/") as visit:
        with pages.site(warm=False) as site:
            visit.address = f"{site.url}/"
            page = visit.open()
            page.locator("#sudoku-start").click()
            expect(page.locator("#panel-sudoku .state").first).to_have_text("preparing")
        expect(page.locator("#sudoku-trouble")).to_contain_text("The server has gone")
        page.locator("#heat").click()
        expect(page.locator("#errors")).to_contain_text("The server has gone")
        expect(page.locator("#preparing")).to_contain_text("The server has gone")
        visit.faults.clear()  # the browser logs every connection that is refused


def test_words_are_for_people(page: Page) -> None:
    """No flags, and no names of the code, in what is shown or refused."""
    browsers.race(page)
    assert not re.search(r"(^|\s)--\w|unit propagation|naked single", page.locator("body").inner_text())
    page.locator("#text").fill("." * 625)
    page.keyboard.press("Enter")
    expect(page.locator("#errors")).to_contain_text("too large for the page")
    assert "dibs solve" not in page.locator("#errors").inner_text()


def test_six_tabs_race_while_a_seventh_opens(browser: Browser) -> None:
    """A browser has six connections to a server: tabs leave some to each other."""
    with pages.site(warm=False) as site:
        context = browser.new_context()
        try:
            tabs = [context.new_page() for _ in range(6)]
            for tab in tabs:
                tab.goto(f"{site.url}/")
                tab.locator("html[data-ready]").wait_for(state="attached")
                tab.bring_to_front()
                tab.locator("#sudoku-start").click()
                expect(tab.locator("#panel-sudoku .merged").first).to_contain_text(re.compile("compiles|waits"))
            seventh = context.new_page()
            seventh.goto(f"{site.url}/")
            seventh.locator("html[data-ready]").wait_for(state="attached")
            assert not site.workers.ready.is_set()
            site.workers.ready.set()
            for tab in tabs:
                tab.bring_to_front()  # a tab that nobody sees draws nothing
                tab.locator("#sudoku-finish").click()
                expect(tab.locator("#panel-sudoku .state").first).to_have_text("solved", timeout=60_000)
        finally:
            context.close()


# The layout


def seen(page: Page, *selectors: str) -> list[str]:
    """Which of these are not wholly in view."""
    return list(
        page.evaluate(
            """(selectors) => selectors.filter((selector) => [...document.querySelectorAll(selector)].some((one) => {
          const { top, bottom, left, right, height } = one.getBoundingClientRect();
          return !height || top < 0 || bottom > innerHeight || left < 0 || right > innerWidth;
        }))""",
            selectors,
        )
    )


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1440, 900), (1024, 768)])
def test_board_beliefs_and_trees_are_in_view_together(browser: Browser, address: str, width: int, height: int) -> None:
    with browsers.visiting(browser, address, width=width, height=height, reduced_motion="reduce") as visit:
        page = visit.open(f"#f=sudoku&p={WRONG_TURN}")
        page.locator("#heat").check()
        expect(page.locator("#step")).to_be_enabled()
        browsers.race(page)
        page.evaluate("document.getElementById('own').scrollIntoView()")
        panel = "#panel-sudoku"
        assert seen(page, "#board", "#heat", "#step", "#sudoku-start", "#sudoku-verdict", f"{panel} canvas") == []


def test_on_a_phone_start_and_trees_are_in_view_together(browser: Browser, address: str) -> None:
    with browsers.visiting(browser, address, width=375, height=812, reduced_motion="reduce") as visit:
        page = visit.open(f"#f=sudoku&p={WRONG_TURN}")
        browsers.race(page)
        page.evaluate("document.getElementById('own').scrollIntoView()")
        assert seen(page, "#sudoku-start", "#panel-sudoku canvas", "#panel-sudoku [data-n=nodes]") == []


CORNERS = """all => all.flatMap(one => [[0, 0], [one.width - 1, 0], [one.width - 1, one.height - 1]].map(
  ([x, y]) => [...one.getContext("2d").getImageData(x, y, 1, 1).data].join()))"""


@pytest.mark.parametrize("width", [375, 390, 1366])
def test_trees_have_no_edge_of_another_colour(browser: Browser, address: str, width: int) -> None:
    """Canvases have whole pixels, and sizes on the page that are not."""
    with browsers.visiting(browser, address, width=width, height=812) as visit:
        page = visit.open(f"#f=sudoku&p={WRONG_TURN}")
        expect(page.locator("#panel-sudoku canvas").first).to_be_visible()
        assert len(set(page.locator("#panel-sudoku .canvas-box canvas").evaluate_all(CORNERS))) == 1


def test_on_a_phone_the_question_is_whole(browser: Browser, address: str) -> None:
    with browsers.visiting(browser, address, width=375, height=812, reduced_motion="reduce") as visit:
        page = visit.open()
        assert seen(page, "#h-choose-one", "#puzzle", ".answer") == []
        answer(page, right=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 375])
def test_axe_finds_nothing(browser: Browser, address: str, scheme: Any, width: int) -> None:
    """By the rules of axe-core, at the beginning and when everything is played."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    with browsers.visiting(browser, address, width=width, color_scheme=scheme, reduced_motion="reduce") as visit:
        page = visit.open(f"#f=sudoku&p={WRONG_TURN}")
        page.route("**/api/square", smaller)

        def violations() -> list[str]:
            found = axe.Axe().run(page).response["violations"]
            return [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found]

        assert violations() == []
        answer(page, right=False)
        page.locator("#rival").select_option("plain")
        page.locator("#go").click()
        expect(page.locator("#square-told")).to_contain_text("times as quick")
        page.locator("#heat").check()
        expect(page.locator("#step")).to_be_enabled()
        browsers.race(page)
        page.locator("#panel-sudoku canvas").nth(1).focus()
        page.keyboard.press("Home")
        expect(page.locator("#node")).to_be_visible()
        expect(page.locator("#said")).not_to_have_class(re.compile("shown"), timeout=20_000)
        assert violations() == []
        page.locator("#tab-cnf").click()
        page.locator("#cnf-heat").check()
        expect(page.locator("#variables .variable.warm").first).to_be_visible()
        assert violations() == []
