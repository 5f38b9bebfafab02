"""What a broker checks of IncrementalAlterConfigs and AlterConfigs before a controller sees them, in Kafka's order and
words.

A broker judges the shape of every resource, and changes of its own configurations and of those of all brokers: it knows
which names can change while it runs, what their values may be, and which would be without effect on it
(`OwnConfigs.rules`). What is refused here is answered here; the rest is forwarded, and both answers become one.
"""

from __future__ import annotations

from collections import Counter

from controller_runtime.answers.config_changes import (
    DELETE,
    Request,
    Resource,
    ResourceResponse,
    Response,
    answer_to,
    changes_of,
    check_is_this_node,
    new_value,
    request_of,
    resources_of,
    response_to,
)
from controller_runtime.answers.loggers import Levels, changed_levels
from controller_runtime.answers.refused import Refused
from controller_runtime.metadata.broker_config_specs import specs
from controller_runtime.metadata.broker_configs import OwnConfigs, check_change, refuse_names, refuse_stores
from controller_runtime.metadata.config_values import ConfigType, InvalidConfig, shown
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

_VERBS = {2: "append", 3: "subtract"}


@dataclass(frozen=True, slots=True)
class Judged:
    """A request of which some resources may be answered already, each by its place in the request."""

    request: Request
    answered: dict[int, ResourceResponse]
    levels: Levels
    """Of loggers, to be changed at once."""

    @property
    def rest(self) -> Request | None:
        """What the controller has to be asked; nothing when all is answered."""
        left = [one for place, one in enumerate(resources_of(self.request)) if place not in self.answered]
        return request_of(self.request, left) if left else None

    def answer(self, of_controller: Message | None = None) -> Response:
        """In the order of the request. Whatever the controller did not speak of failed."""
        said: dict[tuple[int, str], ResourceResponse] = {}
        throttle_ms = 0
        if isinstance(of_controller, Response):
            said = {(one.resource_type, one.resource_name): one for one in of_controller.responses}
            throttle_ms = of_controller.throttle_time_ms
        silent = Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "The controller did not answer for this resource.")
        found = (
            self.answered.get(place) or said.get((one.resource_type, one.resource_name)) or answer_to(one, silent)
            for place, one in enumerate(resources_of(self.request))
        )
        return response_to(self.request, found, throttle_ms)


def judge(image: MetadataImage, request: Request, own: OwnConfigs) -> Judged:
    resources = resources_of(request)
    count = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    answered: dict[int, ResourceResponse] = {}
    levels: dict[str, str | None] = {}
    for place, resource in enumerate(resources):
        try:
            if count[(resource.resource_type, resource.resource_name)] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            _check_form(resource)
            if resource.resource_type == BROKER_LOGGER and isinstance(resource, AlterConfigsResource):
                levels.update(changed_levels(resource, own))
                answered[place] = answer_to(resource)
            else:
                _check(image, resource, own)
        except Refused as error:
            answered[place] = answer_to(resource, error)
    return Judged(request, answered, {} if request.validate_only else levels)


def _check_form(resource: Resource) -> None:
    if len({config.name for config in resource.configs}) < len(resource.configs):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nothing = [config.name for config in resource.configs if config.value is None and not _deletes(config)]
    if nothing:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {shown(', '.join(nothing))}")


def _deletes(config: object) -> bool:
    return isinstance(config, AlterableConfig) and config.config_operation == DELETE


def _check(image: MetadataImage, resource: Resource, own: OwnConfigs) -> None:
    kind = resource.resource_type
    if kind == BROKER:
        if resource.resource_name != ALL_BROKERS:
            check_is_this_node(resource.resource_name, own.node_id, "Unexpected broker id, expected")
        _check_broker(image, resource, own)
    elif kind not in (TOPIC, CLIENT_METRICS, GROUP):
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


def _check_broker(image: MetadataImage, resource: Resource, own: OwnConfigs) -> None:
    name = resource.resource_name
    before = image.configs.of(BROKER, name)
    values = dict(before)
    set_now: dict[str, str] = {}
    for config in changes_of(resource, values):
        _check_operation(config, own)
        after = new_value(config, values.get(config.name), specs().get(config.name))
        if after is None:
            values.pop(config.name, None)
        else:
            values[config.name] = set_now[config.name] = after
    try:
        check_change(image.configs, name, values, set_now, own)
        refuse_names(set_now, own.rules)
        if name != ALL_BROKERS:
            refuse_stores(before, values, own.rules)
    except InvalidConfig as error:
        # So Kafka's brokers call a value that they do not take (KAFKA-13609).
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from error


def _check_operation(config: AlterableConfig, own: OwnConfigs) -> None:
    verb = _VERBS.get(config.config_operation)
    if verb is None:
        return
    if not own.rules.is_known(config.name):
        raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown config name: {shown(config.name)}")
    spec = specs().get(config.name)
    if spec is None or spec.type is not ConfigType.LIST:
        why = f"Config value {verb} is not allowed for config key: {shown(config.name)}"
        raise Refused(ErrorCode.INVALID_CONFIG, why)
