"""Ray as far as dibs uses it, without processes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class FakeTaskError(Exception):
    def __init__(self, cause: Exception) -> None:
        super().__init__(f"many\nlines\n{cause}")
        self.cause = cause


class FakeRay:
    """As much of Ray as is used, in this process; it remembers what it was told."""

    exceptions = SimpleNamespace(RayTaskError=FakeTaskError, RayError=LookupError)

    def __init__(self, **resources: float) -> None:
        self.resources = resources
        self.told: dict[str, Any] = {}
        self.queue: list[Any] = []
        self.most = self.ended = 0

    def init(self, **settings: Any) -> None:
        self.told["init"] = settings

    def shutdown(self) -> None:
        self.ended += 1

    def cluster_resources(self) -> dict[str, float]:
        return dict(self.resources)

    def put(self, what: Any) -> Any:
        return what

    def remote(self, **options: Any) -> Any:
        self.told["remote"] = options

        def decorated(function: Any) -> Any:
            def submit(*arguments: Any) -> Any:
                handle = object()
                self.queue.append((handle, function, arguments))
                self.most = max(self.most, len(self.queue))
                return handle

            return SimpleNamespace(remote=submit)

        return decorated

    def wait(self, handles: list[Any], num_returns: int, timeout: float | None = None) -> tuple[list[Any], list[Any]]:
        return handles[-num_returns:], handles[:-num_returns]

    def get(self, handle: Any) -> Any:
        at = next(i for i, (one, _, _) in enumerate(self.queue) if one is handle)
        _, function, arguments = self.queue.pop(at)
        try:
            return function(*arguments)
        except ValueError as error:
            raise FakeTaskError(error) from None
