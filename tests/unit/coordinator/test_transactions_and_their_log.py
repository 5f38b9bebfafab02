"""A partition of `__transaction_state` and its log: what a client is told when the log does not take a step, and what
is so then; and markers for the partitions of a transaction, whatever their leaders answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from controller_runtime.broker.peers import Peers
from controller_runtime.broker.transactions.marker_sender import MarkerSender
from controller_runtime.coordinator.transactions import states
from controller_runtime.coordinator.transactions.ending import abort_fenced, end_transaction
from controller_runtime.coordinator.transactions.partition import SendMarkers, TransactionPartition
from controller_runtime.coordinator.transactions.records import TransactionRecord
from controller_runtime.coordinator.transactions.settings import TransactionSettings
from controller_runtime.coordinator.transactions.states import State, Transaction, TransactionalId
from controller_runtime.coordinator.transactions.upkeep import forget_old
from controller_runtime.identifiers import Instant, NodeId, WallClock
from controller_runtime.metadata.cluster import ClusterImage
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call, Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.parts.pieces import LongWork
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import write_txn_markers_response as marked
from controller_runtime.protocol.messages.end_txn_request import EndTxnRequest
from controller_runtime.protocol.messages.end_txn_response import EndTxnResponse
from controller_runtime.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from controller_runtime.values import replace
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

NOW, WALL = Instant(0.0), WallClock(1_800_000_000_000)
NAME, PLACE = "till", ("t", 0)
LEVEL = 1
LATER = Instant(60.0)
"""After what anybody waits for the log."""


class Log:
    """Implements `StateTopic`: takes what it is given, unless it is told to refuse; the test commits."""

    def __init__(self, image: MetadataImage | None = None) -> None:
        self.image = image or MetadataImage.empty()
        self.refuses: ErrorCode | None = None
        self.taken = 0

    def append(self, index: int, batch: bytes, wall: WallClock) -> int | ErrorCode:
        if self.refuses is not None:
            return self.refuses
        self.taken += 1
        return self.taken

    def next_producer_id(self) -> int | None:
        return 4_000


class Coordinator:
    """The one partition is led here, as `TransactionCoordinator` finds it."""

    def __init__(self, log: Log, state: State, **more: object) -> None:
        self.topic = log
        self.partition = TransactionPartition(0, 3, TransactionSettings(), log)
        known = Transaction(producer_id=7, timeout_ms=60_000, updated_ms=WALL, epoch=5, state=state)
        self.partition.replay(TransactionRecord(NAME, replace(known, **more)))  # type: ignore[arg-type]
        self.partition.begin(WALL)

    def find(self, _name: str) -> TransactionPartition | ErrorCode:
        return self.partition

    @property
    def entry(self) -> TransactionalId:
        return self.partition.known[NAME]

    def end(self, *, commit: bool = True, version: int = 4) -> ErrorCode | None:
        """What a producer is told at once; None: nothing yet."""
        request = EndTxnRequest(transactional_id=NAME, producer_id=7, producer_epoch=5, committed=commit)
        info = ConnectionInfo(ConnectionId(1), "PLAINTEXT", authenticated=False)
        event = RequestReceived(RequestId(1), info, ApiKey.END_TXN, version, "c", request)
        return answered(end_transaction(self, event, request, NOW, WALL))  # type: ignore[arg-type]


def answered(effects: Sequence[object]) -> ErrorCode | None:
    found = [one.body for one in effects if isinstance(one, Respond) and isinstance(one.body, EndTxnResponse)]
    return ErrorCode(found[0].error_code) if found else None


def open_one(log: Log | None = None) -> Coordinator:
    return Coordinator(log or Log(), State.ONGOING, partitions=frozenset({PLACE}), started_ms=WALL)


def test_a_step_on_its_way_to_the_log_excludes_others() -> None:
    """TXN-18: they are told 51 until it is committed, and what it says counts only then."""
    coordinator = open_one()
    assert (coordinator.end(), coordinator.end()) == (None, ErrorCode.CONCURRENT_TRANSACTIONS)
    assert (coordinator.entry.now.state, coordinator.entry.pending) == (State.ONGOING, State.PREPARE_COMMIT)
    effects = coordinator.partition.committed_to(1, WALL)
    assert answered(effects) is ErrorCode.NONE
    assert [one for one in effects if isinstance(one, SendMarkers)] == [SendMarkers(0, NAME)]
    assert coordinator.end() is ErrorCode.CONCURRENT_TRANSACTIONS, "the markers are not written yet"


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_the_log_refuses_has_changed_nothing(refused: ErrorCode, told: ErrorCode) -> None:
    """TXN-19: with Kafka's codes; the next attempt is judged as the first."""
    log = Log()
    coordinator = open_one(log)
    log.refuses = refused
    assert coordinator.end() is told
    assert (coordinator.entry.now.state, coordinator.entry.pending) == (State.ONGOING, None)
    log.refuses = None
    assert coordinator.end() is None


def test_what_waits_too_long_for_the_log_and_what_another_leader_decides_has_changed_nothing() -> None:
    """TXN-19."""
    coordinator = open_one()
    coordinator.end()
    assert answered(coordinator.partition.give_up(LATER)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (coordinator.end(), coordinator.entry.pending) == (None, State.PREPARE_COMMIT)
    assert answered(coordinator.partition.resign()) is ErrorCode.NOT_COORDINATOR
    assert coordinator.entry.pending is None


def test_a_transaction_that_has_all_its_markers_is_completed_until_the_log_takes_it() -> None:
    """TXN-16: nobody else may begin meanwhile; a partition that is not led here any more leaves it to who leads it."""
    log = Log()
    coordinator = open_one(log)
    coordinator.end()
    coordinator.partition.committed_to(1, WALL)
    log.refuses = ErrorCode.NOT_ENOUGH_REPLICAS
    for _ in range(3):
        again = coordinator.partition.marked(NAME, [PLACE], NOW, WALL)
        assert again == [SendMarkers(0, NAME, again=True)]
        assert (coordinator.entry.pending, coordinator.end()) == (
            State.COMPLETE_COMMIT,
            ErrorCode.CONCURRENT_TRANSACTIONS,
        )
    log.refuses = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert coordinator.partition.marked(NAME, [PLACE], NOW, WALL) == []
    log.refuses = None
    assert coordinator.partition.marked(NAME, [PLACE], NOW, WALL) == []
    coordinator.partition.committed_to(2, WALL)
    assert (coordinator.entry.now.state, coordinator.entry.pending) == (State.COMPLETE_COMMIT, None)


def forgotten(coordinator: Coordinator, wall: int) -> bool:
    work = LongWork(forget_old(coordinator.partition, NOW, WallClock(wall)))
    while not work.is_over:
        work.go_on([])
    coordinator.partition.committed_to(coordinator.topic.taken, WALL)
    return NAME not in coordinator.partition.known


@pytest.mark.parametrize("state", [one for one in State if one is not State.DEAD])
def test_an_id_that_nobody_used_for_long_is_forgotten_if_it_has_no_transaction(state: State) -> None:
    """TXN-22."""
    week = TransactionSettings().expiration_ms
    places = frozenset({PLACE}) if state in (State.ONGOING, *states.PREPARED) else frozenset()
    assert not forgotten(Coordinator(Log(), state, partitions=places), WALL + week - 1)
    is_over = state in (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
    assert forgotten(Coordinator(Log(), state, partitions=places), WALL + week) == is_over


def test_an_id_is_kept_when_the_log_does_not_take_that_it_is_forgotten() -> None:
    """TXN-22: and is of use at once."""
    log = Log()
    coordinator = Coordinator(log, State.EMPTY)
    log.refuses = ErrorCode.NOT_ENOUGH_REPLICAS
    assert not forgotten(coordinator, WALL + TransactionSettings().expiration_ms)
    assert coordinator.entry.pending is None
    log.refuses = None
    assert forgotten(coordinator, WALL + TransactionSettings().expiration_ms)


def at_transaction_version(level: int) -> MetadataImage:
    image = MetadataImage.empty()
    return replace(
        image, features=replace(image.features, levels={**image.features.levels, "transaction.version": level})
    )


@pytest.mark.parametrize(("level", "epoch"), [(0, 6), (2, 7)])
def test_the_level_that_holds_when_a_transaction_ends_says_how(level: int, epoch: int) -> None:
    """TXN-27: it was begun at another one. The fence raises the epoch once, and from level 2 on the end does again."""
    log = Log(at_transaction_version(2 - level))
    coordinator = open_one(log)
    log.image = at_transaction_version(level)
    assert abort_fenced(coordinator, coordinator.partition, coordinator.entry, None, now=NOW, wall=WALL) == []  # type: ignore[arg-type]
    coordinator.partition.committed_to(1, WALL)
    assert (coordinator.entry.now.state, coordinator.entry.now.epoch) == (State.PREPARE_ABORT, epoch)


@pytest.mark.parametrize(("version", "epoch"), [(4, 5), (5, 6)])
def test_a_producer_may_end_in_another_version_than_it_began(version: int, epoch: int) -> None:
    """TXN-27: the version of the request that ends it decides."""
    coordinator = open_one()
    assert coordinator.end(version=version) is None
    coordinator.partition.committed_to(1, WALL)
    assert (coordinator.entry.now.state, coordinator.entry.now.epoch) == (State.PREPARE_COMMIT, epoch)


# Markers.

LEADER = NodeId(9)


class Sender:
    """Markers for one partition, led by a broker whose answers the test makes."""

    def __init__(self, *, with_topic: bool = True) -> None:
        world = World()
        world.start_broker(LEADER)
        if with_topic:
            assert world.create("t", 1, 1).error_code == 0
        self.image = world.image
        self.coordinator = open_one()
        self.coordinator.end()
        (markers,) = (one for one in self.coordinator.partition.committed_to(1, WALL) if isinstance(one, SendMarkers))
        self.done: list[list[states.Place]] = []
        peers = Peers(NodeId(1), CallIds(), "PLAINTEXT", lambda: self.image, lambda *_: [])
        self.sender = MarkerSender(peers, lambda _partition, _name, places: self.done.append(places))
        self.sender.add(markers, self.coordinator.partition, NOW)

    def send(self, now: float = 0.0) -> Call | None:
        found = [one for one in self.sender.poll(self.image, Instant(now)) if isinstance(one, Call)]
        assert len(found) <= 1
        return found[0] if found else None

    def answer(self, call: Call, code: ErrorCode, now: float = 0.0) -> None:
        one = marked.WritableTxnMarkerPartitionResult(partition_index=0, error_code=code)
        topic = marked.WritableTxnMarkerTopicResult(name="t", partitions=(one,))
        body = marked.WriteTxnMarkersResponse(markers=(marked.WritableTxnMarkerResult(producer_id=7, topics=(topic,)),))
        self.sender.on_response(call.call_id, body, Instant(now))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        None,
    ],
)
def test_a_marker_that_a_leader_does_not_take_is_sent_again(code: ErrorCode | None) -> None:
    """TXN-14. None: it does not answer."""
    sender = Sender()
    for round_number in range(3):
        call = sender.send(round_number)
        assert call is not None
        assert isinstance(call.body, WriteTxnMarkersRequest)
        (marker,) = call.body.markers
        assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 5, 3)
        if code is None:
            sender.sender.on_failure(call.call_id, Instant(round_number))
        else:
            sender.answer(call, code, round_number)
        assert (sender.done, sender.send(round_number)) == ([], None), "not at once"
    last = sender.send(9.0)
    assert last is not None
    sender.answer(last, ErrorCode.NONE)
    assert (sender.done, sender.send(10.0), sender.sender.next_deadline()) == ([[PLACE]], None, None)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_leader_that_knows_of_a_newer_coordinator_or_producer_ends_the_work(code: ErrorCode) -> None:
    """TXN-14: it is said."""
    sender = Sender()
    call = sender.send()
    assert call is not None
    sender.answer(call, code)
    assert [type(one).__name__ for one in sender.sender.poll(sender.image, Instant(5.0))] == ["Log"]
    assert (sender.done, sender.send(9.0)) == ([], None)


def test_a_partition_whose_topic_is_gone_needs_no_marker() -> None:
    """TXN-14."""
    sender = Sender(with_topic=False)
    assert (sender.send(), sender.done) == (None, [[PLACE]])


def test_a_partition_without_a_leader_waits_for_one() -> None:
    """TXN-14."""
    sender = Sender()
    known = sender.image
    away = replace(known.cluster.brokers[LEADER], listeners={})
    sender.image = replace(known, cluster=ClusterImage({LEADER: away}))
    assert (sender.send(), sender.done) == (None, []), "its broker has no such listener now"
    sender.image = known
    assert sender.send(5.0) is not None
