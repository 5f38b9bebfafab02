"""What is wrong with a StreamsGroupHeartbeat, whatever the group is: the checks, their order and their words are those
of Apache Kafka.
"""

from __future__ import annotations

from typing import Final, NoReturn

from controller_runtime.answers.topic_names import fault_of
from controller_runtime.coordinator.consumer.heartbeats import judge_text
from controller_runtime.coordinator.consumer.members import JOINING, LEAVING_FOR_NOW
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.streams.topology import names_in
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.streams_group_heartbeat_request import (
    StreamsGroupHeartbeatRequest,
    TaskIds,
    Topology,
)

MOST: Final = 1_000
"""Subtopologies, names of topics and places in groups of a topology. It is worked on in one step, and some of the rules
compare every one with every other: without a bound one frame would keep the broker from everybody else.
"""
_INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")


def judge_names(topology: Topology) -> None:
    """Before anything else. Raises Refused."""
    size = _size(topology)
    if size > MOST:
        words = (
            f"Split the application: its topology names {size} subtopologies, topics and members of copartition "
            f"groups, and at most {MOST} are taken."
        )
        raise Refused(ErrorCode.STREAMS_INVALID_TOPOLOGY, words)
    names = names_in(topology)
    prohibited = [each for each in names if each in _INTERNAL]
    if prohibited:
        words = f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is prohibited."
        raise Refused(ErrorCode.STREAMS_INVALID_TOPOLOGY, words)
    invalid = [each for each in names if fault_of(each) is not None]
    if invalid:
        words = f"Topic names {','.join(invalid)} are not valid topic names."
        raise Refused(ErrorCode.STREAMS_INVALID_TOPOLOGY, words)


def _size(topology: Topology) -> int:
    out = len(topology.subtopologies)
    for each in topology.subtopologies:
        out += len(each.source_topics) + len(each.repartition_sink_topics)
        out += len(each.repartition_source_topics) + len(each.state_changelog_topics)
        for group in each.copartition_groups:
            out += 1 + len(group.source_topics) + len(group.repartition_source_topics)
    return out


def judge_request(request: StreamsGroupHeartbeatRequest) -> None:
    """Raises Refused."""
    _judge_features(request)
    judge_text(request.member_id, "MemberId can't be empty.")
    judge_text(request.group_id, "GroupId can't be empty.")
    judge_text(request.rack_id, "RackId can't be empty.")
    epoch = request.member_epoch
    if epoch == JOINING:
        _judge_join(request)
    elif epoch == LEAVING_FOR_NOW:
        _refuse("InstanceId can't be null.")
    elif epoch < LEAVING_FOR_NOW:
        _refuse(f"MemberEpoch is {epoch}, but must be greater than or equal to -2.")
    tasks = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if None in tasks and tasks != (None, None, None):
        _refuse("If one task-type is non-null, all must be non-null.")
    if epoch != JOINING and request.topology is not None:
        _refuse("Topology can only be provided when (re-)joining.")


def _judge_features(request: StreamsGroupHeartbeatRequest) -> None:
    if request.instance_id is not None:
        _refuse("Static membership is not yet supported.")
    if request.task_offsets is not None:
        _refuse("TaskOffsets are not supported yet.")
    if request.task_end_offsets is not None:
        _refuse("TaskEndOffsets are not supported yet.")
    if request.warmup_tasks:
        _refuse("WarmupTasks are not supported yet.")
    if request.topology is not None and any(each.source_topic_regex for each in request.topology.subtopologies):
        _refuse("Regular expressions for source topics are not supported yet.")


def _judge_join(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        _refuse("RebalanceTimeoutMs must be provided in first request.")
    _judge_empty(request.active_tasks, "ActiveTasks")
    _judge_empty(request.standby_tasks, "StandbyTasks")
    _judge_empty(request.warmup_tasks, "WarmupTasks")
    if request.topology is None:
        _refuse("Topology must be non-null when (re-)joining.")
    for each in request.topology.subtopologies:
        for topic in each.state_changelog_topics:
            if topic.partitions:
                words = (
                    f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                    f"{topic.partitions}."
                )
                raise Refused(ErrorCode.STREAMS_INVALID_TOPOLOGY, words)


def _judge_empty(tasks: tuple[TaskIds, ...] | None, name: str) -> None:
    if tasks is None or tasks:
        _refuse(f"{name} must be empty when (re-)joining.")


def _refuse(words: str) -> NoReturn:
    raise Refused(ErrorCode.INVALID_REQUEST, words)
