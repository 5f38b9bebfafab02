"""The logs of a coordinator's partitions that are led here: each is read from the beginning, in pieces, before what it
says is served. What groups and transactions do with it is theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

from controller_runtime.broker.effects import ReadRecords, ReadSlice, RecordsRead, Stable, WorkId
from controller_runtime.broker.leader import Leader
from controller_runtime.coordinator.loading import Unreadable
from controller_runtime.identifiers import PartitionId
from controller_runtime.parts.pieces import InPieces, LongWork
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.values import dataclass


class Loadable(Protocol):
    """What a coordinator knows of a partition."""

    fault: str
    """Why it is not served."""
    is_loaded: bool
    has_resigned: bool


Part = TypeVar("Part", bound=Loadable)
Replay = Callable[[Part, bytes, int], InPieces[Any, int]]
"""Of these bytes, from this offset on; where they end. Raises Unreadable, and ProtocolError."""


@dataclass(slots=True, eq=False)
class Led(Generic[Part]):
    """A partition that is led here, and how far it is read."""

    key: PartitionId
    leader: Leader
    epoch: int
    partition: Part
    next_offset: int
    is_reading: bool = False
    """Its bytes were asked for, or are being replayed."""


@dataclass(frozen=True, slots=True)
class GivenUp(Generic[Part]):
    """A partition that is not served until somebody mends it."""

    led: Led[Part]
    why: str
    error: Exception | None = None
    """A fault of ours."""


class LedLogs(Generic[Part]):
    def __init__(self, last_read: int, buffer_bytes: int, replay: Replay[Part]) -> None:
        """`last_read`: reads have numbers below it; those of clients are positive."""
        self._last_read = last_read
        self._buffer_bytes = buffer_bytes
        self._replay = replay
        self.by_key: Final[dict[PartitionId, Led[Part]]] = {}
        self.by_index: Final[dict[int, Led[Part]]] = {}
        self.written: Final[set[PartitionId]] = set()
        """Where the log has something that is not committed yet."""
        self._loading: set[PartitionId] = set()
        self._reads: dict[WorkId, Led[Part]] = {}
        self._works: deque[tuple[Led[Part], LongWork[Any, int | None]]] = deque()

    def lead(self, key: PartitionId, leader: Leader, partition: Part) -> None:
        led = Led(key, leader, leader.epoch, partition, leader.log.start_offset)
        self.by_key[key] = self.by_index[key.index] = led
        self._loading.add(key)

    def resign(self, key: PartitionId) -> None:
        del self.by_key[key], self.by_index[key.index]
        self._loading.discard(key)
        self.written.discard(key)

    def are_written(self) -> list[Led[Part]]:
        """Those with something that is not committed yet."""
        return [self.by_key[key] for key in self.written]

    def are_loading(self) -> list[Led[Part]]:
        return [self.by_key[key] for key in self._loading]

    def load(self, led: Led[Part]) -> ReadRecords | bool:
        """Ask for its next bytes. True: it is read to its end, and is loading no more. False: its next bytes are on
        their way, from the disk or to it.
        """
        log = led.leader.log
        if led.is_reading:
            return False
        if led.next_offset >= log.end_offset:
            self._loading.discard(led.key)
            return True
        if led.next_offset >= log.written_offset:
            return False
        led.is_reading = True
        self._last_read -= 1
        work_id = WorkId(self._last_read)
        self._reads[work_id] = led
        most = self._buffer_bytes
        return ReadRecords(work_id, (ReadSlice(led.key, led.next_offset, most, log.written_offset),), most)

    def on_read(self, event: RecordsRead) -> GivenUp[Part] | None:
        """Bytes of a log that is being loaded; they are replayed in pieces."""
        led = self._reads.pop(event.work_id, None)
        if led is None or self.by_key.get(led.key) is not led:
            return None
        data = event.data[0]
        assert not isinstance(data, Stable), "everything was asked for"
        if data is ErrorCode.OFFSET_OUT_OF_RANGE:  # Its beginning was deleted meanwhile.
            led.next_offset, led.is_reading = max(led.next_offset, led.leader.log.start_offset), False
            return None
        if isinstance(data, ErrorCode) or not data:
            why = data.name if isinstance(data, ErrorCode) else f"there is nothing at offset {led.next_offset}"
            return self._give_up(led, why)
        self._works.append((led, LongWork(self._replay(led.partition, data, led.next_offset))))
        return None

    def _give_up(self, led: Led[Part], why: str, error: Exception | None = None) -> GivenUp[Part]:
        self._loading.discard(led.key)
        led.partition.fault = why
        return GivenUp(led, why, error)

    # What takes long.

    @property
    def has_more_to_do(self) -> bool:
        return bool(self._works)

    def begin(self, led: Led[Part], work: InPieces[Any, None]) -> None:
        self._works.append((led, LongWork(work)))

    def begin_everywhere(self, work: Callable[[Part], InPieces[Any, None]]) -> None:
        for led in self.by_key.values():
            if led.partition.is_loaded:
                self.begin(led, work(led.partition))

    def go_on(self, out: list[Any]) -> GivenUp[Part] | None:
        """The next piece. Who fails is given up, and costs nobody else anything."""
        if not self._works:
            return None
        led, work = self._works[0]
        if led.partition.has_resigned:
            self._works.popleft()
            return None
        try:
            work.go_on(out)
        except (Unreadable, ProtocolError) as error:
            self._works.popleft()
            return self._give_up(led, str(error))
        except Exception as error:
            self._works.popleft()
            return self._give_up(led, str(error), error)
        if work.is_over:
            self._works.popleft()
            reached = work.results[0]
            if reached is not None:
                led.next_offset, led.is_reading = reached, False
        else:
            self._works.rotate(-1)
        return None
