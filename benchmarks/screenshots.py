"""Pictures of the playground for docs/PLAYGROUND.md: `make screenshots`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

import browser as browsers

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "figures"


def wrong(page: Page) -> None:
    """The question that the page opens with, answered wrongly."""
    page.locator(".answer").first.click()
    expect(page.locator("#told")).to_contain_text("Wrong.")


def square(page: Page) -> None:
    """Plain search is still at work on a square that dibs has filled."""
    page.route("**/api/square", lambda route: route.continue_(post_data='{"order": 40, "seed": 3, "rival": "plain"}'))
    page.locator("#rival").select_option("plain")
    page.locator("#go").click()
    expect(page.locator("#clock-0")).to_have_class("won")
    page.wait_for_timeout(2000)
    page.locator("#wins").scroll_into_view_if_needed()


def race(page: Page) -> None:
    """The race of the first visit, with the guide's beliefs."""
    page.locator("#heat").check()
    expect(page.locator("#step")).to_be_enabled()
    browsers.race(page)


def formula(page: Page) -> None:
    page.locator("#tab-cnf").click()
    expect(page.locator("#variables .variable").first).to_be_visible()
    browsers.race(page, "cnf")
    page.locator("#panel-cnf canvas").first.focus()
    for key in ("Home", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.locator("#h-cnf-node")).to_contain_text("Node ")


PICTURES: list[tuple[str, int, int, str, str, Callable[[Page], None]]] = [
    ("playground", 1440, 650, "light", "choose", wrong),
    ("playground-squares", 1440, 600, "light", "wins", square),
    ("playground-own", 1440, 900, "light", "own", race),
    ("playground-phone", 375, 812, "light", "own", race),
    ("playground-sat", 1024, 812, "dark", "own", formula),
]


def small(png: bytes) -> Image.Image:
    """With 256 colours, each taken where most pixels are furthest from those before it: flat surfaces stay exact."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    shades, which, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    far = np.full(len(shades), np.inf)
    nearest = np.zeros(len(shades), np.uint8)
    palette = []
    for number in range(min(256, len(shades))):
        chosen = shades[int(np.argmax(counts * far) if number else np.argmax(counts))].astype(np.int64)
        distance = ((shades.astype(np.int64) - chosen) ** 2).sum(axis=1)
        nearest[distance < far] = number
        far = np.minimum(far, distance)
        palette += chosen.tolist()
    found = Image.fromarray(nearest[which.reshape(pixels.shape[:2])], "P")
    found.putpalette(palette)
    return found


def main() -> None:
    with browsers.chromium() as browser, browsers.serving() as address:
        for name, width, height, scheme, part, act in PICTURES:
            wishes: dict[str, Any] = {"color_scheme": scheme, "reduced_motion": "reduce"}
            with browsers.visiting(browser, address, width, height, **wishes) as visit:
                page = visit.open()
                act(page)
                page.evaluate(
                    "document.activeElement.blur(); document.getElementById('said').classList.remove('shown')"
                )
                page.evaluate("part => document.getElementById(part).scrollIntoView()", part)
                page.mouse.move(2, 2)
                page.wait_for_timeout(400)
                path = FOLDER / f"{name}.png"
                small(page.screenshot()).save(path, optimize=True)
                print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
