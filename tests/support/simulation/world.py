"""The simulated world: one clock, one queue of happenings, one source of chance. The same seed gives the same run, step
by step.

It carries calls between machines, completes disk writes, fires timers, and lets every invariant look after each step of
each machine. A violation ends the run at once with what was seen; the trace, if wanted, reads like a production log at
debug level.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Protocol

from controller_runtime.identifiers import Endpoint, Instant, NodeId, Offset
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.parts.api_table import BROKER, Forwarded
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    CallId,
    ConnectionId,
    ConnectionInfo,
    PeerDisconnected,
    RequestId,
    RequestReceived,
    ResponseReceived,
    UnreadRequest,
)
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.vote_request import VoteRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.errors import CorruptFile, DiskFailed
from support.simulation.fleet import BROKER_LISTENER, LISTENER, Fleet, broker_endpoint_of, endpoint_of
from support.simulation.machine import Machine
from support.simulation.network import Network
from support.simulation.processor import Processor
from support.simulation.trace import render_effect, render_event, render_state


class Violation(AssertionError):
    """A promise was broken."""


class Step(Protocol):
    """Looks at a machine when a step changed something of `Machine.facts`."""

    def after_step(self, world: World, machine: Machine) -> None: ...


class Time(Protocol):
    """What time alone may break: looks after every step."""

    def as_time_passes(self, world: World, machine: Machine) -> None: ...


class Save(Protocol):
    """Looks when an election state is on a disk."""

    def after_save(self, world: World, machine: Machine) -> None: ...


class Answer(Protocol):
    """Looks when a machine answers a request; nothing of the answer has left yet."""

    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None: ...


class CleanStop(Protocol):
    """Looks when a node ends by itself after it was asked to; its process is still there."""

    def on_stop(self, world: World, machine: Machine) -> None: ...


class End(Protocol):
    """Looks after the liveness phase: everything is healed and has had time."""

    def at_end(self, world: World) -> None: ...


Invariant = Step | Time | Save | Answer | CleanStop | End
"""What must hold; one per file in tests/simulation/invariants. Each looks at as many of these moments as it needs."""


@dataclass(slots=True)
class Exchange:
    """A request that a machine or a client waits for."""

    source: NodeId
    boot: int
    answer: Callable[[int, Message], None]
    fail: Callable[[CallFailure], None]
    target: NodeId
    body: Message
    key: int = 0
    version: int = 0
    over: bool = False
    delivered: bool = False
    call_id: CallId | None = None
    was_active: bool = False
    """The node that got it was the active controller: its refusal may come after it wrote something."""


Asker = Callable[[Message], None]
NOBODY = "User:ANONYMOUS"
CLIENT = NodeId(-100)
"""Clients have this number and those below. TCP delivers their requests once: twice would be another change."""
MAX_STEPS_PER_MOMENT = 1000
"""A node that wants a turn again and again without time passing would burn a processor for ever."""


@dataclass
class World:
    seed: int
    fleet: Fleet
    invariants: Iterable[Invariant] = ()
    tracer: Callable[[str], None] | None = None
    processor: Processor | None = None
    """Without one, steps take no time."""
    time: float = 0.0
    steps: int = 0
    ended: set[NodeId] = field(default_factory=set)
    """Machines whose process ended by itself (a clean shutdown)."""

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.network = Network(Random(self.rng.random()))
        every = self.invariants = list(self.invariants)
        self._after_step = [one.after_step for one in every if hasattr(one, "after_step")]
        self._as_time_passes = [one.as_time_passes for one in every if hasattr(one, "as_time_passes")]
        self._after_save = [one.after_save for one in every if hasattr(one, "after_save")]
        self._on_stop = [one.on_stop for one in every if hasattr(one, "on_stop")]
        self._on_answer = [one.on_answer for one in every if hasattr(one, "on_answer")]
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = 0
        self._timers: dict[NodeId, float] = {}
        self._requests: dict[RequestId, Exchange] = {}
        self._calls: dict[tuple[NodeId, int, CallId], Exchange] = {}
        self._next_request = 1
        self.slow_disk: dict[NodeId, float] = {}
        """How many of its writes are slow."""
        self.principals: dict[NodeId, str] = {}
        """Clients that are somebody."""
        self.late_votes = 0.0
        """How many answers to votes come when the candidate stands in a later epoch."""
        self._late: list[tuple[NodeId, int, Callable[[], None]]] = []
        """Who asked, in which epoch, and its answer."""
        self._same_moment, self._last_moment = 0, -1.0
        self.tamper: Callable[[NodeId, NodeId, Message], Message] | None = None
        """Somebody on the way who replaces answers: source, target and answer go in."""
        self.newest = (Offset(0), MetadataImage.empty())
        """The newest image that any node ever called committed, and where it ends."""
        self.machines = {
            node: Machine(node, self.fleet, self, Random(self.rng.random())) for node in self.fleet.everybody
        }
        self._by_endpoint = {endpoint_of(node): node for node in self.fleet.nodes}
        self._by_endpoint |= {broker_endpoint_of(node): node for node in self.fleet.brokers}

    # Time.

    def later(self, delay: float, action: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._queue, (self.time + delay, self._sequence, action))

    def run(self, until: float, stop: Callable[[], bool] | None = None) -> bool:
        """Let things happen until then, or until `stop` says so; it is asked after every happening."""
        while self._queue and self._queue[0][0] <= until:
            at, _, action = heapq.heappop(self._queue)
            self.time = max(self.time, at)
            action()
            if stop is not None and stop():
                return True
        self.time = until
        return False

    def set_timer(self, machine: Machine, deadline: Instant | None) -> None:
        """One timer per machine; only the earliest one counts."""
        if deadline is None:
            return
        at = max(self.time, machine.world_time(deadline) + 1e-6)  # Never a rounding error too early.
        if self._timers.get(machine.id, float("inf")) <= at + 1e-9:
            return
        self._timers[machine.id] = at

        def fire() -> None:
            if self._timers.get(machine.id) == at:
                del self._timers[machine.id]
                machine.time_passed()

        self.later(at - self.time, fire)

    def disk_delay(self, machine: Machine) -> float:
        share = self.slow_disk.get(machine.id)
        if share is not None and self.rng.random() < share:
            return float(0.05 * 60 ** self.rng.random())
        return 0.0005 + 0.0055 * self.rng.random()

    # Machines.

    @property
    def up(self) -> list[Machine]:
        return [machine for machine in self.machines.values() if machine.is_up]

    def boot(self, node: NodeId) -> None:
        machine = self.machines[node]
        self.trace(f"n{node} starts")
        self._timers.pop(node, None)
        self.ended.discard(node)
        try:
            machine.boot()
        except DiskFailed as error:  # Recovery writes too.
            self.trace(f"n{node} does not start: {error}")
            machine.fail()
            self.ended.add(node)
            return
        except CorruptFile as error:
            if not machine.disk.is_rotten:
                raise
            self.trace(f"n{node} refuses to start, and gets a new disk: {error}")
            machine.fail()
            machine.replace_disk()
            self.ended.add(node)
            return
        self.after_step(machine)

    def kill(self, node: NodeId, *, power_loss: bool) -> None:
        machine = self.machines[node]
        self.trace(f"n{node} {'loses power' if power_loss else 'is killed'}")
        machine.kill(power_loss=power_loss)
        self._connections_end(node, silent=power_loss and self.rng.random() < 0.5)

    def pause(self, node: NodeId, seconds: float) -> None:
        """The process does not run for a while (SIGSTOP, a stolen CPU); its clock does."""
        machine = self.machines[node]
        self.trace(f"n{node} pauses for {seconds:.2f} s")
        machine.paused_until = self.time + seconds
        self.later(seconds, machine.resume)

    def jump_clock(self, node: NodeId, seconds: float) -> None:
        """The monotonic clock leaps forward, the wall clock anywhere."""
        machine = self.machines[node]
        self.trace(f"n{node}: clock jumps by {seconds:.2f} s")
        machine.set_clock(machine.now + seconds, machine.rate)
        machine.wall_skew += self.rng.randrange(-100_000, 100_000)
        self._restart_timer(machine)

    def drift_clock(self, node: NodeId, rate: float) -> None:
        """The monotonic clock runs faster or slower than the others' from now on."""
        machine = self.machines[node]
        self.trace(f"n{node}: clock runs at {rate:.2f}")
        machine.set_clock(machine.now, rate)
        self._restart_timer(machine)

    def _restart_timer(self, machine: Machine) -> None:
        self._timers.pop(machine.id, None)
        if machine.node is not None:
            self.set_timer(machine, machine.node.next_deadline())

    @property
    def brokers(self) -> list[Machine]:
        """Up or not."""
        return [self.machines[node] for node in self.fleet.brokers]

    def stopped(self, machine: Machine, reason: str, *, fault: bool) -> None:
        if fault and machine.refused:
            self.disk_failed(machine, DiskFailed(reason))
            return
        if fault:
            raise Violation(f"n{machine.id} stops with a fault: {reason}")
        self.trace(f"n{machine.id} stopped: {reason}")
        for look in self._on_stop:
            look(self, machine)
        machine.stop()
        self.ended.add(machine.id)
        self._connections_end(machine.id, silent=False)

    def disk_failed(self, machine: Machine, error: Exception) -> None:
        """The driver ends a process whose disk fails; somebody has to start it again."""
        self.trace(f"n{machine.id} ends, its disk failed: {error}")
        machine.fail()
        self.ended.add(machine.id)
        self._connections_end(machine.id, silent=False)

    def _connections_end(self, node: NodeId, *, silent: bool) -> None:
        """Whoever waits for the dead process learns it from its connection, unless the whole machine fell silent."""
        for peer in self.up:
            if not silent and self.rng.random() < 0.5 and not self.network.is_cut(node, peer.id):
                self.later(self.network.delay(), peer.while_up(partial(peer.feed, PeerDisconnected(endpoint_of(node)))))
        for request_id, exchange in list(self._requests.items()):
            if exchange.target == node:
                del self._requests[request_id]
                if not silent and not self.network.is_cut(node, exchange.source):
                    self._fail(exchange, CallFailure.DISCONNECTED)

    # Calls.

    def call(self, machine: Machine, call: Call) -> None:
        boot = machine.boots
        key = (machine.id, boot, call.call_id)

        def answer(version: int, body: Message) -> None:
            if self._calls.pop(key, None) is not None and machine.boots == boot:
                machine.feed(ResponseReceived(call.call_id, version, body))

        def fail(why: CallFailure) -> None:
            if self._calls.pop(key, None) is not None and machine.boots == boot:
                machine.feed(CallFailed(call.call_id, why))

        timeout = call.timeout_ms / 1000 / machine.rate
        exchange = self._calls[key] = self.ask(machine.id, call.endpoint, call.body, timeout, answer, fail, boot)
        exchange.call_id = call.call_id

    def cancel(self, machine: Machine, call_id: CallId) -> None:
        exchange = self._calls.pop((machine.id, machine.boots, call_id), None)
        if exchange is not None:
            exchange.over = True

    def ask(
        self,
        source: NodeId,
        endpoint: Endpoint,
        body: Message,
        timeout: float,
        answer: Callable[[int, Message], None],
        fail: Callable[[CallFailure], None],
        boot: int = 0,
    ) -> Exchange:
        """Send a request; exactly one of `answer` and `fail` is called, unless nobody is alive to hear it."""
        exchange = Exchange(source, boot, answer, fail, self._by_endpoint[endpoint], body)
        self.later(timeout, lambda: self._end(exchange, lambda: fail(CallFailure.TIMED_OUT)))
        # What a client asks is delivered once, also when a broker carries it.
        is_client = source <= CLIENT or isinstance(body, EnvelopeRequest)
        for _ in range(1 if is_client else self.network.copies()):
            if self.network.carries(source, exchange.target):
                self.later(self.network.delay(), lambda: self._deliver(exchange))
        if not is_client and self.network.memory.share:
            self.network.memory.keep(lambda: self._deliver(exchange))
        return exchange

    def _end(self, exchange: Exchange, action: Callable[[], None]) -> None:
        if not exchange.over:
            exchange.over = True
            action()

    def _fail(self, exchange: Exchange, why: CallFailure) -> None:
        self.later(self.network.delay(), lambda: self._end(exchange, lambda: exchange.fail(why)))

    def _deliver(self, exchange: Exchange) -> None:
        machine = self.machines[exchange.target]
        if not machine.is_up:
            if not self.network.is_cut(exchange.target, exchange.source):
                self._fail(exchange, CallFailure.REFUSED)
            return
        exchange.key, exchange.version, arrived = self.network.request(exchange.body)
        exchange.delivered = True
        exchange.was_active = exchange.was_active or (machine.node is not None and machine.node.is_active)
        request_id = RequestId(self._next_request)
        self._next_request += 1
        self._requests[request_id] = exchange
        listener = BROKER_LISTENER if machine.is_broker else LISTENER
        principal = self.principals.get(exchange.source, NOBODY)
        connection = ConnectionInfo(ConnectionId(exchange.source), listener, principal=principal)
        machine.feed(self._request_event(machine, request_id, connection, exchange, arrived))

    def _request_event(
        self, machine: Machine, request_id: RequestId, connection: ConnectionInfo, exchange: Exchange, body: Message
    ) -> RequestReceived | UnreadRequest:
        """As the shell does, by the table: what a broker only passes on it does not read."""
        key, version, client = exchange.key, exchange.version, f"n{exchange.source}"
        row = BROKER.get(ApiKey(key)) if machine.is_broker else None
        if row is None or row.forwarded is Forwarded.NO:
            return RequestReceived(request_id, connection, key, version, client, body)
        frame = encode_request(body, version, request_id, client, with_length=False)
        if row.forwarded is Forwarded.UNREAD:
            return UnreadRequest(request_id, connection, key, version, request_id, frame)
        return RequestReceived(request_id, connection, key, version, client, body, request_id, frame)

    def relay(self, machine: Machine, request_id: RequestId, frame: bytes) -> None:
        """A broker passes on what the controller has answered."""
        exchange = self._requests.get(request_id)
        if exchange is None:
            raise Violation(f"n{machine.id} relays an answer to request {request_id}, which nobody waits for")
        self.respond(machine, request_id, decode_response(frame, exchange.key, exchange.version).body)

    def finish_without_reply(self, request_id: RequestId) -> None:
        self._requests.pop(request_id, None)

    def respond(self, machine: Machine, request_id: RequestId, body: Message) -> None:
        exchange = self._requests.pop(request_id, None)
        if exchange is None:
            raise Violation(f"n{machine.id} answers request {request_id}, which nobody waits for: {body!r}")
        for look in self._on_answer:
            look(self, machine, exchange.body, body)
        if self.tamper is not None:
            body = self.tamper(machine.id, exchange.source, body)
        if self.network.carries(machine.id, exchange.source):
            arrived = self.network.response(exchange.key, exchange.version, body)
            self._send_back(exchange, lambda: self._end(exchange, lambda: exchange.answer(exchange.version, arrived)))
            if exchange.call_id is not None and self.network.memory.share:
                again = ResponseReceived(exchange.call_id, exchange.version, arrived)
                asker = self.machines[exchange.source]
                if asker.boots == exchange.boot:
                    self.network.memory.keep(asker.while_up(lambda: asker.feed(again)))

    def _send_back(self, exchange: Exchange, deliver: Callable[[], None]) -> None:
        asked = exchange.body
        if self.late_votes and isinstance(asked, VoteRequest) and self.rng.random() < self.late_votes:
            vote = asked.topics[0].partitions[0]
            if not vote.pre_vote:
                self._late.append((exchange.source, vote.replica_epoch, deliver))
                return
        self.later(self.network.delay(), deliver)

    def _release_late(self, machine: Machine, epoch: int) -> None:
        """What was held back until this machine is in a later epoch; until then its question may well have
        timed out.
        """
        due = [each for each in self._late if each[0] == machine.id and each[1] < epoch]
        self._late = [each for each in self._late if each not in due]
        for _, _, deliver in due:
            self.later(self.network.delay(), deliver)

    # Looking.

    def after_step(self, machine: Machine) -> None:
        self.steps += 1
        self._same_moment = self._same_moment + 1 if self.time == self._last_moment else 0
        self._last_moment = self.time
        if self._same_moment > MAX_STEPS_PER_MOMENT:
            raise Violation(f"n{machine.id} spins: {self._same_moment} steps without any time passing")
        if machine.node is None:
            return
        offset = machine.node.image_offset
        if offset > self.newest[0]:
            self.newest = (offset, machine.node.image)
        for look in self._as_time_passes:
            look(self, machine)
        facts = machine.facts()
        if facts == machine.facts_seen:
            return
        machine.facts_seen = facts
        if self._late:
            self._release_late(machine, machine.node.meta.replica.epoch)
        voters = machine.node.meta.replica.voters
        if not machine.known_voters or machine.known_voters[-1] is not voters:
            machine.known_voters.append(voters)
        for look in self._after_step:
            look(self, machine)

    def persisted(self, machine: Machine) -> None:
        for look in self._after_save:
            look(self, machine)

    def finished(self) -> None:
        """All is healed and had time."""
        for invariant in self.invariants:
            if hasattr(invariant, "at_end"):
                invariant.at_end(self)

    def violation(self, text: str) -> None:
        raise Violation(text)

    def trace(self, text: str) -> None:
        if self.tracer is not None:
            self.tracer(f"{self.time:9.3f}s {text}")

    def trace_event(self, machine: Machine, event: NodeEvent) -> None:
        if self.tracer is not None:
            self.tracer(f"{self.time:9.3f}s {render_state(machine)} <- {render_event(event)}")

    def trace_effect(self, machine: Machine, effect: NodeEffect) -> None:
        if self.tracer is not None:
            self.tracer(f"{'':10} n{machine.id}    {render_effect(effect)}")
