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
    election,
    following,
    leadership,
    replication,
    responses,
    snapshot_transfer,
    taking_back,
)
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.counters import Counters
from controller_runtime.raft.describe import QuorumDescription, ReplicaStatus, describe, status
from controller_runtime.raft.effects import (
    Fault,
    RaftEffect,
    ReadyToStop,
    SaveElection,
)
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.epoch_claims import hears_leader
from controller_runtime.raft.events import (
    CallEnded,
    ConnectionLost,
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
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.membership import adding, joining, reconfiguration, removing, updating, upgrading
from controller_runtime.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    RemoveVoterRequest,
    Request,
    UpdateVoterRequest,
    VoteRequest,
)
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.restart import restore
from controller_runtime.raft.roles import Candidate, Follower, Leader, Prospective, RaftRole, Resigned, Unattached
from controller_runtime.raft.taking_back import Untouched
from controller_runtime.raft.transitions import IllegalTransition
from controller_runtime.raft.voter_set import Listeners, VoterHistory, VoterSet

MAX_TURNS = 8
"""A role may lead to the next within one step (a sole voter passes through three); more than this many is a bug."""


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
        self._q: Quorum = restore(config, stored, log, history=history, now=now, jitter=jitter)

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
        return taking_back.look(self._q, event)

    def take_back(
        self, before: Untouched, event: RequestArrived | ResponseArrived, effects: Iterable[RaftEffect]
    ) -> bool:
        """The step raised, or performing these effects of it. False: the node must not go on."""
        return taking_back.take_back(self._q, before, event, effects)

    def next_deadline(self) -> Instant | None:
        return self._q.wake_at

    # What others may know.

    @property
    def epoch(self) -> Epoch:
        return self._q.epoch

    @property
    def role(self) -> RaftRole:
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

    @property
    def may_stand(self) -> bool:
        """See `Quorum.may_stand`."""
        return self._q.may_stand

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
                    responses.on_response(q, number, call, response, now)
            case CallEnded(number, why):
                responses.on_call_ended(q, number, why, now)
            case ConnectionLost(endpoint):
                following.on_connection_lost(q, endpoint, now)
            case Flushed(end_offset):
                self._on_flushed(end_offset, now)
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
            case Tick(held_up_s):
                self._on_held_up(held_up_s, now)
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

    def _on_flushed(self, end_offset: Offset, now: Instant) -> None:
        q = self._q
        waited = following.waits_for_disk(q)
        q.log.flushed_offset = max(q.log.flushed_offset, min(end_offset, q.log.end_offset))
        match q.role:
            case Leader() as role:
                replication.advance_leader(q, role)
            case Follower() as role if waited and not following.waits_for_disk(q):
                following.on_disk_caught_up(q, role, now)
            case _:
                pass

    def _on_held_up(self, seconds: float, now: Instant) -> None:
        match self._q.role:
            case Leader() as role if seconds:
                leadership.on_held_up(role, seconds, now)
            case Follower() as role if seconds:
                following.on_held_up(self._q, role, seconds, now)
            case _:
                pass

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
