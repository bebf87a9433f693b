"""The page in a real browser: what a person does with it, by mouse and by keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Page, Route, expect

import browser as browsers
import shell

WRONG_TURN = ".4...8....1..........1...856.2...7......73..65...........6.....8...213..9..8....4"
FORMULA = "p cnf 4 5\n1 2 0\n-1 3 0\n-2 -3 0\n3 4 0\n-3 -4 2 0\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> shell.Run:
    return shell.runner(capsys, monkeypatch)


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with browsers.visiting(browser, address) as visit:
        yield visit.open(f"#f=sudoku&p={WRONG_TURN}")


def cells(page: Page) -> str:
    """The board as the user sees it."""
    said = page.locator("#board .cell").evaluate_all("all => all.map(one => one.querySelector('.value')?.textContent)")
    return "".join(one or "." for one in said)


def at(page: Page, row: int, column: int) -> Any:
    return page.locator(f"#board [aria-rowindex='{row}'] [aria-colindex='{column}']")


def counter(page: Page, which: int, name: str = "nodes", tab: str = "sudoku") -> int:
    number = page.locator(f"#panel-{tab} .panel").nth(which).locator(f"[data-n='{name}']")
    return int(number.inner_text().replace(",", ""))


# The board


def test_a_puzzle_is_typed_with_arrows_and_digits(page: Page) -> None:
    expect(page.locator("#text")).to_have_value(re.compile("[1-9]"))  # the first example is there
    page.locator("#clear").click()
    expect(page.locator("#text")).not_to_have_value(re.compile("[1-9]"))
    at(page, 1, 1).click()
    for key in ("5", "ArrowRight", "3", "ArrowDown", "7", "End", "1", "Home", "2", "Delete"):
        page.keyboard.press(key)
    expect(page.locator("#text")).to_have_value("53.......\n.7......1".replace("\n", "") + "." * 63)
    assert cells(page) == "53........7......1" + "." * 63
    expect(at(page, 1, 2)).to_have_attribute("aria-label", "row 1 column 2, 3, given")
    expect(page.locator("#board [tabindex='0']")).to_have_count(1)


def test_pencil_marks_are_the_values_that_no_peer_has(page: Page) -> None:
    expect(at(page, 1, 1)).to_have_attribute("aria-label", re.compile("candidates 2 3 7$"))
    assert at(page, 1, 1).locator(".marks").inner_text().split() == ["2", "3", "7"]
    at(page, 1, 1).click()
    page.keyboard.press("7")
    expect(at(page, 2, 1)).to_have_attribute("aria-label", re.compile("candidates 2 3$"))


def test_undo_and_redo(page: Page) -> None:
    expect(page.locator("#undo")).to_be_disabled()
    at(page, 1, 1).click()
    page.keyboard.press("2")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Delete")
    page.keyboard.press("Control+z")
    assert cells(page) == "2" + WRONG_TURN[1:]
    page.keyboard.press("Control+z")
    assert cells(page) == WRONG_TURN
    page.keyboard.press("Control+Shift+Z")
    assert cells(page) == "2" + WRONG_TURN[1:]
    page.locator("#undo").click()
    assert cells(page) == WRONG_TURN
    expect(page.locator("#undo")).to_be_disabled()
    expect(page.locator("#redo")).to_be_enabled()


def test_equal_values_are_shown_where_they_are_and_no_search_begins(page: Page) -> None:
    at(page, 1, 3).click()
    page.keyboard.press("4")
    expect(page.locator("#errors")).to_contain_text("r1c2 and r1c3 are both 4")
    for column in (2, 3):
        expect(at(page, 1, column)).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#board .conflict")).to_have_count(2)
    page.locator("#sudoku-start").click()
    expect(page.locator("#sudoku-trouble")).to_contain_text("r1c2 and r1c3 are both 4")
    at(page, 1, 3).click()
    page.keyboard.press("Backspace")
    expect(page.locator("#board .conflict")).to_have_count(0)
    expect(page.locator("#errors")).to_be_empty()


@pytest.mark.parametrize(("key", "words"), [("x", "r2c2: “x” is no value here; 1 to 9 are."), ("+", "“+” is no value")])
def test_keys_that_are_no_value_are_refused_in_place(page: Page, key: str, words: str) -> None:
    at(page, 2, 2).click()
    page.keyboard.press(key)
    expect(page.locator("#errors")).to_contain_text(words)
    assert cells(page) == WRONG_TURN


def test_pasted_text(page: Page) -> None:
    rows = "\n".join(shell.PUZZLE[i : i + 9] for i in range(0, 81, 9))
    page.locator("#text").evaluate(
        """(field, text) => {
             const clipboardData = new DataTransfer();
             clipboardData.setData("text", text);
             field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
           }""",
        rows,
    )
    expect(page.locator("#text")).to_have_value(shell.PUZZLE)
    for _ in range(200):  # the server reads it first
        if cells(page) == shell.PUZZLE:
            break
        page.wait_for_timeout(50)
    assert cells(page) == shell.PUZZLE
    page.locator("#text").fill(shell.PUZZLE[:40] + "x" + shell.PUZZLE[41:])
    page.keyboard.press("Enter")
    expect(page.locator("#errors")).to_contain_text(re.compile("column 41"))
    assert cells(page) == shell.PUZZLE


def test_examples_and_sizes(page: Page) -> None:
    difficulties = page.locator("#sudoku-examples optgroup").evaluate_all("all => all.map(one => one.label)")
    assert len(difficulties) >= 3
    page.locator("#sudoku-examples").select_option(index=1)
    expect(page.locator("#text")).not_to_have_value(WRONG_TURN)
    for size in (4, 16):
        page.locator("#size").select_option(str(size))
        page.locator("#blank").click()
        expect(page.locator("#board .cell")).to_have_count(size * size)
        expect(page.locator("#pad button")).to_have_count(size + 1)
    at(page, 16, 16).click()
    page.keyboard.press("g")
    expect(page.locator("#text")).to_have_value("." * 255 + "G")


def test_generated_puzzles_have_the_givens_asked_for(page: Page) -> None:
    page.locator("#size").select_option("6")
    page.locator("#givens").fill("12")
    page.locator("#make-seed").fill("3")
    page.get_by_role("button", name="Generate").first.click()
    expect(page.locator("#board .cell")).to_have_count(36)
    assert len(cells(page).replace(".", "")) == 12
    first = cells(page)
    page.locator("#clear").click()
    expect(page.locator("#text")).to_have_value("." * 36)
    page.get_by_role("button", name="Generate").first.click()
    expect(page.locator("#text")).to_have_value(first)


# The guide


def test_the_heat_map_has_numbers_and_sharpens(page: Page) -> None:
    page.locator("#heat").check()
    expect(page.locator("#step")).to_be_enabled()
    expect(page.locator("#board .warm")).to_have_count(WRONG_TURN.count("."))
    expect(at(page, 1, 1)).to_have_attribute("aria-label", re.compile(r"the guide says 2, .*%$"))
    at(page, 1, 1).locator(".marks span").nth(1).hover()
    expect(page.locator(".tip")).to_have_text(re.compile(r"^2 at r1c1: .*\d.*%$"))
    expect(page.locator("#readout")).to_contain_text("r1c1 guide: 2")
    words = page.locator("#entropy").get_attribute("aria-label") or ""
    entropy = [float(one) for one in re.findall(r"\d+\.\d+", words)]
    assert len(entropy) == 8
    assert entropy[-1] < entropy[0]
    sure = "all => all.reduce((sum, one) => sum + Number(one.style.getPropertyValue('--sure')), 0) / all.length"
    first = page.locator("#board .warm").evaluate_all(sure)
    page.locator("#step").fill("8")
    expect(page.locator("#step-of")).to_have_text("8 of 8")
    assert page.locator("#board .warm").evaluate_all(sure) > first
    page.locator("#heat").uncheck()
    expect(page.locator("#board .warm")).to_have_count(0)


# The race


def solve(run: shell.Run, *flags: str) -> dict[str, Any]:
    """What the command line says of the same puzzle."""
    return dict(json.loads(run("solve", WRONG_TURN, "--json", *flags).out))


def test_counters_are_those_of_the_command_line(page: Page, run: shell.Run) -> None:
    browsers.race(page)
    for which, flags in enumerate((["--level", "naked"], ["--policy", "paper"])):
        said = solve(run, *flags)
        for name in ("nodes", "backtracks", "calls"):
            assert counter(page, which, name) == said[name]
    assert counter(page, 0) > counter(page, 1)
    expect(page.locator("#sudoku-chart .first")).to_have_count(1)
    expect(page.locator("#sudoku-chart .second")).to_have_count(1)


def test_play_pause_step_and_speed(page: Page) -> None:
    page.locator("#sudoku-speed").fill("-3")
    expect(page.locator("#sudoku-speed")).to_have_attribute("aria-valuetext", "1/8×")
    page.locator("#sudoku-start").click()
    expect(page.locator("#sudoku-play")).to_have_attribute("aria-label", "Pause")
    expect(page.locator("#sudoku-position")).to_have_attribute("max", re.compile("[1-9]"))
    page.locator("#sudoku-play").click()
    expect(page.locator("#sudoku-play")).to_have_attribute("aria-label", "Play")
    for which in (0, 1):  # both searches are done, and the race is not: the clock need not wait for nodes
        expect(page.locator("#panel-sudoku .state").nth(which)).to_have_text("playing", timeout=20_000)
    before = int(page.locator("#sudoku-position-of").inner_text().split(" of ")[0])
    assert counter(page, 0) == before
    for _ in range(3):
        page.locator("#sudoku-step").click()
    expect(page.locator("#sudoku-position-of")).to_contain_text(f"{before + 3} of")
    assert counter(page, 0) == counter(page, 1) == before + 3
    page.locator("#sudoku-back").click()
    expect(page.locator("#sudoku-position-of")).to_contain_text(f"{before + 2} of")
    page.locator("#sudoku-position").fill("60")
    expect(page.locator("#sudoku-position-of")).to_contain_text("60 of")
    assert counter(page, 0) == counter(page, 1) == 60
    expect(page.locator("#panel-sudoku .state").first).to_have_text("playing")
    page.locator("#sudoku-finish").click()
    expect(page.locator("#panel-sudoku .state").first).to_have_text("solved")
    expect(page.locator("#sudoku-step")).to_be_disabled()


def test_a_node_that_is_chosen_shows_its_state(page: Page, run: shell.Run) -> None:
    browsers.race(page)
    canvas = page.locator("#panel-sudoku canvas").nth(1)
    canvas.focus()
    page.keyboard.press("Home")
    expect(page.locator("#panel-sudoku .chosen").nth(1)).to_contain_text("Node 1, depth 0, on the solution path")
    expect(page.locator("#h-node")).to_have_text("Node 1: r5c1")
    rows = page.locator("#node tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("4")
    expect(rows.nth(0).locator("td").last).to_have_text("solution")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#panel-sudoku .chosen").nth(1)).to_contain_text("depth 5")
    expect(page.locator("#h-node")).to_have_text("Node 6: r6c4")
    failed = page.locator("#node tbody tr").nth(0).locator("td")
    expect(failed.nth(0)).to_have_text("2")
    expect(failed.nth(1)).to_have_text(re.compile(r"^99\.\d%$"))
    expect(failed.nth(3)).to_have_text("89")  # what the failing sibling cost
    expect(failed.nth(4)).to_have_text("failed")
    expect(page.locator("#viewing-words")).to_contain_text("Node 6 of")
    expect(at(page, 6, 4)).to_have_class(re.compile("branch"))
    expect(at(page, 5, 1)).to_have_attribute("aria-label", "row 5 column 1, 4, follows")
    page.keyboard.press("End")
    expect(page.locator("#viewing-words")).to_contain_text("The solution")
    assert cells(page) == solve(run, "--policy", "paper")["solution"]
    page.locator("#back").click()
    expect(page.locator("#viewing")).to_be_hidden()
    assert cells(page) == WRONG_TURN


RING = """which => {
  const canvas = document.querySelectorAll("#panel-sudoku canvas")[which];
  const mark = getComputedStyle(canvas).getPropertyValue("--mark").trim();
  const wanted = [1, 3, 5].map(i => parseInt(mark.slice(i, i + 2), 16));
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0, x = 0, y = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (wanted.some((part, k) => data[i + k] !== part)) continue;
    n += 1; x += (i / 4) % width; y += Math.floor(i / 4 / width);
  }
  return n ? [x / n, y / n] : null;
}"""


def test_the_pointer_finds_the_node_that_is_drawn_there(page: Page) -> None:
    browsers.race(page)
    canvas, words = page.locator("#panel-sudoku canvas").nth(1), page.locator("#panel-sudoku .chosen").nth(1)
    canvas.focus()
    places = {}
    for key in ("Home", "ArrowDown", "ArrowDown", "End"):
        page.keyboard.press(key)
        places[words.inner_text()] = page.evaluate(RING, 1)  # where the chosen node is marked
    assert len(places) == 4
    for said, (x, y) in places.items():
        canvas.click(position={"x": x, "y": y})
        expect(words).to_have_text(said)
        assert page.evaluate(RING, 0) is None  # one node is chosen, not one in each tree


def test_on_a_phone_the_board_is_one_press_away(browser: Browser, address: str) -> None:
    with browsers.visiting(browser, address, width=375, height=700, reduced_motion="reduce") as visit:
        page = visit.open()
        browsers.race(page)
        page.locator("#panel-sudoku canvas").nth(1).focus()
        page.keyboard.press("Home")
        expect(page.locator("#viewing")).to_be_visible()
        expect(page.locator("#board")).not_to_be_in_viewport()
        page.get_by_role("button", name="Show it on the board").click()
        expect(page.locator("#board")).to_be_in_viewport()


def test_enter_shows_one_branch_only(page: Page) -> None:
    browsers.race(page)
    page.locator("#panel-sudoku canvas").first.focus()
    for key in ("Home", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator("#panel-sudoku .chosen").first).to_contain_text("in a deep failing branch")
    page.keyboard.press("Enter")
    expect(page.locator("#panel-sudoku .whole").first).to_be_visible()
    expect(page.locator("#panel-sudoku .merged").first).to_contain_text("849 nodes")
    page.locator("#panel-sudoku .whole").first.click()
    expect(page.locator("#panel-sudoku .whole").first).to_be_hidden()
    expect(page.locator("#panel-sudoku .merged").first).to_contain_text("985 nodes")


def test_every_search_can_race(page: Page) -> None:
    """Restarts, an oracle, and two searches that take turns."""
    ids = page.locator("#sudoku-left option").evaluate_all("all => all.map(one => one.value)")
    assert {"fc", "dibs", "auto", "guided", "plain"} <= set(ids)
    for left, right in (("auto", "guided"), ("oracle-every-node", "confident-kept-restarts")):
        page.locator("#sudoku-left").select_option(left)
        page.locator("#sudoku-right").select_option(right)
        browsers.race(page)
        for which in (0, 1):
            expect(page.locator("#panel-sudoku .state").nth(which)).to_have_text("solved")


# Share and export


def test_a_link_carries_puzzle_and_settings(browser: Browser, address: str) -> None:
    with browsers.visiting(browser, address, permissions=["clipboard-read", "clipboard-write"]) as visit:
        page = visit.open()
        page.locator("#text").fill(shell.SEARCHED)
        page.keyboard.press("Enter")
        expect(page.locator("#about-board")).to_contain_text("17 givens")
        page.locator("#sudoku-left").select_option("fc-degree")
        page.locator("#sudoku-right").select_option("guided")
        page.locator("#guide").select_option("transformer")
        page.locator("#panel-sudoku .more summary").click()
        page.locator("#sudoku-seed").fill("7")
        page.locator("#sudoku-limit").fill("1234")
        page.locator("#sudoku-share").click()
        expect(page.locator("#said")).to_have_text("The link is copied")
        link = page.evaluate("navigator.clipboard.readText()")
        assert link == page.locator("#sudoku-link").input_value()
    assert link.startswith(f"{address}#")
    with browsers.visiting(browser, address) as visit:
        page = visit.open(link.removeprefix(address))
        assert cells(page) == shell.SEARCHED
        expect(page.locator("#sudoku-left")).to_have_value("fc-degree")
        expect(page.locator("#sudoku-right")).to_have_value("guided")
        expect(page.locator("#guide")).to_have_value("transformer")
        expect(page.locator("#sudoku-seed")).to_have_value("7")
        expect(page.locator("#sudoku-limit")).to_have_value("1234")


@pytest.mark.parametrize(
    ("link", "place", "words"),
    [
        ("#p=12&l=nothing", "#errors", "cells"),
        ("#f=cnf&p=p%20cnf", "#cnf-errors", "line 1"),
        ("#b=9x9&p=" + "." * 81, "#errors", "box"),
        ("#%", "#about-board", "21 givens"),
        ("#f=none&n=1e9&s=-1", "#about-board", "21 givens"),
    ],
)
def test_a_damaged_link_is_said_or_left_aside(
    browser: Browser, address: str, link: str, place: str, words: str
) -> None:
    with browsers.visiting(browser, address) as visit:
        page = visit.open(link)
        expect(page.locator(place)).to_contain_text(words)
        expect(page.locator("#sudoku-limit")).to_have_value("100000")
        expect(page.locator("#sudoku-seed")).to_have_value("0")


def test_the_picture_and_the_run_are_saved(page: Page, run: shell.Run, tmp_path: Path) -> None:
    browsers.race(page)
    with page.expect_download() as waiting:
        page.locator("#sudoku-svg").click()
    figure = tmp_path / "trees.svg"
    waiting.value.save_as(figure)
    root = ElementTree.parse(figure).getroot()
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"985 nodes, solved", "105 nodes, solved"} <= set(words)
    kinds = {part.get("class") for part in root.iter("{http://www.w3.org/2000/svg}path")}
    assert {"path", "deep", "shallow", "first", "second"} <= kinds
    with page.expect_download() as waiting:
        page.locator("#sudoku-json").click()
    waiting.value.save_as(tmp_path / "run.json")
    told = run("explain", tmp_path / "run.json")
    assert told.code == 0
    assert "985 nodes" in told.out
    assert "105 nodes" in told.out


# SAT


def test_the_tab_for_formulas(page: Page) -> None:
    page.locator("#tab-sudoku").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-cnf")).to_be_focused()
    expect(page.locator("#panel-sudoku")).to_be_hidden()
    page.locator("#cnf-text").fill("p cnf 2 1\n1 2")
    page.locator("#cnf-load button").click()
    expect(page.locator("#cnf-errors")).to_contain_text("line")
    page.locator("#cnf-text").fill(FORMULA)
    page.locator("#cnf-load button").click()
    expect(page.locator("#about-formula")).to_contain_text("4 variables, 5 clauses")
    expect(page.locator("#variables .variable")).to_have_count(4)
    browsers.race(page, "cnf")
    page.locator("#panel-cnf canvas").first.focus()
    page.keyboard.press("End")
    expect(page.locator("#cnf-viewing-words")).to_contain_text("The solution")
    expect(page.locator("#clauses .satisfied")).to_have_count(5)
    page.keyboard.press("Home")
    expect(page.locator("#h-cnf-node")).to_contain_text("Node 1: z")


def test_a_race_waits_for_a_formula_that_is_on_its_way(page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/read", lambda route: held.append(route))
    page.locator("#tab-cnf").click()  # loads the first example
    page.locator("#cnf-start").click()
    page.wait_for_function("true")  # the page has had its turn
    expect(page.locator("#panel-cnf .state").first).to_have_text("not started")
    held[0].continue_()
    expect(page.locator("#cnf-verdict")).to_be_visible(timeout=30_000)


def test_a_generated_formula_races(page: Page) -> None:
    page.locator("#tab-cnf").click()
    page.locator("#cnf-variables").fill("50")
    page.locator("#cnf-make-seed").fill("2")
    page.locator("#cnf-generate button").click()
    expect(page.locator("#variables .variable")).to_have_count(50)
    line = page.locator("#cnf-text").input_value()
    browsers.race(page, "cnf")
    assert counter(page, 0, tab="cnf") > 0
    page.reload()
    page.locator("html[data-ready]").wait_for(state="attached")
    expect(page.locator("#cnf-text")).to_have_value(line)
