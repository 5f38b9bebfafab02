"""Configurations: the rights on topics and groups by their names, on everything else on the cluster; each resource that
is refused is answered beside the others.
"""

from __future__ import annotations

from typing import Any, Final

from controller_runtime.answers import refused as answers
from controller_runtime.answers.config_changes import (
    Request,
    ResourceResponse,
    answer_to,
    request_of,
    resources_of,
    response_to,
)
from controller_runtime.answers.refused import DEFAULT_MESSAGES
from controller_runtime.answers.rights.verdict import CODES, Judged, Judging, counted, narrowed
from controller_runtime.metadata.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from controller_runtime.parts.authority import CLUSTER_NAME
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.messages.alter_configs_request import AlterConfigsRequest
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import (
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_OF: Final = {
    TOPIC: Resource.TOPIC,
    GROUP: Resource.GROUP,
    BROKER: Resource.CLUSTER,
    BROKER_LOGGER: Resource.CLUSTER,
    CLIENT_METRICS: Resource.CLUSTER,
}


def _may(judged: Judged, operation: Operation, kind: int, name: str) -> bool:
    """A kind that nobody knows is refused by whoever serves it."""
    resource = _OF.get(kind)
    if resource is None:
        return True
    return judged.asking.may(operation, resource, CLUSTER_NAME if resource is Resource.CLUSTER else name)


def describe_configs(judged: Judged, request: DescribeConfigsRequest) -> Judging:
    if not all(each.resource_type in _OF for each in request.resources):
        return None
    allowed: list[DescribeConfigsResource] = []
    results: list[DescribeConfigsResult] = []
    for each in request.resources:
        if _may(judged, Operation.DESCRIBE_CONFIGS, each.resource_type, each.resource_name):
            allowed.append(each)
        else:
            results.append(_not_described(each))
        yield None
    if not results:
        return None

    def complete(answer: Message) -> Message:
        assert isinstance(answer, DescribeConfigsResponse), "it answers DescribeConfigs"
        return replace(answer, results=(*answer.results, *results))

    rest = replace(request, resources=tuple(allowed))
    return (yield from narrowed(request, rest, not allowed, complete, DescribeConfigsResponse()))


def _not_described(asked: DescribeConfigsResource) -> DescribeConfigsResult:
    code = CODES[_OF[asked.resource_type]]
    return DescribeConfigsResult(
        error_code=code,
        error_message=DEFAULT_MESSAGES[code],
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
    )


def alter_configs(judged: Judged, request: Request) -> Judging:
    """What a controller alters. A resource that is named twice is refused for that, but levels of loggers, which need
    ClusterAction, as in Kafka: they are altered as often as they are named.
    """
    times = yield from counted((each.resource_type, each.resource_name) for each in resources_of(request))
    legacy = isinstance(request, AlterConfigsRequest)
    denied: set[tuple[int, str]] = set()
    for (kind, name), often in times.items():
        is_judged = (often == 1 or kind == BROKER_LOGGER) and not (legacy and kind == BROKER_LOGGER)
        if is_judged and not _may(judged, _to_alter(kind), kind, name):
            denied.add((kind, name))
        yield None
    return (yield from _without(request, denied))


def alter_levels(judged: Judged, request: Request) -> Judging:
    """What a broker does at once: the levels of its loggers. The rest is judged by the controller."""
    loggers: set[tuple[int, str]] = set()
    for each in resources_of(request):
        if each.resource_type == BROKER_LOGGER:
            loggers.add((each.resource_type, each.resource_name))
        yield None
    if not loggers or judged.asking.may(Operation.ALTER_CONFIGS, Resource.CLUSTER):
        return None
    return (yield from _without(request, loggers, says_why=False))


def _to_alter(kind: int) -> Operation:
    return Operation.CLUSTER_ACTION if kind == BROKER_LOGGER else Operation.ALTER_CONFIGS


def _without(request: Request, denied: set[tuple[int, str]], *, says_why: bool = True) -> Judging:
    if not denied:
        return None
    left: list[Any] = []
    said: list[ResourceResponse] = []
    for each in resources_of(request):
        if (each.resource_type, each.resource_name) in denied:
            answer = answer_to(each, answers.Refused(CODES[_OF[each.resource_type]]))
            said.append(answer if says_why else replace(answer, error_message=None))
        else:
            left.append(each)
        yield None

    def complete(answer: Any) -> Message:
        return replace(answer, responses=(*answer.responses, *said))  # type: ignore[no-any-return]

    return (yield from narrowed(request, request_of(request, left), not left, complete, response_to(request, ())))
