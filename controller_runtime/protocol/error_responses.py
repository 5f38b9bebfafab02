"""The response that says one error for a whole request, per API, as Kafka's `getErrorResponse` does.

Used for 41 NOT_CONTROLLER on a node that does not lead, and for errors that no single topic or resource caused.
"""

from __future__ import annotations

from typing import Any, Final

from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.schema import Message


def refusal(request: Message, error: int, message: str | None = None) -> Message:
    """Answer `request` with this error everywhere an error can stand.

    Works for every request whose response has an error code at its top, and for those that a role of ours serves.
    """
    name = type(request).__name__
    if name in ABOUT_METADATA:
        from controller_runtime.protocol.metadata_error_responses import SHAPES_OF_METADATA

        return SHAPES_OF_METADATA[name](request, error, message)
    if name in ABOUT_SECURITY:
        from controller_runtime.protocol.security_error_responses import SHAPES_OF_SECURITY

        return SHAPES_OF_SECURITY[name](request, int(error), message)
    if name in ONLY_BROKERS:
        from controller_runtime.protocol.broker_error_responses import SHAPES

        return SHAPES[name](request, int(error))
    if name in ABOUT_GROUPS:
        from controller_runtime.protocol import group_error_responses

        return group_error_responses.SHAPES[name](request, int(error))
    if name in ABOUT_TRANSACTIONS:
        from controller_runtime.protocol import transaction_error_responses

        return transaction_error_responses.SHAPES[name](request, int(error))
    if name in ABOUT_SHARING:
        from controller_runtime.protocol.share_error_responses import refused

        return refused(request, int(error), message)
    response = message_class(name.removesuffix("Request") + "Response")
    fields = {spec.name for spec in response.FIELDS}
    values: dict[str, Any] = {"error_code": int(error)}
    if "error_message" in fields:
        values["error_message"] = message
    return response(**values)


def not_controller_message(leader_id: int) -> str:
    """Kafka's words for 41; the leader is -1 while unknown."""
    if leader_id < 0:
        return "No controller appears to be active."
    return f"The active controller appears to be node {leader_id}."


ABOUT_METADATA: Final = frozenset(
    {
        "AlterPartitionReassignmentsRequest",
        "CreatePartitionsRequest",
        "CreateTopicsRequest",
        "ElectLeadersRequest",
        "DeleteTopicsRequest",
        "AlterConfigsRequest",
        "IncrementalAlterConfigsRequest",
        "DescribeConfigsRequest",
        "UpdateFeaturesRequest",
        "AssignReplicasToDirsRequest",
    }
)
"""Requests about topics, partitions, configurations and features: their shapes are in a module of their own."""

ONLY_BROKERS: Final = frozenset(
    {
        "ProduceRequest",
        "MetadataRequest",
        "ListOffsetsRequest",
        "OffsetForLeaderEpochRequest",
        "DescribeTopicPartitionsRequest",
        "DeleteRecordsRequest",
        "AlterReplicaLogDirsRequest",
        "InitProducerIdRequest",
    }
)
"""Requests that only brokers serve, whose answers say more than the error at their top."""

ABOUT_GROUPS: Final = frozenset(
    {
        "FindCoordinatorRequest",
        "JoinGroupRequest",
        "OffsetCommitRequest",
        "OffsetFetchRequest",
        "DescribeGroupsRequest",
        "DeleteGroupsRequest",
        "ConsumerGroupDescribeRequest",
        "ShareGroupDescribeRequest",
        "StreamsGroupDescribeRequest",
        "DescribeShareGroupOffsetsRequest",
    }
)
"""Requests about groups that name several things: their shapes are in a module of their own."""

ABOUT_TRANSACTIONS: Final = frozenset(
    {
        "AddPartitionsToTxnRequest",
        "WriteTxnMarkersRequest",
        "TxnOffsetCommitRequest",
        "DescribeProducersRequest",
        "DescribeTransactionsRequest",
    }
)
"""Requests about transactions that name several things: their shapes are in a module of their own."""

ABOUT_SHARING: Final = frozenset(
    {
        "InitializeShareGroupStateRequest",
        "ReadShareGroupStateRequest",
        "WriteShareGroupStateRequest",
        "DeleteShareGroupStateRequest",
        "ReadShareGroupStateSummaryRequest",
    }
)
"""Requests of brokers to share coordinators: each partition gets the error."""

ABOUT_SECURITY: Final = frozenset(
    {
        "AlterClientQuotasRequest",
        "DescribeClientQuotasRequest",
        "AlterUserScramCredentialsRequest",
        "DescribeUserScramCredentialsRequest",
        "CreateAclsRequest",
        "DeleteAclsRequest",
    }
)
"""Requests about quotas and credentials: their shapes are in a module of their own."""
