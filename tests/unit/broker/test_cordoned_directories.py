"""DIR-11, KIP-1066: log directories that are cordoned take no new replicas; the controller learns of it by heartbeats,
and places none on a broker that has no other directory.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.lifecycle import BrokerLifecycle
from controller_runtime.configuration.config import ConfigError, from_properties
from controller_runtime.configuration.properties import parse_properties
from controller_runtime.identifiers import DirectoryId, Instant, Offset
from controller_runtime.metadata.configs import ALL_BROKERS
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from controller_runtime.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from support.disks.memory_disk import MemoryDisk
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.controller_world import World, directory_of

pytestmark = pytest.mark.unit

OF_BROKERS = 4
FIRST, SECOND = directory_of(BROKER, 1), directory_of(BROKER, 2)
NAMED = {"/data": FIRST, "/data2": SECOND}


def serving(**file: str) -> BrokerWorld:
    configs = {name.replace("_", "."): value for name, value in file.items()}
    world = BrokerWorld(directories=2, named_directories=NAMED, node_configs={"log.dirs": "/data,/data2", **configs})
    world.start()
    return world


def cordon(world: BrokerWorld, value: str | None, of: str = str(BROKER)) -> None:
    record = ConfigRecord(resource_type=OF_BROKERS, resource_name=of, name="cordoned.log.dirs", value=value)
    world.controller.append([(record, 0)])
    world.wait(1.0)


def known(world: BrokerWorld) -> set[DirectoryId]:
    return set(world.controller.image.cluster.brokers[BROKER].cordoned_directories or ())


def homes(world: BrokerWorld, topic: str, partitions: int = 4) -> set[DirectoryId | None]:
    assert world.controller.create(topic, partitions, 1).error_code == ErrorCode.NONE
    world.wait(1.0)
    keys = [world.service.partitions.key(topic, world.controller.image.topics.ids[topic], n) for n in range(partitions)]
    logs = [world.service.partitions.open_log(key) for key in keys if key is not None]
    assert len(logs) == partitions
    return {log.directory_id for log in logs if log is not None}


def test_new_replicas_lie_where_it_is_not_cordoned_as_soon_as_it_is() -> None:
    world = serving()
    assert homes(world, "both") == {FIRST, SECOND}
    cordon(world, "/data")
    assert known(world) == {FIRST}
    assert homes(world, "second") == {SECOND}
    told = world.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
    assert [one.is_cordoned for one in told.results] == [True, False]
    cordon(world, None)
    assert known(world) == set()
    assert homes(world, "again", 8) == {FIRST, SECOND}


def test_a_broker_without_another_directory_gets_no_replica_until_one_is_open_again() -> None:
    world = serving()
    cordon(world, "*")
    assert known(world) == {FIRST, SECOND}
    refused = world.controller.create("nowhere", 1, 1)
    assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    cordon(world, "/data2")
    assert homes(world, "first") == {FIRST}


def test_the_file_says_it_from_the_start_and_what_is_set_later_wins() -> None:
    world = serving(cordoned_log_dirs="/data2")
    world.wait(1.0)
    assert known(world) == {SECOND}
    cordon(world, "/data", of=ALL_BROKERS)
    assert known(world) == {SECOND}, "it is one broker's, as in Kafka"
    cordon(world, "/data")
    assert known(world) == {FIRST}


def test_what_says_nothing_that_makes_sense_cordons_nothing() -> None:
    world = serving()
    cordon(world, "/elsewhere")
    assert known(world) == set()


def test_a_broker_that_comes_back_says_it_again() -> None:
    world = serving()
    cordon(world, "/data")
    disk: MemoryDisk = world.disk
    world.controller.wait(10.0)
    again = BrokerWorld(
        disk.survivors("everything"), 2, world.controller, run=1, named_directories=NAMED,
        node_configs={"log.dirs": "/data,/data2"},
    )  # fmt: skip
    again.start()
    again.wait(1.0)
    assert known(again) == {FIRST}


@pytest.mark.parametrize(("level", "told"), [(29, None), (30, (FIRST,))])
def test_a_cluster_below_4_3_is_told_nothing(level: int, told: tuple[DirectoryId, ...] | None) -> None:
    world = BrokerWorld(directories=2)
    one, now = BrokerLifecycle(world.service.config.identity, Instant(0.0)), Instant(0.0)
    one.poll(Offset(0), now, reachable=True)
    one.on_registration(BrokerRegistrationResponse(broker_epoch=5), now)
    one.metadata_advanced(World(level).image, now)
    one.cordon((FIRST,), now)
    asked = one.poll(Offset(0), Instant(9.0), reachable=True)
    assert isinstance(asked, BrokerHeartbeatRequest)
    assert asked.cordoned_log_dirs == told


BROKER_FILE = """process.roles=broker
node.id=11
controller.quorum.bootstrap.servers=c1:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:9092
log.dirs=/data/a,/data/b
"""


@pytest.mark.parametrize("value", ["", "/data/a", "/data/b,/data/a", "*"])
def test_a_file_may_cordon_what_it_has(value: str) -> None:
    from_properties(parse_properties(f"{BROKER_FILE}cordoned.log.dirs={value}\n", "f"), "f")


@pytest.mark.parametrize("value", ["/data/c", "/data/a,/data/c", "*,/data/a"])
def test_a_file_that_cordons_anything_else_stops_the_start(value: str) -> None:
    with pytest.raises(ConfigError, match=r"cordoned\.log\.dirs"):
        from_properties(parse_properties(f"{BROKER_FILE}cordoned.log.dirs={value}\n", "f"), "f")
