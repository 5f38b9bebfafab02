# Generated from StreamsGroupTopologyKey in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupTopologyKey: coordinator-key, key 23, versions 0, flexible none."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class StreamsGroupTopologyKey(Message, kind="coordinator-key", valid="0", flexible="none", key=23):
    group_id: str = field("string", "0", default="")
