"""AddRaftVoter: an observer that has caught up becomes a voter.

Its node is asked for its versions first, at the address that it is to have: so what enters the voter set can be reached
and understands the finalized kraft.version. It must have been caught up once, and have fetched within the last hour;
else a larger majority would be needed that nobody new can help to reach.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Instant, ReplicaKey
from controller_runtime.raft.effects import Lane, Reply
from controller_runtime.raft.events import Failure
from controller_runtime.raft.membership.reconfiguration import (
    RaftRefusal,
    end_change,
    is_complete,
    key_text,
    keys_text,
    why_not_now,
    write_voters,
)
from controller_runtime.raft.messages import (
    AddVoterRequest,
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RaftError,
)
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.replication import check_epoch
from controller_runtime.raft.roles import Adding, Leader
from controller_runtime.raft.voter_set import Listeners, Voter, VoterSet
from controller_runtime.values import replace

RECENT_FETCH_MS: Final = 3_600_000

FAILURES: Final = {
    Failure.REFUSED: "BROKER_NOT_AVAILABLE",
    Failure.DISCONNECTED: "BROKER_NOT_AVAILABLE",
    Failure.TIMED_OUT: "REQUEST_TIMED_OUT",
    Failure.UNSUPPORTED: "UNSUPPORTED_VERSION",
    Failure.INVALID: "UNKNOWN_SERVER_ERROR",
}
"""Kafka's names for a question that has no answer."""


def on_add_request(q: Quorum, token: int, request: AddVoterRequest, now: Instant) -> None:
    refused = _why_not(q, request.voter)
    leader = q.role
    if refused is not None or not isinstance(leader, Leader):
        error, words = refused or (RaftError.NOT_LEADER_OR_FOLLOWER, "")
        q.out.append(Reply(token, AddVoterResponse(error, words)))
        return
    key, endpoint = request.voter.key, request.voter.endpoint(q.config.listener)
    assert endpoint is not None, "the default listener was checked"
    call = q.try_send(
        now,
        Lane.CONTROL,
        key.node_id,
        endpoint=endpoint,
        request=ApiVersionsRequest(),
        timeout_ms=q.config.request_timeout_ms,
    )
    if not call:
        words = f"New voter {key_text(key)} is not ready to receive requests"
        q.out.append(Reply(token, AddVoterResponse(RaftError.REQUEST_TIMED_OUT, words)))
        return
    deadline = q.after(now, q.config.request_timeout_ms)
    leader.change = Adding(token, request.voter, request.ack_when_committed, deadline, call)


def _why_not(q: Quorum, voter: Voter) -> RaftRefusal | None:
    error = check_epoch(q, q.epoch)
    leader = q.role
    if error is not RaftError.NONE or not isinstance(leader, Leader):
        return error, ""
    if not is_complete(voter.key):
        return RaftError.INVALID_REQUEST, "Add voter request didn't include a valid voter"
    if voter.endpoint(q.config.listener) is None:
        words = (
            f"Add voter request didn't include the endpoint ({_endpoints_text(voter.listeners)}) "
            f"for the default listener ListenerName({q.config.listener})"
        )
        return RaftError.INVALID_REQUEST, words
    refused = why_not_now(q, leader, "adding")
    if refused is None and q.voters.by_id(voter.key.node_id) is not None:
        words = f"The voter id for {key_text(voter.key)} is already part of the set of voters {keys_text(q.voters)}."
        return RaftError.DUPLICATE_VOTER, words
    return refused


def _endpoints_text(listeners: Listeners) -> str:
    entries = ", ".join(f"ListenerName({name})={at.host}/<unresolved>:{at.port}" for name, at in listeners)
    return f"Endpoints(endpoints={{{entries}}})"


def on_versions_response(q: Quorum, call: int, response: ApiVersionsResponse, now: Instant) -> None:
    leader, adding = _asking(q, call)
    if leader is None or adding is None:
        return
    if response.error is not RaftError.NONE:
        _abort(q, leader, response.error.name)
        return
    key, level = adding.voter.key, q.history.kraft_version
    lowest, highest = response.kraft_versions or (0, 0)
    if response.kraft_versions is None or not lowest <= level <= highest:
        known = "(min: 0, max: 0)" if response.kraft_versions is None else f"(min: {lowest}, max: {highest}"
        words = (
            f"Aborted add voter operation for {key_text(key)} since the kraft.version range {known} "
            f"doesn't support the finalized version {level}"
        )
        end_change(q, leader, RaftError.INVALID_REQUEST, words)
    elif not _has_caught_up(q, leader, key, now):
        words = f"Aborted add voter operation for {key_text(key)} since it is lagging behind"
        end_change(q, leader, RaftError.REQUEST_TIMED_OUT, words)
    else:
        voter = replace(adding.voter, min_kraft_version=lowest, max_kraft_version=highest)
        _write(q, leader, adding, voter, now)


def on_versions_failed(q: Quorum, call: int, why: Failure) -> None:
    leader, adding = _asking(q, call)
    if leader is not None and adding is not None:
        _abort(q, leader, FAILURES[why])


def _asking(q: Quorum, call: int) -> tuple[Leader | None, Adding | None]:
    """The change that this question belongs to, if it is still wanted."""
    leader = q.role
    if isinstance(leader, Leader) and isinstance(leader.change, Adding):
        adding = leader.change
        if adding.call == call and adding.offset is None:
            return leader, adding
    return None, None


def _abort(q: Quorum, leader: Leader, error: str) -> None:
    words = f"Aborted add voter operation for since API_VERSIONS returned an error {error}"
    end_change(q, leader, RaftError.REQUEST_TIMED_OUT, words)


def _has_caught_up(q: Quorum, leader: Leader, key: ReplicaKey, now: Instant) -> bool:
    seen = leader.observers.get(key)
    if seen is None or seen.last_caught_up is None or seen.last_fetch is None:
        return False
    return q.after(seen.last_fetch, RECENT_FETCH_MS) > now


def _write(q: Quorum, leader: Leader, adding: Adding, voter: Voter, now: Instant) -> None:
    adding.offset = write_voters(q, leader, VoterSet.of([*q.voters.voters, voter]), now)
    if not adding.ack_when_committed and adding.token is not None:
        q.out.append(Reply(adding.token, AddVoterResponse(RaftError.NONE)))
        adding.token = None
