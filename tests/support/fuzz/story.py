"""The steps of a story in any order, each with what its answer must say, and a model of what was acknowledged."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Final

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import broker_registration_request as register_q
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.protocol.schema import Message
from support.fuzz import batches
from support.fuzz.bench import Bench
from support.fuzz.shots import shot
from support.nodes import strangers
from support.nodes.processes import CLUSTER_ID

_NAMES: Final = count(1)
LAST_EPOCH: Final = 2**31 - 1
VAGUE: Final = (ErrorCode.NOT_CONTROLLER,)
"""A controller that was asked may no longer be the active one: then nothing is said about the rest."""


@dataclass
class Story:
    bench: Bench
    topics: dict[str, list[bytes] | None] = field(default_factory=dict)
    """What each holds; None: a batch whose records nobody counts was accepted."""
    epochs: dict[int, int] = field(default_factory=dict)
    """Of registered strangers."""

    def __post_init__(self) -> None:
        self.elections = self.bench.judge.elections

    def _ask(self, body: Message, version: int) -> Any:
        return self.bench.run(self.bench.judge.canaries[0].client.ask(body, version))

    def _ask_controllers(self, body: Message, version: int) -> Any:
        """The active one's answer; None when there is none just now."""
        for client in self.bench.judge.quorum_clients():
            answer = self.bench.run(client.ask(body, version))
            if answer.error_code not in VAGUE:
                return answer
        return None

    def _topic(self, place: int) -> str:
        return sorted(self.topics)[place % len(self.topics)]

    def create(self) -> None:
        name = f"story-{next(_NAMES)}"
        self.bench.run(self.bench.judge.canaries[0].create(name))
        self.topics[name] = []

    def delete(self, place: int) -> None:
        name = self._topic(place)
        asked = DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout_ms=30_000)
        code = self._ask(asked, 6).responses[0].error_code
        assert code in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT), ErrorCode(code)
        del self.topics[name]

    def _produce(self, name: str, records: bytes) -> Any:
        partition = PartitionProduceData(index=0, records=records)
        asked = ProduceRequest(
            acks=-1, timeout_ms=30_000, topic_data=(TopicProduceData(name=name, partition_data=(partition,)),)
        )
        return self._ask(asked, 9).responses[0].partition_responses[0]

    def produce(self, place: int, values: list[bytes], codec: int) -> None:
        name = self._topic(place)
        held = self.topics[name]
        answer = self._produce(name, batches.good(values, Compression(codec)))
        if answer.error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER):
            return  # the broker has not learnt of it yet
        assert answer.error_code == 0, f"{ErrorCode(answer.error_code).name}: {answer.error_message}"
        if held is not None:
            assert answer.base_offset == len(held), f"{name} holds {len(held)}, the answer says {answer.base_offset}"
            held += values

    def produce_a_lie(self, place: int, lie: int) -> None:
        """Refused, or accepted because it was none: then the model does not know what it holds."""
        name = self._topic(place)
        answer = self._produce(name, batches.good([b"v"], Compression.NONE, batches.lie(Random(lie))))
        if answer.error_code == 0:
            self.topics[name] = None

    def fetch(self, place: int, offset: int) -> None:
        name = self._topic(place)
        held = self.topics[name]
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        asked = FetchRequest(
            max_wait_ms=0, max_bytes=1 << 20, topics=(FetchTopic(topic=name, partitions=(partition,)),)
        )
        answer = self._ask(asked, 12).responses[0].partitions[0]
        if held is None or answer.error_code in (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ):
            return
        if not 0 <= offset <= len(held):
            assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} of {len(held)}: {answer}"
            return
        found = [
            one.value for each in decode_batches(answer.records or b"") for one in each.records if one.offset >= offset
        ]
        assert found == held[offset:], f"{name} from {offset}"

    def register(self, broker: int, incarnation: int) -> None:
        at = register_q.Listener(name="PLAINTEXT", host="127.0.0.1", port=1, security_protocol=0)
        features = (register_q.Feature(name="metadata.version", min_supported_version=1, max_supported_version=29),)
        asked = register_q.BrokerRegistrationRequest(
            broker_id=broker, cluster_id=CLUSTER_ID, incarnation_id=Uuid.of(broker, incarnation), listeners=(at,),
            features=features, rack=None, is_migrating_zk_broker=False, log_dirs=(Uuid.of(broker, 1 << 40),),
        )  # fmt: skip
        answer = self._ask_controllers(asked, 2)
        if answer is None:
            return
        assert answer.error_code in (
            ErrorCode.NONE,
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            ErrorCode.UNSUPPORTED_VERSION,
        ), answer
        if answer.error_code == 0:
            assert answer.broker_epoch >= self.epochs.get(broker, 0), "a registration's epoch never goes back"
            self.epochs[broker] = answer.broker_epoch

    def beat(self, broker: int, wrong: int, *, fence: bool, leave: bool) -> None:
        epoch = self.epochs.get(broker)
        if epoch is None:
            epoch, wrong = 0, 1
        asked = BrokerHeartbeatRequest(
            broker_id=broker,
            broker_epoch=epoch + wrong,
            current_metadata_offset=epoch,
            want_fence=fence,
            want_shut_down=leave,
        )
        answer = self._ask_controllers(asked, 1)
        refused = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)
        assert answer is None or answer.error_code in (refused if wrong else (ErrorCode.NONE, *refused)), answer

    def unregister(self, broker: int) -> None:
        code = self._ask(UnregisterBrokerRequest(broker_id=broker), 0).error_code
        wanted = (
            (ErrorCode.BROKER_ID_NOT_REGISTERED, ErrorCode.NONE) if broker not in self.epochs else (ErrorCode.NONE,)
        )
        assert code in (*wanted, ErrorCode.REQUEST_TIMED_OUT), ErrorCode(code)
        self.epochs.pop(broker, None)

    def _epoch(self, ahead: int) -> int:
        told = self.bench.run(self.bench.judge.described())
        return min(LAST_EPOCH, (told.leader_epoch if told is not None else 1) + ahead)

    def _sentry(self, to: int) -> Any:
        return self.bench.judge.quorum_clients()[to]

    def vote(self, node: int, ahead: int, *, pre: bool, to: int) -> None:
        asked = strangers.vote(self._epoch(ahead), node, Uuid.of(node, 1), (2**40, 1), pre=pre)
        self.bench.run(self._sentry(to).ask(asked, 2))

    def begin_epoch(self, node: int, ahead: int, to: int) -> None:
        self.bench.run(self._sentry(to).ask(strangers.begin(self._epoch(ahead), node), 1))

    def frame(self, seed: int, number: int) -> None:
        """One of the fuzz's; what it does is seen by the steps that follow. Its topics are others than the story's."""
        self.bench.put_quietly([shot(seed, number)])

    def end(self) -> None:
        """Whatever happened: the canaries are served, and what this story was acknowledged can be read."""
        assert self.bench.run(self.bench.judge.judge()) == []
        for place in range(len(self.topics)):
            self.fetch(place, 0)
        for name in list(self.topics):
            self.topics = {name: None}
            self.delete(0)
