"""A well-behaved client beside the fuzz: what it is told must stay right, and what was acknowledged to it must stay
readable.

It speaks the protocol itself, one request at a time on a connection of its own. A wrong answer is a `Wrong`; a node
that is slow is waited for, because the machine may be busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.describe_quorum_request import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.protocol.schema import Message
from support.fuzz import batches

SECONDS: Final = 60.0
"""For one answer. It only bounds how long a hanging node keeps the run."""
TRIES: Final = 40

KEPT_FOR_EVER: Final = tuple(
    CreatableTopicConfig(name=name, value=value)
    for name, value in (("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1"))
)
"""Whoever may alter the brokers' defaults may have all other records deleted."""


class Wrong(AssertionError):
    """What a node must not do."""


class Client:
    """One connection, made anew when it was lost."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._correlation = 0

    async def ask(self, body: Message, version: int) -> Any:
        """The answer. Raises Wrong when the node closes the connection on a right request twice, or never answers."""
        for attempt in (1, 2):
            try:
                return await asyncio.wait_for(self._ask(body, version), SECONDS)
            except (OSError, asyncio.IncompleteReadError) as error:
                self.close()
                if attempt == 2:
                    raise Wrong(f"{type(body).__name__} v{version} is not answered: {error!r}") from error
            except TimeoutError as error:
                self.close()
                raise Wrong(f"{type(body).__name__} v{version}: no answer within {SECONDS:g} s") from error
        raise AssertionError("unreachable")

    async def _ask(self, body: Message, version: int) -> Message:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 26)
        reader, writer = self._streams
        self._correlation += 1
        key = body.KEY
        assert key is not None
        writer.write(encode_request(body, version, self._correlation, "canary"))
        size = int.from_bytes(await reader.readexactly(4), "big")
        answer = decode_response(await reader.readexactly(size), key, version)
        if answer.header.correlation_id != self._correlation:
            raise Wrong(f"{type(body).__name__} v{version} got the answer to another request")
        return answer.body

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


@dataclass
class BrokerCanary:
    """Writes to a topic of its own, reads all of it again, and makes and deletes another one through the quorum."""

    port: int
    node_id: int
    name: str
    acknowledged: list[bytes] = field(default_factory=list)
    rounds: int = 0

    def __post_init__(self) -> None:
        self.client = Client(self.port)

    async def begin(self) -> None:
        await self._be_unhindered()
        await self.create(self.name)

    async def sing(self, *, whole: bool = False) -> None:
        """One round. `whole`: read from the beginning, not only the newest."""
        self.rounds += 1
        versions = await self.client.ask(
            ApiVersionsRequest(client_software_name="canary", client_software_version="1"), 4
        )
        if versions.error_code or not any(row.api_key == 0 for row in versions.api_keys):
            raise Wrong(f"ApiVersions of node {self.node_id}: {versions}")
        await self._metadata()
        await self._produce(b"%s %d" % (self.name.encode(), self.rounds))
        await self._read(0 if whole else max(0, len(self.acknowledged) - 50))
        if self.rounds % 4 == 1:
            other = f"{self.name}-{self.rounds}"
            await self.create(other)
            await self._delete(other)

    async def _eventually(
        self, body: Message, version: int, told: Callable[[Any], Any], right: Callable[[Any], bool]
    ) -> Any:
        """What `told` takes of the answer, when it is right: a node may still be learning of a change. Raises Wrong."""
        part: Any = None
        for _ in range(TRIES):
            part = told(await self.client.ask(body, version))
            if right(part):
                return part
            await asyncio.sleep(0.25)
        raise Wrong(f"{type(body).__name__} of {self.name} at node {self.node_id}: {part}")

    async def _be_unhindered(self) -> None:
        """A quota of its own, before all those of a default: whoever may alter quotas may hold everybody else back."""
        who = (
            EntityData(entity_type="user", entity_name="ANONYMOUS"),
            EntityData(entity_type="client-id", entity_name="canary"),
        )
        allowed = EntryData(entity=who, ops=(OpData(key="controller_mutation_rate", value=1e9),))
        await self._eventually(
            AlterClientQuotasRequest(entries=(allowed,)),
            1,
            lambda answer: answer.entries[0],
            lambda entry: entry.error_code == 0,
        )

    async def _metadata(self) -> None:
        asked = MetadataRequest(topics=(MetadataRequestTopic(name=self.name),), allow_auto_topic_creation=False)
        mine = self.node_id
        await self._eventually(
            asked,
            12,
            lambda answer: answer.topics[0],
            lambda topic: topic.error_code == 0 and topic.partitions[0].leader_id == mine,
        )

    async def _produce(self, value: bytes) -> None:
        partition = PartitionProduceData(index=0, records=batches.good([value]))
        topic = TopicProduceData(name=self.name, partition_data=(partition,))
        answer = await self._eventually(
            ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(topic,)),
            9,
            lambda answer: answer.responses[0].partition_responses[0],
            lambda partition: partition.error_code == 0,
        )
        if answer.base_offset != len(self.acknowledged):
            raise Wrong(
                f"Produce to {self.name}: offset {answer.base_offset}, "
                f"{len(self.acknowledged)} were acknowledged before"
            )
        self.acknowledged.append(value)

    async def _read(self, position: int) -> None:
        """What is there from `position` on must be what was acknowledged."""
        while position < len(self.acknowledged):
            partition = FetchPartition(partition=0, fetch_offset=position, partition_max_bytes=1 << 20)
            asked = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=1 << 20,
                topics=(FetchTopic(topic=self.name, partitions=(partition,)),),
            )
            answer = (await self.client.ask(asked, 12)).responses[0].partitions[0]
            if answer.error_code or not answer.records:
                raise Wrong(
                    f"Fetch of {self.name} at {position} of {len(self.acknowledged)}: "
                    f"{ErrorCode(answer.error_code).name}"
                )
            records = [
                record
                for batch in decode_batches(answer.records)
                for record in batch.records
                if record.offset >= position
            ]
            for record in records:
                if record.offset != position or record.value != self.acknowledged[position]:
                    raise Wrong(
                        f"{self.name} at {position}: {record}, acknowledged was {self.acknowledged[position]!r}"
                    )
                position += 1

    async def create(self, name: str, partitions: int = 1) -> None:
        assigned = tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=(self.node_id,)) for index in range(partitions)
        )
        topic = CreatableTopic(
            name=name, num_partitions=-1, replication_factor=-1, assignments=assigned, configs=KEPT_FOR_EVER
        )
        await self._eventually(
            CreateTopicsRequest(topics=(topic,), timeout_ms=30_000),
            7,
            lambda answer: answer.topics[0],
            lambda topic: topic.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS),
        )

    async def _delete(self, name: str) -> None:
        await self._eventually(
            DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout_ms=30_000),
            6,
            lambda answer: answer.responses[0],
            lambda topic: topic.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        )


DESCRIBE_QUORUM: Final = DescribeQuorumRequest(
    topics=(TopicData(topic_name="__cluster_metadata", partitions=(PartitionData(partition_index=0),)),)
)
