"""What a user names as `module:name`."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from dibs.errors import InputError
from dibs.wording import one_line

NAME = re.compile(r"\w+(\.\w+)*:\w+", re.ASCII)


def by_name(name: str, what: str = "function") -> Any:
    """What it is, from a module that Python or the current folder has; InputError in a line if there is none."""
    if not NAME.fullmatch(name):
        raise InputError(f"is no name: write module:{what}", name)
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"cannot be imported: {one_line(error)}; write module:{what}", name) from None
    finally:
        sys.path.remove(here)
    if hasattr(found, attribute):
        return getattr(found, attribute)
    hint = f"; a {what} of a script or a notebook is to be put into a module" if module == "__main__" else ""
    raise InputError(f"the module {module} has no {attribute!r}{hint}", name)
