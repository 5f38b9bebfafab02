"""The group coordinator on this broker: it lives where a partition of `__consumer_offsets` is led.

When this broker comes to lead one, its log is read from the beginning, in pieces, and its groups are served from then
on; when it leads it no more, they are dropped, and who waits is told to look for the coordinator. What is decided is
appended as a producer's batch is, and told when the high watermark has passed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from controller_runtime.broker.around_groups import Outside
from controller_runtime.broker.cluster_view import View
from controller_runtime.broker.coordinator_log import CoordinatorLog
from controller_runtime.broker.effects import BrokerEffect, RecordsRead
from controller_runtime.broker.led_logs import GivenUp, Led
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering, Effects
from controller_runtime.broker.offsets_topic import offsets_topic
from controller_runtime.broker.sequences import Verification
from controller_runtime.broker.share_state import share_groups
from controller_runtime.broker.share_state.end_offsets import EndOffsets
from controller_runtime.broker.share_state.persister import SharePersister, Way
from controller_runtime.broker.streams_topics import StreamsTopics
from controller_runtime.coordinator import (
    admin_requests,
    consumer_describing,
    consumer_requests,
    loading,
    membership_requests,
    offset_fetch,
    offset_requests,
    retention,
    share_describing,
    share_offsets,
    share_requests,
    streams_describing,
    streams_requests,
    transactional_offsets,
)
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.finding import Surroundings, find_coordinators
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.group_settings import GroupSettings
from controller_runtime.coordinator.ports import TOPIC
from controller_runtime.coordinator.share_state.ports import TOPIC as SHARE_TOPIC
from controller_runtime.identifiers import Instant, PartitionId, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Log, Respond
from controller_runtime.parts.events import CallId, ConnectionInfo, RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from controller_runtime.protocol.messages.write_txn_markers_request import WritableTxnMarker
from controller_runtime.protocol.schema import Message
from controller_runtime.protocol.transaction_markers import Marker

_OWN_READS: Final = -1
"""Reads of the coordinator have negative numbers: those of clients are positive."""
_WAY: Final = Way("share-states", most_attempts=8)
Handler = Callable[[RequestReceived, Any, Instant, WallClock], Effects]


class Groups(CoordinatorLog[GroupPartition]):
    """Implements `coordinator.ports.OffsetsTopic`."""

    def __init__(
        self,
        partitions: LocalPartitions,
        settings: GroupSettings,
        new_uuid: Callable[[], Uuid],
        outside: Outside,
        now: Instant,
    ) -> None:
        super().__init__(partitions, TOPIC, _OWN_READS, settings.load_buffer_bytes, loading.replay)
        self._settings = settings
        self._forwarder, self._long, self._faults = outside.forwarder, outside.long, outside.faults
        self._outside = outside
        self.topics_made_at = outside.version()
        self._further_topics = outside.further_topics
        self._coordinator = GroupCoordinator(settings, self, new_uuid)
        self._persister = SharePersister(outside.peers, lambda: partitions.image, self._make_share_topic, _WAY)
        self._ends = EndOffsets(outside.peers, partitions)
        self._streams_topics = StreamsTopics(outside.forwarder, outside.may_create)
        self._topics_seen = MetadataImage.empty().topics
        self._check_at = Instant(now + settings.retention_check_interval_ms / 1000)

    # Implements OffsetsTopic.

    @property
    def version(self) -> int:
        return self._outside.version()

    def may_describe(self, connection: ConnectionInfo, topic: str) -> bool:
        return self._outside.may_describe(connection, topic)

    def make_topics(
        self, connection: ConnectionInfo, topics: Mapping[str, CreatableTopic], kept_ms: int, now: Instant
    ) -> str:
        return self._streams_topics.make(connection, topics, kept_ms, now)

    # Transactions.

    def end_transaction(self, key: PartitionId, marker: WritableTxnMarker, wall: WallClock) -> int | ErrorCode:
        """What a producer has committed here counts, or is dropped, with the marker that ends its transaction. Where
        that ends.
        """
        led = self._logs.by_key.get(key)
        if led is None or not led.partition.is_loaded or self._led_still(led) is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self._partitions.has_too_few(led.leader):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        said = Marker(marker.transaction_result, marker.coordinator_epoch)
        producer_id, epoch, version = marker.producer_id, marker.producer_epoch, marker.transaction_version
        end = self._appended(led, led.leader.append_marker(producer_id, epoch, said, wall, version))
        if not isinstance(end, ErrorCode):
            led.partition.end_offset = end
            led.partition.offsets.end_transaction(producer_id, commit=said.commit, end_offset=end)
        return end

    def commit_in_transaction(
        self,
        event: RequestReceived,
        request: TxnOffsetCommitRequest,
        verification: Verification | ErrorCode | None,
        now: Instant,
        wall: WallClock,
    ) -> Effects:
        work = transactional_offsets.commit_offsets(self._coordinator, event, request, verification, now=now, wall=wall)
        return self._long.begin(event, self._answering(work))

    # Requests.

    def handlers(self, view: Callable[[RequestReceived], View]) -> dict[int, Handler]:
        at_once: dict[int, Callable[..., list[Respond]]] = {
            ApiKey.JOIN_GROUP: membership_requests.join_group,
            ApiKey.SYNC_GROUP: membership_requests.sync_group,
            ApiKey.HEARTBEAT: membership_requests.beat,
            ApiKey.LEAVE_GROUP: membership_requests.leave_group,
            ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_requests.beat,
            ApiKey.SHARE_GROUP_HEARTBEAT: share_requests.beat,
            ApiKey.STREAMS_GROUP_HEARTBEAT: streams_requests.beat,
            ApiKey.ALTER_SHARE_GROUP_OFFSETS: share_offsets.alter_offsets,
            ApiKey.DELETE_SHARE_GROUP_OFFSETS: share_offsets.delete_offsets,
        }
        in_pieces: dict[int, Callable[..., InPieces[Respond, list[Respond]]]] = {
            ApiKey.OFFSET_COMMIT: offset_requests.commit_offsets,
            ApiKey.OFFSET_FETCH: offset_fetch.fetch_offsets,
            ApiKey.OFFSET_DELETE: offset_requests.delete_offsets,
            ApiKey.LIST_GROUPS: admin_requests.list_groups,
            ApiKey.DESCRIBE_GROUPS: admin_requests.describe_groups,
            ApiKey.DELETE_GROUPS: admin_requests.delete_groups,
            ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_describing.describe_consumer_groups,
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: partial(share_groups.describe_offsets, self._persister, self._ends),
            ApiKey.SHARE_GROUP_DESCRIBE: share_describing.describe_share_groups,
            ApiKey.STREAMS_GROUP_DESCRIBE: streams_describing.describe_streams_groups,
        }
        return {
            ApiKey.FIND_COORDINATOR: partial(self._find, view),
            **{key: partial(self._at_once, answer) for key, answer in at_once.items()},
            **{key: self._long.handler(partial(self._in_pieces, answer)) for key, answer in in_pieces.items()},
        }

    def _find(
        self,
        view: Callable[[RequestReceived], View],
        event: RequestReceived,
        request: FindCoordinatorRequest,
        now: Instant,
        _: WallClock,
    ) -> Effects:
        def make(name: str) -> None:
            topic = offsets_topic(self._settings) if name == TOPIC else self._further_topics[name]
            self._forwarder.create_internal_topic(topic, now)

        around = Surroundings(self._coordinator, view(event).endpoint, make)
        return [Respond(event.request_id, find_coordinators(around, request, event.api_version))]

    def _make_share_topic(self, now: Instant) -> None:
        self._forwarder.create_internal_topic(self._further_topics[SHARE_TOPIC], now)

    def _at_once(
        self,
        answer: Callable[..., list[Respond]],
        event: RequestReceived,
        request: Any,
        now: Instant,
        wall: WallClock,
    ) -> Effects:
        responds = answer(self._coordinator, event, request, now, wall)
        self._begin_works()
        return [*self.taken(), *responds]

    def _begin_works(self) -> None:
        for led in self._logs.by_key.values():
            while led.partition.works:
                self._logs.begin(led, led.partition.works.pop())

    def _in_pieces(
        self,
        answer: Callable[..., InPieces[Respond, list[Respond]]],
        event: RequestReceived,
        request: Any,
        now: Instant,
        wall: WallClock,
    ) -> Answering:
        return (yield from self._answering(answer(self._coordinator, event, request, now, wall)))

    def _answering(self, work: InPieces[Respond, list[Respond]]) -> Answering:
        while True:
            try:
                unit = next(work)
            except StopIteration as end:
                return [*self.taken(), *end.value]
            yield from self.taken()
            yield unit

    # What happens to the partitions.

    def on_changed(self, key: PartitionId, now: Instant, wall: WallClock) -> Effects:
        """Perhaps it is led here now, or not any more, or in another epoch: then it is loaded anew."""
        led = self._logs.by_key.get(key)
        out: list[BrokerEffect] = []
        if led is not None and self._has_left(key):
            out += self._coordinator.resign(key.index, now, wall)
            out += self._gathered(led.partition)
            out.append(Log("info", f"{TOPIC}-{key.index} is coordinated anew, here or elsewhere"))
        if (leader := self._to_lead(key)) is not None:
            self._logs.lead(key, leader, self._coordinator.lead(key.index))
        return out

    def on_read(self, event: RecordsRead) -> Effects:
        return self._given_up(self._logs.on_read(event))

    def _given_up(self, found: GivenUp[GroupPartition] | None) -> Effects:
        if found is None:
            return []
        said = Log("error", self._mended_how(found, "groups"))
        if found.error is None:
            return [said]
        return [self._faults.count(ApiKey.OFFSET_COMMIT, "replayed", found.error), said]

    # Time.

    def next_deadline(self) -> Instant | None:
        waits = (led.partition.next_deadline() for led in self._logs.are_written())
        others = (self._coordinator.next_deadline(), self._persister.next_deadline())
        wanted = (*others, *waits, self._check_at if self._logs.by_key else None)
        return min((at for at in wanted if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        """After every event."""
        out: list[BrokerEffect] = []
        out += self._given_up(self._logs.go_on(out))
        for led in self._logs.are_loading():
            out += self._load(led, now, wall)
        for led in self._logs.are_written():
            out += self._committed(led, now, wall)
        if (at := self._coordinator.next_deadline()) is not None and at <= now:
            out += self._guarded(lambda: self._coordinator.on_time(now, wall))
        if now >= self._check_at:
            self._check_at = Instant(now + self._settings.retention_check_interval_ms / 1000)
            self._logs.begin_everywhere(lambda partition: retention.expire(partition, now, wall))
        if self.image.topics is not self._topics_seen:
            self._see_topics(now, wall)
        out += self._guarded(lambda: self._persister.poll(now, wall))
        return [*self.taken(), *out]

    def _committed(self, led: Led[GroupPartition], now: Instant, wall: WallClock) -> Effects:
        reached = led.leader.log.high_watermark
        out = self._guarded(lambda: led.partition.committed_to(reached, now, wall))
        out += self._guarded(lambda: led.partition.give_up(now, wall))
        if reached >= led.partition.end_offset and not led.partition.waits:
            self._logs.written.discard(led.key)
        return out + self._gathered(led.partition)

    def _gathered(self, partition: GroupPartition) -> Effects:
        """Answers to which it had the last part."""
        whole, partition.gathered = partition.gathered, []
        wanted, partition.wanted = partition.wanted, []
        for each in wanted:
            share_groups.ask(self._persister, self._coordinator, each)
        return [admin_requests.deletion_answer(each) for each in whole]

    # Calls.

    def owns_call(self, call_id: CallId) -> bool:
        return self._persister.owns(call_id) or self._ends.owns(call_id)

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> Effects:
        if self._ends.owns(call_id):
            return self._ends.on_response(call_id, body)
        self._persister.on_response(call_id, body, now)
        return []

    def on_failure(self, call_id: CallId, now: Instant) -> Effects:
        if self._ends.owns(call_id):
            return self._ends.on_failure(call_id)
        self._persister.on_failure(call_id, now)
        return []

    def _load(self, led: Led[GroupPartition], now: Instant, wall: WallClock) -> Effects:
        """Ask for the next bytes, or begin."""
        if not self._is_read(led):
            return []
        led.partition.end_offset = led.leader.log.end_offset
        self._logs.written.add(led.key)  # The end may not be committed yet.
        begun = self._guarded(lambda: led.partition.begin(now, wall))
        counts = f"{len(led.partition.groups)} groups, {led.partition.offsets.count} offsets"
        return [*begun, Log("info", f"coordinates {TOPIC}-{led.key.index}: {counts}")]

    def _see_topics(self, now: Instant, wall: WallClock) -> None:
        """What was committed for topics that are gone is not kept."""
        before, self._topics_seen = self._topics_seen, self.image.topics
        if not self._logs.by_key:
            return
        changes = list(self._topics_seen.changes_since(before))
        if any(old is None for old, _ in changes):
            self.topics_made_at = self.version
        self._coordinator.see_topics({each.name for change in changes for each in change if each is not None})
        gone = {old.name: old.id for old, new in changes if old and not new}
        if gone:
            self._logs.begin_everywhere(lambda partition: retention.forget_topics(partition, gone, now, wall))

    def _guarded(self, step: Callable[[], Sequence[BrokerEffect]]) -> Effects:
        """What nobody has asked for costs no request and no node."""
        try:
            return [*step()]
        except Exception as error:
            return [self._faults.count(ApiKey.JOIN_GROUP, "coordinated", error)]
