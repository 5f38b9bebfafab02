"""A partition that this broker leads: which batches it takes, and which offsets they get.

The broker decides here, in memory; the shell writes afterwards, in the order of the decisions. So `end_offset` is where
the next batch will go, and `high_watermark` is where the written log ends: only that is shown to readers, and only that
is acknowledged. With one replica they meet as soon as the write is done. Sequence numbers are checked against what was
decided, not only against what was written, so a retry that overtakes its first attempt is still found.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from controller_runtime.broker.append_rules import AppendRules, Refused
from controller_runtime.broker.batch_checks import NEWEST_VERSION, Checked, check_batch
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.producer_states import (
    NO_PRODUCER,
    ProducerBatch,
    ProducerEntry,
    next_sequence,
    note_batch,
)
from controller_runtime.protocol.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    claimed_header,
    rebuild,
    restamp,
    stamp_times,
)
from controller_runtime.protocol.record_survey import renumbered
from controller_runtime.values import dataclass, field

NO_OFFSET: Final = -1
NO_EPOCH: Final = -1
LAST_OFFSET: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True, order=True)
class PartitionKey:
    """One partition of one topic, for good: a topic of the same name made later has another id."""

    topic_id: Uuid
    index: int


@dataclass(frozen=True, slots=True)
class Appended:
    """The batch goes to `base_offset`; the answer waits until the high watermark reaches `wait_for`."""

    base_offset: int
    wait_for: int
    data: bytes
    """What to write; empty for a duplicate, which is already in the log or on its way."""
    log_append_time: int = -1
    """Of a duplicate the largest timestamp of its batch, as Kafka answers it."""


@dataclass(slots=True)
class LedPartition:
    """The state machine of one led partition. Offsets are exclusive at ends."""

    key: PartitionKey
    topic: str
    leader_epoch: int
    start_offset: int
    end_offset: int
    high_watermark: int
    epoch_starts: list[tuple[int, int]] = field(default_factory=list)
    producers: dict[int, ProducerEntry] = field(default_factory=dict)

    def append(
        self, records: bytes | None, rules: AppendRules, wall: int, version: int = NEWEST_VERSION
    ) -> Appended | Refused:
        """Take one batch of a producer, or say why not."""
        checked = check_batch(records or b"", rules, wall, version)
        if isinstance(checked, Refused):
            return checked
        if self.end_offset > LAST_OFFSET - checked.header.record_count:
            return Refused(ErrorCode.UNKNOWN_SERVER_ERROR, f"there are no offsets left behind {self.end_offset}")
        data = self._prepared(checked, rules, wall)
        if isinstance(data, Refused):
            return data
        found = self._check_sequence(checked.header)
        if isinstance(found, Refused):
            return found
        if found is not None:
            return Appended(found.first_offset, found.last_offset + 1, b"", found.timestamp)
        base = self.end_offset
        placed = claimed_header(data)
        appended = Appended(base, placed.next_offset, data, wall if rules.log_append_time else -1)
        self.lead(self.leader_epoch, base)
        note_batch(self.producers, placed)  # From here on a retry is a duplicate: nothing that can fail may follow.
        self.end_offset = placed.next_offset
        return appended

    def lead(self, epoch: int, begins_at: int | None = None) -> None:
        """An epoch begins where the log ends, as soon as it is led in it; an epoch that wrote nothing is forgotten for
        the next.
        """
        self.leader_epoch = epoch
        if self.epoch_starts and self.epoch_starts[-1][0] >= epoch:
            return
        start = self.end_offset if begins_at is None else begins_at
        while self.epoch_starts and self.epoch_starts[-1][1] >= start:
            self.epoch_starts.pop()
        self.epoch_starts.append((epoch, start))

    def _check_sequence(self, header: BatchHeader) -> ProducerBatch | Refused | None:
        """The batch that this one repeats, or why it cannot come now, or None: it is next."""
        if header.producer_id <= NO_PRODUCER:
            return None
        entry = self.producers.get(header.producer_id)
        newest = NO_EPOCH if entry is None else entry.epoch
        if header.producer_epoch < newest:
            return Refused(ErrorCode.INVALID_PRODUCER_EPOCH, f"epoch {header.producer_epoch}, {newest} is newer")
        if entry is None:
            return None  # Its state may have expired or been deleted with the records: any sequence may follow.
        repeated = entry.duplicate(header.producer_epoch, header.base_sequence, header.last_sequence)
        if repeated is not None or newest == NO_EPOCH:
            return repeated
        newer_epoch = header.producer_epoch > entry.epoch
        expected = 0 if newer_epoch or not entry.batches else next_sequence(entry.last_sequence)
        if header.base_sequence != expected:
            got = f"got {header.base_sequence}, {expected} is next"
            return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, f"producer {header.producer_id}: {got}")
        return None

    def _prepared(self, checked: Checked, rules: AppendRules, wall: int) -> bytes | Refused:
        """The batch as it goes to the log: offset, epoch and time set; written anew only if the topic asks for another
        codec.
        """
        header = checked.header
        if rules.compression is not None and rules.compression is not header.compression:
            data = bytearray(_rewritten(checked, rules, wall))
            if len(data) > rules.max_message_bytes:
                limit = f"the limit is {rules.max_message_bytes}"
                return Refused(ErrorCode.MESSAGE_TOO_LARGE, f"The record batch became {len(data)} bytes, {limit}.")
        else:
            data = bytearray(checked.data)
            stamp_times(
                data, header, wall if rules.log_append_time else checked.latest, log_append_time=rules.log_append_time
            )
        if len(data) > rules.segment_bytes:
            limit = f"a segment has {rules.segment_bytes}"
            return Refused(ErrorCode.RECORD_LIST_TOO_LARGE, f"The record batch has {len(data)} bytes, {limit}.")
        restamp(data, self.end_offset, self.leader_epoch)
        return bytes(data)

    def written(self, end_offset: int) -> None:
        """The log holds everything below."""
        assert self.high_watermark <= end_offset <= self.end_offset, f"{self.key}: written to {end_offset}"
        self.high_watermark = end_offset

    def epoch_of(self, offset: int) -> int:
        """The leader epoch that wrote `offset`; -1 before the first."""
        at = bisect_right(self.epoch_starts, offset, key=lambda entry: entry[1]) - 1
        return self.epoch_starts[at][0] if at >= 0 else -1

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch up to this one, as OffsetForLeaderEpoch wants it."""
        if epoch == NO_EPOCH:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.leader_epoch:
            return epoch, self.end_offset
        at = bisect_right(self.epoch_starts, epoch, key=lambda entry: entry[0])
        if at == 0:
            return (epoch, self.start_offset) if self.epoch_starts else (-1, NO_OFFSET)
        if at == len(self.epoch_starts):
            return -1, NO_OFFSET
        return self.epoch_starts[at - 1][0], self.epoch_starts[at][1]

    def check_epoch(self, known: int) -> ErrorCode:
        """What a client's idea of the leader epoch is worth; -1: it has none."""
        if known in (NO_EPOCH, self.leader_epoch):
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if known < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH


def _rewritten(checked: Checked, rules: AppendRules, wall: int) -> bytes:
    header, plain = checked.header, checked.plain
    assert rules.compression is not None, "the topic has a codec of its own"
    start = 0 if plain else HEADER_BYTES
    records = renumbered(plain or checked.data, start, header.record_count, one_time=header.is_log_append_time)
    return rebuild(header, records, rules.compression, checked.latest, wall if rules.log_append_time else None)
