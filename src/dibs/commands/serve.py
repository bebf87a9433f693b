"""`dibs serve`: the playground, a page on this machine."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from dibs.errors import Refused

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    *,
    port: Annotated[int, Parameter(help="where the page is; 0: any port that is free")] = 8000,
    host: Annotated[str, Parameter(help="the address to listen at; the default is reached from this machine only")] = (
        "127.0.0.1"
    ),
) -> int:
    """Open the playground: a local page that shows search trees grow.

    Type or pick a puzzle, look at what a guide believes about it, and let two
    searches race. The page fetches nothing from outside; every search is
    bounded and ends when the page is closed. Ctrl-C stops the server.

    For example:
      dibs serve
      dibs serve --port 0
    """
    if not 0 <= port <= 65535:
        raise Refused(f"dibs: port = {port}: it must be a whole number from 0 to 65535")
    try:
        from dibs.web.server import address, listen
        from dibs.web.server import serve as run
    except ImportError as error:
        if (error.name or "").startswith("dibs"):
            raise
        raise Refused("dibs: the playground needs fastapi and uvicorn: pip install 'dibs[web]'") from None
    bound = listen(host, port)
    if host not in LOOPBACK:
        words = f"everybody who can reach {host} can use this page; leave --host out to keep it on this machine"
        print(f"dibs: {words}", file=sys.stderr)
    with bound:
        run(bound, host, lambda: print(f"{address(bound)} (Ctrl-C stops it)", flush=True))
    return 0
