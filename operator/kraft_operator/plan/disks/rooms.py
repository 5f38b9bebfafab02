"""Which of a broker's directories takes which replica of those that some of them are emptied of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kraft_operator.directories import Directories, Replica

SPARE: Final = 1.1
"""A replica goes on growing while it is copied, and a full disk is a broker's end."""
SHOWN: Final = 1e9


@dataclass(frozen=True, slots=True)
class NoPlace:
    text: str


def placed(seen: Directories, leaving: Sequence[str], at_once: int) -> Mapping[Replica, str] | NoPlace:
    """The next replicas to be moved, each to where most is free; or why they cannot all be moved. One directory is
    emptied after the other. What is on the move already is asked for no more, and its bytes are counted.
    """
    free = {each.path: float(each.usable) for each in seen.each if each.path not in leaving and not each.broken}
    coming = {key: each.path for each in seen.each if each.path in free for key in each.coming}
    held = {key: size for each in seen.each if each.path in leaving for key, size in each.replicas.items()}
    if not held:
        return {}
    if silent := sorted(path for path, usable in free.items() if usable < 0):
        return NoPlace(f"it does not say how much is free in {', '.join(silent)}")
    if not free:
        return NoPlace("it has no other one that it can use")
    for key, path in coming.items():
        free[path] -= held.get(key, 0) * SPARE
    found: dict[Replica, str] = {}
    for key, size in sorted(held.items(), key=lambda each: (-each[1], each[0])):
        if key in coming:
            continue
        path = max(sorted(free), key=lambda each: free[each])
        if free[path] < size * SPARE:
            return NoPlace(
                f"{key[0]}-{key[1]} has {_shown(size)}, and {_shown(max(0.0, free[path]))} is left in {path}"
            )
        free[path] -= size * SPARE
        found[key] = path
    first = next(each for each in map(seen.at, leaving) if each is not None and each.replicas)
    room = max(0, at_once - sum(key in held for key in coming))
    return dict([(key, path) for key, path in sorted(found.items()) if key in first.replicas][:room])


def _shown(size: float) -> str:
    return f"{size / SHOWN:.2g} GB"
