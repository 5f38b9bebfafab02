"""A scripted broker: it registers and beats as brokers do, and sees what is committed a little later than it is.

It keeps no logs and costs next to nothing, so that a test may have several, with thousands of partitions. What a broker
does with its partitions is in `replication`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from controller_runtime.answers.api_versions import SUPPORTED_LEVELS
from controller_runtime.identifiers import DirectoryId, NodeId, Offset, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import CallFailure
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.schema import Message
from support.simulation.client import Asker
from support.simulation.fleet import BROKER_LISTENER, CLUSTER_ID, broker_endpoint_of
from support.simulation.world import World

NO_EPOCH: Final = -1
SEES_AFTER_S: Final = 0.02
"""How old what it knows of the cluster is at most, while nothing holds it up."""
RETRIED: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.DUPLICATE_BROKER_REGISTRATION, ErrorCode.REQUEST_TIMED_OUT)


def directory_of(broker: int) -> DirectoryId:
    return DirectoryId(Uuid.of(0xB20C_0000_0000_4000, 0x8000_0000_0000_0000 + broker))


class ModelBroker(Asker):
    def __init__(self, world: World, rng: Random, broker_id: int) -> None:
        super().__init__(world, rng, broker_id)
        self.broker_id = NodeId(broker_id)
        self.epoch = NO_EPOCH
        """The one it is registered with; of its last registration while it is down."""
        self.incarnations: set[Uuid] = set()
        """Of all its runs."""
        self.incarnation = Uuid(bytes(16))
        self.is_up = False
        self.is_silent = False
        """It lives, and its heartbeats do not leave."""
        self.wants_shutdown = False
        self.was_let_go = False
        self.is_fenced = True
        """As far as it knows."""
        self.seen: tuple[Offset, MetadataImage] = (Offset(0), MetadataImage.empty())
        """What it knows of the cluster, and up to where."""
        self.sees_after_s = SEES_AFTER_S
        self.beats = 0
        """Of its heartbeats, how many were answered without an error."""
        self.boots = 0

    # Its life.

    def start(self, *, clean: bool = False) -> None:
        """`clean`: it was shut down in peace, and its directory says so (KIP-966)."""
        assert not self.is_up, f"broker {self.broker_id} is up"
        self.boots += 1
        self.is_up, self.is_fenced = True, True
        self.wants_shutdown = self.was_let_go = False
        self.incarnation = Uuid(self.rng.randbytes(16))
        self.incarnations.add(self.incarnation)
        self.seen = (Offset(0), MetadataImage.empty())
        previous, self.epoch = (self.epoch if clean else NO_EPOCH), NO_EPOCH
        self._see()
        self._register(previous)

    def end(self) -> None:
        self.is_up = False
        self.boots += 1

    def while_up(self, action: Callable[[], None]) -> Callable[[], None]:
        """An action of this boot only."""
        boot = self.boots

        def run() -> None:
            if self.boots == boot:
                action()

        return run

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self.world.later(seconds, self.while_up(action))

    def ask(self, body: Message, answer: Callable[[Message], None], fail: Callable[[], None]) -> None:
        """Of the controller, in this boot."""
        boot = self.boots

        def answered(reply: Message) -> None:
            if self.boots == boot:
                answer(reply)

        def failed(_: CallFailure) -> None:
            if self.boots == boot:
                fail()

        self.send(body, answered, failed)

    # What it sees.

    def _see(self) -> None:
        before = self.seen[1]
        self.seen = self.world.newest
        if self.seen[1] is not before:
            self.metadata_moved(before)
        self.later(self.sees_after_s * (0.5 + self.rng.random()) / 1.5, self._see)

    def metadata_moved(self, before: MetadataImage) -> None:
        """It has seen a newer image."""

    # What it tells the controller.

    def _register(self, previous: int) -> None:
        request = BrokerRegistrationRequest(
            broker_id=self.broker_id,
            cluster_id=CLUSTER_ID,
            incarnation_id=self.incarnation,
            listeners=(Listener(name=BROKER_LISTENER, host=broker_endpoint_of(self.broker_id).host, port=9092),),
            features=tuple(
                Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, (lowest, highest) in SUPPORTED_LEVELS.items()
            ),
            rack=None,
            log_dirs=(directory_of(self.broker_id),),
            previous_broker_epoch=previous,
        )
        target = self.target

        def answer(reply: Message) -> None:
            assert isinstance(reply, BrokerRegistrationResponse)
            if reply.error_code == ErrorCode.NONE:
                self.epoch = reply.broker_epoch
                self._beat()
                return
            if reply.error_code not in RETRIED:
                self.world.violation(f"broker {self.broker_id} may not register: error {reply.error_code}")
            if reply.error_code != ErrorCode.DUPLICATE_BROKER_REGISTRATION:
                self.go_on(target)
            self.later(0.05, lambda: self._register(previous))

        self.ask(request, answer, lambda: self.later(0.05, lambda: self._register(previous)))

    def _beat(self) -> None:
        interval_s = self.world.fleet.timings.heartbeat_interval_s
        if self.is_silent:
            self.later(interval_s, self._beat)
            return
        target, asked_for_shutdown = self.target, self.wants_shutdown
        request = BrokerHeartbeatRequest(
            broker_id=self.broker_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self.seen[0] - 1,
            want_shut_down=asked_for_shutdown,
        )

        def answer(reply: Message) -> None:
            assert isinstance(reply, BrokerHeartbeatResponse)
            again_s = interval_s
            if reply.error_code == ErrorCode.NONE:
                self.beats += 1
                self.is_fenced = reply.is_fenced
                if asked_for_shutdown and reply.should_shut_down:
                    self.was_let_go = True
                    self.let_go()
                    return
                if self.wants_shutdown or self.is_fenced:
                    again_s = interval_s / 4
            elif reply.error_code == ErrorCode.NOT_CONTROLLER:
                self.go_on(target)
                again_s = interval_s / 10
            self.later(again_s, self._beat)

        self.ask(request, answer, lambda: self.later(interval_s / 10, self._beat))

    def let_go(self) -> None:
        """The controller has let it go: it ends."""
        self.end()
