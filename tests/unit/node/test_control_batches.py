"""Control records: what consensus writes is what Kafka reads, and back; the golden first batch of a real quorum is
understood.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, Offset, ReplicaKey, Uuid, WallClock
from controller_runtime.node.quorum.control_batches import MalformedVoters, decode_control_batch, encode_control_batch
from controller_runtime.protocol.control_records import control_record
from controller_runtime.protocol.messages.voters_record import Voter as RecordVoter
from controller_runtime.protocol.messages.voters_record import VotersRecord
from controller_runtime.protocol.record_batch import decode_batches, encode_batch
from controller_runtime.raft.messages import KRaftVersion, LeaderChange
from controller_runtime.raft.voter_set import Voter, VoterSet
from support.golden import GOLDEN

pytestmark = pytest.mark.unit


def test_what_a_first_leader_writes_is_read_back() -> None:
    key = ReplicaKey(NodeId(1), DirectoryId(Uuid.of(4, 1)))
    voters = VoterSet.of([Voter(key, (("CONTROLLER", Endpoint("a", 9093)), ("INTERNAL", Endpoint("b", 1))), 0, 1)])
    records = (LeaderChange(NodeId(1), (NodeId(1),), (NodeId(1),)), KRaftVersion(1), voters)
    (batch,) = decode_batches(encode_control_batch(Offset(40), Epoch(3), records, WallClock(7)))
    assert batch.header.is_control
    assert batch.header.partition_leader_epoch == 3
    assert decode_control_batch(batch) == ((40, records[0]), (41, records[1]), (42, records[2]))


def test_the_first_batch_of_a_real_quorum_is_rewritten_byte_for_byte() -> None:
    data = (GOLDEN / "cluster/controller-1/__cluster_metadata-0" / f"{0:020}.log").read_bytes()
    first = decode_batches(data)[0]
    controls = decode_control_batch(first)
    assert [type(record).__name__ for _, record in controls] == ["LeaderChange", "KRaftVersion", "VoterSet"]
    header = first.header
    epoch, wall = Epoch(header.partition_leader_epoch), WallClock(header.base_timestamp)
    assert encode_control_batch(Offset(0), epoch, [record for _, record in controls], wall) == first.data


def test_a_voter_set_with_a_node_twice_is_refused() -> None:
    twice = VotersRecord(voters=(RecordVoter(voter_id=1), RecordVoter(voter_id=1)))
    data = encode_batch([control_record(twice, offset=0, timestamp=0)], is_control=True)
    with pytest.raises(MalformedVoters, match="twice"):
        decode_control_batch(decode_batches(data)[0])
