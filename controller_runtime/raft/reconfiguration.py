"""Changing the voters: so far UpdateRaftVoter, by which a voter corrects its own entry (KIP-853).

One change at a time: a new set is appended only when the last one is committed, so any two consecutive sets share
a majority. At kraft.version 0 there is nothing in the log to change; the leader keeps what it was told in memory, and the
upgrade to version 1 will write it.
"""

from __future__ import annotations

from controller_runtime.identifiers import NO_DIRECTORY, Instant
from controller_runtime.raft.effects import Lane, Reply
from controller_runtime.raft.leadership import append_control, sync_voters
from controller_runtime.raft.messages import RaftError, UpdateVoterRequest, UpdateVoterResponse
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.replication import check_epoch
from controller_runtime.raft.roles import Follower, Leader, PendingChange
from controller_runtime.raft.voter_set import Voter


def on_update_request(q: Quorum, token: int, request: UpdateVoterRequest, now: Instant) -> None:
    """Answered at once if there is nothing to write, else when the new set is committed."""
    error = _check_update(q, request)
    leader = q.role
    if error is RaftError.NONE and isinstance(leader, Leader) and _differs(q, request.voter):
        leader.change = PendingChange(token, q.log.end_offset)
        append_control(q, (q.voters.updated(request.voter),))
        sync_voters(q, leader, now)
        return
    q.out.append(Reply(token, UpdateVoterResponse(error, q.epoch, q.leader_id)))


def _check_update(q: Quorum, request: UpdateVoterRequest) -> RaftError:
    error = check_epoch(q, request.epoch)
    if error is not RaftError.NONE:
        return error
    leader = q.role
    assert isinstance(leader, Leader), "check_epoch lets only leaders pass"
    if not is_change_possible(q, leader):
        return RaftError.REQUEST_TIMED_OUT
    voter = request.voter
    supported = voter.min_kraft_version <= q.history.kraft_version <= voter.max_kraft_version
    if not supported or voter.endpoint(q.config.listener) is None:
        return RaftError.INVALID_REQUEST
    if q.history.kraft_version == 0:
        return _remember(q, leader, voter)
    known = q.voters.match(voter.key)
    if known is None or known.key.directory_id == NO_DIRECTORY:
        return RaftError.VOTER_NOT_FOUND
    return RaftError.NONE


def _differs(q: Quorum, voter: Voter) -> bool:
    return q.history.kraft_version > 0 and q.voters.match(voter.key) != voter


def _remember(q: Quorum, leader: Leader, voter: Voter) -> RaftError:
    if q.voters.by_id(voter.key.node_id) is None:
        return RaftError.VOTER_NOT_FOUND
    progress = leader.voters.get(voter.key.node_id)
    if progress is not None:
        progress.listeners = voter.listeners
    return RaftError.NONE


def is_change_possible(q: Quorum, leader: Leader) -> bool:
    """No change is under way, the high watermark is known and the latest voters are committed."""
    hw, changed_at = leader.high_watermark, q.history.latest_offset
    return leader.change is None and hw is not None and (changed_at is None or changed_at < hw)


def poll_follower(q: Quorum, now: Instant) -> None:
    """A voter whose entry is not what it wants to be tells the leader, again after every fetch timeout until it is heard."""
    role = q.role
    if not isinstance(role, Follower) or not role.has_fetched or not _wants_update(q, role):
        return
    if role.update_voter_at is None:
        role.update_voter_at = now
    if now < role.update_voter_at:
        q.wake(role.update_voter_at)
        return
    endpoint = q.leader_endpoint(q.config.listener)
    if endpoint is None:
        return
    request = UpdateVoterRequest(q.epoch, q.config.voter)
    if q.try_send(now, Lane.CONTROL, role.leader_id, endpoint, request, q.config.request_timeout_ms):
        role.update_voter_at = q.after(now, q.config.fetch_timeout_ms)
        q.wake(role.update_voter_at)


def _wants_update(q: Quorum, role: Follower) -> bool:
    """At version 0 the leader knows an entry only from us, so every leader is told once; later the voter set shows it."""
    own = q.voters.match(q.config.key)
    if own is None or not q.is_voter or not q.config.listeners or role.told_entry:
        return False
    return q.history.kraft_version == 0 or own != q.config.voter


def on_update_response(q: Quorum, response: UpdateVoterResponse) -> None:
    """An old leader cannot do it (35): asking again would not help."""
    if isinstance(q.role, Follower) and response.error in (RaftError.NONE, RaftError.UNSUPPORTED_VERSION):
        q.role.told_entry = True
