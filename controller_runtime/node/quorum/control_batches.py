"""Raft's control records between values and bytes.

Consensus decides what a control batch says; this module knows Kafka's records. Records that consensus does not read
(snapshot header and footer) come back as nothing; a type that nobody knows is an error, because it may change who
votes.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, Offset, ReplicaKey, WallClock
from controller_runtime.protocol.control_records import control_record, decode_control
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.kraft_version_record import KRaftVersionRecord
from controller_runtime.protocol.messages.leader_change_message import LeaderChangeMessage
from controller_runtime.protocol.messages.leader_change_message import Voter as ChangeVoter
from controller_runtime.protocol.messages.voters_record import Endpoint as VoterEndpoint
from controller_runtime.protocol.messages.voters_record import KRaftVersionFeature, VotersRecord
from controller_runtime.protocol.messages.voters_record import Voter as RecordVoter
from controller_runtime.protocol.record_batch import RecordBatch, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.messages import ControlRecord, KRaftVersion, LeaderChange
from controller_runtime.raft.voter_set import Voter, VoterSet


class MalformedVoters(ProtocolError):
    """A voter set that no leader may have written."""


def encode_control_batch(base: Offset, epoch: Epoch, records: Iterable[ControlRecord], wall: WallClock) -> bytes:
    encoded = [
        control_record(to_message(record), offset=base + index, timestamp=wall) for index, record in enumerate(records)
    ]
    return encode_batch(encoded, base_offset=base, partition_leader_epoch=epoch, is_control=True)


def to_message(record: ControlRecord) -> Message:
    match record:
        case LeaderChange(leader_id, voters, granting):
            return LeaderChangeMessage(
                leader_id=leader_id,
                voters=tuple(ChangeVoter(voter_id=voter) for voter in voters),
                granting_voters=tuple(ChangeVoter(voter_id=voter) for voter in granting),
            )
        case KRaftVersion(level):
            return KRaftVersionRecord(kraft_version=level)
        case VoterSet(voters):
            return VotersRecord(voters=tuple(_to_record_voter(voter) for voter in voters))


def _to_record_voter(voter: Voter) -> RecordVoter:
    return RecordVoter(
        voter_id=voter.key.node_id,
        voter_directory_id=voter.key.directory_id,
        endpoints=tuple(VoterEndpoint(name=name, host=at.host, port=at.port) for name, at in voter.listeners),
        kraft_version_feature=KRaftVersionFeature(
            min_supported_version=voter.min_kraft_version, max_supported_version=voter.max_kraft_version
        ),
    )


def decode_control_batch(batch: RecordBatch) -> tuple[tuple[Offset, ControlRecord], ...]:
    """The records that consensus reads, with their offsets. Raises ProtocolError for what it cannot understand."""
    found: list[tuple[Offset, ControlRecord]] = []
    for record in batch.records:
        value = _from_message(decode_control(record).message)
        if value is not None:
            found.append((Offset(record.offset), value))
    return tuple(found)


def _from_message(message: Message) -> ControlRecord | None:
    match message:
        case LeaderChangeMessage():
            voters = tuple(NodeId(voter.voter_id) for voter in message.voters)
            granting = tuple(NodeId(voter.voter_id) for voter in message.granting_voters)
            return LeaderChange(NodeId(message.leader_id), voters, granting)
        case KRaftVersionRecord():
            return KRaftVersion(message.kraft_version)
        case VotersRecord():
            if len({voter.voter_id for voter in message.voters}) < len(message.voters):
                raise MalformedVoters(f"a voter set names a node twice: {[v.voter_id for v in message.voters]}")
            return VoterSet.of(_from_record_voter(voter) for voter in message.voters)
        case _:
            return None


def _from_record_voter(voter: RecordVoter) -> Voter:
    return Voter(
        ReplicaKey(NodeId(voter.voter_id), DirectoryId(voter.voter_directory_id)),
        tuple((at.name, Endpoint(at.host, at.port)) for at in voter.endpoints),
        voter.kraft_version_feature.min_supported_version,
        voter.kraft_version_feature.max_supported_version,
    )
