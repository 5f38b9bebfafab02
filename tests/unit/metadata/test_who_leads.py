"""Whether a broker leads anything is read from packed rows; it has to be what the unpacked partitions say."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord

pytestmark = pytest.mark.unit


def image(*leaders: int) -> MetadataImage:
    """A topic whose partitions all have the replicas 0, 1, 2 and these leaders, one in three missing in the
    first page.
    """
    builder = MetadataImage.empty().builder()
    topic_id = Uuid.of(1, 1)
    replay(builder, TopicRecord(name="t", topic_id=topic_id))
    for place, leader in enumerate(leaders):
        record = PartitionRecord(
            partition_id=place * 3, topic_id=topic_id, replicas=(0, 1, 2), isr=(0, 1, 2), leader=leader
        )
        replay(builder, record)
    return builder.freeze()


@pytest.mark.parametrize(
    "leaders", [(), (1,), (0,), (2, 2, 1), (-1, -1), (1,) * 100, (*(1,) * 99, 0), (-1, *(2,) * 64)]
)
def test_a_broker_leads_what_the_partitions_say(leaders: tuple[int, ...]) -> None:
    seen = image(*leaders)
    for broker in (0, 1, 2, 3, -1):
        assert seen.topics.leads_any(broker) is (broker in leaders), "what it follows, or counts, does not matter"
