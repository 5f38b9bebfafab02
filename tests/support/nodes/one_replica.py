"""One bare replica, node 1 of a voter set, and a test that plays all others, request by request.

one = One(); one.become_leader(); answer = one.ask(fetch(2, one.epoch, 1))

Its disk is fast: what is appended is flushed at once, unless `slow_disk` is set. Jitter is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from controller_runtime.identifiers import (
    NO_DIRECTORY,
    DirectoryId,
    Endpoint,
    Epoch,
    Instant,
    NodeId,
    Offset,
    OffsetAndEpoch,
    ReplicaKey,
    Uuid,
)
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import (
    CallEnded,
    Failure,
    Flushed,
    LeaderAppend,
    RaftEvent,
    RequestArrived,
    ResponseArrived,
    Tick,
)
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.roles import RaftRole
from controller_runtime.raft.voter_set import (
    BOOTSTRAP_OFFSET,
    Listeners,
    Voter,
    VoterHistory,
    VoterSet,
    static_voters,
)

R = TypeVar("R")
LISTENER = "CONTROLLER"


def directory(node: int) -> DirectoryId:
    return DirectoryId(Uuid.of(9, abs(node)))


def key(node: int, *, other_disk: bool = False, no_disk: bool = False) -> ReplicaKey:
    if no_disk:
        return ReplicaKey(NodeId(node), NO_DIRECTORY)
    return ReplicaKey(NodeId(node), directory(node + 100 if other_disk else node))


def endpoint(node: int) -> Endpoint:
    return Endpoint(f"n{node}", 9093)


def listeners(node: int) -> Listeners:
    return ((LISTENER, endpoint(node)),)


def voter(node: int) -> Voter:
    return Voter(key(node), listeners(node), 0, 1)


def at(offset: int, epoch: int) -> OffsetAndEpoch:
    return OffsetAndEpoch(Offset(offset), Epoch(epoch))


def batch(base: int, end: int, epoch: int) -> m.LogBatch:
    return m.LogBatch(Offset(base), Offset(end), Epoch(epoch), b"x" * 10)


def vote(
    node: int, epoch: int, last: OffsetAndEpoch, *, pre: bool = False, to: ReplicaKey | None = None,
    candidate: ReplicaKey | None = None,
) -> m.VoteRequest:  # fmt: skip
    return m.VoteRequest(candidate or key(node), Epoch(epoch), last, pre, to)


def fetch(
    node: int, epoch: int, offset: int, last_epoch: int | None = None, *, wait_ms: int = 0, hw: int | None = None,
    replica: ReplicaKey | None = None,
) -> m.FetchRequest:  # fmt: skip
    known = m.HIGH_WATERMARK_UNUSED if hw is None else Offset(hw)
    last = epoch if last_epoch is None else last_epoch
    return m.FetchRequest(replica or key(node), Epoch(epoch), Offset(offset), Epoch(last), known, wait_ms)


@dataclass
class One:
    voters: tuple[int, ...] = (1, 2, 3)
    log: tuple[tuple[int, int], ...] = ()
    """(end offset, epoch), ascending."""
    saved: ElectionState | None = None
    jitter: float = 0.5
    can_vote: bool = True
    static: bool = False
    """kraft.version 0: the voters are those of `controller.quorum.voters`, by id and address."""
    bootstrap: tuple[int, ...] = ()
    slow_disk: bool = False
    config: dict[str, int] = field(default_factory=dict)
    now: Instant = Instant(1000.0)
    calls: dict[int, e.Send] = field(default_factory=dict)
    """Requests of the replica that nobody has answered."""
    out: list[e.RaftEffect] = field(default_factory=list)
    """Everything that it wanted, ever."""
    token: int = 0

    def __post_init__(self) -> None:
        view, base = LogView(), 0
        for end, epoch in self.log:
            view.append(Offset(base), Offset(end), Epoch(epoch))
            base = end
        view.flushed_offset = view.end_offset
        history = VoterHistory(static_voters(LISTENER, ((NodeId(n), endpoint(n)) for n in self.voters if self.static)))
        if not self.static:
            history.reset(BOOTSTRAP_OFFSET, 1, VoterSet.of(voter(n) for n in self.voters))
        config = RaftConfig(
            NodeId(1), directory(1), listeners=listeners(1), can_vote=self.can_vote,
            bootstrap=tuple(endpoint(n) for n in self.bootstrap), **self.config,  # type: ignore[arg-type]
        )  # fmt: skip
        self.replica = Replica(config, self.saved, view, history, self.now, lambda: self.jitter)
        self._take(self.replica.start(self.now))

    # What it is.

    @property
    def role(self) -> RaftRole:
        return self.replica.role

    @property
    def epoch(self) -> Epoch:
        return self.replica.epoch

    @property
    def end(self) -> Offset:
        return self.replica.log.end_offset

    def seen(self, kind: type[R]) -> list[R]:
        return [effect for effect in self.out if isinstance(effect, kind)]

    def asked(self, kind: type[m.Request]) -> list[e.Send]:
        """Its requests of this kind that wait for an answer, by target."""
        found = [send for send in self.calls.values() if isinstance(send.request, kind)]
        return sorted(found, key=lambda send: send.endpoint.host)

    # What happens to it.

    def step(self, event: RaftEvent) -> list[e.RaftEffect]:
        return self._take(self.replica.step(event, self.now))

    def ask(self, request: m.Request) -> m.Response | e.ReplyRecords | e.ReplySnapshot | None:
        """Its answer; None while it keeps the asker waiting (see `answer_to`)."""
        self.token += 1
        self.step(RequestArrived(self.token, request))
        return self.answer_to(self.token)

    def answer_to(self, token: int) -> m.Response | e.ReplyRecords | e.ReplySnapshot | None:
        for effect in self.out:
            if isinstance(effect, e.Reply) and effect.token == token:
                return effect.response
            if isinstance(effect, e.ReplyRecords | e.ReplySnapshot) and effect.token == token:
                return effect
        return None

    def answer(self, send: e.Send, response: m.Response) -> list[e.RaftEffect]:
        del self.calls[send.call]
        return self.step(ResponseArrived(send.call, response))

    def fail(self, send: e.Send, why: Failure = Failure.TIMED_OUT) -> list[e.RaftEffect]:
        self.calls.pop(send.call, None)
        return self.step(CallEnded(send.call, why))

    def elapse(self, ms: float) -> None:
        until = Instant(self.now + ms / 1000)
        while (due := self.replica.next_deadline()) is not None and due <= until:
            self.now = max(self.now, due)
            self.step(Tick())
        self.now = until

    def append(self, count: int = 1) -> None:
        """The application writes, as the leader."""
        batches = tuple(batch(self.end + n, self.end + n + 1, self.epoch) for n in range(count))
        end = Offset(self.end + count)
        self.step(LeaderAppend(self.epoch, batches))
        if not self.slow_disk:
            self.step(Flushed(end))

    def _take(self, effects: list[e.RaftEffect]) -> list[e.RaftEffect]:
        self.out += effects
        flushed = False
        for effect in effects:
            match effect:
                case e.Send():
                    self.calls[effect.call] = effect
                case e.Abandon(call):
                    self.calls.pop(call, None)
                case e.Append() | e.AppendControl():
                    flushed = True
                case _:
                    pass
        if flushed and not self.slow_disk:
            return effects + self.step(Flushed(self.end))
        return effects

    # Whole stories.

    def stand(self) -> None:
        """Nobody says anything until it asks whether it could win."""
        for _ in range(100):
            if self.asked(m.VoteRequest):
                return
            for send in list(self.calls.values()):
                self.fail(send)
            self.elapse(100)
        raise AssertionError(f"it never stood: {self.role}")

    def grant(self, *nodes: int, granted: bool = True) -> None:
        """The answers of these to the vote that it asks for now."""
        for send in self.asked(m.VoteRequest):
            if send.to in nodes and send.call in self.calls:
                assert isinstance(send.request, m.VoteRequest)
                self.answer(send, m.VoteResponse(RaftError.NONE, send.request.epoch, None, granted))

    @property
    def _just_enough(self) -> tuple[int, ...]:
        """The others whose votes make a majority with its own: node 2, and as many more as it takes."""
        return tuple(n for n in self.voters if n != 1)[: len(self.voters) // 2]

    def become_candidate(self) -> None:
        self.stand()
        self.grant(*self._just_enough)

    def become_leader(self) -> None:
        self.become_candidate()
        self.grant(*self._just_enough)
        assert self.replica.is_leader, self.role

    def follow(self, node: int, epoch: int) -> None:
        """Node `node` says that it leads `epoch`."""
        answer = self.ask(m.BeginQuorumEpochRequest(NodeId(node), Epoch(epoch), listeners(node), key(1)))
        assert isinstance(answer, m.BeginQuorumEpochResponse)
        assert answer.error is RaftError.NONE, answer

    def fetched(self, *batches: m.LogBatch, hw: int = -1, epoch: int | None = None) -> list[e.RaftEffect]:
        """The leader's answer to the Fetch that is open."""
        (send,) = self.asked(m.FetchRequest)
        told = Epoch(self.epoch if epoch is None else epoch)
        return self.answer(
            send, m.FetchResponse(RaftError.NONE, told, self.replica.leader_id, Offset(hw), batches=batches)
        )
