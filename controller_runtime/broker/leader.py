"""A partition that this broker leads: which batches it takes, which offsets they get, and how far readers may read.

The broker decides here, in memory; the shell writes afterwards, in the order of the decisions. The high watermark is
the least offset that every replica in sync has written (`replication.led_replicas`): only what is below is shown to
readers, and only that is acknowledged to who wants it from all of them. With one replica it follows the write. Sequence
numbers are checked against what was decided, not only against what was written, so a retry that overtakes its first
attempt is still found.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from controller_runtime.broker.append_rules import AppendRules, BatchRefusal
from controller_runtime.broker.batch_checks import NEWEST_VERSION, Checked, check_batch
from controller_runtime.broker.partition import NO_EPOCH, NO_OFFSET, OpenLog
from controller_runtime.broker.replication.led_replicas import LedReplicas
from controller_runtime.broker.sequences import (
    FIRST_VERSION_BUMPED,
    Verification,
    Verifications,
    check_batch_of_producer,
    check_marker,
)
from controller_runtime.identifiers import Instant, NodeId
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.record_batch import (
    HEADER_BYTES,
    claimed_header,
    rebuild,
    restamp,
    stamp_times,
)
from controller_runtime.protocol.record_survey import renumbered
from controller_runtime.protocol.transaction_markers import Marker, encode_marker
from controller_runtime.values import dataclass, field

LAST_OFFSET: Final = (1 << 63) - 1


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
class Leader:
    """The state machine of one led partition."""

    log: OpenLog
    epoch: int
    replicas: LedReplicas = field(default_factory=LedReplicas)
    verifications: Verifications = field(default_factory=Verifications)

    def lead(self, node_id: NodeId, partition: Partition, now: Instant, *, led: bool) -> None:
        """An epoch begins where the log ends, as soon as it is led in it. `led`: this broker led the one before."""
        self.epoch = partition.leader_epoch
        self.log.begin_epoch(self.epoch, self.log.end_offset)
        self.replicas.begin(node_id, partition, self.log.end_offset, now, led=led)

    def raise_high_watermark(self, reached: int) -> bool:
        """The only place that does. It never goes back."""
        if reached <= self.log.high_watermark:
            return False
        self.log.high_watermark = reached
        return True

    def append(
        self,
        records: bytes | None,
        rules: AppendRules,
        wall: int,
        version: int = NEWEST_VERSION,
        *,
        verified: Verification | None = None,
        from_client: bool = True,
    ) -> Appended | BatchRefusal:
        """Take one batch of a producer, or say why not. `verified`: its transaction is known to be open."""
        checked = check_batch(records or b"", rules, wall, version)
        if isinstance(checked, BatchRefusal):
            return checked
        if self.log.end_offset > LAST_OFFSET - checked.header.record_count:
            return BatchRefusal(
                ErrorCode.UNKNOWN_SERVER_ERROR, f"there are no offsets left behind {self.log.end_offset}"
            )
        data = self._prepared(checked, rules, wall)
        if isinstance(data, BatchRefusal):
            return data
        producer_id = checked.header.producer_id
        found = check_batch_of_producer(
            self.log.producers.get(producer_id),
            checked.header,
            self.verifications.asked.get(producer_id),
            verified=verified,
            verifies=rules.verifies_transactions,
            from_client=from_client,
        )
        if isinstance(found, BatchRefusal):
            return found
        if found is not None:
            return Appended(found.first_offset, found.last_offset + 1, b"", found.timestamp)
        if checked.header.is_transactional:
            self.verifications.end(checked.header)
        return self._placed(data, wall if rules.log_append_time else -1)

    def _placed(self, data: bytes, append_time: int = -1, coordinator_epoch: int | None = None) -> Appended:
        base = self.log.end_offset
        placed = claimed_header(data)
        appended = Appended(base, placed.next_offset, data, append_time)
        self.log.begin_epoch(self.epoch, base)
        self.log.note(placed, coordinator_epoch)  # Now a retry is a duplicate: nothing that can fail may follow.
        self.log.end_offset = placed.next_offset
        return appended

    def append_marker(
        self, producer_id: int, epoch: int, marker: Marker, wall: int, transaction_version: int = 0
    ) -> Appended | BatchRefusal:
        """End a producer's transaction here; also where it has written nothing. `epoch`: the marker's."""
        refused = check_marker(self.log.producers.get(producer_id), epoch, marker, transaction_version)
        if refused is not None:
            return refused
        data = bytearray(encode_marker(producer_id, epoch, marker, wall))
        restamp(data, self.log.end_offset, self.epoch)
        bumped = transaction_version >= FIRST_VERSION_BUMPED
        self.verifications.end(claimed_header(data), bumped=bumped)
        return self._placed(bytes(data), coordinator_epoch=marker.coordinator_epoch)

    def _prepared(self, checked: Checked, rules: AppendRules, wall: int) -> bytes | BatchRefusal:
        """The batch as it goes to the log: offset, epoch and time set; written anew only if the topic asks for another
        codec.
        """
        header = checked.header
        if rules.compression is not None and rules.compression is not header.compression:
            data = bytearray(_rewritten(checked, rules, wall))
            if len(data) > rules.max_message_bytes:
                limit = f"the limit is {rules.max_message_bytes}"
                return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, f"The record batch became {len(data)} bytes, {limit}.")
        else:
            data = bytearray(checked.data)
            stamp_times(
                data, header, wall if rules.log_append_time else checked.latest, log_append_time=rules.log_append_time
            )
        if len(data) > rules.segment_bytes:
            limit = f"a segment has {rules.segment_bytes}"
            return BatchRefusal(ErrorCode.RECORD_LIST_TOO_LARGE, f"The record batch has {len(data)} bytes, {limit}.")
        restamp(data, self.log.end_offset, self.epoch)
        return bytes(data)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch up to this one, as OffsetForLeaderEpoch wants it."""
        if epoch == NO_EPOCH:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.epoch:
            return epoch, self.log.end_offset
        at = bisect_right(self.log.epoch_starts, epoch, key=lambda entry: entry[0])
        if at == 0:
            return (epoch, self.log.start_offset) if self.log.epoch_starts else (-1, NO_OFFSET)
        if at == len(self.log.epoch_starts):
            return -1, NO_OFFSET
        return self.log.epoch_starts[at - 1][0], self.log.epoch_starts[at][1]


def _rewritten(checked: Checked, rules: AppendRules, wall: int) -> bytes:
    header, plain = checked.header, checked.plain
    assert rules.compression is not None, "the topic has a codec of its own"
    start = 0 if plain else HEADER_BYTES
    records = renumbered(plain or checked.data, start, header.record_count, one_time=header.is_log_append_time)
    return rebuild(header, records, rules.compression, checked.latest, wall if rules.log_append_time else None)
