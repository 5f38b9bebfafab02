"""The share coordinator on this broker: it lives where a partition of `__share_group_state` is led.

When this broker comes to lead one, its log is read from the beginning, in pieces, and its states are served from then
on; when it leads it no more, they are dropped. The topic is not compacted: what no state needs is cut off in front.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.coordinator_log import CoordinatorLog
from controller_runtime.broker.effects import (
    DeleteBefore,
    RecordsRead,
)
from controller_runtime.broker.led_logs import GivenUp, Led
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.coordinator.share_state import loading, upkeep
from controller_runtime.coordinator.share_state.coordinator import ShareCoordinator
from controller_runtime.coordinator.share_state.partition import Effects, Say, SharePartition
from controller_runtime.coordinator.share_state.ports import TOPIC
from controller_runtime.coordinator.share_state.settings import ShareStateSettings
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.api_keys import ApiKey

_FEATURE: Final = "share.version"
_OWN_READS: Final = -(1 << 41)
"""Reads of this coordinator have numbers below: those of groups and transactions are nearer to zero."""


class ShareStateLog(CoordinatorLog[SharePartition]):
    """Implements `coordinator.share_state.ports.ShareStateTopic`."""

    def __init__(
        self, partitions: LocalPartitions, settings: ShareStateSettings, faults: FailedRequests, now: Instant
    ) -> None:
        super().__init__(partitions, TOPIC, _OWN_READS, settings.load_buffer_bytes, loading.replay)
        self._settings = settings
        self.coordinator: Final = ShareCoordinator(settings, self)
        self._faults = faults
        self._topics_seen = MetadataImage.empty().topics
        self._prune_at = Instant(now + settings.prune_interval_ms / 1000)
        self._cold_at = Instant(now + settings.cold_interval_ms / 1000)

    def begin_at(self, index: int, offset: int) -> None:
        """Cut off what lies before, if it is still led here."""
        led = self._logs.by_index.get(index)
        leader = None if led is None else self._led_still(led)
        if leader is None:
            return
        log = leader.log
        if log.start_offset < offset <= min(log.high_watermark, log.written_offset):
            log.begin_at(offset)
            self._out.append(DeleteBefore(log.key, offset))

    # What happens to the partitions.

    def on_changed(self, key: PartitionId) -> Effects:
        """Perhaps it is led here now, or not any more, or in another epoch: then it is loaded anew."""
        out: Effects = []
        if self._has_left(key):
            out += self.coordinator.resign(key.index)
            out.append(Say("info", f"{TOPIC}-{key.index} is coordinated anew, here or elsewhere"))
        if (leader := self._to_lead(key)) is not None:
            self._logs.lead(key, leader, self.coordinator.lead(key.index))
        return out

    def on_read(self, event: RecordsRead) -> Effects:
        return self._given_up(self._logs.on_read(event))

    def _given_up(self, found: GivenUp[SharePartition] | None) -> Effects:
        if found is None:
            return []
        if found.error is not None:
            self._out.append(self._faults.count(ApiKey.WRITE_SHARE_GROUP_STATE, "replayed", found.error))
        return [Say("error", self._mended_how(found, "share groups"))]

    # Time.

    def next_deadline(self) -> Instant | None:
        waits = [led.partition.next_deadline() for led in self._logs.are_written()]
        due = [self._prune_at, self._cold_at] if self._logs.by_key else []
        return min((at for at in [*waits, *due] if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        """After every event."""
        out: Effects = []
        out += self._given_up(self._logs.go_on(out))
        for led in self._logs.are_loading():
            out += self._load(led)
        for led in self._logs.are_written():
            out += self._committed(led, now)
        self._keep_up(now, wall)
        if self.image.topics is not self._topics_seen:
            self._see_topics(wall)
        return out

    def _keep_up(self, now: Instant, wall: WallClock) -> None:
        """Where the cluster has share groups: states are served in any case, as by Kafka."""
        is_wanted = self.image.features.level(_FEATURE) >= 1
        if now >= self._cold_at:
            self._cold_at = Instant(now + self._settings.cold_interval_ms / 1000)
            if is_wanted:
                self._logs.begin_everywhere(lambda partition: upkeep.snapshot_cold(partition, wall))
        if now >= self._prune_at:
            self._prune_at = Instant(now + self._settings.prune_interval_ms / 1000)
            if is_wanted:
                self._logs.begin_everywhere(lambda partition: upkeep.prune(partition, now))

    def _see_topics(self, wall: WallClock) -> None:
        """States of topics that are gone are not kept."""
        before, self._topics_seen = self._topics_seen, self.image.topics
        if not self._logs.by_key:
            return
        gone = {old.id for old, new in self._topics_seen.changes_since(before) if old and not new}
        if gone:
            self._logs.begin_everywhere(lambda partition: upkeep.forget_topics(partition, gone, wall))

    def _committed(self, led: Led[SharePartition], now: Instant) -> Effects:
        out = led.partition.committed_to(led.leader.log.high_watermark)
        out += led.partition.give_up(now)
        if led.partition.is_committed:
            self._logs.written.discard(led.key)
        return out

    def _load(self, led: Led[SharePartition]) -> Effects:
        """Ask for the next bytes, or begin."""
        if not self._is_read(led):
            return []
        led.partition.is_loaded = True
        led.partition.end_offset = led.leader.log.end_offset
        self._logs.written.add(led.key)  # The end may not be committed yet.
        words = f"coordinates {TOPIC}-{led.key.index}: {len(led.partition.entries)} share partitions"
        return [Say("info", words)]
