"""The one place where a role asks the authorizer: before anything of a request is served.

What an API needs stands in the table (`parts.api_table`). One that needs rights on the cluster alone is judged by its
row; one that names topics, groups and so on has a judge of its own role, which refuses them one by one in Kafka's way.
An API with neither is refused: default deny.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Final, NoReturn

from controller_runtime.answers.refused import DEFAULT_MESSAGES
from controller_runtime.answers.rights.verdict import Judge, Judged, Judging, Refused
from controller_runtime.parts.api_table import TABLES, Row
from controller_runtime.parts.authority import Asking
from controller_runtime.parts.authorization import Authorization, Need, Resource
from controller_runtime.parts.pieces import InPieces, whole
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.elect_leaders_response import ElectLeadersResponse
from controller_runtime.protocol.messages.fetch_request import FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_WHOLE: Final = (Resource.CLUSTER, Resource.ANY_TOPIC)
"""What is there once: a right on it is had for the whole request."""


_WITHOUT_WORDS: Final = (ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS)
"""As by Kafka."""
_FIRST_VERSION_WITH_ONE_ERROR: Final = 13


class Gate:
    """Of one role."""

    def __init__(self, role: ListenerType, judges: Mapping[ApiKey, Judge]) -> None:
        self._rows = TABLES[role]
        self._judges = judges

    @property
    def judged(self) -> frozenset[ApiKey]:
        """What has a judge of its own."""
        return frozenset(self._judges)

    def judge(self, judged: Judged, request: Message) -> Judging:
        """Which verdict; who is served nothing by this role has none. Of many names one by one."""
        key, asking = ApiKey(judged.asking.api_key), judged.asking
        row = self._rows.get(key)
        if row is None or not (row.authorization or key in self._judges):
            return None
        if asking.is_super_user:
            asking.count(allowed=True)
            return None
        if not asking.is_ready:
            return Refused(refusal(request, ErrorCode.UNKNOWN_SERVER_ERROR))
        if (judge := self._judges.get(key)) is not None:
            found = judge(judged, request)
            return (yield from found) if isinstance(found, Generator) else found
        if is_of_cluster(row) and _has(asking, row.authorization):
            return None
        return refused(request, judged.version)


def refused(request: Message, version: int) -> Refused:
    """Nobody is served, in the shape that the API's answer has for it at this version."""
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if isinstance(request, FetchRequest):
        return Refused(_nothing_fetched(request, version))
    words = None if request.KEY in _WITHOUT_WORDS else DEFAULT_MESSAGES[code]
    answer = refusal(request, code, words)
    if isinstance(answer, ElectLeadersResponse) and version == 0:
        answer = replace(answer, error_code=0)
    return Refused(answer)


def _nothing_fetched(request: FetchRequest, version: int) -> FetchResponse:
    """Up to version 12 each partition says so, too."""
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    named = request.topics if version < _FIRST_VERSION_WITH_ONE_ERROR else ()
    return FetchResponse(error_code=code, responses=whole(partitions_denied(named, code)))


def partitions_denied(
    topics: Sequence[FetchTopic], code: ErrorCode
) -> InPieces[NoReturn, tuple[FetchableTopicResponse, ...]]:
    denied: list[FetchableTopicResponse] = []
    for topic in topics:
        said: dict[int, PartitionData] = {}
        for one in topic.partitions:
            said[one.partition] = PartitionData(partition_index=one.partition, error_code=code, high_watermark=-1)
            yield None
        if said:
            partitions = tuple(said.values())
            denied.append(FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=partitions))
    return tuple(denied)


def is_of_cluster(row: Row) -> bool:
    """The whole request needs rights on the cluster, and on nothing that it names."""
    resources = (right.resource for need in row.authorization for rights in need.alternatives for right in rights)
    return bool(row.authorization) and not any(need.part for need in row.authorization) and {*resources} <= {*_WHOLE}


def _has(asking: Asking, authorization: Authorization) -> bool:
    return all(_fulfils(asking, need) for need in authorization)


def _fulfils(asking: Asking, need: Need) -> bool:
    return any(all(asking.has(right) for right in rights) for rights in need.alternatives)
