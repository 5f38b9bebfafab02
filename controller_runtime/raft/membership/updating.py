"""UpdateRaftVoter: a voter corrects its own entry, its endpoints and the versions it understands.

At kraft.version 1 the leader writes a new set of the same voters; at 0 there is nothing in the log to change, and the
leader keeps what was reported to it until the upgrade writes it (`upgrading`). A voter asks whenever its entry is not
what it should be, at version 0 once per leader.
"""

from __future__ import annotations

from controller_runtime.identifiers import Instant
from controller_runtime.raft.effects import Lane, Reply
from controller_runtime.raft.membership.reconfiguration import is_complete, write_voters
from controller_runtime.raft.messages import RaftError, UpdateVoterRequest, UpdateVoterResponse
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.replication import check_epoch
from controller_runtime.raft.roles import Follower, Leader
from controller_runtime.raft.voter_set import Voter


def on_update_request(q: Quorum, token: int, request: UpdateVoterRequest, now: Instant) -> None:
    """Answered as soon as it is written: if the set is lost, the voter sees it in its log and asks again."""
    error = _update(q, request, now)
    q.out.append(Reply(token, UpdateVoterResponse(error, q.epoch, q.leader_id)))


def _update(q: Quorum, request: UpdateVoterRequest, now: Instant) -> RaftError:
    error = check_epoch(q, request.epoch)
    leader, voter, level = q.role, request.voter, q.history.kraft_version
    if error is not RaftError.NONE or not isinstance(leader, Leader):
        return error
    if not is_complete(voter.key) or voter.endpoint(q.config.listener) is None:
        return RaftError.INVALID_REQUEST
    if not _is_change_possible(q, leader):
        return RaftError.REQUEST_TIMED_OUT
    if not voter.min_kraft_version <= level <= voter.max_kraft_version:
        return RaftError.INVALID_REQUEST
    if level == 0:
        return _remember(q, leader, voter, now)
    if not q.voters.has_exactly(voter.key):
        return RaftError.VOTER_NOT_FOUND
    if q.voters.match(voter.key) != voter:
        write_voters(q, leader, q.voters.updated(voter), now)
    _note_contact(leader, voter, now)
    return RaftError.NONE


def _is_change_possible(q: Quorum, leader: Leader) -> bool:
    """No change is under way, the high watermark is known and the latest voters are committed."""
    hw, changed_at = leader.high_watermark, q.history.latest_offset
    return leader.change is None and hw is not None and (changed_at is None or changed_at < hw)


def _remember(q: Quorum, leader: Leader, voter: Voter, now: Instant) -> RaftError:
    """Matched by node id alone: static voters have no directory ids yet."""
    if voter.key.node_id not in q.voters.ids:
        return RaftError.VOTER_NOT_FOUND
    leader.reported[voter.key.node_id] = voter
    progress = leader.voters.get(voter.key.node_id)
    if progress is not None:
        progress.listeners = voter.listeners
    _note_contact(leader, voter, now)
    return RaftError.NONE


def _note_contact(leader: Leader, voter: Voter, now: Instant) -> None:
    """Who corrects its entry is alive: it counts for check-quorum as a Fetch does."""
    progress = leader.voters.get(voter.key.node_id)
    if progress is not None:
        progress.last_contact = now


# The voter's side.


def poll_follower(q: Quorum, role: Follower, now: Instant) -> None:
    """Ask for the correction, again after every fetch timeout until it is answered."""
    if not role.has_fetched or not _wants_update(q, role):
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
    if q.try_send(
        now, Lane.CONTROL, role.leader_id, endpoint=endpoint, request=request, timeout_ms=q.config.request_timeout_ms
    ):
        role.update_voter_at = q.after(now, q.config.fetch_timeout_ms)


def _wants_update(q: Quorum, role: Follower) -> bool:
    """At version 0 the leader knows an entry only from us, so we report it once to every leader; later the voter
    set shows it.
    """
    own = q.voters.match(q.config.key)
    if own is None or not q.is_voter or not q.config.listeners or role.told_entry:
        return False
    return q.history.kraft_version == 0 or own != q.config.voter


def on_update_response(q: Quorum, response: UpdateVoterResponse) -> None:
    """An old leader cannot do it (35): asking again would not help."""
    if isinstance(q.role, Follower) and response.error in (RaftError.NONE, RaftError.UNSUPPORTED_VERSION):
        q.role.told_entry = True
