"""Another operator's resource, taken apart field by field: what nobody took is left over, and is named."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any


class Taken:
    """What is left of an object. Fields are taken once; a path is keys with dots between them."""

    def __init__(self, source: Mapping[str, Any], path: str) -> None:
        self.path = path
        self._left: dict[str, Any] = copy.deepcopy(dict(source))

    def take(self, path: str) -> Any:
        """The value there, which is not left any more; None when there is none. Emptied objects go with it."""
        *parents, last = path.split(".")
        found = [self._left]
        for key in parents:
            inner = found[-1].get(key)
            if not isinstance(inner, dict):
                return None
            found.append(inner)
        value = found[-1].pop(last, None)
        for holder, key in zip(reversed(found[:-1]), reversed(parents), strict=True):
            if not holder[key]:
                del holder[key]
        return value

    def leave(self, path: str, value: Any) -> None:
        """Put back what has no place after all."""
        *parents, last = path.split(".")
        inner = self._left
        for key in parents:
            inner = inner.setdefault(key, {})
        inner[last] = value

    def left(self) -> Iterator[tuple[str, Any]]:
        """Paths of what nobody took, and what is there."""
        if self._left:
            yield from _leaves(self._left, self.path)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value
