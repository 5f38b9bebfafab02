"""Replicas, leaders, reassignments, log directories and brokers that come and go, as Apache Kafka's controller decides
them: AlterPartition, ElectLeaders, AlterPartitionReassignments, CreatePartitions, CreateTopics with replicas,
AssignReplicasToDirs, heartbeats, registrations after a restart, UnregisterBroker.

CLU-02, 05, 12, REP-07 to 17, ELR-01 to 04. The brokers are nobody's processes: they register, send
heartbeats and propose what a random story has them propose, right and wrong. Both controllers hear the same story;
every answer, after every step the state of every partition, and at the end what both logs say have to be the same. A
run tells the stories of its seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

import pytest

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassign_q
from controller_runtime.protocol.messages import alter_partition_request as isr_q
from controller_runtime.protocol.messages import create_partitions_request as grow_q
from controller_runtime.protocol.messages import elect_leaders_request as elect_q
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.schema import Message
from support import sampling
from support.apache_kafka.differential import Case, Pair, Side, Table, judge
from support.apache_kafka.node_pairs import NODE_ID, pair_of_nodes
from support.apache_kafka.stories import BROKERS, SETTINGS, STRANGER, TOPICS, Story, same_in_both_logs, uuid

pytestmark = [pytest.mark.interop]

STEPS: Final = 80


@dataclass(frozen=True, slots=True)
class Patient:
    """The nodes of the stories, and where they live."""

    pair: Pair
    directory: Path

    def log_dir(self, side: str) -> Path:
        return self.directory / side / "data"


@pytest.fixture(scope="module")
def patient(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Patient]:
    directory = tmp_path_factory.mktemp("partitions")
    with pair_of_nodes(directory, SETTINGS, SETTINGS) as made:
        yield Patient(made, directory)


def _isr(topic: Uuid | str, sender: int = STRANGER, epoch: int = 0) -> Callable[[Side], Message]:
    def ask(side: Side) -> Message:
        partitions = (isr_q.PartitionData(partition_index=0), isr_q.PartitionData(partition_index=9))
        found = side.topic_ids[topic] if isinstance(topic, str) else topic
        topics = (isr_q.TopicData(topic_id=found, partitions=partitions),)
        return isr_q.AlterPartitionRequest(broker_id=sender, broker_epoch=epoch, topics=topics)

    return ask


def _election(topics: tuple[tuple[str, tuple[int, ...]], ...] | None, kind: int = 0) -> elect_q.ElectLeadersRequest:
    named = (
        None if topics is None else tuple(elect_q.TopicPartitions(topic=name, partitions=ids) for name, ids in topics)
    )
    return elect_q.ElectLeadersRequest(election_type=kind, topic_partitions=named)


def _reassigned(*topics: tuple[str, int, tuple[int, ...] | None]) -> reassign_q.AlterPartitionReassignmentsRequest:
    return reassign_q.AlterPartitionReassignmentsRequest(
        topics=tuple(
            reassign_q.ReassignableTopic(
                name=name,
                partitions=(reassign_q.ReassignablePartition(partition_index=index, replicas=replicas),),
            )
            for name, index, replicas in topics
        )
    )


def _grown(
    *topics: tuple[str, int, tuple[tuple[int, ...], ...] | None], only: bool = True
) -> grow_q.CreatePartitionsRequest:
    return grow_q.CreatePartitionsRequest(
        topics=tuple(
            grow_q.CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if placed is None
                else tuple(grow_q.CreatePartitionsAssignment(broker_ids=each) for each in placed),
            )
            for name, count, placed in topics
        ),
        timeout_ms=9000,
        validate_only=only,
    )


BOTH: Final = (ListenerType.BROKER, ListenerType.CONTROLLER)
TABLES: Final = (
    Table(
        ApiKey.ALTER_PARTITION,
        (ListenerType.CONTROLLER,),
        (
            Case("of a stranger", _isr("orders")),
            Case("of broker -1", _isr("orders", -1, -1)),
            Case("of another epoch", _isr("orders", NODE_ID, 2**62)),
            Case("of a topic that is not there", _isr(uuid(1))),
            Case("of topic 0", _isr(ZERO_UUID)),
        ),
    ),
    Table(
        ApiKey.ELECT_LEADERS,
        BOTH,
        (
            Case("nobody", _election(())),
            Case("the present ones", _election((("orders", (0, 1)), ("payments", (0,))))),
            Case("a partition that is not there", _election((("orders", (0, 9, -1)),))),
            Case("a topic that is not there", _election((("no-such-topic", (0,)), ("", (0,))))),
            Case("unclean", _election((("orders", (0, 1)),), 1), range(1, 3)),
            Case("of no kind", _election((("orders", (0,)),), 2), range(1, 3)),
            Case("of kind -1", _election((("orders", (0,)),), -1), range(1, 3)),
            Case("a partition twice", _election((("orders", (0, 0)),))),
            Case("in no time", replace(_election((("orders", (0,)),)), timeout_ms=0)),
            Case("all of them in less than no time", replace(_election(None), timeout_ms=-1)),
        ),
    ),
    Table(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        BOTH,
        (
            Case("nothing", _reassigned()),
            Case("as it is", _reassigned(("orders", 0, (NODE_ID,)))),
            Case("cancelled, and none is under way", _reassigned(("orders", 0, None))),
            Case("to nobody", _reassigned(("orders", 0, ()))),
            Case("to a stranger", _reassigned(("orders", 0, (STRANGER,)))),
            Case("to one broker twice", _reassigned(("orders", 0, (NODE_ID, NODE_ID)))),
            Case("of what is not there", _reassigned(("orders", 9, (NODE_ID,)), ("no-such-topic", 0, (NODE_ID,)))),
            Case("in no time", replace(_reassigned(("orders", 0, (NODE_ID,))), timeout_ms=0)),
            Case("nothing in less than no time", replace(_reassigned(), timeout_ms=-1)),
        ),
    ),
    Table(
        ApiKey.CREATE_PARTITIONS,
        BOTH,
        (
            Case("nothing", _grown()),
            Case("one more", _grown(("orders", 4, None))),
            Case("one more, placed", _grown(("orders", 4, ((NODE_ID,),)))),
            Case("as many as there are", _grown(("orders", 3, None))),
            Case("fewer", _grown(("orders", 2, None), ("payments", 0, None), ("audit.log", -1, None))),
            Case("of a topic that is not there", _grown(("no-such-topic", 2, None))),
            Case("of one topic twice", _grown(("orders", 4, None), ("orders", 5, None))),
            Case("placed with a stranger", _grown(("orders", 4, ((STRANGER,),)))),
            Case("placed nowhere", _grown(("orders", 4, ((),)))),
            Case("placed on one broker twice", _grown(("orders", 4, ((NODE_ID, NODE_ID),)))),
            Case("placed too few", _grown(("orders", 5, ((NODE_ID,),)))),
            Case("placed too many", _grown(("orders", 4, ((NODE_ID,), (NODE_ID,))))),
            Case("in no time", replace(_grown(("orders", 4, None)), timeout_ms=0)),
            Case("what is not there in less than no time", replace(_grown(("no-such-topic", 2, None)), timeout_ms=-1)),
            Case("nothing in no time", replace(_grown(), timeout_ms=0)),
            Case("a topic twice in no time", replace(_grown(("orders", 4, None), ("orders", 5, None)), timeout_ms=0)),
        ),
    ),
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name)
def test_what_is_asked_of_partitions_is_answered_as_by_kafka(pair: Pair, table: Table) -> None:
    judge(pair, table)


def _begun(patient: Patient, name: str, dice: Random | None = None) -> Story:
    """Brokers that are new to both, and topics on them."""
    dice = dice or Random(0)
    story = Story(patient.pair, dice, name)
    for side in patient.pair.sides:  # what a story that failed left behind must not fail the next
        old = tuple(each for each in side.learn_topics() if each.startswith("story"))
        side.call(ListenerType.CONTROLLER, DeleteTopicsRequest(topic_names=old, timeout_ms=9000), 5)
    for broker in BROKERS:
        story.both(UnregisterBrokerRequest(broker_id=broker), ListenerType.CONTROLLER, 0)
        story.start_broker(broker)
    for _ in range(TOPICS):
        story.begin_topic()
    return story


@pytest.mark.parametrize("number", range(3))
def test_two_controllers_that_hear_the_same_story_decide_the_same(
    patient: Patient, number: int, sampled: Callable[[str], None]
) -> None:
    seed = sampling.run_seed() * 10 + number
    story = _begun(patient, f"story-{seed}", Random(seed))
    for _ in range(STEPS):
        story.step()
        story.partitions()
    same_in_both_logs(patient.log_dir("java"), patient.log_dir("ours"), story.topics)
    sampled(f"{story.name}: {STEPS} steps; of {len(story.forgotten)} topics Java kept a removed replica eligible")


def test_a_recovery_state_that_there_is_not_costs_its_partition_alone(patient: Patient) -> None:
    """REP-07, REP-15: Java's controller resigns over it (docs/deviations.md)."""
    story = _begun(patient, "nonsense")
    seen = story.partitions()[0]
    assert story.nonsense_state(patient.pair.java, seen).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    story.wait_for_java()
    answer = story.nonsense_state(patient.pair.ours, seen)
    assert (answer.error_code, answer.topics[0].partitions[0].error_code) == (0, ErrorCode.INVALID_REQUEST)
