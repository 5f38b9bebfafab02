"""What clients see of the cluster through one listener: Metadata and DescribeCluster, from the image alone.

A broker is shown when it is unfenced and has an endpoint on the listener that was asked; a leader that is not shown is
reported as missing, so that the client asks again. In KRaft the controllers are hidden from clients: some live broker
is named instead, because it forwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_letters, digits

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.identifiers import ZERO_UUID, Endpoint, NodeId, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_CLUSTER, ALL_OF_TOPIC, NOT_ASKED
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from controller_runtime.values import dataclass, replace

BROKERS = 1
CONTROLLERS = 2
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
_LEGAL = frozenset(ascii_letters + digits + "._-")
_FIRST_VERSION_WITH_LISTENER_ERRORS = 6
_FIRST_VERSION_WITH_NULL_NAMES = 12
_WRONG_ENDPOINT = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"


_Topic = InPieces[BrokerEffect, MetadataResponseTopic]


@dataclass(frozen=True, slots=True)
class View:
    """Who asks: through which listener of which broker."""

    image: MetadataImage
    cluster_id: str
    listener: str
    broker_id: NodeId

    def endpoint(self, broker_id: int) -> Endpoint | None:
        """Where a live broker is reached."""
        broker = self.image.cluster.brokers.get(NodeId(broker_id))
        if broker is None or broker.fenced or self.listener not in broker.listeners:
            return None
        return broker.listeners[self.listener].endpoint

    def is_alive(self, broker_id: int) -> bool:
        broker = self.image.cluster.brokers.get(NodeId(broker_id))
        return broker is not None and not broker.fenced

    @property
    def forwarder(self) -> int:
        """A live broker that stands for the controller: this one if it is live."""
        alive = [broker_id for broker_id in self.image.cluster.brokers if self.is_alive(broker_id)]
        if self.broker_id in alive:
            return self.broker_id
        return alive[0] if alive else -1


def metadata(
    view: View, request: MetadataRequest, version: int
) -> InPieces[BrokerEffect, tuple[MetadataResponse, tuple[str, ...]]]:
    """The answer, and the names of topics that are missing and may be created if the broker does such things."""
    missing: list[str] = []
    topics: list[MetadataResponseTopic] = []
    if request.topics is None or (version == 0 and not request.topics):
        for found in view.image.topics:
            topics.append((yield from _topic(view, found, version)))
    else:
        asked, ids = request.topics, dict.fromkeys(one.topic_id for one in request.topics if one.topic_id != ZERO_UUID)
        if fault := fault_of(asked, version):
            return _refused(asked, fault), ()
        if ids:
            for topic_id in ids:
                topics.append((yield from _by_id(view, topic_id, version)))
        else:
            for name in dict.fromkeys(one.name for one in asked if one.name is not None):
                topics.append((yield from _by_name(view, name, version, missing)))
    if request.include_topic_authorized_operations:
        topics = [
            topic
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_ID
            else replace(topic, topic_authorized_operations=ALL_OF_TOPIC)
            for topic in topics
        ]
    brokers = tuple(
        MetadataResponseBroker(node_id=broker_id, host=at.host, port=at.port, rack=broker.rack)
        for broker_id, broker in view.image.cluster.brokers.items()
        if (at := view.endpoint(broker_id)) is not None
    )
    response = MetadataResponse(
        brokers=brokers,
        cluster_id=view.cluster_id,
        controller_id=view.forwarder,
        topics=tuple(topics),
        cluster_authorized_operations=ALL_OF_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED,
    )
    return response, tuple(missing) if request.allow_auto_topic_creation else ()


def fault_of(asked: Iterable[MetadataRequestTopic], version: int) -> ErrorCode | None:
    """Why the whole request is refused. Names may be null, and ids used, from version 12 on, though the layout has both
    from 10 on.
    """
    if version < _FIRST_VERSION_WITH_NULL_NAMES:
        bad = any(one.name is None or one.topic_id != ZERO_UUID for one in asked)
        return ErrorCode.INVALID_REQUEST if bad else None
    named = all(one.topic_id == ZERO_UUID for one in asked)
    return ErrorCode.UNKNOWN_SERVER_ERROR if named and any(one.name is None for one in asked) else None


def _refused(asked: Iterable[MetadataRequestTopic], error: ErrorCode) -> MetadataResponse:
    topics = tuple(MetadataResponseTopic(error_code=error, name=one.name or "", topic_id=one.topic_id) for one in asked)
    return MetadataResponse(topics=topics, error_code=error)


def _by_id(view: View, topic_id: Uuid, version: int) -> _Topic:
    topic = view.image.topics.get(topic_id)
    if topic is None:
        yield None
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    return (yield from _topic(view, topic, version))


def _by_name(view: View, name: str, version: int, missing: list[str]) -> _Topic:
    found = view.image.topics.named(name)
    if found is not None:
        return (yield from _topic(view, found, version))
    yield None
    if fault := name_fault(name):
        return MetadataResponseTopic(error_code=fault, name=name)
    if name not in INTERNAL_TOPICS:
        missing.append(name)
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name, is_internal=name in INTERNAL_TOPICS
    )


def name_fault(name: str) -> ErrorCode | None:
    """Why no topic can have this name."""
    legal = name not in ("", ".", "..") and len(name) <= 249 and _LEGAL.issuperset(name)
    return None if legal else ErrorCode.INVALID_TOPIC_EXCEPTION


def _topic(view: View, topic: TopicImage, version: int) -> _Topic:
    partitions: list[MetadataResponsePartition] = []
    for index, partition in topic.partitions():
        partitions.append(_partition(view, index, partition, version))
        yield None
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple(partitions),
    )


def _partition(view: View, index: int, partition: Partition, version: int) -> MetadataResponsePartition:
    leader, error = shown_leader(view, partition)
    if error == ErrorCode.LISTENER_NOT_FOUND and version < _FIRST_VERSION_WITH_LISTENER_ERRORS:
        error = ErrorCode.LEADER_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=error,
        partition_index=index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        offline_replicas=offline_replicas(view, partition),
    )


def shown_leader(view: View, partition: Partition) -> tuple[int, ErrorCode]:
    """The leader as this client may know it, or -1 and why there is none for it."""
    if not view.is_alive(partition.leader):
        return -1, ErrorCode.LEADER_NOT_AVAILABLE
    if view.endpoint(partition.leader) is None:
        return -1, ErrorCode.LISTENER_NOT_FOUND
    return partition.leader, ErrorCode.NONE


def offline_replicas(view: View, partition: Partition) -> tuple[int, ...]:
    return tuple(each for each in partition.replicas if not _is_online(view, each, partition))


def _is_online(view: View, broker_id: int, partition: Partition) -> bool:
    broker = view.image.cluster.brokers.get(NodeId(broker_id))
    if broker is None or broker.fenced:
        return False
    return broker.has_online_directory(partition.directory(broker_id))


def describe_cluster(view: View, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != BROKERS:
        known = request.endpoint_type == CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=_WRONG_ENDPOINT if known else f"Unsupported endpoint type {request.endpoint_type}",
            endpoint_type=BROKERS,
        )
    brokers = []
    for broker_id, broker in view.image.cluster.brokers.items():
        listener = broker.listeners.get(view.listener)
        if listener is None or (broker.fenced and not request.include_fenced_brokers):
            continue
        at = listener.endpoint
        brokers.append(
            DescribeClusterBroker(
                broker_id=broker_id, host=at.host, port=at.port, rack=broker.rack, is_fenced=broker.fenced
            )
        )
    return DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=view.cluster_id,
        controller_id=view.forwarder,
        brokers=tuple(brokers),
        cluster_authorized_operations=ALL_OF_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED,
    )
