"""Configurations of topics, brokers and the rest: read, change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller_runtime.admin.connections import Connections, Deadline
from controller_runtime.admin.results import ConfigChange, ConfigEntry, ConfigResource
from controller_runtime.protocol.api_errors import ApiError, error_for
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse


async def describe(
    connections: Connections, resources: Sequence[ConfigResource], keys: Sequence[str] | None, deadline: Deadline
) -> Mapping[ConfigResource, tuple[ConfigEntry, ...] | ApiError]:
    request = DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(
                resource_type=one.kind,
                resource_name=one.name,
                configuration_keys=None if keys is None else tuple(keys),
            )
            for one in resources
        )
    )
    found = await connections.ask_any(request, DescribeConfigsResponse, deadline)
    return {
        ConfigResource(one.resource_type, one.resource_name): error_for(one.error_code, one.error_message)
        or tuple(
            ConfigEntry(each.name, each.value, each.config_source, each.is_sensitive, each.read_only)
            for each in one.configs
        )
        for one in found.results
    }


async def alter(
    connections: Connections,
    changes: Mapping[ConfigResource, Sequence[ConfigChange]],
    deadline: Deadline,
    *,
    validate_only: bool,
) -> Mapping[ConfigResource, ApiError | None]:
    request = IncrementalAlterConfigsRequest(
        resources=tuple(
            AlterConfigsResource(
                resource_type=resource.kind,
                resource_name=resource.name,
                configs=tuple(
                    AlterableConfig(name=one.name, config_operation=one.operation, value=one.value) for one in wanted
                ),
            )
            for resource, wanted in changes.items()
        ),
        validate_only=validate_only,
    )
    found = await connections.ask_controller(request, IncrementalAlterConfigsResponse, _moved, deadline)
    return {
        ConfigResource(one.resource_type, one.resource_name): error_for(one.error_code, one.error_message)
        for one in found.responses
    }


def _moved(answer: IncrementalAlterConfigsResponse) -> int:
    codes = {one.error_code for one in answer.responses}
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in codes else ErrorCode.NONE
