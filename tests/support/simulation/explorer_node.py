"""One node of the explorer: a production `raft.Replica` with a small model of its log and disk, and a library of all
its states.

A node's state is known by its bytes: equal bytes, one number. The library remembers what each state does at each event,
so that the same step is never run twice, however many worlds it is part of.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, field, replace
from typing import Any, Final

from controller_runtime.identifiers import DirectoryId, Endpoint, Instant, NodeId, Offset, ReplicaKey, Uuid
from controller_runtime.raft import effects as out
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.events import (
    CallEnded,
    Failure,
    Flushed,
    LeaderAppend,
    RaftEvent,
    RequestArrived,
    Resign,
    ResponseArrived,
    Tick,
)
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import FetchRequest, KRaftVersion, LeaderChange, LogBatch
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.roles import Follower, Leader
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET, Voter, VoterHistory, VoterSet

NOW: Final = Instant(1000.0)
LISTENER: Final = "CONTROLLER"


@dataclass(frozen=True)
class Ask:
    """A request on its way. `boot` is the caller's: a call is known by (boot, call)."""

    source: int
    target: int
    boot: int
    call: int
    body: Any
    is_failure = False

    def __str__(self) -> str:
        return f"{self.source + 1}->{self.target + 1} {type(self.body).__name__}"


@dataclass(frozen=True)
class Answer:
    """The end of a call on its way back: a response, or the reason why there is none."""

    source: int
    target: int
    boot: int
    call: int
    body: Any

    @property
    def is_failure(self) -> bool:
        return isinstance(self.body, str)

    def __str__(self) -> str:
        what = self.body if isinstance(self.body, str) else type(self.body).__name__
        return f"{self.source + 1}->{self.target + 1} {what}"


Packet = Ask | Answer
Content = tuple[tuple[int, int, bytes], ...]


@dataclass(frozen=True)
class Facts:
    """What the explorer needs to know of a node's state."""

    role: str
    epoch: int
    persisted_epoch: int
    leads: bool
    unsynced: bool
    log: Content
    synced: Content
    committed: Content
    waits_for: frozenset[tuple[int, int]]
    parked: tuple[Ask, ...]


@dataclass
class Node:
    replica: Replica
    saved: ElectionState | None = None
    log: list[LogBatch] = field(default_factory=list)
    flushed: int = 0
    """How many batches are on disk."""
    asked: dict[int, Ask] = field(default_factory=dict)
    """By token: requests that are not answered yet."""
    leads: bool = False
    boots: int = 0


def jitter() -> float:
    return 0.5


def key_of(index: int) -> ReplicaKey:
    return ReplicaKey(NodeId(index + 1), DirectoryId(Uuid.of(7, index + 1000)))


def endpoint_of(index: int) -> Endpoint:
    return Endpoint(f"n{index + 1}", 9093)


class Library:
    def __init__(self, nodes: int, *, slow_disks: bool) -> None:
        self.voters = VoterSet.of(Voter(key_of(n), ((LISTENER, endpoint_of(n)),), 0, 1) for n in range(nodes))
        self.slow_disks = slow_disks
        self.facts: list[Facts] = []
        self.packets: list[Packet] = []
        self.runs = 0
        self._frozen: list[bytes] = []
        self._number: dict[bytes, int] = {}
        self._packet_number: dict[bytes, int] = {}
        self._known: dict[tuple[int, str | int], tuple[int, tuple[int, ...]]] = {}

    def start(self, index: int) -> int:
        return self._keep(*self._boot(Node(None), index))[0]  # type: ignore[arg-type]

    def step(self, number: int, index: int, event: str | Packet) -> tuple[int, tuple[int, ...]]:
        """The node's next state, and the packets that it sends."""
        name = event if isinstance(event, str) else self.packet(event)
        known = self._known.get((number, name))
        if known is None:
            self.runs += 1
            node: Node = pickle.loads(self._frozen[number])
            known = self._known[number, name] = self._keep(*self._run(node, index, event))
        return known

    def packet(self, packet: Packet) -> int:
        frozen = dump(packet)
        number = self._packet_number.get(frozen)
        if number is None:
            number = self._packet_number[frozen] = len(self.packets)
            self.packets.append(packet)
        return number

    def failure(self, packet: Packet, why: str) -> int:
        if isinstance(packet, Ask):
            return self.packet(Answer(packet.target, packet.source, packet.boot, packet.call, why))
        return self.packet(replace(packet, body=why))

    def _keep(self, node: Node, sent: list[Packet]) -> tuple[int, tuple[int, ...]]:
        q = node.replica._q
        q.noted.clear()
        q.rotation, q.wake_at, q.out = 0, None, []
        q.counters = type(q.counters)()
        if isinstance(q.role, Leader):
            for progress in q.role.voters.values():  # For DescribeQuorum and AddRaftVoter only, which nobody asks here.
                progress.last_fetch = progress.last_caught_up = None
                progress.last_fetch_leader_end = Offset(-1)
        frozen = dump(node)
        number = self._number.get(frozen)
        if number is None:
            number = self._number[frozen] = len(self.facts)
            self._frozen.append(frozen)
            self.facts.append(facts_of(node))
        return number, tuple(self.packet(packet) for packet in sent)

    # Running one step.

    def _run(self, node: Node, index: int, event: str | Packet) -> tuple[Node, list[Packet]]:
        match event:
            case Ask():
                token = max(node.asked, default=0) + 1
                node.asked[token] = event
                return self._step(node, index, RequestArrived(token, event.body))
            case Answer(body="timed out"):
                return self._step(node, index, CallEnded(event.call, Failure.TIMED_OUT))
            case Answer(body="disconnected"):
                return self._step(node, index, CallEnded(event.call, Failure.DISCONNECTED))
            case Answer():
                return self._step(node, index, ResponseArrived(event.call, event.body))
            case "crash":
                node.log = node.log[: node.flushed]
                return self._boot(node, index)
            case "sync":
                node.flushed = len(node.log)
                return self._step(node, index, Flushed(node.log[-1].end_offset))
            case "time out":
                return self._time_out(node, index)
            case _:
                return self._append(node, index, event)

    def _time_out(self, node: Node, index: int) -> tuple[Node, list[Packet]]:
        role = node.replica.role
        if isinstance(role, Leader):
            return self._step(node, index, Resign(role.epoch))
        if isinstance(role, Follower):
            role.fetch_deadline = NOW
        else:
            role.election_deadline = NOW
        return self._step(node, index, Tick())

    def _append(self, node: Node, index: int, name: str) -> tuple[Node, list[Packet]]:
        replica = node.replica
        base = replica.log.end_offset
        batch = LogBatch(base, Offset(base + 1), replica.epoch, f"{name} by {index + 1}".encode())
        node.log.append(batch)
        return self._step(node, index, LeaderAppend(replica.epoch, (batch,)))

    def _boot(self, node: Node, index: int) -> tuple[Node, list[Packet]]:
        node.boots += 1
        node.asked, node.leads = {}, False
        history = VoterHistory()
        history.reset(BOOTSTRAP_OFFSET, 1, self.voters)
        view = LogView()
        for batch in node.log:
            view.append(batch.base_offset, batch.end_offset, batch.epoch)
            for offset, record in batch.control:
                match record:
                    case VoterSet():
                        history.add_voters(offset, record)
                    case KRaftVersion(level):
                        history.add_version(offset, level)
                    case LeaderChange():
                        pass
        view.flushed_offset = view.end_offset
        listeners = ((LISTENER, endpoint_of(index)),)
        config = RaftConfig(NodeId(index + 1), key_of(index).directory_id, LISTENER, listeners)
        node.replica = Replica(config, node.saved, view, history, NOW, jitter)
        return node, self._perform(node, index, node.replica.start(NOW))

    def _step(self, node: Node, index: int, event: RaftEvent) -> tuple[Node, list[Packet]]:
        sent = self._perform(node, index, node.replica.step(event, NOW))
        while not self.slow_disks and node.flushed < len(node.log):
            node.flushed = len(node.log)
            sent += self._perform(node, index, node.replica.step(Flushed(node.log[-1].end_offset), NOW))
        return node, sent

    def _perform(self, node: Node, index: int, effects: list[out.RaftEffect]) -> list[Packet]:
        sent: list[Packet] = []
        for effect in effects:
            match effect:
                case out.SaveElection(saved):
                    node.saved = saved
                case out.Append(batches):
                    node.log.extend(batches)
                case out.AppendControl(base, epoch, records):
                    control = tuple((Offset(base + n), record) for n, record in enumerate(records))
                    node.log.append(LogBatch(base, Offset(base + len(records)), epoch, b"control", control))
                case out.Truncate(end):
                    node.log = [batch for batch in node.log if batch.end_offset <= end]
                    node.flushed = min(node.flushed, len(node.log))
                case out.Send():
                    sent += self._sent(node, index, effect)
                case out.Reply(token, response):
                    sent.append(self._answer(node, token, response))
                case out.ReplyRecords(token, response, offset, _):
                    rest = tuple(batch for batch in node.log if batch.base_offset >= offset)
                    sent.append(self._answer(node, token, replace(response, batches=rest)))
                case out.StartLeading():
                    node.leads = True
                case out.StopLeading():
                    node.leads = False
                case out.Fault(reason):
                    raise AssertionError(f"node {index + 1} stops: {reason}")
                case _:
                    pass
        return sent

    def _sent(self, node: Node, index: int, send: out.Send) -> list[Packet]:
        if isinstance(send.request, FetchRequest) and not isinstance(node.replica.role, Follower):
            return []
        target = int(send.endpoint.host[1:]) - 1
        return [Ask(index, target, node.boots, send.call, send.request)]

    def _answer(self, node: Node, token: int, response: Any) -> Packet:
        ask = node.asked.pop(token)
        if response.leader_id is not None:
            response = replace(response, leader_endpoint=endpoint_of(response.leader_id - 1))
        return Answer(ask.target, ask.source, ask.boot, ask.call, response)


def facts_of(node: Node) -> Facts:
    replica = node.replica
    bound = replica.high_watermark or 0
    content = [(int(b.end_offset), int(b.epoch), b.data) for b in node.log]
    return Facts(
        type(replica.role).__name__,
        replica.epoch,
        0 if node.saved is None else node.saved.epoch,
        node.leads,
        node.flushed < len(node.log),
        tuple(content),
        tuple(content[: node.flushed]),
        tuple(entry for entry in content if entry[0] <= bound),
        frozenset((node.boots, call) for call in replica._q.calls.in_flight),
        tuple(node.asked[token] for token in sorted(node.asked)),
    )


def dump(value: object) -> bytes:
    """Equal values give equal bytes: nothing is told by reference."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 5)
    pickler.fast = True
    pickler.dump(value)
    return buffer.getvalue()
