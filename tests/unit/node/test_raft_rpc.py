"""Recorded traffic of Apache Kafka's quorum, turned into raft's values and back: nothing that consensus
needs is lost.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from controller_runtime.identifiers import Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from controller_runtime.node.quorum import raft_fetch_rpc, raft_rpc
from controller_runtime.node.quorum.raft_rpc import Border
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.framing import decode_request, decode_response, encode_request
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from controller_runtime.protocol.messages.vote_request import VoteRequest as WireVoteRequest
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages as raft
from controller_runtime.raft.messages import RaftError
from support.golden import json_lines

pytestmark = pytest.mark.unit

APIS = ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "UpdateRaftVoter", "Fetch", "FetchSnapshot")


@cache
def recorded(api: str) -> list[tuple[int, int, bytes, bytes]]:
    """Key, version, request and response frames between Kafka's controllers and from its brokers."""
    rows = [*json_lines("wire/cluster.jsonl.gz"), *json_lines("wire/static-voters.jsonl.gz")]
    return [
        (row["api_key"], row["version"], bytes.fromhex(row["request"]["hex"]), bytes.fromhex(row["response"]["hex"]))
        for row in rows
        if row["listener"] == "controller" and row["api"] == api
    ]


def border_of(body: Any) -> Border:
    nodes = getattr(body, "node_endpoints", ())
    at = Endpoint(nodes[0].host, nodes[0].port) if nodes else None
    return Border(getattr(body, "cluster_id", None) or "", at)


def there_and_back(body: Message, version: int) -> Message:
    border = border_of(body)
    match body:
        case FetchRequest():
            asked = raft_fetch_rpc.fetch_from_wire(body, version, border)
            assert isinstance(asked, raft.FetchRequest)
            return raft_fetch_rpc.fetch_to_wire(asked, border)
        case FetchSnapshotRequest():
            wanted = raft_fetch_rpc.snapshot_from_wire(body, border)
            assert isinstance(wanted, raft.FetchSnapshotRequest)
            return raft_fetch_rpc.snapshot_to_wire(wanted, border)
        case _:
            request = raft_rpc.request_from_wire(body, version, border)
            assert not isinstance(request, Message), request
            return raft_rpc.request_to_wire(request, border)


@pytest.mark.parametrize("api", APIS)
def test_requests_of_kafkas_nodes_come_back_as_they_were(api: str) -> None:
    rows = recorded(api)
    assert rows
    for _, version, request, _ in rows:
        body = decode_request(request).body
        again: Any = there_and_back(body, version)
        if api == "EndQuorumEpoch":  # Both forms are filled; the encoder drops the one that the version lacks.
            again = decode_request(reencoded(again, version)).body
        assert again == body


def reencoded(body: Message, version: int) -> bytes:
    return encode_request(body, version, 1, "raft", with_length=False)


@pytest.mark.parametrize("api", ["Vote", "BeginQuorumEpoch", "EndQuorumEpoch"])
def test_responses_of_kafkas_nodes_come_back_as_they_were(api: str) -> None:
    for key, version, _, response in recorded(api):
        body = decode_response(response, key, version).body
        assert raft_rpc.response_to_wire(raft_rpc.response_from_wire(body), version, border_of(body)) == body


def test_fetch_responses_of_kafkas_leaders_are_understood() -> None:
    batches = 0
    for key, version, _, response in recorded("Fetch"):
        body = decode_response(response, key, version).body
        assert isinstance(body, FetchResponse)
        if body.error_code:
            continue
        told = raft_fetch_rpc.fetch_response_from_wire(body)
        records = body.responses[0].partitions[0].records or b""
        assert b"".join(batch.data for batch in told.batches) == records
        again = raft_fetch_rpc.fetch_response_to_wire(told, version, border_of(body), records)
        assert decode(FetchResponse, encode(again, version), version) == body
        batches += len(told.batches)
    assert batches > 10


def test_snapshot_responses_of_kafkas_leaders_are_understood() -> None:
    for key, version, request, response in recorded("FetchSnapshot"):
        asked_body = decode_request(request).body
        assert isinstance(asked_body, FetchSnapshotRequest)
        asked = raft_fetch_rpc.snapshot_from_wire(asked_body, border_of(asked_body))
        assert isinstance(asked, raft.FetchSnapshotRequest)
        body = decode_response(response, key, version).body
        assert isinstance(body, FetchSnapshotResponse)
        told = raft_fetch_rpc.snapshot_response_from_wire(body, asked)
        if not body.error_code:
            assert raft_fetch_rpc.snapshot_response_to_wire(told, version, border_of(body)) == body


def test_a_request_of_another_cluster_is_refused_before_consensus_sees_it() -> None:
    request = WireVoteRequest(cluster_id="another")
    refused: Any = raft_rpc.request_from_wire(request, 2, Border("mine"))
    assert refused.error_code == 104


def test_an_answer_without_a_partition_is_an_error_of_the_peer() -> None:
    from controller_runtime.protocol.messages.vote_response import VoteResponse

    with pytest.raises(raft_rpc.PeerProtocolError):
        raft_rpc.response_from_wire(VoteResponse())


def test_every_raft_error_has_a_number_and_an_unknown_number_is_an_unknown_error() -> None:
    for error in RaftError:
        assert raft_rpc.raft_error(raft_rpc.error_code(error)) is error
    assert raft_rpc.raft_error(9999) is RaftError.UNKNOWN_SERVER_ERROR


def batch(base: int, count: int = 2) -> bytes:
    return encode_batch(
        [Record(base + n, 0, None, b"v") for n in range(count)], base_offset=base, partition_leader_epoch=3
    )


def test_batches_before_the_first_bad_one_are_taken() -> None:
    bad = bytearray(batch(2))
    bad[-1] ^= 1
    taken = raft_fetch_rpc.checked_batches(batch(0) + bytes(bad) + batch(4))
    assert [(b.base_offset, b.end_offset, b.epoch) for b in taken] == [(0, 2, 3)]


def test_a_batch_with_a_gap_in_its_offsets_is_not_taken() -> None:
    records = [Record(0, 0, None, b"v"), Record(2, 0, None, b"v")]
    assert raft_fetch_rpc.checked_batches(encode_batch(records, base_offset=0)) == ()


def test_a_cut_tail_is_left_for_the_next_fetch() -> None:
    assert len(raft_fetch_rpc.checked_batches(batch(0) + batch(2)[:-3])) == 1


def test_a_vote_without_a_receiver_is_for_anybody() -> None:
    asked = raft.VoteRequest(ReplicaKey(NodeId(1)), Epoch(3), OffsetAndEpoch(Offset(4), Epoch(2)), False)
    body: Any = raft_rpc.request_to_wire(asked, Border("mine"))
    assert raft_rpc.request_from_wire(body, 0, Border("mine")) == asked
