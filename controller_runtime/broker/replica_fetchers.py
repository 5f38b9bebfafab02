"""Copying what others lead: one conversation with each broker that leads something of which a replica is here.

As Apache Kafka's follower it asks for all that it follows there at once, waits at the leader for something new, and
asks again when what it was given is on its disk; in a fetch session a request names only what changed. An offset that
the leader does not have is looked up (ListOffsets). What fails for one partition is tried again later, and keeps no
other one waiting; what a partition's answer means is in `replication.follower`. A request and an answer are worked on
in pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.broker.effects import AppendRecords, BrokerEffect, CutLog, DeleteBefore, RestartLog
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.offsets import EARLIEST, LATEST
from controller_runtime.broker.replication.follower import Cut, Follower, Position
from controller_runtime.broker.replication.leader_session import LeaderSession, Named
from controller_runtime.broker.replication.throttles import Throttle
from controller_runtime.identifiers import BrokerEpoch, Endpoint, Instant, NodeId, PartitionId, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call, Log
from controller_runtime.parts.events import CallId
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.parts.pieces import InPieces, LongWork
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import fetch_request, list_offsets_request
from controller_runtime.protocol.messages.fetch_request import FetchRequest, ReplicaState
from controller_runtime.protocol.messages.fetch_response import FetchResponse, PartitionData
from controller_runtime.protocol.messages.list_offsets_request import ListOffsetsRequest
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.record_batch import CorruptBatch
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

_TIMEOUT_MS: Final = 30_000
_PASSING: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)
"""One of two brokers has not heard the newest yet."""
_QUIET_S: Final = 60.0
_NAMED: Final = frozenset(int(code) for code in ErrorCode)
Work = InPieces[BrokerEffect, None]


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Kafka's `replica.fetch.…` and its defaults."""

    wait_ms: int = 500
    min_bytes: int = 1
    partition_bytes: int = 1 << 20
    answer_bytes: int = 10 << 20
    backoff_ms: int = 1_000


@dataclass(slots=True)
class _Source:
    """A broker that leads something that is followed here."""

    leader: NodeId
    in_flight: CallId | None = None
    asked: dict[PartitionId, Position] = field(default_factory=dict)
    locating: dict[PartitionId, tuple[Position, int]] = field(default_factory=dict)
    """Offsets to look up at the leader, and which: its end, or its beginning."""
    writing: set[PartitionId] = field(default_factory=set)
    """What the last answer brought, while it is on its way to the disk: one disk's slowness is the pace of all, as in
    Kafka.
    """
    held: dict[PartitionId, tuple[Instant, int]] = field(default_factory=dict)
    """Until when a partition is left out, unless its leader epoch grows before."""
    told: dict[int, Instant] = field(default_factory=dict)
    """When an error of a partition was logged last."""
    session: LeaderSession = field(default_factory=LeaderSession)
    work: LongWork[BrokerEffect, None] | None = None
    not_before: Instant = Instant(0.0)


class ReplicaFetchers:
    def __init__(
        self,
        node_id: NodeId,
        partitions: LocalPartitions,
        calls: CallIds,
        faults: FailedRequests,
        *,
        listener: str,
        settings: FetchSettings,
        throttle: Throttle,
    ) -> None:
        """`listener`: at which brokers speak with each other."""
        self._throttle = throttle
        self._node_id = node_id
        self._partitions = partitions
        self._calls = calls
        self._listener = listener
        self._settings = settings
        self._faults = faults
        self._sources: dict[NodeId, _Source] = {}

    def owns(self, call_id: CallId) -> bool:
        return any(source.in_flight == call_id for source in self._sources.values())

    def next_deadline(self) -> Instant | None:
        wanted: list[Instant] = []
        for source in self._sources.values():
            if source.work is not None:
                return Instant(0.0)
            if source.in_flight is None and not source.writing:
                wanted.append(source.not_before)
        return min(wanted, default=None)

    def poll(self, image: MetadataImage, broker_epoch: BrokerEpoch, now: Instant) -> list[BrokerEffect]:
        out: list[BrokerEffect] = []
        following = self._partitions.following
        for leader in following:
            if leader not in self._sources:
                self._sources[leader] = _Source(leader)
        for leader, source in list(self._sources.items()):
            self._go_on(source, out)
            if leader not in following and source.in_flight is None and source.work is None:
                del self._sources[leader]
            elif self._is_ready(source, now):
                self._begin(source, image, broker_epoch, now)
                self._go_on(source, out)
        return out

    def _go_on(self, source: _Source, out: list[BrokerEffect]) -> None:
        if source.work is not None:
            source.work.go_on(out)
            if source.work.is_over:
                source.work = None

    def _is_ready(self, source: _Source, now: Instant) -> bool:
        if source.in_flight is not None or source.work is not None or now < source.not_before:
            return False
        followed = self._partitions.following.get(source.leader, {})
        source.writing = {key for key in source.writing if key in followed and not followed[key].is_settled}
        return not source.writing

    def _begin(self, source: _Source, image: MetadataImage, broker_epoch: BrokerEpoch, now: Instant) -> None:
        endpoint = self._endpoint(image, source.leader)
        source.not_before = self._later(now)
        if endpoint is not None and broker_epoch >= 0:
            source.work = LongWork(self._ask(source, image, endpoint, broker_epoch, now))

    def _endpoint(self, image: MetadataImage, leader: NodeId) -> Endpoint | None:
        broker = image.cluster.brokers.get(leader)
        listener = None if broker is None else broker.listeners.get(self._listener)
        return None if listener is None else listener.endpoint

    def _later(self, now: Instant) -> Instant:
        return Instant(now + self._settings.backoff_ms / 1000)

    # Asking.

    def _ask(
        self, source: _Source, image: MetadataImage, endpoint: Endpoint, broker_epoch: BrokerEpoch, now: Instant
    ) -> Work:
        if source.locating:
            yield self._call(source, endpoint, self._located(source, image))
            return
        asked: dict[PartitionId, Position] = {}
        wanted: dict[PartitionId, fetch_request.FetchPartition] = {}
        for key, follower in list(self._partitions.following.get(source.leader, {}).items()):
            yield None
            held = source.held.get(key)
            if held is not None and now < held[0] and follower.epoch == held[1]:
                continue
            source.held.pop(key, None)
            if not follower.is_settled or follower.epoch < 0:
                continue
            if (cut := follower.first_cut) is not None:
                yield self._cut(source, follower, cut)
                continue
            if self._is_throttled(follower, now):
                continue
            position = asked[key] = follower.position()
            wanted[key] = self._partition(key, position)
        if asked:
            source.asked = asked
            named = yield from source.session.next(wanted)
            yield self._call(source, endpoint, self._request(named, image, broker_epoch))

    def _is_throttled(self, follower: Follower, now: Instant) -> bool:
        """It is left out of a request, as in Kafka: what has caught up never is."""
        if follower.has_caught_up or not self._throttle.is_exceeded(now):
            return False
        return self._throttle.concerns(follower.log.topic, follower.log.key.index)

    def _call(self, source: _Source, endpoint: Endpoint, body: Message) -> Call:
        source.in_flight = self._calls.next()
        return Call(source.in_flight, f"replica-{source.leader}", endpoint, body, _TIMEOUT_MS, at_broker=True)

    def _partition(self, key: PartitionId, position: Position) -> fetch_request.FetchPartition:
        return fetch_request.FetchPartition(
            partition=key.index,
            current_leader_epoch=position.epoch,
            fetch_offset=position.offset,
            last_fetched_epoch=position.last_epoch,
            log_start_offset=position.log_start,
            partition_max_bytes=self._settings.partition_bytes,
            high_watermark=position.high_watermark,
        )

    def _request(self, named: Named, image: MetadataImage, broker_epoch: BrokerEpoch) -> FetchRequest:
        topics: dict[Uuid, list[fetch_request.FetchPartition]] = {}
        forgotten: dict[Uuid, list[int]] = {}
        for key, partition in named.wanted:
            topics.setdefault(key.topic_id, []).append(partition)
        for key in named.forgotten:
            forgotten.setdefault(key.topic_id, []).append(key.index)
        return FetchRequest(
            replica_state=ReplicaState(replica_id=self._node_id, replica_epoch=broker_epoch),
            max_wait_ms=self._settings.wait_ms,
            min_bytes=self._settings.min_bytes,
            max_bytes=self._settings.answer_bytes,
            session_id=named.session_id,
            session_epoch=named.epoch,
            topics=tuple(
                fetch_request.FetchTopic(topic=_name(image, each), topic_id=each, partitions=tuple(partitions))
                for each, partitions in topics.items()
            ),
            forgotten_topics_data=tuple(
                fetch_request.ForgottenTopic(topic=_name(image, each), topic_id=each, partitions=tuple(indexes))
                for each, indexes in forgotten.items()
            ),
        )

    def _located(self, source: _Source, image: MetadataImage) -> ListOffsetsRequest:
        topics: dict[str, list[list_offsets_request.ListOffsetsPartition]] = {}
        for key, (position, which) in source.locating.items():
            one = list_offsets_request.ListOffsetsPartition(
                partition_index=key.index, current_leader_epoch=position.epoch, timestamp=which
            )
            topics.setdefault(_name(image, key.topic_id), []).append(one)
        return ListOffsetsRequest(
            replica_id=self._node_id,
            topics=tuple(
                list_offsets_request.ListOffsetsTopic(name=name, partitions=tuple(wanted))
                for name, wanted in topics.items()
            ),
        )

    # Answers.

    def on_failure(self, call_id: CallId, now: Instant) -> None:
        source = self._source(call_id)
        source.in_flight, source.not_before = None, self._later(now)
        if source.asked:
            source.session.failed()
        source.asked, source.locating = {}, {}

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> None:
        source = self._source(call_id)
        asked, source.asked = source.asked, {}
        locating, source.locating = source.locating, {}
        goes_on = False
        if isinstance(body, FetchResponse):
            goes_on = source.session.answered(body)
            if body.error_code == ErrorCode.NONE:
                source.work = LongWork(self._apply(source, asked, body, now))
        elif isinstance(body, ListOffsetsResponse):
            source.work = LongWork(self._apply_located(source, locating, body, now))
        source.in_flight = None
        source.not_before = now if source.work is not None or goes_on else self._later(now)

    def _source(self, call_id: CallId) -> _Source:
        return next(source for source in self._sources.values() if source.in_flight == call_id)

    def _followed(self, source: _Source, key: PartitionId, asked: Position | None) -> Follower | None:
        """If it is still as it was when it was asked for."""
        follower = self._partitions.following.get(source.leader, {}).get(key)
        return follower if follower is not None and asked is not None and follower.is_about(asked) else None

    def _hold(self, source: _Source, key: PartitionId, follower: Follower, now: Instant) -> None:
        source.held[key] = self._later(now), follower.epoch

    def _apply(
        self, source: _Source, asked: Mapping[PartitionId, Position], answer: FetchResponse, now: Instant
    ) -> Work:
        """Each partition by itself: what is wrong with one concerns no other."""
        for topic in answer.responses:
            for data in topic.partitions:
                key = PartitionId(topic.topic_id, data.partition_index)
                follower = self._followed(source, key, asked.get(key))
                if follower is None:
                    yield None
                    continue
                try:
                    effects = self._applied(source, follower, asked[key], data, now)
                except CorruptBatch as error:
                    self._hold(source, key, follower, now)
                    effects = [Log("warning", f"{follower.log.topic}-{key.index} from broker {source.leader}: {error}")]
                except Exception as error:
                    self._hold(source, key, follower, now)
                    effects = [self._faults.count(FetchRequest.KEY, "answered by a peer", error)]
                yield from effects or (None,)

    def _applied(
        self,
        source: _Source,
        follower: Follower,
        asked: Position,
        data: PartitionData,
        now: Instant,
    ) -> list[BrokerEffect]:
        key = follower.log.key
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            source.locating[key] = asked, LATEST
            return []
        if data.error_code != ErrorCode.NONE:
            self._hold(source, key, follower, now)
            return self._tell(source, f"{follower.log.topic}-{key.index}", data.error_code, now)
        found = follower.judge(data)
        if isinstance(found, Cut):
            return [self._cut(source, follower, found.end_offset)]
        if found is None:
            start = self._partitions.settle(follower)
            return [] if start is None else [DeleteBefore(key, start)]
        restart = [] if found.restart is None else [RestartLog(key, found.restart)]
        follower.take(found)
        if self._throttle.concerns(follower.log.topic, key.index):
            self._throttle.record(len(found.batches), now)
        source.writing.add(key)
        followed = self._partitions.following[source.leader]
        followed[key] = followed.pop(key)  # the next answer has room for others first
        return [*restart, AppendRecords(key, found.end_offset, found.batches)]

    def _tell(self, source: _Source, partition: str, code: int, now: Instant) -> list[BrokerEffect]:
        """What does not end with the next image: of each kind one in a while."""
        before = source.told.get(code)
        if code in _PASSING or (before is not None and now < before + _QUIET_S):
            return []
        source.told[code] = now
        name = ErrorCode(code).name if code in _NAMED else str(code)
        return [Log("warning", f"broker {source.leader} does not let {partition} be copied: {name}; it is asked again")]

    def _cut(self, source: _Source, follower: Follower, end_offset: int) -> CutLog:
        follower.is_cut = True
        source.writing.add(follower.log.key)
        return CutLog(follower.log.key, end_offset)

    def _apply_located(
        self,
        source: _Source,
        locating: Mapping[PartitionId, tuple[Position, int]],
        answer: ListOffsetsResponse,
        now: Instant,
    ) -> Work:
        """The leader ends before our end: what it has not is cut. It begins behind our end: we begin there."""
        found = {(topic.name, one.partition_index): one for topic in answer.topics for one in topic.partitions}
        for key, (position, which) in locating.items():
            yield None
            follower = self._followed(source, key, position)
            one = found.get((_name(self._partitions.image, key.topic_id), key.index))
            if follower is None:
                continue
            if one is None or one.error_code != ErrorCode.NONE or one.offset < 0:
                self._hold(source, key, follower, now)
            elif which == LATEST and one.offset < position.offset:
                yield self._cut(source, follower, one.offset)
            elif which == LATEST:
                source.locating[key] = position, EARLIEST
            elif one.offset > position.offset:
                follower.is_cut = True
                source.writing.add(key)
                yield RestartLog(key, one.offset)


def _name(image: MetadataImage, topic_id: Uuid) -> str:
    topic = image.topics.get(topic_id)
    return "" if topic is None else topic.name
