# Generated from StreamsGroupTargetAssignmentMemberValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupTargetAssignmentMemberValue: coordinator-value, key 21, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TaskIds(Struct):
    subtopology_id: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class StreamsGroupTargetAssignmentMemberValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=21):
    active_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    standby_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    warmup_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
