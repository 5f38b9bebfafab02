"""Asking the coordinator whether a producer's transaction is open (KIP-890), and what its answer is for the client."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from controller_runtime.broker.peers import Peers
from controller_runtime.broker.transactions.verification import Question, Verifier, translated
from controller_runtime.coordinator.transactions.ports import TOPIC
from controller_runtime.coordinator.transactions.states import Place
from controller_runtime.identifiers import NodeId
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import add_partitions_to_txn_response as answered
from controller_runtime.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

COORDINATOR = NodeId(9)
PLACE: Place = ("t", 0)
OTHER: Place = ("t", 1)
OLD, WITH_ABORTABLE, ADDING = 10, 11, 12


@pytest.mark.parametrize(
    ("found", "old", "with_abortable", "adding"),
    [
        (ErrorCode.NETWORK_EXCEPTION, 19, 19, 19),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 19, 19, 19),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, 19, 19, 19),
        (ErrorCode.NOT_COORDINATOR, 19, 19, 19),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 19, 19, 51),
        (ErrorCode.PRODUCER_FENCED, 47, 47, 47),
        (ErrorCode.TRANSACTION_ABORTABLE, 48, 120, 120),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 48, 48, 48),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 49, 49, 49),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 53, 53, 53),
    ],
)
def test_what_a_producer_is_told_of_the_coordinators_answer(
    found: ErrorCode, old: int, with_abortable: int, adding: int
) -> None:
    """PRD-23: by the version of its request."""
    for version, expected in ((OLD, old), (WITH_ABORTABLE, with_abortable), (ADDING, adding)):
        told = translated(found, knows_concurrent=version >= ADDING, knows_abortable=version >= WITH_ABORTABLE)
        assert told == expected, version


class Story:
    """A broker whose producers' coordinator is another one, which the test answers for."""

    def __init__(self, *, coordinator: bool = True) -> None:
        world = World()
        world.start_broker(COORDINATOR)
        if coordinator:
            assert world.create(TOPIC, 1, 1).error_code == 0
        self.image = world.image
        self.told: dict[int, dict[Place, ErrorCode]] = {}
        """By the number of the question."""
        self.asked = 0
        self.calls: list[Call] = []
        self.verifier = Verifier(
            Peers(NodeId(1), CallIds(), "PLAINTEXT", lambda: self.image, lambda *_: []), self._perform
        )

    def _perform(self, effects: Sequence[object]) -> None:
        self.calls += [one for one in effects if isinstance(one, Call)]

    def ask(self, name: str = "till", epoch: int = 3, places: tuple[Place, ...] = (PLACE,), adds: bool = True) -> int:
        self.asked += 1
        number = self.asked

        def told(codes: dict[Place, ErrorCode]) -> None:
            assert number not in self.told, "told twice"
            self.told[number] = codes

        self._perform([*self.verifier.ask(self.image, Question(name, 7, epoch, places, adds=adds, told=told))])
        return number

    def named(self, number: int) -> list[tuple[str, int, bool]]:
        """The transactions of a call."""
        body = self.calls[number].body
        assert isinstance(body, AddPartitionsToTxnRequest)
        return [(one.transactional_id, one.producer_epoch, one.verify_only) for one in body.transactions]

    def answer(self, number: int, *names: str, code: ErrorCode = ErrorCode.NONE, whole: int = 0) -> None:
        each = (answered.AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=code),)
        topics = (answered.AddPartitionsToTxnTopicResult(name="t", results_by_partition=each),)
        found = tuple(answered.AddPartitionsToTxnResult(transactional_id=name, topic_results=topics) for name in names)
        body = answered.AddPartitionsToTxnResponse(error_code=whole, results_by_transaction=found)
        self._perform([*self.verifier.on_response(self.calls[number].call_id, body)])


def test_one_request_is_on_its_way_and_what_comes_meanwhile_goes_with_the_next() -> None:
    story = Story()
    first, second, third = story.ask(), story.ask("bank", adds=False), story.ask("shop")
    assert [story.named(0), len(story.calls)] == [[("till", 3, False)], 1]
    story.answer(0, "till")
    assert story.told == {first: {PLACE: ErrorCode.NONE}}
    assert story.named(1) == [("bank", 3, True), ("shop", 3, False)]
    story.answer(1, "shop", code=ErrorCode.NOT_COORDINATOR)
    assert story.told[third] == {PLACE: ErrorCode.NOT_COORDINATOR}
    assert story.told[second] == {PLACE: ErrorCode.UNKNOWN_SERVER_ERROR}, "the coordinator left it out"


@pytest.mark.parametrize(
    ("epochs", "loser", "code"),
    [
        ((3, 4), 1, ErrorCode.INVALID_PRODUCER_EPOCH),
        ((3, 3), 1, ErrorCode.NETWORK_EXCEPTION),
        ((4, 3), 2, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_of_two_questions_about_one_id_the_newer_is_asked(epochs: tuple[int, int], loser: int, code: ErrorCode) -> None:
    """PRD-24: the older one is told that it is fenced, or that it may try again."""
    story = Story()
    story.ask("busy")
    numbers = [story.ask("till", epoch) for epoch in epochs]
    assert story.told == {numbers[loser - 1]: {PLACE: code}}
    story.answer(0, "busy")
    assert story.named(1) == [("till", max(epochs), False)]


def test_a_coordinator_that_refuses_all_or_does_not_answer_refuses_each() -> None:
    story = Story()
    first = story.ask(places=(PLACE, OTHER))
    second = story.ask("bank")
    story.answer(0, whole=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert story.told == {first: {PLACE: refused, OTHER: refused}}
    third = story.ask("shop")
    story._perform([*story.verifier.on_failure(story.calls[1].call_id)])
    assert story.told[second] == {PLACE: ErrorCode.NETWORK_EXCEPTION}
    assert (story.named(2), third in story.told) == ([("shop", 3, False)], False)


def test_without_a_coordinator_nothing_is_verified() -> None:
    story = Story(coordinator=False)
    assert story.told[story.ask()] == {PLACE: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert story.calls == []
