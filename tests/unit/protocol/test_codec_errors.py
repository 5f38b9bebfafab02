"""What is wrong is said with message, version, field and position; and nothing is allocated on a claim."""

from __future__ import annotations

import struct
import tracemalloc
from dataclasses import replace

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID
from controller_runtime.protocol.codec import decode, decode_prefix, encode, source
from controller_runtime.protocol.errors import (
    InvalidValue,
    MalformedMessage,
    UnsupportedField,
    UnsupportedMessageVersion,
)
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from controller_runtime.protocol.messages.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from controller_runtime.protocol.messages.describe_quorum_response import DescribeQuorumResponse
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.streams_group_heartbeat_request import (
    Endpoint,
    StreamsGroupHeartbeatRequest,
)
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.vote_request import VoteRequest
from controller_runtime.protocol.schema import Message

pytestmark = pytest.mark.unit


def test_an_ignorable_field_is_dropped_by_a_version_that_lacks_it() -> None:
    request = FetchRequest(max_wait_ms=9, rack_id="r1", session_epoch=4)
    assert decode(FetchRequest, encode(request, 4), 4) == FetchRequest(max_wait_ms=9)


def test_a_field_that_matters_is_refused_by_a_version_that_lacks_it() -> None:
    request = FetchRequest(replica_state=ReplicaState(replica_id=3))
    with pytest.raises(UnsupportedField, match="FetchRequest v14 cannot carry replica_state"):
        encode(request, 14)
    assert decode(FetchRequest, encode(request, 15), 15) == request


def test_a_voter_cannot_be_added_without_waiting_for_the_commit_by_version_0() -> None:
    """API-04, KIP-1186: absent it is read as true."""
    early = AddRaftVoterRequest(cluster_id="c", voter_id=1, ack_when_committed=False)
    with pytest.raises(UnsupportedField, match="AddRaftVoterRequest v0 cannot carry ack_when_committed"):
        encode(early, 0)
    assert not decode(AddRaftVoterRequest, encode(early, 1), 1).ack_when_committed
    assert decode(AddRaftVoterRequest, encode(replace(early, ack_when_committed=True), 0), 0).ack_when_committed


def test_unknown_tags_are_refused_by_a_version_without_tags() -> None:
    with pytest.raises(UnsupportedField, match="unknown_tagged_fields"):
        encode(MetadataRequest(unknown_tagged_fields=((7, b"x"),)), 8)


def test_null_where_null_is_not_allowed_is_named() -> None:
    request = CreateTopicsRequest(topics=(CreatableTopic(name=None),))  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"CreateTopicsRequest v7: topics\[0\]\.name: null is not allowed here"):
        encode(request, 7)
    with pytest.raises(InvalidValue, match=r"MetadataRequest v0: topics: null is not allowed here"):
        encode(MetadataRequest(topics=None), 0)
    assert decode(MetadataRequest, encode(MetadataRequest(topics=None), 1), 1).topics is None


def test_a_number_out_of_range_is_named() -> None:
    request = FetchRequest(topics=(FetchTopic(partitions=(FetchPartition(partition=1 << 31),)),))
    with pytest.raises(InvalidValue, match=r"topics\[0\]\.partitions\[0\]\.partition: 2147483648 is not int32"):
        encode(request, 17)


@pytest.mark.parametrize("version", [4, 17])
def test_a_value_of_another_type_is_named(version: int) -> None:
    with pytest.raises(InvalidValue, match=r"topics\[0\]: FetchTopic is needed, not int"):
        encode(FetchRequest(topics=(5,)), version)  # type: ignore[arg-type]


def test_a_tag_set_twice_is_refused() -> None:
    request = FetchRequest(cluster_id="c", unknown_tagged_fields=((0, b"again"),))
    with pytest.raises(InvalidValue, match="a tag is set twice"):
        encode(request, 17)


def test_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnsupportedMessageVersion, match=r"FetchRequest has no version 3 \(it has 4-18\)"):
        encode(FetchRequest(), 3)
    with pytest.raises(UnsupportedMessageVersion):
        decode(FetchRequest, b"", 19)


def test_bytes_left_over_are_refused() -> None:
    data = encode(VoteRequest(), 2)
    with pytest.raises(MalformedMessage, match="3 bytes are left over") as caught:
        decode(VoteRequest, data + b"abc", 2)
    assert (caught.value.message, caught.value.version, caught.value.position) == ("VoteRequest", 2, len(data))
    assert decode_prefix(VoteRequest, b"xy" + data + b"abc", 2, 2) == (VoteRequest(), 2 + len(data))


def test_a_cut_message_names_the_field_where_it_ends() -> None:
    data = encode(TopicRecord(name="orders", topic_id=METADATA_TOPIC_ID), 0)
    with pytest.raises(MalformedMessage) as caught:
        decode(TopicRecord, data[:12], 0)
    assert (caught.value.field, caught.value.position) == ("topic_id", 7)
    with pytest.raises(MalformedMessage, match="TopicRecord v0: name at byte 0: 6 bytes are needed, 2 are left"):
        decode(TopicRecord, data[:3], 0)


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="TopicRecord v0: name at byte 4: not UTF-8"):
        decode(TopicRecord, b"\x04\xff\xfe\xfd" + bytes(17), 0)


def test_a_null_struct_in_a_tag_and_outside_has_its_own_marks() -> None:
    value = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    assert encode(value, 0).endswith(b"\x01\x00\x01\x00")
    assert decode(ConsumerGroupMemberMetadataValue, encode(value, 0), 0) == value
    present = ConsumerGroupMemberMetadataValue(classic_member_metadata=ClassicMemberMetadata(session_timeout_ms=9))
    assert decode(ConsumerGroupMemberMetadataValue, encode(present, 0), 0) == present
    for endpoint in (None, Endpoint(host="h", port=9)):
        request = StreamsGroupHeartbeatRequest(user_endpoint=endpoint)
        assert decode(StreamsGroupHeartbeatRequest, encode(request, 0), 0) == request


def test_unknown_tags_are_written_between_known_ones_in_order() -> None:
    record = PartitionChangeRecord(isr=(1,), replicas=(1, 2), unknown_tagged_fields=((99, b"z"), (7, b"y")))
    data = encode(record, 0)
    assert data.index(b"y") < data.index(b"z")
    read = decode(PartitionChangeRecord, data, 0)
    assert read.unknown_tagged_fields == ((7, b"y"), (99, b"z"))
    assert encode(read, 0) == data


@pytest.mark.parametrize(
    ("message", "version"), [(PartitionChangeRecord(isr=(1,), replicas=(1, 2)), 0), (MetadataRequest(), 12)]
)
def test_unknown_tags_of_a_peer_that_does_not_order_them_are_in_order_when_they_are_read(
    message: Message, version: int
) -> None:
    """As Apache Kafka, which reads them in any order; what is read once is written and read again as the same."""
    ordered = ((77, b"y"), (99, b"z"))
    data = encode(replace(message, unknown_tagged_fields=ordered), version)
    first, second = b"\x4d\x01y", b"\x63\x01z"
    assert data.endswith(first + second)
    read = decode(type(message), data.removesuffix(first + second) + second + first, version)
    assert read.unknown_tagged_fields == ordered
    assert decode(type(message), encode(read, version), version) == read


def test_a_tagged_field_that_overruns_its_size_is_refused() -> None:
    data = bytearray(encode(PartitionChangeRecord(leader=5), 0))
    assert data[-6:] == b"\x01\x04\x00\x00\x00\x05"
    data[-5] = 3
    with pytest.raises(MalformedMessage, match="leader at byte 27: the tagged field has 3 bytes, its value 4"):
        decode(PartitionChangeRecord, bytes(data), 0)


@pytest.mark.parametrize("version", [9, 11, 12, 17])
@pytest.mark.parametrize("count", [1, 4, 5, 200])
@pytest.mark.parametrize("odd", [None, 0, -1])
def test_arrays_of_structures_of_one_size_read_alike_and_with_an_odd_one(
    version: int, count: int, odd: int | None
) -> None:
    partitions = [FetchPartition(partition=n, fetch_offset=1 << 40, log_start_offset=n) for n in range(count)]
    if odd is not None and version >= 12:
        partitions[odd] = FetchPartition(partition=-1, unknown_tagged_fields=((9, b"x"),))
    topic = FetchTopic(topic="t") if version < 13 else FetchTopic(topic_id=METADATA_TOPIC_ID)
    request = FetchRequest(topics=(replace(topic, partitions=tuple(partitions)),))
    data = encode(request, version)
    assert decode(FetchRequest, data, version) == request
    with pytest.raises(MalformedMessage):
        decode(FetchRequest, data[:-1], version)


def test_bytearray_and_memoryview_are_read_too() -> None:
    data = encode(VoteRequest(cluster_id="c"), 2)
    assert (
        decode(VoteRequest, bytearray(data), 2)
        == decode(VoteRequest, memoryview(data), 2)
        == VoteRequest(cluster_id="c")
    )


def test_the_compiled_source_can_be_read() -> None:
    decoder, encoder = source(VoteRequest, 2)
    assert decoder.startswith("def decode(b, p, e):")
    assert encoder.startswith("def encode(m, w):")


CLAIMS: dict[str, tuple[type[Message], int, bytes]] = {
    "a plain array of 2^31-1 topics": (MetadataRequest, 8, b"\x7f\xff\xff\xff" + bytes(100)),
    "a compact array of 2^28 topics": (MetadataRequest, 12, b"\xff\xff\xff\x7f" + bytes(100)),
    "a negative count": (MetadataRequest, 8, b"\xff\xff\xff\xfe" + bytes(100)),
    "a string of 2^28 bytes": (TopicRecord, 0, b"\xff\xff\xff\x7f" + bytes(100)),
    "a negative string length": (MetadataRequest, 8, struct.pack(">ih", 1, -2) + bytes(100)),
    "records of 2^31-1 bytes": (ProduceRequest, 8, struct.pack(">hhiihsiii", -1, 0, 0, 1, 1, b"t", 1, 0, 0x7FFFFFFF)),
    "2^28 tagged fields": (NoOpRecord, 0, b"\xff\xff\xff\x7f" + bytes(100)),
    "a tagged field of 2^28 bytes": (NoOpRecord, 0, b"\x01\x09\xff\xff\xff\x7f" + bytes(100)),
    "a varint that never ends": (NoOpRecord, 0, b"\xff" * 100),
    "numbers without their bytes": (PartitionChangeRecord, 0, bytes(20) + b"\x01\x00\xff\xff\x03\xff\xff\xff\x7f"),
}


@pytest.mark.parametrize("claim", sorted(CLAIMS))
def test_a_claim_without_bytes_is_refused_before_anything_is_allocated(claim: str) -> None:
    cls, version, data = CLAIMS[claim]
    with pytest.raises(MalformedMessage):
        decode(cls, data, version)  # compiles; the second look is measured
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage):
            decode(cls, data, version)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 4 * len(data) + 64 * 1024


def test_a_thousand_elements_in_a_cut_message_cost_no_more_than_four_times_the_input() -> None:
    partition = MetadataResponsePartition(replica_nodes=(1001, 1002, 1003), isr_nodes=(1001, 1002, 1003))
    topics = tuple(MetadataResponseTopic(name=f"topic-{n}", partitions=(partition,) * 10) for n in range(1000))
    data = encode(MetadataResponse(topics=topics), 12)[:-1]
    with pytest.raises(MalformedMessage):
        decode(MetadataResponse, data, 12)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage, match="tagged fields"):
            decode(MetadataResponse, data, 12)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 4 * len(data) + 64 * 1024


def test_errors_name_deep_places() -> None:
    data = encode(DescribeQuorumResponse(), 2)
    with pytest.raises(MalformedMessage, match="nodes at byte 4"):
        decode(DescribeQuorumResponse, data[:4], 2)


@pytest.mark.parametrize("version", [6, 7])
def test_a_string_that_no_reader_takes_is_not_written(version: int) -> None:
    """Apache Kafka's writers throw above 32,767 bytes, in compact form too; an answer that repeats a name of that
    length would be longer.
    """
    topic = CreatableTopicResult(name="a", error_message="x" * 32767)
    decode(CreateTopicsResponse, encode(CreateTopicsResponse(topics=(topic,)), version), version)
    longer = CreatableTopicResult(name="a", error_message="x" * 32768)
    with pytest.raises(InvalidValue, match="error_message: a string has at most 32767 bytes"):
        encode(CreateTopicsResponse(topics=(longer,)), version)
