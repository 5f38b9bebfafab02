# Generated from UnregisterBrokerRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""UnregisterBrokerRequest: request, key 64, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class UnregisterBrokerRequest(Message, kind="request", valid="0", flexible="0+", key=64, listeners=("broker", "controller")):
    broker_id: int = field("int32", "0+", default=0)
