"""Where figures come from: which code, which guides, which machine."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.resources import files
from pathlib import Path

from dibs import __version__

DECIDING = ("problem", "search", "guide")  # the folders whose code decides what a search counts


@cache
def version() -> str:
    """`0.1.0+1a2b3c4d`: the release, and a hash of the code that decides what a search counts."""
    package = Path(str(files("dibs")))
    found = hashlib.sha256()
    for folder in DECIDING:
        for path in sorted((package / folder).rglob("*.py")):
            found.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return f"{__version__}+{found.hexdigest()[:8]}"


@cache
def machine() -> str:
    """`x86_64, Example CPU, 2 cores, Python 3.11.4`."""
    try:
        info = Path("/proc/cpuinfo").read_text()
        model = next(line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.system()
    cores = os.cpu_count() or 1
    return f"{platform.machine()}, {model}, {cores} core{'s' * (cores > 1)}, Python {platform.python_version()}"
