"""A request for thousands of partitions is decided in pieces: consensus is served between them, and nobody can tell
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.controller import topics
from controller_runtime.controller.decision import Decision, Pieces, RequestContext
from controller_runtime.identifiers import NodeId, Offset, WallClock
from controller_runtime.metadata.records import encode_record
from controller_runtime.node.quorum import effects
from controller_runtime.node.quorum.image_feed import PIECE_RECORDS, ImageFeed
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived, TimePassed
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.record_batch import batch_headers
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import World
from support.nodes.lone_controller import CLUSTER_ID, LoneController

pytestmark = pytest.mark.unit

BROKER = 101
MANY = 3000


class Client:
    """Asks a lone controller with one broker."""

    def __init__(self) -> None:
        self.controller = LoneController()
        self.controller.run(1)
        self._number = 0
        registration = World().registration(BROKER, cluster_id=CLUSTER_ID)
        registered = self.ask(registration, ApiKey.BROKER_REGISTRATION, 4)
        assert isinstance(registered, BrokerRegistrationResponse)
        assert registered.error_code == 0
        beat = BrokerHeartbeatRequest(
            broker_id=BROKER, broker_epoch=registered.broker_epoch, current_metadata_offset=1 << 40
        )
        self.ask(beat, ApiKey.BROKER_HEARTBEAT, 1)
        assert not self.controller.node.image.cluster.brokers[NodeId(BROKER)].fenced

    def send(self, body: Message, key: ApiKey, version: int) -> RequestId:
        self._number += 1
        number = RequestId(self._number)
        connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
        self.controller.feed(RequestReceived(number, connection, key, version, "client", body))
        return number

    def answer(self, number: RequestId) -> Message | None:
        found = [e.body for e in self.controller.seen if isinstance(e, effects.Respond) and e.request_id == number]
        return found[0] if found else None

    def create(self, *topics: CreatableTopic, validate_only: bool = False) -> RequestId:
        return self.send(CreateTopicsRequest(topics=topics, validate_only=validate_only), ApiKey.CREATE_TOPICS, 7)

    def ask(self, body: Message, key: ApiKey, version: int) -> Message:
        number = self.send(body, key, version)
        return self.wait_for(number)

    def wait_for(self, number: RequestId) -> Message:
        for _ in range(1000):
            if (found := self.answer(number)) is not None:
                return found
            self.turn()
        raise AssertionError("no answer")

    def turn(self) -> None:
        """The timer that the node asked for."""
        self.controller.now = max(self.controller.now, self.controller.node.next_deadline() or self.controller.now)
        self.controller.feed(TimePassed())

    def codes(self, number: RequestId) -> list[int]:
        body = self.wait_for(number)
        assert isinstance(body, CreateTopicsResponse)
        return [topic.error_code for topic in body.topics]


def topic(name: str, partitions: int = 1) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)


def assigned(name: str, partitions: int) -> CreatableTopic:
    where = tuple(CreatableReplicaAssignment(partition_index=n, broker_ids=(BROKER,)) for n in range(partitions))
    return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=where)


def test_between_the_pieces_consensus_answers_and_nothing_of_the_decision_is_seen() -> None:
    client = Client()
    node, before = client.controller.node, client.controller.log.end_offset
    asked = client.create(topic("big", MANY))
    pieces = 0
    while client.answer(asked) is None and client.controller.log.end_offset == before:
        now = client.controller.now
        quorum = client.send(DescribeQuorumRequest(), ApiKey.DESCRIBE_QUORUM, 2)
        assert client.answer(quorum) is not None, "it waits for nothing"
        if client.controller.log.end_offset != before:
            break
        assert "big" not in node.image.topics.ids
        assert node.working_on == ApiKey.CREATE_TOPICS, "for metrics: its processor time is that of this API"
        assert node.next_deadline() is not None
        assert (node.next_deadline() or now) <= now, "it wants to go on at once"
        client.turn()
        pieces += 1
        assert pieces < 1000
    assert pieces >= MANY // PIECE_RECORDS
    assert client.codes(asked) == [0]
    made = node.image.topics.named("big")
    assert made is not None
    assert made.partition_count == MANY
    (batch,) = [h for h in batch_headers(client.controller.log.read(before, 1 << 24)) if h.record_count > 5]
    assert batch.record_count == MANY + 1, "visible together or not at all"


def test_no_piece_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever shape the request has, so few partitions and topics are planned, and records replayed, in one step."""
    client = Client()
    planned: list[int] = []
    count = 0

    def counted(name: str, original: Callable[..., object]) -> None:
        def call(*args: object) -> object:
            nonlocal count
            count += 1
            return original(*args)

        monkeypatch.setattr(name, call)

    counted("controller_runtime.controller.topics.new_partition", topics.new_partition)
    counted("controller_runtime.controller.topics._check_manual", topics._check_manual)
    counted("controller_runtime.node.active.long_decision.encode_record", encode_record)
    shapes = {
        "one": [topic("one", MANY)],
        "many": [topic(f"many-{n}") for n in range(600)],
        "some": [topic(f"some-{n}", 260) for n in range(5)],
        "assigned": [assigned("assigned", MANY)],
    }
    for topics_wanted in shapes.values():
        asked = client.create(*topics_wanted)
        planned.append(count)
        while client.answer(asked) is None:
            count = 0
            client.turn()
            planned.append(count)
        count = 0
    assert max(planned) <= 2 * topics.PIECE
    assert sum(planned) >= 2 * (MANY + 600 + 5 * 260 + MANY)


def test_what_comes_meanwhile_is_decided_after_it_and_sees_it() -> None:
    client = Client()
    first = client.create(topic("big", MANY))
    again = client.create(topic("big"))
    other = client.create(topic("small"))
    longer = client.create(topic("bigger", MANY), topic("small"))
    assert client.answer(again) is None
    assert client.codes(first) == [0]
    assert client.codes(again) == [ErrorCode.TOPIC_ALREADY_EXISTS]
    assert client.codes(other) == [0]
    assert sorted(client.codes(longer)) == [0, ErrorCode.TOPIC_ALREADY_EXISTS]
    assert client.controller.node.next_deadline() != 0.0, "it rests"


def test_one_that_is_refused_or_only_validated_writes_nothing() -> None:
    client = Client()
    before = client.controller.node.image
    assert client.codes(client.create(topic("big", MANY), validate_only=True)) == [0]
    assert client.codes(client.create(topic("big", 9_000), topic("more", 9_000))) == [ErrorCode.POLICY_VIOLATION] * 2
    assert client.controller.node.image.topics == before.topics
    assert client.codes(client.create(topic("after"))) == [0]


def test_who_stops_leading_in_the_middle_sends_everybody_on_and_keeps_nothing_of_it() -> None:
    client = Client()
    controller = client.controller
    asked = client.create(topic("big", MANY))
    behind = client.create(topic("small"))
    client.turn()
    controller.node.meta.leading = None
    client.turn()
    refused = [client.wait_for(number) for number in (asked, behind)]
    for body in refused:
        assert isinstance(body, CreateTopicsResponse)
        assert {one.error_code for one in body.topics} == {ErrorCode.NOT_CONTROLLER}
    assert controller.node.image.topics.partition_count == 0


def test_it_is_the_decision_that_is_made_at_once() -> None:
    """The same records and the same answer, from the same dice."""
    at_once, in_pieces = World(), World()
    for world in (at_once, in_pieces):
        world.start_broker(BROKER)
    request = CreateTopicsRequest(
        topics=(topic("a", 700), topic("b"), topic("b2", -5), assigned("c", 600), topic("d", 90))
    )
    assert in_pieces.service.comes_in_pieces(request)
    pieces, decision = finished(
        in_pieces.service.plan(in_pieces.image, request, RequestContext(7, Offset(0), WallClock(0)), in_pieces.now)
    )
    assert pieces >= 5
    assert decision == at_once.decide(request, 7)
    assert sum(isinstance(record, PartitionRecord) for record, _ in decision.records) == 1391


def finished(plan: Pieces) -> tuple[int, Decision]:
    pieces = 0
    while True:
        try:
            next(plan)
        except StopIteration as done:
            return pieces, done.value
        pieces += 1


def test_a_standby_replays_a_long_batch_in_pieces_and_shows_it_as_one() -> None:
    client = Client()
    assert client.codes(client.create(topic("big", MANY))) == [0]
    node = client.controller.node
    feed = ImageFeed(node.meta, client.controller.log)
    pieces, seen = 0, []
    while feed.advance():
        pieces += 1
        seen.append((feed.position, feed.image.topics.partition_count))
    assert pieces >= MANY // PIECE_RECORDS
    assert {count for _, count in seen} <= {0, MANY}
    assert seen == sorted(seen)
    assert feed.image == node.image
    assert [records for records, _ in feed.batch_sizes].count(MANY + 1) == 1
