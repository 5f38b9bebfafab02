"""What broker and controller judge alike of IncrementalAlterConfigs and AlterConfigs: one change, and whose resource it
is.

AlterConfigs, the older request, says all that a resource is to have: it is judged as the changes that this needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from controller_runtime.answers.refused import Refused
from controller_runtime.metadata.broker_configs import node_id_of
from controller_runtime.metadata.config_values import ConfigSpec, ConfigType, shown
from controller_runtime.metadata.topic_configs import MAX_VALUE_LENGTH
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import (
    alter_configs_request,
    alter_configs_response,
    incremental_alter_configs_request,
    incremental_alter_configs_response,
)
from controller_runtime.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from controller_runtime.values import replace

Request = incremental_alter_configs_request.IncrementalAlterConfigsRequest | alter_configs_request.AlterConfigsRequest
Resource = AlterConfigsResource | alter_configs_request.AlterConfigsResource
Response = (
    incremental_alter_configs_response.IncrementalAlterConfigsResponse | alter_configs_response.AlterConfigsResponse
)
ResourceResponse = (
    incremental_alter_configs_response.AlterConfigsResourceResponse
    | alter_configs_response.AlterConfigsResourceResponse
)

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
MAX_NAME_LENGTH: Final = 32_767
"""Of a configuration or a resource: what Kafka can read."""


def answer_to(resource: Resource, error: Refused | None = None) -> ResourceResponse:
    kind = (
        incremental_alter_configs_response.AlterConfigsResourceResponse
        if isinstance(resource, AlterConfigsResource)
        else alter_configs_response.AlterConfigsResourceResponse
    )
    return kind(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def resources_of(request: Request) -> Sequence[Resource]:
    return request.resources


def request_of(request: Request, resources: Sequence[Resource]) -> Request:
    """The same about some of its resources."""
    if isinstance(request, alter_configs_request.AlterConfigsRequest):
        legacy = tuple(it for it in resources if isinstance(it, alter_configs_request.AlterConfigsResource))
        return replace(request, resources=legacy)
    return replace(request, resources=tuple(it for it in resources if isinstance(it, AlterConfigsResource)))


def response_to(request: Request, answers: Iterable[ResourceResponse], throttle_ms: int = 0) -> Response:
    """`answers` as `answer_to` made them of the request's own resources."""
    found: Any = tuple(answers)
    if isinstance(request, alter_configs_request.AlterConfigsRequest):
        return alter_configs_response.AlterConfigsResponse(throttle_time_ms=throttle_ms, responses=found)
    return incremental_alter_configs_response.IncrementalAlterConfigsResponse(
        throttle_time_ms=throttle_ms, responses=found
    )


def changes_of(resource: Resource, values: Mapping[str, str]) -> Sequence[AlterableConfig]:
    """What has to be changed of these values, the last of each name; what AlterConfigs does not name goes, after the
    rest.
    """
    if isinstance(resource, AlterConfigsResource):
        changes = resource.configs
        return changes if len(changes) == 1 else tuple({config.name: config for config in changes}.values())
    given = {config.name: config.value for config in resource.configs}
    wanted = [AlterableConfig(name=name, config_operation=SET, value=value) for name, value in given.items()]
    return wanted + [AlterableConfig(name=name, config_operation=DELETE) for name in values if name not in given]


def new_value(config: AlterableConfig, before: str | None, spec: ConfigSpec | None) -> str | None:
    """What a configuration is after a change; nothing when it is removed. Lists begin with their default."""
    if len(config.name) > MAX_NAME_LENGTH:
        raise Refused(
            ErrorCode.INVALID_CONFIG, f"The configuration's name is longer than {MAX_NAME_LENGTH} characters."
        )
    if config.config_operation == DELETE:
        return None
    if config.config_operation not in (SET, APPEND, SUBTRACT):
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {config.config_operation}")
    after = config.value if config.config_operation == SET else _new_list(config, before, spec)
    if after is not None and len(after) > MAX_VALUE_LENGTH:
        why = (
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{MAX_VALUE_LENGTH} bytes."
        )
        raise Refused(ErrorCode.INVALID_CONFIG, why)
    return after


def _new_list(config: AlterableConfig, before: str | None, spec: ConfigSpec | None) -> str:
    if spec is None or spec.type is not ConfigType.LIST:
        verb = "APPEND" if config.config_operation == APPEND else "SUBTRACT"
        why = f"Can't {verb} to key {shown(config.name)} because its type is not LIST."
        raise Refused(ErrorCode.INVALID_CONFIG, why)
    if config.value is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {shown(config.name)}")
    items = dict.fromkeys(item for item in (spec.default if before is None else before).split(",") if item)
    for item in config.value.split(","):
        if config.config_operation == APPEND:
            items[item] = None
        else:
            items.pop(item, None)
    return ",".join(items)


def check_is_this_node(name: str, node_id: int, unexpected: str) -> None:
    number = node_id_of(name)
    if number is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {shown(name)}")
    if number != node_id:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{unexpected} {node_id}, but received {name}")
