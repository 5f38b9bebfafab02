"""Changing dynamic configurations of topics and brokers, one by one (IncrementalAlterConfigs), and describing them.

Each resource is checked and answered on its own; all changes of one request are one atomic batch. A broker's values are recorded again
even when they did not change, because the broker reads files again then (as on a Java controller). With eligible leader replicas on,
min.insync.replicas is a matter of the whole cluster or of a topic, and changing it forgets the ELR (KIP-966).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from controller_runtime.controller.decision import Decision
from controller_runtime.controller.errors import Refused
from controller_runtime.controller.partition_changes import elr_enabled
from controller_runtime.controller.topic_names import fault_of
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topic_configs import (
    MAX_VALUE_LENGTH,
    InvalidConfig,
    check_broker_values,
    check_values,
    is_list,
)
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_NODE_LISTS: Final = frozenset(
    {"listeners", "advertised.listeners", "log.cleanup.policy", "metric.reporters", "cordoned.log.dirs"}
)
"""Broker configurations that can change at run time and are lists."""


def alter_configs(image: MetadataImage, request: IncrementalAlterConfigsRequest) -> Decision:
    repeated = _repeated(request.resources)
    responses: list[AlterConfigsResourceResponse] = []
    records: list[VersionedRecord] = []
    for resource in request.resources:
        key = (resource.resource_type, resource.resource_name)
        code, message = ErrorCode.NONE, None
        try:
            if key in repeated:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            records += _altered(image, resource)
        except Refused as error:
            code, message = error.code, error.message
        responses.append(
            AlterConfigsResourceResponse(
                error_code=code, error_message=message, resource_type=key[0], resource_name=key[1]
            )
        )
    response = IncrementalAlterConfigsResponse(responses=tuple(responses))
    return Decision(response, () if request.validate_only else tuple(records))


def _repeated(resources: tuple[AlterConfigsResource, ...]) -> set[tuple[int, str]]:
    if len(resources) < 2:
        return set()
    count = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    return {key for key, times in count.items() if times > 1}


def _altered(image: MetadataImage, resource: AlterConfigsResource) -> list[VersionedRecord]:
    _check_resource(resource.resource_type, resource.resource_name)
    kind, name = resource.resource_type, resource.resource_name
    values = dict(image.configs.of(kind, name))
    records: list[VersionedRecord] = []
    for config in resource.configs:
        _check_min_insync_replicas(image, kind, name, config)
        before = values.get(config.name)
        after = _new_value(kind, config, before)
        if after is not None and len(after) > MAX_VALUE_LENGTH:
            why = (
                "The configuration value cannot be added because it exceeds the maximum value size of "
                f"{MAX_VALUE_LENGTH} bytes."
            )
            raise Refused(ErrorCode.INVALID_CONFIG, why)
        if after != before or kind == BROKER:
            record = ConfigRecord(resource_type=kind, resource_name=name, name=config.name, value=after)
            records.append((record, 0))
            if config.name == MIN_INSYNC_REPLICAS and elr_enabled(image) and (kind == TOPIC or name == ALL_BROKERS):
                records.append((ClearElrRecord(topic_name=name if kind == TOPIC else ""), 0))
        if after is None:
            values.pop(config.name, None)
        else:
            values[config.name] = after
    _check_values(kind, values)
    _check_exists(image, kind, name)
    return records


def _new_value(kind: int, config: AlterableConfig, before: str | None) -> str | None:
    if config.config_operation == DELETE:
        return None
    if config.value is None:
        kind_name = "topic" if kind == TOPIC else "broker"
        raise Refused(ErrorCode.INVALID_CONFIG, f"Null value not supported for {kind_name} configs: {config.name}")
    if config.config_operation == SET:
        return config.value
    if config.config_operation not in (APPEND, SUBTRACT):
        unknown = f"Unknown operation type {config.config_operation}"
        raise Refused(ErrorCode.INVALID_REQUEST, unknown)
    verb = "append" if config.config_operation == APPEND else "subtract"
    if not (is_list(config.name) if kind == TOPIC else config.name in _NODE_LISTS):
        why = f"Can't {verb.upper()} to key {config.name} because its type is not LIST."
        raise Refused(ErrorCode.INVALID_CONFIG, why)
    items = [item for item in (before or "").split(",") if item]
    given = config.value.split(",")
    if config.config_operation == APPEND:
        return ",".join([*items, *(item for item in given if item not in items)])
    return ",".join(item for item in items if item not in given)


def _check_resource(kind: int, name: str) -> None:
    if kind == TOPIC:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        fault = fault_of(name)
        if fault is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    elif kind == BROKER:
        _check_broker_name(name)
    elif kind in (GROUP, CLIENT_METRICS):
        what = "groups" if kind == GROUP else "client metrics"
        raise Refused(ErrorCode.INVALID_REQUEST, f"Configurations of {what} are not supported yet by this runtime.")
    else:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}.")


def _check_broker_name(name: str) -> None:
    if name == ALL_BROKERS:
        return
    try:
        number = int(name)
    except ValueError:
        why = "Unable to parse broker name as a base 10 number."
        raise Refused(ErrorCode.INVALID_REQUEST, why) from None
    if number < 0:
        raise Refused(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")


def _check_exists(image: MetadataImage, kind: int, name: str) -> None:
    if kind == TOPIC and name not in image.topics.ids:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == BROKER and name != ALL_BROKERS:
        node = NodeId(int(name))
        if node not in image.cluster.brokers and node not in image.cluster.controllers:
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")


def _check_values(kind: int, values: dict[str, str]) -> None:
    """A broker checks its other values before it forwards them, as in Kafka; those that topics inherit must never be nonsense."""
    try:
        if kind == TOPIC:
            check_values(values)
        else:
            check_broker_values(values)
    except InvalidConfig as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from error


def _check_min_insync_replicas(image: MetadataImage, kind: int, name: str, config: AlterableConfig) -> None:
    if config.name != MIN_INSYNC_REPLICAS or kind != BROKER or not elr_enabled(image):
        return
    if name != ALL_BROKERS:
        why = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        raise Refused(ErrorCode.INVALID_CONFIG, why)
    if config.config_operation == DELETE:
        why = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        raise Refused(ErrorCode.INVALID_CONFIG, why)
