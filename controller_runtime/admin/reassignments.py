"""Moving partitions' replicas: asking for it, and what is under way."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.admin.connections import Connections, Deadline, raise_if
from controller_runtime.admin.results import Reassignment
from controller_runtime.protocol.api_errors import ApiError, error_for
from controller_runtime.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from controller_runtime.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from controller_runtime.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
)
from controller_runtime.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
)


async def alter(
    connections: Connections,
    wanted: Mapping[tuple[str, int], tuple[int, ...] | None],
    deadline: Deadline,
    *,
    allow_factor_change: bool = True,
) -> Mapping[tuple[str, int], ApiError | None]:
    topics: dict[str, list[ReassignablePartition]] = {}
    for (topic, index), replicas in wanted.items():
        topics.setdefault(topic, []).append(ReassignablePartition(partition_index=index, replicas=replicas))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=int(deadline.left * 1000),
        allow_replication_factor_change=allow_factor_change,
        topics=tuple(ReassignableTopic(name=name, partitions=tuple(each)) for name, each in topics.items()),
    )
    found = await connections.ask_controller(
        request, AlterPartitionReassignmentsResponse, lambda one: one.error_code, deadline
    )
    raise_if(found.error_code, found.error_message)
    return {
        (topic.name, one.partition_index): error_for(one.error_code, one.error_message or None)
        for topic in found.responses
        for one in topic.partitions
    }


async def listing(connections: Connections, deadline: Deadline) -> tuple[Reassignment, ...]:
    request = ListPartitionReassignmentsRequest(timeout_ms=int(deadline.left * 1000))
    found = await connections.ask_controller(
        request, ListPartitionReassignmentsResponse, lambda one: one.error_code, deadline
    )
    raise_if(found.error_code, found.error_message)
    return tuple(
        Reassignment(topic.name, one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas)
        for topic in found.topics
        for one in topic.partitions
    )
