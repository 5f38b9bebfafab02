"""A broker to which everything happens, and of which everything is asked, that touches many partitions; each of its
steps is measured.

Its logs are empty, and what is asked of their disk is answered at once: a step is nothing but decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.broker import effects as of_broker
from controller_runtime.broker.effects import BrokerEffect, BrokerEvent
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.metadata.configs import BROKER as NODES
from controller_runtime.metadata.configs import TOPIC
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.node.events import NodeEvent
from controller_runtime.protocol.messages import delete_records_request as deletion
from controller_runtime.protocol.messages import fetch_request as fetching
from controller_runtime.protocol.messages import list_offsets_request as listing
from controller_runtime.protocol.messages import offset_commit_request as committing
from controller_runtime.protocol.messages import offset_delete_request as forgetting
from controller_runtime.protocol.messages import offset_for_leader_epoch_request as epochs
from controller_runtime.protocol.messages import produce_request as producing
from controller_runtime.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delegation_token_record import DelegationTokenRecord
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_delegation_token_request import DescribeDelegationTokenRequest
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from controller_runtime.protocol.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from controller_runtime.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from controller_runtime.protocol.messages.share_group_describe_request import ShareGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.record_batch import encode_batch
from controller_runtime.protocol.records import Record
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.nodes.broker_world import BrokerWorld
from support.nodes.busy_shares import of_shares
from support.nodes.busy_transactions import of_transactions
from support.nodes.controller_world import World

PER_TOPIC: Final = 10
TOPICS_PER_REQUEST: Final = 100
UNKNOWN_NAMES: Final = 5_000
SESSION_S: Final = 10.0
SECURITY: Final = SecurityRules(token_secret=b"of the whole cluster")
OF_COORDINATORS: Final = ("__consumer_offsets", "__share_group_state")
GROUP: Final = "g"
_UNKNOWN_GROUPS: Final = tuple(f"unknown-{n}" for n in range(UNKNOWN_NAMES))


class QuickBroker(BrokerWorld):
    """`costs`: what each step costs, in order, by `measure`, which does the work that it is given."""

    def __init__(
        self,
        controller: World,
        run: int,
        measure: Callable[[Callable[[], None]], float],
        security: SecurityRules,
    ) -> None:
        super().__init__(controller=controller, directories=2, run=run, security=security)
        self.authenticates = True
        self.costs: list[float] = []
        step = self.pump.step

        def measured(taken: Sequence[NodeEvent], now: Instant, wall: WallClock) -> None:
            self.costs.append(measure(lambda: step(taken, now, wall)))

        self.pump.step = measured  # type: ignore[method-assign]

    def perform_data(self, count: int = 1_000_000) -> None:
        while self.data and count > 0:
            count -= 1
            event = self._answer(self.data.popleft())
            if event is not None:
                self.happen(event)

    def _answer(self, effect: BrokerEffect) -> BrokerEvent | None:
        match effect:
            case of_broker.SetAsideStrays():
                return of_broker.StraysSetAside(())
            case of_broker.OpenPartition(key, _, directory):
                home = directory or next(iter(self.directories))
                return of_broker.PartitionOpened(key, 0, 0, epoch_starts=(), producers={}, directory_id=home)
            case of_broker.AppendRecords(key, end_offset):
                return of_broker.PartitionWritten(key, end_offset)
            case of_broker.ReadRecords(work_id, slices):
                return of_broker.RecordsRead(work_id, (b"",) * len(slices))
            case of_broker.FindTimestamp(work_id):
                return of_broker.TimestampFound(work_id, -1, -1)
            case of_broker.MeasureDirectory(work_id, directory):
                sizes = dict.fromkeys(self.service.partitions.high_watermarks(), 0)
                return of_broker.DirectoryMeasured(work_id, directory, (1 << 40, 1 << 39), sizes)
            case _:
                return None


@dataclass(frozen=True)
class Kind:
    """Something that happened, or was asked."""

    name: str
    costs: Sequence[float]
    """Of its steps."""


class BusyBroker:
    SECURITY_OF_BROKER = SECURITY

    def __init__(self, partitions: int, measure: Callable[[Callable[[], None]], float]) -> None:
        self._partitions = partitions
        self._measure = measure
        self._controller = World(security=replace(SECURITY, keeps_acls=True))
        self._broker = QuickBroker(self._controller, 0, measure, self.SECURITY_OF_BROKER)

    def run(self) -> Iterator[Kind]:
        """Each kind, when it is done; what came of it is asserted."""
        self._broker.start()
        yield self._done("topics come", self._create)
        for name, request in self.requests().items():
            yield self._done(name, lambda request=request: self._ask(request))  # type: ignore[misc]
        yield self._done("a default of every topic changes", self._configure)
        yield self._done("it is fenced", self._fence)
        yield self._done("it is unfenced", self._unfence)
        yield self._done("it starts", self._restart)
        yield self._done("a log directory fails", self._lose_a_directory)
        yield self._done("topics go", self._delete)

    def _done(self, name: str, work: Callable[[], None]) -> Kind:
        self._broker.costs = []
        work()
        return Kind(name, self._broker.costs)

    # What happens to it.

    @property
    def _led(self) -> int:
        return self._broker.service.partitions.leader_count

    def _create(self) -> None:
        """All of it comes in one image."""
        count = self._partitions // PER_TOPIC
        for first in range(0, count, TOPICS_PER_REQUEST):
            numbers = range(first, min(count, first + TOPICS_PER_REQUEST))
            names = [OF_COORDINATORS[n] if n < len(OF_COORDINATORS) else f"t-{n}" for n in numbers]
            topics = (CreatableTopic(name=name, num_partitions=PER_TOPIC, replication_factor=1) for name in names)
            self._controller.decide(CreateTopicsRequest(topics=tuple(topics)))
        tokens = (DelegationTokenRecord(owner="User:ann", token_id=f"token-{n}") for n in range(self._partitions))
        self._controller.append((token, 0) for token in tokens)
        self._broker.settle()
        assert self._led == self._partitions

    def _fence(self) -> None:
        self._controller.wait(SESSION_S)
        self._broker.settle()
        assert not self._led

    def _unfence(self) -> None:
        self._broker.wait(SESSION_S / 2)
        assert self._led == self._partitions

    def _restart(self) -> None:
        self._controller.wait(SESSION_S)
        self._broker = QuickBroker(self._controller, self._broker.run + 1, self._measure, self.SECURITY_OF_BROKER)
        costs = self._broker.costs
        self._broker.start()
        self._broker.settle()
        assert self._led == self._partitions
        self._broker.costs = costs

    def _configure(self) -> None:
        wanted = AlterableConfig(name="log.retention.ms", config_operation=0, value="1000")
        every = AlterConfigsResource(resource_type=NODES, resource_name="", configs=(wanted,))
        self._controller.decide(IncrementalAlterConfigsRequest(resources=(every,)))
        self._broker.settle()

    def _lose_a_directory(self) -> None:
        lost = next(iter(self._broker.directories))
        self._broker.happen(of_broker.DirectoryFailed(lost, "it was unplugged"))
        self._broker.settle()
        assert self._led < self._partitions

    def _delete(self) -> None:
        names = tuple(DeleteTopicState(name=topic.name) for topic in self._controller.image.topics)
        self._controller.decide(DeleteTopicsRequest(topics=names, timeout_ms=1000))
        self._broker.settle()
        assert not self._broker.service.partitions.replica_count

    # What is asked of it.

    def _ask(self, request: Message) -> None:
        number = self._broker.send(request)
        self._broker.settle()
        self._broker.wait(0.1)
        assert number in self._broker.answers

    def requests(self) -> Mapping[str, Message]:
        """For every partition; of records one small batch."""
        topics = list(self._controller.image.topics)
        unknown = tuple(MetadataRequestTopic(name=f"unknown-{n}") for n in range(UNKNOWN_NAMES))
        described = (DescribeConfigsResource(resource_type=TOPIC, resource_name=topic.name) for topic in topics)
        return {
            "Metadata, every topic": MetadataRequest(topics=None),
            "Metadata, every name": MetadataRequest(topics=tuple(MetadataRequestTopic(name=t.name) for t in topics)),
            "Metadata, 5,000 unknown names": MetadataRequest(topics=unknown, allow_auto_topic_creation=False),
            "DescribeTopicPartitions, a page": DescribeTopicPartitionsRequest(topics=()),
            "DescribeConfigs, every topic": DescribeConfigsRequest(resources=tuple(described)),
            "DescribeDelegationToken": DescribeDelegationTokenRequest(owners=None),
            "DescribeLogDirs": DescribeLogDirsRequest(topics=None),
            "AlterReplicaLogDirs, every partition": _move(topics),
            "ListOffsets, latest": _list_offsets(topics, -1),
            "ListOffsets, by time": _list_offsets(topics, 1_000),
            "OffsetForLeaderEpoch": _epoch_ends(topics),
            "Fetch that waits": _fetch(topics, wait_ms=10),
            "Fetch that begins a session": _fetch(topics, wait_ms=0, session_epoch=0),
            "Produce": _produce(topics),
            "Fetch of records": _fetch(topics, wait_ms=0),
            "DeleteRecords": _delete_records(topics),
            "OffsetCommit": _commit_offsets(topics),
            "OffsetFetch": OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=GROUP, topics=None),)),
            "OffsetDelete": _delete_offsets(topics),
            "DescribeGroups, 5,000 unknown names": DescribeGroupsRequest(groups=_UNKNOWN_GROUPS),
            "ListGroups": ListGroupsRequest(),
            "ConsumerGroupDescribe, 5,000 unknown names": ConsumerGroupDescribeRequest(group_ids=_UNKNOWN_GROUPS),
            "ShareGroupDescribe, 5,000 unknown names": ShareGroupDescribeRequest(group_ids=_UNKNOWN_GROUPS),
            "StreamsGroupDescribe, 5,000 unknown names": StreamsGroupDescribeRequest(group_ids=_UNKNOWN_GROUPS),
            "DescribeShareGroupOffsets, 5,000 unknown names": DescribeShareGroupOffsetsRequest(
                groups=tuple(
                    DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in _UNKNOWN_GROUPS
                )
            ),
            "DeleteGroups, 5,000 unknown names": DeleteGroupsRequest(groups_names=_UNKNOWN_GROUPS),
            **of_transactions(topics, PER_TOPIC, _UNKNOWN_GROUPS),
            **of_shares([topic.id for topic in topics], PER_TOPIC),
        }


def _move(topics: Sequence[TopicImage]) -> Message:
    each = tuple(AlterReplicaLogDirTopic(name=topic.name, partitions=tuple(range(PER_TOPIC))) for topic in topics)
    return AlterReplicaLogDirsRequest(dirs=(AlterReplicaLogDir(path="/nowhere", topics=each),))


def _commit_offsets(topics: Sequence[TopicImage]) -> Message:
    wanted = tuple(committing.OffsetCommitRequestPartition(partition_index=n) for n in range(PER_TOPIC))
    each = (committing.OffsetCommitRequestTopic(topic_id=topic.id, partitions=wanted) for topic in topics)
    return committing.OffsetCommitRequest(group_id=GROUP, topics=tuple(each))


def _delete_offsets(topics: Sequence[TopicImage]) -> Message:
    wanted = tuple(forgetting.OffsetDeleteRequestPartition(partition_index=n) for n in range(PER_TOPIC))
    each = (forgetting.OffsetDeleteRequestTopic(name=topic.name, partitions=wanted) for topic in topics)
    return forgetting.OffsetDeleteRequest(group_id=GROUP, topics=tuple(each))


def _list_offsets(topics: Sequence[TopicImage], timestamp: int) -> Message:
    wanted = tuple(listing.ListOffsetsPartition(partition_index=n, timestamp=timestamp) for n in range(PER_TOPIC))
    each = (listing.ListOffsetsTopic(name=topic.name, partitions=wanted) for topic in topics)
    return listing.ListOffsetsRequest(topics=tuple(each))


def _epoch_ends(topics: Sequence[TopicImage]) -> Message:
    wanted = tuple(epochs.OffsetForLeaderPartition(partition=n, leader_epoch=0) for n in range(PER_TOPIC))
    each = (epochs.OffsetForLeaderTopic(topic=topic.name, partitions=wanted) for topic in topics)
    return epochs.OffsetForLeaderEpochRequest(topics=tuple(each))


def _produce(topics: Sequence[TopicImage]) -> Message:
    records = encode_batch([Record(0, 1_000, None, b"v")], partition_leader_epoch=0)
    wanted = tuple(producing.PartitionProduceData(index=n, records=records) for n in range(PER_TOPIC))
    each = (producing.TopicProduceData(topic_id=topic.id, partition_data=wanted) for topic in topics)
    return producing.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=tuple(each))


def _fetch(topics: Sequence[TopicImage], wait_ms: int, session_epoch: int = -1) -> Message:
    wanted = tuple(
        fetching.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1000) for n in range(PER_TOPIC)
    )
    each = (fetching.FetchTopic(topic_id=topic.id, partitions=wanted) for topic in topics)
    return fetching.FetchRequest(
        max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, session_epoch=session_epoch, topics=tuple(each)
    )


def _delete_records(topics: Sequence[TopicImage]) -> Message:
    wanted = tuple(deletion.DeleteRecordsPartition(partition_index=n, offset=-1) for n in range(PER_TOPIC))
    each = (deletion.DeleteRecordsTopic(name=topic.name, partitions=wanted) for topic in topics)
    return deletion.DeleteRecordsRequest(topics=tuple(each), timeout_ms=1000)
