"""The transaction coordinator on this broker: it lives where a partition of `__transaction_state` is led.

When this broker comes to lead one, its log is read from the beginning, in pieces, and its transactional ids are served
from then on; when it leads it no more, they are dropped. What is decided is appended as a producer's batch is, and
counts when the high watermark has passed it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.effects import (
    AppendRecords,
    BrokerEffect,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    Stable,
    WorkId,
)
from controller_runtime.broker.leader import Appended, Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.coordinator.loading import Unreadable
from controller_runtime.coordinator.transactions import loading, upkeep
from controller_runtime.coordinator.transactions.coordinator import TransactionCoordinator
from controller_runtime.coordinator.transactions.partition import Effect, Effects, Say, TransactionPartition
from controller_runtime.coordinator.transactions.ports import TOPIC
from controller_runtime.coordinator.transactions.settings import TransactionSettings
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.pieces import InPieces, LongWork
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.values import dataclass

_OWN_READS: Final = -(1 << 40)
"""Reads of this coordinator have numbers below: those of clients are positive, those of groups little below zero."""


@dataclass(slots=True, eq=False)
class _Led:
    """A partition that is led here, and how far it is read."""

    key: PartitionId
    leader: Leader
    epoch: int
    partition: TransactionPartition
    next_offset: int
    is_reading: bool = False
    """Its bytes were asked for, or are being replayed."""


class StateLog:
    """Implements `coordinator.transactions.ports.StateTopic`."""

    def __init__(
        self,
        partitions: LocalPartitions,
        settings: TransactionSettings,
        next_producer_id: Callable[[], int | None],
        now: Instant,
    ) -> None:
        self._partitions = partitions
        self._settings = settings
        self.next_producer_id = next_producer_id
        self.coordinator: Final = TransactionCoordinator(settings, self)
        self._led: dict[PartitionId, _Led] = {}
        self._by_index: dict[int, _Led] = {}
        self._loading: set[PartitionId] = set()
        self._reads: dict[WorkId, _Led] = {}
        self._last_read = _OWN_READS
        self._works: deque[tuple[_Led, LongWork[Effect, int | None]]] = deque()
        self._written: set[PartitionId] = set()
        """Where the log has something that is not committed yet."""
        self._out: list[BrokerEffect] = []
        self._abort_at = Instant(now + settings.abort_interval_ms / 1000)
        self._forget_at = Instant(now + settings.expiration_interval_ms / 1000)

    # Implements StateTopic.

    @property
    def image(self) -> MetadataImage:
        return self._partitions.image

    def append(self, index: int, batch: bytes, wall: WallClock) -> int | ErrorCode:
        led = self._by_index.get(index)
        leader = None if led is None else self._partitions.led(led.key)
        if led is None or leader is None or leader is not led.leader or leader.epoch != led.epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self._partitions.has_too_few(leader):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        match leader.append(batch, self._partitions.rules(TOPIC), wall, from_client=False):
            case BatchRefusal() as refused:
                return refused.error
            case Appended(_, end_offset, data):
                self._out.append(AppendRecords(led.key, end_offset, data))
                self._written.add(led.key)
                return end_offset

    def put(self, effects: list[BrokerEffect]) -> None:
        """What came about inside, in its place among what is appended."""
        self._out += effects

    def taken(self) -> list[BrokerEffect]:
        """What was appended since this was asked last."""
        out, self._out = self._out, []
        return out

    # What happens to the partitions.

    def on_changed(self, key: PartitionId) -> Effects:
        """Perhaps it is led here now, or not any more, or in another epoch: then it is loaded anew."""
        led, leader = self._led.get(key), self._partitions.led(key)
        out: Effects = []
        if led is not None and (leader is not led.leader or leader.epoch != led.epoch):
            del self._led[key], self._by_index[key.index]
            self._loading.discard(key)
            self._written.discard(key)
            out += self.coordinator.resign(key.index)
            out.append(Say("info", f"{TOPIC}-{key.index} is coordinated anew, here or elsewhere"))
        if leader is not None and key not in self._led and leader.log.topic == TOPIC:
            partition = self.coordinator.lead(key.index, leader.epoch)
            led = self._led[key] = _Led(key, leader, leader.epoch, partition, leader.log.start_offset)
            self._by_index[key.index] = led
            self._loading.add(key)
        return out

    def owns(self, work_id: WorkId) -> bool:
        return work_id < _OWN_READS

    def on_read(self, event: RecordsRead) -> Effects:
        """Bytes of a log that is being loaded; they are replayed in pieces."""
        led = self._reads.pop(event.work_id, None)
        if led is None or self._led.get(led.key) is not led:
            return []
        data = event.data[0]
        assert not isinstance(data, Stable), "everything was asked for"
        if data is ErrorCode.OFFSET_OUT_OF_RANGE:  # Its beginning was deleted meanwhile.
            led.next_offset, led.is_reading = max(led.next_offset, led.leader.log.start_offset), False
            return []
        if isinstance(data, ErrorCode) or not data:
            why = data.name if isinstance(data, ErrorCode) else f"there is nothing at offset {led.next_offset}"
            return self._give_up(led, why)
        self._works.append((led, LongWork(loading.replay(led.partition, data, led.next_offset))))
        return []

    def _give_up(self, led: _Led, why: str) -> Effects:
        self._loading.discard(led.key)
        led.partition.fault = why
        what = f"mend {TOPIC}-{led.key.index} or delete its records"
        return [Say("error", f"{what}: its transactions are not served: {why}")]

    # Time.

    @property
    def has_more_to_do(self) -> bool:
        return bool(self._works)

    def next_deadline(self) -> Instant | None:
        waits = [self._led[key].partition.next_deadline() for key in self._written]
        due = [self._abort_at, self._forget_at] if self._led else []
        return min((at for at in [*waits, *due] if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        """After every event."""
        out: Effects = []
        if self._works:
            out += self._go_on()
        for key in list(self._loading):
            out += self._load(self._led[key], wall)
        for key in list(self._written):
            out += self._committed(self._led[key], now, wall)
        if now >= self._abort_at:
            self._abort_at = Instant(now + self._settings.abort_interval_ms / 1000)
            self._begin(lambda partition: upkeep.abort_late(self.coordinator, partition, now, wall))
        if now >= self._forget_at:
            self._forget_at = Instant(now + self._settings.expiration_interval_ms / 1000)
            self._begin(lambda partition: upkeep.forget_old(partition, now, wall))
        return out

    def _committed(self, led: _Led, now: Instant, wall: WallClock) -> Effects:
        out = led.partition.committed_to(led.leader.log.high_watermark, wall)
        out += led.partition.give_up(now)
        if not led.partition.waits:
            self._written.discard(led.key)
        return out

    def _load(self, led: _Led, wall: WallClock) -> Effects:
        """Ask for the next bytes, or begin."""
        log = led.leader.log
        if led.is_reading:
            return []
        if led.next_offset >= log.end_offset:
            self._loading.discard(led.key)
            begun = led.partition.begin(wall)
            return [*begun, Say("info", f"coordinates {TOPIC}-{led.key.index}: {len(led.partition.known)} ids")]
        if led.next_offset >= log.written_offset:
            return []  # The rest is on its way to the disk.
        led.is_reading = True
        self._last_read -= 1
        work_id = WorkId(self._last_read)
        self._reads[work_id] = led
        most = self._settings.load_buffer_bytes
        read = ReadRecords(work_id, (ReadSlice(led.key, led.next_offset, most, log.written_offset),), most)
        self._out.append(read)
        return []

    def _go_on(self) -> Effects:
        """The next piece of what takes long."""
        led, work = self._works[0]
        if led.partition.has_resigned:
            self._works.popleft()
            return []
        out: Effects = []
        try:
            work.go_on(out)
        except (Unreadable, ProtocolError) as error:
            self._works.popleft()
            return self._give_up(led, str(error))
        if work.is_over:
            self._works.popleft()
            reached = work.results[0]
            if reached is not None:
                led.next_offset, led.is_reading = reached, False
        else:
            self._works.rotate(-1)
        return out

    def _begin(self, work: Callable[[TransactionPartition], InPieces[Effect, None]]) -> None:
        for led in self._led.values():
            if led.partition.is_loaded:
                self._works.append((led, LongWork(work(led.partition))))
