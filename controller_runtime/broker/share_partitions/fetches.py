"""Records for members: what can be acquired is read, acquired and answered, or waited for, no longer than the member
asked. Of one share partition one request at a time reads; the others wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn

from controller_runtime.broker.effects import (
    BrokerEffect,
    CancelRead,
    Data,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    Stable,
    WorkId,
    plain,
)
from controller_runtime.broker.fetch import MAX_RESPONSE_BYTES
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.long_answers import Answering, Effects, LongAnswers
from controller_runtime.broker.purgatory import ANY_LEVEL, Purgatory, Ticket
from controller_runtime.broker.share_partitions.led import Led, LedShares
from controller_runtime.coordinator.share_partitions.acquiring import Read, Wish, acquire
from controller_runtime.coordinator.share_partitions.reads import Acquired, ReadBatch
from controller_runtime.coordinator.share_partitions.sessions import Place
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Instant, PartitionId
from controller_runtime.parts.events import ConnectionId, RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.share_fetch_response import AcquiredRecords, PartitionData
from controller_runtime.protocol.record_batch import batch_headers
from controller_runtime.protocol.transaction_markers import marker_of
from controller_runtime.values import dataclass, field, replace

_HEADERS_A_UNIT: Final = 8
Found = dict[Place, PartitionData]
_Awaited = ShareKey | tuple[PartitionId, bool]
"""A share partition that changes; or how far the log may be read, or what of it is stable (True)."""


@dataclass(slots=True, eq=False)
class ShareFetch:
    """A request on its way."""

    event: RequestReceived
    group_id: str
    wish: Wish
    min_bytes: int
    max_bytes: int
    deadline: Instant
    partitions: list[tuple[Place, str]]
    """With the names of their topics, in the order in which they are served."""
    then: Callable[[Found], Effects]
    led: dict[Place, Led] = field(default_factory=dict)
    found: Found = field(default_factory=dict)
    errors: set[Place] = field(default_factory=set)
    reading: list[tuple[Place, int]] = field(default_factory=list)
    """Held for this request, with the offset that is read from."""
    slices: list[Place] = field(default_factory=list)
    seen: dict[Place, int] = field(default_factory=dict)
    """How far each log could be read."""
    is_gone: bool = False
    """Its connection has ended."""
    is_stable: bool = False


class ShareFetches:
    def __init__(self, long: LongAnswers, led: Callable[[], LedShares], now: Callable[[], Instant]) -> None:
        self._long, self._led, self._now = long, led, now
        self._parked: Purgatory[_Awaited, ShareFetch] = Purgatory()
        self._reading: dict[WorkId, ShareFetch] = {}
        self._taking: set[ShareFetch] = set()
        """What was read for them is being acquired, in pieces."""
        self._woken: list[ShareFetch] = []

    def begin(self, fetch: ShareFetch) -> Effects:
        for place, topic in fetch.partitions:
            led = self._led().wanted(ShareKey(fetch.group_id, *place), topic)
            if isinstance(led, ErrorCode):
                self._fail(fetch, place, led)
            else:
                fetch.led[place] = led
        if not fetch.led:
            return self._end(fetch)
        return self._attempt(fetch)

    def _fail(self, fetch: ShareFetch, place: Place, error: ErrorCode) -> None:
        fetch.errors.add(place)
        fetch.found[place] = PartitionData(partition_index=place[1], error_code=error)
        fetch.led.pop(place, None)

    # Waiting.

    def next_deadline(self) -> Instant | None:
        return self._parked.next_deadline()

    @property
    def has_woken(self) -> bool:
        return bool(self._woken)

    def poll(self, now: Instant) -> Effects:
        woken, self._woken = self._woken + self._parked.expired(now), []
        return [effect for fetch in woken for effect in self._attempt(fetch)]

    def wake(self, led: Led) -> None:
        self._wake(self._parked.reached(led.key, ANY_LEVEL))

    def on_written(self, leader: Leader) -> None:
        log = leader.log
        self._wake(self._parked.reached((log.key, False), log.high_watermark))
        self._wake(self._parked.reached((log.key, True), log.last_stable_offset))

    def _wake(self, woken: list[tuple[Ticket, ShareFetch]]) -> None:
        for ticket, fetch in woken:
            self._parked.end(ticket)
            self._woken.append(fetch)

    def on_closed(self, connection_id: ConnectionId) -> list[BrokerEffect]:
        self._parked.closed(connection_id)
        self._woken = [each for each in self._woken if each.event.connection.connection_id != connection_id]
        out: list[BrokerEffect] = []
        for work_id, fetch in list(self._reading.items()):
            if fetch.event.connection.connection_id == connection_id:
                del self._reading[work_id]
                fetch.is_gone = True
                self._let_go(fetch)
                out.append(CancelRead(work_id))
        for fetch in self._taking:
            fetch.is_gone |= fetch.event.connection.connection_id == connection_id
        return out

    def _park(self, fetch: ShareFetch) -> None:
        levels: list[tuple[_Awaited, int]] = [(led.key, 0) for led in fetch.led.values()]
        kind = fetch.is_stable
        levels += [((led.leader.log.key, kind), fetch.seen.get(place, -1) + 1) for place, led in fetch.led.items()]
        self._parked.add(fetch, levels, fetch.deadline, fetch.event.connection.connection_id)

    # One attempt.

    def _attempt(self, fetch: ShareFetch) -> Effects:
        for place, led in list(fetch.led.items()):
            if led.ended is not None:
                self._fail(fetch, place, led.ended)
        fetch.is_stable = self._led().limits(fetch.group_id).reads_committed
        slices, is_over = self._look(fetch)
        if slices:
            work_id = self._led().next_work()
            self._reading[work_id] = fetch
            return [ReadRecords(work_id, tuple(slices), min(fetch.max_bytes, MAX_RESPONSE_BYTES))]
        is_patient = fetch.min_bytes > 0 or not fetch.reading
        if not is_over and not fetch.errors and is_patient and self._now() < fetch.deadline:
            self._let_go(fetch)
            self._park(fetch)
            return []
        return self._answer_rest(fetch)

    def _look(self, fetch: ShareFetch) -> tuple[list[ReadSlice], bool]:
        """What can be read now; and whether something was not where it was looked for."""
        fetch.slices, fetch.seen, fetch.reading = [], {}, []
        free = [(place, led) for place, led in fetch.led.items() if led.is_ready and self._led().fresh(led).has_room]
        most, is_over = max(1, fetch.max_bytes // max(1, len(free))), False
        slices: list[ReadSlice] = []
        for place, led in fetch.led.items():
            log = led.leader.log
            fetch.seen[place] = log.last_stable_offset if fetch.is_stable else log.high_watermark
            led.is_wanted = led.is_wanted or led.is_being_read
        for place, led in free:
            log, offset, bound = led.leader.log, led.partition.next_offset(), fetch.seen[place]
            led.is_being_read = True
            fetch.reading.append((place, offset))
            if not log.start_offset <= offset <= log.end_offset:
                led.partition.log_begins_at(log.start_offset)
                is_over = True
            elif offset < bound:
                slices.append(ReadSlice(log.key, offset, most, bound, stable=fetch.is_stable))
                fetch.slices.append(place)
        return slices, is_over

    def _let_go(self, fetch: ShareFetch) -> None:
        """Of what it held for itself."""
        held, fetch.reading = fetch.reading, []
        for place, _ in held:
            led = fetch.led[place]
            led.is_being_read = False
            if led.is_wanted:
                led.is_wanted = False
                self.wake(led)

    def _answer_rest(self, fetch: ShareFetch) -> Effects:
        for place, _ in fetch.reading:
            fetch.found[place] = PartitionData(partition_index=place[1])
        return self._end(fetch)

    def _end(self, fetch: ShareFetch) -> Effects:
        self._let_go(fetch)
        return fetch.then(fetch.found)

    # What was read.

    def owns(self, work_id: WorkId) -> bool:
        return work_id in self._reading

    def on_read(self, event: RecordsRead) -> Effects:
        fetch = self._reading.pop(event.work_id)
        self._taking.add(fetch)
        return self._long.begin(fetch.event, self._answered(fetch, event.data), outlives=True)

    def _answered(self, fetch: ShareFetch, data: tuple[Data, ...]) -> Answering:
        try:
            return (yield from self._take(fetch, data))
        finally:
            self._taking.discard(fetch)

    def _take(self, fetch: ShareFetch, data: tuple[Data, ...]) -> Answering:
        if fetch.is_gone:
            self._let_go(fetch)
            return []
        total = sum(len(each) for each in data if not isinstance(each, ErrorCode))
        failed = any(isinstance(each, ErrorCode) for each in data)
        if total < fetch.min_bytes and not failed and not fetch.errors and self._now() < fetch.deadline:
            has_grown = any(self._bound(fetch, led) > fetch.seen[place] for place, led in fetch.led.items())
            self._let_go(fetch)
            if has_grown:
                return self._attempt(fetch)
            self._park(fetch)
            return []
        read = dict(zip(fetch.slices, data, strict=True))
        batches: dict[Place, list[ReadBatch]] = {}
        for place, found in read.items():
            if not isinstance(found, ErrorCode):
                batches[place] = yield from _batches(plain(found))
        left = fetch.wish.most
        for place, offset in fetch.reading:
            if fetch.is_gone:  # its session is over, and let go what it had: nothing more is acquired for it
                self._let_go(fetch)
                return []
            left -= self._acquire(fetch, (place, offset), read.get(place, b""), batches.get(place, []), left)
            yield None
        return self._end(fetch)

    def _bound(self, fetch: ShareFetch, led: Led) -> int:
        log = led.leader.log
        return log.last_stable_offset if fetch.is_stable else log.high_watermark

    def _acquire(
        self, fetch: ShareFetch, at: tuple[Place, int], data: Data, batches: list[ReadBatch], left: int
    ) -> int:
        place, offset = at
        led, index = fetch.led[place], place[1]
        if led.ended is not None:
            fetch.found[place] = PartitionData(partition_index=index, error_code=led.ended)
            return 0
        if isinstance(data, ErrorCode):
            error = data
            if data == ErrorCode.OFFSET_OUT_OF_RANGE:
                led.partition.log_begins_at(led.leader.log.start_offset)
                error = ErrorCode.NONE
            fetch.found[place] = PartitionData(partition_index=index, error_code=error)
            return 0
        aborted = data.aborted if isinstance(data, Stable) else ()
        wish = replace(fetch.wish, most=left)
        acquired, count = acquire(self._led().fresh(led), wish, Read(offset, batches, aborted), self._now())
        self._led().watch(led)
        fetch.found[place] = PartitionData(
            partition_index=index,
            records=_sliced(plain(data), batches, acquired) if acquired else b"",
            acquired_records=tuple(
                AcquiredRecords(first_offset=each.first, last_offset=each.last, delivery_count=each.deliveries)
                for each in acquired
            ),
        )
        return count


def _batches(data: bytes) -> InPieces[NoReturn, list[ReadBatch]]:
    found: list[ReadBatch] = []
    for header in batch_headers(data, partial_tail=True):
        marker = None
        if header.is_control:
            marker = marker_of(header.at(0), data[header.position : header.end_position])
        aborts = marker is not None and not marker.commit
        found.append(
            ReadBatch(
                header.base_offset,
                header.last_offset,
                header.size_in_bytes,
                producer_id=header.producer_id,
                is_transactional=header.is_transactional,
                aborts=aborts,
            )
        )
        if len(found) % _HEADERS_A_UNIT == 0:
            yield None
    return found


def _sliced(data: bytes, batches: list[ReadBatch], acquired: list[Acquired]) -> bytes:
    """Whole batches, from the one with the first record that was acquired to the one with the last."""
    first, last = acquired[0].first, acquired[-1].last
    begin = position = 0
    for number, batch in enumerate(batches):
        if number and batch.base > last:
            break
        if batch.base <= first:
            begin = position
        position += batch.size
    return data[begin:position]
