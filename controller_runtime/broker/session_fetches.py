"""Fetch requests in sessions (KIP-227): what leaves the client as a difference is made whole before anybody judges or
serves it, and the whole answer is made a difference again when it leaves.

So nobody else knows of sessions: the authorizer is asked about every partition of each request, and a handler answers
every one. A session's request counts for its next epoch as soon as it is here: a second one of the same epoch, from
wherever, is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

from controller_runtime.broker.fetch_sessions import (
    FINAL_EPOCH,
    FULL_EPOCH,
    NO_SESSION,
    Cached,
    FetchSessionCache,
    Key,
    Session,
    key_of,
    next_epoch,
)
from controller_runtime.broker.long_answers import Effects, Handler, LongAnswers
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, RequestId, RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from controller_runtime.values import dataclass, replace

_FIRST_VERSION_BY_ID: Final = 13
_Wanted = dict[Key, tuple[str, Uuid, FetchPartition]]


@dataclass(frozen=True, slots=True)
class _Open:
    """A request in a session, or that begins one, until it is answered."""

    connection_id: ConnectionId
    request: FetchRequest
    """Made whole."""
    by_ids: bool
    session: Session | None
    """None: it begins one."""
    epoch: int = FULL_EPOCH
    """Of the session's next request; another one by then: somebody else went on with it."""


class SessionFetches:
    def __init__(self, cache: FetchSessionCache, long: LongAnswers) -> None:
        self.cache = cache
        self._long = long
        self._open: dict[RequestId, _Open] = {}

    def on_request(self, event: RequestReceived, serve: Handler, now: Instant, wall: WallClock) -> Effects:
        """`serve` gets the request as a whole one."""
        return self._long.first(
            Asker(event.request_id, event.body, None, event.connection.connection_id),
            self._whole(event, now),
            lambda found, now, wall: (
                [Respond(event.request_id, found)]
                if isinstance(found, FetchResponse)
                else serve(replace(event, body=found, frame=None), found, now, wall)
            ),
            now,
            wall,
        )

    def on_closed(self, connection_id: ConnectionId) -> None:
        """Nobody waits any more. The session stays: its client may come back on another connection."""
        for request_id in [each for each, one in self._open.items() if one.connection_id == connection_id]:
            del self._open[request_id]

    # What comes.

    def _whole(self, event: RequestReceived, now: Instant) -> InPieces[NoReturn, FetchRequest | FetchResponse]:
        request: FetchRequest = event.body  # type: ignore[assignment]
        by_ids = event.api_version >= _FIRST_VERSION_BY_ID
        if request.session_epoch in (FULL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION and (ended := self.cache.get(request.session_id)) is not None:
                self.cache.remove(ended)
            request = yield from _each_once(request)
            if request.session_epoch == FULL_EPOCH:
                self._begin(event, _Open(event.connection.connection_id, request, by_ids, None))
            return request
        session = self.cache.get(request.session_id)
        if session is None:
            return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.by_ids != by_ids:
            return FetchResponse(error_code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.epoch = next_epoch(session.epoch)
        yield from _update(session, request)
        if not session.partitions:
            self.cache.remove(session)
            return (yield from _each_once(request))
        if not self.cache.touch(session, now):
            return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        cached = [(each.topic, each.topic_id, each.wanted) for each in session.partitions.values()]
        whole = replace(request, topics=(yield from _topics(cached)), forgotten_topics_data=())
        self._begin(event, _Open(event.connection.connection_id, whole, by_ids, session, session.epoch))
        return whole

    def _begin(self, event: RequestReceived, one: _Open) -> None:
        self._open[event.request_id] = one

    # What leaves.

    def completed(self, effects: Effects, now: Instant, wall: WallClock) -> Effects:
        """With the answers to requests in sessions as these want them, now or a little later."""
        if not self._open:
            return effects
        out: Effects = []
        for each in effects:
            one = self._open.pop(each.request_id, None) if isinstance(each, Respond) else None
            if one is None or not isinstance(each, Respond):
                out.append(each)
            else:
                out += self._complete(each, one, now, wall)
        return out

    def _complete(self, answer: Respond, one: _Open, now: Instant, wall: WallClock) -> Effects:
        body = answer.body
        assert isinstance(body, FetchResponse), "it answers Fetch"
        if body.error_code != ErrorCode.NONE:  # what a client did not name it is not told of
            return [answer if one.session is None else replace(answer, body=replace(body, responses=()))]
        begun = self._beginning(one, body, now) if one.session is None else _difference(one, one.session, body)
        return self._long.first(
            Asker(answer.request_id, one.request, None, one.connection_id),
            begun,
            lambda found, *_: [Respond(answer.request_id, found)],
            now,
            wall,
            doing="answered",
        )

    def _beginning(self, one: _Open, answer: FetchResponse, now: Instant) -> InPieces[NoReturn, FetchResponse]:
        wanted = yield from _wanted(one.request.topics)
        partitions: dict[Key, Cached] = {}
        for topic in answer.responses:
            for data in topic.partitions:
                key = key_of(topic.topic, topic.topic_id, data.partition_index)
                partitions[key] = Cached(*wanted[key], data.high_watermark, data.log_start_offset)
                yield None
        session_id = self.cache.create(partitions, now, is_followers=_follower(one.request), by_ids=one.by_ids)
        return replace(answer, session_id=session_id)


def _follower(request: FetchRequest) -> bool:
    return max(request.replica_id, request.replica_state.replica_id) >= 0


def _difference(one: _Open, session: Session, answer: FetchResponse) -> InPieces[NoReturn, FetchResponse]:
    """What its client has not heard yet. What it gets records of, it is asked for last next time."""
    if session.epoch != one.epoch:
        return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=session.id)
    topics: list[FetchableTopicResponse] = []
    for topic in answer.responses:
        told: list[PartitionData] = []
        for data in topic.partitions:
            key = key_of(topic.topic, topic.topic_id, data.partition_index)
            cached = session.partitions.get(key)
            if cached is not None and cached.has_news(data):
                told.append(data)
                if data.records:
                    session.partitions[key] = session.partitions.pop(key)
            yield None
        if told:
            topics.append(replace(topic, partitions=tuple(told)))
    return replace(answer, session_id=session.id, responses=tuple(topics))


def _update(session: Session, request: FetchRequest) -> InPieces[NoReturn, None]:
    """What is wanted otherwise than before, and what no more. In this order, as in Kafka."""
    partitions = session.partitions
    for topic in request.topics:
        for wanted in topic.partitions:
            key = key_of(topic.topic, topic.topic_id, wanted.partition)
            cached = partitions.get(key)
            if cached is None:
                partitions[key] = Cached(topic.topic, topic.topic_id, wanted)
            else:
                cached.wanted = wanted
            yield None
    for forgotten in request.forgotten_topics_data:
        for index in forgotten.partitions:
            partitions.pop(key_of(forgotten.topic, forgotten.topic_id, index), None)
            yield None


def _wanted(topics: Iterable[FetchTopic]) -> InPieces[NoReturn, _Wanted]:
    """What is named twice counts as it is named last, where it is named first, as in Kafka."""
    found: _Wanted = {}
    for topic in topics:
        for one in topic.partitions:
            found[key_of(topic.topic, topic.topic_id, one.partition)] = topic.topic, topic.topic_id, one
            yield None
    return found


def _each_once(request: FetchRequest) -> InPieces[NoReturn, FetchRequest]:
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        return request
    found = yield from _wanted(request.topics)
    return replace(request, topics=(yield from _topics([*found.values()])), forgotten_topics_data=())


def _topics(wanted: Sequence[tuple[str, Uuid, FetchPartition]]) -> InPieces[NoReturn, tuple[FetchTopic, ...]]:
    """In this order: a topic whose partitions do not stand together is named again."""
    topics: list[tuple[str, Uuid, list[FetchPartition]]] = []
    last: tuple[Any, ...] = ()
    for topic, topic_id, one in wanted:
        if (topic, topic_id) != last:
            last = topic, topic_id
            topics.append((topic, topic_id, []))
        topics[-1][2].append(one)
        yield None
    return tuple(FetchTopic(topic=name, topic_id=topic_id, partitions=tuple(all_)) for name, topic_id, all_ in topics)
