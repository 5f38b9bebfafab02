# Generated from NoOpRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""NoOpRecord: metadata, key 20, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message


class NoOpRecord(Message, kind="metadata", valid="0", flexible="0+", key=20):
    pass
