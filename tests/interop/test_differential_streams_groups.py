"""Requests about streams groups (KIP-1071; CGP-23), right, wrong and hostile: beside Apache Kafka. Stories lead a group
of each node through the same changes: who is told what, with which tasks and epochs, which topics are made for it, and
what is then in `__consumer_offsets`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.offsets_records import read
from controller_runtime.coordinator.streams.records import StreamsRecord
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_heartbeat_request import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
    Topology,
)
from controller_runtime.protocol.record_batch import decode_batches
from support.apache_kafka.differential import Case, Pair, Side, Table, judge
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
GROUP, CONSUMERS, NOBODYS, PROBE = "streamers.known", "streamers.consumers", "streamers.nobodys", "streamers.probe"
TOPIC, OFFSETS, PARTITIONS = "orders", "__consumer_offsets", 50
PATIENCE_S = 60.0
NAMES = (" ", ".", "a" * 249, "\u00e4\U0001f600")


def call(side: Side, request: Any, version: int | None = None) -> Any:
    return side.call(ListenerType.BROKER, request, request.VERSIONS.highest if version is None else version)


def sub(name: str = "0", *sources: str, **more: Any) -> Subtopology:
    return Subtopology(subtopology_id=name, source_topics=sources or (TOPIC,), **more)


def topology(*parts: Subtopology, epoch: int = 0) -> Topology:
    return Topology(epoch=epoch, subtopologies=parts or (sub(),))


def beat(group_id: str = GROUP, member_id: str = "m-1", epoch: int = 0, **more: Any) -> StreamsGroupHeartbeatRequest:
    told: dict[str, Any] = {"group_id": group_id, "member_id": member_id, "member_epoch": epoch}
    if epoch == 0:
        told |= {
            "rebalance_timeout_ms": 60_000, "topology": topology(), "active_tasks": (), "standby_tasks": (),
            "warmup_tasks": (), "process_id": f"process of {member_id}",
        }  # fmt: skip
    return StreamsGroupHeartbeatRequest(**told | more)


def owning(active: dict[str, tuple[int, ...]], standby: dict[str, tuple[int, ...]] | None = None) -> dict[str, Any]:
    def tasks(some: dict[str, tuple[int, ...]] | None) -> tuple[TaskIds, ...]:
        return tuple(TaskIds(subtopology_id=name, partitions=indexes) for name, indexes in (some or {}).items())

    return {"active_tasks": tasks(active), "standby_tasks": tasks(standby), "warmup_tasks": ()}


def _is_coordinated(side: Side) -> bool:
    found = call(side, FindCoordinatorRequest(coordinator_keys=(GROUP,)))
    return bool(found.coordinators[0].error_code == 0 and call(side, ListGroupsRequest()).error_code == 0)


def configure(side: Side, group_id: str, **configs: int) -> None:
    """Names with a dot for every underscore. The coordinator acts on it when it acts on what another group is told
    after that.
    """
    _alter(side, group_id, **configs)
    side.kept[PROBE] = wanted = side.kept.get(PROBE, 5_000) + 1
    _alter(side, PROBE, streams_heartbeat_interval_ms=wanted)
    eventually("its configuration", lambda: call(side, beat(PROBE)).heartbeat_interval_ms == wanted, PATIENCE_S)


def _alter(side: Side, group_id: str, **configs: int) -> None:
    changes = tuple(
        AlterableConfig(name=name.replace("_", "."), config_operation=0, value=str(value))
        for name, value in configs.items()
    )
    resource = AlterConfigsResource(resource_type=32, resource_name=group_id, configs=changes)
    answer = call(side, IncrementalAlterConfigsRequest(resources=(resource,)))
    assert [each.error_code for each in answer.responses] == [0], answer


@pytest.fixture(scope="module", autouse=True)
def _groups(pair: Pair) -> None:
    for side in pair.sides:
        eventually("its coordinator", lambda side=side: _is_coordinated(side), PATIENCE_S)  # type: ignore[misc]
        side.learn_topics()
        eventually("the probe", lambda side=side: call(side, beat(PROBE)).error_code == 0, PATIENCE_S)  # type: ignore[misc]
        configure(side, GROUP, streams_initial_rebalance_delay_ms=0, streams_session_timeout_ms=60_000)
        eventually("its first member", lambda side=side: call(side, beat()).error_code == 0, PATIENCE_S)  # type: ignore[misc]
        joined = ConsumerGroupHeartbeatRequest(
            group_id=CONSUMERS, member_id="c", rebalance_timeout_ms=60_000, subscribed_topic_names=(TOPIC,),
            topic_partitions=(),
        )  # fmt: skip
        eventually("a consumer", lambda side=side, joined=joined: call(side, joined).error_code == 0, PATIENCE_S)  # type: ignore[misc]


def _heartbeat() -> Table:
    def joining(name: str, **more: Any) -> Case:
        return Case(name, beat(**({"group_id": NOBODYS, "member_id": "m-9"} | more)))

    topic = TopicInfo(name="made")
    return Table(
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        BROKER,
        (
            Case("nothing", StreamsGroupHeartbeatRequest()),
            joining("without a group", group_id=""),
            joining("of a blank group", group_id="  "),
            joining("of an empty rack", rack_id=""),
            joining("of a static member", instance_id="i"),
            joining("of an empty instance", instance_id=""),
            joining("with offsets of tasks", task_offsets=(TaskOffset(subtopology_id="0"),)),
            joining("with no offsets of tasks", task_offsets=()),
            joining("with end offsets", task_end_offsets=()),
            joining("with warm-ups", warmup_tasks=(TaskIds(subtopology_id="0", partitions=(0,)),)),
            joining("with a pattern", topology=topology(sub("0", TOPIC, source_topic_regex=("o.*",)))),
            joining("without a time-out", rebalance_timeout_ms=-1),
            joining("with tasks", active_tasks=(TaskIds(subtopology_id="0", partitions=(0,)),)),
            joining("with standbys", standby_tasks=(TaskIds(subtopology_id="0", partitions=(0,)),)),
            joining("not telling tasks", active_tasks=None),
            joining("not telling standbys", standby_tasks=None),
            joining("without a topology", topology=None),
            joining("with an empty topology", topology=Topology()),
            joining("of a negative epoch", topology=topology(epoch=-1)),
            joining("with two subtopologies of one name", topology=topology(sub(), sub())),
            joining(
                "with a changelog of partitions",
                topology=topology(sub("0", TOPIC, state_changelog_topics=(TopicInfo(name="made", partitions=3),))),
            ),
            joining(
                "reading internal topics",
                topology=topology(sub("0", "__consumer_offsets", TOPIC, "__share_group_state")),
            ),
            joining("reading no names", topology=topology(sub("0", "a b", "", "..", TOPIC))),
            joining("with one topic twice", topology=topology(sub("0", TOPIC, state_changelog_topics=(topic, topic)))),
            joining("without sources", topology=topology(Subtopology(subtopology_id="0"))),
            joining(
                "with a topic that nobody writes",
                topology=topology(sub("0", TOPIC, repartition_source_topics=(topic,))),
            ),
            joining(
                "with a loop",
                topology=topology(
                    Subtopology(
                        subtopology_id="0", repartition_source_topics=(topic,), repartition_sink_topics=("made",)
                    )
                ),
            ),
            joining(
                "with a place that is none",
                topology=topology(sub("0", TOPIC, copartition_groups=(CopartitionGroup(source_topics=(7,)),))),
            ),
            joining("with a tag twice", client_tags=(KeyValue(key="a"), KeyValue(key="a"))),
            Case("without an id", beat(NOBODYS, "", 0)),
            Case("of a member without an id", beat(NOBODYS, " ", 5)),
            Case("of an unknown group", beat(NOBODYS, "m-9", 5)),
            Case("leaving an unknown group", beat(NOBODYS, "m-9", -1)),
            Case("leaving for now", beat(NOBODYS, "m-9", -2)),
            Case("of an impossible epoch", beat(NOBODYS, "m-9", -3)),
            Case("of the least epoch", beat(NOBODYS, "m-9", -(2**31))),
            Case("with a topology later", beat(GROUP, "m-1", 5, topology=topology())),
            Case("with active tasks alone", beat(GROUP, "m-1", 1, active_tasks=())),
            Case("joining a group of consumers", beat(CONSUMERS, "m-9", 0)),
            Case("of a group of consumers", beat(CONSUMERS, "m-9", 5)),
            Case("leaving a group of consumers", beat(CONSUMERS, "m-9", -1)),
            Case("of an unknown member", beat(GROUP, "m-9", 2)),
            Case("leaving, of an unknown member", beat(GROUP, "m-9", -1)),
            Case("of a newer epoch", beat(GROUP, "m-1", 2**31 - 1)),
            Case("with another topology", beat(GROUP, "m-8", 0, topology=topology(sub("1")))),
            Case("with a newer topology", beat(GROUP, "m-8", 0, topology=topology(epoch=1))),
            Case("of unknown tasks", beat(GROUP, "m-1", 1, **owning({"7": (0,)}))),
            Case("of a task beyond", beat(GROUP, "m-1", 1, **owning({"0": (0, 3)}))),
            Case("of a negative task", beat(GROUP, "m-1", 1, **owning({"0": (-1,)}))),
        ),
    )


def _describe() -> Table:
    return Table(
        ApiKey.STREAMS_GROUP_DESCRIBE,
        BROKER,
        (
            Case("one", StreamsGroupDescribeRequest(group_ids=(GROUP,))),
            Case("with rights", StreamsGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=True)),
            Case("unknown ones", StreamsGroupDescribeRequest(group_ids=(NOBODYS, "", "\u00e4\U0001f600"))),
            Case("of consumers", StreamsGroupDescribeRequest(group_ids=(CONSUMERS,))),
            Case("twice", StreamsGroupDescribeRequest(group_ids=(GROUP, GROUP))),
            Case("none", StreamsGroupDescribeRequest()),
            *(Case(f"of the name {name!r}", StreamsGroupDescribeRequest(group_ids=(name,))) for name in NAMES),
        ),
    )


TABLES = (_heartbeat(), _describe())


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name.lower())
def test_streams_groups_are_answered_for_as_by_kafka(pair: Pair, table: Table) -> None:
    judge(pair, table)


class Story:
    """What a side answers, line by line."""

    def __init__(self, side: Side, group_id: str, *, is_delayed: bool = False, **configs: int) -> None:
        self.side, self.group_id = side, group_id
        self.lines: list[Any] = []
        self.epochs: dict[str, int] = {}
        self.tasks: dict[str, dict[str, Any]] = {}
        """What each member was told last."""
        told = {"streams_assignment_interval_ms": 0} | ({} if is_delayed else {"streams_initial_rebalance_delay_ms": 0})
        configure(side, group_id, **told | configs)

    def beat(self, member: str, epoch: int | None = None, **more: Any) -> Any:
        at = self.epochs.get(member, 0) if epoch is None else epoch
        known = self.tasks.get(member, {}) if at > 0 else {}
        answer = call(self.side, beat(self.group_id, member, at, **known | more))
        if answer.error_code == 0:
            self.epochs[member] = answer.member_epoch
            if answer.active_tasks is not None:
                self.tasks[member] = {
                    "active_tasks": _tasks(answer.active_tasks), "standby_tasks": _tasks(answer.standby_tasks),
                    "warmup_tasks": (),
                }  # fmt: skip
        self.lines.append((member, *_told(answer)))
        return answer

    def until_ready(self, member: str) -> None:
        """The topics of the group are made beside its heartbeats: how many it takes is a matter of time."""

        def is_ready() -> bool:
            answer = self.beat(member)
            seen = self.lines.pop()
            if any(each.status_code == 3 for each in answer.status):
                return False
            self.lines.append(seen)
            return True

        eventually("the topics of the group", is_ready, PATIENCE_S)

    def until_moved(self, member: str) -> None:
        """To another epoch; what it was told until then was nothing new."""
        before = self.epochs[member]

        def has_moved() -> bool:
            answer = self.beat(member)
            if answer.member_epoch == before:
                self.lines.pop()
            return bool(answer.member_epoch != before)

        eventually("another epoch", has_moved, PATIENCE_S)

    def described(self) -> None:
        found = call(self.side, StreamsGroupDescribeRequest(group_ids=(self.group_id,))).groups[0]
        self.lines.append(_plain(found))

    def written(self) -> None:
        """The group's records, by the newest of each key, without times and what chance has made of them."""
        newest = {(type(each.key).__name__, repr(each.key)): _plain(each.value) for each in self.records()}
        self.lines.append(sorted(newest.items(), key=repr))

    def records(self) -> Iterator[StreamsRecord]:
        yield from _records(self.side, self.group_id)


def _tasks(tasks: Any) -> tuple[TaskIds, ...]:
    return tuple(TaskIds(subtopology_id=each.subtopology_id, partitions=each.partitions) for each in tasks)


def _told(answer: Any) -> tuple[Any, ...]:
    return answer.error_code, answer.error_message, *_plain(answer)


LEFT_OUT = {"assignment_timestamp", "metadata_hash", "client_id", "client_host", "throttle_time_ms"}


def _plain(value: Any) -> Any:
    """Lists by their content: maps of Java give some of them."""
    if isinstance(value, tuple):
        found = [_plain(each) for each in value]
        return tuple(sorted(found, key=repr))
    fields = getattr(type(value), "FIELDS", None)
    if fields is None:
        return value
    return tuple((one.name, _plain(getattr(value, one.name))) for one in fields if one.name not in LEFT_OUT)


def _records(side: Side, group_id: str) -> Iterator[StreamsRecord]:
    index = partition_for(group_id, PARTITIONS)
    wanted = FetchPartition(partition=index, partition_max_bytes=1 << 20)
    asked = FetchRequest(max_wait_ms=0, topics=(FetchTopic(topic_id=side.topic_ids[OFFSETS], partitions=(wanted,)),))
    (found,) = call(side, asked).responses[0].partitions
    for batch in decode_batches(bytes(found.records)):
        for line in () if batch.header.is_control else batch.records:
            record = None if line.key is None else read(line.key, line.value)
            if isinstance(record, StreamsRecord) and record.group_id == group_id:
                yield record


def both(pair: Pair, story: Any, *more: Any) -> None:
    java, ours = (story(side, *more) for side in pair.sides)
    for number, (theirs, mine) in enumerate(zip(java, ours, strict=True)):
        assert mine == theirs, f"line {number}"


def _members_come_and_go(side: Side, group_id: str) -> list[Any]:
    told = Story(side, group_id)
    told.beat("a")
    told.beat("a")
    told.written()
    told.described()
    told.beat("a", 0, rack_id="r-1")
    told.beat("b", user_endpoint=Endpoint(host="b", port=80), client_tags=(KeyValue(key="zone", value="z"),))
    told.beat("a", **owning({"0": (0, 1, 2)}))
    told.written()
    told.described()
    told.beat("a")
    told.beat("b")
    told.beat("b", endpoint_information_epoch=1)
    told.beat("c", process_id="process of b", user_endpoint=Endpoint(host="c", port=81))
    for member in "abcabc":
        told.beat(member)
    told.described()
    told.written()
    told.beat("b", -1)
    told.beat("b", -1)
    for member in "acac":
        told.beat(member)
    told.beat("a", told.epochs["a"] - 1, **owning({}))
    told.beat("a", told.epochs["a"] - 2, **owning({}))
    told.written()
    told.beat("c", shutdown_application=True)
    told.beat("a")
    told.beat("c", -1)
    told.beat("a")
    told.described()
    told.beat("a", -1)
    told.written()
    told.described()
    listed = call(side, ListGroupsRequest(types_filter=("Streams",), states_filter=("EMPTY",))).groups
    told.lines += [
        (each.protocol_type, each.group_state, each.group_type) for each in listed if each.group_id == group_id
    ]
    deletes = DeleteGroupsRequest(groups_names=(group_id, group_id, "streamers.never", GROUP))
    told.lines.append(sorted((each.group_id, each.error_code) for each in call(side, deletes).results))
    told.written()
    told.described()
    return told.lines


def test_members_come_and_go_as_in_kafka(pair: Pair) -> None:
    both(pair, _members_come_and_go, "streamers.story")


def _waits_for_members(side: Side, group_id: str) -> list[Any]:
    """More than a second: what comes in it is assigned at once."""
    told = Story(side, group_id, is_delayed=True, streams_initial_rebalance_delay_ms=1_500)
    told.beat("a")
    told.beat("b")
    told.beat("a")
    time.sleep(2.0)
    told.beat("b")
    told.beat("a")
    told.described()
    told.written()
    return told.lines


def test_the_first_assignment_waits_for_members_as_in_kafka(pair: Pair) -> None:
    both(pair, _waits_for_members, "streamers.waiting")


def _counts(prefix: str) -> Topology:
    repartition, changelog = (
        TopicInfo(name=f"{prefix}-repartition"),
        TopicInfo(name=f"{prefix}-changelog", topic_configs=(KeyValue(key="cleanup.policy", value="compact"),)),
    )
    return topology(
        sub("0", TOPIC, repartition_sink_topics=(repartition.name,)),
        Subtopology(
            subtopology_id="1", repartition_source_topics=(repartition,), state_changelog_topics=(changelog,),
            copartition_groups=(CopartitionGroup(repartition_source_topics=(0,)),),
        ),
    )  # fmt: skip


def _makes_topics(side: Side, group_id: str) -> list[Any]:
    """The group's own topics, and standbys on the other process."""
    told = Story(side, group_id, streams_num_standby_replicas=1)
    told.beat("a", topology=_counts(group_id))
    told.written()
    eventually("its topics", lambda: f"{group_id}-changelog" in side.learn_topics(), PATIENCE_S)
    told.until_ready("a")
    told.written()
    told.described()
    told.beat("b", topology=_counts(group_id))
    for member in "abababab":
        told.beat(member)
    told.described()
    told.written()
    told.beat("a", -1)
    for member in "bb":
        told.beat(member)
    told.written()
    configure(side, group_id, streams_num_standby_replicas=0)
    told.until_moved("b")
    told.beat("b")
    told.written()
    return told.lines


def test_topics_of_a_group_are_made_and_states_kept_twice_as_in_kafka(pair: Pair) -> None:
    try:
        both(pair, _makes_topics, "streamers.counting")
    finally:
        for side in pair.sides:
            _without_topics(side, "streamers.counting")


def _without_topics(side: Side, prefix: str) -> None:
    names = [name for name in side.learn_topics() if name.startswith(prefix)]
    asked = DeleteTopicsRequest(topics=tuple(DeleteTopicState(name=name) for name in names), timeout_ms=30_000)
    assert {each.error_code for each in call(side, asked).responses} <= {0}
    eventually("no topics", lambda: not any(name.startswith(prefix) for name in side.learn_topics()), PATIENCE_S)
