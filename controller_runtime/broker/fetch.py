"""Fetch: read what is there, or wait for it, no longer than the client asked.

Every request is answered in full: what a fetch session makes of it is decided around this (`session_fetches`). A
request that finds too little waits in a purgatory and is tried again when one of its partitions grows or changes
hands, or at its deadline.
Reading happens in the shell; between the question and the data the log may only have grown. A follower reads to the end
of the log, everybody else to the high watermark; where it has come is learned when its request arrives, once.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.effects import (
    BrokerEffect,
    CancelRead,
    Data,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    WorkId,
    plain,
)
from controller_runtime.broker.fetch_refusals import UNKNOWN, failed, refused
from controller_runtime.broker.in_sync import InSync
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.leader_hints import FIRST_VERSION_OF_FETCH, LeaderHints
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering, LongAnswers
from controller_runtime.broker.offsets import ISOLATION_LEVELS, READ_COMMITTED
from controller_runtime.broker.partition import NO_EPOCH, NO_OFFSET, OpenLog
from controller_runtime.broker.purgatory import ANY_LEVEL, Purgatory, Ticket
from controller_runtime.broker.quiet_partitions import QuietPartitions
from controller_runtime.broker.replication.follower import Follower
from controller_runtime.broker.replication.preferred_replica import Reader, preferred_replica
from controller_runtime.broker.unstable_offsets import aborted_transactions
from controller_runtime.identifiers import ZERO_UUID, Instant, NodeId, PartitionId
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from controller_runtime.values import dataclass, field, replace

MAX_RESPONSE_BYTES: Final = 55 << 20
"""Kafka's `fetch.max.bytes` of the broker: no answer is larger, whatever is asked."""
NOBODY: Final = -1
"""As the id of a follower."""
_FIRST_VERSION_FROM_FOLLOWERS: Final = 11
_FIRST_VERSION_BY_ID: Final = 13
_Awaited = tuple[PartitionId, int]
"""What a fetch waits for: a partition's high watermark (False), for followers its end (True), or what is stable."""
_STABLE: Final = 2


@dataclass(frozen=True, slots=True)
class Nearer:
    """A broker in the reader's rack has what it wants."""

    broker: int


Unread = ErrorCode | EpochEndOffset | Nearer
"""Why nothing is read."""


@dataclass(slots=True)
class _Fetch:
    """One request on its way."""

    event: RequestReceived
    request: FetchRequest
    deadline: Instant
    follower: int
    """The broker that replicates by it; -1: a consumer reads."""
    waits_for: dict[PartitionId, int] = field(default_factory=dict)
    """Up to where each partition could be read when it was looked at last."""
    knows: dict[PartitionId, int] = field(default_factory=dict)
    """The high watermark that a follower has heard of, if it says so (KIP-1166)."""
    is_counted: bool = False
    """A follower's offsets were noted."""
    errors: dict[tuple[int, int], Unread] = field(default_factory=dict)
    """By the place of topic and partition in the request."""
    places: tuple[tuple[int, int], ...] = ()
    """Which places the slices being read belong to."""
    quiet: dict[tuple[int, int], Leader] = field(default_factory=dict)
    """At which places nothing has happened since the follower asked for the same before."""

    @property
    def needs_leader(self) -> bool:
        """Consumers may read from followers, too (KIP-392)."""
        return self.follower != NOBODY or self.event.api_version < _FIRST_VERSION_FROM_FOLLOWERS

    @property
    def is_stable(self) -> bool:
        """A consumer wants only what is committed."""
        return self.request.isolation_level == READ_COMMITTED and self.follower == NOBODY

    def bound(self, log: OpenLog) -> int:
        """Up to where it may read."""
        if self.follower != NOBODY:
            return log.written_offset
        return log.last_stable_offset if self.is_stable else log.high_watermark


class FetchHandler:
    def __init__(
        self, partitions: LocalPartitions, long: LongAnswers, in_sync: InSync, *, sends_near: NodeId | None = None
    ) -> None:
        """`sends_near`: who this broker is, if it sends consumers to replicas in their own rack."""
        self._sends_near = sends_near
        self._partitions = partitions
        self._long = long
        self._in_sync = in_sync
        self._quiet = QuietPartitions(partitions)
        self._parked: Purgatory[_Awaited, _Fetch] = Purgatory()
        self._reading: dict[WorkId, _Fetch] = {}
        self._last_work = 0

    def on_request(self, event: RequestReceived, request: FetchRequest, now: Instant) -> list[BrokerEffect]:
        if request.isolation_level not in ISOLATION_LEVELS:
            return [Respond(event.request_id, refused(request, event.api_version, ErrorCode.UNKNOWN_SERVER_ERROR))]
        follower = max(NOBODY, request.replica_id, request.replica_state.replica_id)
        fetch = _Fetch(event, request, Instant(now + max(0, request.max_wait_ms) / 1000), follower)
        return self._attempt(fetch, now)

    def next_deadline(self) -> Instant | None:
        return self._parked.next_deadline()

    def on_time(self, now: Instant) -> list[BrokerEffect]:
        return [effect for fetch in self._parked.expired(now) for effect in self._attempt(fetch, now)]

    def on_written(self, leader: Leader, now: Instant) -> list[BrokerEffect]:
        """More of the partition may be read: those who wait for it try again."""
        log = leader.log
        woken = self._parked.reached((log.key, False), log.high_watermark)
        if leader.replicas.remotes:
            woken += self._parked.reached((log.key, True), log.written_offset)
        if len(self._parked):
            woken += self._parked.reached((log.key, _STABLE), log.last_stable_offset)
        return self._wake(woken, now)

    def on_shown(self, log: OpenLog, now: Instant) -> list[BrokerEffect]:
        """More of a partition that is followed may be read by consumers."""
        return self._wake(self._parked.reached((log.key, False), log.high_watermark), now)

    def on_changed(self, key: PartitionId, now: Instant) -> list[BrokerEffect]:
        """Who leads it, or in which epoch, is not what it was: those who wait for it look again."""
        woken = [one for by in (False, True, _STABLE) for one in self._parked.reached((key, by), ANY_LEVEL)]
        return self._wake(woken, now)

    def _wake(self, woken: list[tuple[Ticket, _Fetch]], now: Instant) -> list[BrokerEffect]:
        """A follower may be woken twice, by the end and by the high watermark."""
        fetches = [self._parked.end(ticket) for ticket in dict(woken)]
        return [effect for fetch in fetches for effect in self._attempt(fetch, now)]

    def on_closed(self, connection_id: ConnectionId) -> list[BrokerEffect]:
        """Nobody waits any more."""
        self._parked.closed(connection_id)
        unread = [
            work_id for work_id, fetch in self._reading.items() if fetch.event.connection.connection_id == connection_id
        ]
        for work_id in unread:
            del self._reading[work_id]
        return [CancelRead(work_id) for work_id in unread]

    def on_read(self, event: RecordsRead, now: Instant) -> list[BrokerEffect]:
        fetch = self._reading.pop(event.work_id, None)
        if fetch is None:
            return []  # Its client hung up while it was read.
        try:
            return self._long.begin(fetch.event, self._answer(fetch, event, now))
        except Exception as error:
            return self._long.fail(fetch.event, error)

    def _answer(self, fetch: _Fetch, event: RecordsRead, now: Instant) -> Answering:
        total = sum(len(data) for data in event.data if not isinstance(data, ErrorCode))
        whole = not fetch.errors and not any(isinstance(data, ErrorCode) for data in event.data)
        if whole and total < fetch.request.min_bytes and now < fetch.deadline:
            if self._has_grown(fetch):
                return (yield from self._read_or_wait(fetch, now))
            self._park(fetch)
            return []
        found = dict(zip(fetch.places, event.data, strict=True))
        return [Respond(fetch.event.request_id, (yield from self._response(fetch, found)))]

    def _has_grown(self, fetch: _Fetch) -> bool:
        """While it was looked at or read it was not parked, so it has not heard what was written meanwhile."""
        logs = ((self._log(fetch, key), seen) for key, seen in fetch.waits_for.items())
        return any(log is None or fetch.bound(log) > seen for log, seen in logs) or self._has_news(fetch)

    def _log(self, fetch: _Fetch, key: PartitionId) -> OpenLog | None:
        """If it may still be read here."""
        if not fetch.needs_leader:
            return self._partitions.open_log(key)
        leader = self._partitions.led(key)
        return None if leader is None else leader.log

    def _has_news(self, fetch: _Fetch) -> bool:
        """A follower has not heard of a high watermark: as in Kafka it need not wait for anything else (KIP-1166)."""
        led = ((self._partitions.led(key), known) for key, known in fetch.knows.items())
        return any(one is not None and one.log.high_watermark > known for one, known in led)

    def _park(self, fetch: _Fetch) -> None:
        by = _STABLE if fetch.is_stable else fetch.follower != NOBODY
        levels = [((key, by), seen + 1) for key, seen in fetch.waits_for.items()]
        levels += [((key, False), known + 1) for key, known in fetch.knows.items()]
        self._parked.add(fetch, levels, fetch.deadline, fetch.event.connection.connection_id)

    # One attempt.

    def _attempt(self, fetch: _Fetch, now: Instant) -> list[BrokerEffect]:
        try:
            return self._long.begin(fetch.event, self._read_or_wait(fetch, now))
        except Exception as error:
            return self._long.fail(fetch.event, error)

    def _read_or_wait(self, fetch: _Fetch, now: Instant) -> Answering:
        """Read what can be read, answer what cannot be served, or wait."""
        while True:
            slices = yield from self._look(fetch)
            if slices:
                self._last_work += 1
                work_id = WorkId(self._last_work)
                self._reading[work_id] = fetch
                limit = min(fetch.request.max_bytes, MAX_RESPONSE_BYTES)
                return [ReadRecords(work_id, tuple(slices), limit)]
            patient = fetch.request.min_bytes > 0 and now < fetch.deadline and not self._has_news(fetch)
            if not patient or fetch.errors or not fetch.waits_for:
                return [Respond(fetch.event.request_id, (yield from self._response(fetch, {})))]
            if not self._has_grown(fetch):
                self._park(fetch)
                return []

    def _look(self, fetch: _Fetch) -> InPieces[BrokerEffect, list[ReadSlice]]:
        """What can be read now."""
        fetch.errors, fetch.waits_for, fetch.knows, fetch.quiet = {}, {}, {}, {}
        slices: list[ReadSlice] = []
        places: list[tuple[int, int]] = []
        for topic_place, topic in enumerate(fetch.request.topics):
            for place, wanted in enumerate(topic.partitions):
                yield None
                quiet = None if fetch.follower == NOBODY else self._still_quiet(topic, wanted, fetch)
                if quiet is not None:
                    fetch.quiet[topic_place, place] = quiet
                    continue
                found = self._judge(topic, wanted, fetch)
                if not isinstance(found, OpenLog):
                    fetch.errors[topic_place, place] = found
                    continue
                bound = fetch.waits_for[found.key] = fetch.bound(found)
                if fetch.follower != NOBODY:
                    fetch.knows[found.key] = max(NO_OFFSET, wanted.high_watermark)
                if wanted.fetch_offset < bound and not self._in_sync.holds_back(found, fetch.follower):
                    most = wanted.partition_max_bytes
                    slices.append(ReadSlice(found.key, wanted.fetch_offset, most, bound, stable=fetch.is_stable))
                    places.append((topic_place, place))
        fetch.places, fetch.is_counted = tuple(places), True
        return slices

    def _still_quiet(self, topic: FetchTopic, wanted: FetchPartition, fetch: _Fetch) -> Leader | None:
        epoch = fetch.request.replica_state.replica_epoch
        leader = self._quiet.find(fetch.follower, epoch, topic, wanted)
        if leader is None:
            return None
        if not fetch.is_counted:
            self._quiet.fetched(leader, fetch.follower)
        fetch.waits_for[leader.log.key] = leader.log.written_offset
        if wanted.high_watermark < leader.log.high_watermark:
            fetch.knows[leader.log.key] = max(NO_OFFSET, wanted.high_watermark)
        return leader

    def _judge(self, topic: FetchTopic, wanted: FetchPartition, fetch: _Fetch) -> OpenLog | Unread:
        """What is read, or why not, or where the reader's history parts from ours."""
        request = fetch.request
        if topic.topic_id == ZERO_UUID and fetch.event.api_version >= _FIRST_VERSION_BY_ID:
            return ErrorCode.UNKNOWN_TOPIC_ID
        known = max(NO_EPOCH, wanted.current_leader_epoch)
        found = self._find(fetch, topic, wanted.partition, known)
        if isinstance(found, ErrorCode):
            return found
        if isinstance(found, Leader):
            if fetch.follower != NOBODY and fetch.follower not in found.replicas.remotes:
                # As in Kafka: who knows the epoch knows more than this broker, perhaps a reassignment.
                return ErrorCode.NOT_LEADER_OR_FOLLOWER if known == NO_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH
            if (nearer := self._nearer(fetch, found, wanted.fetch_offset)) is not None:
                return Nearer(nearer)
        if wanted.partition_max_bytes < 0 or request.max_bytes < 0:
            return ErrorCode.UNKNOWN_SERVER_ERROR  # as Kafka, which cannot make room for so few
        if wanted.last_fetched_epoch >= 0:
            epoch, end = found.end_of_epoch(wanted.last_fetched_epoch)
            if NO_EPOCH in (epoch, end) or wanted.fetch_offset < found.log.start_offset:
                return ErrorCode.OFFSET_OUT_OF_RANGE
            if epoch < wanted.last_fetched_epoch or end < wanted.fetch_offset:
                return EpochEndOffset(epoch=epoch, end_offset=end)
        if not found.log.start_offset <= wanted.fetch_offset <= found.log.end_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        if isinstance(found, Leader) and fetch.follower != NOBODY and not fetch.is_counted:
            error = self._note(found, wanted, fetch)
            if error != ErrorCode.NONE:
                return error
            self._quiet.judged(found, fetch.follower, wanted)
        return found.log

    def _find(
        self, fetch: _Fetch, topic: FetchTopic, index: int, known: int = NO_EPOCH
    ) -> Leader | Follower | ErrorCode:
        partitions = self._partitions
        is_fenced = partitions.image.cluster.unfenced(partitions.node_id) is None  # It serves nobody.
        find = partitions.find if fetch.needs_leader or is_fenced else partitions.find_replica
        return find(topic.topic, topic.topic_id, index, known)

    def _nearer(self, fetch: _Fetch, leader: Leader, offset: int) -> int | None:
        """The broker from which this consumer had better read."""
        if self._sends_near is None or fetch.needs_leader:
            return None
        reader = Reader(fetch.request.rack_id, fetch.event.connection.listener)
        cluster = self._partitions.image.cluster
        return preferred_replica(self._sends_near, leader.replicas, offset, reader, cluster)

    def _note(self, leader: Leader, wanted: FetchPartition, fetch: _Fetch) -> ErrorCode:
        epoch = fetch.request.replica_state.replica_epoch
        return self._in_sync.fetched(leader, fetch.follower, wanted.fetch_offset, wanted.log_start_offset, epoch)

    def _response(self, fetch: _Fetch, data: dict[tuple[int, int], Data]) -> InPieces[BrokerEffect, FetchResponse]:
        """In the order of the request, but for what is not known: as in Kafka that comes last."""
        topics: list[FetchableTopicResponse] = []
        unknown: list[FetchableTopicResponse] = []
        hints = None
        if fetch.event.api_version >= FIRST_VERSION_OF_FETCH:
            hints = LeaderHints(self._partitions, fetch.event.connection.listener)
        for topic_place, topic in enumerate(fetch.request.topics):
            read: list[PartitionData] = []
            unread: list[PartitionData] = []
            for place, wanted in enumerate(topic.partitions):
                quiet = fetch.quiet.get((topic_place, place))
                if quiet is not None and self._quiet.is_known(quiet, fetch.follower, wanted):
                    yield None
                    continue
                one = self._partition(fetch, topic, (topic_place, place), data, hints)
                (unread if one.error_code in UNKNOWN else read).append(one)
                yield None
            for told, partitions in ((topics, read), (unknown, unread)):
                if partitions:
                    told.append(
                        FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=tuple(partitions))
                    )
        if topics and unknown and (topics[-1].topic, topics[-1].topic_id) == (unknown[0].topic, unknown[0].topic_id):
            last = topics.pop()
            unknown[0] = replace(last, partitions=last.partitions + unknown[0].partitions)
        endpoints = () if hints is None else hints.endpoints_of_fetch()
        return FetchResponse(responses=(*topics, *unknown), node_endpoints=endpoints)

    def _partition(
        self,
        fetch: _Fetch,
        topic: FetchTopic,
        place: tuple[int, int],
        data: dict[tuple[int, int], Data],
        hints: LeaderHints | None,
    ) -> PartitionData:
        wanted = topic.partitions[place[1]]
        records = data.get(place, b"")
        judged = fetch.errors.get(place)
        found = judged if isinstance(judged, ErrorCode) else self._find(fetch, topic, wanted.partition)
        if isinstance(records, ErrorCode) and not isinstance(found, ErrorCode):
            found = records
        if isinstance(found, ErrorCode):
            told = failed(wanted.partition, found)
            if hints is None:
                return told
            leader = hints.of_fetch(found, topic.topic, topic.topic_id, wanted.partition)
            return replace(told, current_leader=leader)
        sent = None if isinstance(records, ErrorCode) else plain(records)
        if isinstance(found, Leader) and fetch.follower != NOBODY:
            self._quiet.told(found, fetch.follower, wanted)
            if sent:
                self._in_sync.sent(found.log, len(sent))
        nearer = judged.broker if isinstance(judged, Nearer) else None
        wants_aborted = nearer is None and fetch.request.isolation_level == READ_COMMITTED
        return PartitionData(
            partition_index=wanted.partition,
            high_watermark=found.log.high_watermark,
            last_stable_offset=found.log.last_stable_offset,
            log_start_offset=found.log.start_offset,
            diverging_epoch=judged if isinstance(judged, EpochEndOffset) else EpochEndOffset(),
            preferred_read_replica=-1 if nearer is None else nearer,
            aborted_transactions=aborted_transactions(records) if wants_aborted else None,
            records=sent,
        )
