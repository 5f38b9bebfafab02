"""Controllers in the image: registration of each controller process, and who they are for an admin client (KIP-919)."""

from __future__ import annotations

from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.metadata.features import CONTROLLER_REGISTRATION
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.authorized_operations import ALL_OF_CLUSTER, NOT_ASKED
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from controller_runtime.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from controller_runtime.protocol.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)

BROKER_ENDPOINT: Final = 1
CONTROLLER_ENDPOINT: Final = 2
_FIRST_VERSION_WITH_ENDPOINT_TYPES: Final = 1


def register_controller(image: MetadataImage, request: ControllerRegistrationRequest) -> Decision:
    """A new incarnation of a controller replaces the former. What it supports is recorded, not judged: UpdateFeatures
    asks for it.
    """
    if image.features.metadata_version < CONTROLLER_REGISTRATION:
        too_old = "The current MetadataVersion is too old to support controller registrations."
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, too_old)
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=request.zk_migration_ready,
        end_points=tuple(
            ControllerEndpoint(name=it.name, host=it.host, port=it.port, security_protocol=it.security_protocol)
            for it in request.listeners
        ),
        features=tuple(
            ControllerFeature(
                name=it.name,
                min_supported_version=it.min_supported_version,
                max_supported_version=it.max_supported_version,
            )
            for it in request.features
        ),
    )
    return Decision(ControllerRegistrationResponse(), ((record, 0),))


def describe_cluster(
    image: MetadataImage, request: DescribeClusterRequest, context: RequestContext, cluster_id: str
) -> DescribeClusterResponse:
    """The controllers that are reachable through the listener on which the question came. Any controller may answer."""
    if request.endpoint_type == BROKER_ENDPOINT:
        is_new = context.api_version >= _FIRST_VERSION_WITH_ENDPOINT_TYPES
        raise Refused(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_new else ErrorCode.INVALID_REQUEST,
            "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER",
        )
    if request.endpoint_type != CONTROLLER_ENDPOINT:
        unknown = f"Unsupported endpoint type {request.endpoint_type}"
        raise Refused(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, unknown)
    if image.features.metadata_version < CONTROLLER_REGISTRATION:
        too_old = "Direct-to-controller communication is not supported with the current MetadataVersion."
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, too_old)
    reachable = [
        (controller.id, controller.listeners[context.listener])
        for controller in image.cluster.controllers.values()
        if context.listener in controller.listeners
    ]
    return DescribeClusterResponse(
        endpoint_type=CONTROLLER_ENDPOINT,
        cluster_id=cluster_id,
        controller_id=context.leader_id,
        brokers=tuple(DescribeClusterBroker(broker_id=i, host=it.host, port=it.port) for i, it in reachable),
        cluster_authorized_operations=ALL_OF_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED,
    )
