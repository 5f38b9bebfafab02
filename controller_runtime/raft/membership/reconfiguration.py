"""What every change of the voters has in common: when it may begin, when it is done, when it is given up (KIP-853).

One change at a time: a new set is appended only when the last one is committed, and it differs by one voter, so any two
consecutive sets share a majority. It takes effect when it is appended; its asker hears of it when it is committed, or
that its time is up, which says nothing about the outcome. A leader that is not in the committed set any more resigns:
until then it leads, though it does not count itself.
"""

from __future__ import annotations

from controller_runtime.identifiers import NO_DIRECTORY, Instant, NodeId, Offset, ReplicaKey
from controller_runtime.raft.effects import Reply
from controller_runtime.raft.leadership import append_control, resign, sync_voters
from controller_runtime.raft.messages import AddVoterResponse, RaftError, RemoveVoterResponse
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Adding, Leader, Removing
from controller_runtime.raft.voter_set import VoterSet

RaftRefusal = tuple[RaftError, str]
"""An error and Kafka's words for it."""

IN_PROGRESS = "Request timed out waiting for leader to handle previous voter change request"
NO_HIGH_WATERMARK = "Request timed out waiting for leader to establish HWM and fence previous voter changes"


def why_not_now(q: Quorum, leader: Leader, doing: str) -> RaftRefusal | None:
    """Why no voter can be added or removed now, judged in Kafka's order; None if it can."""
    hw, changed_at = leader.high_watermark, q.history.latest_offset
    if leader.change is not None:
        return RaftError.REQUEST_TIMED_OUT, IN_PROGRESS
    if hw is None:
        return RaftError.REQUEST_TIMED_OUT, NO_HIGH_WATERMARK
    level = q.history.kraft_version
    if level < 1:
        words = f"Cluster doesn't support {doing} voter because the kraft.version feature is {level}"
        return RaftError.UNSUPPORTED_VERSION, words
    if changed_at is None or changed_at >= hw:
        at = "Optional.empty" if changed_at is None else f"Optional[{changed_at}]"
        words = f"Request timed out waiting for voters to commit the latest voter change at {at} with HWM {hw}"
        return RaftError.REQUEST_TIMED_OUT, words
    return None


def write_voters(q: Quorum, leader: Leader, voters: VoterSet, now: Instant) -> Offset:
    """Append the next set, which counts from now on; the offset of its record."""
    assert voters.overlaps(q.voters), f"{q.voters.ids} -> {voters.ids}: more than one voter changes"
    assert voters.ids, "an empty set could never commit anything"
    offset = q.log.end_offset
    append_control(q, (voters,))
    sync_voters(q, leader, now)
    return offset


def poll_change(q: Quorum, leader: Leader, now: Instant) -> None:
    """Tell the asker what became of its change; leave if this node was voted out."""
    change, hw = leader.change, leader.high_watermark
    if change is not None and change.offset is not None and hw is not None and change.offset < hw:
        end_change(q, leader, RaftError.NONE)
    elif change is not None and now >= change.deadline:
        end_change(q, leader, RaftError.REQUEST_TIMED_OUT)
    elif change is not None:
        q.wake(change.deadline)
    changed_at = q.history.latest_offset
    if not q.is_voter and changed_at is not None and hw is not None and changed_at < hw:
        q.note(f"node {q.config.node_id} is no voter any more: resigning from epoch {leader.epoch}")
        resign(q, leader, now)


def end_change(q: Quorum, leader: Leader, error: RaftError, message: str | None = None) -> None:
    """The change is over for its asker. A set that was written stays, committed or not."""
    change, leader.change = leader.change, None
    assert change is not None, "there is a change to end"
    if change.token is not None:
        q.out.append(Reply(change.token, change_response(change, error, message)))


def change_response(
    change: Adding | Removing, error: RaftError, message: str | None = None
) -> AddVoterResponse | RemoveVoterResponse:
    kind = AddVoterResponse if isinstance(change, Adding) else RemoveVoterResponse
    return kind(error, message)


# Kafka's way of writing things down.


def key_text(key: ReplicaKey) -> str:
    directory = "<undefined>" if key.directory_id == NO_DIRECTORY else key.directory_id
    return f"ReplicaKey(id={key.node_id}, directoryId={directory})"


def keys_text(voters: VoterSet) -> str:
    return f"[{', '.join(key_text(voter.key) for voter in voters.voters)}]"


def is_complete(key: ReplicaKey) -> bool:
    """Whether a key names one replica: a node and its directory."""
    return key.node_id >= NodeId(0) and key.directory_id != NO_DIRECTORY
