"""What a node is made of.

A part hears the events that are meant for it, does at the end of a step what goes on by itself, and says when it wants
to be asked again. Parts share no state but what one of them publishes as a value (the replica of the metadata log: its
image and who leads), so a role is a part more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent


class Part(Protocol):
    NAME: ClassVar[str]
    """Its calls carry it."""
    HEARS: ClassVar[frozenset[type]]
    """The kinds of events that are for it and for no other part. Requests, answers to calls and the request to shut
    down find their way otherwise (see `node`).
    """

    def on_event(self, event: NodeEvent, now: Instant, wall: WallClock) -> Sequence[NodeEffect]: ...

    def poll(self, now: Instant, wall: WallClock) -> Sequence[NodeEffect]:
        """At the end of a step, after the parts before it."""
        ...

    def next_deadline(self) -> Instant | None:
        """When it wants to be polled at the latest; None when only an event can change anything."""
        ...

    @property
    def has_left(self) -> bool:
        """After `ShutdownRequested`: it needs the parts before it no more."""
        ...
