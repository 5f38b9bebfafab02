"""DescribeCluster: what the asker may do with the cluster, if he may describe it."""

from __future__ import annotations

from controller_runtime.answers.rights.gate import refused
from controller_runtime.answers.rights.verdict import Judged, Verdict
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.authorized_operations import ALL_OF_CLUSTER, NOT_ASKED, Operation
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import DescribeClusterResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace


def describe_controllers(judged: Judged, request: DescribeClusterRequest) -> Verdict:
    """A controller wants more than a broker: Alter on the cluster."""
    if not judged.asking.may(Operation.ALTER, Resource.CLUSTER):
        return refused(request, judged.version)
    return describe_brokers(judged, request)


def describe_brokers(judged: Judged, request: DescribeClusterRequest) -> Verdict:
    if not request.include_cluster_authorized_operations:
        return None
    asking = judged.asking
    described = asking.may(Operation.DESCRIBE, Resource.CLUSTER)
    bits = asking.operations(ALL_OF_CLUSTER, Resource.CLUSTER) if described else 0

    def complete(answer: Message) -> Message:
        assert isinstance(answer, DescribeClusterResponse), "it answers DescribeCluster"
        if answer.cluster_authorized_operations == NOT_ASKED:
            return answer
        return replace(answer, cluster_authorized_operations=bits)

    return Narrowed(request, request, complete)
