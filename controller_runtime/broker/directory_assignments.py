"""Telling the controller in which log directory a replica lives (KIP-858).

Only when the cluster does not know it or believes otherwise: a broker with one directory never needs to. What is told
is repeated until the image agrees, because an answer may be lost; without it the controller could not tell what a lost
directory takes with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.identifiers import DirectoryId, Endpoint, Instant, NodeId, PartitionId, Uuid
from controller_runtime.metadata.features import DIRECTORY_ASSIGNMENT
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import CallId
from controller_runtime.parts.pieces import InPieces, LongWork
from controller_runtime.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)

CHANNEL: Final = "directory-assignments"
MAX_ASSIGNMENTS: Final = 2250
"""In one request, as Kafka's brokers send."""
_TIMEOUT_MS: Final = 5_000
_RETRY_S: Final = 0.5

_Home = tuple[PartitionId, DirectoryId]


class DirectoryAssignments:
    def __init__(self, node_id: NodeId, calls: CallIds) -> None:
        self._node_id = node_id
        self._calls = calls
        self._homes: dict[PartitionId, DirectoryId] = {}
        """Replicas whose home the image does not show yet."""
        self._gathering: LongWork[BrokerEffect, list[_Home]] | None = None
        """What the next request reports, in pieces."""
        self._in_flight: CallId | None = None
        self._not_before = Instant(0.0)

    def opened(self, key: PartitionId, home: DirectoryId) -> None:
        self._homes[key] = home

    def owns(self, call_id: CallId) -> bool:
        return call_id == self._in_flight

    def next_deadline(self) -> Instant | None:
        if self._gathering is not None:
            return Instant(0.0)
        return self._not_before if self._homes and self._in_flight is None else None

    def poll(
        self, image: MetadataImage, controller: Endpoint | None, broker_epoch: int, now: Instant
    ) -> list[BrokerEffect]:
        if self._gathering is None:
            if not self._homes or self._in_flight is not None or now < self._not_before:
                return []
            self._gathering = LongWork(self._gather(image))
        self._gathering.go_on([])
        if not self._gathering.is_over:
            return []
        (homes,), self._gathering = self._gathering.results, None
        self._not_before = Instant(now + _RETRY_S)
        unknown = image.features.metadata_version < DIRECTORY_ASSIGNMENT
        if not homes or unknown or controller is None or broker_epoch < 0:
            return []
        self._in_flight = self._calls.next()
        return [Call(self._in_flight, CHANNEL, controller, self._request(homes, broker_epoch), _TIMEOUT_MS)]

    def _gather(self, image: MetadataImage) -> InPieces[BrokerEffect, list[_Home]]:
        """As many as one request may report. What the cluster knows by now is forgotten, and what is no replica of this
        broker any more.
        """
        found: list[_Home] = []
        for key, home in list(self._homes.items()):
            if len(found) == MAX_ASSIGNMENTS:
                break
            partition = image.topics.partition(key.topic_id, key.index)
            if (
                partition is None
                or self._node_id not in partition.replicas
                or partition.directory(self._node_id) == home
            ):
                del self._homes[key]
            else:
                found.append((key, home))
            yield None
        return found

    def done(self, now: Instant) -> None:
        """Answered or not: the image will say whether it has to be reported again."""
        self._in_flight = None
        self._not_before = Instant(now + _RETRY_S)

    def _request(self, homes: Iterable[_Home], broker_epoch: int) -> AssignReplicasToDirsRequest:
        tree: dict[DirectoryId, dict[Uuid, list[int]]] = {}
        for key, home in sorted(homes):
            tree.setdefault(home, {}).setdefault(key.topic_id, []).append(key.index)
        return AssignReplicasToDirsRequest(
            broker_id=self._node_id,
            broker_epoch=broker_epoch,
            directories=tuple(
                DirectoryData(
                    id=home,
                    topics=tuple(
                        TopicData(
                            topic_id=topic_id,
                            partitions=tuple(PartitionData(partition_index=index) for index in indexes),
                        )
                        for topic_id, indexes in topics.items()
                    ),
                )
                for home, topics in tree.items()
            ),
        )
