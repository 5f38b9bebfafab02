"""The transaction coordinator on this broker: it lives where a partition of `__transaction_state` is led.

When this broker comes to lead one, its log is read from the beginning, in pieces, and its transactional ids are served
from then on; when it leads it no more, they are dropped. What is decided is appended as a producer's batch is, and
counts when the high watermark has passed it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.broker.coordinator_log import CoordinatorLog
from controller_runtime.broker.effects import RecordsRead
from controller_runtime.broker.led_logs import GivenUp, Led
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.coordinator.transactions import loading, upkeep
from controller_runtime.coordinator.transactions.coordinator import TransactionCoordinator
from controller_runtime.coordinator.transactions.partition import Effects, Say, TransactionPartition
from controller_runtime.coordinator.transactions.ports import TOPIC
from controller_runtime.coordinator.transactions.settings import TransactionSettings
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.api_keys import ApiKey

_OWN_READS: Final = -(1 << 40)
"""Reads of this coordinator have numbers below: those of clients are positive, those of groups little below zero."""


class StateLog(CoordinatorLog[TransactionPartition]):
    """Implements `coordinator.transactions.ports.StateTopic`."""

    def __init__(
        self,
        partitions: LocalPartitions,
        settings: TransactionSettings,
        next_producer_id: Callable[[], int | None],
        faults: FailedRequests,
        now: Instant,
    ) -> None:
        super().__init__(partitions, TOPIC, _OWN_READS, settings.load_buffer_bytes, loading.replay)
        self._settings = settings
        self.next_producer_id = next_producer_id
        self.coordinator: Final = TransactionCoordinator(settings, self)
        self._faults = faults
        self._abort_at = Instant(now + settings.abort_interval_ms / 1000)
        self._forget_at = Instant(now + settings.expiration_interval_ms / 1000)

    # What happens to the partitions.

    def on_changed(self, key: PartitionId) -> Effects:
        """Perhaps it is led here now, or not any more, or in another epoch: then it is loaded anew."""
        out: Effects = []
        if self._has_left(key):
            out += self.coordinator.resign(key.index)
            out.append(Say("info", f"{TOPIC}-{key.index} is coordinated anew, here or elsewhere"))
        if (leader := self._to_lead(key)) is not None:
            self._logs.lead(key, leader, self.coordinator.lead(key.index, leader.epoch))
        return out

    def on_read(self, event: RecordsRead) -> Effects:
        return self._given_up(self._logs.on_read(event))

    def _given_up(self, found: GivenUp[TransactionPartition] | None) -> Effects:
        if found is None:
            return []
        if found.error is not None:
            self._out.append(self._faults.count(ApiKey.END_TXN, "replayed", found.error))
        return [Say("error", self._mended_how(found, "transactions"))]

    # Time.

    def next_deadline(self) -> Instant | None:
        waits = [led.partition.next_deadline() for led in self._logs.are_written()]
        due = [self._abort_at, self._forget_at] if self._logs.by_key else []
        return min((at for at in [*waits, *due] if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        """After every event."""
        out: Effects = []
        out += self._given_up(self._logs.go_on(out))
        for led in self._logs.are_loading():
            out += self._load(led, wall)
        for led in self._logs.are_written():
            out += self._committed(led, now, wall)
        if now >= self._abort_at:
            self._abort_at = Instant(now + self._settings.abort_interval_ms / 1000)
            self._logs.begin_everywhere(lambda partition: upkeep.abort_late(self.coordinator, partition, now, wall))
        if now >= self._forget_at:
            self._forget_at = Instant(now + self._settings.expiration_interval_ms / 1000)
            self._logs.begin_everywhere(lambda partition: upkeep.forget_old(partition, now, wall))
        return out

    def _committed(self, led: Led[TransactionPartition], now: Instant, wall: WallClock) -> Effects:
        out = led.partition.committed_to(led.leader.log.high_watermark, wall)
        out += led.partition.give_up(now)
        if not led.partition.waits:
            self._logs.written.discard(led.key)
        return out

    def _load(self, led: Led[TransactionPartition], wall: WallClock) -> Effects:
        """Ask for the next bytes, or begin."""
        if not self._is_read(led):
            return []
        begun = led.partition.begin(wall)
        return [*begun, Say("info", f"coordinates {TOPIC}-{led.key.index}: {len(led.partition.known)} ids")]
