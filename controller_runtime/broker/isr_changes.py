"""Asking the controller for changes of ISRs: AlterPartition (KIP-497, KIP-841, KIP-903).

One request is in flight at a time, with at most one change of each partition. What has no answer is asked again, for
the controller may or may not have done it; only an answer, or the image, says which. A change that the leader does not
wait for any more, because the image was newer, is not sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.replication.led_replicas import IsrChange
from controller_runtime.identifiers import BrokerEpoch, Endpoint, Instant, NodeId, PartitionId, Uuid
from controller_runtime.metadata.partitions import RECOVERED
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_request as asked
from controller_runtime.protocol.messages import alter_partition_response as answered

CHANNEL: Final = "alter-partition"
MAX_CHANGES: Final = 500
"""In one request."""
_TIMEOUT_MS: Final = 30_000
_RETRY_S: Final = 0.05

_NEVER_DONE: Final = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA)
_TOLD_BY_IMAGE: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.NEW_LEADER_ELECTED,
)
"""The controller knows more than this broker: the change stays open until the image says what is true."""


class LedPartitions(Protocol):
    """What is led here."""

    def led(self, key: PartitionId) -> Leader | None: ...

    def advance(self, leader: Leader) -> None:
        """Its ISR is another: the high watermark may rise."""
        ...


class IsrChanges:
    def __init__(self, node_id: NodeId, partitions: LedPartitions, calls: CallIds) -> None:
        self._node_id = node_id
        self._partitions = partitions
        self._calls = calls
        self._wanted: dict[PartitionId, IsrChange] = {}
        self._sent: dict[PartitionId, IsrChange] = {}
        self._in_flight: CallId | None = None
        self._not_before = Instant(0.0)

    def want(self, key: PartitionId, change: IsrChange) -> None:
        self._wanted[key] = change

    def owns(self, call_id: CallId) -> bool:
        return call_id == self._in_flight

    def next_deadline(self) -> Instant | None:
        return self._not_before if self._wanted and self._in_flight is None else None

    def poll(self, controller: Endpoint | None, broker_epoch: BrokerEpoch, now: Instant) -> list[BrokerEffect]:
        if not self._wanted or self._in_flight is not None or now < self._not_before:
            return []
        if controller is None or broker_epoch < 0:
            self._not_before = Instant(now + _RETRY_S)
            return []
        for key in list(self._wanted)[:MAX_CHANGES]:
            change = self._wanted.pop(key)
            if self._is_pending(key, change):
                self._sent[key] = change
        if not self._sent:
            return []
        self._in_flight = self._calls.next()
        request = _request(self._sent, self._node_id, broker_epoch)
        return [Call(self._in_flight, CHANNEL, controller, request, _TIMEOUT_MS)]

    def _is_pending(self, key: PartitionId, change: IsrChange) -> bool:
        leader = self._partitions.led(key)
        return leader is not None and leader.replicas.pending is change

    def on_failure(self, now: Instant) -> None:
        """Nobody can say whether it was done: it is asked again."""
        self._in_flight = None
        self._ask_again(list(self._sent), now)

    def on_response(self, body: answered.AlterPartitionResponse, now: Instant) -> None:
        if body.error_code == ErrorCode.NONE:
            for topic in body.topics:
                for one in topic.partitions:
                    self._on_answer(PartitionId(topic.topic_id, one.partition_index), one)
        self._in_flight = None
        self._ask_again(list(self._sent), now)

    def _on_answer(self, key: PartitionId, answer: answered.PartitionData) -> None:
        change = self._sent.get(key)
        leader = self._partitions.led(key)
        if change is None or leader is None or leader.replicas.pending is not change:
            self._sent.pop(key, None)  # It was not asked for, or the image came first.
            return
        error = answer.error_code
        if error == ErrorCode.NONE:
            leader.replicas.granted(answer.isr, answer.leader_epoch, answer.partition_epoch)
        elif error in _NEVER_DONE:
            leader.replicas.taken_back()
        elif error not in _TOLD_BY_IMAGE:
            return  # It stays among those that are asked again.
        del self._sent[key]
        self._partitions.advance(leader)

    def _ask_again(self, keys: list[PartitionId], now: Instant) -> None:
        for key in keys:
            change = self._sent.pop(key)
            if self._is_pending(key, change):
                self._wanted[key] = change
        self._not_before = Instant(now + _RETRY_S) if keys else now


def _request(
    changes: Mapping[PartitionId, IsrChange], node_id: NodeId, broker_epoch: BrokerEpoch
) -> asked.AlterPartitionRequest:
    topics: dict[Uuid, list[asked.PartitionData]] = {}
    for key, change in changes.items():
        members = tuple(
            asked.BrokerState(broker_id=broker, broker_epoch=broker_epoch if broker == node_id else epoch)
            for broker, epoch in change.members
        )
        one = asked.PartitionData(
            partition_index=key.index,
            leader_epoch=change.leader_epoch,
            new_isr_with_epochs=members,
            leader_recovery_state=RECOVERED,
            partition_epoch=change.partition_epoch,
        )
        topics.setdefault(key.topic_id, []).append(one)
    return asked.AlterPartitionRequest(
        broker_id=node_id,
        broker_epoch=broker_epoch,
        topics=tuple(
            asked.TopicData(topic_id=topic_id, partitions=tuple(partitions)) for topic_id, partitions in topics.items()
        ),
    )
