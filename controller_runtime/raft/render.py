"""Requests, answers and effects as short lines for people: the same in scripts, in the simulator's traces
and in logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from controller_runtime.raft import effects as effect_types
from controller_runtime.raft import messages
from controller_runtime.raft.effects import RaftEffect
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.messages import (
    ControlRecord,
    KRaftVersion,
    LeaderChange,
    QuorumResponse,
    RaftError,
    Request,
    Response,
)
from controller_runtime.raft.voter_set import VoterSet


def render_request(request: Request) -> str:
    match request:
        case messages.VoteRequest():
            kind = "PreVote" if request.pre_vote else "Vote"
            return f"{kind} epoch={request.epoch} last={request.last}"
        case messages.BeginQuorumEpochRequest():
            return f"BeginQuorumEpoch epoch={request.epoch} leader={request.leader_id}"
        case messages.EndQuorumEpochRequest():
            preferred = ",".join(str(key.node_id) for key in request.preferred)
            return f"EndQuorumEpoch epoch={request.epoch} leader={request.leader_id} preferred={preferred}"
        case messages.FetchRequest():
            return (
                f"Fetch epoch={request.epoch} offset={request.offset}@{request.last_epoch} "
                f"hw={_hw(request.high_watermark)}"
            )
        case messages.FetchSnapshotRequest():
            return f"FetchSnapshot epoch={request.epoch} id={request.snapshot_id} position={request.position}"
        case messages.UpdateVoterRequest():
            return f"UpdateVoter epoch={request.epoch} voter={request.voter.key.node_id}"
        case messages.AddVoterRequest():
            return f"AddVoter {request.voter.key.node_id}{'' if request.ack_when_committed else ' ack=appended'}"
        case messages.RemoveVoterRequest():
            return f"RemoveVoter {request.key.node_id}"
        case messages.ApiVersionsRequest():
            return "ApiVersions"
        case _ as unknown:
            assert_never(unknown)


def render_response(response: Response) -> str:
    name = type(response).__name__
    error = "" if response.error is RaftError.NONE else f" {response.error.name}"
    match response:
        case messages.AddVoterResponse(_, message) | messages.RemoveVoterResponse(_, message):
            return f"{name}{error}" + (f": {message}" if message else "")
        case messages.ApiVersionsResponse():
            return f"{name}{error} kraft.version={response.kraft_versions}"
        case _:
            return _render_quorum_response(response, f"{name}{error}")


def _render_quorum_response(response: QuorumResponse, begin: str) -> str:
    leader = "-" if response.leader_id is None else str(response.leader_id)
    text = f"{begin} epoch={response.epoch} leader={leader}"
    match response:
        case messages.VoteResponse():
            return f"{text} granted={'yes' if response.granted else 'no'}"
        case messages.FetchResponse() if response.diverging is not None:
            return f"{text} diverging={response.diverging}"
        case messages.FetchResponse() if response.snapshot_id is not None:
            return f"{text} snapshot={response.snapshot_id}"
        case messages.FetchResponse():
            return f"{text} hw={_hw(response.high_watermark)}"
        case messages.FetchSnapshotResponse():
            return f"{text} id={response.snapshot_id} {response.position}+{len(response.data)}/{response.size}"
        case _:
            return text


def render_control(record: ControlRecord) -> str:
    match record:
        case LeaderChange(leader, voters, granting):
            return f"LeaderChange({leader}, voters {_ids(voters)}, granting {_ids(granting)})"
        case KRaftVersion(level):
            return f"KRaftVersion({level})"
        case VoterSet():
            return f"Voters({_ids(record.ids)})"


def render_effect(effect: RaftEffect) -> str:
    match effect:
        case effect_types.SaveElection(state):
            return f"save {render_election(state)}"
        case effect_types.Append(batches):
            epochs = sorted({batch.epoch for batch in batches})
            return f"append {batches[0].base_offset}..{batches[-1].end_offset} of epoch {_ids(epochs)}"
        case effect_types.AppendControl(base, epoch, records):
            return f"append {base} in epoch {epoch}: {', '.join(map(render_control, records))}"
        case effect_types.Truncate(end):
            return f"truncate to {end}"
        case effect_types.ResetLog(snapshot):
            return f"reset log to snapshot {snapshot}"
        case effect_types.DropSnapshotPart(snapshot):
            return f"drop the part of snapshot {snapshot}"
        case effect_types.WriteSnapshot(snapshot, position, data, last):
            return f"write snapshot {snapshot} {position}+{len(data)}{' and freeze' if last else ''}"
        case effect_types.Send(_, _, to, endpoint, request):
            return f"-> {endpoint if to is None else to} {render_request(request)}"
        case effect_types.Abandon(number):
            return f"abandon call {number}"
        case effect_types.Reply(_, response):
            return f"reply {render_response(response)}"
        case effect_types.ReplyRecords(_, response, offset):
            return f"reply {render_response(response)} from {offset}"
        case effect_types.ReplySnapshot():
            return f"reply snapshot {effect.snapshot_id} from {effect.position}"
        case effect_types.AdvanceHighWatermark(offset):
            return f"committed to {offset}"
        case effect_types.StartLeading(epoch):
            return f"starts to lead epoch {epoch}"
        case effect_types.StopLeading(epoch):
            return f"leads epoch {epoch} no more"
        case effect_types.LoadSnapshot(snapshot):
            return f"load snapshot {snapshot}"
        case effect_types.Note(text):
            return f"note: {text}"
        case effect_types.ReadyToStop():
            return "may stop"
        case effect_types.Fault(reason):
            return f"FAULT {reason}"
        case _ as unknown:
            assert_never(unknown)


def render_election(state: ElectionState) -> str:
    leader = "-" if state.leader_id is None else str(state.leader_id)
    voted = "-" if state.voted_key is None else str(state.voted_key.node_id)
    return f"epoch={state.epoch} leader={leader} voted={voted}"


def _hw(offset: int) -> str:
    return "?" if offset < 0 or offset == messages.HIGH_WATERMARK_UNUSED else str(offset)


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))
