"""The dice, given by the shell: a real random source in production, a seeded one in the simulator."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Chance:
    new_uuid: Callable[[], Uuid]
    below: Callable[[int], int]
    """A number in [0, n)."""
