# Generated from EndTxnMarker in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""EndTxnMarker: data, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class EndTxnMarker(Message, kind="data", valid="0", flexible="none"):
    coordinator_epoch: int = field("int32", "0+", default=0)
