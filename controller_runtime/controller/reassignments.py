"""Which partitions are exchanging replicas. Starting and cancelling a reassignment comes with replication; tools ask
for the list anyway.

`kafka-topics --describe` asks it for every topic, and a log of a Java controller may well hold reassignments under way.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from controller_runtime.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def list_reassignments(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Those of the named partitions, or of all; what does not exist is left out, as Kafka does."""
    topics = []
    for topic, wanted in _asked(image, request):
        found = tuple(
            _ongoing(index, partition) for index, partition in topic.reassigning() if wanted is None or index in wanted
        )
        if found:
            topics.append(OngoingTopicReassignment(name=topic.name, partitions=found))
    return ListPartitionReassignmentsResponse(error_message=None, topics=tuple(topics))


def _asked(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> Iterator[tuple[TopicImage, frozenset[int] | None]]:
    if request.topics is None:
        yield from ((topic, None) for topic in image.topics)
        return
    for named in request.topics:
        topic = image.topics.named(named.name)
        if topic is not None:
            yield topic, frozenset(named.partition_indexes)


def _ongoing(index: int, partition: Partition) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=index,
        replicas=partition.replicas,
        adding_replicas=partition.adding_replicas,
        removing_replicas=partition.removing_replicas,
    )
