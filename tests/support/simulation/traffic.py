"""Who produces to the topics of the administrators and consumes from them, and who makes topics and deletes them again
through the broker, which forwards that: one request of each kind at a time, few of them.

Nothing is judged here: the invariants look at what brokers answer (`acknowledged_is_readable`,
`fenced_serves_nothing`).
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from controller_runtime.identifiers import NodeId, Offset, Uuid
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, batch_headers, encode_batch
from controller_runtime.protocol.schema import Message
from support.simulation.fleet import broker_endpoint_of

if TYPE_CHECKING:
    from support.simulation.client import Client

PRODUCER: Final = 70
"""The numbers of the two clients."""
CONSUMER: Final = 71
MAKER: Final = 72
MAKES_EVERY: Final = 4
"""Pauses between two of its requests."""
PAUSE_S: Final = 0.03
TIMEOUT_S: Final = 1.0
MAX_WAIT_MS: Final = 100


class Traffic:
    def __init__(self, client: Client, rng: Random) -> None:
        self._client = client
        self._world = client.world
        self._rng = rng
        self._running = 0
        """Which of its runs goes on; 0: none."""
        self._runs = 0
        self._sent = 0
        self._positions: dict[Uuid, int] = {}
        self._counts = (0, 0, 0)
        self._made = 0
        self._exists = False

    def begin(self) -> None:
        self._runs += 1
        self._running = run = self._runs
        for act in (self._produce, self._fetch, self._make):
            self._again(act, run)

    def rest(self) -> None:
        self._running = 0

    def take_counts(self) -> tuple[int, int, int]:
        """Batches that were acknowledged, answers with records and changes that were forwarded, since this was asked
        last.
        """
        counts, self._counts = self._counts, (0, 0, 0)
        return counts

    def _again(self, act: object, run: int) -> None:
        assert callable(act)
        self._world.later(PAUSE_S * (0.2 + self._rng.random()), lambda: act(run) if run == self._running else None)

    def _topic(self) -> TopicImage | None:
        """One that is there for all that anybody knows, perhaps no more."""
        topics = self._world.newest[1].topics
        named = [topic for name in sorted(self._client.names.existing) if (topic := topics.named(name)) is not None]
        return self._rng.choice(named) if named else None

    def _ask(self, act: object, run: int, number: int, body: Message, answered: object) -> None:
        assert callable(answered)

        def answer(_: int, reply: Message) -> None:
            answered(reply)
            self._again(act, run)

        broker = self._rng.choice(self._world.fleet.brokers)
        source = NodeId(-100 - number)
        self._world.ask(source, broker_endpoint_of(broker), body, TIMEOUT_S, answer, lambda _: self._again(act, run))

    def _make(self, run: int) -> None:
        """Topics of its own, whose names nobody else uses. What is forwarded may be asked twice, as in Kafka: that a
        topic is there already, or no more, is an answer too.
        """
        if self._rng.randrange(MAKES_EVERY):
            self._again(self._make, run)
            return
        if self._exists:
            self._exists = False
            state = DeleteTopicState(name=f"forwarded-{self._made}")
            request: Message = DeleteTopicsRequest(topics=(state,), timeout_ms=1000)
        else:
            self._made += 1
            topic = CreatableTopic(name=f"forwarded-{self._made}", num_partitions=1, replication_factor=1)
            request = CreateTopicsRequest(topics=(topic,), timeout_ms=1000)
        number = self._made
        self._ask(self._make, run, MAKER, request, lambda reply: self._changed(number, reply))

    def _changed(self, number: int, reply: Message) -> None:
        match reply:
            case CreateTopicsResponse():
                name, code = reply.topics[0].name, reply.topics[0].error_code
                self._exists = code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
            case DeleteTopicsResponse():
                name, code = reply.responses[0].name or "", reply.responses[0].error_code
            case _:
                raise AssertionError(f"nobody asked for {reply!r}")
        if name != f"forwarded-{number}":
            self._world.violation(f"who asked for forwarded-{number} through a broker is answered of {name}")
        produced, fetched, forwarded = self._counts
        self._counts = produced, fetched, forwarded + (code == ErrorCode.NONE)

    def _produce(self, run: int) -> None:
        topic = self._topic()
        if topic is None:
            self._again(self._produce, run)
            return
        self._sent += 1
        values = [f"{self._sent}.{number}".encode() for number in range(self._rng.choice((1, 1, 3)))]
        records = encode_batch([Record(Offset(n), 1, None, value) for n, value in enumerate(values)])
        data = PartitionProduceData(index=0, records=bytes(records))
        named = TopicProduceData(topic_id=topic.id, partition_data=(data,))
        request = ProduceRequest(acks=self._rng.choice((1, -1)), timeout_ms=1000, topic_data=(named,))
        self._ask(self._produce, run, PRODUCER, request, self._acknowledged)

    def _acknowledged(self, reply: Message) -> None:
        assert isinstance(reply, ProduceResponse)
        produced, fetched, forwarded = self._counts
        code = reply.responses[0].partition_responses[0].error_code
        self._counts = produced + (code == ErrorCode.NONE), fetched, forwarded

    def _fetch(self, run: int) -> None:
        topic = self._topic()
        if topic is None:
            self._again(self._fetch, run)
            return
        position = self._positions.get(topic.id, 0)
        partition = FetchPartition(partition=0, fetch_offset=position, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            topics=(FetchTopic(topic_id=topic.id, partitions=(partition,)),),
        )
        self._ask(self._fetch, run, CONSUMER, request, lambda reply: self._fetched(topic.id, reply))

    def _fetched(self, topic_id: Uuid, reply: Message) -> None:
        assert isinstance(reply, FetchResponse)
        data = [each for topic in reply.responses for each in topic.partitions]
        if not data or data[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._positions[topic_id] = 0
            return
        if data[0].error_code == ErrorCode.NONE and data[0].records:
            produced, fetched, forwarded = self._counts
            self._counts = produced, fetched + 1, forwarded
            ends = [header.next_offset for header in batch_headers(data[0].records)]
            # Now and then from the beginning again: what was read once stays readable.
            self._positions[topic_id] = 0 if self._rng.random() < 0.2 else max(ends)
