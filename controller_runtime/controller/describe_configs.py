"""DescribeConfigs: effective values of topics, groups and client metrics subscriptions, and the values set for nodes.

A node resource lists what is set dynamically or in this node's configuration file, not the hundreds of defaults
(docs/deviations.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.controller.errors import Refused
from controller_runtime.controller.topic_names import fault_of
from controller_runtime.metadata.broker_configs import OwnConfigs, base_name, specs
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.metadata.group_configs import CLIENT_CONFIGS, GROUP_CONFIGS
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topic_configs import ConfigSource, EffectiveConfig, Synonym, effective_configs, of_node
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


def describe_configs(image: MetadataImage, request: DescribeConfigsRequest, own: OwnConfigs) -> DescribeConfigsResponse:
    results = []
    for resource in request.resources:
        code, message = ErrorCode.NONE, ""
        found: tuple[DescribeConfigsResourceResult, ...] = ()
        try:
            found = tuple(_described(image, resource, own, synonyms=request.include_synonyms))
        except Refused as error:
            code, message = error.code, error.message or ""
        results.append(
            DescribeConfigsResult(
                error_code=code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=found,
            )
        )
    return DescribeConfigsResponse(results=tuple(results))


def _described(
    image: MetadataImage,
    resource: DescribeConfigsResource,
    own: OwnConfigs,
    *,
    synonyms: bool,
) -> Iterator[DescribeConfigsResourceResult]:
    if resource.resource_type == TOPIC:
        found = _topic(image, resource.resource_name, own, synonyms=synonyms)
    elif resource.resource_type == BROKER:
        found = _node(image, resource.resource_name, own)
    elif resource.resource_type == GROUP:
        found = _group(image, resource.resource_name, own, synonyms=synonyms)
    elif resource.resource_type == CLIENT_METRICS:
        found = _subscription(image, resource.resource_name, synonyms=synonyms)
    else:
        why = f"Unsupported resource type: {resource.resource_type}"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    keys = resource.configuration_keys
    return (result for result in found if not keys or result.name in keys)


def _topic(
    image: MetadataImage, name: str, own: OwnConfigs, *, synonyms: bool
) -> Iterator[DescribeConfigsResourceResult]:
    fault = fault_of(name)
    if fault is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    if name not in image.topics.ids:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    values = image.configs.of(TOPIC, name)
    for found in effective_configs(image.configs, values, own.node_id, own.file):
        yield _shown(found, synonyms=synonyms)


def _group(
    image: MetadataImage, name: str, own: OwnConfigs, *, synonyms: bool
) -> Iterator[DescribeConfigsResourceResult]:
    """A group need not exist to have configurations."""
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
    values = image.configs.of(GROUP, name)
    for config in GROUP_CONFIGS.values():
        found = [Synonym(config.name, values[config.name], ConfigSource.GROUP)] if config.name in values else []
        found += of_node(config, image.configs, own.node_id, own.file)
        found.append(Synonym((*config.broker_names, config.name)[0], config.default, ConfigSource.DEFAULT))
        yield _shown(EffectiveConfig(config, found[0].value, found[0].source, tuple(found)), synonyms=synonyms)


def _subscription(image: MetadataImage, name: str, *, synonyms: bool) -> Iterator[DescribeConfigsResourceResult]:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
    own = image.configs.of(CLIENT_METRICS, name)
    for config in CLIENT_CONFIGS.values():
        if config.name in own:
            set_here = Synonym(config.name, own[config.name], ConfigSource.CLIENT_METRICS)
            found = EffectiveConfig(config, set_here.value, set_here.source, (set_here,))
        else:
            found = EffectiveConfig(config, config.default, ConfigSource.DEFAULT, ())
        yield _shown(found, synonyms=synonyms)


def _shown(found: EffectiveConfig, *, synonyms: bool) -> DescribeConfigsResourceResult:
    shown = [DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source) for s in found.synonyms]
    return DescribeConfigsResourceResult(
        name=found.config.name,
        value=found.value,
        config_source=found.synonyms[0].source if found.synonyms else ConfigSource.DEFAULT,
        synonyms=tuple(shown) if synonyms else (),
        config_type=found.config.type,
        documentation=None,
    )


def _node(image: MetadataImage, name: str, own: OwnConfigs) -> Iterator[DescribeConfigsResourceResult]:
    """As Kafka, it shows no value of a name that it does not know: nobody can say whether that is a secret."""
    if name not in (ALL_BROKERS, str(own.node_id)):
        why = f"Unexpected broker id, expected {own.node_id} or empty string, but received {name}"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    layers = [(image.configs.of(BROKER, ALL_BROKERS), ConfigSource.DYNAMIC_DEFAULT_BROKER)]
    if name != ALL_BROKERS:
        layers.insert(0, (image.configs.of(BROKER, name), ConfigSource.DYNAMIC_BROKER))
        layers.append((own.file, ConfigSource.STATIC_BROKER))
    for key in sorted({key for values, _ in layers for key in values}):
        value, source = next((values[key], source) for values, source in layers if key in values)
        known = base_name(key) in specs() or own.rules.is_known(key)
        secret = not known or any(word in key for word in ("password", "secret", "jaas"))
        yield DescribeConfigsResourceResult(
            name=key,
            value=None if secret else value,
            read_only=base_name(key) not in specs(),
            config_source=source,
            is_sensitive=secret,
            documentation=None,
        )
