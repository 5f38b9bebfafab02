"""Who leads what is not led here (KIP-951): an answer that sends a client away says where to, so that the next request
need not wait for Metadata. Brokers that the listener does not show are not named, as in Metadata.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import fetch_response, produce_response
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.values import replace

FIRST_VERSION_OF_PRODUCE: Final = 10
FIRST_VERSION_OF_FETCH: Final = 16
_AWAY: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_NOWHERE: Final = fetch_response.LeaderIdAndEpoch()


class LeaderHints:
    """Of one answer."""

    def __init__(self, partitions: LocalPartitions, listener: str) -> None:
        self._partitions = partitions
        self._listener = listener
        self._named: dict[int, tuple[str, int, str | None]] = {}

    def leader(self, name: str, topic_id: Uuid, index: int) -> tuple[int, int]:
        """Who leads it, and in which epoch."""
        image, key = self._partitions.image, self._partitions.key(name, topic_id, index)
        found = None if key is None else image.topics.partition(key.topic_id, key.index)
        if found is None:
            return _NOWHERE.leader_id, _NOWHERE.leader_epoch
        broker = image.cluster.unfenced(found.leader)
        if broker is not None and (listener := broker.listeners.get(self._listener)) is not None:
            self._named[found.leader] = listener.endpoint.host, listener.endpoint.port, broker.rack
        return found.leader, found.leader_epoch

    def of_fetch(self, code: ErrorCode, name: str, topic_id: Uuid, index: int) -> fetch_response.LeaderIdAndEpoch:
        if code not in _AWAY:
            return _NOWHERE
        leader, epoch = self.leader(name, topic_id, index)
        return fetch_response.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)

    def endpoints_of_fetch(self) -> tuple[fetch_response.NodeEndpoint, ...]:
        return tuple(
            fetch_response.NodeEndpoint(node_id=each, host=host, port=port, rack=rack)
            for each, (host, port, rack) in self._named.items()
        )

    def with_hints(self, answer: ProduceResponse) -> ProduceResponse:
        """Of Produce; as in Kafka an epoch that is over is no reason there."""
        topics = []
        for topic in answer.responses:
            said = tuple(
                replace(one, current_leader=self._of_produce(topic.name, topic.topic_id, one.index))
                if one.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
                else one
                for one in topic.partition_responses
            )
            topics.append(replace(topic, partition_responses=said))
        endpoints = tuple(
            produce_response.NodeEndpoint(node_id=each, host=host, port=port, rack=rack)
            for each, (host, port, rack) in self._named.items()
        )
        return replace(answer, responses=tuple(topics), node_endpoints=endpoints)

    def _of_produce(self, name: str, topic_id: Uuid, index: int) -> produce_response.LeaderIdAndEpoch:
        leader, epoch = self.leader(name, topic_id, index)
        return produce_response.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)


def misleads(answer: ProduceResponse) -> bool:
    """Something of it was asked of the wrong broker."""
    wrong = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return any(one.error_code == wrong for topic in answer.responses for one in topic.partition_responses)
