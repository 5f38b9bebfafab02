"""The metadata log read from the active controller by somebody who is no replica: what is committed, and the snapshot
before it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from controller_runtime.admin.connections import AdminError, Connections, Deadline, raise_if
from controller_runtime.identifiers import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, Epoch, Offset, OffsetAndEpoch
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import FetchResponse, PartitionData
from controller_runtime.protocol.messages.fetch_snapshot_request import (
    FetchSnapshotRequest,
    PartitionSnapshot,
    SnapshotId,
    TopicSnapshot,
)
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from controller_runtime.protocol.messages.fetch_snapshot_response import PartitionSnapshot as AnsweredSnapshot
from controller_runtime.values import dataclass

_SLICE_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class LogPart:
    """An answer to one fetch. With `snapshot`, the log begins after the asked offset; when `diverged`, the asked offset
    and epoch are not of this log: begin anew.
    """

    records: bytes
    high_watermark: Offset
    snapshot: OffsetAndEpoch | None
    diverged: bool


async def fetch(connections: Connections, after: OffsetAndEpoch, leader_epoch: Epoch, deadline: Deadline) -> LogPart:
    """What follows `after.offset`, whose last record was written in `after.epoch`. Raises FencedLeaderEpoch when
    another leader was elected meanwhile.
    """
    partition = FetchPartition(
        partition=0,
        current_leader_epoch=leader_epoch,
        fetch_offset=after.offset,
        last_fetched_epoch=after.epoch,
        partition_max_bytes=_SLICE_BYTES,
    )
    request = FetchRequest(
        topics=(FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(partition,)),), max_wait_ms=0, max_bytes=_SLICE_BYTES
    )
    found = await connections.ask_controller(request, FetchResponse, lambda one: _fetched(one)[0], deadline)
    code, answer = _fetched(found)
    raise_if(code)
    snapshot = answer.snapshot_id
    return LogPart(
        bytes(answer.records or b""),
        Offset(answer.high_watermark),
        OffsetAndEpoch(Offset(snapshot.end_offset), Epoch(snapshot.epoch)) if snapshot.epoch >= 0 else None,
        answer.diverging_epoch.epoch >= 0,
    )


async def fetch_snapshot(
    connections: Connections, snapshot_id: OffsetAndEpoch, leader_epoch: Epoch, deadline: Deadline
) -> AsyncIterator[tuple[bytes, int]]:
    """The bytes of a snapshot in order, each slice with the size of the whole."""
    position, size = 0, 1
    while position < size:
        wanted = PartitionSnapshot(
            partition=0,
            current_leader_epoch=leader_epoch,
            snapshot_id=SnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch),
            position=position,
        )
        request = FetchSnapshotRequest(
            topics=(TopicSnapshot(name=METADATA_TOPIC_NAME, partitions=(wanted,)),), max_bytes=_SLICE_BYTES
        )
        found = await connections.ask_controller(request, FetchSnapshotResponse, lambda one: _slice(one)[0], deadline)
        code, answer = _slice(found)
        raise_if(code)
        data, size = bytes(answer.unaligned_records), answer.size
        if not data or answer.position != position:
            raise AdminError(f"the controller sent {len(data)} bytes at {answer.position}, {position} was asked for")
        position += len(data)
        yield data, size


def _fetched(answer: FetchResponse) -> tuple[int, PartitionData]:
    partition = next((one for topic in answer.responses for one in topic.partitions), None)
    if partition is None:
        return answer.error_code or ErrorCode.UNKNOWN_SERVER_ERROR, PartitionData()
    return answer.error_code or partition.error_code, partition


def _slice(answer: FetchSnapshotResponse) -> tuple[int, AnsweredSnapshot]:
    partition = next((one for topic in answer.topics for one in topic.partitions), None)
    if partition is None:
        return answer.error_code or ErrorCode.UNKNOWN_SERVER_ERROR, AnsweredSnapshot()
    return answer.error_code or partition.error_code, partition
