"""RemoveRaftVoter: one voter less, named by node id and directory id.

The smaller set counts as soon as it is appended. The last voter cannot be removed. A leader may remove itself: it
leads, without counting itself, until the set is committed (`reconfiguration.poll_change`).
"""

from __future__ import annotations

from controller_runtime.identifiers import Instant, ReplicaKey
from controller_runtime.raft.effects import Reply
from controller_runtime.raft.membership.reconfiguration import (
    RaftRefusal,
    is_complete,
    key_text,
    keys_text,
    why_not_now,
    write_voters,
)
from controller_runtime.raft.messages import RaftError, RemoveVoterRequest, RemoveVoterResponse
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.replication import check_epoch
from controller_runtime.raft.roles import Leader, Removing


def on_remove_request(q: Quorum, token: int, request: RemoveVoterRequest, now: Instant) -> None:
    refused = _why_not(q, request.key)
    leader = q.role
    if refused is not None or not isinstance(leader, Leader):
        error, words = refused or (RaftError.NOT_LEADER_OR_FOLLOWER, "")
        q.out.append(Reply(token, RemoveVoterResponse(error, words)))
        return
    offset = write_voters(q, leader, q.voters.without(request.key.node_id), now)
    leader.change = Removing(token, offset, q.after(now, q.config.request_timeout_ms))


def _why_not(q: Quorum, key: ReplicaKey) -> RaftRefusal | None:
    error = check_epoch(q, q.epoch)
    leader = q.role
    if error is not RaftError.NONE or not isinstance(leader, Leader):
        return error, ""
    if not is_complete(key):
        return RaftError.INVALID_REQUEST, "Remove voter request didn't include a valid voter"
    refused = why_not_now(q, leader, "removing")
    if refused is None and (not q.voters.has_exactly(key) or len(q.voters) == 1):
        words = f"Cannot remove voter {key_text(key)} from the set of voters {keys_text(q.voters)}"
        return RaftError.VOTER_NOT_FOUND, words
    return refused
