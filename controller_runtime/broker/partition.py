"""A partition that this broker leads: which batches it takes, and which offsets they get.

The broker decides here, in memory; the shell writes afterwards, in the order of the decisions. So `end_offset` is where the next batch will
go, and `high_watermark` is where the written log ends: only that is shown to readers, and only that is acknowledged. With one
replica they meet as soon as the write is done. Sequence numbers are checked against what was decided, not only against
what was written, so a retry that overtakes its first attempt is still found.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.producer_states import (
    NO_PRODUCER,
    ProducerBatch,
    ProducerEntry,
    next_sequence,
    note_batch,
)
from controller_runtime.protocol.record_batch import (
    BatchHeader,
    RecordBatch,
    batch_headers,
    encode_batch,
    read_header,
    restamp,
    verify_crc,
)
from controller_runtime.values import dataclass, field

NO_OFFSET: Final = -1
_MAGIC_POSITION: Final = 16


@dataclass(frozen=True, slots=True, order=True)
class PartitionKey:
    """One partition of one topic, for good: a topic of the same name made later has another id."""

    topic_id: Uuid
    index: int


@dataclass(frozen=True, slots=True)
class AppendRules:
    """What the topic's configuration says about appends."""

    max_message_bytes: int = 1048588
    log_append_time: bool = False
    compression: Compression | None = None
    """None: as the producer sent it."""

    @classmethod
    def of(cls, configs: Mapping[str, str]) -> AppendRules:
        codec = configs.get("compression.type", "producer")
        named = {"uncompressed": Compression.NONE, **{each.name.lower(): each for each in Compression}}
        return cls(
            max_message_bytes=int(configs.get("max.message.bytes", "1048588")),
            log_append_time=configs.get("message.timestamp.type") == "LogAppendTime",
            compression=named.get(codec),
        )


@dataclass(frozen=True, slots=True)
class Appended:
    """The batch goes to `base_offset`; the answer waits until the high watermark reaches `wait_for`."""

    base_offset: int
    wait_for: int
    data: bytes
    """What to write; empty for a duplicate, which is already in the log or on its way."""
    log_append_time: int = -1


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a batch is not taken."""

    error: ErrorCode
    message: str | None = None


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

    def append(self, records: bytes | None, rules: AppendRules, wall: int) -> Appended | Refused:
        """Take one batch of a producer, or say why not."""
        header = self._single_batch(records, rules)
        if isinstance(header, Refused):
            return header
        assert records is not None, "a batch was read from it"
        found = self._check_sequence(header)
        if isinstance(found, Refused):
            return found
        if found is not None:
            return Appended(found.first_offset, found.last_offset + 1, b"")
        try:
            data = self._prepared(records, header, rules, wall)
        except ProtocolError as error:
            return Refused(ErrorCode.CORRUPT_MESSAGE, str(error))
        base = self.end_offset
        placed = read_header(data)
        note_batch(self.producers, placed)
        self.end_offset = placed.next_offset
        if not self.epoch_starts or self.epoch_starts[-1][0] < self.leader_epoch:
            self.epoch_starts.append((self.leader_epoch, base))
        return Appended(base, self.end_offset, data, wall if rules.log_append_time else -1)

    def _single_batch(self, records: bytes | None, rules: AppendRules) -> BatchHeader | Refused:
        if not records:
            return Refused(ErrorCode.INVALID_RECORD, "a produce request carries one batch for each partition")
        if len(records) > _MAGIC_POSITION and records[_MAGIC_POSITION] < 2:
            return Refused(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, "only record batches of magic 2 are taken")
        try:
            headers = list(batch_headers(records))
            verify_crc(records, headers[0])
        except ProtocolError as error:
            return Refused(ErrorCode.CORRUPT_MESSAGE, str(error))
        header = headers[0]
        if len(headers) != 1:
            return Refused(ErrorCode.INVALID_RECORD, f"{len(headers)} batches, one is allowed")
        if header.size_in_bytes > rules.max_message_bytes:
            limit = f"the limit is {rules.max_message_bytes}"
            return Refused(ErrorCode.MESSAGE_TOO_LARGE, f"The record batch has {header.size_in_bytes} bytes, {limit}.")
        if header.is_control:
            return Refused(ErrorCode.INVALID_RECORD, "clients do not write control records")
        if header.record_count <= 0 or header.last_offset_delta != header.record_count - 1:
            counts = f"{header.record_count} records, last offset delta {header.last_offset_delta}"
            return Refused(ErrorCode.INVALID_RECORD, f"the batch contradicts itself: {counts}")
        if header.is_transactional:
            return Refused(ErrorCode.INVALID_TXN_STATE, "transactions are not supported yet")
        return header

    def _check_sequence(self, header: BatchHeader) -> ProducerBatch | Refused | None:
        """The batch that this one repeats, or why it cannot come now, or None: it is next."""
        if header.producer_id == NO_PRODUCER:
            return None
        if header.producer_epoch < 0 or header.base_sequence < 0:
            return Refused(ErrorCode.INVALID_RECORD, "an idempotent producer's batch has an epoch and a sequence")
        entry = self.producers.get(header.producer_id)
        if entry is None:
            return None  # Its state may have expired or been deleted with the records: any sequence may follow.
        if header.producer_epoch < entry.epoch:
            return Refused(ErrorCode.INVALID_PRODUCER_EPOCH, f"epoch {header.producer_epoch}, {entry.epoch} is newer")
        repeated = entry.duplicate(header.producer_epoch, header.base_sequence, header.last_sequence)
        if repeated is not None:
            return repeated
        newer_epoch = header.producer_epoch > entry.epoch
        expected = 0 if newer_epoch or not entry.batches else next_sequence(entry.last_sequence)
        if header.base_sequence != expected:
            got = f"got {header.base_sequence}, {expected} is next"
            return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, f"producer {header.producer_id}: {got}")
        return None

    def _prepared(self, records: bytes, header: BatchHeader, rules: AppendRules, wall: int) -> bytes:
        """The batch as it goes to the log: offset and epoch set; written anew only if the topic asks for another form."""
        if rules.log_append_time or (rules.compression is not None and rules.compression != header.compression):
            records = _rewritten(RecordBatch(header, records), rules, wall)
        data = bytearray(records)
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
        if known < 0 or known == self.leader_epoch:
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if known < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH


def _rewritten(batch: RecordBatch, rules: AppendRules, wall: int) -> bytes:
    header = batch.header
    compression = header.compression if rules.compression is None else rules.compression
    return encode_batch(
        batch.records,
        compression=compression,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        log_append_time=wall if rules.log_append_time else None,
    )
