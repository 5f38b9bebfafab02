"""ListConfigResources: whose configurations there are (version 0: client metrics subscriptions alone).

Of groups and subscriptions those that have some; of topics and brokers all. Brokers are those that clients could ask
through the listener that was asked, fenced ones too, and each has loggers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller_runtime.broker.cluster_view import View
from controller_runtime.metadata.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.metadata.sharded import ShardedMap
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from controller_runtime.protocol.messages.list_config_resources_response import (
    ConfigResource,
    ListConfigResourcesResponse,
)

_TYPES: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)


def list_config_resources(view: View, request: ListConfigResourcesRequest, version: int) -> ListConfigResourcesResponse:
    wanted = (CLIENT_METRICS,) if version == 0 else request.resource_types or _TYPES
    if not set(wanted) <= set(_TYPES):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    found = (
        ConfigResource(resource_name=name, resource_type=kind) for kind in _TYPES if kind in wanted
        for name in _names(view, kind)
    )  # fmt: skip
    return ListConfigResourcesResponse(config_resources=tuple(found))


def _names(view: View, kind: int) -> Iterable[str]:
    if kind == TOPIC:
        return view.image.topics.ids
    if kind in (BROKER, BROKER_LOGGER):
        brokers = view.image.cluster.brokers.values()
        return (str(broker.id) for broker in brokers if view.listener in broker.listeners)
    return view.image.configs.by_type.get(kind, ShardedMap())
