"""Every version of the quorum's requests that Kafka 4.0 to 4.3 sends, both ways: what a version cannot carry gets
Kafka's default, nothing else changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from controller_runtime.identifiers import (
    METADATA_TOPIC_ID,
    NO_DIRECTORY,
    DirectoryId,
    Endpoint,
    Epoch,
    NodeId,
    Offset,
    OffsetAndEpoch,
    ReplicaKey,
    Uuid,
)
from controller_runtime.node.quorum import raft_fetch_rpc, raft_rpc, voter_rpc
from controller_runtime.node.quorum.raft_rpc import Border
from controller_runtime.protocol.api_keys import ApiKey, api, request_class, response_class
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import UnsupportedField
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse, SupportedFeatureKey
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages as raft
from controller_runtime.raft.messages import HIGH_WATERMARK_UNUSED, RaftError
from controller_runtime.raft.voter_set import Voter

pytestmark = pytest.mark.unit

BORDER = Border("c2ltdWxhdGVkLWNsdXN0ZXI", Endpoint("leader.example", 9093))
NOBODY_KNOWN = Border("c2ltdWxhdGVkLWNsdXN0ZXI")


def key(node: int) -> ReplicaKey:
    return ReplicaKey(NodeId(node), DirectoryId(Uuid.of(9, node)))


def without_directory(one: ReplicaKey) -> ReplicaKey:
    return replace(one, directory_id=NO_DIRECTORY)


LISTENERS = (("CONTROLLER", Endpoint("two.example", 9093)), ("SECOND", Endpoint("::1", 65535)))
VOTE = raft.VoteRequest(key(2), Epoch(7), OffsetAndEpoch(Offset(40), Epoch(6)), pre_vote=False, receiver=key(1))
BEGIN = raft.BeginQuorumEpochRequest(NodeId(2), Epoch(7), LISTENERS, key(1))
END = raft.EndQuorumEpochRequest(NodeId(2), Epoch(7), (key(3), key(1)))
FETCH = raft.FetchRequest(key(2), Epoch(7), Offset(40), Epoch(6), Offset(39), 500, 1 << 20)
SNAPSHOT = raft.FetchSnapshotRequest(key(2), Epoch(7), OffsetAndEpoch(Offset(30), Epoch(5)), 4096, 1 << 20)
UPDATE = raft.UpdateVoterRequest(Epoch(7), Voter(key(2), LISTENERS, 0, 1))
ADD = raft.AddVoterRequest(Voter(key(4), LISTENERS))
REMOVE = raft.RemoveVoterRequest(key(3))


def versions(which: ApiKey, lowest: int = 0) -> Iterator[int]:
    served = api(which).versions
    return iter(range(max(lowest, served.lowest), served.highest + 1))


def requests() -> Iterator[Any]:
    """Key, version, what is asked, and what arrives."""
    for v in versions(ApiKey.VOTE):
        yield ApiKey.VOTE, v, VOTE, VOTE if v else replace(VOTE, candidate=without_directory(key(2)), receiver=None)
    yield ApiKey.VOTE, 2, replace(VOTE, pre_vote=True), replace(VOTE, pre_vote=True)
    for v in versions(ApiKey.BEGIN_QUORUM_EPOCH):
        yield ApiKey.BEGIN_QUORUM_EPOCH, v, BEGIN, BEGIN if v else replace(BEGIN, listeners=(), receiver=None)
    for v in versions(ApiKey.END_QUORUM_EPOCH):
        plain = tuple(without_directory(one) for one in END.preferred)
        yield ApiKey.END_QUORUM_EPOCH, v, END, END if v else replace(END, preferred=plain)
    for v in versions(ApiKey.FETCH, lowest=15):  # every Kafka since 3.5 serves 15, every 4.x 17
        replica = key(2) if v >= 17 else without_directory(key(2))
        known = FETCH.high_watermark if v >= 18 else HIGH_WATERMARK_UNUSED
        yield ApiKey.FETCH, v, FETCH, replace(FETCH, replica=replica, high_watermark=known)
    for v in versions(ApiKey.FETCH_SNAPSHOT):
        yield (
            ApiKey.FETCH_SNAPSHOT,
            v,
            SNAPSHOT,
            SNAPSHOT if v else replace(SNAPSHOT, replica=without_directory(key(2))),
        )
    for v in versions(ApiKey.UPDATE_RAFT_VOTER):
        yield ApiKey.UPDATE_RAFT_VOTER, v, UPDATE, UPDATE
    for v in versions(ApiKey.ADD_RAFT_VOTER):
        yield ApiKey.ADD_RAFT_VOTER, v, ADD, ADD
    yield ApiKey.ADD_RAFT_VOTER, 1, replace(ADD, ack_when_committed=False), replace(ADD, ack_when_committed=False)
    for v in versions(ApiKey.REMOVE_RAFT_VOTER):
        yield ApiKey.REMOVE_RAFT_VOTER, v, REMOVE, REMOVE


def to_wire(request: raft.Request) -> Message:
    match request:
        case raft.FetchRequest():
            return raft_fetch_rpc.fetch_to_wire(request, BORDER)
        case raft.FetchSnapshotRequest():
            return raft_fetch_rpc.snapshot_to_wire(request, BORDER)
        case raft.AddVoterRequest() | raft.RemoveVoterRequest() | raft.ApiVersionsRequest():
            return voter_rpc.request_to_wire(request, BORDER, 2000)
        case _:
            return raft_rpc.request_to_wire(request, BORDER)


def from_wire(body: Message, version: int) -> raft.Request | Message:
    match body:
        case FetchRequest():
            return raft_fetch_rpc.fetch_from_wire(body, version, BORDER)
        case FetchSnapshotRequest():
            return raft_fetch_rpc.snapshot_from_wire(body, BORDER)
        case AddRaftVoterRequest() | RemoveRaftVoterRequest():
            return voter_rpc.request_from_wire(body, BORDER)
        case _:
            return raft_rpc.request_from_wire(body, version, BORDER)


@pytest.mark.parametrize(
    ("which", "version", "asked", "arrives"),
    list(requests()),
    ids=lambda value: value.name if isinstance(value, ApiKey) else str(value) if isinstance(value, int) else "",
)
def test_a_request_arrives_as_its_version_can_say_it(
    which: ApiKey, version: int, asked: raft.Request, arrives: raft.Request
) -> None:
    sent = encode(to_wire(asked), version)
    assert from_wire(decode(request_class(which), sent, version), version) == arrives


def test_a_fetch_of_a_replica_that_knows_no_topic_ids_is_refused() -> None:
    """As by Kafka: the metadata topic is asked for by its id."""
    topic = FetchTopic(topic="__cluster_metadata", partitions=(FetchPartition(current_leader_epoch=7),))
    arrived = decode(FetchRequest, encode(FetchRequest(cluster_id=BORDER.cluster_id, topics=(topic,)), 12), 12)
    assert from_wire(arrived, 12) == FetchResponse(error_code=42)


@pytest.mark.parametrize("version", [13, 14])
def test_a_fetch_of_an_old_replica_is_understood(version: int) -> None:
    """Below 15 the replica's id stands at the top."""
    partition = FetchPartition(
        partition=0, current_leader_epoch=7, fetch_offset=40, last_fetched_epoch=6, partition_max_bytes=0
    )
    topic = FetchTopic(topic="__cluster_metadata", topic_id=METADATA_TOPIC_ID, partitions=(partition,))
    old = FetchRequest(cluster_id=BORDER.cluster_id, replica_id=2, max_wait_ms=500, max_bytes=1 << 20, topics=(topic,))
    arrived = decode(FetchRequest, encode(old, version), version)
    expected = replace(FETCH, replica=without_directory(key(2)), high_watermark=HIGH_WATERMARK_UNUSED)
    assert from_wire(arrived, version) == expected


@pytest.mark.parametrize(
    ("asked", "version"), [(replace(VOTE, pre_vote=True), 1), (replace(ADD, ack_when_committed=False), 0)]
)
def test_what_an_old_version_would_misunderstand_is_not_sent(asked: raft.Request, version: int) -> None:
    """PV-10: a pre-vote must not be taken for a vote; the caller hears that the version is too old."""
    with pytest.raises(UnsupportedField):
        encode(to_wire(asked), version)


AT = BORDER.leader_endpoint


def responses() -> Iterator[Any]:
    for v in versions(ApiKey.VOTE):
        vote = raft.VoteResponse(RaftError.NONE, Epoch(7), NodeId(2), granted=False, leader_endpoint=AT)
        yield ApiKey.VOTE, v, vote, vote if v else replace(vote, leader_endpoint=None)
    for v in versions(ApiKey.BEGIN_QUORUM_EPOCH):
        begin = raft.BeginQuorumEpochResponse(RaftError.FENCED_LEADER_EPOCH, Epoch(7), NodeId(2), AT)
        yield ApiKey.BEGIN_QUORUM_EPOCH, v, begin, begin if v else replace(begin, leader_endpoint=None)
    for v in versions(ApiKey.END_QUORUM_EPOCH):
        end = raft.EndQuorumEpochResponse(RaftError.NONE, Epoch(7), NodeId(2), AT)
        yield ApiKey.END_QUORUM_EPOCH, v, end, end if v else replace(end, leader_endpoint=None)
    for v in versions(ApiKey.FETCH, lowest=12):
        divergence = OffsetAndEpoch(Offset(11), Epoch(3))
        fetch = raft.FetchResponse(RaftError.NONE, Epoch(7), NodeId(2), Offset(30), Offset(4), divergence)
        yield ApiKey.FETCH, v, fetch, replace(fetch, leader_endpoint=AT) if v >= 17 else fetch
        offer = replace(fetch, diverging=None, snapshot_id=OffsetAndEpoch(Offset(9), Epoch(2)))
        yield ApiKey.FETCH, v, offer, replace(offer, leader_endpoint=AT) if v >= 17 else offer
    for v in versions(ApiKey.FETCH_SNAPSHOT):
        slice_ = raft.FetchSnapshotResponse(
            RaftError.NONE, Epoch(7), NodeId(2), SNAPSHOT.snapshot_id, 5000, 4096, b"abc"
        )
        yield ApiKey.FETCH_SNAPSHOT, v, slice_, replace(slice_, leader_endpoint=AT) if v else slice_
    update = raft.UpdateVoterResponse(RaftError.VOTER_NOT_FOUND, Epoch(7), NodeId(2), AT)
    yield ApiKey.UPDATE_RAFT_VOTER, 0, update, update
    for v in versions(ApiKey.ADD_RAFT_VOTER):
        added = raft.AddVoterResponse(RaftError.DUPLICATE_VOTER, "is already part")
        yield ApiKey.ADD_RAFT_VOTER, v, added, added
    removed = raft.RemoveVoterResponse(RaftError.NONE, None)
    yield ApiKey.REMOVE_RAFT_VOTER, 0, removed, removed


def response_to_wire(response: raft.Response, version: int) -> Message:
    match response:
        case raft.FetchResponse():
            return raft_fetch_rpc.fetch_response_to_wire(response, version, BORDER)
        case raft.FetchSnapshotResponse():
            return raft_fetch_rpc.snapshot_response_to_wire(response, version, BORDER)
        case raft.AddVoterResponse() | raft.RemoveVoterResponse():
            return voter_rpc.response_to_wire(response)
        case raft.ApiVersionsResponse():
            raise AssertionError("not told by consensus")
        case _:
            return raft_rpc.response_to_wire(response, version, BORDER)


def response_from_wire(body: Message) -> raft.Response:
    match body:
        case FetchResponse():
            return raft_fetch_rpc.fetch_response_from_wire(body)
        case FetchSnapshotResponse():
            return raft_fetch_rpc.snapshot_response_from_wire(body, SNAPSHOT)
        case _:
            try:
                return voter_rpc.response_from_wire(body)
            except raft_rpc.PeerProtocolError:
                return raft_rpc.response_from_wire(body)


@pytest.mark.parametrize(
    ("which", "version", "told", "heard"),
    list(responses()),
    ids=lambda value: value.name if isinstance(value, ApiKey) else str(value) if isinstance(value, int) else "",
)
def test_an_answer_is_heard_as_its_version_can_say_it(
    which: ApiKey, version: int, told: raft.Response, heard: raft.Response
) -> None:
    sent = encode(response_to_wire(told, version), version)
    assert response_from_wire(decode(response_class(which), sent, version)) == heard


def test_an_answer_that_names_no_leader_names_no_address() -> None:
    """The node may know a leader of its own epoch, but it speaks of another one here."""
    body: Any = raft_rpc.response_to_wire(raft.VoteResponse(RaftError.NONE, Epoch(8), None, granted=False), 2, BORDER)
    assert body.node_endpoints == ()


def test_an_answer_without_words_gets_kafkas() -> None:
    timed_out: Any = voter_rpc.response_to_wire(raft.AddVoterResponse(RaftError.REQUEST_TIMED_OUT))
    left: Any = voter_rpc.response_to_wire(raft.RemoveVoterResponse(RaftError.NOT_LEADER_OR_FOLLOWER))
    at_once: Any = voter_rpc.response_to_wire(raft.RemoveVoterResponse(RaftError.NOT_LEADER_OR_FOLLOWER, ""))
    assert timed_out.error_message == "The request timed out."
    assert left.error_message.startswith("For requests intended only for the leader")
    assert (at_once.error_code, at_once.error_message) == (6, "")


@pytest.mark.parametrize("version", [3, 4])
def test_a_new_voter_tells_its_versions_of_kraft_version(version: int) -> None:
    """RCF-05: version 3 leaves out features whose lowest level is 0 (KAFKA-17011), so it says nothing about
    kraft.version.
    """
    asked = voter_rpc.request_to_wire(raft.ApiVersionsRequest(), BORDER, 2000)
    assert isinstance(decode(ApiVersionsRequest, encode(asked, version), version), ApiVersionsRequest)
    features = (SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1),) if version > 3 else ()
    told = ApiVersionsResponse(supported_features=features)
    heard = voter_rpc.response_from_wire(decode(ApiVersionsResponse, encode(told, version), version))
    assert heard == raft.ApiVersionsResponse(RaftError.NONE, (0, 1) if version > 3 else None)


def test_a_foreign_cluster_is_refused_with_both_ids() -> None:
    for asked in (AddRaftVoterRequest(cluster_id="other"), RemoveRaftVoterRequest(cluster_id="other")):
        refused: Any = voter_rpc.request_from_wire(asked, NOBODY_KNOWN)
        assert refused.error_code == 104
        assert refused.error_message == f'The given id "other" doesn\'t match the cluster id "{BORDER.cluster_id}"'


def test_an_unknown_voter_field_value_is_not_taken_for_a_directory() -> None:
    """A zero uuid is no directory: consensus refuses it with Kafka's words."""
    request = voter_rpc.request_from_wire(RemoveRaftVoterRequest(cluster_id=None, voter_id=3), BORDER)
    assert request == raft.RemoveVoterRequest(ReplicaKey(NodeId(3), NO_DIRECTORY))
