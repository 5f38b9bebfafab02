"""What becomes of a call: its answer, or the end of it without one.

An answer is read in this order: does the node that gave it belong to this cluster; does it name a newer epoch, or a
leader that was not known; is it of the epoch in which it was asked for. Only then it is given to the conversation that
asked. Whatever brought nothing is asked again after a pause, so a node that answers nonsense cannot keep us busy.
"""

from __future__ import annotations

from controller_runtime.identifiers import Instant
from controller_runtime.raft import election, epoch_claims, following, leadership, snapshot_transfer
from controller_runtime.raft.calls import SentRequest
from controller_runtime.raft.effects import Fault, Lane
from controller_runtime.raft.events import Failure
from controller_runtime.raft.membership import adding, joining, updating
from controller_runtime.raft.messages import (
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumResponse,
    RaftError,
    RemoveVoterResponse,
    Response,
    UpdateVoterResponse,
    VoteRequest,
    VoteResponse,
)
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Follower, Leader, Resigned, Unattached


def on_response(q: Quorum, number: int, call: SentRequest, response: Response, now: Instant) -> None:
    if response.error is RaftError.CLUSTER_AUTHORIZATION_FAILED:
        q.out.append(Fault(f"grant this node ClusterAction: {call.endpoint} answers CLUSTER_AUTHORIZATION_FAILED"))
        return
    if response.error is RaftError.INCONSISTENT_CLUSTER_ID:
        words = f"{call.endpoint} belongs to another cluster than this node (cluster.id in meta.properties)"
        if _is_own_leader(q, call):
            q.out.append(
                Fault(f"put the disk of this cluster back, or correct controller.quorum.*: the leader {words}")
            )
            return
        q.note_once(words)
    match response:
        case ApiVersionsResponse():
            adding.on_versions_response(q, number, response, now)
        case AddVoterResponse() | RemoveVoterResponse():
            joining.on_join_response(q, response)
        case _:
            on_quorum_response(q, call, response, now)


def _is_own_leader(q: Quorum, call: SentRequest) -> bool:
    """A voter whose leader says so must not go on voting (KIP-595); others may have asked a wrong address."""
    return q.is_voter and isinstance(q.role, Follower) and call.to == q.role.leader_id


def on_quorum_response(q: Quorum, call: SentRequest, response: QuorumResponse, now: Instant) -> None:
    role = q.role
    if _learn_from(q, call, response, now) or call.epoch != q.epoch:
        if q.role is role and not _is_news(q, call, response, now):
            _back_off(q, call, response, now)
        return
    asked = call.request
    match response:
        case VoteResponse() if isinstance(asked, VoteRequest) and response.error is RaftError.NONE:
            election.on_vote_response(q, call.to, asked, response, now)
        case FetchResponse() if isinstance(asked, FetchRequest) and response.error is RaftError.NONE:
            if not following.on_fetch_response(q, asked, call.to, response, now):
                _back_off(q, call, response, now)
        case FetchSnapshotResponse():
            if not snapshot_transfer.on_snapshot_response(q, response, now):
                _back_off(q, call, response, now)
        case UpdateVoterResponse():
            updating.on_update_response(q, response)
        case EndQuorumEpochResponse() if response.error is RaftError.NONE:
            leadership.on_end_response(q, call.to)
        case BeginQuorumEpochResponse() if response.error is RaftError.NONE:
            pass
        case _:
            _back_off(q, call, response, now)


def _learn_from(q: Quorum, call: SentRequest, response: QuorumResponse, now: Instant) -> bool:
    """Follow a newer epoch or a leader we did not know. True if the answer has nothing more to say."""
    if response.epoch > q.epoch:
        if _may_never_have_a_leader(q, call, response):
            return True
        if epoch_claims.is_answer_believed(q, response.epoch, now):
            q.learn(response.epoch, response.leader_id, response.leader_endpoint, now)
        return True
    if response.epoch < q.epoch:
        return not isinstance(response, FetchSnapshotResponse) or response.error is RaftError.NONE
    leader = response.leader_id
    if leader is None or leader in (q.leader_id, q.config.node_id):
        return _learn_endpoint(q, response, now)
    if isinstance(q.role, Leader | Resigned) or q.leader_id is not None:
        q.note_once(f"two leaders of epoch {q.epoch} are reported: {q.leader_id} and {leader}; the later is ignored")
        return True
    q.learn(response.epoch, leader, response.leader_endpoint, now)
    return True


def _is_news(q: Quorum, call: SentRequest, response: QuorumResponse, now: Instant) -> bool:
    """Of an epoch that nobody leads yet: who leads may be known elsewhere, so others are asked at once."""
    if response.epoch <= max(q.epoch, q.leaderless_epoch) or not _may_never_have_a_leader(q, call, response):
        return False
    if not epoch_claims.is_answer_believed(q, response.epoch, now):
        return False
    q.leaderless_epoch = response.epoch
    return True


def _may_never_have_a_leader(q: Quorum, call: SentRequest, response: QuorumResponse) -> bool:
    """Whether an observer should stay below this epoch. A voter that was removed while it stood is in an epoch that
    the quorum has not come to, and an observer that entered it could follow nobody. Nothing is lost by waiting: the
    epoch is entered with its leader. What the observer's own leader says counts at once, for it leads no more.
    """
    is_own_leader = call.to is not None and call.to == q.leader_id
    return response.leader_id is None and not q.is_voter and not is_own_leader


def _learn_endpoint(q: Quorum, response: QuorumResponse, now: Instant) -> bool:
    """Unattached with a leader's name only: now its address may be known."""
    role, endpoint = q.role, response.leader_endpoint
    if (
        isinstance(role, Unattached)
        and role.leader_id is not None
        and endpoint
        and response.leader_id == role.leader_id
    ):
        if role.leader_id != q.config.node_id:
            q.become_follower(role.epoch, role.leader_id, ((q.config.listener, endpoint),), now)
            return True
    return False


def _back_off(q: Quorum, call: SentRequest, response: QuorumResponse, now: Instant) -> None:
    """An answer that brought nothing: ask the same node again only after a pause."""
    if response.error is not RaftError.NONE or call.lane is Lane.FETCH:
        q.calls.pause(call.endpoint, call.lane, q.after(now, q.config.retry_backoff_ms))


def on_call_ended(q: Quorum, number: int, why: Failure, now: Instant) -> None:
    retry_ms = 0 if why is Failure.DISCONNECTED else q.config.retry_backoff_ms
    call = q.calls.end(number, q.after(now, retry_ms))
    if call is None:
        return
    match call.request:
        case FetchRequest() | FetchSnapshotRequest():
            following.on_fetch_failed(q, call.to, why, now)
        case VoteRequest(pre_vote=True) if why is Failure.UNSUPPORTED:
            election.on_pre_vote_unsupported(q, now)
        case VoteRequest() as asked if call.epoch == q.epoch:
            election.on_vote_failed(q, call.to, asked, now)
        case ApiVersionsRequest():
            adding.on_versions_failed(q, number, why)
        case _:
            pass
