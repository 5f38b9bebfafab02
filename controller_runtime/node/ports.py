"""What the shell and the simulator drive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent


class DrivenNode(Protocol):
    """A `node.Node`, of whatever parts."""

    def start(self, now: Instant, wall: WallClock) -> Sequence[NodeEffect]:
        """Called once, before any event."""
        ...

    def step(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> Sequence[NodeEffect]:
        """Take these events, in order, in one step. A `LogFlushed` comes first: it was read from the log as the steps
        before left it."""
        ...

    def next_deadline(self) -> Instant | None:
        """When `TimePassed` is wanted at the latest; None when only an event can change anything."""
        ...
