"""What clients ask a broker for: small Produce and Fetch requests, and what came of them."""

from __future__ import annotations

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages import fetch_request, produce_request
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch


def produce(
    topic: str, *values: bytes, acks: int = -1, index: int = 0, timestamp: int = 1000, timeout_ms: int = 1000
) -> ProduceRequest:
    records = [Record(n, timestamp + n, None, value) for n, value in enumerate(values)]
    data = produce_request.PartitionProduceData(index=index, records=encode_batch(records))
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=(produce_request.TopicProduceData(name=topic, partition_data=(data,)),),
    )


def fetch(
    topic: str,
    offset: int,
    *,
    wait_ms: int = 0,
    min_bytes: int = 1,
    topic_id: Uuid | None = None,
    epoch: int = -1,
    index: int = 0,
) -> fetch_request.FetchRequest:
    partition = fetch_request.FetchPartition(
        partition=index, fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=epoch
    )
    one = fetch_request.FetchTopic(topic=topic, partitions=(partition,))
    if topic_id is not None:
        one = fetch_request.FetchTopic(topic_id=topic_id, partitions=(partition,))
    return fetch_request.FetchRequest(max_wait_ms=wait_ms, min_bytes=min_bytes, max_bytes=1 << 20, topics=(one,))


def values(answer: FetchResponse) -> list[bytes | None]:
    data = answer.responses[0].partitions[0].records or b""
    return [record.value for batch in decode_batches(data) for record in batch.records]
