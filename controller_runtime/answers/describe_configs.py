"""DescribeConfigs: effective values of topics, groups, client metrics subscriptions, this node (`node_configs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final, NoReturn

from controller_runtime.answers.node_configs import NodeConfig, of_all_nodes, of_this_node
from controller_runtime.answers.refused import Refused
from controller_runtime.answers.topic_names import fault_of
from controller_runtime.metadata.broker_configs import OwnConfigs, node_id_of
from controller_runtime.metadata.config_values import shown
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.metadata.group_configs import CLIENT_CONFIGS, GROUP_CONFIGS
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topic_configs import ConfigSource, EffectiveConfig, Synonym, effective_configs, of_node
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from controller_runtime.protocol.schema import Shared
from controller_runtime.values import replace

_TYPES: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
MAX_OF_NODES: Final = 5
"""So many descriptions of nodes one answer has: each has 340 names, and there is one node here."""
MAX_DOCUMENTED: Final = 1_000
"""More resources are described without documentation: a topic's has 11 KB."""
_ALIKE: Final = (TOPIC,)
"""Those that set nothing themselves have all the same, with its bytes: a description would otherwise cost half a
millisecond, and its answer 2 KB.
"""
_Shown = Shared[DescribeConfigsResourceResult]
_Asked = tuple[int, tuple[str, ...]]
"""A type of resource, and the names that are wanted of it."""
_TOO_MANY: Final = Refused(
    ErrorCode.INVALID_REQUEST, f"Ask again for this one: one answer describes at most {MAX_OF_NODES} nodes."
)
_MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)


def describe_configs(
    image: MetadataImage, request: DescribeConfigsRequest, own: OwnConfigs
) -> InPieces[NoReturn, DescribeConfigsResponse]:
    """A type of resource that Kafka does not have spoils the whole request."""
    if not all(resource.resource_type in _TYPES for resource in request.resources):
        malformed = Refused(ErrorCode.INVALID_REQUEST, _MALFORMED)
        return DescribeConfigsResponse(results=tuple(_result(resource, malformed) for resource in request.resources))
    if len(request.resources) > MAX_DOCUMENTED:
        request = replace(request, include_documentation=False)
    of_nodes = count()
    results: list[DescribeConfigsResult] = []
    alike: dict[_Asked, _Shown] = {}
    for resource in request.resources:
        if resource.resource_type in (BROKER, BROKER_LOGGER) and next(of_nodes) >= MAX_OF_NODES:
            results.append(_result(resource, _TOO_MANY))
            yield None
        else:
            results.append((yield from _described(image, request, resource, own, alike)))
    return DescribeConfigsResponse(results=tuple(results))


def _described(
    image: MetadataImage,
    request: DescribeConfigsRequest,
    resource: DescribeConfigsResource,
    own: OwnConfigs,
    alike: dict[_Asked, _Shown],
) -> InPieces[NoReturn, DescribeConfigsResult]:
    """`alike`: what was found of those that set nothing themselves."""
    keys, kind = resource.configuration_keys, resource.resource_type
    asked = None if image.configs.of(kind, resource.resource_name) else (kind, tuple(keys or ()))
    is_alike = asked is not None and kind in _ALIKE
    found: list[DescribeConfigsResourceResult] = []
    yield None
    try:
        values = _found(image, resource, own)
        if is_alike and asked in alike:
            return replace(_result(resource), configs=alike[asked])
        for each in values:
            if not keys or each.name in keys:
                found.append(each)
            yield None
    except Refused as error:
        return _result(resource, error)
    text = _documentation(kind, own) if request.include_documentation and found else _nothing
    told = Shared(
        replace(each, synonyms=each.synonyms if request.include_synonyms else (), documentation=text(each.name))
        for each in found
    )
    if is_alike and asked is not None:
        alike[asked] = told
    return replace(_result(resource), configs=told)


def _documentation(kind: int, own: OwnConfigs) -> Callable[[str], str | None]:
    return (lambda _: "") if kind == BROKER_LOGGER else own.rules.documentation(kind).get


def _nothing(_: str) -> str | None:
    return None


def _result(resource: DescribeConfigsResource, error: Refused | None = None) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message="" if error is None else error.message or "",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _found(
    image: MetadataImage, resource: DescribeConfigsResource, own: OwnConfigs
) -> Iterator[DescribeConfigsResourceResult]:
    name = resource.resource_name
    match resource.resource_type:
        case 2:
            return map(_shown, _topic(image, name, own))
        case 4:
            return map(_shown_of_node, _node(image, name, own))
        case 8:
            return _loggers(name, own)
        case 16:
            return map(_shown, _subscription(image, name))
        case _:
            return map(_shown, _group(image, name, own))


def _topic(image: MetadataImage, name: str, own: OwnConfigs) -> Iterator[EffectiveConfig]:
    fault = fault_of(name)
    if fault is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    if name not in image.topics.ids:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    return effective_configs(image.configs, image.configs.of(TOPIC, name), own.node_id, own.file)


def _group(image: MetadataImage, name: str, own: OwnConfigs) -> Iterator[EffectiveConfig]:
    """A group need not exist to have configurations."""
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
    values = image.configs.of(GROUP, name)
    for config in GROUP_CONFIGS.values():
        found = [Synonym(config.name, values[config.name], ConfigSource.GROUP)] if config.name in values else []
        found += of_node(config, image.configs, own.node_id, own.file)
        found.append(Synonym((*config.broker_names, config.name)[0], config.default, ConfigSource.DEFAULT))
        yield EffectiveConfig(config, found[0].value, found[0].source, tuple(found))


def _subscription(image: MetadataImage, name: str) -> Iterator[EffectiveConfig]:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
    own = image.configs.of(CLIENT_METRICS, name)
    for config in CLIENT_CONFIGS.values():
        if config.name in own:
            set_here = Synonym(config.name, own[config.name], ConfigSource.CLIENT_METRICS)
            yield EffectiveConfig(config, set_here.value, set_here.source, (set_here,))
        else:
            yield EffectiveConfig(config, config.default, ConfigSource.DEFAULT, ())


def _node(image: MetadataImage, name: str, own: OwnConfigs) -> Iterator[NodeConfig]:
    if name == ALL_BROKERS:
        return of_all_nodes(image.configs, own)
    _check_is_this_node(name, own, f"{own.node_id} or empty string,")
    return of_this_node(image.configs, own)


def _loggers(name: str, own: OwnConfigs) -> Iterator[DescribeConfigsResourceResult]:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    _check_is_this_node(name, own, str(own.node_id))
    for logger, level in sorted(own.rules.loggers().items()):
        yield DescribeConfigsResourceResult(name=logger, value=level, config_source=ConfigSource.DYNAMIC_BROKER_LOGGER)


def _check_is_this_node(name: str, own: OwnConfigs, expected: str) -> None:
    number = node_id_of(name)
    if number is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {shown(name)}")
    if number != own.node_id:
        why = f"Unexpected broker id, expected {expected} but received {shown(name)}"
        raise Refused(ErrorCode.INVALID_REQUEST, why)


def _shown(found: EffectiveConfig) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=found.config.name,
        value=found.value,
        config_source=found.synonyms[0].source if found.synonyms else ConfigSource.DEFAULT,
        synonyms=tuple(DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source) for s in found.synonyms),
        config_type=found.config.type,
    )


def _shown_of_node(found: NodeConfig) -> DescribeConfigsResourceResult:
    secret = found.is_sensitive
    return DescribeConfigsResourceResult(
        name=found.name,
        value=None if secret else found.value,
        read_only=found.is_read_only,
        config_source=found.synonyms[0].source if found.synonyms else ConfigSource.DEFAULT,
        is_sensitive=secret,
        synonyms=tuple(
            DescribeConfigsSynonym(name=s.name, value=None if secret else s.value, source=s.source)
            for s in found.synonyms
        ),
        config_type=0 if found.type is None else found.type,
    )
