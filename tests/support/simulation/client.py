"""Clients: administrators that change topics as fast as they are answered, and somebody who produces to and consumes
from them.

Every operation and its answer goes into the history; an operation without a clear answer may or may not have happened.
A name is given up after a few operations, so that the question whether one order explains them stays small. A client
does not repeat a request: that would be another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import CallFailure
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.schema import Message
from support.simulation.fleet import endpoint_of
from support.simulation.history import History, Kind, Operation, State, Told
from support.simulation.traffic import Traffic
from support.simulation.world import CLIENT, Exchange, World

BROKER_ID: Final = 1000
RETRY_S: Final = 0.02
TIMEOUT_S: Final = 1.0
HEARTBEAT_S: Final = 1.0
CONFIG: Final = "retention.ms"
OPERATIONS_PER_NAME: Final = 10
NAMES: Final = 3
"""How many names are in use at a time."""
STRAY: Final = 60
"""The number of the client that does not wait for answers."""

REFUSALS: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT)


class Asker:
    """Sends to the node that it believes to lead, and looks for another when that one refuses."""

    def __init__(self, world: World, rng: Random, number: int) -> None:
        self.world = world
        self.rng = rng
        self.id = NodeId(CLIENT - number)
        self.nodes = list(world.fleet.nodes)
        self.target = rng.choice(self.nodes)

    def send(self, body: Message, answer: Callable[[Message], None], fail: Callable[[CallFailure], None]) -> Exchange:
        target = self.target

        def failed(why: CallFailure) -> None:
            self.go_on(target)
            fail(why)

        return self.world.ask(self.id, endpoint_of(target), body, TIMEOUT_S, lambda _, reply: answer(reply), failed)

    def go_on(self, asked: NodeId) -> None:
        """That one does not lead: try another, unless a later answer changed it already. Often somebody
        says who leads.
        """
        if asked != self.target:
            return
        active = [machine.id for machine in self.world.up if machine.node is not None and machine.node.is_active]
        self.target = self.rng.choice(active if active and self.rng.random() < 0.6 else self.nodes)

    def again(self, action: Callable[[], None]) -> None:
        self.world.later(RETRY_S * (1 + self.rng.random()), action)


@dataclass
class Names:
    """The names that all administrators work on."""

    used: dict[str, int] = field(default_factory=dict)
    last: int = 0
    existing: set[str] = field(default_factory=set)
    """Those that were there when somebody heard of them last."""

    def pick(self, rng: Random) -> str:
        while len(self.used) < NAMES:
            self.last += 1
            self.used[f"topic-{self.last}"] = 0
        name = rng.choice(list(self.used))
        self.used[name] += 1
        if self.used[name] >= OPERATIONS_PER_NAME:
            del self.used[name]
        return name


class Administrator(Asker):
    """Creates, deletes and configures, one operation at a time."""

    def __init__(self, client: Client, number: int) -> None:
        super().__init__(client.world, Random(client.rng.random()), number)
        self.client = client
        self.number = number
        self.names, self.history = client.names, client.history

    def act(self) -> None:
        if self not in self.client.administrators:
            return
        if not self.client.is_served:
            self.again(self.act)
            return
        name = self.names.pick(self.rng)
        # Most operations have something to do.
        usual = (Kind.DELETE, Kind.SET, Kind.SET) if name in self.names.existing else (Kind.CREATE,)
        kind = self.rng.choice(usual if self.rng.random() < 0.8 else (Kind.CREATE, Kind.DELETE, Kind.SET))
        operation = Operation(kind, self.world.time, self.number)
        if kind is Kind.SET:
            self.client.values += 1
            operation.value = str(1_000_000 + self.client.values)
        self.history.call(name, operation)
        self._ask(name, operation)

    def _ask(self, name: str, operation: Operation) -> None:
        target = self.target

        def answer(reply: Message) -> None:
            code, topic_id = _result(reply)
            told = _told(operation.kind, code)
            if told is not Told.NOTHING:
                operation.returned, operation.told, operation.topic_id = self.world.time, told, topic_id
                self.client.answered(self.names, name, operation)
            elif code in REFUSALS or code == ErrorCode.INVALID_REPLICATION_FACTOR:
                self._refused(name, operation, code, was_active=exchange.was_active)
                self.go_on(target)
                self.again(self.act)
                return
            else:
                self.world.violation(f"{operation.kind.value} {name}: error {code} from n{target}")
            self.world.later(self.rng.uniform(0, 2 * self.client.think_s), self.act)

        def fail(why: CallFailure) -> None:
            if why is CallFailure.REFUSED and not exchange.delivered:
                self.history.drop(name, operation)
            self.again(self.act)

        exchange = self.send(_request(name, operation), answer, fail)

    def _refused(self, name: str, operation: Operation, code: int, *, was_active: bool) -> None:
        """Only who was active when it was asked may have written something before it refused."""
        if code == ErrorCode.INVALID_REPLICATION_FACTOR or not was_active:
            self.history.drop(name, operation)


def _request(name: str, operation: Operation) -> Message:
    timeout_ms = int(TIMEOUT_S * 1000)
    match operation.kind:
        case Kind.CREATE:
            topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            return CreateTopicsRequest(topics=(topic,), timeout_ms=timeout_ms)
        case Kind.DELETE:
            return DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout_ms=timeout_ms)
        case _:
            config = AlterableConfig(name=CONFIG, config_operation=0, value=operation.value)
            resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=(config,))
            return IncrementalAlterConfigsRequest(resources=(resource,))


def _result(reply: Message) -> tuple[int, Uuid | None]:
    match reply:
        case CreateTopicsResponse():
            return reply.topics[0].error_code, reply.topics[0].topic_id
        case DeleteTopicsResponse():
            return reply.responses[0].error_code, None
        case IncrementalAlterConfigsResponse():
            return reply.responses[0].error_code, None
        case _:
            raise AssertionError(f"nobody asked for {reply!r}")


def _told(kind: Kind, code: int) -> Told:
    match code:
        case ErrorCode.NONE:
            return Told.DONE
        case ErrorCode.TOPIC_ALREADY_EXISTS if kind is Kind.CREATE:
            return Told.EXISTS
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if kind is not Kind.CREATE:
            return Told.ABSENT
        case _:
            return Told.NOTHING


class Client:
    """The administrators, and what they were told. Each schedule has its own administrators, names and history."""

    def __init__(self, world: World, rng: Random) -> None:
        self.world = world
        self.rng = rng
        self.think_s = 0.0
        self.history = History()
        self.names = Names()
        self.traffic = Traffic(self, Random(rng.random()))
        self.administrators: list[Administrator] = []
        self.values = 0
        """Each value is set once in a story."""
        self.strays = 0
        self.acknowledged = 0
        """How many changes were acknowledged."""
        self.newest_acknowledged = -math.inf
        """When the last begun of them was called: an answer that was long on its way does not show that anybody leads
        now.
        """

    @property
    def is_served(self) -> bool:
        """A broker is there for new topics, for all that anybody knows."""
        return any(not broker.fenced for broker in self.world.newest[1].cluster.brokers.values())

    def begin(self, think_s: float, administrators: int) -> None:
        self.think_s = think_s
        self.history = History()
        self.names = Names(last=self.names.last)
        self.administrators = [Administrator(self, number) for number in range(1, administrators + 1)]
        for each in self.administrators:
            self.world.later(0.02 * self.rng.random(), each.act)
        self.traffic.begin()

    def begin_anew(self) -> None:
        """All that were at work begin nothing more, whatever they still wait for; somebody else asks now."""
        self.administrators = [Administrator(self, len(self.administrators) + 1)]
        self.administrators[0].act()

    def stray(self, target: NodeId, count: int) -> None:
        """Changes that nobody waits for, to this node, of names of their own: whether they happen is all the same to
        the history.
        """
        asker = Asker(self.world, self.rng, STRAY)
        for _ in range(count):
            self.strays += 1
            asker.target = target
            topic = CreatableTopic(name=f"stray-{self.strays}", num_partitions=1, replication_factor=1)
            request = CreateTopicsRequest(topics=(topic,), timeout_ms=int(TIMEOUT_S * 1000))
            asker.send(request, lambda _: None, lambda _: None)

    def rest(self) -> None:
        """Nobody begins anything more."""
        self.administrators = []
        self.traffic.rest()

    def answered(self, names: Names, name: str, operation: Operation) -> None:
        if operation.told is Told.DONE:
            self.acknowledged += 1
            self.newest_acknowledged = max(self.newest_acknowledged, operation.called)
        if operation.told is Told.ABSENT or operation.kind is Kind.DELETE:
            names.existing.discard(name)
        else:
            names.existing.add(name)
        self.world.trace(f"client {operation.client}: {operation.kind.value} {name}: {operation.told.value}")

    def read(self) -> None:
        """What the newest image that any node ever called committed says of the names in use."""
        self._read(self.names.used, self.world.newest[1])

    def read_all(self, image: MetadataImage) -> None:
        """Every name that was ever used, at the end."""
        self._read(self.history.topics, image)

    def _read(self, names: Iterable[str], image: MetadataImage) -> None:
        now = self.world.time
        for name in list(names):
            topic = image.topics.named(name)
            seen = None if topic is None else State(topic.id, image.configs.of(2, name).get(CONFIG))
            self.history.call(name, Operation(Kind.READ, now, 0, returned=now, seen=seen))
