"""What the authorizer says of requests about groups: members need Read on the group, who looks needs Describe, who
deletes needs Delete; and offsets are of topics, which are judged one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NoReturn

from controller_runtime.answers.rights.verdict import (
    Fields,
    Judged,
    Judging,
    Refused,
    Verdict,
    narrowed,
    one_by_one,
    parted,
)
from controller_runtime.coordinator.finding import FIRST_VERSION_WITH_KEYS, SHARE, TRANSACTION, WORDS, nobody
from controller_runtime.coordinator.group_answers import not_joined
from controller_runtime.coordinator.membership_requests import lacks_protocol
from controller_runtime.coordinator.offset_fetch import FIRST_VERSION_OF_SEVERAL
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_GROUP, NOT_ASKED, Operation
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_groups_response import DeleteGroupsResponse
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.describe_groups_response import DescribeGroupsResponse
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from controller_runtime.protocol.messages.join_group_request import JoinGroupRequest
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.list_groups_response import ListGroupsResponse
from controller_runtime.protocol.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from controller_runtime.protocol.messages.offset_commit_response import OffsetCommitResponse
from controller_runtime.protocol.messages.offset_delete_request import OffsetDeleteRequest, OffsetDeleteRequestTopic
from controller_runtime.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from controller_runtime.protocol.messages.offset_fetch_request import OffsetFetchRequest
from controller_runtime.protocol.messages.offset_fetch_response import OffsetFetchResponse
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_GROUP_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_TOPICS: Final = Fields("topics", "topics")
_NAMES: Final = Fields("groups_names", "results")


def find_coordinator(judged: Judged, request: FindCoordinatorRequest) -> Judging:
    of_transaction, of_share = request.key_type == TRANSACTION, request.key_type == SHARE
    resource = Resource.TRANSACTIONAL_ID if of_transaction else Resource.GROUP
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if of_transaction else _GROUP_DENIED
    if of_share:
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    def may(key: str) -> bool:
        if of_share:
            return judged.asking.may(Operation.CLUSTER_ACTION, Resource.CLUSTER)
        return judged.asking.may(Operation.DESCRIBE, resource, key)

    if judged.version < FIRST_VERSION_WITH_KEYS:
        if may(request.key):
            return None
        words = WORDS[code]
        return Refused(FindCoordinatorResponse(error_code=code, error_message=words, node_id=-1, host="", port=-1))
    allowed, denied = yield from parted(request.coordinator_keys, may)
    if not denied:
        return None

    def complete(answer: Message) -> Message:
        assert isinstance(answer, FindCoordinatorResponse), "it answers FindCoordinator"
        return replace(answer, coordinators=(*answer.coordinators, *(nobody(key, code) for key in denied)))

    rest = replace(request, coordinator_keys=tuple(allowed))
    return (yield from narrowed(request, rest, not allowed, complete, FindCoordinatorResponse()))


def join_group(judged: Judged, request: JoinGroupRequest) -> Verdict:
    if judged.asking.may(Operation.READ, Resource.GROUP, request.group_id):
        return None
    return Refused(not_joined(judged.version, _GROUP_DENIED, request.member_id))


def sync_group(judged: Judged, request: SyncGroupRequest) -> Verdict:
    return None if lacks_protocol(request, judged.version) else members_request(judged, request)


def members_request(judged: Judged, request: Any) -> Verdict:
    """Heartbeat and LeaveGroup; SyncGroup that names its protocol."""
    may = judged.asking.may(Operation.READ, Resource.GROUP, request.group_id)
    return None if may else Refused(refusal(request, _GROUP_DENIED))


def offset_commit(judged: Judged, request: OffsetCommitRequest) -> Judging:
    if not judged.asking.may(Operation.READ, Resource.GROUP, request.group_id):
        return Refused(refusal(request, _GROUP_DENIED))

    def may(topic: OffsetCommitRequestTopic) -> bool:
        return _may_read(judged, topic.name, topic.topic_id)

    return (yield from one_by_one(request, _TOPICS, may, _TOPIC_DENIED, OffsetCommitResponse()))


def offset_delete(judged: Judged, request: OffsetDeleteRequest) -> Judging:
    if not judged.asking.may(Operation.DELETE, Resource.GROUP, request.group_id):
        return Refused(refusal(request, _GROUP_DENIED))
    allowed, denied = yield from parted(request.topics, lambda topic: _may_read(judged, topic.name, None))
    if not denied:
        return None
    said = tuple(_denied_deletion(topic) for topic in denied)

    def complete(answer: Message) -> Message:
        assert isinstance(answer, OffsetDeleteResponse), "it answers OffsetDelete"
        return answer if answer.error_code else replace(answer, topics=(*answer.topics, *said))

    # As in Kafka the group is looked for even if no topic is left: it may not be there.
    return Narrowed(request, replace(request, topics=tuple(allowed)), complete)


def _denied_deletion(topic: OffsetDeleteRequestTopic) -> OffsetDeleteResponseTopic:
    partitions = tuple(
        OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=_TOPIC_DENIED)
        for each in topic.partitions
    )
    return OffsetDeleteResponseTopic(name=topic.name, partitions=partitions)


def _may_read(judged: Judged, topic: str, topic_id: Any) -> bool:
    """A topic whose id nobody knows is refused as that by whoever serves it."""
    name = judged.name_of(topic, topic_id) if topic_id is not None else topic
    return name is None or judged.asking.may(Operation.READ, Resource.TOPIC, name)


def offset_fetch(judged: Judged, request: OffsetFetchRequest) -> Judging:
    """Of all offsets those of topics that may be described; of those that are named every one is answered."""
    if judged.version < FIRST_VERSION_OF_SEVERAL:
        if not judged.asking.may(Operation.DESCRIBE, Resource.GROUP, request.group_id):
            return Refused(refusal(request, _GROUP_DENIED))
        return Narrowed(request, request, lambda answer: _seen(judged, answer, request))
    allowed, denied = yield from parted(
        request.groups, lambda group: judged.asking.may(Operation.DESCRIBE, Resource.GROUP, group.group_id)
    )
    refused = refusal(replace(request, groups=tuple(denied)), _GROUP_DENIED)
    assert isinstance(refused, OffsetFetchResponse), "it refuses OffsetFetch"
    said = refused.groups

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        seen = yield from _seen(judged, answer, request)
        return replace(seen, groups=(*seen.groups, *said))

    rest = replace(request, groups=tuple(allowed))
    return (yield from narrowed(request, rest, not allowed, complete, OffsetFetchResponse()))


def _seen(judged: Judged, answer: Message, request: OffsetFetchRequest) -> InPieces[NoReturn, OffsetFetchResponse]:
    assert isinstance(answer, OffsetFetchResponse), "it answers OffsetFetch"
    of_all = {group.group_id for group in request.groups if group.topics is None}
    topics = yield from _described(judged, answer.topics, is_named=request.topics is not None)
    groups: list[Any] = []
    for each in answer.groups:
        seen = yield from _described(judged, each.topics, is_named=each.group_id not in of_all)
        groups.append(replace(each, topics=seen))
    return replace(answer, topics=topics, groups=tuple(groups))


def _described(judged: Judged, topics: Sequence[Any], *, is_named: bool) -> InPieces[NoReturn, tuple[Any, ...]]:
    ask = judged.asking.may if is_named else judged.asking.could
    kept: list[Any] = []
    for topic in topics:
        yield None
        name = judged.name_of(topic.name, getattr(topic, "topic_id", None))
        if name is None or ask(Operation.DESCRIBE, Resource.TOPIC, name):
            kept.append(topic)
        elif is_named:
            hidden: list[Any] = []
            for each in topic.partitions:
                yield None
                hidden.append(
                    replace(each, committed_offset=-1, committed_leader_epoch=-1, metadata="", error_code=_TOPIC_DENIED)
                )
            kept.append(replace(topic, partitions=tuple(hidden)))
    return tuple(kept)


def delete_groups(judged: Judged, request: DeleteGroupsRequest) -> Judging:
    may = partial(judged.asking.may, Operation.DELETE, Resource.GROUP)
    once = replace(request, groups_names=tuple(dict.fromkeys(request.groups_names)))
    verdict = yield from one_by_one(once, _NAMES, may, _GROUP_DENIED, DeleteGroupsResponse())
    return replace(verdict, whole=request) if isinstance(verdict, Narrowed) else verdict


def describe_groups(judged: Judged, request: DescribeGroupsRequest) -> Judging:
    asking = judged.asking
    may = partial(asking.may, Operation.DESCRIBE, Resource.GROUP)
    allowed, denied = yield from parted(request.groups, may)
    refused = refusal(replace(request, groups=tuple(denied)), _GROUP_DENIED)
    assert isinstance(refused, DescribeGroupsResponse), "it refuses DescribeGroups"
    said = refused.groups

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, DescribeGroupsResponse), "it answers DescribeGroups"
        groups: list[Any] = []
        for each in answer.groups:
            yield None
            bits = each.authorized_operations
            if bits != NOT_ASKED:
                bits = asking.operations(ALL_OF_GROUP, Resource.GROUP, each.group_id)
            groups.append(replace(each, authorized_operations=bits))
        return replace(answer, groups=(*groups, *said))

    rest = replace(request, groups=tuple(allowed))
    return (yield from narrowed(request, rest, not allowed, complete, DescribeGroupsResponse()))


def list_groups(judged: Judged, request: ListGroupsRequest) -> Verdict:
    """All of them for who may describe the cluster, the others' own for everybody else."""
    asking = judged.asking
    if asking.could(Operation.DESCRIBE, Resource.CLUSTER):
        return None

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, ListGroupsResponse), "it answers ListGroups"
        seen: list[Any] = []
        for each in answer.groups:
            yield None
            if asking.could(Operation.DESCRIBE, Resource.GROUP, each.group_id):
                seen.append(each)
        return replace(answer, groups=tuple(seen))

    return Narrowed(request, request, complete)
