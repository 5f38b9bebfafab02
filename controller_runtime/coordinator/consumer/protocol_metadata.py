"""What members of the classic protocol say and are told in bytes: subscriptions and assignments of consumers."""

from __future__ import annotations

from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.codec import decode_prefix, encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from controller_runtime.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription


class Malformed(Exception):
    """Bytes that are none of these, or that say what the consumer protocol cannot keep."""


_MALFORMED = "the embedded consumer protocol is malformed"
_CUSTOM = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor "
    "before re-attempting the upgrade"
)


def version_in(data: bytes) -> int:
    """The version at which a member speaks. Raises Malformed."""
    version = int.from_bytes(data[:2], "big", signed=True) if len(data) >= 2 else -1
    if version < 0:
        raise Malformed(_MALFORMED)
    return version


def subscription_in(data: bytes) -> ConsumerProtocolSubscription:
    """Of a newer version what is known of it. Raises Malformed."""
    version = min(version_in(data), ConsumerProtocolSubscription.VERSIONS.highest)
    try:
        return decode_prefix(ConsumerProtocolSubscription, data, version, 2)[0]
    except ProtocolError as error:
        raise Malformed(_MALFORMED) from error


def assignment_in(data: bytes, image: MetadataImage) -> Target:
    """Of topics that are there. Raises Malformed, also for what an assignor of the client has added."""
    version = min(version_in(data), ConsumerProtocolAssignment.VERSIONS.highest)
    try:
        found = decode_prefix(ConsumerProtocolAssignment, data, version, 2)[0]
    except ProtocolError as error:
        raise Malformed(_MALFORMED) from error
    if found.user_data:
        raise Malformed(_CUSTOM)
    target: dict[Uuid, frozenset[int]] = {}
    for each in found.assigned_partitions:
        topic = image.topics.named(each.topic)
        if topic is not None:
            target[topic.id] = frozenset(each.partitions)
    return target


def assignment_bytes(target: Target, image: MetadataImage, metadata: bytes) -> bytes:
    """For a member that has told this metadata, at its version."""
    version = min(version_in(metadata), ConsumerProtocolAssignment.VERSIONS.highest)
    topics = ((image.topics.get(topic_id), indexes) for topic_id, indexes in target.items())
    message = ConsumerProtocolAssignment(
        assigned_partitions=tuple(
            TopicPartition(topic=topic.name, partitions=tuple(sorted(indexes)))
            for topic, indexes in topics
            if topic is not None
        )
    )
    return version.to_bytes(2, "big") + encode(message, version)
