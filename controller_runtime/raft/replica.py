"""One replica of the log: events and the time go in, effects come out.

`step` handles one event wholly, then lets the role do what is due (`_poll`): stand, ask, tell, fetch. So requests are
sent in one place, and `next_deadline` is simply the earliest moment at which that place would do more. Whatever is not
from the current epoch and role is ignored; ignoring is always safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from controller_runtime.identifiers import Endpoint, Epoch, Instant, NodeId, Offset
from controller_runtime.raft import (
    adding,
    election,
    following,
    hearsay,
    joining,
    leadership,
    reconfiguration,
    removing,
    replication,
    snapshot_transfer,
    updating,
    upgrading,
)
from controller_runtime.raft.calls import Call
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.counters import Counters
from controller_runtime.raft.describe import QuorumDescription, ReplicaStatus, describe, status
from controller_runtime.raft.effects import (
    Fault,
    Lane,
    Note,
    RaftEffect,
    ReadyToStop,
    Reply,
    ReplyRecords,
    ReplySnapshot,
    SaveElection,
)
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import (
    CallEnded,
    ConnectionLost,
    Failure,
    Flushed,
    LeaderAppend,
    LogShortened,
    RaftEvent,
    RequestArrived,
    Resign,
    ResponseArrived,
    Shutdown,
    SnapshotFetched,
    SnapshotTaken,
    Tick,
    UpgradeKRaftVersion,
)
from controller_runtime.raft.hearsay import hears_leader
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import (
    AddVoterRequest,
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumResponse,
    RaftError,
    RemoveVoterRequest,
    RemoveVoterResponse,
    Request,
    Response,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoteRequest,
    VoteResponse,
)
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.restart import restore
from controller_runtime.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from controller_runtime.raft.transitions import IllegalTransition
from controller_runtime.raft.voter_set import Listeners, VoterHistory, VoterSet
from controller_runtime.values import dataclass

_WORDS = (Note, Reply, ReplyRecords, ReplySnapshot)
"""Effects that only tell something: without them nobody knows more than before."""
MAX_TURNS = 8
"""A role may lead to the next within one step (a sole voter passes through three); more than this many is a bug."""


@dataclass(frozen=True, slots=True)
class Untouched:
    """What a replica was before a step; see `take_back`."""

    mark: tuple[object, ...]
    wake_at: Instant | None
    call: Call | None
    """What an answer is about: it ends with the answer."""


class Replica:
    """The consensus of one node. Not thread-safe; calls nobody."""

    def __init__(
        self,
        config: RaftConfig,
        stored: ElectionState | None,
        log: LogView,
        history: VoterHistory,
        now: Instant,
        jitter: Callable[[], float],
    ) -> None:
        self._q: Quorum = restore(config, stored, log, history, now, jitter)

    # Driving it.

    def start(self, now: Instant) -> list[RaftEffect]:
        return self._finish(now)

    def step(self, event: RaftEvent, now: Instant) -> list[RaftEffect]:
        self._q.silence_counts = isinstance(event, Tick)
        try:
            self._dispatch(event, now)
            return self._finish(now)
        except IllegalTransition as illegal:
            if isinstance(event, RequestArrived | ResponseArrived):
                raise  # Perhaps its sender has to pay.
            self._q.out.clear()  # Nothing of a step that went wrong may leave.
            return [Fault(str(illegal))]

    def look(self, event: RequestArrived | ResponseArrived) -> Untouched:
        """Before a step with what another node says, in case it raises."""
        call = self._q.calls.in_flight.get(event.call) if isinstance(event, ResponseArrived) else None
        return Untouched(self._q.mark(), self._q.wake_at, call)

    def take_back(
        self, before: Untouched, event: RequestArrived | ResponseArrived, effects: Iterable[RaftEffect]
    ) -> bool:
        """The step raised, or doing these effects of it. True: nothing had changed, and it is as if the message had
        never come.

        False: the node must not go on.
        """
        q = self._q
        if q.mark() != before.mark or not all(isinstance(effect, _WORDS) for effect in (*q.out, *effects)):
            return False
        q.out.clear()
        q.wake_at = before.wake_at
        if before.call is not None and isinstance(event, ResponseArrived):
            q.calls.reopen(event.call, before.call)
        return True

    def next_deadline(self) -> Instant | None:
        return self._q.wake_at

    # What others may know.

    @property
    def epoch(self) -> Epoch:
        return self._q.epoch

    @property
    def role(self) -> Role:
        """To look at, not to change."""
        return self._q.role

    @property
    def is_leader(self) -> bool:
        return isinstance(self._q.role, Leader)

    @property
    def leader_id(self) -> NodeId | None:
        """Who can be asked; nobody any more once this node resigned."""
        return None if isinstance(self._q.role, Resigned) else self._q.leader_id

    def leader_endpoint(self, listener: str) -> Endpoint | None:
        return self._q.leader_endpoint(listener)

    @property
    def leader_listeners(self) -> Listeners:
        return self._q.leader_listeners()

    @property
    def high_watermark(self) -> Offset | None:
        return self._q.high_watermark

    @property
    def log(self) -> LogView:
        """To look at, not to change."""
        return self._q.log

    @property
    def voters(self) -> VoterSet:
        return self._q.voters

    @property
    def voter_history(self) -> VoterHistory:
        """To look at, not to change."""
        return self._q.history

    @property
    def is_voter(self) -> bool:
        return self._q.is_voter

    def upgrade_fault(self, level: int) -> str | None:
        """Why kraft.version cannot become `level` now; None if it can, or is that already."""
        return upgrading.upgrade_fault(self._q, level)

    def hears_leader(self, now: Instant) -> bool:
        """Whether this node leads, or heard the leader within the fetch timeout; for readiness."""
        return hears_leader(self._q, now)

    def status(self, now: Instant) -> ReplicaStatus:
        """What metrics tell; cheap enough for every scrape."""
        return status(self._q, now)

    @property
    def counters(self) -> Counters:
        """To look at, not to change."""
        return self._q.counters

    def describe(self, now: Instant) -> QuorumDescription | None:
        """Everything a leader knows of its replicas; None from any other role."""
        return describe(self._q, now)

    # Events.

    def _dispatch(self, event: RaftEvent, now: Instant) -> None:
        q = self._q
        match event:
            case RequestArrived(token, request):
                self._on_request(token, request, now)
            case ResponseArrived(number, response):
                call = q.calls.end(number)
                if call is not None:
                    self._on_response(number, call, response, now)
            case CallEnded(number, why):
                self._on_call_ended(number, why, now)
            case ConnectionLost(endpoint):
                following.on_connection_lost(q, endpoint, now)
            case Flushed(end_offset):
                self._on_flushed(end_offset)
            case LeaderAppend(epoch, batches):
                replication.on_leader_append(q, epoch, batches)
            case SnapshotFetched(snapshot_id, kraft_version, voters):
                snapshot_transfer.on_snapshot_loaded(q, snapshot_id, kraft_version, voters)
            case SnapshotTaken(snapshot_id):
                q.log.taken(snapshot_id)
            case LogShortened(snapshot_id):
                q.log.delete_before(snapshot_id)
                q.history.forget_before(snapshot_id.offset)
            case UpgradeKRaftVersion(epoch, level):
                upgrading.on_upgrade(q, epoch, level, now)
            case Resign(epoch):
                if isinstance(q.role, Leader) and q.role.epoch == epoch:
                    leadership.resign(q, q.role, now)
            case Shutdown():
                self._on_shutdown(now)
            case Tick():
                pass
            case _ as unknown:
                assert_never(unknown)

    def _on_request(self, token: int, request: Request, now: Instant) -> None:
        q = self._q
        match request:
            case VoteRequest():
                election.on_vote_request(q, token, request, now)
            case BeginQuorumEpochRequest():
                leadership.on_begin_request(q, token, request, now)
            case EndQuorumEpochRequest():
                leadership.on_end_request(q, token, request, now)
            case FetchRequest():
                replication.on_fetch_request(q, token, request, now)
            case FetchSnapshotRequest():
                snapshot_transfer.on_snapshot_request(q, token, request, now)
            case UpdateVoterRequest():
                updating.on_update_request(q, token, request, now)
            case AddVoterRequest():
                adding.on_add_request(q, token, request, now)
            case RemoveVoterRequest():
                removing.on_remove_request(q, token, request, now)
            case ApiVersionsRequest():
                raise AssertionError("every node answers ApiVersions, without its consensus")
            case _ as unknown:
                assert_never(unknown)

    def _on_response(self, number: int, call: Call, response: Response, now: Instant) -> None:
        q = self._q
        if response.error is RaftError.CLUSTER_AUTHORIZATION_FAILED:
            q.out.append(Fault(f"{call.endpoint} refuses this node: cluster authorisation failed"))
            return
        if response.error is RaftError.INCONSISTENT_CLUSTER_ID:
            words = f"{call.endpoint} belongs to another cluster than this node (cluster.id in meta.properties)"
            if self._is_own_leader(call):
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
                self._on_quorum_response(call, response, now)

    def _is_own_leader(self, call: Call) -> bool:
        """A voter whose leader says so must not go on voting (KIP-595); others may have asked a wrong address."""
        q = self._q
        return q.is_voter and isinstance(q.role, Follower) and call.to == q.role.leader_id

    def _on_quorum_response(self, call: Call, response: QuorumResponse, now: Instant) -> None:
        q = self._q
        role = q.role
        if self._learn_from(response, now) or call.epoch != q.epoch:
            if q.role is role:
                self._back_off(call, response, now)
            return
        asked = call.request
        match response:
            case VoteResponse() if isinstance(asked, VoteRequest) and response.error is RaftError.NONE:
                election.on_vote_response(q, call.to, asked, response, now)
            case FetchResponse() if isinstance(asked, FetchRequest) and response.error is RaftError.NONE:
                if not following.on_fetch_response(q, asked, call.to, response, now):
                    self._back_off(call, response, now)
            case FetchSnapshotResponse():
                if not snapshot_transfer.on_snapshot_response(q, response, now):
                    self._back_off(call, response, now)
            case UpdateVoterResponse():
                updating.on_update_response(q, response)
            case EndQuorumEpochResponse() if response.error is RaftError.NONE:
                leadership.on_end_response(q, call.to)
            case BeginQuorumEpochResponse() if response.error is RaftError.NONE:
                pass
            case _:
                self._back_off(call, response, now)

    def _learn_from(self, response: QuorumResponse, now: Instant) -> bool:
        """Follow a newer epoch or a leader we did not know. True if the answer has nothing more to say."""
        q = self._q
        if response.epoch > q.epoch:
            if hearsay.is_answer_believed(q, response.epoch, now):
                q.learn(response.epoch, response.leader_id, response.leader_endpoint, now)
            return True
        if response.epoch < q.epoch:
            return not isinstance(response, FetchSnapshotResponse) or response.error is RaftError.NONE
        leader = response.leader_id
        if leader is None or leader in (q.leader_id, q.config.node_id):
            return self._learn_endpoint(response, now)
        if isinstance(q.role, Leader | Resigned) or q.leader_id is not None:
            q.note_once(
                f"two leaders of epoch {q.epoch} are reported: {q.leader_id} and {leader}; the later is ignored"
            )
            return True
        q.learn(response.epoch, leader, response.leader_endpoint, now)
        return True

    def _learn_endpoint(self, response: QuorumResponse, now: Instant) -> bool:
        """Unattached with a leader's name only: now its address may be known."""
        q = self._q
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

    def _back_off(self, call: Call, response: QuorumResponse, now: Instant) -> None:
        """An answer that brought nothing: ask the same node again only after a pause."""
        if response.error is not RaftError.NONE or call.lane is Lane.FETCH:
            self._q.calls.pause(call.endpoint, call.lane, self._q.after(now, self._q.config.retry_backoff_ms))

    def _on_call_ended(self, number: int, why: Failure, now: Instant) -> None:
        q = self._q
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

    def _on_flushed(self, end_offset: Offset) -> None:
        q = self._q
        q.log.flushed_offset = max(q.log.flushed_offset, min(end_offset, q.log.end_offset))
        if isinstance(q.role, Leader):
            replication.advance_leader(q, q.role)

    def _on_shutdown(self, now: Instant) -> None:
        q = self._q
        if q.stop_deadline is not None:
            return
        q.stop_deadline = q.after(now, q.config.shutdown_timeout_ms)
        if isinstance(q.role, Leader) and q.others():
            leadership.resign(q, q.role, now)

    # Doing what is due.

    def _finish(self, now: Instant) -> list[RaftEffect]:
        q = self._q
        for _ in range(MAX_TURNS):
            before = q.role
            q.wake_at = None
            self._poll(now)
            if q.role is before:
                break
        else:
            raise AssertionError(f"the roles chase each other in epoch {q.epoch}: {type(q.role).__name__}")
        q.calls.forget_expired(now)
        out, q.out = q.out, []
        return _without_superseded_saves(out)

    def _poll(self, now: Instant) -> None:
        q = self._q
        if q.stop_deadline is not None and self._may_stop(now):
            return
        match q.role:
            case Unattached() as role:
                following.poll_unattached(q, role, now)
            case Prospective() as role:
                election.poll_prospective(q, role, now)
            case Candidate() as role:
                if q.may_stand and election.has_won(q, role.ballot):
                    leadership.become_leader(q, now)
                else:
                    election.poll_candidate(q, role, now)
            case Leader() as role:
                leadership.poll_leader(q, role, now)
                if q.role is role:
                    reconfiguration.poll_change(q, role, now)
            case Follower() as role:
                following.poll_follower(q, role, now)
                if q.role is role and q.is_voter:
                    updating.poll_follower(q, role, now)
                elif q.role is role:
                    joining.poll_observer(q, role, now)
            case Resigned() as role:
                leadership.poll_resigned(q, role, now)
            case _ as unknown:
                assert_never(unknown)

    def _may_stop(self, now: Instant) -> bool:
        """Only who just resigned has something to wait for: its voters' acknowledgement."""
        q = self._q
        assert q.stop_deadline is not None
        role = q.role
        waits = isinstance(role, Resigned) and role.unacknowledged and now < q.stop_deadline
        if not waits:
            if not q.stopped:
                q.out.append(ReadyToStop())
            q.stopped = True
            return True
        q.wake(q.stop_deadline)
        return False


def _without_superseded_saves(effects: list[RaftEffect]) -> list[RaftEffect]:
    """Of saves with nothing between them only the last is needed: nothing that could reveal the earlier ones leaves
    before it.
    """
    kept: list[RaftEffect] = []
    for effect in effects:
        if kept and isinstance(effect, SaveElection) and isinstance(kept[-1], SaveElection):
            kept.pop()
        kept.append(effect)
    return kept
