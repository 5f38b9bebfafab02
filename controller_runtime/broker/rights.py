"""What the authorizer says of requests at a broker's listeners. What is forwarded is judged by the controller, in the
name of the client; what concerns the cluster alone by its row of the table (`answers.rights.gate`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.answers.rights.configs import alter_levels, describe_configs
from controller_runtime.answers.rights.describe_cluster import describe_brokers
from controller_runtime.answers.rights.gate import Gate
from controller_runtime.answers.rights.verdict import Judge, Judged, Refused, Verdict
from controller_runtime.broker import rights_to_records as records
from controller_runtime.broker.cluster_view import INTERNAL_TOPICS, fault_of
from controller_runtime.broker.topic_partitions import fault_of as fault_of_page
from controller_runtime.identifiers import ZERO_UUID
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authority import Asking
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.authorized_operations import ALL_OF_CLUSTER, ALL_OF_TOPIC, NOT_ASKED, Operation
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_delegation_token_request import DescribeDelegationTokenRequest
from controller_runtime.protocol.messages.describe_delegation_token_response import (
    DescribedDelegationToken,
    DescribeDelegationTokenResponse,
)
from controller_runtime.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from controller_runtime.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from controller_runtime.protocol.messages.describe_topic_partitions_request import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from controller_runtime.protocol.messages.describe_topic_partitions_response import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def metadata(judged: Judged, request: MetadataRequest) -> Verdict:
    """Of all topics those that may be described. A topic that is named and may not be is said to be unauthorized,
    whether or not it exists; so is one that would be created, and may not be.
    """
    asked = request.topics
    if asked is None or (judged.version == 0 and not asked):
        return Narrowed(request, request, lambda answer: _with_bits(judged, request, _describable(judged, answer)))
    if fault_of(asked, judged.version):
        return None
    by_id = any(each.topic_id != ZERO_UUID for each in asked)
    left: list[MetadataRequestTopic] = []
    refused: dict[object, MetadataResponseTopic] = {}
    for each in asked:
        found = _of_id(judged, each) if by_id else _of_name(judged, request, each)
        if found is None:
            left.append(each)
        else:
            refused[each.topic_id if by_id else each.name] = found

    def complete(answer: Message) -> Message:
        assert isinstance(answer, MetadataResponse), "it answers Metadata"
        # Version 0 without topics means all of them.
        served = _with_bits(judged, request, answer if left else replace(answer, topics=()))
        return replace(served, topics=(*served.topics, *refused.values()))

    return Narrowed(request, replace(request, topics=tuple(left)), complete)


def _of_id(judged: Judged, asked: MetadataRequestTopic) -> MetadataResponseTopic | None:
    topic = judged.image.topics.get(asked.topic_id)
    if topic is None or judged.asking.may(Operation.DESCRIBE, Resource.TOPIC, topic.name):
        return None
    return MetadataResponseTopic(error_code=_DENIED, name=None, topic_id=asked.topic_id)


def _of_name(judged: Judged, request: MetadataRequest, asked: MetadataRequestTopic) -> MetadataResponseTopic | None:
    name, asking = asked.name or "", judged.asking
    if not asking.may(Operation.DESCRIBE, Resource.TOPIC, name):
        return MetadataResponseTopic(error_code=_DENIED, name=name)
    made = judged.makes_topics and request.allow_auto_topic_creation and judged.image.topics.named(name) is None
    if not made or asking.could(Operation.CREATE, Resource.CLUSTER):
        return None
    if asking.may(Operation.CREATE, Resource.TOPIC, name):
        return None
    return MetadataResponseTopic(error_code=_DENIED, name=name, is_internal=name in INTERNAL_TOPICS)


def _describable(judged: Judged, answer: Message) -> MetadataResponse:
    assert isinstance(answer, MetadataResponse), "it answers Metadata"
    topics = (
        each for each in answer.topics if judged.asking.could(Operation.DESCRIBE, Resource.TOPIC, each.name or "")
    )
    return replace(answer, topics=tuple(topics))


def _with_bits(judged: Judged, request: MetadataRequest, answer: MetadataResponse) -> MetadataResponse:
    cluster = answer.cluster_authorized_operations
    if cluster != NOT_ASKED:
        may = judged.asking.may(Operation.DESCRIBE, Resource.CLUSTER)
        cluster = judged.asking.operations(ALL_OF_CLUSTER, Resource.CLUSTER) if may else 0
    topics = _bits_of_topics(judged, request, answer.topics)
    return replace(answer, topics=topics, cluster_authorized_operations=cluster)


def _bits_of_topics(
    judged: Judged, request: MetadataRequest, topics: tuple[MetadataResponseTopic, ...]
) -> tuple[MetadataResponseTopic, ...]:
    if not request.include_topic_authorized_operations:
        return topics
    return tuple(
        each
        if each.topic_authorized_operations == NOT_ASKED
        else replace(
            each,
            topic_authorized_operations=judged.asking.operations(ALL_OF_TOPIC, Resource.TOPIC, each.name or ""),
        )
        for each in topics
    )


def topic_partitions(judged: Judged, request: DescribeTopicPartitionsRequest) -> Verdict:
    """A page holds only what may be described: the rest is left out, or said to be unauthorized if it was named."""
    if fault_of_page(request):
        return None
    asking, begin = judged.asking, "" if request.cursor is None else request.cursor.topic_name
    named = sorted({topic.name for topic in request.topics})
    names = [name for name in named or sorted(topic.name for topic in judged.image.topics) if name >= begin]
    ask = asking.may if named else asking.could
    allowed: list[str] = []
    denied: list[str] = []
    for name in names:
        (allowed if ask(Operation.DESCRIBE, Resource.TOPIC, name) else denied).append(name)
    said = denied if named else []
    refused = [DescribeTopicPartitionsResponseTopic(error_code=_DENIED, name=name) for name in said]
    cursor = request.cursor if begin in allowed else None

    def complete(answer: Message) -> Message:
        assert isinstance(answer, DescribeTopicPartitionsResponse), "it answers DescribeTopicPartitions"
        topics = (
            replace(
                each,
                topic_authorized_operations=asking.operations(ALL_OF_TOPIC, Resource.TOPIC, each.name or ""),
            )
            for each in answer.topics
        )
        return replace(answer, topics=(*topics, *refused))

    if not allowed:
        return Refused(complete(DescribeTopicPartitionsResponse()))
    rest = replace(request, topics=tuple(TopicRequest(name=name) for name in allowed), cursor=cursor)
    return Narrowed(request, rest, complete)


def log_directories(judged: Judged, _: DescribeLogDirsRequest) -> Verdict:
    if judged.asking.may(Operation.DESCRIBE, Resource.CLUSTER):
        return None
    return Refused(DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))


def elsewhere(_: Judged, __: Message) -> Verdict:
    """The controller judges it, or the handler: tokens are refused without protection before anybody is asked."""
    return None


def describe_tokens(judged: Judged, request: DescribeDelegationTokenRequest) -> Verdict:
    """Those of his own, those that he may renew, and those that he has a right to see."""
    return Narrowed(request, request, lambda answer: _tokens_seen(judged, answer))


def _tokens_seen(judged: Judged, answer: Message) -> Message:
    assert isinstance(answer, DescribeDelegationTokenResponse), "it answers DescribeDelegationToken"
    return replace(answer, tokens=tuple(each for each in answer.tokens if _is_seen(judged.asking, each)))


def _is_seen(asking: Asking, token: DescribedDelegationToken) -> bool:
    owner = f"{token.principal_type}:{token.principal_name}"
    renewers = (f"{each.principal_type}:{each.principal_name}" for each in token.renewers)
    if asking.client.principal in (owner, *renewers):
        return True
    if asking.could(Operation.DESCRIBE, Resource.DELEGATION_TOKEN, token.token_id):
        return True
    return asking.could(Operation.DESCRIBE_TOKENS, Resource.USER, owner)


_JUDGES: Final[Mapping[ApiKey, Judge]] = {
    ApiKey.PRODUCE: records.produce,
    ApiKey.FETCH: records.fetch,
    ApiKey.LIST_OFFSETS: records.list_offsets,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: records.epoch_ends,
    ApiKey.DELETE_RECORDS: records.delete_records,
    ApiKey.INIT_PRODUCER_ID: records.init_producer_id,
    ApiKey.METADATA: metadata,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: topic_partitions,
    ApiKey.DESCRIBE_CLUSTER: describe_brokers,
    ApiKey.DESCRIBE_CONFIGS: describe_configs,
    ApiKey.ALTER_CONFIGS: elsewhere,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: alter_levels,
    ApiKey.DESCRIBE_LOG_DIRS: log_directories,
    ApiKey.CREATE_DELEGATION_TOKEN: elsewhere,
    ApiKey.RENEW_DELEGATION_TOKEN: elsewhere,
    ApiKey.EXPIRE_DELEGATION_TOKEN: elsewhere,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: describe_tokens,
}

GATE: Final = Gate(ListenerType.BROKER, _JUDGES)
