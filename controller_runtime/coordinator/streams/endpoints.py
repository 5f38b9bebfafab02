"""Which partitions of topics each member of a streams group answers queries about, by the places of members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.streams.configuring import ConfiguredSubtopology
from controller_runtime.coordinator.streams.members import StreamsMember, Tasks
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.streams_group_heartbeat_response import (
    Endpoint,
    EndpointToPartitions,
    TopicPartition,
)


def partitions_by_endpoint(
    members: Iterable[StreamsMember], subtopologies: Mapping[str, ConfiguredSubtopology] | None, image: MetadataImage
) -> tuple[EndpointToPartitions, ...]:
    """Raises Refused where nothing is known of the topology, as Kafka fails."""
    out: list[EndpointToPartitions] = []
    for member in members:
        place = member.user_endpoint
        if place is None:
            continue
        if subtopologies is None:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        out.append(
            EndpointToPartitions(
                user_endpoint=Endpoint(host=place.host, port=place.port),
                active_partitions=_partitions(member.assigned.without_epochs.active, subtopologies, image),
                standby_partitions=_partitions(member.assigned.standby, subtopologies, image),
            )
        )
    return tuple(out)


def _partitions(
    tasks: Tasks, subtopologies: Mapping[str, ConfiguredSubtopology], image: MetadataImage
) -> tuple[TopicPartition, ...]:
    """Of a topic that has less partitions than there are tasks the first ones, as in Kafka."""
    out: list[TopicPartition] = []
    for each, indexes in tasks.items():
        known = subtopologies.get(each)
        if known is None:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        for name in sorted(known.sources.union(known.repartitions)):
            topic = image.topics.named(name)
            if topic is None:
                raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
            count = topic.partition_count
            shown = sorted(indexes)
            out.append(TopicPartition(topic=name, partitions=tuple(shown[:count] if count < len(shown) else shown)))
    return tuple(out)
