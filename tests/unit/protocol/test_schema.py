"""Messages are frozen, slotted dataclasses whose layout is data."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID, ZERO_UUID
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.schema import NO_HIGHEST, NO_VERSIONS, Versions, spec_of, versions

pytestmark = pytest.mark.unit

REQUEST = FetchRequest(
    max_wait_ms=500, topics=(FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(FetchPartition(fetch_offset=7),)),)
)


def test_a_message_has_kafkas_defaults() -> None:
    assert FetchRequest().max_bytes == 0x7FFFFFFF
    assert FetchRequest().replica_state == ReplicaState(replica_id=-1, replica_epoch=-1)
    assert FetchPartition().replica_directory_id == ZERO_UUID


def test_a_message_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"FetchRequest\.max_wait_ms is frozen"):
        REQUEST.max_wait_ms = 1  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del REQUEST.max_wait_ms


def test_a_decoded_message_cannot_be_changed_either() -> None:
    read = decode(FetchRequest, encode(REQUEST, 17), 17)
    assert type(read) is FetchRequest
    assert type(read.topics[0]) is FetchTopic
    with pytest.raises(dataclasses.FrozenInstanceError):
        read.topics[0].topic = "other"  # type: ignore[misc]


def test_a_message_has_no_attributes_beyond_its_fields() -> None:
    assert not hasattr(REQUEST, "__dict__")
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        FetchRequest(nonsense=1)  # type: ignore[call-arg]


def test_replace_changes_a_copy() -> None:
    changed = dataclasses.replace(REQUEST, max_wait_ms=1)
    assert (changed.max_wait_ms, REQUEST.max_wait_ms) == (1, 500)
    assert changed.topics is REQUEST.topics
    assert dataclasses.is_dataclass(REQUEST)
    assert [each.name for each in dataclasses.fields(ReplicaState)] == [
        "replica_id",
        "replica_epoch",
        "unknown_tagged_fields",
    ]


def test_messages_compare_and_hash_by_value_and_class() -> None:
    again = dataclasses.replace(REQUEST)
    assert again == REQUEST
    assert hash(again) == hash(REQUEST)
    assert dataclasses.replace(REQUEST, unknown_tagged_fields=((9, b"x"),)) != REQUEST
    assert NoOpRecord() != FetchRequest()
    assert NoOpRecord() != "NoOpRecord"


def test_a_message_survives_pickle_and_copy() -> None:
    assert pickle.loads(pickle.dumps(REQUEST)) == REQUEST
    assert copy.deepcopy(REQUEST) is REQUEST


def test_a_message_prints_what_differs_from_its_defaults() -> None:
    assert repr(FetchRequest(max_wait_ms=3, unknown_tagged_fields=((9, b"x"),))) == (
        "FetchRequest(max_wait_ms=3, unknown_tagged_fields=((9, b'x'),))"
    )


def test_messages_match_by_keyword() -> None:
    match REQUEST:
        case FetchRequest(max_wait_ms=500, topics=(FetchTopic(topic_id=topic),)):
            assert topic == METADATA_TOPIC_ID
        case _:
            pytest.fail("no match")


def test_versions_read_kafkas_notation() -> None:
    assert (versions("3+"), versions("0-12"), versions("7"), versions("none")) == (
        Versions(3, NO_HIGHEST),
        Versions(0, 12),
        Versions(7, 7),
        NO_VERSIONS,
    )
    assert [str(versions(text)) for text in ("3+", "0-12", "7", "none")] == ["3+", "0-12", "7", "none"]
    assert 12 in versions("0-12")
    assert 13 not in versions("0-12")
    assert not versions("none")


def test_a_field_says_its_versions_tag_and_nullability() -> None:
    cluster = spec_of(FetchRequest, "cluster_id")
    assert (str(cluster.versions), cluster.tag, str(cluster.nullable), cluster.ignorable) == ("12+", 0, "12+", True)
    assert not cluster.is_tagged(11)
    assert cluster.is_tagged(12)
