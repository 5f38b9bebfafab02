"""A coordinator that is made when it is first needed: when this broker comes to lead a partition of its topic, or when
the first of its requests comes. A broker that coordinates nothing has not imported how it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from controller_runtime.broker.cluster_view import View
from controller_runtime.broker.effects import RecordsRead, WorkId
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Effects, Handler
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.api_keys import ApiKey


class Coordinating(Protocol):
    """What the rest of a broker uses of one, beside its requests."""

    @property
    def has_more_to_do(self) -> bool: ...
    def next_deadline(self) -> Instant | None: ...
    def poll(self, now: Instant, wall: WallClock) -> Effects: ...
    def on_changed(self, key: PartitionId, now: Instant, wall: WallClock) -> Effects: ...
    def owns(self, work_id: WorkId) -> bool: ...
    def on_read(self, event: RecordsRead) -> Effects: ...


class Coordinator(Coordinating, Protocol):
    def handlers(self, view: Callable[[RequestReceived], View]) -> Mapping[int, Handler]: ...


Made = TypeVar("Made", bound=Coordinating)


class Late(Generic[Made]):
    """Implements `Coordinating`."""

    def __init__(self, topic: str, partitions: LocalPartitions, make: Callable[[Instant], Made]) -> None:
        """`make`: it begins at this time."""
        self._topic = topic
        self._partitions = partitions
        self._make = make
        self._made: Made | None = None

    def needed(self, now: Instant) -> Made:
        """It is made if it is not there."""
        if self._made is None:
            self._made = self._make(now)
        return self._made

    @property
    def has_more_to_do(self) -> bool:
        return self._made is not None and self._made.has_more_to_do

    def next_deadline(self) -> Instant | None:
        return None if self._made is None else self._made.next_deadline()

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        return [] if self._made is None else self._made.poll(now, wall)

    def on_changed(self, key: PartitionId, now: Instant, wall: WallClock) -> Effects:
        if self._made is None:
            led = self._partitions.led(key)
            if led is None or led.log.topic != self._topic:
                return []
        return self.needed(now).on_changed(key, now, wall)

    def owns(self, work_id: WorkId) -> bool:
        return self._made is not None and self._made.owns(work_id)

    def on_read(self, event: RecordsRead) -> Effects:
        assert self._made is not None, "it has asked for what was read"
        return self._made.on_read(event)


class LateCoordinator(Late[Coordinator]):
    """Implements `Coordinator`."""

    def __init__(
        self, topic: str, keys: Sequence[ApiKey], partitions: LocalPartitions, make: Callable[[Instant], Coordinator]
    ) -> None:
        """`keys`: of the requests that it answers."""
        super().__init__(topic, partitions, make)
        self._keys = keys
        self._by_key: Mapping[int, Handler] = {}

    def handlers(self, view: Callable[[RequestReceived], View]) -> Mapping[int, Handler]:
        return {key: partial(self._serve, view) for key in self._keys}

    def _serve(
        self,
        view: Callable[[RequestReceived], View],
        event: RequestReceived,
        request: Any,
        now: Instant,
        wall: WallClock,
    ) -> Effects:
        if not self._by_key:
            self._by_key = self.needed(now).handlers(view)
        return self._by_key[event.api_key](event, request, now, wall)
