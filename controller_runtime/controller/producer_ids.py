"""Blocks of producer ids: each belongs to one broker for ever, so no two producers of the cluster share an id
(KIP-730).
"""

from __future__ import annotations

from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.brokers import check_broker_epoch
from controller_runtime.controller.decision import Decision
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord

BLOCK_SIZE: Final = 1000
_INT64_MAX: Final = 2**63 - 1


def allocate_producer_ids(image: MetadataImage, request: AllocateProducerIdsRequest) -> Decision:
    check_broker_epoch(image, request.broker_id, request.broker_epoch)
    first = max(image.next_producer_id, 0)
    if first > _INT64_MAX - BLOCK_SIZE:
        exhausted = "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit"
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, exhausted)
    record = ProducerIdsRecord(
        broker_id=request.broker_id, broker_epoch=request.broker_epoch, next_producer_id=first + BLOCK_SIZE
    )
    response = AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
    return Decision(response, ((record, 0),))
