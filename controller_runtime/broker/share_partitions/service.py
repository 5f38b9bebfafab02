"""ShareFetch and ShareAcknowledge on the broker that leads the partitions, and what happens around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from controller_runtime.broker.effects import RecordsRead, TimestampFound, WorkId
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering, Effects, Handler, LongAnswers
from controller_runtime.broker.peers import Peers
from controller_runtime.broker.purgatory import Purgatory
from controller_runtime.broker.share_facts import ShareFacts
from controller_runtime.broker.share_partitions import answers, judged
from controller_runtime.broker.share_partitions.acknowledgements import Acknowledgements, apply
from controller_runtime.broker.share_partitions.counts import ShareCounts
from controller_runtime.broker.share_partitions.fetches import Found, ShareFetch, ShareFetches
from controller_runtime.broker.share_partitions.judged import Judged
from controller_runtime.broker.share_partitions.led import OWN_WORK, LedShares
from controller_runtime.broker.share_partitions.persister import Persister
from controller_runtime.coordinator.share_partitions.acquiring import Wish
from controller_runtime.coordinator.share_partitions.judging import FIRST_VERSION_WITH_RENEWALS
from controller_runtime.coordinator.share_partitions.sessions import FINAL_EPOCH, Member, Place, Session, ShareSessions
from controller_runtime.coordinator.share_partitions.settings import ShareSettings
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import CallId, ConnectionId, ConnectionInfo, RequestReceived
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.share_acknowledge_request import ShareAcknowledgeRequest
from controller_runtime.protocol.messages.share_acknowledge_response import ShareAcknowledgeResponse
from controller_runtime.protocol.messages.share_fetch_request import ShareFetchRequest
from controller_runtime.protocol.messages.share_fetch_response import PartitionData, ShareFetchResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

_RECORD_LIMIT: Final = 1
"""`share_acquire_mode`: exactly as many records as are wanted."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What share partitions use of the rest of the broker."""

    partitions: LocalPartitions
    long: LongAnswers
    faults: FailedRequests
    peers: Peers
    make_topic: Callable[[Instant], None]
    """Ask for `__share_group_state`."""
    may_read: Callable[[ConnectionInfo, str], bool]
    """Whether who speaks there may read a topic."""


@dataclass(slots=True, eq=False)
class _Fetching:
    """A ShareFetch: it is answered when its records are found and what it says of others is kept."""

    event: RequestReceived
    session: Session | None
    epoch: int
    """Of the session's next request; another one by then: somebody else went on with it."""
    found: Found | None = None
    are_kept: bool = False


class SharePartitions:
    def __init__(self, outside: Outside, settings: ShareSettings) -> None:
        self._outside = outside
        self._partitions, self._long = outside.partitions, outside.long
        self._sessions: Final = ShareSessions(settings.max_sessions)
        self._persister: Final = Persister(outside.peers, lambda: outside.partitions.image, outside.make_topic)
        self._fetches: Final = ShareFetches(outside.long, lambda: self._led, lambda: outside.partitions.now)
        self._led: Final = LedShares(outside.partitions, settings, self._persister, self._fetches.wake)
        self._refused: Purgatory[None, Respond] = Purgatory()
        """Who found no room for a session: they are told when they would have waited for records."""
        self._counts: Final = ShareCounts()
        self._evictions = 0
        self._out: Effects = []
        self._image = outside.partitions.image

    @property
    def facts(self) -> ShareFacts:
        counts, sessions = self._counts, self._sessions
        return ShareFacts(
            sessions=len(sessions),
            partitions=sessions.partition_count,
            evictions=self._evictions,
            fetches=counts.fetches,
            failed_fetches=counts.failed_fetches,
            acknowledgements=counts.acknowledgements,
            failed_acknowledgements=counts.failed_acknowledgements,
            records=dict(counts.records),
            loads=self._led.loads,
            last_loads_s=tuple(self._led.last_loads_s),
        )

    # Requests.

    def handlers(self) -> Mapping[int, Handler]:
        return {
            ApiKey.SHARE_FETCH: self._long.handler(self._on_fetch),
            ApiKey.SHARE_ACKNOWLEDGE: self._long.handler(self._on_acknowledge),
        }

    def _on_fetch(self, event: RequestReceived, request: ShareFetchRequest, now: Instant, _: WallClock) -> Answering:
        image, version, who = self._partitions.image, event.api_version, event.connection
        error = judged.fault_of(image, request)
        if error == ErrorCode.NONE and judged.asks_for_too_much(request, version):
            error = ErrorCode.INVALID_REQUEST
        if error != ErrorCode.NONE:
            return [_refusal(event, ShareFetchResponse(error_code=error))]
        may_read = self._may_read(who)
        said = Judged()
        if judged.has_acknowledgements(request):
            said = yield from judged.judged(image, request, version, may_read)
        session = judged.session_of(self._sessions, image, request, who.connection_id)
        if isinstance(session, ErrorCode):
            refusal = _refusal(event, ShareFetchResponse(error_code=session))
            if session != ErrorCode.SHARE_SESSION_LIMIT_REACHED:
                return [refusal]
            self._refused.add(refusal, (), Instant(now + max(0, request.max_wait_ms) / 1000), who.connection_id)
            return []
        one = _Fetching(event, session, 0 if session is None else session.epoch)
        kept = Acknowledgements(lambda: self._kept(one, kept, said), said.results)
        self._apply(request, said, kept, now)
        is_renewal = version >= FIRST_VERSION_WITH_RENEWALS and request.is_renew_ack
        if session is None or is_renewal:
            self._found(one, kept, {})
            return self._taken()
        errors, wanted = yield from self._sorted(session, request.share_session_epoch, may_read)
        if not wanted or request.max_records == 0 or request.max_bytes == 0:
            self._found(one, kept, errors)
            return self._taken()
        most_bytes = request.max_bytes
        if most_bytes < 0 or request.share_acquire_mode not in (0, _RECORD_LIMIT):
            bad = {place: PartitionData(partition_index=place[1], error_code=-1) for place, _ in wanted}
            self._found(one, kept, {**bad, **errors})
            return self._taken()
        fetch = ShareFetch(
            event=event,
            group_id=request.group_id or "",
            wish=Wish(
                request.member_id or "",
                request.max_records,
                max(1, request.batch_size),
                exactly=request.share_acquire_mode == _RECORD_LIMIT,
            ),
            min_bytes=min(request.min_bytes, most_bytes),
            max_bytes=most_bytes,
            deadline=Instant(now + max(0, request.max_wait_ms) / 1000),
            partitions=wanted,
            then=lambda found: self._then(one, kept, found, errors),
        )
        self._counts.fetched(place for place, _ in wanted)
        begun = self._fetches.begin(fetch)
        return [*self._taken(), *begun]

    def _may_read(self, who: ConnectionInfo) -> judged.MayRead:
        known: dict[str, bool] = {}

        def may(topic: str) -> bool:
            if topic not in known:
                known[topic] = self._outside.may_read(who, topic)
            return known[topic]

        return may

    def _sorted(self, session: Session, epoch: int, may_read: judged.MayRead) -> Any:
        """What cannot be served; and what is, in the order of this request's turn."""
        image = self._partitions.image
        errors: Found = {}
        wanted: list[tuple[Place, str]] = []
        for place, one in list(session.partitions.items()):
            topic = image.topics.get(place[0])
            error = ErrorCode.NONE
            if one.topic is None:
                error = ErrorCode.UNKNOWN_TOPIC_ID
            elif not may_read(one.topic):
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif topic is None or not 0 <= place[1] < topic.partition_count:
                error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                wanted.append((place, one.topic))
            if error != ErrorCode.NONE:
                errors[place] = PartitionData(partition_index=place[1], error_code=error)
            yield None
        turn = epoch % len(wanted) if wanted and epoch >= 1 else 0
        return errors, wanted[turn:] + wanted[:turn]

    def _apply(
        self, request: ShareFetchRequest | ShareAcknowledgeRequest, said: Judged, into: Acknowledgements, now: Instant
    ) -> None:
        if said.said:
            self._counts.acknowledged(said.said)
            apply(self._led, _member(request), said.said, into, now)
        into.close()

    def _then(self, one: _Fetching, kept: Acknowledgements, found: Found, errors: Found) -> Effects:
        self._counts.fetch_failed(place for place, each in found.items() if each.error_code != ErrorCode.NONE)
        self._found(one, kept, {**found, **errors})
        return self._taken()

    def _found(self, one: _Fetching, kept: Acknowledgements, found: Found) -> None:
        one.found = found
        if one.are_kept:
            self._answer(one, kept)

    def _kept(self, one: _Fetching, kept: Acknowledgements, said: Judged) -> None:
        self._counts.settled(said.said, kept.results)
        one.are_kept = True
        if one.found is not None:
            self._answer(one, kept)

    def _answer(self, one: _Fetching, kept: Acknowledgements) -> None:
        request, event, session = one.event.body, one.event, one.session
        assert isinstance(request, ShareFetchRequest), "it asks for records"
        found = one.found or {}
        if session is not None and request.share_session_epoch > 0:
            if session.epoch != one.epoch:
                answer = ShareFetchResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
                self._out.append(Respond(event.request_id, answer))
                return
            found = answers.news(session, found)
        lock_ms = self._led.limits(request.group_id or "").record_lock_ms
        body = answers.fetched(self._partitions, event.connection.listener, found, kept.results, lock_ms)
        if request.share_session_epoch == FINAL_EPOCH:
            self._release(_member(request))
        self._out.append(Respond(event.request_id, body))

    def _on_acknowledge(
        self, event: RequestReceived, request: ShareAcknowledgeRequest, now: Instant, _: WallClock
    ) -> Answering:
        image = self._partitions.image
        error = judged.fault_of(image, request)
        if error == ErrorCode.NONE:
            error = judged.acknowledging_session(self._sessions, request)
        if error != ErrorCode.NONE:
            return [_refusal(event, ShareAcknowledgeResponse(error_code=error))]
        may_read = self._may_read(event.connection)
        said = yield from judged.judged(image, request, event.api_version, may_read)
        kept = Acknowledgements(lambda: self._acknowledged(event, request, kept, said), said.results)
        self._apply(request, said, kept, now)
        return self._taken()

    def _acknowledged(
        self, event: RequestReceived, request: ShareAcknowledgeRequest, kept: Acknowledgements, said: Judged
    ) -> None:
        self._counts.settled(said.said, kept.results)
        group_id = request.group_id or ""
        if request.share_session_epoch == FINAL_EPOCH:
            self._release(_member(request))
        lock_ms = self._led.limits(group_id).record_lock_ms
        body = answers.acknowledged(self._partitions, event.connection.listener, kept.results, lock_ms)
        self._out.append(Respond(event.request_id, body))

    # Sessions that end.

    def _release(self, member: Member) -> None:
        session = self._sessions.remove(member)
        if session is not None:
            self._let_go(session)

    def _let_go(self, session: Session) -> None:
        """What its member had goes to others."""
        for place in session.partitions:
            led = self._led.by_key.get(ShareKey(session.member.group_id, *place))
            if led is not None:
                self._led.release(led, session.member.member_id)

    def on_closed(self, connection_id: ConnectionId) -> Effects:
        self._refused.closed(connection_id)
        out = self._fetches.on_closed(connection_id)
        session, group_id = self._sessions.closed(connection_id)
        if session is not None:
            self._evictions += 1
            self._let_go(session)
        if group_id is not None and not self._sessions.has_members(group_id):
            self._led.drop_group(group_id)
        return out

    # Around it.

    def on_changed(self, key: PartitionId, _: Instant, __: WallClock) -> Effects:
        self._led.on_changed(key)
        return []

    def on_written(self, leader: Leader) -> None:
        self._fetches.on_written(leader)

    def owns(self, work_id: WorkId) -> bool:
        return work_id < OWN_WORK

    def on_read(self, event: RecordsRead) -> Effects:
        return self._fetches.on_read(event) if self._fetches.owns(event.work_id) else []

    def on_found(self, event: TimestampFound) -> None:
        self._led.on_found(event)

    def owns_call(self, call_id: CallId) -> bool:
        return self._persister.owns(call_id)

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> Effects:
        self._persister.on_response(call_id, body, now)
        return self._taken()

    def on_failure(self, call_id: CallId, now: Instant) -> Effects:
        self._persister.on_failure(call_id, now)
        return self._taken()

    # Time.

    @property
    def has_more_to_do(self) -> bool:
        return self._fetches.has_woken or self._persister.has_ready

    def next_deadline(self) -> Instant | None:
        wanted = (each.next_deadline() for each in (self._led, self._fetches, self._persister, self._refused))
        return min((at for at in wanted if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        """After every event."""
        out: Effects = []
        try:
            self._see_image()
            out += self._persister.poll(now, wall)
            out += self._led.poll(now, wall)
            out += self._fetches.poll(now)
            out += self._refused.expired(now)
        except Exception as error:
            out.append(self._outside.faults.count(ApiKey.SHARE_FETCH, "coordinated", error))
        return [*out, *self._taken()]

    def _see_image(self) -> None:
        """Where the cluster has no share groups any more, nothing is left of them."""
        before, self._image = self._image, self._partitions.image
        if before.features is not self._image.features and self._image.features.level(judged.FEATURE) < 1:
            self._sessions.clear()
            self._led.drop_all()

    def _taken(self) -> Effects:
        out, self._out = self._out, []
        return out


def _refusal(event: RequestReceived, answer: Message) -> Respond:
    return Respond(event.request_id, answer)


def _member(request: ShareFetchRequest | ShareAcknowledgeRequest) -> Member:
    return Member(request.group_id or "", request.member_id or "")
