"""Requests about transactions, right, wrong and borderline, at every version: beside Apache Kafka.

Both nodes have the same transactional ids from the start: one without a transaction, one whose transaction is open.
What changes them is in stories at the end, each told to both sides step by step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from controller_runtime.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from controller_runtime.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from controller_runtime.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from controller_runtime.protocol.messages.end_txn_request import EndTxnRequest
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from controller_runtime.protocol.messages.list_transactions_request import ListTransactionsRequest
from controller_runtime.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from support.apache_kafka.differential import Case, Pair, Side, Table, judge
from support.clients.lying_batches import batch
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
EMPTY, OPEN, NOBODYS = "txn.empty", "txn.open", "txn.nobodys"
GROUP = "txn.group"
TRANSACTIONAL = 0x10
PRODUCERS = {EMPTY: "<the producer of txn.empty>", OPEN: "<the producer of txn.open>"}


def call(side: Side, request: Any, version: int) -> Any:
    return side.call(ListenerType.BROKER, request, version)


def _is_found(side: Side, key: str, key_type: int = 1) -> bool:
    found = call(side, FindCoordinatorRequest(coordinator_keys=(key,), key_type=key_type), 6)
    return bool(found.coordinators[0].error_code == 0)


def begun(side: Side, name: str, version: int = 5, **more: Any) -> Any:
    """A producer, with its epoch."""
    eventually("its coordinator", lambda: _is_found(side, name))

    def told() -> Any:
        found = call(
            side, InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=600_000, **more), version
        )
        busy = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
        return None if found.error_code in busy else found

    return eventually("a producer", told)


def topics_of(*partitions: int, topic: str = "orders") -> tuple[AddPartitionsToTxnTopic, ...]:
    return (AddPartitionsToTxnTopic(name=topic, partitions=partitions),)


def add_old(name: str, producer_id: int, epoch: int, *partitions: int, topic: str = "orders") -> Any:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=topics_of(*partitions, topic=topic),
    )


def one(name: str, producer_id: int, epoch: int, *partitions: int, **more: Any) -> AddPartitionsToTxnTransaction:
    topic = more.pop("topic", "orders")
    return AddPartitionsToTxnTransaction(
        transactional_id=name,
        producer_id=producer_id,
        producer_epoch=epoch,
        topics=topics_of(*partitions, topic=topic),
        **more,
    )


def end(name: str, producer_id: int, epoch: int, *, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(transactional_id=name, producer_id=producer_id, producer_epoch=epoch, committed=commit)


@pytest.fixture(scope="module", autouse=True)
def _transactions(pair: Pair) -> None:
    for side in pair.sides:
        side.learn_topics()
        eventually("its coordinator", lambda side=side: _is_found(side, GROUP, 0))  # type: ignore[misc]
        for name in (EMPTY, OPEN):
            side.kept[name] = begun(side, name)
            side.named[side.kept[name].producer_id] = PRODUCERS[name]
        made = side.kept[OPEN]
        added = call(side, add_old(OPEN, made.producer_id, made.producer_epoch, 0, 1), 3)
        codes = [each.partition_error_code for each in added.results_by_topic_v3_and_below[0].results_by_partition]
        assert codes == [0, 0]


def _of(side: Side, name: str) -> tuple[str, int, int]:
    made = side.kept[name]
    return name, made.producer_id, made.producer_epoch


def _add_partitions() -> Table:
    old = range(4)
    return Table(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        BROKER,
        (
            Case("of an unknown id", add_old(NOBODYS, 1, 0, 0), old),
            Case("nothing", AddPartitionsToTxnRequest(), old),
            Case("of no id", add_old("", 1, 0, 0), old),
            Case("of another producer", lambda side: add_old(OPEN, 77, side.kept[OPEN].producer_epoch, 0), old),
            Case("of another epoch", lambda side: add_old(OPEN, side.kept[OPEN].producer_id, 99, 0), old),
            Case("an unknown topic", lambda side: add_old(*_of(side, OPEN), 0, topic="nobodys"), old),
            Case("an unknown partition", lambda side: add_old(*_of(side, OPEN), 0, 99), old),
            Case("a negative partition", lambda side: add_old(*_of(side, OPEN), -1), old),
            Case("what is in it", lambda side: add_old(*_of(side, OPEN), 0, 1), old),
            Case("twice", lambda side: add_old(*_of(side, OPEN), 0, 0), old),
        ),
        malformed=False,
    )


def _add_partitions_of_brokers() -> Table:
    """TXN-07. A request for no transaction is not asked: a Java broker never answers it."""
    new = range(4, 6)

    def verify(name: str, *partitions: int, **more: Any) -> Callable[[Side], Any]:
        topic, epochs = more.pop("topic", "orders"), more.pop("epochs", 0)

        def made(side: Side) -> Any:
            name_, producer_id, epoch = _of(side, name)
            asked = one(name_, producer_id, epoch + epochs, *partitions, topic=topic, verify_only=True)
            return AddPartitionsToTxnRequest(transactions=(asked,))

        return made

    def several(side: Side) -> Any:
        first = one(*_of(side, OPEN), 0, verify_only=True)
        return AddPartitionsToTxnRequest(transactions=(first, one(NOBODYS, 1, 0, 0, verify_only=True)))

    return Table(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        BROKER,
        (
            Case("asks for nobody", AddPartitionsToTxnRequest(transactions=(one("", 1, 0, 0),)), new),
            Case("asks for what is in it", verify(OPEN, 0, 1), new),
            Case("asks for what is not", verify(OPEN, 0, 2), new),
            Case("asks with an old epoch", verify(OPEN, 0, epochs=-1), new),
            Case("asks with a newer epoch", verify(OPEN, 0, epochs=1), new),
            Case("asks for an empty transaction", verify(EMPTY, 0), new),
            Case("asks for an unknown topic", verify(OPEN, 0, topic="nobodys"), new),
            Case("asks for several", several, new),
        ),
        malformed=False,
    )


def _add_offsets() -> Table:
    def of(name: str, producer_id: int, epoch: int, group_id: str = GROUP) -> AddOffsetsToTxnRequest:
        return AddOffsetsToTxnRequest(
            transactional_id=name, producer_id=producer_id, producer_epoch=epoch, group_id=group_id
        )

    return Table(
        ApiKey.ADD_OFFSETS_TO_TXN,
        BROKER,
        (
            Case("of no id", of("", 1, 0)),
            Case("of an unknown id", of(NOBODYS, 1, 0)),
            Case("of another producer", of(OPEN, 77, 0)),
            Case("of another epoch", lambda side: of(OPEN, side.kept[OPEN].producer_id, 99), range(5)),
            Case("of the producer", lambda side: of(*_of(side, OPEN)), range(5)),
        ),
    )


def _end_txn() -> Table:
    return Table(
        ApiKey.END_TXN,
        BROKER,
        (
            Case("of no id", end("", 1, 0, commit=True)),
            Case("of an unknown id", end(NOBODYS, 1, 0, commit=True)),
            Case("of another producer", end(EMPTY, 77, 0, commit=False)),
            Case("of another epoch", lambda side: end(EMPTY, side.kept[EMPTY].producer_id, 99, commit=True), range(6)),
            Case("commits nothing", lambda side: end(*_of(side, EMPTY), commit=True), range(6)),
            Case("aborts nothing", lambda side: end(*_of(side, EMPTY), commit=False), range(5)),
        ),
    )


def _init_producer_id() -> Table:
    def of(name: str | None, **more: Any) -> InitProducerIdRequest:
        return InitProducerIdRequest(transactional_id=name, **{"transaction_timeout_ms": 60_000} | more)

    named = range(3, 6)
    return Table(
        ApiKey.INIT_PRODUCER_ID,
        BROKER,
        (
            Case("an empty id", of("")),
            Case("no time", of(EMPTY, transaction_timeout_ms=0)),
            Case("too much time", of(EMPTY, transaction_timeout_ms=900_001)),
            Case("negative time", of(EMPTY, transaction_timeout_ms=-1)),
            Case("a producer without an epoch", of(EMPTY, producer_id=7), named),
            Case("an epoch without a producer", of(EMPTY, producer_epoch=7), named),
            Case("another producer", of(EMPTY, producer_id=77, producer_epoch=0), named),
        ),
    )


def _write_markers() -> Table:
    def of(producer_id: int, epoch: int, topic: str, *indexes: int, **more: Any) -> WriteTxnMarkersRequest:
        topics = (WritableTxnMarkerTopic(name=topic, partition_indexes=indexes),)
        told = {"coordinator_epoch": 0, "transaction_result": False} | more
        marker = WritableTxnMarker(producer_id=producer_id, producer_epoch=epoch, topics=topics, **told)
        return WriteTxnMarkersRequest(markers=(marker,))

    return Table(
        ApiKey.WRITE_TXN_MARKERS,
        BROKER,
        (
            Case("nothing", WriteTxnMarkersRequest()),
            Case("an unknown topic", of(4_000, 0, "nobodys", 0)),
            Case("an unknown partition", of(4_000, 0, "payments", 99, -1)),
            Case("of a producer that wrote nothing", of(4_001, 3, "payments", 0, coordinator_epoch=5)),
            Case("of an old epoch", of(4_001, 2, "payments", 0, coordinator_epoch=5)),
            Case("of an old coordinator", of(4_001, 3, "payments", 0, coordinator_epoch=4)),
            Case("once more", of(4_001, 3, "payments", 0, coordinator_epoch=5, transaction_result=True)),
            Case("without partitions", of(4_001, 3, "payments")),
        ),
    )


def _txn_offset_commit() -> Table:
    def of(name: str, producer_id: int, epoch: int, **more: Any) -> TxnOffsetCommitRequest:
        topic, index = more.pop("topic", "orders"), more.pop("index", 0)
        metadata = more.pop("metadata", "")
        part = TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=5, committed_metadata=metadata)
        topics = (TxnOffsetCommitRequestTopic(name=topic, partitions=(part,)),)
        return TxnOffsetCommitRequest(
            transactional_id=name,
            producer_id=producer_id,
            producer_epoch=epoch,
            **{"group_id": GROUP, "topics": topics} | more,
        )

    def opened(**more: Any) -> Callable[[Side], TxnOffsetCommitRequest]:
        return lambda side: of(*_of(side, OPEN), **more)

    known = range(6)
    return Table(
        ApiKey.TXN_OFFSET_COMMIT,
        BROKER,
        (
            Case("nothing", TxnOffsetCommitRequest()),
            Case("an unknown topic", of(NOBODYS, 1, 0, topic="nobodys")),
            Case("an unknown partition", of(NOBODYS, 1, 0, index=99)),
            Case("of an unknown id", of(NOBODYS, 1, 0)),
            Case("of no group", opened(group_id=""), known),
            Case("of another epoch", lambda side: of(OPEN, side.kept[OPEN].producer_id, 99), known),
            Case("of the producer", opened(), known),
            Case("with too many words", opened(metadata="x" * 5_000), known),
            Case("of a generation of nobody", opened(generation_id=3, member_id="x"), range(3, 6)),
        ),
    )


def _describe_producers() -> Table:
    def of(topic: str, *indexes: int) -> DescribeProducersRequest:
        return DescribeProducersRequest(topics=(TopicRequest(name=topic, partition_indexes=indexes),))

    return Table(
        ApiKey.DESCRIBE_PRODUCERS,
        BROKER,
        (
            Case("nothing", DescribeProducersRequest()),
            Case("of an unknown topic", of("nobodys", 0)),
            Case("of an unknown partition", of("orders", 99, -1)),
            Case("of an impossible name", of("no/name", 0)),
            Case("of an empty name", of("", 0)),
            Case("of a partition that nobody wrote to", of("orders", 2)),
            Case("without partitions", of("orders")),
            Case("twice", of("orders", 2, 2)),
            Case("of a topic of its own", of("payments", 2, 99)),
            Case("of the offsets", of("__consumer_offsets", 99)),
            Case("of a name that is too long", of("x" * 250, 0)),
            Case("of a negative partition", of("payments", -1)),
            Case("of one that is far away", of("payments", 2**31 - 1)),
        ),
    )


def _describe_transactions() -> Table:
    def of(*names: str) -> DescribeTransactionsRequest:
        return DescribeTransactionsRequest(transactional_ids=names)

    return Table(
        ApiKey.DESCRIBE_TRANSACTIONS,
        BROKER,
        (
            Case("nobody", of()),
            Case("an empty one", of(EMPTY)),
            Case("of nobody", of("")),
            Case("an unknown one", of(NOBODYS)),
            Case("several", of(EMPTY, NOBODYS, "", "\u00e4\U0001f600" * 5)),
            Case("twice", of(EMPTY, EMPTY)),
            Case("an unknown one twice", of(NOBODYS, NOBODYS)),
            Case("of nobody, twice", of("", "")),
            Case("with a blank", of(" " + EMPTY)),
            Case("in capitals", of(EMPTY.upper())),
            Case("with a long name", of("x" * 10_000)),
            Case("with a name of other letters", of("\u00e4\U0001f600\x00")),
            Case("of many", of(*(f"nobody-{number}" for number in range(50)))),
        ),
    )


def _list_transactions() -> Table:
    def of(**more: Any) -> ListTransactionsRequest:
        return ListTransactionsRequest(**more)

    return Table(
        ApiKey.LIST_TRANSACTIONS,
        BROKER,
        (
            Case("all", of()),
            Case("in a state", of(state_filters=("Ongoing",))),
            Case("in a state of nobody", of(state_filters=("Ongoing", "nobodys", "ongoing"))),
            Case("of a producer", lambda side: of(producer_id_filters=(side.kept[OPEN].producer_id,))),
            Case("of no producer", of(producer_id_filters=(99_999,))),
            Case("that take long", of(duration_filter=1_000_000), range(1, 3)),
            Case("by a pattern", of(transactional_id_pattern="txn\\..*y"), range(2, 3)),
            Case("by no pattern", of(transactional_id_pattern="("), range(2, 3)),
            Case("by an empty pattern", of(transactional_id_pattern=""), range(2, 3)),
        ),
    )


def _find_coordinator() -> Table:
    return Table(
        ApiKey.FIND_COORDINATOR,
        BROKER,
        (
            Case("a transaction", FindCoordinatorRequest(key=EMPTY, key_type=1), range(1, 4)),
            Case("several", FindCoordinatorRequest(key_type=1, coordinator_keys=(EMPTY, OPEN, "")), range(4, 7)),
        ),
        malformed=False,
    )


TABLES = (
    _find_coordinator(),
    _init_producer_id(),
    _add_partitions(),
    _add_partitions_of_brokers(),
    _add_offsets(),
    _txn_offset_commit(),
    _end_txn(),
    _write_markers(),
    _describe_producers(),
    _describe_transactions(),
    _list_transactions(),
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name.lower())
def test_transactions_are_answered_for_as_by_kafka(pair: Pair, table: Table) -> None:
    """TXN-02, TXN-06, TXN-07, TXN-12, TXN-13, TXN-23, QRY-10"""
    judge(pair, table)


class Story:
    """What one side says to a list of steps; ids and epochs relative to the first."""

    def __init__(self, side: Side, name: str, topic: str = "orders") -> None:
        self.side, self.name, self.topic = side, name, topic
        first = begun(side, name)
        self.first_id, self.producer_id, self.epoch = first.producer_id, first.producer_id, first.producer_epoch
        self.said: list[tuple[Any, ...]] = [("begun", self.epoch)]

    def begin_again(self, what: str, version: int = 5, **more: Any) -> None:
        found = begun(self.side, self.name, version, **more)
        if not found.error_code:
            self.producer_id, self.epoch = found.producer_id, found.producer_epoch
        self.said.append((what, found.error_code, found.producer_epoch, found.producer_id == self.first_id))

    def add(self, what: str, *partitions: int, version: int = 3, epoch: int = 0) -> None:
        def told() -> Any:
            if version < 4:
                asked = add_old(self.name, self.producer_id, self.epoch + epoch, *partitions, topic=self.topic)
                topics = call(self.side, asked, version).results_by_topic_v3_and_below
            else:
                added = one(self.name, self.producer_id, self.epoch + epoch, *partitions, topic=self.topic)
                answer = call(self.side, AddPartitionsToTxnRequest(transactions=(added,)), version)
                topics = answer.results_by_transaction[0].topic_results
            codes = [each.partition_error_code for each in topics[0].results_by_partition]
            return None if ErrorCode.CONCURRENT_TRANSACTIONS in codes else tuple(codes)

        self.said.append((what, *eventually("it is added", told)))

    def produce(self, what: str, index: int, sequence: int, version: int = 11, **more: Any) -> None:
        epoch = self.epoch + more.pop("epoch", 0)
        attributes = more.pop("attributes", TRANSACTIONAL)
        now = int(time.time() * 1000)
        data = batch(attributes=attributes, producer=(self.producer_id, epoch, sequence), time=now)
        part = PartitionProduceData(index=index, records=data)
        topic: dict[str, Any] = {"name": self.topic} if version < 13 else {"topic_id": self.side.topic_ids[self.topic]}
        request = ProduceRequest(
            transactional_id=more.pop("name", self.name),
            acks=-1,
            timeout_ms=10_000,
            topic_data=(TopicProduceData(partition_data=(part,), **topic),),
        )

        def told() -> Any:
            found = call(self.side, request, version).responses[0].partition_responses[0].error_code
            return None if found == ErrorCode.CONCURRENT_TRANSACTIONS else (found,)

        self.said.append((what, *eventually("it is produced", told)))

    def end(self, what: str, *, commit: bool, version: int = 4, epoch: int = 0, keeps: bool = False) -> None:
        def told() -> Any:
            found = call(self.side, end(self.name, self.producer_id, self.epoch + epoch, commit=commit), version)
            return None if found.error_code == ErrorCode.CONCURRENT_TRANSACTIONS else found

        found = eventually("it ends", told)
        grown = found.producer_epoch - self.epoch if version >= 5 and not found.error_code else None
        self.said.append((what, found.error_code, grown))
        if version >= 5 and not found.error_code and not keeps:
            self.producer_id, self.epoch = found.producer_id, found.producer_epoch

    def describe(self, what: str) -> None:
        def told() -> Any:
            request = DescribeTransactionsRequest(transactional_ids=(self.name,))
            found = call(self.side, request, 0).transaction_states[0]
            return None if found.transaction_state.startswith("Prepare") else found

        found = eventually("it is over", told)
        topics = [(each.topic, sorted(each.partitions)) for each in found.topics]
        said = found.error_code, found.transaction_state, found.producer_epoch - self.epoch, topics
        self.said.append((what, *said, found.transaction_start_time_ms > 0))

    def producers(self, what: str, index: int) -> None:
        topics = (TopicRequest(name=self.topic, partition_indexes=(index,)),)
        found = call(self.side, DescribeProducersRequest(topics=topics), 0).topics[0].partitions[0]
        said = [
            (
                each.producer_epoch - self.epoch,
                each.last_sequence,
                each.coordinator_epoch,
                each.current_txn_start_offset,
            )
            for each in found.active_producers
            if each.producer_id == self.producer_id
        ]
        self.said.append((what, found.error_code, said))

    def stable(self, what: str, index: int) -> None:
        asked = ListOffsetsPartition(partition_index=index, timestamp=-1)
        for isolation in (0, 1):
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation,
                topics=(ListOffsetsTopic(name=self.topic, partitions=(asked,)),),
            )
            found = call(self.side, request, 8).topics[0].partitions[0]
            self.said.append((what, isolation, found.error_code, found.offset))

    def fetch(self, what: str, index: int, offset: int = 0, isolation: int = 1) -> None:
        part = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        topic = FetchTopic(topic_id=self.side.topic_ids[self.topic], partitions=(part,))
        request = FetchRequest(max_bytes=1 << 20, isolation_level=isolation, topics=(topic,), session_epoch=-1)
        found = call(self.side, request, 16).responses[0].partitions[0]
        aborted = found.aborted_transactions
        said = None if aborted is None else [(each.producer_id == self.first_id, each.first_offset) for each in aborted]
        records = found.records or b""
        self.said.append((what, found.error_code, found.high_watermark, found.last_stable_offset, said, len(records)))

    def commit_offsets(self, what: str, version: int, offset: int) -> None:
        part = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = (TxnOffsetCommitRequestTopic(name=self.topic, partitions=(part,)),)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=GROUP + self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=topics,
        )

        def told() -> Any:
            code = call(self.side, request, version).topics[0].partitions[0].error_code
            return None if code == ErrorCode.CONCURRENT_TRANSACTIONS else (code,)

        self.said.append((what, *eventually("it is committed", told)))

    def add_offsets(self, what: str) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=GROUP + self.name,
        )
        self.said.append((what, call(self.side, request, 3).error_code))

    def offsets(self, what: str) -> None:
        for stable in (False, True):
            topics = (OffsetFetchRequestTopics(name=self.topic, partition_indexes=(0,)),)
            group = OffsetFetchRequestGroup(group_id=GROUP + self.name, topics=topics)
            request = OffsetFetchRequest(groups=(group,), require_stable=stable)
            found = call(self.side, request, 9).groups[0].topics[0].partitions[0]
            self.said.append((what, stable, found.error_code, found.committed_offset))


def _old(side: Side) -> list[tuple[Any, ...]]:
    """TXN-08, PRD-22, PRD-25, FCH-10: a producer that keeps its epoch."""
    story = Story(side, "story.old", "payments")
    story.produce("before it is added", 0, 0)
    story.add("added", 0)
    story.describe("open")
    story.stable("before", 0)
    story.produce("written", 0, 0)
    story.produce("repeated", 0, 0)
    story.produce("out of order", 0, 5)
    story.produce("outside of it", 0, 1, attributes=0, version=11)
    story.stable("open", 0)
    story.fetch("open", 0)
    story.producers("open", 0)
    story.end("by another epoch", commit=True, epoch=1)
    story.end("aborted", commit=False)
    story.describe("aborted")
    story.end("aborted once more", commit=False)
    story.end("committed after all", commit=True)
    story.stable("aborted", 0)
    story.fetch("aborted", 0)
    story.fetch("aborted, for all", 0, isolation=0)
    story.producers("aborted", 0)
    story.produce("after the end", 0, 1)
    story.add("added again", 0, 1)
    story.produce("written again", 0, 1)
    story.end("committed", commit=True)
    story.end("committed once more", commit=True)
    story.describe("committed")
    story.fetch("committed", 0)
    story.fetch("from the middle", 0, offset=2)
    story.begin_again("begun again")
    story.begin_again("with its own epoch", producer_id=story.producer_id, producer_epoch=story.epoch)
    story.begin_again("as before", producer_id=story.producer_id, producer_epoch=story.epoch - 1)
    story.begin_again("of old", producer_id=story.producer_id, producer_epoch=0)
    story.begin_again("of old, in old words", 3, producer_id=story.producer_id, producer_epoch=0)
    return story.said


def _new(side: Side) -> list[tuple[Any, ...]]:
    """TXN-09, TXN-10, TXN-11, PRD-20: a producer whose epoch grows."""
    story = Story(side, "story.new", "orders")
    story.end("aborts nothing", commit=False, version=5)
    story.describe("aborted nothing")
    story.produce("not from zero", 2, 4, version=12)
    story.produce("written", 2, 0, version=12)
    story.describe("open")
    story.stable("open", 2)
    story.producers("open", 2)
    story.end("committed", commit=True, version=5, keeps=True)
    story.end("committed once more", commit=True, version=5, keeps=True)
    story.end("aborted after all", commit=False, version=5, keeps=True)
    story.end("committed by the next epoch", commit=True, version=5, epoch=1, keeps=True)
    story.end("aborted by the next epoch", commit=False, version=5, epoch=1, keeps=True)
    story.end("aborted by the epoch after", commit=False, version=5, epoch=3, keeps=True)
    story.producers("over", 2)
    story.fetch("over", 2)
    story.produce("late", 2, 1, version=12)
    story.begin_again("begun again")
    story.produce("written again", 2, 0, version=12)
    story.produce("written elsewhere", 1, 0, version=12)
    story.describe("open again")
    story.end("aborted", commit=False, version=5)
    story.describe("aborted")
    story.fetch("aborted", 2)
    return story.said


def _offsets_of(version: int) -> Callable[[Side], list[tuple[Any, ...]]]:
    """OFF-05, OFF-06, OFF-12: offsets in transactions."""

    def told(side: Side) -> list[tuple[Any, ...]]:
        story = Story(side, f"story.offsets.{version}")
        ends = 5 if version >= 5 else 4
        eventually("its coordinator", lambda: _is_found(side, GROUP + story.name, 0))
        if version < 5:
            story.commit_offsets("before they are added", version, 3)
            story.add_offsets("added")
        story.commit_offsets("committed", version, 7)
        story.offsets("open")
        story.end("aborted", commit=False, version=ends)
        story.describe("aborted")
        story.offsets("aborted")
        if version < 5:
            story.add_offsets("added")
        story.commit_offsets("committed", version, 9)
        story.offsets("open again")
        story.end("it is over", commit=True, version=ends)
        story.describe("over")
        story.offsets("over")
        return story.said

    return told


STORIES = {"old": _old, "new": _new, "offsets, old": _offsets_of(3), "offsets, new": _offsets_of(5)}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_goes_as_with_kafka(pair: Pair, name: str) -> None:
    """TXN-03, TXN-08, TXN-09, TXN-10, TXN-11, TXN-24, FCH-10, LOG-29, PRD-20, PRD-22, PRD-25, OFF-05, OFF-06, OFF-12"""
    java, ours = (STORIES[name](side) for side in pair.sides)
    differ = [f"java {his}, ours {mine}" for his, mine in zip(java, ours, strict=True) if his != mine]
    assert not differ, "\n".join(differ)
