# Generated from AllocateProducerIdsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AllocateProducerIdsRequest: request, key 67, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class AllocateProducerIdsRequest(Message, kind="request", valid="0", flexible="0+", key=67, listeners=("controller",)):
    broker_id: int = field("int32", "0+", default=0)
    broker_epoch: int = field("int64", "0+", default=-1)
