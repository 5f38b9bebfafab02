"""Keeping the ISRs of what is led here true: followers that caught up join, followers that lag leave. And who of those
that are not in sync may be sent records now.

A follower is looked at whenever it fetches; that one does not fetch any more is seen by looking at all of them, twice
in the time that they may lag (`replica.lag.time.max.ms`).
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.delete_records import RecordDeletions
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.isr_changes import IsrChanges
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.partition import OpenLog
from controller_runtime.broker.replication.throttles import Throttle
from controller_runtime.identifiers import BrokerEpoch, Endpoint, Instant, NodeId
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.pieces import InPieces, LongWork
from controller_runtime.protocol.errors import ErrorCode

_LOOKS_PER_LAG: Final = 2


class InSync:
    def __init__(
        self,
        node_id: NodeId,
        partitions: LocalPartitions,
        calls: CallIds,
        now: Instant,
        *,
        throttle: Throttle,
        deletions: RecordDeletions,
    ) -> None:
        self._partitions = partitions
        self._deletions = deletions
        self._throttle = throttle
        self.changes = IsrChanges(node_id, partitions, calls)
        self._look_at = Instant(now + partitions.max_lag_s / _LOOKS_PER_LAG)
        self._looking: LongWork[BrokerEffect, None] | None = None

    def fetched(self, leader: Leader, follower: int, offset: int, start: int, broker_epoch: int) -> ErrorCode:
        """A follower has everything below `offset`. An earlier incarnation of it is told nothing (KIP-903)."""
        around = self._partitions.around(leader)
        known = around.cluster.brokers.get(NodeId(follower))
        if broker_epoch >= 0 and known is not None and broker_epoch < known.epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        log, replicas = leader.log, leader.replicas
        remote = replicas.remotes[follower]
        before = remote.start_offset
        remote.fetched(offset, start, broker_epoch, log.written_offset, around.now)
        if start > before:
            self._deletions.trimmed(leader)
        change = replicas.expand(follower, log.high_watermark, around)
        if change is not None:
            self.changes.want(log.key, change)
        self._partitions.advance(leader)
        return ErrorCode.NONE

    def holds_back(self, log: OpenLog, follower: int) -> bool:
        """A follower that is not in sync gets nothing of it while the throttle of leaders is exceeded."""
        partitions, throttle = self._partitions, self._throttle
        if follower < 0 or not throttle.is_exceeded(partitions.now):
            return False
        leader = partitions.led(log.key)
        is_in_sync = leader is not None and follower in leader.replicas.isr
        return not is_in_sync and throttle.concerns(log.topic, log.key.index)

    def sent(self, log: OpenLog, count: int) -> None:
        """So many bytes to a follower, in sync or not."""
        if self._throttle.concerns(log.topic, log.key.index):
            self._throttle.record(count, self._partitions.now)

    def next_deadline(self) -> Instant | None:
        if self._looking is not None:
            return Instant(0.0)
        wanted = (self.changes.next_deadline(), self._look_at if self._partitions.with_followers else None)
        return min((at for at in wanted if at is not None), default=None)

    def poll(self, controller: Endpoint | None, broker_epoch: BrokerEpoch, now: Instant) -> list[BrokerEffect]:
        if self._looking is None and now >= self._look_at and self._partitions.with_followers:
            self._looking = LongWork(self._look())
        if self._looking is not None:
            self._looking.go_on([])
            if self._looking.is_over:
                self._looking = None
                self._look_at = Instant(now + self._partitions.max_lag_s / _LOOKS_PER_LAG)
        return self.changes.poll(controller, broker_epoch, now)

    def _look(self) -> InPieces[BrokerEffect, None]:
        for leader in list(self._partitions.with_followers.values()):
            if self._partitions.led(leader.log.key) is leader:
                change = leader.replicas.shrink(leader.log.written_offset, self._partitions.around(leader))
                if change is not None:
                    self.changes.want(leader.log.key, change)
                self._partitions.advance(leader)
            yield None
