"""Who asks share coordinators: what is asked again, how often, what is told in the end, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from controller_runtime.broker.peers import Peers
from controller_runtime.broker.share_partitions.persister import Kept, Persister
from controller_runtime.broker.share_state import persister
from controller_runtime.broker.share_state.persister import Place, SharePersister, Unanswered, Way
from controller_runtime.coordinator.share_state.ports import TOPIC
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Instant, NodeId, Uuid, WallClock
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import read_share_group_state_response as read_answers
from controller_runtime.protocol.messages import read_share_group_state_summary_request as summaries
from controller_runtime.protocol.messages import read_share_group_state_summary_response as answers
from controller_runtime.protocol.messages import write_share_group_state_request as writes
from controller_runtime.protocol.messages import write_share_group_state_response as write_answers
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

WALL, ORDERS, LEADER = WallClock(1_000), Uuid(bytes(15) + b"\7"), 4
NOT_YET = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


def image(*, with_topic: bool = True) -> Any:
    world = World()
    world.start_broker(LEADER)
    if with_topic:
        assert world.create(TOPIC, 1, 1).error_code == 0
    return world.image


class Asking:
    """Sums of the partitions of one topic are wanted by a group coordinator."""

    def __init__(self, *places: int, with_topic: bool = True, attempts: int = 3) -> None:
        seen = image(with_topic=with_topic)
        self.wished: list[Instant] = []
        self.told: list[dict[Place, Any]] = []
        peers = Peers(NodeId(1), CallIds(), "PLAINTEXT", lambda: seen)
        self.asked = SharePersister(peers, lambda: seen, self.wished.append, Way("c", attempts))
        wanted = {(ORDERS, index): (lambda index=index: summaries.PartitionData(partition=index)) for index in places}
        self.asked.ask(persister.SUMMARY, "g", wanted, self.answered)

    def answered(self, found: Any, *_: object) -> list[Any]:
        self.told.append(dict(found))
        return []

    def calls(self, now: float) -> list[Call]:
        return [each for each in self.asked.poll(Instant(now), WALL) if isinstance(each, Call)]

    def answer(self, call: Call, codes: dict[int, ErrorCode], now: float) -> None:
        parts = tuple(answers.PartitionResult(partition=index, error_code=code) for index, code in codes.items())
        topic = answers.ReadStateSummaryResult(topic_id=ORDERS, partitions=parts)
        body = answers.ReadShareGroupStateSummaryResponse(results=(topic,))
        self.asked.on_response(call.call_id, body, Instant(now))


def places_of(call: Call) -> list[int]:
    body: Any = call.body
    return [each.partition for topic in body.topics for each in topic.partitions]


def test_only_who_could_not_answer_is_asked_again_after_a_pause_that_grows() -> None:
    asking = Asking(0, 1, 2, 3)
    (first,) = asking.calls(0.0)
    assert places_of(first) == [0, 1, 2, 3]
    asking.answer(first, dict(enumerate((ErrorCode.NONE, *NOT_YET))), 0.0)
    assert (asking.calls(0.05), asking.told) == ([], [])
    assert asking.asked.next_deadline() == 0.1
    (second,) = asking.calls(0.1)
    assert places_of(second) == [1, 2, 3]
    said = {1: ErrorCode.FENCED_STATE_EPOCH, 2: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 3: ErrorCode.NONE}
    asking.answer(second, said, 0.1)
    assert asking.calls(0.25) == []
    (third,) = asking.calls(0.35)
    assert places_of(third) == [2]
    asking.asked.on_failure(third.call_id, Instant(0.35))
    assert asking.asked.has_ready, "it is told with the next turn"
    assert asking.calls(0.35) == []
    (told,) = asking.told
    assert {index: each.error_code for (_, index), each in told.items()} == {
        0: ErrorCode.NONE,
        1: ErrorCode.FENCED_STATE_EPOCH,
        2: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        3: ErrorCode.NONE,
    }
    assert (asking.asked.has_ready, asking.asked.next_deadline()) == (False, None)


def test_who_is_never_reached_is_told_without_another_event() -> None:
    asking = Asking(0, with_topic=False, attempts=2)
    assert [asking.calls(0.0), asking.calls(0.1)] == [[], []]
    assert asking.wished == [0.0, 0.1]
    assert asking.asked.next_deadline() == 0.0
    asking.calls(0.1)
    assert asking.told == [{(ORDERS, 0): Unanswered(ErrorCode.COORDINATOR_NOT_AVAILABLE)}]


@pytest.mark.parametrize("codes", [{}, {5: ErrorCode.NONE}], ids=["nothing", "another partition"])
def test_an_answer_to_something_else_ends_it(codes: dict[int, ErrorCode]) -> None:
    asking = Asking(0)
    (call,) = asking.calls(0.0)
    asking.answer(call, codes, 0.0)
    asking.calls(0.0)
    assert [each.error_code for each in asking.told[0].values()] == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_no_turn_sends_or_tells_more_than_a_hundred() -> None:
    asking = Asking(0)
    for index in range(1, 250):
        one = {(ORDERS, index): partial(summaries.PartitionData, partition=index)}
        asking.asked.ask(persister.SUMMARY, "g", one, asking.answered)
    sent = [asking.calls(0.0) for _ in range(3)]
    assert [len(each) for each in sent] == [100, 100, 50]
    assert asking.asked.next_deadline() is None, "all are under way"
    for call in (call for each in sent for call in each):
        asking.answer(call, dict.fromkeys(places_of(call), ErrorCode.NONE), 0.0)
    told = []
    while asking.asked.has_ready:
        before = len(asking.told)
        asking.calls(0.0)
        told.append(len(asking.told) - before)
    assert told == [100, 100, 50]


class Leading:
    """The leader of a shared partition, whose coordinator is on the same broker."""

    def __init__(self, *, at_once: bool) -> None:
        seen = image()
        self.bodies: list[Any] = []
        self.waits: list[Callable[[], object]] = []

        def to_itself(body: Message, answered: Callable[[Message], None]) -> list[Any]:
            self.bodies.append(body)
            if at_once:
                answered(self.answer_to(body))
            else:
                self.waits.append(lambda: answered(self.answer_to(body)))
            return []

        peers = Peers(NodeId(LEADER), CallIds(), "PLAINTEXT", lambda: seen, to_itself)
        self.asked = Persister(peers, lambda: seen, lambda _: None)
        self.ended: list[tuple[str, Kept]] = []

    def answer_to(self, body: Any) -> Message:
        module, kind = (
            (write_answers, "Write") if isinstance(body, writes.WriteShareGroupStateRequest) else (read_answers, "Read")
        )
        part = module.PartitionResult(partition=3, error_code=ErrorCode.NONE)
        result = getattr(module, f"{kind}StateResult")(topic_id=ORDERS, partitions=(part,))
        made: Message = getattr(module, f"{kind}ShareGroupStateResponse")(results=(result,))
        return made

    def turn(self) -> None:
        self.asked.poll(Instant(0.0), WALL)


@pytest.mark.parametrize("at_once", [True, False])
def test_of_one_share_partition_one_thing_is_asked_at_a_time_and_says_what_is_then(at_once: bool) -> None:
    leading, epoch = Leading(at_once=at_once), [1]
    key = ShareKey("g", ORDERS, 3)
    for name in ("first", "second"):
        leading.asked.write(
            key,
            lambda: writes.PartitionData(partition=3, state_epoch=epoch[0]),
            lambda kept, name=name: leading.ended.append((name, kept)),  # type: ignore[misc]
        )
    leading.turn()
    epoch[0] = 2
    assert len(leading.bodies) == 1, "the other one waits"
    if not at_once:
        leading.turn()
        assert len(leading.bodies) == 1, "as long as it takes"
        leading.waits.pop()()
    assert leading.asked.has_ready
    leading.turn()
    if not at_once:
        leading.waits.pop()()
    leading.turn()
    assert [body.topics[0].partitions[0].state_epoch for body in leading.bodies] == [1, 2]
    assert [(name, kept.error) for name, kept in leading.ended] == [
        ("first", ErrorCode.NONE),
        ("second", ErrorCode.NONE),
    ]
