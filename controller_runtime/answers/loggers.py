"""Levels of loggers (BROKER_LOGGER): never recorded, changed at once on the node that is asked, broker or controller,
leading or not (KIP-412, KIP-919).

Which loggers a node has and what their levels are says its program (`NodeRules.loggers`); what is decided here is
performed by the shell (`SetLogLevels`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.answers.config_changes import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    ResourceResponse,
    Response,
    answer_to,
    check_is_this_node,
    response_to,
)
from controller_runtime.answers.refused import Refused
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.metadata.config_values import shown
from controller_runtime.metadata.configs import BROKER_LOGGER
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

ROOT: Final = "root"
_LEVELS: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
_VERBS: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}

Levels = Mapping[str, str | None]
"""By the logger's name; None: what the logger above it has."""


def changed_levels(resource: AlterConfigsResource, own: OwnConfigs) -> Levels:
    """Raise Refused unless all of it may be done."""
    check_is_this_node(resource.resource_name, own.node_id, "Unexpected node id. Expected")
    known = own.rules.loggers()
    for config in resource.configs:
        _check(config, known)
    return {config.name: config.value if config.config_operation == SET else None for config in resource.configs}


def levels_asked(request: IncrementalAlterConfigsRequest, own: OwnConfigs) -> Levels:
    """What becomes of the levels of this node; what is refused is left out."""
    levels: dict[str, str | None] = {}
    for resource in () if request.validate_only else request.resources:
        if resource.resource_type == BROKER_LOGGER:
            try:
                levels.update(changed_levels(resource, own))
            except Refused:
                continue
    return levels


def answer_about_loggers(request: IncrementalAlterConfigsRequest, own: OwnConfigs) -> Response | None:
    """None when anything else is asked, too."""
    if not request.resources or any(resource.resource_type != BROKER_LOGGER for resource in request.resources):
        return None
    return response_to(request, [_answer(resource, own) for resource in request.resources])


def _answer(resource: AlterConfigsResource, own: OwnConfigs) -> ResourceResponse:
    try:
        changed_levels(resource, own)
    except Refused as error:
        return answer_to(resource, error)
    return answer_to(resource)


def _check(config: AlterableConfig, known: Mapping[str, str]) -> None:
    name, operation = config.name, config.config_operation
    if operation in _VERBS:
        why = f"{_VERBS[operation]} operation is not allowed for the BROKER_LOGGER resource"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    if operation not in (SET, DELETE):
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {operation}")
    if name not in known:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Logger {shown(name)} does not exist!")
    if operation == DELETE:
        if name == ROOT:
            raise Refused(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
    elif config.value is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {shown(name)}")
    elif config.value not in _LEVELS:
        why = (
            f"Cannot set the log level of {shown(name)} to {shown(config.value)} as it is not a supported log level. "
            f"Valid log levels are {', '.join(_LEVELS)}"
        )
        raise Refused(ErrorCode.INVALID_CONFIG, why)
