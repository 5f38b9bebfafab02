# Generated from KRaftVersionRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""KRaftVersionRecord: data, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class KRaftVersionRecord(Message, kind="data", valid="0", flexible="0+"):
    version: int = field("int16", "0+", default=0)
    kraft_version: int = field("int16", "0+", default=0, json_name="kRaftVersion")
