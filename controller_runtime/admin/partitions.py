"""Partitions: more of them, their leaders, their offsets, the beginning of their logs, where their replicas lie.

What only a partition's leader answers is asked of it; a leader that moved meanwhile is looked up anew until time is up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from controller_runtime.admin import topics
from controller_runtime.admin.connections import Connections, Deadline, raise_if
from controller_runtime.admin.results import LogDirDescription, ReplicaOnDisk, TopicDescription
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.api_errors import ApiError, error_for
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from controller_runtime.protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_partitions_response import CreatePartitionsResponse
from controller_runtime.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from controller_runtime.protocol.messages.delete_records_response import DeleteRecordsResponse
from controller_runtime.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from controller_runtime.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from controller_runtime.protocol.messages.elect_leaders_response import ElectLeadersResponse
from controller_runtime.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse

V = TypeVar("V")
TopicPartition = tuple[str, int]
_LEADER_MOVED = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_LEADER_EPOCH}
)
_Answers = Mapping[TopicPartition, tuple[int, int]]
"""Error code and value by partition."""


async def create(
    connections: Connections,
    wanted: Mapping[str, tuple[int, Sequence[Sequence[int]] | None]],
    deadline: Deadline,
    *,
    validate_only: bool,
) -> Mapping[str, ApiError | None]:
    """Topic to (how many partitions it shall have, the replicas of each new one)."""
    request = CreatePartitionsRequest(
        topics=tuple(
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if placed is None
                else tuple(CreatePartitionsAssignment(broker_ids=tuple(one)) for one in placed),
            )
            for name, (count, placed) in wanted.items()
        ),
        timeout_ms=int(deadline.left * 1000),
        validate_only=validate_only,
    )
    found = await connections.ask_controller(
        request, CreatePartitionsResponse, lambda one: _moved(each.error_code for each in one.results), deadline
    )
    return {one.name: error_for(one.error_code, one.error_message or None) for one in found.results}


async def elect(
    connections: Connections, election_type: int, wanted: Iterable[TopicPartition] | None, deadline: Deadline
) -> Mapping[TopicPartition, ApiError | None]:
    """0 preferred, 1 unclean; None: all partitions, of which only those that were concerned are answered."""
    asked = None if wanted is None else _by_topic((one, one[1]) for one in wanted)
    request = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=None
        if asked is None
        else tuple(TopicPartitions(topic=name, partitions=tuple(ids)) for name, ids in asked.items()),
        timeout_ms=int(deadline.left * 1000),
    )
    found = await connections.ask_controller(request, ElectLeadersResponse, lambda one: one.error_code, deadline)
    raise_if(found.error_code)
    return {
        (topic.topic, one.partition_id): error_for(one.error_code, one.error_message or None)
        for topic in found.replica_election_results
        for one in topic.partition_result
    }


async def list_offsets(
    connections: Connections, wanted: Mapping[TopicPartition, int], deadline: Deadline
) -> Mapping[TopicPartition, int | ApiError]:
    """Partition to a timestamp, or -1 latest, -2 earliest ...; the answer's offset is -1 where there is none."""

    async def ask(leader: NodeId, some: Mapping[TopicPartition, int]) -> _Answers:
        asked = _by_topic((one, ListOffsetsPartition(partition_index=one[1], timestamp=at)) for one, at in some.items())
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=tuple(ListOffsetsTopic(name=name, partitions=tuple(each)) for name, each in asked.items()),
            timeout_ms=int(deadline.left * 1000),
        )
        found = await connections.ask_node(leader, request, ListOffsetsResponse, deadline)
        return {
            (topic.name, one.partition_index): (one.error_code, one.offset)
            for topic in found.topics
            for one in topic.partitions
        }

    return await _of_leaders(connections, wanted, ask, deadline)


async def delete_records(
    connections: Connections, wanted: Mapping[TopicPartition, int], deadline: Deadline
) -> Mapping[TopicPartition, int | ApiError]:
    """Partition to the first offset that shall be left, -1 for none; the answer is the log's new beginning."""

    async def ask(leader: NodeId, some: Mapping[TopicPartition, int]) -> _Answers:
        asked = _by_topic((one, DeleteRecordsPartition(partition_index=one[1], offset=at)) for one, at in some.items())
        request = DeleteRecordsRequest(
            topics=tuple(DeleteRecordsTopic(name=name, partitions=tuple(each)) for name, each in asked.items()),
            timeout_ms=int(deadline.left * 1000),
        )
        found = await connections.ask_node(leader, request, DeleteRecordsResponse, deadline)
        return {
            (topic.name, one.partition_index): (one.error_code, one.low_watermark)
            for topic in found.topics
            for one in topic.partitions
        }

    return await _of_leaders(connections, wanted, ask, deadline)


async def describe_log_dirs(
    connections: Connections, broker: NodeId, deadline: Deadline
) -> tuple[LogDirDescription, ...]:
    found = await connections.ask_node(broker, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, deadline)
    raise_if(found.error_code)
    return tuple(
        LogDirDescription(
            one.log_dir,
            error_for(one.error_code),
            {
                (topic.name, each.partition_index): ReplicaOnDisk(
                    each.partition_size, each.offset_lag, each.is_future_key
                )
                for topic in one.topics
                for each in topic.partitions
            },
            one.usable_bytes,
        )
        for one in found.results
    )


async def alter_replica_log_dirs(
    connections: Connections, broker: NodeId, wanted: Mapping[TopicPartition, str], deadline: Deadline
) -> Mapping[TopicPartition, ApiError | None]:
    """Directory by partition."""
    paths: dict[str, dict[str, list[int]]] = {}
    for (topic, index), path in wanted.items():
        paths.setdefault(path, {}).setdefault(topic, []).append(index)
    request = AlterReplicaLogDirsRequest(
        dirs=tuple(
            AlterReplicaLogDir(
                path=path,
                topics=tuple(AlterReplicaLogDirTopic(name=name, partitions=tuple(ids)) for name, ids in each.items()),
            )
            for path, each in paths.items()
        )
    )
    found = await connections.ask_node(broker, request, AlterReplicaLogDirsResponse, deadline)
    return {
        (topic.topic_name, one.partition_index): error_for(one.error_code)
        for topic in found.results
        for one in topic.partitions
    }


async def _of_leaders(
    connections: Connections,
    wanted: Mapping[TopicPartition, V],
    ask: Callable[[NodeId, Mapping[TopicPartition, V]], Awaitable[_Answers]],
    deadline: Deadline,
) -> Mapping[TopicPartition, int | ApiError]:
    answers: dict[TopicPartition, int | ApiError] = {}
    left = dict(wanted)
    while left:
        leaders, refused = await _leaders(connections, left, deadline)
        for leader, some in leaders.items():
            found = await ask(leader, {one: left[one] for one in some})
            for one in some:
                code, value = found.get(one, (ErrorCode.UNKNOWN_SERVER_ERROR, -1))
                if code in _LEADER_MOVED:
                    refused[one] = _error(code)
                else:
                    answers[one] = error_for(code) or value
                    del left[one]
        for one, error in refused.items():
            if error.code not in _LEADER_MOVED:
                answers[one] = error
                left.pop(one, None)
        if left and not await deadline.pause():
            return {**answers, **{one: refused.get(one) or _error(ErrorCode.REQUEST_TIMED_OUT) for one in left}}
    return answers


async def _leaders(
    connections: Connections, wanted: Iterable[TopicPartition], deadline: Deadline
) -> tuple[dict[NodeId, list[TopicPartition]], dict[TopicPartition, ApiError]]:
    asked = list(wanted)
    found = await topics.describe(connections, sorted({topic for topic, _ in asked}), deadline)
    leaders: dict[NodeId, list[TopicPartition]] = {}
    refused: dict[TopicPartition, ApiError] = {}
    for topic, index in asked:
        described = found.get(topic)
        if isinstance(described, ApiError):
            refused[topic, index] = described
            continue
        leader = _leader_of(described, index)
        if leader is None:
            refused[topic, index] = _error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif leader < 0:
            refused[topic, index] = _error(ErrorCode.LEADER_NOT_AVAILABLE)
        else:
            leaders.setdefault(NodeId(leader), []).append((topic, index))
    return leaders, refused


def _leader_of(described: TopicDescription | None, index: int) -> int | None:
    partitions = () if described is None else described.partitions
    return next((one.leader for one in partitions if one.index == index), None)


def _error(code: int) -> ApiError:
    error = error_for(code)
    assert error is not None, "a code of an error"
    return error


def _by_topic(items: Iterable[tuple[TopicPartition, V]]) -> dict[str, list[V]]:
    found: dict[str, list[V]] = {}
    for (topic, _), value in items:
        found.setdefault(topic, []).append(value)
    return found


def _moved(codes: Iterable[int]) -> int:
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in set(codes) else ErrorCode.NONE
