"""Finalized features: what nodes support and what is in force, and changing it. All of a request is granted, or
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller_runtime.admin.connections import Connections, Deadline, Unreachable, raise_if
from controller_runtime.admin.results import FeaturesDescription, FeatureUpdate
from controller_runtime.identifiers import Endpoint, NodeId
from controller_runtime.protocol.api_errors import error_for
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse

_QUESTION = ApiVersionsRequest(client_software_name="quorate", client_software_version="0.1.0")


async def describe(connections: Connections, node: Endpoint | NodeId | None, deadline: Deadline) -> FeaturesDescription:
    if node is None:
        found = await connections.ask_any(_QUESTION, ApiVersionsResponse, deadline)
    else:
        endpoint = node if isinstance(node, Endpoint) else await _address(connections, node, deadline)
        found = await connections.ask_at(endpoint, _QUESTION, ApiVersionsResponse, deadline.left)
    raise_if(found.error_code)
    return FeaturesDescription(
        supported={one.name: (one.min_version, one.max_version) for one in found.supported_features},
        finalized={one.name: one.max_version_level for one in found.finalized_features},
        finalized_epoch=found.finalized_features_epoch,
        api_versions={one.api_key: (one.min_version, one.max_version) for one in found.api_keys},
    )


async def _address(connections: Connections, node: NodeId, deadline: Deadline) -> Endpoint:
    """Waits until the cluster knows this node, as Kafka's client does."""
    while True:
        seen = await connections.describe_cluster(deadline, include_fenced=True)
        for one in seen.nodes:
            if one.node_id == node:
                return one.endpoint
        if not await deadline.pause():
            raise Unreachable(
                "ApiVersionsRequest: Timed out waiting for a node assignment", [f"no node {node} is known"]
            )


async def update(
    connections: Connections, updates: Sequence[FeatureUpdate], deadline: Deadline, *, validate_only: bool
) -> None:
    """Raises ApiError when nothing was changed; in a reply of versions 0 and 1 the first feature's error speaks for
    all.
    """
    request = UpdateFeaturesRequest(
        timeout_ms=int(deadline.left * 1000),
        feature_updates=tuple(
            FeatureUpdateKey(feature=one.feature, max_version_level=one.level, upgrade_type=one.kind) for one in updates
        ),
        validate_only=validate_only,
    )
    found = await connections.ask_controller(
        request, UpdateFeaturesResponse, lambda one: one.error_code, deadline, attempt_seconds=deadline.left
    )
    raise_if(found.error_code, found.error_message)
    for result in found.results:
        if error := error_for(result.error_code, result.error_message):
            raise error
