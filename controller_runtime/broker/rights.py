"""What the authorizer says of requests at a broker's listeners. What is forwarded is judged by the controller, in the
name of the client; what concerns the cluster alone by its row of the table (`answers.rights.gate`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from controller_runtime.answers.rights.configs import alter_levels, describe_configs
from controller_runtime.answers.rights.describe_cluster import describe_brokers
from controller_runtime.answers.rights.gate import Gate
from controller_runtime.answers.rights.verdict import Judge, Judged, Judging, Refused, Verdict, narrowed
from controller_runtime.broker import rights_to_consumer_groups as consumer_groups
from controller_runtime.broker import rights_to_groups as groups
from controller_runtime.broker import rights_to_records as records
from controller_runtime.broker import rights_to_share_groups as share_groups
from controller_runtime.broker import rights_to_shared_records as shared_records
from controller_runtime.broker import rights_to_streams_groups as streams_groups
from controller_runtime.broker import rights_to_transactions as transactions
from controller_runtime.broker.cluster_view import INTERNAL_TOPICS, fault_of
from controller_runtime.broker.topic_partitions import fault_of as fault_of_page
from controller_runtime.identifiers import ZERO_UUID
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authority import Asking
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.pieces import InPieces
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


def metadata(judged: Judged, request: MetadataRequest) -> Judging:
    """Of all topics those that may be described. A topic that is named and may not be is said to be unauthorized,
    whether or not it exists; so is one that would be created, and may not be.
    """
    asked = request.topics
    if asked is None or (judged.version == 0 and not asked):
        return Narrowed(request, request, lambda answer: _describable(judged, request, answer))
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
        yield None

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, MetadataResponse), "it answers Metadata"
        # Version 0 without topics means all of them.
        served = yield from _with_bits(judged, request, answer if left else replace(answer, topics=()))
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


def _describable(judged: Judged, request: MetadataRequest, answer: Message) -> InPieces[NoReturn, Message]:
    assert isinstance(answer, MetadataResponse), "it answers Metadata"
    topics: list[MetadataResponseTopic] = []
    for each in answer.topics:
        if judged.asking.could(Operation.DESCRIBE, Resource.TOPIC, each.name or ""):
            topics.append(each)
        yield None
    return (yield from _with_bits(judged, request, replace(answer, topics=tuple(topics))))


def _with_bits(
    judged: Judged, request: MetadataRequest, answer: MetadataResponse
) -> InPieces[NoReturn, MetadataResponse]:
    cluster = answer.cluster_authorized_operations
    if cluster != NOT_ASKED:
        may = judged.asking.may(Operation.DESCRIBE, Resource.CLUSTER)
        cluster = judged.asking.operations(ALL_OF_CLUSTER, Resource.CLUSTER) if may else 0
    topics = answer.topics
    if request.include_topic_authorized_operations:
        shown: list[MetadataResponseTopic] = []
        for each in topics:
            shown.append(each if each.topic_authorized_operations == NOT_ASKED else _with_operations(judged, each))
            yield None
        topics = tuple(shown)
    return replace(answer, topics=topics, cluster_authorized_operations=cluster)


def _with_operations(judged: Judged, topic: MetadataResponseTopic) -> MetadataResponseTopic:
    bits = judged.asking.operations(ALL_OF_TOPIC, Resource.TOPIC, topic.name or "")
    return replace(topic, topic_authorized_operations=bits)


def topic_partitions(judged: Judged, request: DescribeTopicPartitionsRequest) -> Judging:
    """A page holds only what may be described: the rest is left out, or said to be unauthorized if it was named."""
    if fault_of_page(request):
        return None
    asking, begin = judged.asking, "" if request.cursor is None else request.cursor.topic_name
    is_named = bool(request.topics)
    ask = asking.may if is_named else asking.could
    allowed: list[TopicRequest] = []
    refused: list[DescribeTopicPartitionsResponseTopic] = []
    may_begin = False
    for name in (yield from _names_from(judged, request, begin)):
        if ask(Operation.DESCRIBE, Resource.TOPIC, name):
            may_begin |= name == begin
            allowed.append(TopicRequest(name=name))
        elif is_named:
            refused.append(DescribeTopicPartitionsResponseTopic(error_code=_DENIED, name=name))
        yield None

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, DescribeTopicPartitionsResponse), "it answers DescribeTopicPartitions"
        topics: list[DescribeTopicPartitionsResponseTopic] = []
        for each in answer.topics:
            bits = asking.operations(ALL_OF_TOPIC, Resource.TOPIC, each.name or "")
            topics.append(replace(each, topic_authorized_operations=bits))
            yield None
        return replace(answer, topics=(*topics, *refused))

    rest = replace(request, topics=tuple(allowed), cursor=request.cursor if may_begin else None)
    return (yield from narrowed(request, rest, not allowed, complete, DescribeTopicPartitionsResponse()))


def _names_from(judged: Judged, request: DescribeTopicPartitionsRequest, begin: str) -> InPieces[NoReturn, list[str]]:
    """Those that are asked for, or all there are; in order, from the cursor's on."""
    found: set[str] = set()
    for name in (topic.name for topic in request.topics or judged.image.topics):
        if name >= begin:
            found.add(name)
        yield None
    return sorted(found)


def log_directories(judged: Judged, _: DescribeLogDirsRequest) -> Verdict:
    if judged.asking.may(Operation.DESCRIBE, Resource.CLUSTER):
        return None
    return Refused(DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))


def elsewhere(_: Judged, __: Message) -> Verdict:
    """The controller judges it, or the handler: tokens are refused without protection before anybody is asked."""
    return None


def describe_tokens(judged: Judged, request: DescribeDelegationTokenRequest) -> Verdict:
    """Those of his own, those that he asked for or may renew, and those that he has a right to see."""
    return Narrowed(request, request, lambda answer: _tokens_seen(judged, answer))


def _tokens_seen(judged: Judged, answer: Message) -> InPieces[NoReturn, Message]:
    assert isinstance(answer, DescribeDelegationTokenResponse), "it answers DescribeDelegationToken"
    tokens: list[DescribedDelegationToken] = []
    for each in answer.tokens:
        if _is_seen(judged.asking, each):
            tokens.append(each)
        yield None
    return replace(answer, tokens=tuple(tokens))


def _is_seen(asking: Asking, token: DescribedDelegationToken) -> bool:
    owner = f"{token.principal_type}:{token.principal_name}"
    renewers = (f"{each.principal_type}:{each.principal_name}" for each in token.renewers)
    requester = f"{token.token_requester_principal_type}:{token.token_requester_principal_name}"
    if asking.client.principal in (owner, requester, *renewers):
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
    ApiKey.FIND_COORDINATOR: groups.find_coordinator,
    ApiKey.JOIN_GROUP: groups.join_group,
    ApiKey.SYNC_GROUP: groups.sync_group,
    ApiKey.HEARTBEAT: groups.members_request,
    ApiKey.LEAVE_GROUP: groups.members_request,
    ApiKey.OFFSET_COMMIT: groups.offset_commit,
    ApiKey.OFFSET_FETCH: groups.offset_fetch,
    ApiKey.OFFSET_DELETE: groups.offset_delete,
    ApiKey.LIST_GROUPS: groups.list_groups,
    ApiKey.DESCRIBE_GROUPS: groups.describe_groups,
    ApiKey.DELETE_GROUPS: groups.delete_groups,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_groups.heartbeat,
    ApiKey.SHARE_GROUP_HEARTBEAT: consumer_groups.heartbeat,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: share_groups.describe,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: share_groups.alter,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: share_groups.delete,
    ApiKey.SHARE_GROUP_DESCRIBE: consumer_groups.describe,
    ApiKey.STREAMS_GROUP_HEARTBEAT: streams_groups.heartbeat,
    ApiKey.STREAMS_GROUP_DESCRIBE: streams_groups.describe,
    ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_groups.describe,
    ApiKey.SHARE_FETCH: shared_records.members_request,
    ApiKey.SHARE_ACKNOWLEDGE: shared_records.members_request,
    ApiKey.ADD_PARTITIONS_TO_TXN: transactions.add_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: transactions.add_offsets,
    ApiKey.END_TXN: transactions.end,
    ApiKey.TXN_OFFSET_COMMIT: transactions.commit_offsets,
    ApiKey.DESCRIBE_PRODUCERS: transactions.describe_producers,
    ApiKey.DESCRIBE_TRANSACTIONS: transactions.describe,
    ApiKey.LIST_TRANSACTIONS: transactions.list_all,
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
