"""A broker and its administrator, as one client: it registers, stays unfenced, and creates topics one after another through any controller.

What is acknowledged is remembered with its topic id: it must be there at the end. A creation without a clear answer may or may not have
happened, and is never repeated under the same name, so that an answer is never about somebody else's topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.node.api_versions import SUPPORTED_LEVELS
from controller_runtime.node.events import CallFailure
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.schema import Message
from support.simulation.machine import CLUSTER_ID, endpoint_of
from support.simulation.world import CLIENT, World

BROKER_ID = 1000
RETRY_S = 0.05
TIMEOUT_S = 3.0
HEARTBEAT_S = 1.0


@dataclass
class Client:
    world: World
    rng: Random
    think_s: float = 0.2
    acknowledged: dict[str, Uuid] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    """Names whose creation had no clear answer."""

    def __post_init__(self) -> None:
        self._incarnation = Uuid(self.rng.randbytes(16))
        self._directory = Uuid(self.rng.randbytes(16))
        self._epoch: int | None = None
        self._fenced = True
        self._created = 0
        self._nodes = list(self.world.fleet.voters)
        self._target = self.rng.choice(self._nodes)

    def start(self) -> None:
        self.world.later(0.01, self._register)

    # Sending.

    def _send(self, body: Message, answer: Callable[[Message], None], fail: Callable[[], None]) -> None:
        target = self._target

        def failed(_: CallFailure) -> None:
            self._go_on(target)
            fail()

        self.world.ask(CLIENT, endpoint_of(target), body, TIMEOUT_S, lambda _, reply: answer(reply), failed)

    def _go_on(self, asked: NodeId) -> None:
        """That one does not lead: try another, unless a later answer changed it already."""
        if asked == self._target:
            self._target = self.rng.choice(self._nodes)

    def _again(self, action: Callable[[], None]) -> None:
        self.world.later(RETRY_S * (1 + self.rng.random()), action)

    # Being a broker.

    def _register(self) -> None:
        request = BrokerRegistrationRequest(
            broker_id=BROKER_ID,
            cluster_id=CLUSTER_ID,
            incarnation_id=self._incarnation,
            listeners=(Listener(name="PLAINTEXT", host="broker", port=9092, security_protocol=0),),
            features=tuple(
                Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, (lowest, highest) in SUPPORTED_LEVELS.items()
            ),
            log_dirs=(self._directory,),
        )
        target = self._target

        def answer(reply: Message) -> None:
            assert isinstance(reply, BrokerRegistrationResponse)
            if reply.error_code != ErrorCode.NONE:
                self._go_on(target)
                self._again(self._register)
                return
            self._epoch = reply.broker_epoch
            self._heartbeat()
            self._create()

        self._send(request, answer, lambda: self._again(self._register))

    def _heartbeat(self) -> None:
        assert self._epoch is not None
        request = BrokerHeartbeatRequest(
            broker_id=BROKER_ID, broker_epoch=self._epoch, current_metadata_offset=self._epoch + 1, want_fence=False
        )
        target = self._target

        def answer(reply: Message) -> None:
            assert isinstance(reply, BrokerHeartbeatResponse)
            if reply.error_code != ErrorCode.NONE:
                self._go_on(target)
                self._again(self._heartbeat)
                return
            self._fenced = reply.is_fenced
            self.world.later(HEARTBEAT_S, self._heartbeat)

        self._send(request, answer, lambda: self._again(self._heartbeat))

    # Creating topics.

    def _create(self) -> None:
        if self._fenced:
            self._again(self._create)
            return
        self._created += 1
        name = f"topic-{self._created}"
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=(topic,), timeout_ms=int(TIMEOUT_S * 1000))
        target = self._target

        def answer(reply: Message) -> None:
            assert isinstance(reply, CreateTopicsResponse)
            result = reply.topics[0]
            match result.error_code:
                case ErrorCode.NONE:
                    self.acknowledged[name] = result.topic_id
                    self.world.trace(f"client: {name} is acknowledged by n{target}")
                case ErrorCode.TOPIC_ALREADY_EXISTS:
                    self.doubtful.add(name)  # The network delivered the request twice.
                case ErrorCode.NOT_CONTROLLER:
                    self.doubtful.add(name)
                    self._go_on(target)
                case ErrorCode.INVALID_REPLICATION_FACTOR | ErrorCode.REQUEST_TIMED_OUT:
                    self._fenced = True  # The broker's session ended: wait for the next heartbeat.
                    self.world.later(RETRY_S, self._look_again)
                case other:
                    self.world.violation(f"create {name}: error {other} {result.error_message}")
            self.world.later(self.rng.uniform(0, 2 * self.think_s), self._create)

        def fail() -> None:
            self.doubtful.add(name)
            self._again(self._create)

        self._send(request, answer, fail)

    def _look_again(self) -> None:
        self._fenced = False
