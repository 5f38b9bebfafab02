"""Fetching a snapshot when the log does not reach back far enough, and serving one (KIP-630).

The follower asks for the file piece by piece, by position; when all of it is frozen on disk, its log begins anew at the
snapshot's end. Any doubt (another id, another position, any error) leads back to Fetch, which names the snapshot that
is wanted now. Every chunk counts as contact on both sides.
"""

from __future__ import annotations

from controller_runtime.identifiers import Instant, Offset, OffsetAndEpoch
from controller_runtime.raft.effects import LoadSnapshot, Reply, ReplySnapshot, ResetLog, WriteSnapshot
from controller_runtime.raft.messages import FetchSnapshotRequest, FetchSnapshotResponse, RaftError
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.replication import check_epoch
from controller_runtime.raft.roles import FetchingSnapshot, Follower, Leader
from controller_runtime.raft.voter_set import VoterSet


def next_chunk(q: Quorum, fetching: FetchingSnapshot) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(
        q.config.key, q.epoch, fetching.snapshot_id, fetching.position, q.config.snapshot_max_bytes
    )


def on_snapshot_request(q: Quorum, token: int, request: FetchSnapshotRequest, now: Instant) -> None:
    error = check_epoch(q, request.epoch)
    if error is RaftError.NONE and request.snapshot_id not in q.log.snapshots:
        error = RaftError.SNAPSHOT_NOT_FOUND
    if error is RaftError.NONE and request.position < 0:
        error = RaftError.POSITION_OUT_OF_RANGE
    if error is not RaftError.NONE:
        q.out.append(Reply(token, FetchSnapshotResponse(error, q.epoch, q.leader_id, request.snapshot_id)))
        return
    leader = q.role
    assert isinstance(leader, Leader), "check_epoch lets only leaders pass"
    voter = leader.voters.get(request.replica.node_id)
    if voter is not None and q.voters.match(request.replica) is not None:
        voter.last_contact = now
        voter.next_begin = q.after(now, q.config.fetch_timeout_ms / 2)
    me = q.config.node_id
    q.out.append(
        ReplySnapshot(
            token, q.epoch, me, snapshot_id=request.snapshot_id, position=request.position, max_bytes=request.max_bytes
        )
    )


def on_snapshot_response(q: Quorum, response: FetchSnapshotResponse, now: Instant) -> bool:
    """An error, or bytes for a question that is not open any more, ends the transfer. False: it brought nothing."""
    role = q.role
    assert isinstance(role, Follower), "a change of role abandons the questions of a follower"
    fetching = role.snapshot
    assert fetching is not None, "who fetches no snapshot asks for no chunk"
    fits = response.snapshot_id == fetching.snapshot_id and response.position == fetching.position
    grows = bool(response.data) and fetching.position + len(response.data) <= response.size
    if response.error is not RaftError.NONE or not fits or not grows:
        q.drop_snapshot(role)
        return False
    role.fetch_deadline = q.after(now, q.config.fetch_timeout_ms)
    role.has_fetched = True
    fetching.position += len(response.data)
    fetching.written = fetching.position == response.size
    q.out.append(WriteSnapshot(fetching.snapshot_id, response.position, response.data, fetching.written))
    return True


def on_snapshot_loaded(q: Quorum, snapshot_id: OffsetAndEpoch, kraft_version: int, voters: VoterSet | None) -> None:
    """A fetched snapshot is frozen, and the border has read its control records: the log begins anew at its end.

    A slow disk may freeze several at once: one that was given up with an earlier role says nothing, least of all who
    votes.
    """
    role = q.role
    if not isinstance(role, Follower) or role.snapshot is None or not role.snapshot.written:
        return
    if role.snapshot.snapshot_id != snapshot_id:
        return
    role.snapshot = None
    if snapshot_id.offset <= (q.high_watermark or 0):
        return
    q.log.reset(snapshot_id)
    known = q.leader_listeners()
    q.history.reset(Offset(snapshot_id.offset - 1), kraft_version, voters)
    q.keep_reaching_leader(known)
    q.out.append(ResetLog(snapshot_id))
    q.out.append(LoadSnapshot(snapshot_id))
    q.raise_high_watermark(snapshot_id.offset)
