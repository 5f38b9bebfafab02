"""The group coordinator on this broker: it lives where a partition of `__consumer_offsets` is led.

When this broker comes to lead one, its log is read from the beginning, in pieces, and its groups are served from then
on; when it leads it no more, they are dropped, and who waits is told to look for the coordinator. What is decided is
appended as a producer's batch is, and told when the high watermark has passed it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.cluster_view import View
from controller_runtime.broker.effects import (
    AppendRecords,
    BrokerEffect,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    Stable,
    WorkId,
)
from controller_runtime.broker.leader import Appended
from controller_runtime.broker.led_groups import Led, Outside
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering, Effects
from controller_runtime.broker.offsets_topic import offsets_topic
from controller_runtime.broker.sequences import Verification
from controller_runtime.coordinator import (
    admin_requests,
    consumer_describing,
    consumer_requests,
    loading,
    membership_requests,
    offset_fetch,
    offset_requests,
    retention,
    transactional_offsets,
)
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.finding import Surroundings, find_coordinators
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.group_settings import GroupSettings
from controller_runtime.coordinator.ports import TOPIC
from controller_runtime.identifiers import Instant, PartitionId, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Log, Respond
from controller_runtime.parts.events import ConnectionInfo, RequestReceived
from controller_runtime.parts.pieces import InPieces, LongWork
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from controller_runtime.protocol.messages.write_txn_markers_request import WritableTxnMarker
from controller_runtime.protocol.transaction_markers import Marker

_OWN_READS: Final = -1
"""Reads of the coordinator have negative numbers: those of clients are positive."""
Handler = Callable[[RequestReceived, Any, Instant, WallClock], Effects]


class Groups:
    """Implements `coordinator.ports.OffsetsTopic`."""

    def __init__(
        self,
        partitions: LocalPartitions,
        settings: GroupSettings,
        new_uuid: Callable[[], Uuid],
        outside: Outside,
        now: Instant,
    ) -> None:
        self._partitions = partitions
        self._settings = settings
        self._forwarder, self._long, self._faults = outside.forwarder, outside.long, outside.faults
        self._outside = outside
        self.topics_made_at = outside.version()
        self._transactions_topic = outside.transactions_topic
        self._coordinator = GroupCoordinator(settings, self, new_uuid)
        self._led: dict[PartitionId, Led] = {}
        self._by_index: dict[int, Led] = {}
        self._loading: set[PartitionId] = set()
        self._reads: dict[WorkId, Led] = {}
        self._last_read = _OWN_READS
        self._works: deque[tuple[Led, LongWork[Respond, int | None]]] = deque()
        self._written: set[PartitionId] = set()
        """Where the log has something that is not committed yet."""
        self._out: list[BrokerEffect] = []
        self._topics_seen = MetadataImage.empty().topics
        self._check_at = Instant(now + settings.retention_check_interval_ms / 1000)

    # Implements OffsetsTopic.

    @property
    def image(self) -> MetadataImage:
        return self._partitions.image

    @property
    def version(self) -> int:
        return self._outside.version()

    def may_describe(self, connection: ConnectionInfo, topic: str) -> bool:
        return self._outside.may_describe(connection, topic)

    def append(
        self, index: int, batch: bytes, wall: WallClock, verification: Verification | None = None
    ) -> int | ErrorCode:
        led = self._by_index.get(index)
        leader = None if led is None else self._partitions.led(led.key)
        if led is None or leader is None or leader is not led.leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self._partitions.has_too_few(leader):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        rules = self._partitions.rules(TOPIC)
        return self._appended(led, leader.append(batch, rules, wall, verified=verification, from_client=False))

    def _appended(self, led: Led, found: Appended | BatchRefusal) -> int | ErrorCode:
        if isinstance(found, BatchRefusal):
            return found.error
        self._out.append(AppendRecords(led.key, found.wait_for, found.data))
        self._written.add(led.key)
        return found.wait_for

    # Transactions.

    def end_transaction(self, key: PartitionId, marker: WritableTxnMarker, wall: WallClock) -> int | ErrorCode:
        """What a producer has committed here counts, or is dropped, with the marker that ends its transaction. Where
        that ends.
        """
        led = self._led.get(key)
        if led is None or not led.partition.is_loaded or self._partitions.led(key) is not led.leader:
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
        }
        in_pieces: dict[int, Callable[..., InPieces[Respond, list[Respond]]]] = {
            ApiKey.OFFSET_COMMIT: offset_requests.commit_offsets,
            ApiKey.OFFSET_FETCH: offset_fetch.fetch_offsets,
            ApiKey.OFFSET_DELETE: offset_requests.delete_offsets,
            ApiKey.LIST_GROUPS: admin_requests.list_groups,
            ApiKey.DESCRIBE_GROUPS: admin_requests.describe_groups,
            ApiKey.DELETE_GROUPS: admin_requests.delete_groups,
            ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_describing.describe_consumer_groups,
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
            topic = offsets_topic(self._settings) if name == TOPIC else self._transactions_topic
            self._forwarder.create_internal_topic(topic, now)

        around = Surroundings(self._coordinator, view(event).endpoint, make)
        return [Respond(event.request_id, find_coordinators(around, request, event.api_version))]

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
        return [*self._taken(), *responds]

    def _begin_works(self) -> None:
        for led in self._led.values():
            while led.partition.works:
                self._works.append((led, LongWork(led.partition.works.pop())))

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
                return [*self._taken(), *end.value]
            yield from self._taken()
            yield unit

    def _taken(self) -> list[BrokerEffect]:
        """What was appended since this was asked last."""
        out, self._out = self._out, []
        return out

    # What happens to the partitions.

    def on_changed(self, key: PartitionId, now: Instant, wall: WallClock) -> Effects:
        """Perhaps it is led here now, or not any more."""
        led, leader = self._led.get(key), self._partitions.led(key)
        out: list[BrokerEffect] = []
        if led is not None and leader is not led.leader:
            del self._led[key], self._by_index[key.index]
            self._loading.discard(key)
            self._written.discard(key)
            out += self._coordinator.resign(key.index, now, wall)
            out += self._gathered(led.partition)
            out.append(Log("info", f"{TOPIC}-{key.index} is coordinated elsewhere: its groups are dropped"))
        if leader is not None and key not in self._led and leader.log.topic == TOPIC:
            partition = self._coordinator.lead(key.index)
            led = self._led[key] = Led(key, leader, partition, leader.log.start_offset)
            self._by_index[key.index] = led
            self._loading.add(key)
        return out

    def owns(self, work_id: WorkId) -> bool:
        return work_id < 0

    def on_read(self, event: RecordsRead) -> Effects:
        """Bytes of a log that is being loaded; they are replayed in pieces."""
        led = self._reads.pop(event.work_id, None)
        if led is None or self._led.get(led.key) is not led:
            return []
        data = event.data[0]
        assert not isinstance(data, Stable), "everything was asked for"
        if data is ErrorCode.OFFSET_OUT_OF_RANGE:  # Its beginning was deleted meanwhile.
            led.next_offset, led.is_reading = max(led.next_offset, led.leader.log.start_offset), False
            return []
        if isinstance(data, ErrorCode) or not data:
            why = data.name if isinstance(data, ErrorCode) else f"there is nothing at offset {led.next_offset}"
            return self._give_up(led, why)
        self._works.append((led, LongWork(loading.replay(led.partition, data, led.next_offset))))
        return []

    def _give_up(self, led: Led, why: str) -> Effects:
        self._loading.discard(led.key)
        led.partition.fault = why
        return [
            Log("error", f"mend {TOPIC}-{led.key.index} or delete its records: its groups are not served: {why}"),
        ]

    # Time.

    @property
    def has_more_to_do(self) -> bool:
        return bool(self._works)

    def next_deadline(self) -> Instant | None:
        waits = (self._led[key].partition.next_deadline() for key in self._written)
        wanted = (self._coordinator.next_deadline(), *waits, self._check_at if self._led else None)
        return min((at for at in wanted if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        """After every event."""
        out: list[BrokerEffect] = []
        if self._works:
            out += self._go_on()
        for key in list(self._loading):
            out += self._load(self._led[key], now, wall)
        for key in list(self._written):
            out += self._committed(self._led[key], now, wall)
        if (at := self._coordinator.next_deadline()) is not None and at <= now:
            out += self._guarded(lambda: self._coordinator.on_time(now, wall))
        if now >= self._check_at:
            self._check_at = Instant(now + self._settings.retention_check_interval_ms / 1000)
            self._begin_everywhere(lambda partition: retention.expire(partition, now, wall))
        if self.image.topics is not self._topics_seen:
            self._see_topics(now, wall)
        return [*self._taken(), *out]

    def _committed(self, led: Led, now: Instant, wall: WallClock) -> Effects:
        reached = led.leader.log.high_watermark
        out = self._guarded(lambda: led.partition.committed_to(reached, now, wall))
        out += self._guarded(lambda: led.partition.give_up(now, wall))
        if reached >= led.partition.end_offset and not led.partition.waits:
            self._written.discard(led.key)
        return out + self._gathered(led.partition)

    def _gathered(self, partition: GroupPartition) -> Effects:
        """Answers to which it had the last part."""
        whole, partition.gathered = partition.gathered, []
        return [admin_requests.deletion_answer(each) for each in whole]

    def _load(self, led: Led, now: Instant, wall: WallClock) -> Effects:
        """Ask for the next bytes, or begin."""
        log = led.leader.log
        if led.is_reading:
            return []
        if led.next_offset >= log.end_offset:
            self._loading.discard(led.key)
            led.partition.end_offset = log.end_offset
            self._written.add(led.key)  # The end may not be committed yet.
            begun = self._guarded(lambda: led.partition.begin(now, wall))
            counts = f"{len(led.partition.groups)} groups, {led.partition.offsets.count} offsets"
            return [*begun, Log("info", f"coordinates {TOPIC}-{led.key.index}: {counts}")]
        if led.next_offset >= log.written_offset:
            return []  # The rest is on its way to the disk.
        led.is_reading = True
        self._last_read -= 1
        work_id = WorkId(self._last_read)
        self._reads[work_id] = led
        most = self._settings.load_buffer_bytes
        return [ReadRecords(work_id, (ReadSlice(led.key, led.next_offset, most, log.written_offset),), most)]

    def _go_on(self) -> Effects:
        """The next piece of what takes long."""
        led, work = self._works[0]
        if led.partition.has_resigned:
            self._works.popleft()
            return []
        out: list[Respond] = []
        try:
            work.go_on(out)
        except (loading.Unreadable, ProtocolError) as error:
            self._works.popleft()
            return self._give_up(led, str(error))
        except Exception as error:
            self._works.popleft()
            return [self._faults.count(ApiKey.OFFSET_COMMIT, "replayed", error), *self._give_up(led, str(error))]
        if work.is_over:
            self._works.popleft()
            reached = work.results[0]
            if reached is not None:
                led.next_offset, led.is_reading = reached, False
        else:
            self._works.rotate(-1)
        return [*out]

    def _begin_everywhere(self, work: Callable[[GroupPartition], InPieces[Respond, None]]) -> None:
        for led in self._led.values():
            if led.partition.is_loaded:
                self._works.append((led, LongWork(work(led.partition))))

    def _see_topics(self, now: Instant, wall: WallClock) -> None:
        """What was committed for topics that are gone is not kept."""
        before, self._topics_seen = self._topics_seen, self.image.topics
        if not self._led:
            return
        changes = list(self._topics_seen.changes_since(before))
        if any(old is None for old, _ in changes):
            self.topics_made_at = self.version
        self._coordinator.see_topics({each.name for change in changes for each in change if each is not None})
        gone = {old.name: old.id for old, new in changes if old and not new}
        if gone:
            self._begin_everywhere(lambda partition: retention.forget_topics(partition, gone, now, wall))

    def _guarded(self, step: Callable[[], list[Respond]]) -> Effects:
        """What nobody has asked for costs no request and no node."""
        try:
            return [*step()]
        except Exception as error:
            return [self._faults.count(ApiKey.JOIN_GROUP, "coordinated", error)]
