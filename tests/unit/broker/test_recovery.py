"""Before a broker serves: what the cluster does not know is set aside, all else is recovered, and only then it asks to
be unfenced (KIP-631).
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import OpenPartition, PartitionFailed, SetAsideStrays
from controller_runtime.broker.lifecycle import State
from controller_runtime.identifiers import Instant, Offset, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import TimePassed
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.schema import Message
from support.clients.client_requests import fetch, produce, values
from support.nodes.broker_world import BROKER, BrokerWorld

pytestmark = pytest.mark.unit

OTHER = 12


def written(*topics: str) -> BrokerWorld:
    """A broker that has one record in each of these."""
    world = BrokerWorld()
    world.start()
    for topic in topics:
        assert world.controller.create(topic).error_code == 0
        world.settle()
        world.ask(produce(topic, b"kept"), ProduceResponse, version=9)
    return world


def topic_id(world: BrokerWorld, name: str) -> Uuid:
    return world.controller.image.topics.ids[name]


def tell(world: BrokerWorld, *records: Message) -> None:
    world.controller.append((record, record.VERSIONS.highest) for record in records)


def strays(world: BrokerWorld) -> list[str]:
    return [name for name in world.disk.list_directory("/data") if name.endswith("-stray")]


def until_recovery(world: BrokerWorld) -> None:
    """Registered and caught up; what is asked of the disk waits."""
    for _ in range(50):
        world.see_metadata()
        world.happen(TimePassed())
        world.perform_calls()
        if world.service.lifecycle.state is State.RECOVERY:
            world.happen(TimePassed())
            return
        world.now = Instant(world.now + 0.1)
        world.controller.now = world.now
    raise AssertionError(world.service.lifecycle.state)


def beat(world: BrokerWorld) -> None:
    world.now = Instant(world.now + 3.0)
    world.controller.now = world.now
    world.happen(TimePassed())
    world.perform_calls()


def test_all_logs_are_recovered_before_it_asks_to_be_unfenced() -> None:
    world = written("a", "b").restarted()
    until_recovery(world)
    assert [type(effect) for effect in world.data] == [SetAsideStrays]
    world.perform_data(1)
    assert [type(effect) for effect in world.data] == [OpenPartition, OpenPartition], "the strays are gone first"
    for _ in range(2):
        beat(world)
        assert world.service.lifecycle.state is State.RECOVERY
        assert world.controller.image.cluster.brokers[BROKER].fenced
        world.perform_data(1)
    assert not world.data
    beat(world)
    beat(world)
    assert (world.service.lifecycle.state, world.service.is_serving) == (State.RUNNING, True)
    assert not world.controller.image.cluster.brokers[BROKER].fenced
    world.settle()
    assert values(world.ask(fetch("a", 0), FetchResponse, version=12)) == [b"kept"]


def test_a_log_that_cannot_be_recovered_holds_nobody_up() -> None:
    """Its partition is offline, the others are served (DIR-01)."""
    world = written("bad", "good").restarted()
    until_recovery(world)
    world.perform_data(1)
    bad = world.data.popleft()
    assert isinstance(bad, OpenPartition)
    world.happen(PartitionFailed(bad.key, "bad sector", fatal=False))
    world.start()
    answers = {topic: world.ask(fetch(topic, 0), FetchResponse, version=12) for topic in ("bad", "good")}
    errors = {topic: answer.responses[0].partitions[0].error_code for topic, answer in answers.items()}
    assert errors == {bad.topic: ErrorCode.KAFKA_STORAGE_ERROR, **dict.fromkeys({"bad", "good"} - {bad.topic}, 0)}


@pytest.mark.parametrize("how", ["as a record", "by snapshot"])
def test_a_topic_that_was_deleted_meanwhile_is_set_aside_and_kept(how: str) -> None:
    """DIR-08. A broker replays a deletion as a record if it has the log, and finds no topic if it has a snapshot: it
    does the same.
    """
    before = written("gone", "kept")
    gone, old = topic_id(before, "gone"), before.controller.image
    world = before.restarted()
    tell(world, RemoveTopicRecord(topic_id=gone))
    if how == "as a record":
        world.see(old, Offset(1))
        assert not world.data, "nothing is opened for an image that may be old"
    world.start()
    assert strays(world) == [f"gone-0.{gone.hex()}-stray"]
    assert "00000000000000000000.log" in world.disk.list_directory(f"/data/{strays(world)[0]}")
    assert values(world.ask(fetch("kept", 0), FetchResponse, version=12)) == [b"kept"]
    assert world.service.lifecycle.state is State.RUNNING


def test_a_topic_that_is_made_again_under_its_name_finds_its_place_empty() -> None:
    """ISR-22's case across a restart: another id, nothing of the old one."""
    world = written("orders").restarted()
    tell(world, RemoveTopicRecord(topic_id=topic_id(world, "orders")))
    world.start()
    assert world.controller.create("orders").error_code == 0
    world.settle()
    assert values(world.ask(fetch("orders", 0), FetchResponse, version=12)) == []
    assert len(strays(world)) == 1


def test_a_replica_that_was_moved_away_meanwhile_is_set_aside() -> None:
    before = written("orders")
    moved = PartitionChangeRecord(
        topic_id=topic_id(before, "orders"), partition_id=0, replicas=(OTHER,), isr=(OTHER,), leader=OTHER
    )
    world = before.restarted()
    tell(world, moved)
    world.start()
    assert (len(strays(world)), "orders-0" in world.disk.list_directory("/data")) == (1, False)


def test_what_is_deleted_while_it_serves_is_deleted() -> None:
    world = written("orders").restarted()
    world.start()
    tell(world, RemoveTopicRecord(topic_id=topic_id(world, "orders")))
    world.settle()
    assert [name for name in world.disk.list_directory("/data") if name.startswith("orders")] == []


def test_a_person_is_told_of_every_stray() -> None:
    world = written("orders").restarted()
    tell(world, RemoveTopicRecord(topic_id=topic_id(world, "orders")))
    until_recovery(world)
    effect = world.data.popleft()
    assert isinstance(effect, SetAsideStrays)
    event = world.work.set_aside_strays(effect)
    (line,) = [str(each) for each in world.service.on_data(event, world.now, world.wall)]
    assert "look at /data/orders-0." in line


def test_a_directory_that_refuses_does_not_keep_the_others_from_serving(monkeypatch: pytest.MonkeyPatch) -> None:
    world = written("gone", "kept").restarted()
    tell(world, RemoveTopicRecord(topic_id=topic_id(world, "gone")))

    def refuse(source: str, target: str) -> None:
        raise OSError(5, "Input/output error", source, None, target)

    until_recovery(world)
    with monkeypatch.context() as broken:
        broken.setattr(world.disk, "rename", refuse)
        world.perform_data(1)
    world.start()
    assert values(world.ask(fetch("kept", 0), FetchResponse, version=12)) == [b"kept"]


def test_a_topic_that_is_deleted_while_strays_are_set_aside_is_one_of_them() -> None:
    """Nobody would open or delete its log any more. Seed 501646325 of the simulator."""
    world = written("gone", "kept").restarted()
    until_recovery(world)
    gone = topic_id(world, "gone")
    tell(world, RemoveTopicRecord(topic_id=gone))
    world.see_metadata()
    world.start()
    assert strays(world) == [f"gone-0.{gone.hex()}-stray"]
    assert values(world.ask(fetch("kept", 0), FetchResponse, version=12)) == [b"kept"]


def test_before_it_has_begun_it_leads_nothing_whatever_an_old_image_says() -> None:
    """After a crash the image may show it as leader until its old session ends."""
    before = written("orders")
    world = before.restarted()
    old = next(image for image in reversed(world.controller.history) if leads(image))
    world.see(old, Offset(1))
    answer = world.answers[world.send(produce("orders", b"x"), version=9)]
    assert isinstance(answer, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def leads(image: MetadataImage) -> bool:
    topic = image.topics.named("orders")
    return topic is not None and any(partition.leader == BROKER for _, partition in topic.partitions())


def test_it_leaves_under_control_while_it_recovers() -> None:
    world = written("orders").restarted()
    until_recovery(world)
    world.service.shut_down(world.now)
    world.data.clear()
    world.wait(3.0)
    assert world.service.has_left
    assert world.controller.image.cluster.brokers[BROKER].fenced


def test_a_replica_that_lies_in_two_directories_ends_the_node_before_it_serves() -> None:
    """As in Kafka: only a person knows which of the two is the right one."""
    world = BrokerWorld(directories=2)
    world.start()
    assert world.controller.create("twice").error_code == 0
    world.settle()
    (home,) = [path for path in ("/data", "/data2") if "twice-0" in world.disk.list_directory(path)]
    other = "/data2" if home == "/data" else "/data"
    world.disk.make_directories(f"{other}/twice-0")
    for path, node in list(world.disk.names.items()):
        if path.startswith(f"{home}/twice-0/"):
            world.disk.names[path.replace(home, other, 1)] = node
    again = world.restarted()
    until_recovery(again)
    again.settle()
    assert again.stopped is not None
    assert again.stopped.fault
    assert again.stopped.reason.startswith(
        "a partition's log failed: delete one of two directories: the log of twice-0 is found in both "
    )
    assert not again.service.is_serving
    assert not [name for path in (home, other) for name in again.disk.list_directory(path) if "stray" in name]
