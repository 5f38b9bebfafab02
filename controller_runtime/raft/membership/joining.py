"""A controller that makes itself a voter (KIP-1186), if `controller.quorum.auto.join.enable` says so.

An observer of a quorum with kraft.version 1 asks the leader to add it. If the set has its node id with another
directory id, the node lost its disk: that entry can never vote again, so the node asks to remove it first. At most one
question per fetch timeout; the leader decides, as for any other asker. Brokers never ask.
"""

from __future__ import annotations

from controller_runtime.identifiers import Instant
from controller_runtime.raft.effects import Lane
from controller_runtime.raft.messages import (
    AddVoterRequest,
    AddVoterResponse,
    RaftError,
    RemoveVoterRequest,
    RemoveVoterResponse,
)
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Follower

EXPECTED = (
    RaftError.NONE,
    RaftError.REQUEST_TIMED_OUT,
    RaftError.DUPLICATE_VOTER,
    RaftError.VOTER_NOT_FOUND,
    RaftError.NOT_LEADER_OR_FOLLOWER,
)
"""What may well happen on the way; anything else is reported, once."""


def poll_observer(q: Quorum, role: Follower, now: Instant) -> None:
    if not role.has_fetched or not wants_to_join(q):
        return
    if role.update_voter_at is None:
        role.update_voter_at = q.after(now, q.config.fetch_timeout_ms)
    endpoint = q.leader_endpoint(q.config.listener)
    if now < role.update_voter_at or endpoint is None:
        q.wake(role.update_voter_at)
        return
    stale = q.voters.by_id(q.config.node_id)
    request = (
        AddVoterRequest(q.config.voter, ack_when_committed=False) if stale is None else RemoveVoterRequest(stale.key)
    )
    if q.try_send(
        now, Lane.CONTROL, role.leader_id, endpoint=endpoint, request=request, timeout_ms=q.config.request_timeout_ms
    ):
        role.update_voter_at = q.after(now, q.config.fetch_timeout_ms)


def wants_to_join(q: Quorum) -> bool:
    config = q.config
    return config.auto_join and config.can_vote and q.history.kraft_version > 0 and not q.is_voter


def on_join_response(q: Quorum, response: AddVoterResponse | RemoveVoterResponse) -> None:
    """That it worked is seen in the log; that it did not, after the next fetch timeout."""
    if response.error not in EXPECTED:
        q.note_once(f"the leader does not let this node join: {response.error.name} {response.message or ''}".rstrip())
