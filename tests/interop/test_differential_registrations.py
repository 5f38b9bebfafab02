"""What brokers and controllers tell a controller of themselves: registrations, heartbeats, producer ids, directories,
as Apache Kafka takes it.

The brokers of this file are nobody's processes; the last table removes them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages import assign_replicas_to_dirs_request as assign_q
from controller_runtime.protocol.messages import broker_registration_request as broker_q
from controller_runtime.protocol.messages import controller_registration_request as controller_q
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Case, Pair, Side, Table, Unlike, judge
from support.apache_kafka.node_pairs import DIRECTORY_ID, NODE_ID
from support.nodes.processes import CLUSTER_ID

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
CONTROLLER = (ListenerType.CONTROLLER,)
ANOTHER_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
STRANGER = 50
FIRST_EXTRA, EXTRAS = 60, 40
Feature = tuple[str, int, int]
SUPPORTED: tuple[Feature, ...] = (
    ("metadata.version", 7, 30), ("kraft.version", 0, 1), ("transaction.version", 0, 2), ("group.version", 0, 1),
    ("eligible.leader.replicas.version", 0, 1), ("share.version", 0, 1), ("streams.version", 0, 1),
)  # fmt: skip


def _uuid(number: int) -> Uuid:
    return Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_1000 + number)


def _without(name: str) -> tuple[Feature, ...]:
    return tuple(each for each in SUPPORTED if each[0] != name)


def _broker(
    broker_id: int = STRANGER,
    incarnation: int = 1,
    *,
    cluster: str = CLUSTER_ID,
    listeners: tuple[tuple[str, str, int, int], ...] = (("PLAINTEXT", "127.0.0.1", 9, 0),),
    features: tuple[Feature, ...] = SUPPORTED,
    dirs: tuple[Uuid, ...] | None = None,
    rack: str | None = None,
    migrating: bool = False,
    previous: int = -1,
) -> broker_q.BrokerRegistrationRequest:
    return broker_q.BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster,
        incarnation_id=_uuid(100 * abs(broker_id) % 5000 + incarnation),
        listeners=tuple(
            broker_q.Listener(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in listeners
        ),
        features=tuple(
            broker_q.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, low, high in features
        ),
        rack=rack,
        is_migrating_zk_broker=migrating,
        log_dirs=(_uuid(7000 + abs(broker_id) % 500),) if dirs is None else dirs,
        previous_broker_epoch=previous,
    )


HERE = ("PLAINTEXT", "127.0.0.1", 9, 0)
BROKER_REGISTRATION = Table(
    ApiKey.BROKER_REGISTRATION,
    CONTROLLER,
    (
        Case("a broker", _broker(), keep="registered", versions=(2, 3, 4)),
        Case("before there were directories", _broker(FIRST_EXTRA), (0, 1)),
        Case("of another cluster", _broker(cluster=ANOTHER_CLUSTER)),
        Case("of a cluster without a name", _broker(cluster="")),
        Case("with a rack", _broker(FIRST_EXTRA + 1, rack="rack-b"), (2, 3, 4)),
        Case("with an empty rack", _broker(FIRST_EXTRA + 2, rack=""), (2, 3, 4)),
        Case("under the id of one that runs", _broker(NODE_ID, dirs=(_uuid(9001),)), (2, 3, 4)),
        Case("without listeners", _broker(FIRST_EXTRA + 3, listeners=()), (2, 3, 4)),
        Case("with a listener twice", _broker(FIRST_EXTRA + 4, listeners=(HERE, HERE)), (2, 3, 4)),
        Case("without features", _broker(FIRST_EXTRA + 9, features=()), (2, 3, 4)),
        Case("without metadata.version", _broker(FIRST_EXTRA + 10, features=_without("metadata.version")), (2, 3, 4)),
        Case(
            "with older metadata",
            _broker(FIRST_EXTRA + 11, features=(*_without("metadata.version"), ("metadata.version", 7, 29))),
            (2, 3, 4),
        ),
        Case(
            "with newer metadata",
            _broker(FIRST_EXTRA + 12, features=(*_without("metadata.version"), ("metadata.version", 31, 40))),
            (2, 3, 4),
        ),
        Case("without groups", _broker(FIRST_EXTRA + 13, features=_without("group.version")), (2, 3, 4)),
        Case("without kraft.version", _broker(FIRST_EXTRA + 14, features=_without("kraft.version")), (2, 3, 4)),
        Case(
            "with old kraft",
            _broker(FIRST_EXTRA + 15, features=(*_without("kraft.version"), ("kraft.version", 0, 0))),
            (2, 3, 4),
        ),
        Case("with an unknown feature", _broker(FIRST_EXTRA + 16, features=(*SUPPORTED, ("no.such", 1, 2))), (2, 3, 4)),
        Case("without directories", _broker(FIRST_EXTRA + 19, dirs=()), (2, 3, 4)),
        Case("with a directory twice", _broker(FIRST_EXTRA + 20, dirs=2 * (_uuid(9020),)), (2, 3, 4)),
        Case("with directory 0", _broker(FIRST_EXTRA + 21, dirs=(ZERO_UUID,)), (2, 3, 4)),
        Case("with a reserved directory", _broker(FIRST_EXTRA + 22, dirs=(Uuid.of(0, 1),)), (2, 3, 4)),
        Case("with another's directory", _broker(FIRST_EXTRA + 23, dirs=(DIRECTORY_ID,)), (2, 3, 4)),
        Case("with two directories", _broker(FIRST_EXTRA + 24, dirs=(_uuid(9024), _uuid(9025))), (2, 3, 4)),
        Case("from ZooKeeper", _broker(FIRST_EXTRA + 25, migrating=True), (2, 3, 4)),
        Case("after an earlier epoch", _broker(FIRST_EXTRA + 26, previous=3), (3, 4)),
        Case("another incarnation", _broker(STRANGER, 2), (2, 3, 4)),
        Case("the same again", _broker(), keep="registered", versions=(2, 3, 4)),
    ),
    malformed=False,
)


def _beat(
    past: int = 0,
    broker_id: int = STRANGER,
    *,
    epoch: int | None = None,
    offset: int | None = None,
    fence: bool = True,
    leave: bool = False,
    offline: tuple[Uuid, ...] = (),
) -> Callable[[Side], Message]:
    def ask(side: Side) -> Message:
        own = side.kept["registered"].broker_epoch
        return BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=own + past if epoch is None else epoch,
            current_metadata_offset=own if offset is None else offset,
            want_fence=fence,
            want_shut_down=leave,
            offline_log_dirs=offline,
        )

    return ask


BROKER_HEARTBEAT = Table(
    ApiKey.BROKER_HEARTBEAT,
    CONTROLLER,
    (
        Case("caught up, fenced", _beat()),
        Case("of an earlier epoch", _beat(-1)),
        Case("of a later epoch", _beat(1)),
        Case("of epoch -1", _beat(epoch=-1)),
        Case("of epoch 0", _beat(epoch=0)),
        Case("of the last epoch", _beat(epoch=2**63 - 1)),
        Case("of a broker that is not registered", _beat(0, 999)),
        Case("of broker -1", _beat(0, -1)),
        Case("of another broker", _beat(0, NODE_ID)),
        Case("not caught up", _beat(offset=0)),
        Case("not caught up, not fenced", _beat(offset=0, fence=False)),
        Case("at offset -1", _beat(offset=-1)),
        Case("at offset -1, not fenced", _beat(offset=-1, fence=False)),
        Case("far ahead", _beat(offset=2**62)),
        Case("with an unknown directory offline", _beat(offline=(_uuid(8000),)), (1, 2)),
        Case("with directory 0 offline", _beat(offline=(ZERO_UUID,)), (1, 2)),
    ),
    unlike=(Unlike("*", "**Broker epochs.**", fields=("isCaughtUp",)),),
)


def _ids(past: int = 0, broker_id: int = STRANGER, epoch: int | None = None) -> Callable[[Side], Message]:
    def ask(side: Side) -> Message:
        own = side.kept["registered"].broker_epoch
        return AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=own + past if epoch is None else epoch)

    return ask


ALLOCATE_PRODUCER_IDS = Table(
    ApiKey.ALLOCATE_PRODUCER_IDS,
    CONTROLLER,
    (
        Case("a block", _ids()),
        Case("another block", _ids()),
        Case("of an earlier epoch", _ids(-1)),
        Case("of a later epoch", _ids(1)),
        Case("of epoch -1", _ids(epoch=-1)),
        Case("of epoch 0", _ids(epoch=0)),
        Case("of the last epoch", _ids(epoch=2**63 - 1)),
        Case("of the lowest epoch", _ids(epoch=-(2**63))),
        Case("of a broker that is not registered", _ids(0, 999)),
        Case("of a broker that is not registered, epoch -1", _ids(0, 999, -1)),
        Case("of broker -1", _ids(0, -1)),
        Case("of the lowest broker", _ids(0, -(2**31))),
        Case("of the highest broker", _ids(0, 2**31 - 1)),
        Case("of another broker", _ids(0, NODE_ID)),
    ),
)


def _assigned(
    *dirs: tuple[Uuid, tuple[tuple[str | Uuid, tuple[int, ...]], ...]], past: int = 0, broker_id: int = STRANGER
) -> Callable[[Side], Message]:
    def ask(side: Side) -> Message:
        directories = tuple(
            assign_q.DirectoryData(
                id=directory,
                topics=tuple(
                    assign_q.TopicData(
                        topic_id=side.topic_ids[topic] if isinstance(topic, str) else topic,
                        partitions=tuple(assign_q.PartitionData(partition_index=index) for index in indexes),
                    )
                    for topic, indexes in topics
                ),
            )
            for directory, topics in dirs
        )
        epoch = side.kept["registered"].broker_epoch + past
        return assign_q.AssignReplicasToDirsRequest(broker_id=broker_id, broker_epoch=epoch, directories=directories)

    return ask


MINE = _uuid(7000 + STRANGER)
ORDERS = (("orders", (0, 1, 2)),)
ASSIGN_REPLICAS_TO_DIRS = Table(
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    CONTROLLER,
    (
        Case("of others", _assigned((MINE, ORDERS))),
        Case("nothing", _assigned()),
        Case("no topic", _assigned((MINE, ()))),
        Case("no partition", _assigned((MINE, (("orders", ()),)))),
        Case("of a partition that is not there", _assigned((MINE, (("orders", (7,)),)))),
        Case("of partition -1", _assigned((MINE, (("orders", (-1,)),)))),
        Case("of an unknown topic", _assigned((MINE, ((_uuid(8001), (0,)),)))),
        Case("of topic 0", _assigned((MINE, ((ZERO_UUID, (0,)),)))),
        Case("a partition twice", _assigned((MINE, (("orders", (0, 0)),)))),
        Case("a directory that is not its", _assigned((_uuid(8002), ORDERS))),
        Case("directory 0", _assigned((ZERO_UUID, ORDERS))),
        Case("the lost directory", _assigned((Uuid.of(0, 1), ORDERS))),
        Case("two directories", _assigned((MINE, ORDERS), (_uuid(8002), ORDERS))),
        Case("of an earlier epoch", _assigned((MINE, ORDERS), past=-1)),
        Case("of a later epoch", _assigned((MINE, ORDERS), past=1)),
        Case("of a broker that is not registered", _assigned((MINE, ORDERS), broker_id=999)),
        Case("of broker -1", _assigned((MINE, ORDERS), broker_id=-1)),
        Case("of another broker", _assigned((MINE, ORDERS), broker_id=NODE_ID)),
    ),
)


def _controller(
    controller_id: int = 3000,
    *,
    listeners: tuple[tuple[str, str, int, int], ...] = (("CONTROLLER", "127.0.0.1", 9, 0),),
    features: tuple[Feature, ...] = SUPPORTED,
    migrating: bool = False,
    incarnation: Uuid | None = None,
) -> controller_q.ControllerRegistrationRequest:
    return controller_q.ControllerRegistrationRequest(
        controller_id=controller_id,
        incarnation_id=_uuid(6000) if incarnation is None else incarnation,
        zk_migration_ready=migrating,
        listeners=tuple(
            controller_q.Listener(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in listeners
        ),
        features=tuple(
            controller_q.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, low, high in features
        ),
    )


THERE = ("CONTROLLER", "127.0.0.1", 9, 0)
CONTROLLER_REGISTRATION = Table(
    ApiKey.CONTROLLER_REGISTRATION,
    CONTROLLER,
    (
        Case("a controller", _controller()),
        Case("the same again", _controller()),
        Case("another incarnation", _controller(incarnation=_uuid(6001))),
        Case("without features", _controller(features=())),
        Case("without metadata.version", _controller(features=_without("metadata.version"))),
        Case("with older metadata", _controller(features=(*_without("metadata.version"), ("metadata.version", 7, 29)))),
        Case(
            "with newer metadata", _controller(features=(*_without("metadata.version"), ("metadata.version", 31, 40)))
        ),
        Case("without groups", _controller(features=_without("group.version"))),
        Case("without kraft.version", _controller(features=_without("kraft.version"))),
        Case("with old kraft", _controller(features=(*_without("kraft.version"), ("kraft.version", 0, 0)))),
        Case("with an unknown feature", _controller(features=(*SUPPORTED, ("no.such", 1, 2)))),
        Case("that migrates", _controller(migrating=True)),
        Case("with two listeners", _controller(listeners=(THERE, ("OTHER", "127.0.0.1", 10, 0)))),
        Case("as it was", _controller()),
    ),
)


def _gone(broker_id: int) -> UnregisterBrokerRequest:
    return UnregisterBrokerRequest(broker_id=broker_id)


UNREGISTER_BROKER = Table(
    ApiKey.UNREGISTER_BROKER,
    BOTH,
    (
        Case("who is not registered", _gone(999)),
        Case("broker -1", _gone(-1)),
        Case("the lowest broker", _gone(-(2**31))),
        Case("the highest broker", _gone(2**31 - 1)),
        Case("a broker, and again", _gone(STRANGER)),
        *(Case(f"broker {each}, and again", _gone(each)) for each in range(FIRST_EXTRA, FIRST_EXTRA + EXTRAS)),
    ),
)

TABLES = (
    BROKER_REGISTRATION, BROKER_HEARTBEAT, ALLOCATE_PRODUCER_IDS, ASSIGN_REPLICAS_TO_DIRS, CONTROLLER_REGISTRATION,
    UNREGISTER_BROKER,
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name)
def test_a_controller_takes_registrations_as_kafka_does(pair: Pair, table: Table) -> None:
    assert judge(pair, table) >= 20
