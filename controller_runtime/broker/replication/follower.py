"""A replica that follows its leader: what it asks for next, and what an answer means for its log.

Bytes go to the log as the leader sent them. What it asks for is always the end of what is written, so the leader may
count on it; while something is on its way to the disk it asks for nothing. Whatever an answer is about, it counts only
for the leader epoch and the offset that it was asked with (KAFKA-18991), and of it only batches up to that epoch
(KAFKA-18723).
"""

from __future__ import annotations

from controller_runtime.broker.partition import NO_EPOCH, NO_OFFSET, OpenLog
from controller_runtime.broker.replication.truncation import cut_at, end_of_epoch, last_epoch
from controller_runtime.protocol.messages.fetch_response import PartitionData
from controller_runtime.protocol.record_batch import BatchHeader, CorruptBatch, batch_headers, verify_crc
from controller_runtime.protocol.transaction_markers import marker_of
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Position:
    """What is asked of a leader."""

    epoch: int
    offset: int
    last_epoch: int
    log_start: int
    high_watermark: int


@dataclass(frozen=True, slots=True)
class Cut:
    """The log has to end there: nothing else happens to it meanwhile."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class Take:
    """Batches to append; `restart`: the log is empty, and begins there first."""

    batches: bytes
    headers: tuple[BatchHeader, ...]
    restart: int | None = None

    @property
    def end_offset(self) -> int:
        return self.headers[-1].next_offset


@dataclass(slots=True)
class Follower:
    """Its log is open, and this broker does not lead it: it refuses clients, and copies what the leader has."""

    log: OpenLog
    leader: int = -1
    epoch: int = NO_EPOCH
    is_cut: bool = False
    """Its log is being cut or begun anew, and is as before until that is done."""
    leaders_high_watermark: int = 0
    leaders_start: int = 0
    has_heard: bool = False
    """Of this leader, in this epoch."""

    def follow(self, leader: int, epoch: int) -> bool:
        """Whom the image names. True: it is another epoch, so what was asked for counts no more."""
        changed = (leader, epoch) != (self.leader, self.epoch)
        self.leader, self.epoch = leader, epoch
        self.has_heard = self.has_heard and not changed
        return changed

    @property
    def has_caught_up(self) -> bool:
        """It has all that consumers could see when it heard of its leader last."""
        return self.has_heard and self.leaders_high_watermark <= self.log.end_offset

    @property
    def is_settled(self) -> bool:
        return not self.is_cut and self.log.written_offset == self.log.end_offset

    @property
    def first_cut(self) -> int | None:
        """A log without epochs cannot tell where it parts from the leader's: only what consumers could see stays."""
        log = self.log
        return log.high_watermark if not log.epoch_starts and log.high_watermark < log.end_offset else None

    def position(self) -> Position:
        log = self.log
        known = last_epoch(log.epoch_starts, log.end_offset)
        return Position(self.epoch, log.end_offset, known, log.start_offset, log.high_watermark)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch up to this one, for a consumer; as `Leader.end_of_epoch`."""
        log = self.log
        if not log.epoch_starts or epoch > log.epoch_starts[-1][0]:
            return NO_EPOCH, NO_OFFSET
        return end_of_epoch(log.epoch_starts, epoch, log.end_offset) or (epoch, log.epoch_starts[0][1])

    def is_about(self, asked: Position) -> bool:
        """An answer to this is about the log as it is."""
        return self.is_settled and (self.epoch, self.log.end_offset) == (asked.epoch, asked.offset)

    def judge(self, answer: PartitionData) -> Cut | Take | None:
        """What an answer without an error means; None: there is nothing new. Raises CorruptBatch."""
        diverging = answer.diverging_epoch
        if diverging.epoch >= 0 or diverging.end_offset >= 0:
            log = self.log
            end = cut_at(log.epoch_starts, log.end_offset, diverging.epoch, diverging.end_offset)
            return Cut(max(0, end))
        self.leaders_high_watermark, self.leaders_start = answer.high_watermark, answer.log_start_offset
        self.has_heard = True
        return self._judge_records(answer.records or b"")

    def _judge_records(self, records: bytes) -> Take | None:
        log = self.log
        headers: list[BatchHeader] = []
        end = log.end_offset
        is_empty = log.start_offset == end
        for header in batch_headers(records, partial_tail=True):
            verify_crc(records, header)
            if header.partition_leader_epoch > self.epoch:
                break
            if header.base_offset < end and not (is_empty and not headers and header.next_offset > end):
                raise CorruptBatch(header.position, f"the log ends at {end} already", header.base_offset)
            headers.append(header)
            end = header.next_offset
        if not headers:
            return None
        begins = headers[0].base_offset
        restart = begins if is_empty and begins < log.end_offset else None
        return Take(records[: headers[-1].end_position], tuple(headers), restart)

    def take(self, found: Take) -> None:
        """It is on its way to the disk."""
        log = self.log
        if found.restart is not None:
            log.start_offset = log.written_offset = log.high_watermark = log.end_offset = found.restart
            log.epoch_starts.clear()
        for header in found.headers:
            log.begin_epoch(header.partition_leader_epoch, header.base_offset)
            whole = found.batches[header.position : header.end_position] if header.is_control else b""
            marker = marker_of(header, whole)
            log.note(header, None if marker is None else marker.coordinator_epoch)
        log.end_offset = found.end_offset

    def settle(self) -> int | None:
        """As far as the leader's answers go for what is written: the high watermark, and where the log begins by now if
        that is later than it did.
        """
        log = self.log
        reached = min(self.leaders_high_watermark, log.written_offset)
        log.high_watermark = max(log.high_watermark, reached)
        start = min(self.leaders_start, log.high_watermark)
        if start <= log.start_offset:
            return None
        log.begin_at(start)
        return start
