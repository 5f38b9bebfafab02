"""Changing dynamic configurations one by one (IncrementalAlterConfigs) or all of a resource (AlterConfigs): of topics,
nodes, groups and client metrics subscriptions.

Each resource is checked and answered on its own; all changes of one request are one atomic batch. A broker's values are
recorded again even when they did not change, because the broker reads files again then. As Kafka's controller, this one
does not judge values of brokers: the broker that forwards a change has done so (`forwarded_configs`), and others may
know names that we do not. What weakens security or durability without effect on this very node is refused when it is
asked directly. With eligible leader replicas on, min.insync.replicas is a matter of the whole cluster or of a topic,
and changing it forgets the ELR (KIP-966).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from controller_runtime.answers.config_changes import (
    DELETE,
    MAX_NAME_LENGTH,
    Request,
    Resource,
    ResourceResponse,
    answer_to,
    changes_of,
    new_value,
    response_to,
)
from controller_runtime.answers.loggers import changed_levels
from controller_runtime.answers.refused import Refused
from controller_runtime.answers.topic_names import fault_of
from controller_runtime.controller.decision import Decision
from controller_runtime.controller.partition_changes import elr_enabled
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.broker_config_specs import specs
from controller_runtime.metadata.broker_configs import OwnConfigs, node_id_of, refuse_names
from controller_runtime.metadata.config_values import ConfigSpec, InvalidConfig, items_of
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.group_configs import (
    InvalidSubscription,
    check_group,
    check_subscription,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS, check_values
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
_CORDONED: Final = "cordoned.log.dirs"
MAX_RECORDS: Final = 10_000
"""Kafka's bound for the records of one request."""
_NO_SPECS: Final[Mapping[str, ConfigSpec]] = {}


def alter_configs(image: MetadataImage, request: Request, own: OwnConfigs, *, forwarded: bool = False) -> Decision:
    """`forwarded`: a broker passes it on, and has judged what concerns itself."""
    resources: Sequence[Resource] = request.resources
    repeated = _repeated(resources) if len(resources) > 1 else set()
    refused: set[tuple[int, str]] = set()
    responses: list[ResourceResponse] = []
    records: list[VersionedRecord] = []
    for resource in resources:
        try:
            if repeated and (key := _key(resource)) in repeated:
                if key in refused:
                    continue  # it is answered once
                refused.add(key)
                raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate resource.")
            records += _altered(image, resource, own, forwarded=forwarded)
        except Refused as error:
            responses.append(answer_to(resource, error))
        else:
            responses.append(answer_to(resource))
    if len(records) > MAX_RECORDS:
        too_many = Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
        responses, records = [answer_to(resource, too_many) for resource in resources], []
    return Decision(response_to(request, responses), () if request.validate_only else tuple(records))


def _repeated(resources: Iterable[Resource]) -> set[tuple[int, str]]:
    """What is named more than once. A logger's node may be."""
    counts = Counter(_key(resource) for resource in resources if resource.resource_type != BROKER_LOGGER)
    return {key for key, times in counts.items() if times > 1}


def _key(resource: Resource) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _altered(image: MetadataImage, resource: Resource, own: OwnConfigs, *, forwarded: bool) -> list[VersionedRecord]:
    kind, name = resource.resource_type, resource.resource_name
    if kind == BROKER_LOGGER:
        if not isinstance(resource, AlterConfigsResource):
            raise Refused(ErrorCode.INVALID_REQUEST, "Unexpected resource type BROKER_LOGGER.")
        changed_levels(resource, own)
        return []
    _check_resource(kind, name)
    values = dict(image.configs.of(kind, name))
    records: list[VersionedRecord] = []
    for config in changes_of(resource, values):
        _check_min_insync_replicas(image, kind, name, config)
        before = values.get(config.name)
        after = new_value(config, before, _specs(kind).get(config.name))
        if kind == BROKER and not forwarded:
            _check_asked_directly(name, config.name, before, after, own)
        if after != before or kind == BROKER:
            record = ConfigRecord(resource_type=kind, resource_name=name, name=config.name, value=after)
            records.append((record, 0))
            if config.name == MIN_INSYNC_REPLICAS and elr_enabled(image):  # of a topic or of all brokers
                records.append((ClearElrRecord(topic_name=name if kind == TOPIC else ""), 0))
        if after is None:
            values.pop(config.name, None)
        else:
            values[config.name] = after
    _check_values(kind, values, own.file)
    _check_exists(image, kind, name)
    return records


def _specs(kind: int) -> Mapping[str, ConfigSpec]:
    """Kafka's controller adds to lists of topics and brokers only."""
    match kind:
        case 2:
            return TOPIC_CONFIGS
        case 4:
            return specs()
        case _:
            return _NO_SPECS


def _check_asked_directly(name: str, config: str, before: str | None, after: str | None, own: OwnConfigs) -> None:
    if config == _CORDONED and not set(items_of(after or "")) <= set(items_of(before or "")):
        why = (
            f"When updating {_CORDONED} via controllers,  the new value must be a subset of the current configuration "
            "value."
        )
        raise Refused(ErrorCode.INVALID_CONFIG, why)
    if after is not None and (name == ALL_BROKERS or own.is_named(name)):
        try:
            refuse_names({config: after}, own.rules)
        except InvalidConfig as error:
            raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from error


def _check_resource(kind: int, name: str) -> None:
    if len(name) > MAX_NAME_LENGTH:
        raise Refused(ErrorCode.INVALID_REQUEST, f"The resource's name is longer than {MAX_NAME_LENGTH} characters.")
    if kind == TOPIC:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        fault = fault_of(name)
        if fault is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    elif kind == BROKER:
        _check_broker_name(name)
    elif kind == GROUP:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    elif kind == CLIENT_METRICS:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    else:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource type {kind}.")


def _check_broker_name(name: str) -> None:
    if name == ALL_BROKERS:
        return
    number = node_id_of(name)
    if number is None:
        raise Refused(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.")
    if number < 0:
        raise Refused(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")


def _check_exists(image: MetadataImage, kind: int, name: str) -> None:
    if kind == TOPIC and name not in image.topics.ids:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == BROKER and name != ALL_BROKERS:
        node = NodeId(int(name))
        if node not in image.cluster.brokers and node not in image.cluster.controllers:
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")


def _check_values(kind: int, values: dict[str, str], file: Mapping[str, str]) -> None:
    try:
        if kind == TOPIC:
            check_values(values)
        elif kind == GROUP:
            check_group(values, file)
        elif kind == CLIENT_METRICS:
            check_subscription(values)
    except InvalidSubscription as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from error
    except InvalidConfig as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from error


def _check_min_insync_replicas(image: MetadataImage, kind: int, name: str, config: AlterableConfig) -> None:
    if config.name != MIN_INSYNC_REPLICAS or kind != BROKER or not elr_enabled(image):
        return
    if name != ALL_BROKERS:
        why = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        raise Refused(ErrorCode.INVALID_CONFIG, why)
    if config.config_operation == DELETE or config.value is None:
        why = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        raise Refused(ErrorCode.INVALID_CONFIG, why)
