"""Requests of members before anything is done: who asks, in which session, about which partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from controller_runtime.broker.share_partitions.acknowledgements import Result
from controller_runtime.coordinator.share_partitions.acknowledging import Said
from controller_runtime.coordinator.share_partitions.judging import FIRST_VERSION_WITH_RENEWALS, read_batches
from controller_runtime.coordinator.share_partitions.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    Member,
    Place,
    Session,
    ShareSessions,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import ConnectionId
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.share_fetch_request import ShareFetchRequest
from controller_runtime.values import dataclass, field

_LONGEST_MEMBER_ID: Final = 36
FEATURE: Final = "share.version"
MayRead = Callable[[str], bool]


def fault_of(image: MetadataImage, request: Any) -> ErrorCode:
    """What is wrong with any request of a member."""
    if image.features.level(FEATURE) < 1:
        return ErrorCode.UNSUPPORTED_VERSION
    member_id = request.member_id
    if request.group_id is None or not member_id or len(member_id.encode("utf-16-le")) // 2 > _LONGEST_MEMBER_ID:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def asks_for_too_much(request: ShareFetchRequest, version: int) -> bool:
    """Who renews wants nothing else (KIP-1222)."""
    wants = request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms
    return bool(version >= FIRST_VERSION_WITH_RENEWALS and request.is_renew_ack and wants)


def has_acknowledgements(request: Any) -> bool:
    return any(one.acknowledgement_batches for topic in request.topics for one in topic.partitions)


def places(image: MetadataImage, topics: Any) -> Iterator[tuple[Place, str | None]]:
    """With the names of their topics."""
    for topic in topics:
        found = image.topics.get(topic.topic_id)
        for one in topic.partitions:
            index = one if isinstance(one, int) else one.partition_index
            yield (topic.topic_id, index), None if found is None else found.name


def session_of(
    sessions: ShareSessions, image: MetadataImage, request: ShareFetchRequest, connection_id: ConnectionId
) -> Session | ErrorCode | None:
    """The session in which is fetched; None: it is the last request of one, which fetches nothing."""
    member = Member(request.group_id or "", request.member_id or "")
    session = sessions.get(member)
    if request.share_session_epoch == FINAL_EPOCH:
        return ErrorCode.SHARE_SESSION_NOT_FOUND if session is None else None
    if request.share_session_epoch == INITIAL_EPOCH:
        if has_acknowledgements(request):
            return ErrorCode.INVALID_REQUEST
        wanted = list(places(image, request.topics))
        if len({place for place, _ in wanted}) < len(wanted):
            sessions.remove(member)
            return ErrorCode.UNKNOWN_SERVER_ERROR
        begun = sessions.begin(member, wanted, connection_id)
        return ErrorCode.SHARE_SESSION_LIMIT_REACHED if begun is None else begun
    if session is None:
        return ErrorCode.SHARE_SESSION_NOT_FOUND
    if session.epoch != request.share_session_epoch:
        return ErrorCode.INVALID_SHARE_SESSION_EPOCH
    forgotten = (place for place, _ in places(image, request.forgotten_topics_data))
    if not sessions.update(session, places(image, request.topics), forgotten):
        return ErrorCode.SHARE_SESSION_LIMIT_REACHED
    session.advance()
    return session


def acknowledging_session(sessions: ShareSessions, request: Any) -> ErrorCode:
    session = sessions.get(Member(request.group_id, request.member_id))
    if request.share_session_epoch == INITIAL_EPOCH:
        return ErrorCode.INVALID_SHARE_SESSION_EPOCH
    if session is None:
        return ErrorCode.SHARE_SESSION_NOT_FOUND
    if request.share_session_epoch == FINAL_EPOCH:
        return ErrorCode.NONE
    if session.epoch != request.share_session_epoch:
        return ErrorCode.INVALID_SHARE_SESSION_EPOCH
    session.advance()
    return ErrorCode.NONE


@dataclass(slots=True)
class Judged:
    """Acknowledgements of a request."""

    said: dict[Place, tuple[Said, ...]] = field(default_factory=dict)
    results: dict[Place, Result] = field(default_factory=dict)
    """What is known without looking for records."""


def judged(image: MetadataImage, request: Any, version: int, may_read: MayRead) -> InPieces[NoReturn, Judged]:
    found = Judged()
    nothing: dict[Place, Result] = {}
    for topic in request.topics:
        known = image.topics.get(topic.topic_id)
        may = known is not None and may_read(known.name)
        for one in topic.partitions:
            place = (topic.topic_id, one.partition_index)
            batches = yield from read_batches(
                one.acknowledgement_batches, version, is_renewal=getattr(request, "is_renew_ack", False)
            )
            yield None
            error = ErrorCode.NONE
            if known is None:
                error = ErrorCode.UNKNOWN_TOPIC_ID
            elif batches is None:
                error = ErrorCode.INVALID_REQUEST
            elif not may:
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif not 0 <= one.partition_index < known.partition_count:
                error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if error != ErrorCode.NONE:
                found.results[place] = Result(error)
            elif batches:
                found.said[place] = batches
            else:
                nothing[place] = Result()
    if found.said:  # As in Kafka: else nothing is said of those without any.
        found.results.update(nothing)
    return found
