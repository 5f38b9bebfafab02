"""An image that could not be frozen is frozen whole the next time: a bug in the middle loses no change that was
replayed.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.schema import Message
from support.nodes.failpoints import Failpoint

pytestmark = pytest.mark.unit

TOPIC = Uuid(bytes(15) + b"\x01")
OTHER = Uuid(bytes(15) + b"\x02")


def topic(topic_id: Uuid, name: str) -> list[Message]:
    partition = PartitionRecord(
        partition_id=0, topic_id=topic_id, replicas=(1,), isr=(1,), leader=1, directories=(TOPIC,)
    )
    return [TopicRecord(name=name, topic_id=topic_id), partition]


def base() -> MetadataImage:
    builder = MetadataImage.empty().builder()
    for record in (FeatureLevelRecord(name="metadata.version", feature_level=30), *topic(TOPIC, "before")):
        replay(builder, record)
    return builder.freeze()


def changed(image: MetadataImage) -> MetadataBuilder:
    builder = image.builder()
    value = ConfigRecord(resource_type=2, resource_name="after", name="retention.ms", value="1")
    for record in (*topic(OTHER, "after"), value, FeatureLevelRecord(name="group.version", feature_level=1)):
        replay(builder, record)
    return builder


def test_an_exception_at_any_call_of_freezing_leaves_every_change_to_be_frozen() -> None:
    image = base()
    with Failpoint(0, None) as dry:
        wanted = changed(image).freeze()
    in_all = dry.calls
    reached = 0
    for number in range(1, in_all + 1):
        builder = changed(image)
        try:
            with Failpoint(number, ValueError("a bug")):
                builder.freeze()
        except ValueError:
            reached += 1
        assert builder.freeze() == wanted, f"an exception at call {number} loses a change"
    assert reached > 10


def test_an_exception_at_any_call_of_a_look_leaves_every_change_to_be_frozen() -> None:
    image = base()
    wanted = changed(image).freeze()
    for number in range(1, 60):
        builder = changed(image)
        try:
            with Failpoint(number, ValueError("a bug")):
                builder.peek()
        except ValueError:
            pass
        assert builder.peek() == wanted
        assert builder.freeze() == wanted
