"""What `error_responses` has for requests about topics, partitions, configurations and features.

Imported when the first such request fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller_runtime.protocol.messages import alter_configs_response
from controller_runtime.protocol.messages.alter_configs_request import AlterConfigsRequest
from controller_runtime.protocol.messages.alter_configs_response import AlterConfigsResponse
from controller_runtime.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
)
from controller_runtime.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from controller_runtime.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from controller_runtime.protocol.messages.create_partitions_request import CreatePartitionsRequest
from controller_runtime.protocol.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from controller_runtime.protocol.messages.describe_configs_request import DescribeConfigsRequest
from controller_runtime.protocol.messages.describe_configs_response import (
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest
from controller_runtime.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse
from controller_runtime.protocol.schema import Message


def _create_topics(request: CreateTopicsRequest, error: int, message: str | None) -> Message:
    return CreateTopicsResponse(
        topics=tuple(
            CreatableTopicResult(name=topic.name, error_code=error, error_message=message) for topic in request.topics
        )
    )


def _delete_topics(request: DeleteTopicsRequest, error: int, message: str | None) -> Message:
    states = request.topics or tuple(DeleteTopicState(name=name) for name in request.topic_names)
    return DeleteTopicsResponse(
        responses=tuple(
            DeletableTopicResult(name=state.name, topic_id=state.topic_id, error_code=error, error_message=message)
            for state in states
        )
    )


def _alter_configs(request: IncrementalAlterConfigsRequest, error: int, message: str | None) -> Message:
    return IncrementalAlterConfigsResponse(
        responses=tuple(
            AlterConfigsResourceResponse(
                error_code=error, error_message=message, resource_type=it.resource_type, resource_name=it.resource_name
            )
            for it in request.resources
        )
    )


def _alter_configs_at_once(request: AlterConfigsRequest, error: int, message: str | None) -> Message:
    return AlterConfigsResponse(
        responses=tuple(
            alter_configs_response.AlterConfigsResourceResponse(
                error_code=error, error_message=message, resource_type=it.resource_type, resource_name=it.resource_name
            )
            for it in request.resources
        )
    )


def _describe_configs(request: DescribeConfigsRequest, error: int, message: str | None) -> Message:
    return DescribeConfigsResponse(
        results=tuple(
            DescribeConfigsResult(
                error_code=error, error_message=message, resource_type=it.resource_type, resource_name=it.resource_name
            )
            for it in request.resources
        )
    )


def _update_features(_: Message, error: int, message: str | None) -> Message:
    return UpdateFeaturesResponse(error_code=error, error_message=message)


def _assign_replicas(_: Message, error: int, __: str | None) -> Message:
    return AssignReplicasToDirsResponse(error_code=error)


def _create_partitions(request: CreatePartitionsRequest, error: int, message: str | None) -> Message:
    return CreatePartitionsResponse(
        results=tuple(
            CreatePartitionsTopicResult(name=topic.name, error_code=error, error_message=message)
            for topic in request.topics
        )
    )


def _elect_leaders(request: ElectLeadersRequest, error: int, message: str | None) -> Message:
    results = tuple(
        ReplicaElectionResult(
            topic=topic.topic,
            partition_result=tuple(
                PartitionResult(partition_id=index, error_code=error, error_message=message)
                for index in topic.partitions
            ),
        )
        for topic in request.topic_partitions or ()
    )
    if request.topic_partitions == ():  # nobody is to be elected: Kafka has no error for that
        return ElectLeadersResponse()
    return ElectLeadersResponse(error_code=error, replica_election_results=results)


def _alter_reassignments(request: AlterPartitionReassignmentsRequest, error: int, message: str | None) -> Message:
    responses = tuple(
        ReassignableTopicResponse(
            name=topic.name,
            partitions=tuple(
                ReassignablePartitionResponse(
                    partition_index=it.partition_index, error_code=error, error_message=message
                )
                for it in topic.partitions
            ),
        )
        for topic in request.topics
    )
    return AlterPartitionReassignmentsResponse(error_code=error, error_message=message, responses=responses)


SHAPES_OF_METADATA: Final[dict[str, Callable[[Any, int, str | None], Message]]] = {
    "AlterPartitionReassignmentsRequest": _alter_reassignments,
    "CreatePartitionsRequest": _create_partitions,
    "CreateTopicsRequest": _create_topics,
    "ElectLeadersRequest": _elect_leaders,
    "DeleteTopicsRequest": _delete_topics,
    "AlterConfigsRequest": _alter_configs_at_once,
    "IncrementalAlterConfigsRequest": _alter_configs,
    "DescribeConfigsRequest": _describe_configs,
    "UpdateFeaturesRequest": _update_features,
    "AssignReplicasToDirsRequest": _assign_replicas,
}
