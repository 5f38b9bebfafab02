# Generated from StreamsGroupCurrentMemberAssignmentValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupCurrentMemberAssignmentValue: coordinator-value, key 22, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class TaskIds(Struct):
    subtopology_id: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())
    assignment_epochs: tuple[int, ...] | None = field(["int32"], "0+", default=(), nullable="0+", tag=0, tagged="0+")


class StreamsGroupCurrentMemberAssignmentValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=22):
    member_epoch: int = field("int32", "0+", default=0)
    previous_member_epoch: int = field("int32", "0+", default=0)
    state: int = field("int8", "0+", default=0)
    active_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    standby_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    warmup_tasks: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    active_tasks_pending_revocation: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    standby_tasks_pending_revocation: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
    warmup_tasks_pending_revocation: tuple[TaskIds, ...] = field([TaskIds], "0+", default=())
