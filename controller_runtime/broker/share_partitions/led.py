"""The share partitions of this broker: those of partitions that it leads, one for each group that wants one.

The first who wants one waits until its state is read. It is dropped when the partition is led elsewhere, or in another
epoch; when its coordinator says that somebody else has it, or nobody; and with the last member of its group.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Final

from controller_runtime.broker.effects import BrokerEffect, FindTimestamp, TimestampFound, WorkId
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.share_partitions.persister import Kept, Persister
from controller_runtime.coordinator.share_partitions import acknowledging
from controller_runtime.coordinator.share_partitions.partition import Change, SharePartition
from controller_runtime.coordinator.share_partitions.settings import (
    EARLIEST,
    LATEST,
    Limits,
    ShareSettings,
    duration_ms,
    limits_of,
)
from controller_runtime.coordinator.share_state.combining import StateBatch
from controller_runtime.coordinator.share_state.values import UNKNOWN_OFFSET, ShareKey
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.metadata.configs import GROUP
from controller_runtime.parts.effects import Log
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import write_share_group_state_request as writes
from controller_runtime.values import dataclass

OWN_WORK: Final = -(1 << 43)
"""Reads and look-ups of share partitions have numbers below: those of coordinators are nearer to zero."""
_FENCED: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
_REMEMBERED: Final = 256
Ended = Callable[[Kept], None]


@dataclass(slots=True, eq=False)
class Led:
    key: ShareKey
    leader: Leader
    epoch: int
    partition: SharePartition
    began: Instant
    """When its state was asked for."""
    is_active: bool = False
    """Its state was read."""
    is_being_read: bool = False
    """Somebody reads its records, to acquire them: nobody else does meanwhile."""
    is_wanted: bool = False
    """Somebody else would have read them."""
    ended: ErrorCode | None = None
    """It is dropped; what who waits is told."""
    timer: Instant | None = None
    """When it is looked at by itself."""

    @property
    def is_ready(self) -> bool:
        return self.ended is None and self.is_active and not self.is_being_read


class LedShares:
    def __init__(
        self, partitions: LocalPartitions, settings: ShareSettings, persister: Persister, wake: Callable[[Led], None]
    ) -> None:
        """`wake`: who waits for it looks again."""
        self._partitions, self._settings, self._persister, self._wake = partitions, settings, persister, wake
        self.by_key: dict[ShareKey, Led] = {}
        self._by_partition: dict[PartitionId, dict[ShareKey, Led]] = {}
        self._by_group: dict[str, dict[ShareKey, Led]] = {}
        self._timers: list[tuple[Instant, int, Led]] = []
        self._number = 0
        self._lookups: dict[WorkId, tuple[Led, Kept]] = {}
        self._searches: list[tuple[Led, Kept, int]] = []
        self.said: list[BrokerEffect] = []
        self.loads = 0
        self.last_loads_s: deque[float] = deque(maxlen=_REMEMBERED)

    def limits(self, group_id: str) -> Limits:
        return limits_of(self._partitions.image.configs.of(GROUP, group_id), self._settings)

    def next_work(self) -> WorkId:
        self._number += 1
        return WorkId(OWN_WORK - self._number)

    # Coming and going.

    def wanted(self, key: ShareKey, topic: str) -> Led | ErrorCode:
        """It is begun if it is not there; why it cannot be."""
        led = self.by_key.get(key)
        if led is not None:
            return led
        found = self._partitions.find(topic, key.topic_id, key.partition)
        if isinstance(found, ErrorCode):
            return found
        led = Led(key, found, found.epoch, SharePartition(self.limits(key.group_id)), self._partitions.now)
        self.by_key[key] = led
        self._by_partition.setdefault(found.log.key, {})[key] = led
        self._by_group.setdefault(key.group_id, {})[key] = led
        self._persister.read(key, found.epoch, lambda kept: self._read(led, kept))
        return led

    def drop(self, led: Led, why: ErrorCode) -> None:
        if led.ended is not None:
            return
        led.ended = why
        if not led.is_active:
            self._loaded(led)
        del self.by_key[led.key]
        for index, place in ((self._by_partition, led.leader.log.key), (self._by_group, led.key.group_id)):
            of_place = index[place]  # type: ignore[index]
            del of_place[led.key]
            if not of_place:
                del index[place]  # type: ignore[arg-type]
        self._wake(led)

    def on_changed(self, key: PartitionId) -> None:
        """Who leads it, or in which epoch, may not be what it was."""
        leader = self._partitions.led(key)
        for led in list(self._by_partition.get(key, {}).values()):
            if leader is not led.leader or leader.epoch != led.epoch:
                self.drop(led, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def drop_group(self, group_id: str) -> None:
        self.drop_all(list(self._by_group.get(group_id, {}).values()))

    def drop_all(self, some: Iterable[Led] | None = None) -> None:
        for led in list(self.by_key.values()) if some is None else some:
            self.drop(led, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    # Its state, when it begins.

    def _read(self, led: Led, kept: Kept) -> None:
        if led.ended is not None:
            return
        if kept.error != ErrorCode.NONE:
            self.drop(led, kept.error)
        elif kept.state.start_offset == UNKNOWN_OFFSET:
            self._search(led, kept)
        else:
            self._begin(led, kept, kept.state.start_offset)

    def _search(self, led: Led, kept: Kept) -> None:
        """Nobody has said where the group begins."""
        log, begins = led.leader.log, self.limits(led.key.group_id).begins
        if begins == EARLIEST:
            self._begin(led, kept, log.start_offset)
        elif begins == LATEST:
            self._begin(led, kept, log.high_watermark)
        else:
            self._searches.append((led, kept, duration_ms(begins)))

    def _begin(self, led: Led, kept: Kept, start: int) -> None:
        batches = [
            StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in kept.state.state_batches
        ]
        if fault := led.partition.begin(start, kept.state.state_epoch, batches):
            what = f"delete or reset the offsets of share group {led.key.group_id!r}"
            where = f"{led.leader.log.topic}-{led.key.partition}"
            self.said.append(Log("error", f"{what}: the state of {where} cannot be: {fault}"))
            self.drop(led, ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        led.is_active = True
        self._loaded(led)
        self._wake(led)

    def _loaded(self, led: Led) -> None:
        self.loads += 1
        self.last_loads_s.append(self._partitions.now - led.began)

    def on_found(self, event: TimestampFound) -> None:
        led, kept = self._lookups.pop(event.work_id)
        if led.ended is not None:
            return
        if not 0 <= event.offset < led.leader.log.high_watermark:
            self.drop(led, ErrorCode.OFFSET_NOT_AVAILABLE)
        else:
            self._begin(led, kept, event.offset)

    # What changes.

    def keep(self, led: Led, changes: Sequence[Change], ended: Ended) -> None:
        """They count when they are kept; if they are not, they never were."""

        def settle(kept: Kept) -> None:
            is_kept = kept.error == ErrorCode.NONE
            self.fresh(led).settle(changes, is_kept=is_kept)
            self._settled(led, kept)
            ended(kept)

        self._write(led, [each.batch for each in changes], settle)

    def _write(self, led: Led, batches: list[StateBatch], then: Ended) -> None:
        partition = led.partition
        said = tuple(
            writes.StateBatch(
                first_offset=each.first, last_offset=each.last, delivery_state=each.state, delivery_count=each.count
            )
            for each in batches
        )

        def data() -> writes.PartitionData:
            return writes.PartitionData(
                partition=led.key.partition,
                state_epoch=partition.state_epoch,
                leader_epoch=led.epoch,
                start_offset=partition.start,
                delivery_complete_count=partition.complete_count,
                state_batches=said,
            )

        self._persister.write(led.key, data, then)

    def _settled(self, led: Led, kept: Kept) -> None:
        if kept.error in _FENCED:
            self.drop(led, kept.error)
        elif led.ended is None:
            self.watch(led)
            self._wake(led)

    def fresh(self, led: Led) -> SharePartition:
        """With what its group's configuration says now."""
        led.partition.limits = self.limits(led.key.group_id)
        return led.partition

    def release(self, led: Led, member: str) -> None:
        if changes := acknowledging.release(self.fresh(led), member):
            self.keep(led, changes, lambda _: None)

    # Time.

    def watch(self, led: Led) -> None:
        """Its locks may end earlier than it is looked at."""
        deadline = led.partition.locks.next_deadline()
        if deadline is not None and (led.timer is None or deadline < led.timer):
            self._number += 1
            led.timer = deadline
            heappush(self._timers, (deadline, self._number, led))

    def next_deadline(self) -> Instant | None:
        return self._timers[0][0] if self._timers else None

    def poll(self, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        while self._timers and self._timers[0][0] <= now:
            at, _, led = heappop(self._timers)
            if led.timer == at:
                led.timer = None
            if led.ended is None:
                self._expire(led, now)
        out, self.said = self.said, []
        searches, self._searches = self._searches, []
        for led, kept, ago_ms in searches:
            work_id = self.next_work()
            self._lookups[work_id] = led, kept
            out.append(FindTimestamp(work_id, led.leader.log.key, max(0, wall - ago_ms)))
        return out

    def _expire(self, led: Led, now: Instant) -> None:
        batches = acknowledging.expire(self.fresh(led), now)
        self.watch(led)
        if not batches:
            return

        def settle(kept: Kept) -> None:
            led.partition.advance()
            self._settled(led, kept)

        self._write(led, batches, settle)
        self._wake(led)
