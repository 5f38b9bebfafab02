"""The marker that ends a transaction in a partition: a control batch with one record, of the producer that it ends.

Every log that has a batch of the transaction gets one. Its coordinator's epoch fences a coordinator that another one
has followed.
"""

from __future__ import annotations

from controller_runtime.protocol.control_records import MARKERS, ControlType, control_record, decode_control
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.end_txn_marker import EndTxnMarker
from controller_runtime.protocol.record_batch import BatchHeader, RecordBatch, encode_batch
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Marker:
    """What one says, beside the producer and the epoch of its batch."""

    commit: bool
    coordinator_epoch: int


def marker_of(header: BatchHeader, data: bytes) -> Marker | None:
    """What this whole batch says; None: it is no marker, was emptied by compaction, or cannot be read."""
    if not header.is_control or not header.record_count:
        return None
    try:
        control = decode_control(RecordBatch(header, data).records[0])
    except ProtocolError:
        return None
    if control.type not in MARKERS:
        return None
    assert isinstance(control.message, EndTxnMarker), "markers have one shape"
    return Marker(control.type is ControlType.COMMIT, control.message.coordinator_epoch)


def encode_marker(producer_id: int, epoch: int, marker: Marker, timestamp: int) -> bytes:
    """One batch, as Kafka's leaders write it; its offset is to be set."""
    kind = ControlType.COMMIT if marker.commit else ControlType.ABORT
    message = EndTxnMarker(coordinator_epoch=marker.coordinator_epoch)
    record = control_record(message, offset=0, timestamp=timestamp, marker=kind)
    return encode_batch([record], is_control=True, is_transactional=True, producer_id=producer_id, producer_epoch=epoch)
