"""Clients of three brokers of production, which are killed, stopped under control, cut off and paused, while requests
come late and answers are lost; from a seed. What clients do, and what must hold, say `transfer_schedule`,
`group_schedule` and `share_schedule`. There is never more than one broker down, cut off or paused.

A client is a generator: it yields what it asks of which broker, and is sent the answer, or None if none came.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from random import Random
from typing import Any, Final

from controller_runtime.identifiers import NodeId, WallClock
from controller_runtime.parts.events import RequestId, ShutdownRequested
from controller_runtime.values import dataclass
from support.clients.transfer_clients import BEGINS_MS, Ask, Pause, Steps
from support.nodes.broker_fleet import STEP_S, BrokerFleet
from support.nodes.broker_world import BrokerWorld

SESSION_S: Final = 9.5
"""After which a broker that says nothing is fenced."""


class Violation(AssertionError):
    """A promise was broken."""


@dataclass(slots=True)
class Troubles:
    """What happened, to see that a schedule is worth something."""

    kills: int = 0
    stops: int = 0
    cuts: int = 0
    pauses: int = 0
    late: int = 0
    """Requests that came after their client had given up."""

    @classmethod
    def all_of(cls, each: Iterable[Troubles]) -> Troubles:
        found = list(each)
        return cls(**{name: sum(getattr(one, name) for one in found) for name in cls.__slots__})

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.stops} controlled stops, {self.cuts} cuts, {self.pauses} pauses, "
            f"{self.late} late requests"
        )


@dataclass(slots=True, eq=False)
class Client:
    steps: Steps
    connection: int
    waits: int = 0
    """Steps."""
    asked: tuple[BrokerWorld, RequestId] | None = None
    patience: int = 0
    begun: bool = False
    is_over: bool = False


@dataclass(slots=True)
class Late:
    """A request on its long way."""

    node: NodeId
    ask: Ask
    steps: int
    connection: int


class ClientSchedule(ABC):
    def __init__(self, rng: Random, fleet: BrokerFleet) -> None:
        self.rng = rng
        self.fleet = fleet
        self.troubles = Troubles()
        self.names = tuple(fleet.brokers)
        self.clients: list[Client] = []
        self.late: list[Late] = []
        self.is_calm = False
        """Nothing comes late any more."""
        self._connections = 0
        self._down: int | None = None

    # What each schedule says of itself.

    @abstractmethod
    def must_not_be_late(self, wanted: Ask) -> bool:
        """Kafka itself does not promise anything if this one comes after its client has given up."""

    @abstractmethod
    def happens_besides(self, kind: float) -> None:
        """Something of its own, while all brokers are well; `kind` is a chance between 0.025 and 1."""

    @abstractmethod
    def judge(self) -> None:
        """After each step. Raises Violation."""

    # Clients.

    def begin(self, steps: Steps) -> Client:
        client = Client(steps, self._connection())
        self.clients.append(client)
        return client

    def _connection(self) -> int:
        self._connections += 1
        return self._connections

    def step(self) -> None:
        wall = WallClock(BEGINS_MS + round(self.fleet.controller.now * 1000))
        for world in self.fleet.brokers.values():
            world.wall = wall
        for client in self.clients:
            self._advance(client)
        self.clients = [each for each in self.clients if not each.is_over]
        self._deliver()
        self.fleet.step()
        self.judge()

    def _advance(self, client: Client) -> None:
        if client.waits > 0:
            client.waits -= 1
            return
        answer: Any = None
        if client.asked is not None:
            world, request = client.asked
            is_up = self.fleet.brokers.get(world.node_id) is world
            if is_up and request not in world.answers:
                client.patience -= 1
                if client.patience > 0:
                    return
                world.hang_up(client.connection)
                client.connection = self._connection()
            answer = world.answers.pop(request, None) if is_up else None
            if answer is not None and self.rng.random() < 0.02:
                answer = None  # It is lost on its way.
            client.asked = None
        self._go_on(client, answer)

    def _go_on(self, client: Client, answer: Any) -> None:
        try:
            wanted = client.steps.send(answer) if client.begun else next(client.steps)
        except StopIteration:
            client.is_over = True
            return
        client.begun = True
        if isinstance(wanted, Pause):
            client.waits = wanted.steps
            return
        world = None if wanted.node is None else self.fleet.brokers.get(wanted.node)
        is_lost = wanted.node in self.fleet.paused and self.must_not_be_late(wanted)
        if world is None or is_lost:
            client.waits = 1
        elif self._comes_late(wanted) or wanted.node in self.fleet.paused:
            self.late.append(Late(world.node_id, wanted, self.rng.randint(1, 400), self._connection()))
            client.waits = wanted.patience
        else:
            request = world.send(wanted.body, wanted.version, connection=client.connection)
            client.asked, client.patience = (world, request), wanted.patience

    def _comes_late(self, wanted: Ask) -> bool:
        return not self.is_calm and self.rng.random() < 0.02 and not self.must_not_be_late(wanted)

    def _deliver(self) -> None:
        for each in list(self.late):
            each.steps -= 1
            if each.steps > 0 or each.node in self.fleet.paused:
                continue
            self.late.remove(each)
            world = self.fleet.brokers.get(each.node)
            if world is not None:
                self.troubles.late += 1
                world.send(each.ask.body, each.ask.version, connection=each.connection)

    # Faults.

    def happen(self) -> None:
        kind = self.rng.random()
        undisturbed = self._down is None and not self.fleet.cut and not self.fleet.paused
        if undisturbed and kind < 0.01:
            self.troubles.kills += 1
            self._end(self.rng.choice(self.names))
        elif undisturbed and kind < 0.013:
            self._stop(self.rng.choice(self.names))
        elif undisturbed and kind < 0.02:
            self.fleet.cut = {self.rng.choice(self.names)}
            self.troubles.cuts += 1
        elif undisturbed and kind < 0.025:
            self.fleet.paused = {self.rng.choice(self.names)}
            self.troubles.pauses += 1
        elif undisturbed:
            self.happens_besides(kind)
        elif self._down is not None and kind < 0.1:
            if self.rng.random() < 0.7:
                self.let_pass(SESSION_S)
            self.fleet.start(self._down)
            self._down = None
        elif self.fleet.cut and kind < 0.1:
            self.fleet.cut = set()
        elif self.fleet.paused and kind < 0.1:
            if self.rng.random() < 0.5:
                self.let_pass(SESSION_S)
            self.fleet.resume()

    def let_pass(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.step()

    def _end(self, node_id: int) -> None:
        self._down = node_id
        self.fleet.kill(node_id)

    def _stop(self, node_id: int) -> None:
        self.troubles.stops += 1
        world = self.fleet.brokers[node_id]
        world.happen(ShutdownRequested())
        for _ in range(400):
            if world.service.has_left:
                break
            self.step()
        self._end(node_id)

    def mend(self) -> None:
        """All brokers are up and reach each other, for as long as it takes to know who had gone."""
        self.fleet.cut = set()
        self.fleet.resume()
        if self._down is not None:
            self.fleet.start(self._down)
            self._down = None
        self.let_pass(SESSION_S + 3.0)

    # What the brokers keep.

    def is_whole(self, topics: list[str]) -> bool:
        """Every replica of every partition is in sync."""
        image = self.fleet.controller.image.topics
        found = (image.partition(image.ids[name], index) for name, index in self.partitions(topics))
        return all(one is not None and one.leader >= 0 and set(one.isr) == set(self.names) for one in found)

    def partitions(self, topics: list[str]) -> list[tuple[str, int]]:
        out = []
        for name in topics:
            found = self.fleet.controller.image.topics.named(name)
            assert found is not None, f"{name} was never made"
            out += [(name, index) for index in range(found.partition_count)]
        return out

    def compare_logs(self, topics: list[str]) -> None:
        for name, index in self.partitions(topics):
            logs = {node_id: self.fleet.log_bytes(node_id, name, index) for node_id in self.names}
            if len(set(logs.values())) != 1:
                raise Violation(f"logs of {name}-{index} differ: { {n: len(log) for n, log in logs.items()} }")
