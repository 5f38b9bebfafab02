"""The state of one replica, and the only ways to change its role.

`enter` checks the change against the table of `transitions`, abandons the calls of the old role, and writes the
election state before anything that follows can leave. The other modules of this package are functions over a `Quorum`:
each is one conversation (votes, fetches, …). Effects are collected in `out`, in order. Nothing here reads a clock:
`now` comes with every call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.identifiers import Endpoint, Epoch, Instant, NodeId, Offset, ReplicaKey
from controller_runtime.raft.calls import Calls, SentRequest
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.counters import Allowance, Counters
from controller_runtime.raft.effects import (
    Abandon,
    AdvanceHighWatermark,
    DropSnapshotPart,
    Lane,
    Note,
    RaftEffect,
    Reply,
    SaveElection,
    Send,
    StopLeading,
    Truncate,
)
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import (
    AddVoterResponse,
    ControlRecord,
    FetchResponse,
    KRaftVersion,
    LogBatch,
    RaftError,
    RemoveVoterResponse,
    Request,
)
from controller_runtime.raft.roles import (
    Adding,
    Candidate,
    Follower,
    Leader,
    Prospective,
    RaftRole,
    Resigned,
    Unattached,
    known_endpoint,
)
from controller_runtime.raft.transitions import check_transition
from controller_runtime.raft.voter_set import Listeners, Voter, VoterHistory, VoterSet

CLAIMED_EPOCHS: Final = 1000
CLAIMED_EPOCHS_PER_SECOND: Final = 10.0
"""How far requests may raise the epoch (`raft.epoch_claims`): using up 2^31 epochs would take seven years."""
ANSWERED_EPOCHS: Final = 1 << 20
ANSWERED_EPOCHS_PER_SECOND: Final = 100.0
"""How far answers may: from a fresh disk into any quorum that had less than a million elections, at once."""


class Quorum:
    """One mutable object per replica."""

    __slots__ = (
        "_judged",
        "_votes",
        "answered_epochs",
        "calls",
        "claimed_epochs",
        "config",
        "counters",
        "high_watermark",
        "history",
        "jitter",
        "leaderless_epoch",
        "log",
        "noted",
        "out",
        "role",
        "rotation",
        "saved",
        "silence_counts",
        "stop_deadline",
        "stopped",
        "wake_at",
    )

    def __init__(
        self, config: RaftConfig, log: LogView, history: VoterHistory, role: RaftRole, jitter: Callable[[], float]
    ) -> None:
        self.config = config
        self.log = log
        self.history = history
        self.role: RaftRole = role
        self.jitter = jitter
        self.calls = Calls()
        self.high_watermark: Offset | None = None
        """What this node knows to be committed; never falls, though a new leader has to find its own anew."""
        self.out: list[RaftEffect] = []
        self.saved: ElectionState | None = None
        self.rotation = 0
        self.silence_counts = False
        """Only a tick comes when everything that had arrived was heard: whoever was itself kept from running must not
        take the others for silent.
        """
        self.stop_deadline: Instant | None = None
        self.stopped = False
        self.noted: set[str] = set()
        self.counters = Counters()
        self.claimed_epochs = Allowance(most=CLAIMED_EPOCHS, per_second=CLAIMED_EPOCHS_PER_SECOND, left=CLAIMED_EPOCHS)
        self.answered_epochs = Allowance(ANSWERED_EPOCHS, ANSWERED_EPOCHS_PER_SECOND, ANSWERED_EPOCHS)
        self.leaderless_epoch = Epoch(-1)
        """The newest that an observer has heard of and not entered, because nobody leads it."""
        self.wake_at: Instant | None = None
        self._judged: VoterSet | None = None
        self._votes = False

    # What is known.

    @property
    def epoch(self) -> Epoch:
        return self.role.epoch

    @property
    def committed_offset(self) -> Offset:
        """What is known to be committed, also after a restart: snapshots, and with them the log's start, never run
        ahead of it.
        """
        latest = self.log.latest_snapshot
        snapshot = Offset(0) if latest is None else latest.offset
        return max(self.log.start_offset, snapshot, self.high_watermark or Offset(0))

    @property
    def voters(self) -> VoterSet:
        """The latest set, committed or not: a set takes effect when it is appended."""
        return self.history.latest

    @property
    def is_voter(self) -> bool:
        voters = self.voters
        if self._judged is not voters:  # asked dozens of times per event; a set never changes
            self._judged = voters
            self._votes = self.config.can_vote and voters.match(self.config.key) is not None
        return self._votes

    @property
    def may_stand(self) -> bool:
        """A voter, or one that the newest set leaves out while that set may not be committed (thesis 4.2.2).

        It may hold the only copy of that set, and a longer log than a voter whose vote is needed and who needs its
        vote. Its own does not count.
        """
        if self.is_voter:
            return True
        sets = self.history.sets
        if not self.config.can_vote or len(sets) < 2 or sets[-1][0] < self.committed_offset:
            return False
        return sets[-2][1].match(self.config.key) is not None

    @property
    def leader_id(self) -> NodeId | None:
        """Who won this epoch, as far as is known: as Kafka's, a leader that resigned still gives its own name."""
        match self.role:
            case Leader() | Resigned():
                return self.config.node_id
            case Unattached(leader_id=leader) | Prospective(leader_id=leader) | Follower(leader_id=leader):
                return leader
            case Candidate():
                return None

    def leader_listeners(self) -> Listeners:
        """Every way that is known to reach the leader."""
        leader = self.leader_id
        if leader is None:
            return ()
        if leader == self.config.node_id:
            return self.config.listeners
        reported = self.role.leader_listeners if isinstance(self.role, Follower | Prospective) else ()
        voter = self.voters.by_id(leader)
        names = {name for name, _ in reported}
        return reported + tuple(entry for entry in (voter.listeners if voter else ()) if entry[0] not in names)

    def leader_endpoint(self, listener: str) -> Endpoint | None:
        """How the leader is reached: what it says itself counts more than the voter set."""
        leader = self.leader_id
        if leader is None:
            return None
        if leader == self.config.node_id:
            return known_endpoint(self.config.listeners, listener)
        if isinstance(self.role, Follower | Prospective):
            reported = known_endpoint(self.role.leader_listeners, listener)
            if reported is not None:
                return reported
        voter = self.voters.by_id(leader)
        return known_endpoint(voter.listeners, listener) if voter else None

    def others(self) -> list[Voter]:
        return [voter for voter in self.voters.voters if voter.key.node_id != self.config.node_id]

    def own_vote_key(self) -> ReplicaKey:
        """How the voter set names this node: without a directory id at kraft.version 0."""
        voter = self.voters.match(self.config.key)
        return voter.key if voter else self.config.key

    # Time.

    def after(self, now: Instant, ms: float) -> Instant:
        return Instant(now + ms / 1000)

    def random_election_deadline(self, now: Instant, base_ms: int | None = None) -> Instant:
        """Uniform in [T, 2T)."""
        base = self.config.election_timeout_ms if base_ms is None else base_ms
        return self.after(now, base * (1 + self.jitter()))

    def wake(self, at: Instant) -> None:
        """Something is to be done then, if nothing happens before."""
        self.wake_at = at if self.wake_at is None else min(self.wake_at, at)

    # Changing role.

    def enter(self, role: RaftRole) -> None:
        check_transition(self.role, role, self.vote_in(role.epoch), is_voter=self.may_stand)
        left = self.role
        self.role = role
        self.out += [Abandon(number) for number in self.calls.abandon_all()]
        self.save()
        if isinstance(left, Follower):
            self.drop_snapshot(left)
        if isinstance(left, Leader):
            self.out.append(StopLeading(left.epoch))
            self._send_away(left)

    def _send_away(self, left: Leader) -> None:
        """This node leads no more: who waits for news should look for the next leader."""
        for token in left.parked:
            response = FetchResponse(RaftError.NOT_LEADER_OR_FOLLOWER, self.epoch, self.leader_id)
            self.out.append(Reply(token, response))
        if left.change is not None and left.change.token is not None:
            kind = AddVoterResponse if isinstance(left.change, Adding) else RemoveVoterResponse
            self.out.append(Reply(left.change.token, kind(RaftError.NOT_LEADER_OR_FOLLOWER)))

    def drop_snapshot(self, role: Follower) -> None:
        """Give up the snapshot that is being fetched, if there is one: files of two leaders may differ in
        their bytes.
        """
        fetching, role.snapshot = role.snapshot, None
        if fetching is not None and fetching.position > 0 and not fetching.written:
            self.out.append(DropSnapshotPart(fetching.snapshot_id))

    def election_state(self) -> ElectionState:
        role = self.role
        leader: NodeId | None = None
        voted: ReplicaKey | None = None
        match role:
            case Unattached() | Prospective() | Follower():
                leader, voted = role.leader_id, role.voted
            case Candidate():
                voted = self.own_vote_key()
            case Leader():
                leader, voted = self.config.node_id, self.own_vote_key()
            case Resigned():
                leader, voted = self.config.node_id, role.voted
        static = self.history.static.ids if self.history.kraft_version == 0 else ()
        return ElectionState(role.epoch, leader, voted, self.history.kraft_version, static)

    def save(self) -> None:
        """Persist the election state if it changed. Prospective and Resigned are not written (kraft-facts 3.2)."""
        if isinstance(self.role, Resigned):
            return
        state = self.election_state()
        if isinstance(self.role, Prospective) and self.saved is not None and state.voted_key == self.saved.voted_key:
            return
        if state != self.saved:
            self.saved = state
            self.out.append(SaveElection(state))

    def become_unattached(self, epoch: Epoch, now: Instant, leader_id: NodeId | None = None) -> None:
        """A higher epoch was seen, or this one has no leader that could be followed. The vote of this epoch is kept."""
        voted = self.vote_in(epoch)
        deadline = self._remaining_deadline() if epoch > self.epoch else None
        self.enter(Unattached(epoch, deadline or self.random_election_deadline(now), leader_id, voted))

    def become_follower(self, epoch: Epoch, leader_id: NodeId, listeners: Listeners, now: Instant) -> None:
        assert leader_id != self.config.node_id, "nobody follows itself"
        deadline = self.after(now, self.config.fetch_timeout_ms)
        self.enter(Follower(epoch, leader_id, listeners, deadline, self.vote_in(epoch)))

    def vote_in(self, epoch: Epoch) -> ReplicaKey | None:
        """The vote cast in `epoch`: what must not be forgotten while the epoch lasts."""
        if epoch != self.epoch:
            return None
        match self.role:
            case Unattached(voted=voted) | Prospective(voted=voted) | Follower(voted=voted) | Resigned(voted=voted):
                return voted
            case Candidate() | Leader():
                return self.own_vote_key()

    def _remaining_deadline(self) -> Instant | None:
        """Who was about to stand keeps its timer when it hears of a higher epoch, else two candidates could chase each
        other.
        """
        match self.role:
            case Unattached(election_deadline=at) | Prospective(election_deadline=at) | Candidate(election_deadline=at):
                return at
            case Leader() | Follower() | Resigned():
                return None

    def learn(self, epoch: Epoch, leader_id: NodeId | None, endpoint: Endpoint | None, now: Instant) -> None:
        """Somebody said who leads `epoch`, which is not below ours, and in which we know no leader yet."""
        if leader_id is None or leader_id == self.config.node_id:
            if epoch > self.epoch:
                self.become_unattached(epoch, now)
            return
        listeners: Listeners = ((self.config.listener, endpoint),) if endpoint else ()
        if self.reachable(leader_id, listeners):
            self.become_follower(epoch, leader_id, listeners, now)
        elif epoch > self.epoch or self.leader_id is None:
            self.become_unattached(epoch, now, leader_id)

    def reachable(self, leader_id: NodeId, listeners: Listeners) -> bool:
        voter = self.voters.by_id(leader_id)
        known = known_endpoint(listeners, self.config.listener)
        return known is not None or (voter is not None and voter.endpoint(self.config.listener) is not None)

    # The log.

    def note_batch(self, batch: LogBatch) -> None:
        """The log grew by a batch; its control records take effect now."""
        self.log.append(batch.base_offset, batch.end_offset, batch.epoch)
        for offset, record in batch.control:
            self.note_control(offset, record)

    def note_control(self, offset: Offset, record: ControlRecord) -> None:
        match record:
            case VoterSet():
                known = self.leader_listeners()
                self.history.add_voters(offset, record)
                self.keep_reaching_leader(known)
            case KRaftVersion(level):
                self.history.add_version(offset, level)
            case _:
                pass

    def truncate(self, end_offset: Offset) -> None:
        known = self.leader_listeners()
        self.log.truncate(end_offset)
        self.history.truncate(end_offset)
        self.keep_reaching_leader(known)
        self.out.append(Truncate(end_offset))

    def keep_reaching_leader(self, known: Listeners) -> None:
        """The voters changed: a leader that removes itself is not among them, but it still has to be fetched from."""
        if isinstance(self.role, Follower) and self.voters.by_id(self.role.leader_id) is None:
            self.role.leader_listeners = known

    def raise_high_watermark(self, offset: Offset) -> None:
        if self.high_watermark is None or offset > self.high_watermark:
            self.high_watermark = offset
            self.out.append(AdvanceHighWatermark(offset))

    # Sending.

    def try_send(
        self, now: Instant, lane: Lane, to: NodeId | None, endpoint: Endpoint, request: Request, timeout_ms: int
    ) -> int:
        """The call's number; 0 if the destination is busy or backing off: then wake up when it is not."""
        if self.calls.is_busy(endpoint, lane):
            return 0
        ready_at = self.calls.ready_at(endpoint, lane)
        if ready_at is not None and ready_at > now:
            self.wake(ready_at)
            return 0
        number = self.calls.begin(SentRequest(lane, to, endpoint, request, self.epoch))
        self.out.append(Send(number, lane, to, endpoint=endpoint, request=request, timeout_ms=timeout_ms))
        return number

    def note(self, text: str) -> None:
        self.out.append(Note(text))

    def note_once(self, text: str, *, alarming: bool = False) -> None:
        """What would be said again and again, or as often as somebody else likes: a bound of 100 different ones."""
        if text not in self.noted and len(self.noted) < 100:
            self.noted.add(text)
            self.out.append(Note(text, alarming))
