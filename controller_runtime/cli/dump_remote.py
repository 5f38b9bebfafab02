"""Records of the remote log metadata topic (KIP-405) as Apache Kafka's classes say them."""

from __future__ import annotations

from typing import Any, Final

from controller_runtime.protocol.codec import decode_prefix
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.record_batch import Record

_FRAME_VERSION: Final = 1
_CLASSES: Final = (
    "RemoteLogSegmentMetadataRecord",
    "RemoteLogSegmentMetadataUpdateRecord",
    "RemotePartitionDeleteMetadataRecord",
    "RemoteLogSegmentMetadataSnapshotRecord",
)
_SEGMENT_STATES: Final = (
    "COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED",
)  # fmt: skip
_PARTITION_STATES: Final = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


class _NotOne(Exception):
    pass


def remote_text(record: Record) -> str:
    try:
        return _text(record.value)
    except (_NotOne, ProtocolError) as error:
        return f"Error at offset {record.offset}, skipping. {error}"


def _text(value: bytes | None) -> str:
    if value is None:
        raise _NotOne("the record has no value")
    if not value:
        raise _NotOne("Error while reading frame version")
    if value[0] != _FRAME_VERSION:
        why = f"unknown frame version {value[0]}(only frame version {_FRAME_VERSION} is supported)"
        raise _NotOne(f"Could not deserialize metadata record due to {why}")
    if len(value) < 3 or value[1] >= len(_CLASSES):
        raise _NotOne("Could not deserialize metadata record: unknown type")
    found: Any = decode_prefix(message_class(_CLASSES[value[1]]), value, value[2], 3)[0]
    return (_segment, _update, _partition, _snapshot)[value[1]](found)


def _segment(one: Any) -> str:
    state = _word(_SEGMENT_STATES, one.remote_log_segment_state, "state can not be null")
    return (
        f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_id(one.remote_log_segment_id)}, {_range(one)}, "
        f"brokerId={one.broker_id}, maxTimestampMs={one.max_timestamp_ms}, "
        f"eventTimestampMs={one.event_timestamp_ms}, segmentLeaderEpochs={_epochs(one)}, "
        f"segmentSizeInBytes={one.segment_size_in_bytes}, customMetadata={_custom(one)}, state={state}, "
        f"txnIdxEmpty={str(one.txn_index_empty).lower()}}}"
    )


def _update(one: Any) -> str:
    state = _word(_SEGMENT_STATES, one.remote_log_segment_state, "state can not be null")
    return (
        f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_id(one.remote_log_segment_id)}, "
        f"customMetadata={_custom(one)}, state={state}, eventTimestampMs={one.event_timestamp_ms}, "
        f"brokerId={one.broker_id}}}"
    )


def _partition(one: Any) -> str:
    state = _word(_PARTITION_STATES, one.remote_partition_delete_state, "null")
    return (
        f"RemotePartitionDeleteMetadata{{topicPartition={_topic_partition(one.topic_id_partition)}, state={state}, "
        f"eventTimestampMs={one.event_timestamp_ms}, brokerId={one.broker_id}}}"
    )


def _snapshot(one: Any) -> str:
    state = _word(_SEGMENT_STATES, one.remote_log_segment_state, "state can not be null")
    return (
        f"RemoteLogSegmentMetadataSnapshot{{segmentId={one.segment_id}, startOffset={one.start_offset}, "
        f"endOffset={one.end_offset}, maxTimestampMs={one.max_timestamp_ms}, segmentLeaderEpochs={_epochs(one)}, "
        f"segmentSizeInBytes={one.segment_size_in_bytes}, customMetadata={_custom(one)}, state={state}, "
        f"txnIdxEmpty={str(one.txn_index_empty).lower()}}}"
    )


def _range(one: Any) -> str:
    if one.start_offset < 0:
        why = "StartOffset for a remote segment cannot be negative"
        raise _NotOne(f"Unexpected start offset = {one.start_offset}. {why}")
    if one.end_offset < one.start_offset:
        why = f"EndOffset for a remote segment cannot be less than startOffset = {one.start_offset}"
        raise _NotOne(f"Unexpected end offset = {one.end_offset}. {why}")
    return f"startOffset={one.start_offset}, endOffset={one.end_offset}"


def _epochs(one: Any) -> str:
    if not one.segment_leader_epochs:
        raise _NotOne("segmentLeaderEpochs can not be null or empty")
    epochs = {each.leader_epoch: each.offset for each in one.segment_leader_epochs}
    return f"{{{', '.join(f'{epoch}={epochs[epoch]}' for epoch in sorted(epochs))}}}"


def _custom(one: Any) -> str:
    if one.custom_metadata is None:
        return "Optional.empty"
    return f"Optional[CustomMetadata{{{len(one.custom_metadata)} bytes}}]"


def _id(one: Any) -> str:
    return f"RemoteLogSegmentId{{topicIdPartition={_topic_partition(one.topic_id_partition)}, id={one.id}}}"


def _topic_partition(one: Any) -> str:
    return f"{one.id}:{one.name}-{one.partition}"


def _word(words: tuple[str, ...], number: int, otherwise: str) -> str:
    if not 0 <= number < len(words):
        raise _NotOne(otherwise)
    return words[number]
