"""Clients of transactions as generators: each yields what it asks of which broker, and is sent the answer, or None if
none came. They know of brokers what a client knows: leaders and coordinators that may have changed.

A `Copier` takes numbers from a position, writes each to every partition of a topic, and commits the position in the
same transaction (exactly once, as Kafka Streams does it); every fourth it aborts. A `Reader` reads committed records.
"""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import Any, Final

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import add_partitions_to_txn_request as adding
from controller_runtime.protocol.messages import txn_offset_commit_request as committing
from controller_runtime.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from controller_runtime.protocol.messages.end_txn_request import EndTxnRequest
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
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
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field
from support.clients.lying_batches import batch, record

TOPIC, INPUT, PARTITIONS = "transfers", "numbers", 2
TIMEOUT_MS: Final = 10_000
BEGINS_MS: Final = 1_800_000_000_000
"""The time of all records, near that of markers: no segment is rolled for it."""
BUMPING: Final = 2
"""`transaction.version` from which on each transaction has an epoch of its own."""
PATIENCE: Final = 60
"""Attempts at one request, before the producer begins anew."""
_TRANSACTIONAL: Final = 0x10
_ASK_AGAIN: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNSTABLE_OFFSET_COMMIT, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    node: NodeId | None
    """None: nobody is known; no answer comes."""
    body: Message
    version: int
    patience: int = 40
    """Steps that the client waits for an answer."""


@dataclass(frozen=True, slots=True)
class Pause:
    steps: int


Steps = Generator[Ask | Pause, Any, Any]


class BeginAnewError(Exception):
    """The producer cannot go on as it is."""


@dataclass(slots=True)
class Attempt:
    """One transaction."""

    first: int
    count: int
    state: str = "open"
    """open, aborted, asked to commit, committed. Only the last two may be read."""


@dataclass(slots=True)
class Copied:
    """What all copiers know of one position, for those who judge."""

    number: int
    attempts: dict[int, Attempt] = field(default_factory=dict)
    committed_to: int = 0
    """Where the last transaction ends that is known to be committed."""
    fenced: int = 0
    """How many copiers were told that they are."""

    @property
    def name(self) -> str:
        return f"copier-{self.number}"


class Finding:
    """Leaders and coordinators, as they were when they were last asked for."""

    def __init__(self, image: Any, rng: Random) -> None:
        """`image`: gives the newest."""
        self._image = image
        self.rng = rng
        self._leaders: dict[int, NodeId | None] = {}
        self._coordinators: dict[tuple[int, str], NodeId] = {}

    def leader(self, index: int) -> NodeId | None:
        if self._leaders.get(index) is None:
            image: MetadataImage = self._image()
            found = image.topics.partition(image.topics.ids[TOPIC], index)
            self._leaders[index] = NodeId(found.leader) if found is not None and found.leader >= 0 else None
        return self._leaders[index]

    def forget_leader(self, index: int) -> None:
        self._leaders.pop(index, None)

    def of_leader(self, index: int, body: Message, version: int, code: Any) -> Steps:
        """Until it says something that is for good."""
        for _ in range(PATIENCE):
            answer = yield Ask(self.leader(index), body, version)
            if answer is not None and code(answer) not in _ASK_AGAIN:
                return answer
            self.forget_leader(index)
            yield Pause(self.rng.randint(1, 4))
        raise BeginAnewError

    def of_coordinator(self, kind: int, key: str, body: Message, version: int, code: Any) -> Steps:
        """`kind`: 0 of a group, 1 of a transactional id."""
        for _ in range(PATIENCE):
            node = self._coordinators.get((kind, key))
            if node is None:
                node = yield from self.find(kind, key)
            answer = None if node is None else (yield Ask(node, body, version))
            if answer is not None and code(answer) not in _ASK_AGAIN:
                return answer
            if answer is None or code(answer) in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                self._coordinators.pop((kind, key), None)
            yield Pause(self.rng.randint(1, 4))
        raise BeginAnewError

    def coordinator(self, kind: int, key: str) -> NodeId | None:
        return self._coordinators.get((kind, key))

    def forget_coordinator(self, kind: int, key: str) -> None:
        self._coordinators.pop((kind, key), None)

    def find(self, kind: int, key: str) -> Steps:
        brokers = sorted(self._image().cluster.brokers)
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=(key,))
        answer = yield Ask(self.rng.choice(brokers), request, 6)
        if answer is None or answer.coordinators[0].error_code:
            return None
        node = self._coordinators[kind, key] = NodeId(answer.coordinators[0].node_id)
        return node


class Copier:
    def __init__(self, copied: Copied, finding: Finding, version: int, number: int) -> None:
        """`version`: `transaction.version` that it speaks. `number`: the first of its transactions."""
        self.copied, self.finding, self.version = copied, finding, version
        self.name = copied.name
        self.is_retired = False
        """Another one has taken its place: it goes on as if nothing were, until it is fenced."""
        self.is_stopping = False
        self._producer = (-1, -1)
        self._sequences = [0] * PARTITIONS
        self._number = number
        self._open: Attempt | None = None

    def run(self) -> Steps:
        while not self.is_stopping:
            try:
                yield from self._begin()
                while not self.is_stopping:
                    yield from self._transfer()
            except BeginAnewError:
                if self.is_retired:
                    return

    def _begin(self) -> Steps:
        """Whoever had this id is fenced, and what it had open is aborted."""
        open_one, self._open = self._open, None
        request = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=TIMEOUT_MS)
        answer = yield from self.finding.of_coordinator(1, self.name, request, 5, _code)
        if answer.error_code:
            raise BeginAnewError
        if open_one is not None and open_one.state == "open":
            open_one.state = "aborted"
        self._producer = answer.producer_id, answer.producer_epoch
        self._sequences = [0] * PARTITIONS

    def _transfer(self) -> Steps:
        position = yield from self._position()
        rng = self.finding.rng
        self._number += 1
        attempt = self._open = Attempt(position, rng.randint(1, 3))
        self.copied.attempts[self._number] = attempt
        if self.version < BUMPING:
            yield from self._add()
        for index in range(PARTITIONS):
            yield from self._write(index, attempt)
        yield from self._commit_position(attempt)
        if rng.random() < 0.1:
            yield Pause(rng.choice((20, 400)))  # it thinks; longer than it may
        commit = rng.random() >= 0.25
        if commit:
            attempt.state = "asked to commit"
        yield from self._end(attempt, commit=commit)

    def _position(self) -> Steps:
        topic = OffsetFetchRequestTopics(name=INPUT, partition_indexes=(self.copied.number,))
        group = OffsetFetchRequestGroup(group_id=self.name, topics=(topic,))
        request = OffsetFetchRequest(groups=(group,), require_stable=True)
        answer = yield from self.finding.of_coordinator(0, self.name, request, 9, _code_of_position)
        if _code_of_position(answer):
            raise BeginAnewError
        return max(0, answer.groups[0].topics[0].partitions[0].committed_offset)

    def _add(self) -> Steps:
        producer_id, epoch = self._producer
        topic = adding.AddPartitionsToTxnTopic(name=TOPIC, partitions=tuple(range(PARTITIONS)))
        request = adding.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=(topic,),
        )
        yield from self._told(request, 3, _code_of_adding)
        offsets = AddOffsetsToTxnRequest(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, group_id=self.name
        )
        yield from self._told(offsets, 4, _code)

    def _write(self, index: int, attempt: Attempt) -> Steps:
        producer_id, epoch = self._producer
        values = (b"%d %d %d" % (self.copied.number, attempt.first + n, self._number) for n in range(attempt.count))
        payload = b"".join(record(place, value) for place, value in enumerate(values))
        data = batch(
            payload,
            count=attempt.count,
            attributes=_TRANSACTIONAL,
            time=BEGINS_MS,
            producer=(producer_id, epoch, self._sequences[index]),
        )
        request = ProduceRequest(
            transactional_id=self.name,
            acks=-1,
            timeout_ms=5_000,
            topic_data=(
                TopicProduceData(name=TOPIC, partition_data=(PartitionProduceData(index=index, records=data),)),
            ),
        )
        version = 12 if self.version >= BUMPING else 11
        answer = yield from self.finding.of_leader(index, request, version, _code_of_produce)
        if _code_of_produce(answer) not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            raise self._failed(_code_of_produce(answer))
        self._sequences[index] += attempt.count

    def _commit_position(self, attempt: Attempt) -> Steps:
        producer_id, epoch = self._producer
        part = committing.TxnOffsetCommitRequestPartition(
            partition_index=self.copied.number, committed_offset=attempt.first + attempt.count
        )
        request = committing.TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=self.name,
            producer_id=producer_id,
            producer_epoch=epoch,
            topics=(committing.TxnOffsetCommitRequestTopic(name=INPUT, partitions=(part,)),),
        )
        version = 5 if self.version >= BUMPING else 4
        answer = yield from self.finding.of_coordinator(0, self.name, request, version, _code_of_committing)
        if _code_of_committing(answer):
            raise self._failed(_code_of_committing(answer))

    def _end(self, attempt: Attempt, *, commit: bool) -> Steps:
        producer_id, epoch = self._producer
        request = EndTxnRequest(
            transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, committed=commit
        )
        answer = yield from self._told(request, 5 if self.version >= BUMPING else 4, _code)
        attempt.state = "committed" if commit else "aborted"
        if commit:
            self.copied.committed_to = max(self.copied.committed_to, attempt.first + attempt.count)
        self._open = None
        if self.version >= BUMPING:
            self._producer = answer.producer_id, answer.producer_epoch
            self._sequences = [0] * PARTITIONS

    def _told(self, request: Message, version: int, code: Any) -> Steps:
        answer = yield from self.finding.of_coordinator(1, self.name, request, version, code)
        if code(answer):
            raise self._failed(code(answer))
        return answer

    def _failed(self, code: int) -> BeginAnewError:
        if code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH):
            self.copied.fenced += 1
        return BeginAnewError(ErrorCode(code).name)


def _code(answer: Any) -> int:
    return int(answer.error_code)


def _code_of_adding(answer: Any) -> int:
    codes = (each.partition_error_code for each in answer.results_by_topic_v3_and_below[0].results_by_partition)
    return next((code for code in codes if code), 0)


def _code_of_produce(answer: Any) -> int:
    return int(answer.responses[0].partition_responses[0].error_code)


def _code_of_committing(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)


def _code_of_position(answer: Any) -> int:
    group = answer.groups[0]
    return int(group.error_code or group.topics[0].partitions[0].error_code)


class Reader:
    """Of one partition: committed records, as a consumer filters them."""

    def __init__(self, finding: Finding, index: int) -> None:
        self.finding, self.index = finding, index
        self.position = 0
        self.read: list[tuple[int, bytes]] = []
        """Offsets and values."""

    def run(self) -> Steps:
        while True:
            part = FetchPartition(partition=self.index, fetch_offset=self.position, partition_max_bytes=1 << 20)
            request = FetchRequest(
                min_bytes=1, isolation_level=1, topics=(FetchTopic(topic=TOPIC, partitions=(part,)),)
            )
            answer = yield Ask(self.finding.leader(self.index), request, 11)
            found = None if answer is None or answer.error_code else answer.responses[0].partitions[0]
            if found is None or found.error_code:
                self.finding.forget_leader(self.index)
            else:
                self._take(found)
            yield Pause(2)

    def _take(self, found: Any) -> None:
        aborted = sorted((one.first_offset, one.producer_id) for one in found.aborted_transactions or ())
        skipped: set[int] = set()
        for each in decode_batches(found.records or b""):
            header = each.header
            while aborted and aborted[0][0] <= header.next_offset - 1:
                skipped.add(aborted.pop(0)[1])
            if header.next_offset <= self.position:
                continue
            if header.is_control:
                skipped.discard(header.producer_id)
            elif header.producer_id not in skipped:
                kept = (one for one in each.records if one.offset >= self.position)
                self.read += [(one.offset, one.value or b"") for one in kept]
            self.position = header.next_offset
