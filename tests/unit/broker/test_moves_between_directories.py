"""Replicas that move between the log directories of a broker (AlterReplicaLogDirs, KIP-113, KIP-858)."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.broker.effects import CompleteMove, CopyMore, DirectoryFailed
from controller_runtime.identifiers import DirectoryId, PartitionId, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from controller_runtime.protocol.messages.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from controller_runtime.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.storage.small_files import encode_partition_metadata
from support.clients.client_requests import fetch, produce, values
from support.disks.memory_disk import POLICIES, Crashed, MemoryDisk
from support.nodes.broker_fleet import BrokerFleet
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.controller_world import directory_of
from support.sampling import SOAK, every_nth

pytestmark = pytest.mark.unit

FIRST, SECOND = directory_of(BROKER, 1), directory_of(BROKER, 2)
PATHS = {FIRST: "/data", SECOND: "/data2"}
STRIDE = 1 if SOAK else 4
"""Of the places where the machine may stop; the seed of the run chooses where it begins."""


def started(**config: Any) -> BrokerWorld:
    """`orders` lies in the first of two directories."""
    world = BrokerWorld(directories=2, log_directories=PATHS, **config)
    world.start()
    assert world.controller.create("orders").error_code == 0
    world.wait(2.0)
    assert home(world) == FIRST
    return world


def home(world: BrokerWorld) -> DirectoryId:
    """Where the cluster has it."""
    topic = world.controller.image.topics.named("orders")
    assert topic is not None
    found = topic.partition(0)
    assert found is not None
    return found.directory(BROKER)


def key(world: BrokerWorld) -> PartitionId:
    return PartitionId(world.controller.image.topics.ids["orders"], 0)


def write(world: BrokerWorld, *written: bytes) -> None:
    for value in written:
        answer = world.ask(produce("orders", value), ProduceResponse, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0


def read(world: BrokerWorld) -> list[bytes | None]:
    return values(world.ask(fetch("orders", 0), FetchResponse, 12))


def asking(path: str, name: str = "orders", *indexes: int) -> AlterReplicaLogDirsRequest:
    topic = AlterReplicaLogDirTopic(name=name, partitions=indexes or (0,))
    return AlterReplicaLogDirsRequest(dirs=(AlterReplicaLogDir(path=path, topics=(topic,)),))


def move(world: BrokerWorld, path: str, name: str = "orders", index: int = 0) -> int:
    answer = world.ask(asking(path, name, index), AlterReplicaLogDirsResponse)
    ((result,),) = [topic.partitions for topic in answer.results]
    return result.error_code


def logs(disk: MemoryDisk) -> dict[str, list[str]]:
    """Names of directories of partitions, but for what is to be removed anyway."""
    found = {
        path: [name for name in disk.list_directory(path) if name.startswith("orders-")] for path in PATHS.values()
    }
    return {path: [name for name in names if not name.endswith("-delete")] for path, names in found.items()}


def described(world: BrokerWorld) -> list[tuple[str, bool, int]]:
    """Path, whether it is a copy, and how far it is behind."""
    answer = world.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
    return [
        (each.log_dir, one.is_future_key, one.offset_lag)
        for each in answer.results
        for topic in each.topics
        for one in topic.partitions
    ]


def test_a_replica_moves_and_nothing_is_lost() -> None:
    """DIR-05."""
    world = started()
    write(world, b"one", b"two")
    assert move(world, "/data2") == ErrorCode.NONE
    world.wait(2.0)
    assert home(world) == SECOND
    assert logs(world.disk) == {"/data": [], "/data2": ["orders-0"]}
    write(world, b"three")
    assert read(world) == [b"one", b"two", b"three"]
    assert described(world) == [("/data2", False, 0)]
    again = world.restarted()
    again.start()
    again.wait(1.0)
    assert read(again) == [b"one", b"two", b"three"]


def test_what_is_written_while_it_moves_moves_too() -> None:
    """DIR-05: while it is copied, while the controller is asked, and while the copy takes the log's place."""
    world = started()
    write(world, b"0")
    world.send(asking("/data2"))
    written = [b"0"]
    for number in range(1, 200):
        waiting = world.send(produce("orders", b"%d" % number), 9)
        world.see_metadata()
        world.perform_data(1)
        world.perform_calls()
        world.wait(0.01, moves=False)
        written.append(b"%d" % number)
        if number % 20 == 0:
            world.settle()
            assert world.answers[waiting] is not None
    world.wait(2.0)
    assert home(world) == SECOND
    assert read(world) == written


def test_a_move_takes_as_long_as_the_rate_of_its_broker_says_and_goes_on_at_once_when_that_is_lifted() -> None:
    """QUO-05: `replica.alter.log.dirs.io.max.bytes.per.second`; clients are served meanwhile."""
    rate, megabytes = 500_000, 4
    world = started()
    limit(world, rate)
    for _ in range(megabytes):
        write(world, b"x" * 950_000)
    assert move(world, "/data2") == ErrorCode.NONE
    began = world.now
    while logs(world.disk)["/data"] and world.now < began + 60:
        world.wait(0.25)
        write(world, b"small")
    assert 0.6 * megabytes * 950_000 / rate < world.now - began < 1.5 * megabytes * 950_000 / rate
    limit(world, 0)
    assert move(world, "/data") == ErrorCode.NONE
    world.wait(30.0)
    assert home(world) == SECOND
    limit(world, 100_000_000)
    world.wait(1.0)
    assert home(world) == FIRST


def limit(world: BrokerWorld, bytes_a_second: int) -> None:
    name = "replica.alter.log.dirs.io.max.bytes.per.second"
    told = ConfigRecord(resource_type=4, resource_name=str(BROKER), name=name, value=str(bytes_a_second))
    world.controller.append([(told, told.VERSIONS.highest)])
    world.settle()


def test_a_copy_is_shown_with_what_it_lacks() -> None:
    world = started()
    write(world, b"one")
    world.reachable = False
    assert move(world, "/data2") == ErrorCode.NONE
    write(world, b"two")
    assert described(world) == [("/data", False, 0), ("/data2", True, 1)]
    assert [name.partition(".")[0] for name in logs(world.disk)["/data2"]] == ["orders-0"]
    world.reachable = True
    world.wait(2.0)
    assert described(world) == [("/data2", False, 0)]


def test_what_came_while_the_controller_was_away_is_copied_before_appends_have_to_wait() -> None:
    world = started()
    world.reachable = False
    assert move(world, "/data2") == ErrorCode.NONE
    write(world, b"one", b"two")
    assert described(world) == [("/data", False, 0), ("/data2", True, 2)]
    world.reachable = True
    begun: list[object] = []
    for _ in range(50):
        world.see_metadata()
        begun += [each for each in [*world.data][:1] if isinstance(each, CopyMore | CompleteMove)]
        world.perform_data(1)
        world.perform_calls()
        world.wait(0.1, moves=False)
    assert [type(each) for each in begun] == [CopyMore, CompleteMove]
    assert described(world) == [("/data2", False, 0)]


def test_a_move_that_is_not_wanted_any_more_is_taken_back() -> None:
    """DIR-06: the controller had been told already."""
    world = started()
    write(world, b"one")
    world.send(asking("/data2"))
    for _ in range(50):  # until the copy is about to take the log's place
        world.see_metadata()
        if any(isinstance(effect, CompleteMove) for effect in world.data):
            break
        world.perform_data(1)
        world.perform_calls()
        world.wait(0.1, moves=False)
    assert home(world) == SECOND
    back = world.send(asking("/data"))
    world.wait(3.0)
    answer = world.answers[back]
    assert isinstance(answer, AlterReplicaLogDirsResponse)
    assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
    assert (home(world), logs(world.disk)) == (FIRST, {"/data": ["orders-0"], "/data2": []})
    assert read(world) == [b"one"]


def test_a_move_is_given_up_before_anything_was_asked() -> None:
    """DIR-06."""
    world = started()
    write(world, b"one")
    world.reachable = False
    assert move(world, "/data2") == ErrorCode.NONE
    assert move(world, "/data") == ErrorCode.NONE
    world.reachable = True
    world.wait(2.0)
    assert (home(world), logs(world.disk)) == (FIRST, {"/data": ["orders-0"], "/data2": []})


@pytest.mark.parametrize(
    ("path", "name", "index", "error"),
    [
        ("/data3", "orders", 0, ErrorCode.LOG_DIR_NOT_FOUND),
        ("", "orders", 0, ErrorCode.LOG_DIR_NOT_FOUND),
        ("data2", "orders", 0, ErrorCode.LOG_DIR_NOT_FOUND),
        ("/data2", "orders", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("/data2", "orders", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("/data2", "nowhere", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("/nowhere", "nowhere", 0, ErrorCode.LOG_DIR_NOT_FOUND),
        ("/nowhere", "n" * 249, 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("/data", "orders", 0, ErrorCode.NONE),
    ],
)
def test_what_cannot_be_moved_is_refused(path: str, name: str, index: int, error: ErrorCode) -> None:
    """DIR-07."""
    world = started()
    assert move(world, path, name, index) == error
    world.wait(1.0)
    assert logs(world.disk) == {"/data": ["orders-0"], "/data2": []}


def test_nothing_moves_to_a_directory_that_failed() -> None:
    """DIR-07: nor to one that fails while it moves."""
    world = started()
    write(world, b"one")
    world.reachable = False
    assert move(world, "/data2") == ErrorCode.NONE
    world.happen(DirectoryFailed(SECOND, "Input/output error"))
    world.reachable = True
    world.wait(2.0)
    assert move(world, "/data2") == ErrorCode.KAFKA_STORAGE_ERROR
    assert (home(world), read(world)) == (FIRST, [b"one"])


def test_a_replica_of_others_is_not_available_here() -> None:
    """DIR-07."""
    fleet = BrokerFleet(11, 12)
    fleet.controller.create("orders", partitions=2)
    fleet.wait(2.0)
    known = fleet.controller.image.topics.named("orders")
    assert known is not None
    found = {}
    for index in range(2):
        partition = known.partition(index)
        assert partition is not None
        world = next(each for each in fleet.brokers.values() if each.node_id not in partition.replicas)
        path = next(iter(world.service.config.directory_paths.values()))
        found[index] = move(world, path, "orders", index)
    assert set(found.values()) == {ErrorCode.REPLICA_NOT_AVAILABLE}


def test_a_replica_that_comes_later_lies_where_it_was_wished() -> None:
    """DIR-07: it is not known yet, and the wish is kept."""
    world = started()
    for index in range(4):
        assert move(world, "/data", "later", index) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.controller.create("later", partitions=4)
    world.wait(2.0)
    assert len([name for name in world.disk.list_directory("/data") if name.startswith("later-")]) == 4


def test_a_topic_that_is_deleted_while_it_moves_leaves_nothing() -> None:
    world = started()
    write(world, b"one")
    world.reachable = False
    assert move(world, "/data2") == ErrorCode.NONE
    gone = DeleteTopicsRequest(topics=(DeleteTopicState(name="orders"),), timeout_ms=1000)
    world.controller.ask(gone, DeleteTopicsResponse)
    world.reachable = True
    world.wait(2.0)
    assert logs(world.disk) == {"/data": [], "/data2": []}


def test_many_moves_are_done_a_few_at_a_time() -> None:
    world = BrokerWorld(directories=2, log_directories=PATHS)
    world.start()
    world.controller.create("many", partitions=30)
    world.wait(2.0)
    answer = world.ask(asking("/data2", "many", *range(30), *range(30)), AlterReplicaLogDirsResponse)
    assert [one.error_code for one in answer.results[0].partitions] == [0] * 30
    world.wait(10.0)
    assert [name for name in world.disk.list_directory("/data") if name.startswith("many-")] == []


# A stop in between.


def moving_until(operations: int, policy: Any) -> tuple[BrokerWorld, bool]:
    """A world whose machine stops after so many operations of its disk; whether it came to that."""
    world = started()
    write(world, *(b"%d" % number for number in range(5)))
    for directory in world.manager.directories.values():
        directory.checkpoint(world.service.partitions.high_watermarks())
    world.disk.crash_after(operations)
    stopped = False
    try:
        world.ask(asking("/data2"), AlterReplicaLogDirsResponse)
        world.wait(2.0)
    except Crashed:
        stopped = True
    world.controller.wait(10.0)
    return BrokerWorld(world.disk.survivors(policy), 2, world.controller, world.run + 1, log_directories=PATHS), stopped


@pytest.mark.parametrize("policy", POLICIES)
def test_whenever_the_machine_stops_the_log_is_whole_and_the_move_goes_on(policy: Any) -> None:
    """DIR-05, DIR-09, KAFKA-16082: after each operation of the disk, with what was not synced, and without. Of two logs
    that are the same the one that the cluster does not know is set aside.
    """
    stops = 0
    for operations in every_nth(STRIDE):
        again, stopped = moving_until(operations, policy)
        if not stopped:
            break
        stops += 1
        again.start()
        again.wait(5.0)
        assert read(again) == [b"%d" % number for number in range(5)], operations
        found = {path: [each for each in names if "-stray" not in each] for path, names in logs(again.disk).items()}
        for path, names in found.items():  # one with nothing in it is nobody's
            found[path] = [name for name in names if again.disk.exists(f"{path}/{name}/partition.metadata")]
        found = {path: names for path, names in found.items() if names}
        assert list(found.values()) == [["orders-0"]], (operations, found)
        (path,) = found
        assert home(again) == {path: each for each, path in PATHS.items()}[path], operations
    assert stops > 20 // STRIDE


def test_a_copy_whose_log_is_nowhere_takes_its_place_where_the_cluster_has_it() -> None:
    """DIR-09."""
    world = started()
    write(world, b"one")
    move(world, "/data2")
    world.wait(2.0)
    for directory in world.manager.directories.values():
        directory.checkpoint(world.service.partitions.high_watermarks())
    name = f"orders-0.{key(world).topic_id.hex()}-future"
    world.disk.rename("/data2/orders-0", f"/data2/{name}")
    again = world.restarted()
    again.start()
    again.wait(1.0)
    assert logs(again.disk) == {"/data": [], "/data2": ["orders-0"]}
    assert read(again) == [b"one"]


def test_a_copy_that_is_no_replica_of_this_broker_is_removed() -> None:
    world = started()
    path = "/data2/gone-0.000000000000000000000000000000aa-future"
    world.disk.make_directories(path)
    file = world.disk.open(f"{path}/partition.metadata", create=True)
    file.write_at(0, encode_partition_metadata(Uuid.of(0, 0xAA)))
    again = world.restarted()
    again.start()
    assert [name for name in again.disk.list_directory("/data2") if "gone" in name] == []
