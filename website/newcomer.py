"""The ten tasks of docs/TEN_TASKS.md, done with the wheel in an empty environment: `make ten-tasks`.

Commands and code are those of the pages. For each task: seconds by the clock and of the processor, and the longest time
without a word on the terminal.
"""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from elsewhere import elsewhere

DOCS = Path(__file__).parents[1] / "docs"
EXTRAS = "[train,bench,web]"


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a page in one language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


class Terminal:
    """Runs commands as a person would see them, and notes how long it says nothing."""

    def __init__(self, folder: Path, world: dict[str, str]) -> None:
        self.folder, self.world = folder, world
        self.silence = 0.0

    def run(self, *words: str, seen: Callable[[str], bool] = lambda _: False) -> str:
        """What a command prints; when `seen` has seen enough of it, Ctrl-C is pressed."""
        print("$", *words, flush=True)
        master, slave = pty.openpty()
        process = subprocess.Popen(
            words, cwd=self.folder, env=self.world, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        said, heard = b"", time.monotonic()
        while True:
            ready = select.select([master], [], [], 0.1)[0]
            now = time.monotonic()
            try:
                chunk = os.read(master, 65536) if ready else b""
            except OSError:  # nobody is left who could write
                break
            if chunk:
                self.silence = max(self.silence, now - heard)
                said, heard = said + chunk, now
            if seen(said.decode(errors="replace")):
                process.send_signal(signal.SIGINT)
                seen = lambda _: False  # noqa: E731
            if chunk:
                continue
            if process.poll() is not None:
                break
        self.silence = max(self.silence, time.monotonic() - heard)
        os.close(master)
        text = said.decode(errors="replace")
        if process.wait() not in (0, 10, 20, -signal.SIGINT, 130):  # 10 and 20: a formula has a solution, or none
            raise SystemExit(f"{shlex.join(words)}: exit code {process.returncode}\n{text}")
        print("\n".join(text.replace("\r", "\n").splitlines()[-3:]), flush=True)
        return text


def visited(text: str) -> bool:
    """Whether the page is there, and all that it needs is compiled."""
    found = re.search(r"http://\S+", text)
    if found is None:
        return False
    address = found.group().rstrip("/")
    with urllib.request.urlopen(f"{address}/") as page:
        assert b"You choose" in page.read()
    with urllib.request.urlopen(f"{address}/api/about") as about:
        return bool(json.load(about)["ready"])


def main(folder: Path) -> None:
    [commands] = blocks("TEN_TASKS.md", "sh")
    every = [shlex.split(line, comments=True) for line in commands.splitlines() if line]

    def with_word(word: str) -> list[str]:
        """The one command of the page that has a word."""
        [found] = [words for words in every if word in words]
        return found

    with elsewhere(folder, EXTRAS) as (empty, world, wheel):
        terminal = Terminal(empty, world)

        def python(page: str, name: str, run: bool = True) -> None:
            (empty / name).write_text(blocks(page, "python")[0], encoding="utf-8")
            if run:
                terminal.run("python", name)

        def shell(*found: list[str]) -> None:
            for words in found:
                terminal.run(*words)

        def train() -> None:
            python("FIRST_GUIDE.md", "mymodule.py", run=False)
            shell(with_word("train"))

        tasks: dict[str, Callable[[], object]] = {
            "install": lambda: terminal.run("pip", "install", "--disable-pip-version-check", wheel),
            "solve": lambda: shell(every[0]),
            "read a grid as an array": lambda: python("FIRST_SOLVE.md", "solve.py"),
            "model a problem": lambda: python("FIRST_MODEL.md", "model.py"),
            "count": lambda: shell(with_word("--count")),
            "prove": lambda: shell(with_word("sat"), with_word("--proof")),
            "train a guide": train,
            "explain": lambda: shell(with_word("sudoku"), with_word("explain")),
            "reproduce a table": lambda: shell(with_word("bench")),
            "serve": lambda: terminal.run(*with_word("serve"), seen=visited),
        }
        rows = []
        for name, task in tasks.items():
            terminal.silence = 0.0
            begun, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            task()
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            rows.append(f"| {name} | {time.monotonic() - begun:.0f} | {cpu:.0f} | {terminal.silence:.1f} |")
            print(rows[-1], flush=True)
        print(f"\n{Path(wheel).name}, load {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores")
        print("| task | seconds | of the processor | longest silence |\n|---|---:|---:|---:|", *rows, sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
