"""What a produce request holds: its partitions, each once, and what Kafka refuses it whole for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NoReturn

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.batch_checks import frame_size, is_transactional
from controller_runtime.broker.sequences import Verification
from controller_runtime.identifiers import PartitionId, Uuid
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.values import dataclass, field

LOOKED_AT_TOGETHER: Final = 20
"""Beginnings of batches: a unit of work."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What is known of a request's transaction in some partitions: why it is not open, or that it was asked for."""

    refused: Mapping[PartitionId, BatchRefusal] = field(default_factory=dict)
    verified: Mapping[PartitionId, Verification] = field(default_factory=dict)


NOTHING: Final = Brought()


def each_once(request: ProduceRequest) -> Iterator[tuple[TopicProduceData, Iterable[PartitionProduceData]]]:
    """Each topic that has partitions, and each of these; what is named twice counts as it is named last, as
    in Kafka.
    """
    found: dict[tuple[str, Uuid], tuple[TopicProduceData, dict[int, PartitionProduceData]]] = {}
    for topic in request.topic_data:
        if topic.partition_data:
            _, wanted = found.setdefault((topic.name, topic.topic_id), (topic, {}))
            wanted.update({data.index: data for data in topic.partition_data})
    return ((topic, wanted.values()) for topic, wanted in found.values())


def fault_of(request: ProduceRequest) -> InPieces[NoReturn, BatchRefusal | None]:
    """What Kafka refuses a whole request for: bytes that it cannot find the first batch in, or a transaction without
    its name.
    """
    batches = (data.records for topic in request.topic_data for data in topic.partition_data if data.records)
    for number, records in enumerate(batches, 1):
        if number % LOOKED_AT_TOGETHER == 0:
            yield None
        size = frame_size(records)
        if isinstance(size, BatchRefusal):
            return size
        if size is not None and is_transactional(records):
            named = request.transactional_id is not None
            return None if named else BatchRefusal(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return None
