"""What the authorizer says of requests that a controller decides: those that name topics, configurations or owners of
delegation tokens. Every other one needs rights on the cluster (`answers.rights.gate`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from controller_runtime.answers.refused import DEFAULT_MESSAGES
from controller_runtime.answers.rights.configs import alter_configs, describe_configs
from controller_runtime.answers.rights.describe_cluster import describe_controllers
from controller_runtime.answers.rights.gate import Gate
from controller_runtime.answers.rights.verdict import Judge, Judged, Judging, Refused, Verdict, counted, narrowed
from controller_runtime.answers.token_requests import created_by, owner_of
from controller_runtime.identifiers import METADATA_TOPIC_NAME, ZERO_UUID, Uuid
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_delegation_token_request import CreateDelegationTokenRequest
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def create_topics(judged: Judged, request: CreateTopicsRequest) -> Judging:
    """Create on the cluster or on the topic. Who may not describe its configurations is not told them.

    What is named twice is refused for that.
    """
    asking = judged.asking
    times = yield from counted(topic.name for topic in request.topics)
    everywhere = asking.could(Operation.CREATE, Resource.CLUSTER)
    left: list[CreatableTopic] = []
    hidden: set[str] = set()
    results: list[CreatableTopicResult] = []
    for topic in request.topics:
        name = topic.name
        is_denied = False
        if times[name] == 1 and name != METADATA_TOPIC_NAME:
            is_denied = not everywhere and not asking.may(Operation.CREATE, Resource.TOPIC, name)
            if not asking.could(Operation.DESCRIBE_CONFIGS, Resource.TOPIC, name):
                hidden.add(name)
        if is_denied:
            results.append(CreatableTopicResult(name=name, error_code=_DENIED, error_message="Authorization failed."))
        else:
            left.append(topic)
        yield None
    if not results and not hidden:
        return None

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, CreateTopicsResponse), "it answers CreateTopics"
        topics: list[CreatableTopicResult] = []
        for each in answer.topics:
            topics.append(_hidden(each) if each.name in hidden and not each.error_code else each)
            yield None
        return replace(answer, topics=(*topics, *results))

    rest = replace(request, topics=tuple(left))
    return (yield from narrowed(request, rest, not left, complete, CreateTopicsResponse()))


def _hidden(made: CreatableTopicResult) -> CreatableTopicResult:
    return replace(made, num_partitions=-1, replication_factor=-1, configs=(), topic_config_error_code=_DENIED)


def create_partitions(judged: Judged, request: CreatePartitionsRequest) -> Judging:
    """What is named twice is refused for that."""
    times = yield from counted(topic.name for topic in request.topics)
    left: list[CreatePartitionsTopic] = []
    results: list[CreatePartitionsTopicResult] = []
    for topic in request.topics:
        name = topic.name
        if times[name] > 1 or judged.asking.may(Operation.ALTER, Resource.TOPIC, name):
            left.append(topic)
        else:
            results.append(CreatePartitionsTopicResult(name=name, error_code=_DENIED))
        yield None
    if not results:
        return None

    def complete(answer: Message) -> Message:
        assert isinstance(answer, CreatePartitionsResponse), "it answers CreatePartitions"
        return replace(answer, results=(*answer.results, *results))

    rest = replace(request, topics=tuple(left))
    return (yield from narrowed(request, rest, not left, complete, CreatePartitionsResponse()))


def delete_topics(judged: Judged, request: DeleteTopicsRequest) -> Judging:
    """Delete on the cluster, or on the topic. Who may not describe a topic does not learn whether it is there, nor the
    name behind an id.
    """
    if judged.asking.could(Operation.DELETE, Resource.CLUSTER):
        return None
    states = request.topics
    if not states:
        by_names = []
        for name in request.topic_names:
            by_names.append(DeleteTopicState(name=name))
            yield None
        states = tuple(by_names)
    named = yield from counted(state.topic_id if state.name is None else state.name for state in states)
    kept, results = [], []
    for state in states:
        yield None
        whose = state.topic_id if state.name is None else state.name
        refusal = None if named[whose] > 1 else _not_deleted(judged, state)
        if refusal is None:
            kept.append(state)
        else:
            results.append(refusal)
    if not results:
        return None

    def complete(answer: Message) -> Message:
        assert isinstance(answer, DeleteTopicsResponse), "it answers DeleteTopics"
        return replace(answer, responses=(*answer.responses, *results))

    if request.topics:
        rest = replace(request, topics=tuple(kept))
    else:
        rest = replace(request, topic_names=tuple(state.name or "" for state in kept))
    return (yield from narrowed(request, rest, not kept, complete, DeleteTopicsResponse()))


def _not_deleted(judged: Judged, state: DeleteTopicState) -> DeletableTopicResult | None:
    """Why he may not delete it; None too for what the decision refuses, whoever asks."""
    by_name = state.name is not None
    if by_name == (state.topic_id != ZERO_UUID):
        return None
    name = state.name if by_name else _name_of(judged, state.topic_id)
    if name is None:
        return None
    described = judged.asking.may(Operation.DESCRIBE, Resource.TOPIC, name)
    deleted = judged.asking.may(Operation.DELETE, Resource.TOPIC, name)
    if described and (deleted or (by_name and judged.image.topics.named(name) is None)):
        return None
    if deleted and not by_name:
        return None
    shown = name if by_name or described else None
    return DeletableTopicResult(
        name=shown, topic_id=state.topic_id, error_code=_DENIED, error_message=DEFAULT_MESSAGES[_DENIED]
    )


def _name_of(judged: Judged, topic_id: Uuid) -> str | None:
    topic = judged.image.topics.get(topic_id)
    return None if topic is None else topic.name


def create_token(judged: Judged, request: CreateDelegationTokenRequest) -> Verdict:
    """For another owner; a token is nobody's who may not have one anyway."""
    requester = judged.asking.client.principal
    owner = owner_of(request, requester)
    if not judged.may_use_tokens or owner == requester:
        return None
    if judged.asking.may(Operation.CREATE_TOKENS, Resource.USER, owner):
        return None
    code = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    return Refused(replace(created_by(requester, owner, judged.version), error_code=code))


def anybody(_: Judged, __: Message) -> Verdict:
    """Whose a token is, is asked by the decision; what only brokers answer is refused to all."""
    return None


_JUDGES: Final[Mapping[ApiKey, Judge]] = {
    ApiKey.CREATE_TOPICS: create_topics,
    ApiKey.DELETE_TOPICS: delete_topics,
    ApiKey.CREATE_PARTITIONS: create_partitions,
    ApiKey.DESCRIBE_CONFIGS: describe_configs,
    ApiKey.ALTER_CONFIGS: alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: alter_configs,
    ApiKey.CREATE_DELEGATION_TOKEN: create_token,
    ApiKey.RENEW_DELEGATION_TOKEN: anybody,
    ApiKey.EXPIRE_DELEGATION_TOKEN: anybody,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: anybody,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: anybody,
    ApiKey.DESCRIBE_CLUSTER: describe_controllers,
}

GATE: Final = Gate(ListenerType.CONTROLLER, _JUDGES)
