"""Fetch and FetchSnapshot of the metadata partition between Kafka's messages and raft's values.

Fetched batches are checked here, before consensus sees them: length, CRC, one offset per record. From the first bad
batch on nothing is taken; the follower asks again. A leader's answer carries the bytes it was given; nothing is decoded
for it.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import (
    METADATA_TOPIC_ID,
    METADATA_TOPIC_NAME,
    DirectoryId,
    Endpoint,
    Epoch,
    NodeId,
    Offset,
    OffsetAndEpoch,
    ReplicaKey,
)
from controller_runtime.node.quorum.control_batches import decode_control_batch
from controller_runtime.node.quorum.raft_rpc import (
    METADATA_PARTITION,
    NOBODY,
    UNKNOWN_EPOCH,
    Border,
    PeerProtocolError,
    error_code,
    is_foreign,
    node_or_none,
    raft_error,
)
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import fetch_response as fetch_r
from controller_runtime.protocol.messages import fetch_snapshot_request as snap_q
from controller_runtime.protocol.messages import fetch_snapshot_response as snap_r
from controller_runtime.protocol.record_batch import RecordBatch, batch_headers, verify_crc
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages as raft
from controller_runtime.raft.messages import LogBatch

FIRST_VERSION_WITH_TOPIC_ID: Final = 13
FIRST_VERSION_WITH_REPLICA_STATE: Final = 15
FIRST_VERSION_WITH_ENDPOINTS: Final = 17
MAX_FETCH_BYTES: Final = 8 << 20
"""However much a peer asks for, one answer carries no more (but at least one batch)."""


# Requests.


def fetch_to_wire(request: raft.FetchRequest, border: Border) -> Message:
    partition = fetch_q.FetchPartition(
        partition=METADATA_PARTITION,
        current_leader_epoch=request.epoch,
        fetch_offset=request.offset,
        last_fetched_epoch=request.last_epoch,
        replica_directory_id=request.replica.directory_id,
        high_watermark=request.high_watermark,
    )
    return fetch_q.FetchRequest(
        cluster_id=border.cluster_id,
        replica_state=fetch_q.ReplicaState(replica_id=request.replica.node_id),
        max_wait_ms=request.max_wait_ms,
        max_bytes=request.max_bytes,
        topics=(fetch_q.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(partition,)),),
    )


def snapshot_to_wire(request: raft.FetchSnapshotRequest, border: Border) -> Message:
    partition = snap_q.PartitionSnapshot(
        partition=METADATA_PARTITION,
        current_leader_epoch=request.epoch,
        snapshot_id=snap_q.SnapshotId(end_offset=request.snapshot_id.offset, epoch=request.snapshot_id.epoch),
        position=request.position,
        replica_directory_id=request.replica.directory_id,
    )
    return snap_q.FetchSnapshotRequest(
        cluster_id=border.cluster_id,
        replica_id=request.replica.node_id,
        max_bytes=request.max_bytes,
        topics=(snap_q.TopicSnapshot(name=METADATA_TOPIC_NAME, partitions=(partition,)),),
    )


def fetch_from_wire(body: fetch_q.FetchRequest, version: int, border: Border) -> raft.FetchRequest | Message:
    """What a replica asks, or the answer that refuses it."""
    if is_foreign(body.cluster_id, border):
        return fetch_r.FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    topics = body.topics
    if len(topics) != 1 or len(topics[0].partitions) != 1 or not _is_metadata_topic(topics[0], version):
        return fetch_r.FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    asked = topics[0].partitions[0]
    if asked.partition != METADATA_PARTITION:
        return fetch_r.FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    replica = body.replica_state.replica_id if version >= FIRST_VERSION_WITH_REPLICA_STATE else body.replica_id
    return raft.FetchRequest(
        ReplicaKey(NodeId(replica), DirectoryId(asked.replica_directory_id)),
        Epoch(asked.current_leader_epoch),
        Offset(asked.fetch_offset),
        last_epoch=Epoch(asked.last_fetched_epoch),
        high_watermark=Offset(asked.high_watermark),
        max_wait_ms=body.max_wait_ms,
        max_bytes=max(0, min(body.max_bytes, MAX_FETCH_BYTES)),
    )


def _is_metadata_topic(topic: fetch_q.FetchTopic, version: int) -> bool:
    """Named by its id: the versions before, which have names, are refused, as by Kafka."""
    return version >= FIRST_VERSION_WITH_TOPIC_ID and topic.topic_id == METADATA_TOPIC_ID


def snapshot_from_wire(body: snap_q.FetchSnapshotRequest, border: Border) -> raft.FetchSnapshotRequest | Message:
    if is_foreign(body.cluster_id, border):
        return snap_r.FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    topics = body.topics
    if len(topics) != 1 or topics[0].name != METADATA_TOPIC_NAME or len(topics[0].partitions) != 1:
        return _unknown_snapshot_partition(body)
    asked = topics[0].partitions[0]
    if asked.partition != METADATA_PARTITION:
        return _unknown_snapshot_partition(body)
    return raft.FetchSnapshotRequest(
        ReplicaKey(NodeId(body.replica_id), DirectoryId(asked.replica_directory_id)),
        Epoch(asked.current_leader_epoch),
        OffsetAndEpoch(Offset(asked.snapshot_id.end_offset), Epoch(asked.snapshot_id.epoch)),
        asked.position,
        max(0, min(body.max_bytes, MAX_FETCH_BYTES)),
    )


def _unknown_snapshot_partition(body: snap_q.FetchSnapshotRequest) -> Message:
    topics = tuple(
        snap_r.TopicSnapshot(
            name=topic.name,
            partitions=tuple(
                snap_r.PartitionSnapshot(index=each.partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                for each in topic.partitions
            ),
        )
        for topic in body.topics
    )
    return snap_r.FetchSnapshotResponse(topics=topics)


# Responses of a leader.


def fetch_response_to_wire(response: raft.FetchResponse, version: int, border: Border, records: bytes = b"") -> Message:
    leader = NOBODY if response.leader_id is None else response.leader_id
    diverging, snapshot, at = response.diverging, response.snapshot_id, border.leader_endpoint
    partition = fetch_r.PartitionData(
        partition_index=METADATA_PARTITION,
        error_code=error_code(response.error),
        high_watermark=response.high_watermark,
        log_start_offset=response.log_start_offset,
        diverging_epoch=fetch_r.EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.offset)
        if diverging
        else fetch_r.EpochEndOffset(),
        current_leader=fetch_r.LeaderIdAndEpoch(leader_id=leader, leader_epoch=response.epoch),
        snapshot_id=fetch_r.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch)
        if snapshot
        else fetch_r.SnapshotId(),
        records=records,
    )
    topic = fetch_r.FetchableTopicResponse(
        topic=METADATA_TOPIC_NAME, topic_id=METADATA_TOPIC_ID, partitions=(partition,)
    )
    with_endpoint = at is not None and leader >= 0 and version >= FIRST_VERSION_WITH_ENDPOINTS
    endpoints = (fetch_r.NodeEndpoint(node_id=leader, host=at.host, port=at.port),) if at and with_endpoint else ()
    return fetch_r.FetchResponse(responses=(topic,), node_endpoints=endpoints)


def snapshot_response_to_wire(response: raft.FetchSnapshotResponse, version: int, border: Border) -> Message:
    leader = NOBODY if response.leader_id is None else response.leader_id
    partition = snap_r.PartitionSnapshot(
        index=METADATA_PARTITION,
        error_code=error_code(response.error),
        snapshot_id=snap_r.SnapshotId(end_offset=response.snapshot_id.offset, epoch=response.snapshot_id.epoch),
        current_leader=snap_r.LeaderIdAndEpoch(leader_id=leader, leader_epoch=response.epoch),
        size=response.size,
        position=response.position,
        unaligned_records=response.data,
    )
    at = border.leader_endpoint
    endpoints = (snap_r.NodeEndpoint(node_id=leader, host=at.host, port=at.port),) if at and version >= 1 else ()
    topic = snap_r.TopicSnapshot(name=METADATA_TOPIC_NAME, partitions=(partition,))
    return snap_r.FetchSnapshotResponse(topics=(topic,), node_endpoints=endpoints)


# Responses to a follower.


def fetch_response_from_wire(body: fetch_r.FetchResponse) -> raft.FetchResponse:
    if body.error_code:
        return raft.FetchResponse(raft_error(body.error_code), UNKNOWN_EPOCH, None)
    if len(body.responses) != 1 or len(body.responses[0].partitions) != 1:
        raise PeerProtocolError("a Fetch response of the metadata log has one partition")
    answered = body.responses[0].partitions[0]
    leader, diverging, snapshot = answered.current_leader, answered.diverging_epoch, answered.snapshot_id
    records = answered.records or b""
    batches = checked_batches(records)
    return raft.FetchResponse(
        raft_error(answered.error_code),
        Epoch(leader.leader_epoch),
        leader_id=node_or_none(leader.leader_id),
        high_watermark=Offset(answered.high_watermark),
        log_start_offset=Offset(answered.log_start_offset),
        diverging=OffsetAndEpoch(Offset(diverging.end_offset), Epoch(diverging.epoch))
        if diverging.epoch >= 0
        else None,
        snapshot_id=OffsetAndEpoch(Offset(snapshot.end_offset), Epoch(snapshot.epoch))
        if snapshot.end_offset >= 0
        else None,
        batches=batches,
        leader_endpoint=next(
            (Endpoint(at.host, at.port) for at in body.node_endpoints if at.node_id == leader.leader_id), None
        ),
        damaged=bool(records) and not batches,
    )


def checked_batches(data: bytes) -> tuple[LogBatch, ...]:
    """The batches before the first bad one. A cut tail is no error: fetches may cut."""
    batches: list[LogBatch] = []
    try:
        for header in batch_headers(data, partial_tail=True):
            verify_crc(data, header)
            if header.last_offset_delta + 1 != header.record_count:
                break
            raw = data[header.position : header.end_position]
            control = decode_control_batch(RecordBatch(header, raw)) if header.is_control else ()
            base, end = Offset(header.base_offset), Offset(header.next_offset)
            batches.append(LogBatch(base, end, Epoch(header.partition_leader_epoch), raw, control))
    except ProtocolError:
        pass  # What came before is good; the rest is asked for again.
    return tuple(batches)


def fault_of_records(body: fetch_r.FetchResponse, taken: tuple[LogBatch, ...]) -> str:
    """What is wrong with the first batch behind those that were taken; "" if nothing is: all were, or the
    tail is cut.
    """
    data = body.responses[0].partitions[0].records or b"" if body.responses and body.responses[0].partitions else b""
    rest = data[sum(len(batch.data) for batch in taken) :]
    try:
        for header in batch_headers(rest, partial_tail=True):
            verify_crc(rest, header)
            if header.last_offset_delta + 1 != header.record_count:
                return f"a batch of {header.record_count} records that ends {header.last_offset_delta} after its first"
            if header.is_control:
                decode_control_batch(RecordBatch(header, rest[header.position : header.end_position]))
    except ProtocolError as error:
        return str(error)
    return ""


def snapshot_response_from_wire(
    body: snap_r.FetchSnapshotResponse, asked: raft.FetchSnapshotRequest
) -> raft.FetchSnapshotResponse:
    """A 4.3.1 leader answers every error with top-level -1 and nothing else (kraft-facts 1.8)."""
    if body.error_code or len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        error = raft_error(body.error_code or ErrorCode.UNKNOWN_SERVER_ERROR)
        return raft.FetchSnapshotResponse(error, UNKNOWN_EPOCH, None, asked.snapshot_id)
    answered = body.topics[0].partitions[0]
    return raft.FetchSnapshotResponse(
        raft_error(answered.error_code),
        Epoch(answered.current_leader.leader_epoch),
        leader_id=node_or_none(answered.current_leader.leader_id),
        snapshot_id=OffsetAndEpoch(Offset(answered.snapshot_id.end_offset), Epoch(answered.snapshot_id.epoch)),
        size=answered.size,
        position=answered.position,
        data=answered.unaligned_records,
        leader_endpoint=next(
            (Endpoint(a.host, a.port) for a in body.node_endpoints if a.node_id == answered.current_leader.leader_id),
            None,
        ),
    )
