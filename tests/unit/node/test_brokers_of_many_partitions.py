"""What touches every partition of a broker comes in pieces: votes, fetches and heartbeats are served between them, and
the end is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from controller_runtime.controller.decision import PIECE_RECORDS
from controller_runtime.identifiers import Instant, NodeId, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.active.active_controller import Active
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.quorum import effects as e
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived, TimePassed
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.log.config import LogConfig
from support.nodes.controller_world import World
from support.nodes.lone_controller import CLUSTER_ID, LoneController

pytestmark = pytest.mark.unit

BIG, SMALL = 101, 102
MANY = 3000
TOPICS = 3


class Quorum:
    """A lone controller with a broker that leads many partitions, and one that leads none."""

    def __init__(self) -> None:
        self.controller = LoneController(log_config=LogConfig(segment_bytes=1 << 24, tail_bytes=1 << 16))
        self.controller.run(1)
        self.epochs: dict[int, int] = {}
        self._number = 0
        self.steps: list[int] = []
        """How many records each step wrote."""
        self._step = self.controller.node.step
        self.controller.node.step = self._counted  # type: ignore[method-assign]
        self.register(BIG)
        self.beat(BIG)
        for n in range(TOPICS):
            topic = CreatableTopic(name=f"t{n}", num_partitions=MANY // TOPICS, replication_factor=1)
            made = self.ask(CreateTopicsRequest(topics=(topic,)), ApiKey.CREATE_TOPICS, 7)
            assert isinstance(made, CreateTopicsResponse)
            assert made.topics[0].error_code == ErrorCode.NONE
        self.register(SMALL)
        self.beat(SMALL)
        self.steps.clear()

    @property
    def image(self) -> MetadataImage:
        return self.controller.node.image

    def send(self, body: Message, key: ApiKey, version: int) -> RequestId:
        self._number += 1
        number = RequestId(self._number)
        connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
        self.controller.feed(RequestReceived(number, connection, key, version, "client", body))
        return number

    def _counted(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> list[NodeEffect]:
        before = self._written()
        effects = self._step(events, now, wall)
        self.steps.append(self._written() - before)
        return effects

    def _written(self) -> int:
        role = self.controller.controller._role
        return role.writer.next_offset if isinstance(role, Active) else self.controller.log.end_offset

    def turn(self) -> None:
        self.controller.now = max(self.controller.now, self.controller.node.next_deadline() or self.controller.now)
        self.controller.feed(TimePassed())

    def answer(self, number: RequestId) -> Message | None:
        found = [s.body for s in self.controller.seen if isinstance(s, e.Respond) and s.request_id == number]
        return found[0] if found else None

    def wait_for(self, number: RequestId) -> Message:
        while (found := self.answer(number)) is None:
            self.turn()
            assert len(self.steps) < 10_000, "no answer"
        return found

    def ask(self, body: Message, key: ApiKey, version: int) -> Message:
        return self.wait_for(self.send(body, key, version))

    def register(self, broker: int, incarnation: int = 1) -> None:
        wanted = World().registration(broker, incarnation, cluster_id=CLUSTER_ID)
        made = self.ask(wanted, ApiKey.BROKER_REGISTRATION, 4)
        assert isinstance(made, BrokerRegistrationResponse)
        assert made.error_code == ErrorCode.NONE
        self.epochs[broker] = made.broker_epoch

    def send_beat(self, broker: int, **wish: bool) -> RequestId:
        epoch = self.epochs[broker]
        body = BrokerHeartbeatRequest(broker_id=broker, broker_epoch=epoch, current_metadata_offset=1 << 40, **wish)  # type: ignore[arg-type]
        return self.send(body, ApiKey.BROKER_HEARTBEAT, 1)

    def beat(self, broker: int, **wish: bool) -> BrokerHeartbeatResponse:
        answer = self.wait_for(self.send_beat(broker, **wish))
        assert isinstance(answer, BrokerHeartbeatResponse)
        return answer

    def fenced(self, broker: int) -> bool:
        return self.image.cluster.brokers[NodeId(broker)].fenced

    def leaderless(self) -> int:
        return sum(p.leader < 0 for topic in self.image.topics for _, p in topic.partitions())

    # What touches every partition of BIG.

    def end_session(self) -> None:
        while not self.fenced(BIG):
            self.controller.now = Instant(self.controller.now + 0.5)
            if self.controller.now % 4 < 0.5:
                self.send_beat(SMALL)
            self.turn()
            assert len(self.steps) < 10_000

    def come_back(self) -> None:
        self.end_session()
        self.steps.clear()
        assert not self.beat(BIG).is_fenced

    def register_anew(self) -> None:
        self.beat(SMALL)
        self.controller.now = Instant(self.controller.now + 8.99)
        self.beat(SMALL)
        self.controller.now = Instant(self.controller.now + 0.02)
        self.register(BIG, 2)
        assert self.fenced(BIG)

    def shut_down(self) -> None:
        assert not self.beat(BIG, want_shut_down=True).should_shut_down
        assert self.image.cluster.brokers[NodeId(BIG)].in_controlled_shutdown

    def unregister(self) -> None:
        answer = self.ask(UnregisterBrokerRequest(broker_id=BIG), ApiKey.UNREGISTER_BROKER, 0)
        assert isinstance(answer, UnregisterBrokerResponse)
        assert answer.error_code == ErrorCode.NONE
        assert NodeId(BIG) not in self.image.cluster.brokers


KINDS: dict[str, tuple[Callable[[Quorum], None], int]] = {
    "its session ends": (Quorum.end_session, MANY),
    "it comes back": (Quorum.come_back, 0),
    "it registers anew": (Quorum.register_anew, MANY),
    "it shuts down": (Quorum.shut_down, MANY),
    "it is unregistered": (Quorum.unregister, MANY),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_step_changes_more_than_a_piece_and_the_end_is_whole(kind: str) -> None:
    quorum = Quorum()
    act, leaderless = KINDS[kind]
    act(quorum)
    assert quorum.leaderless() == leaderless
    assert max(quorum.steps) <= PIECE_RECORDS + 2, "a piece, and perhaps a NoOp and the change of the broker itself"
    assert sum(quorum.steps) >= MANY


def test_between_pieces_consensus_answers_and_brokers_are_heard() -> None:
    quorum = Quorum()
    quorum.controller.holds_flushes = True
    removal = quorum.send(UnregisterBrokerRequest(broker_id=BIG), ApiKey.UNREGISTER_BROKER, 0)
    topic = CreatableTopic(name="later", num_partitions=1, replication_factor=1)
    later = quorum.send(CreateTopicsRequest(topics=(topic,)), ApiKey.CREATE_TOPICS, 7)
    for _ in range(2):
        seen = quorum.send(DescribeQuorumRequest(), ApiKey.DESCRIBE_QUORUM, 2)
        assert quorum.answer(seen) is not None, "it waits for nothing"
        beat = quorum.send_beat(SMALL)
        quorum.controller.now = Instant(quorum.controller.now + 0.01)
        quorum.turn()
        quorum.controller.finish_flush()
        assert isinstance(quorum.answer(beat), BrokerHeartbeatResponse), "a heartbeat waits for no decision"
        assert quorum.answer(removal) is None
    quorum.controller.holds_flushes = False
    assert quorum.answer(later) is None, "what has to be decided waits for the decision before it"
    made = quorum.wait_for(later)
    assert isinstance(made, CreateTopicsResponse)
    assert quorum.answer(removal) is not None
    assert made.topics[0].error_code == ErrorCode.NONE
    placed = quorum.image.topics.named("later")
    assert placed is not None
    assert [p.replicas for _, p in placed.partitions()] == [(SMALL,)], "it saw the broker gone"


def test_a_heartbeat_sees_what_was_decided_before_it_in_the_same_step() -> None:
    """The record that removes the broker waits for its batch still: its heartbeat is answered as one of a stranger."""
    quorum = Quorum()
    node, controller = quorum.controller.node, quorum.controller
    here = ConnectionInfo(ConnectionId(1), "CONTROLLER")
    beat = BrokerHeartbeatRequest(broker_id=SMALL, broker_epoch=quorum.epochs[SMALL], current_metadata_offset=1 << 40)
    removal = UnregisterBrokerRequest(broker_id=SMALL)
    both = [
        RequestReceived(RequestId(901), here, ApiKey.UNREGISTER_BROKER, 0, "client", removal),
        RequestReceived(RequestId(902), here, ApiKey.BROKER_HEARTBEAT, 1, "client", beat),
    ]
    controller.perform(node.step(both, controller.now, controller.wall))
    answer = quorum.wait_for(RequestId(902))
    assert isinstance(answer, BrokerHeartbeatResponse)
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_who_stops_leading_in_the_middle_leaves_the_pieces_that_are_written_and_its_successor_ends_the_work() -> None:
    quorum = Quorum()
    quorum.controller.holds_flushes = True
    removal = quorum.send(UnregisterBrokerRequest(broker_id=BIG), ApiKey.UNREGISTER_BROKER, 0)
    quorum.turn()
    quorum.controller.finish_flush()
    quorum.controller.holds_flushes = False
    node = quorum.controller.node
    leading, node.meta.leading = node.meta.leading, None
    quorum.turn()
    refused = quorum.wait_for(removal)
    assert isinstance(refused, UnregisterBrokerResponse)
    assert refused.error_code == ErrorCode.NOT_CONTROLLER
    assert 0 < quorum.leaderless() < MANY
    assert NodeId(BIG) in quorum.image.cluster.brokers
    node.meta.leading = leading
    quorum.turn()
    quorum.unregister()
    assert quorum.leaderless() == MANY


def test_the_epoch_of_a_broker_is_the_offset_of_its_registration_however_many_pieces_came_before_it() -> None:
    quorum = Quorum()
    before = quorum.epochs[BIG]
    quorum.register_anew()
    assert quorum.epochs[BIG] > before + MANY
    assert quorum.image.cluster.brokers[NodeId(BIG)].epoch == quorum.epochs[BIG]
    assert quorum.epochs[BIG] < quorum.controller.log.end_offset
    assert not quorum.beat(BIG).is_fenced
