"""A peer that lies: what a stranger, a removed voter or a broken leader may say. Each lie is one message that an honest
node never sends.

`requests` are told to a node by somebody who is no voter, or speaks in a voter's name about what cannot be. `tampered`
replaces what a leader sends to its followers. What a voter alone can know, nobody can check (a vote that it gave to
another, records that it holds and lost): Raft believes its voters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from controller_runtime.identifiers import (
    METADATA_TOPIC_ID,
    DirectoryId,
    Epoch,
    NodeId,
    Offset,
    OffsetAndEpoch,
    ReplicaKey,
    Uuid,
    WallClock,
)
from controller_runtime.node.quorum import raft_fetch_rpc, raft_rpc
from controller_runtime.node.quorum.control_batches import encode_control_batch
from controller_runtime.node.quorum.raft_rpc import Border
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.record_batch import Record, batch_headers, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages as raft
from controller_runtime.raft.voter_set import Voter, VoterSet
from support.simulation.fleet import CLUSTER_ID, LISTENER, endpoint_of
from support.simulation.machine import Machine

STRANGER: Final = ReplicaKey(NodeId(77), DirectoryId(Uuid.of(0xBAD, 77)))
LAST_EPOCH: Final = Epoch(2**31 - 1)

Lie = Callable[[Machine, ReplicaKey], Message]
"""Made for the node that hears it; the key is that of a voter that was removed, or of nobody."""


def vote_of_the_last_epoch(hears: Machine, removed: ReplicaKey) -> Message:
    return _vote(hears, removed, LAST_EPOCH, pre_vote=False)


def vote_of_the_next_epoch(hears: Machine, removed: ReplicaKey) -> Message:
    """A removed voter stands again and again: it must not depose a leader that the quorum hears."""
    return _vote(hears, removed, Epoch(_epoch(hears) + 1), pre_vote=False)


def pre_vote_of_a_later_epoch(hears: Machine, removed: ReplicaKey) -> Message:
    return _vote(hears, removed, Epoch(_epoch(hears) + 1000), pre_vote=True)


def fetch_at_an_offset_that_never_was(hears: Machine, removed: ReplicaKey) -> Message:
    return _fetch(removed, _epoch(hears), Offset(1_000_000))


def fetch_of_a_future_epoch(hears: Machine, removed: ReplicaKey) -> Message:
    return _fetch(removed, Epoch(_epoch(hears) + 5), Offset(1))


def fetch_of_a_removed_voter_counts_for_nothing(hears: Machine, removed: ReplicaKey) -> Message:
    assert hears.node is not None
    return _fetch(removed, _epoch(hears), hears.node.meta.end_offset)


def snapshot_that_does_not_exist(hears: Machine, removed: ReplicaKey) -> Message:
    request = raft.FetchSnapshotRequest(removed, _epoch(hears), OffsetAndEpoch(Offset(12345), Epoch(3)), 0)
    return raft_fetch_rpc.snapshot_to_wire(request, Border(CLUSTER_ID, None))


def leadership_of_this_epoch(hears: Machine, removed: ReplicaKey) -> Message:
    return _begin(hears, removed, _epoch(hears))


def leadership_of_the_last_epoch(hears: Machine, removed: ReplicaKey) -> Message:
    return _begin(hears, removed, LAST_EPOCH)


def end_of_somebody_elses_epoch(hears: Machine, removed: ReplicaKey) -> Message:
    return _wire(raft.EndQuorumEpochRequest(removed.node_id, _epoch(hears), (removed,)))


def entry_of_a_node_that_does_not_vote(hears: Machine, removed: ReplicaKey) -> Message:
    voter = Voter(removed, ((LISTENER, endpoint_of(NodeId(1))),), 0, 1)
    return _wire(raft.UpdateVoterRequest(_epoch(hears), voter))


def vote_for_another_cluster(hears: Machine, removed: ReplicaKey) -> Message:
    request = raft.VoteRequest(removed, Epoch(_epoch(hears) + 1), _far(hears), pre_vote=False)
    return raft_rpc.request_to_wire(request, Border("another-cluster-0000000", None))


REQUESTS: Final[tuple[Lie, ...]] = (
    vote_of_the_last_epoch,
    vote_of_the_next_epoch,
    pre_vote_of_a_later_epoch,
    fetch_at_an_offset_that_never_was,
    fetch_of_a_future_epoch,
    fetch_of_a_removed_voter_counts_for_nothing,
    snapshot_that_does_not_exist,
    leadership_of_this_epoch,
    leadership_of_the_last_epoch,
    end_of_somebody_elses_epoch,
    entry_of_a_node_that_does_not_vote,
    vote_for_another_cluster,
)


def _epoch(hears: Machine) -> Epoch:
    assert hears.node is not None
    return hears.node.meta.replica.epoch


def _far(hears: Machine) -> OffsetAndEpoch:
    """A log that nobody could refuse."""
    assert hears.node is not None
    return OffsetAndEpoch(Offset(hears.node.meta.end_offset + 1000), _epoch(hears))


def _wire(
    request: raft.VoteRequest | raft.BeginQuorumEpochRequest | raft.EndQuorumEpochRequest | raft.UpdateVoterRequest,
) -> Message:
    return raft_rpc.request_to_wire(request, Border(CLUSTER_ID, None))


def _vote(hears: Machine, liar: ReplicaKey, epoch: Epoch, *, pre_vote: bool) -> Message:
    return _wire(raft.VoteRequest(liar, epoch, _far(hears), pre_vote, hears.key))


def _begin(hears: Machine, liar: ReplicaKey, epoch: Epoch) -> Message:
    listeners = ((LISTENER, endpoint_of(NodeId(1))),)
    return _wire(raft.BeginQuorumEpochRequest(liar.node_id, epoch, listeners, hears.key))


def _fetch(liar: ReplicaKey, epoch: Epoch, offset: Offset) -> Message:
    request = raft.FetchRequest(liar, epoch, offset, epoch, raft.HIGH_WATERMARK_UNKNOWN, 0)
    return raft_fetch_rpc.fetch_to_wire(request, Border(CLUSTER_ID, None))


# What a leader sends.

Tamper = Callable[[bytes], bytes]
"""Changes the records of a Fetch response; they are whole batches."""


def with_a_wrong_checksum(records: bytes) -> bytes:
    return records[:-1] + bytes([records[-1] ^ 0x40])


def with_a_gap(records: bytes) -> bytes:
    """The first batch is missing."""
    headers = list(batch_headers(records))
    rest = records[headers[0].end_position :]
    return rest or _batch(headers[0].next_offset, headers[0].partition_leader_epoch)


def with_a_batch_twice(records: bytes) -> bytes:
    first = next(iter(batch_headers(records)))
    return records[: first.end_position] * 2


def from_a_future_epoch(records: bytes) -> bytes:
    first = next(iter(batch_headers(records)))
    return _batch(first.base_offset, first.partition_leader_epoch + 7)


def cut_in_the_middle(records: bytes) -> bytes:
    return records[: len(records) // 2]


def with_two_voters_of_one_id(records: bytes) -> bytes:
    first = next(iter(batch_headers(records)))
    twin = Voter(STRANGER, ((LISTENER, endpoint_of(NodeId(1))),), 0, 1)
    other = Voter(ReplicaKey(STRANGER.node_id, DirectoryId(Uuid.of(0xBAD, 78))), twin.listeners, 0, 1)
    return _voters(first.base_offset, first.partition_leader_epoch, VoterSet((twin, other)))


def with_voters_that_share_no_majority(records: bytes) -> bytes:
    first = next(iter(batch_headers(records)))
    stranger = Voter(STRANGER, ((LISTENER, endpoint_of(NodeId(1))),), 0, 1)
    return _voters(first.base_offset, first.partition_leader_epoch, VoterSet((stranger,)))


TAMPERS: Final[tuple[Tamper, ...]] = (
    with_a_wrong_checksum,
    with_a_gap,
    with_a_batch_twice,
    from_a_future_epoch,
    cut_in_the_middle,
    with_two_voters_of_one_id,
    with_voters_that_share_no_majority,
)


def _batch(base: int, epoch: int) -> bytes:
    record = Record(base, 0, None, b"\x00\x00\x00")
    return encode_batch([record], base_offset=base, partition_leader_epoch=epoch)


def _voters(base: int, epoch: int, voters: VoterSet) -> bytes:
    return encode_control_batch(Offset(base), Epoch(epoch), (voters,), WallClock(0))


def tampered(response: Message, tamper: Tamper) -> Message:
    """A Fetch response with changed records; anything else as it is."""
    if not isinstance(response, FetchResponse) or not response.responses:
        return response
    topic = response.responses[0]
    partition = topic.partitions[0]
    if not partition.records or topic.topic_id != METADATA_TOPIC_ID:
        return response
    changed = replace(partition, records=tamper(partition.records))
    return replace(response, responses=(replace(topic, partitions=(changed,)),))
