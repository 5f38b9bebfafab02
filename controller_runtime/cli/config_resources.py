"""Configurations of topics, brokers, groups, client metrics and loggers.

What concerns one broker is asked of that broker, because only it knows what it runs with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient, NotSupported
from controller_runtime.admin.connections import EndpointKind, raise_if
from controller_runtime.answers.topic_names import fault_of
from controller_runtime.cli.admin_tools import Failed
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.protocol.api_errors import error_for
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from controller_runtime.protocol.messages.list_config_resources_response import ListConfigResourcesResponse
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.list_groups_response import ListGroupsResponse

KINDS: Final = {
    "topics": TOPIC,
    "brokers": BROKER,
    "broker-loggers": BROKER_LOGGER,
    "client-metrics": CLIENT_METRICS,
    "groups": GROUP,
}
SOURCES: Final = (
    "UNKNOWN", "DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "STATIC_BROKER_CONFIG", "DEFAULT_CONFIG", "DYNAMIC_BROKER_LOGGER_CONFIG", "DYNAMIC_CLIENT_METRICS_CONFIG",
    "DYNAMIC_GROUP_CONFIG",
)  # fmt: skip
_DYNAMIC: Final = {"topics": 1, "brokers": 2, "client-metrics": 7, "groups": 8}
_BROKERS_DEFAULT: Final = 3
_SET: Final = 0
_DELETE: Final = 1

Entry = DescribeConfigsResourceResult


def source_of(kind: str, name: str) -> int | None:
    """The source of what is set for this entity; None: all of them are (loggers)."""
    return _BROKERS_DEFAULT if kind == "brokers" and not name else _DYNAMIC.get(kind)


async def describe(
    admin: AdminClient, kind: str, name: str, *, synonyms: bool = True, everything: bool = False
) -> list[Entry]:
    """By name. Raises ApiError."""
    asked = DescribeConfigsResource(resource_type=KINDS[kind], resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=(asked,), include_synonyms=synonyms)
    found = await admin.ask(request, DescribeConfigsResponse, node=_node(kind, name))
    for one in found.results:
        raise_if(one.error_code, one.error_message)
    wanted = None if everything else source_of(kind, name)
    entries = [each for one in found.results for each in one.configs if wanted in (None, each.config_source)]
    return sorted(entries, key=lambda each: each.name)


async def alter(admin: AdminClient, kind: str, name: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Raises ApiError."""
    configs = [AlterableConfig(name=each, config_operation=_SET, value=value) for each, value in added.items()]
    configs += [AlterableConfig(name=each, config_operation=_DELETE, value="") for each in deleted]
    resource = AlterConfigsResource(resource_type=KINDS[kind], resource_name=name, configs=tuple(configs))
    request = IncrementalAlterConfigsRequest(resources=(resource,))
    node = _node(kind, name)
    if kind == "brokers" and admin.kind is EndpointKind.CONTROLLER:
        node = None
    if node is not None:
        found = await admin.ask(request, IncrementalAlterConfigsResponse, node=node)
    else:
        found = await admin.ask(request, IncrementalAlterConfigsResponse, code_of=_moved)
    for one in found.responses:
        raise_if(one.error_code, one.error_message)


async def names(admin: AdminClient, kind: str) -> list[str]:
    """Every entity of this kind that there is; for brokers, the default comes last, without a name."""
    match kind:
        case "topics":
            return list(await admin.list_topics())
        case "brokers" | "broker-loggers":
            return [*(str(one.node_id) for one in (await admin.describe_cluster()).nodes), ""]
        case "client-metrics":
            return await listed(admin, CLIENT_METRICS)
        case "groups":
            return list(dict.fromkeys([*await _groups(admin), *await listed(admin, GROUP)]))
        case _:
            raise Failed(f"Invalid entity type: {kind}")


async def is_known(admin: AdminClient, kind: str, name: str) -> bool:
    """Whether there is such an entity, or something is set for its name. Raises Failed for no topic's name."""
    if kind == "topics" and (why := fault_of(name)) is not None:
        raise Failed(why)
    if name in await names(admin, kind):
        return True
    try:
        return name in await listed(admin, KINDS[kind])
    except NotSupported:
        return False


async def listed(admin: AdminClient, resource_type: int) -> list[str]:
    request = ListConfigResourcesRequest(resource_types=(resource_type,))
    found = await admin.ask(request, ListConfigResourcesResponse)
    raise_if(found.error_code)
    return [one.resource_name for one in found.config_resources if one.resource_type == resource_type]


async def _groups(admin: AdminClient) -> list[str]:
    """As far as brokers have groups."""
    found: list[str] = []
    for node in (await admin.describe_cluster()).nodes:
        try:
            answer = await admin.ask(ListGroupsRequest(), ListGroupsResponse, node=node.node_id)
        except NotSupported:
            continue
        error = error_for(answer.error_code)
        if error is not None and error.code is not ErrorCode.COORDINATOR_NOT_AVAILABLE:
            raise error
        found += [one.group_id for one in answer.groups]
    return found


def _node(kind: str, name: str) -> NodeId | None:
    if kind not in {"brokers", "broker-loggers"} or not name:
        return None
    if not name.lstrip("+-").isdigit():
        raise Failed(f"The entity name for {kind} must be a valid integer broker id, found: {name}")
    return NodeId(int(name))


def _moved(answer: IncrementalAlterConfigsResponse) -> int:
    codes = {one.error_code for one in answer.responses}
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in codes else ErrorCode.NONE
