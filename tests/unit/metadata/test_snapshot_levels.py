"""What a snapshot holds at each metadata.version, and what it says that it leaves out: as the image writer of Apache
Kafka 4.3.1 answered.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.cluster import MIGRATING
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.delegation_token_record import DelegationTokenRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.register_controller_record import RegisterControllerRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import directory_of, uuid

pytestmark = pytest.mark.unit

TOPIC = uuid("topic", 1)
HOMES = "the online log directories of one or more brokers"
CORDONED = "the cordoned log directories of one or more brokers"
ZK = "the isMigratingZkBroker state of one or more brokers"
CONTROLLERS = "controller registration data"
REPLICAS = "the directory assignment state of one or more replicas"
SCRAM = "the SCRAM credentials of one or more users"
TOKENS = "one or more delegation tokens"


def after(*records: Message) -> MetadataImage:
    builder = MetadataImage.empty().builder()
    for record in records:
        replay(builder, record)
    return builder.freeze()


def level(number: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name="metadata.version", feature_level=number)


def partition(*directories: object, **more: object) -> tuple[Message, Message]:
    topic = TopicRecord(name="stock", topic_id=TOPIC)
    values: dict[str, object] = {"replicas": (1, 2), "isr": (1,), "leader": 1, "directories": directories}
    values |= {"partition_id": 0, "leader_epoch": 0, "partition_epoch": 0, **more}
    return topic, PartitionRecord(topic_id=TOPIC, **values)  # type: ignore[arg-type]


def written(image: MetadataImage) -> tuple[dict[str, int], list[str], MetadataImage]:
    """The version of each kind of record, the losses, and what a reader of the snapshot sees."""
    losses: list[str] = []
    records = list(snapshot_records(image, losses.append))
    read = after(*(decode_record(encode_record(*record))[0] for record in records))
    return {type(record).__name__: version for record, version in records}, losses, read


EVERYTHING = (
    RegisterBrokerRecord(
        broker_id=1, broker_epoch=9, is_migrating_zk_broker=True, log_dirs=(directory_of(1),),
        cordoned_log_dirs=(directory_of(1),)
    ),
    RegisterControllerRecord(controller_id=3),
    *partition(directory_of(1), MIGRATING),
    ProducerIdsRecord(next_producer_id=0),
    UserScramCredentialRecord(name="ann", mechanism=1, salt=b"s", iterations=4096),
    DelegationTokenRecord(token_id="tok"),
)  # fmt: skip
NOTHING_NEW = (
    RegisterBrokerRecord(broker_id=1, broker_epoch=9),
    RegisterBrokerRecord(broker_id=2, broker_epoch=10, cordoned_log_dirs=()),
    *partition(),
    ProducerIdsRecord(next_producer_id=0),
)


@pytest.mark.parametrize(
    ("number", "losses", "broker", "partition"),
    [
        (7, {HOMES, CORDONED, ZK, CONTROLLERS, REPLICAS, SCRAM, TOKENS}, 1, 0),
        (8, {HOMES, CORDONED, CONTROLLERS, REPLICAS, SCRAM, TOKENS}, 2, 0),
        (10, {HOMES, CORDONED, CONTROLLERS, REPLICAS, SCRAM, TOKENS}, 2, 0),
        (11, {HOMES, CORDONED, CONTROLLERS, REPLICAS, TOKENS}, 2, 0),
        (13, {HOMES, CORDONED, CONTROLLERS, REPLICAS, TOKENS}, 2, 0),
        (14, {HOMES, CORDONED, CONTROLLERS, REPLICAS}, 2, 0),
        (15, {HOMES, CORDONED, REPLICAS}, 2, 0),
        (16, {HOMES, CORDONED, REPLICAS}, 2, 0),
        (17, {CORDONED}, 3, 1),
        (22, {CORDONED}, 3, 1),
        (23, {CORDONED}, 3, 2),
        (29, {CORDONED}, 3, 2),
        (30, set(), 4, 2),
    ],
)
def test_what_a_level_cannot_express_is_left_out_and_reported(
    number: int, losses: set[str], broker: int, partition: int
) -> None:
    """IMG-03."""
    image = after(level(number), *EVERYTHING)
    versions, said, read = written(image)
    wanted = {"FeatureLevelRecord": 0, "TopicRecord": 0, "ProducerIdsRecord": 0}
    wanted |= {"RegisterBrokerRecord": broker, "PartitionRecord": partition}
    wanted |= {} if CONTROLLERS in losses else {"RegisterControllerRecord": 0}
    wanted |= {} if SCRAM in losses else {"UserScramCredentialRecord": 0}
    wanted |= {} if TOKENS in losses else {"DelegationTokenRecord": 0}
    assert (versions, sorted(said)) == (wanted, sorted(losses))
    assert (read == image) is not bool(losses)
    assert read.cluster.brokers[NodeId(1)].is_migrating_zk_broker is (ZK not in losses)


@pytest.mark.parametrize("number", [7, 8, 14, 17, 30])
def test_what_an_image_does_not_have_is_no_loss(number: int) -> None:
    _, losses, read = written(after(level(number), *NOTHING_NEW))
    assert losses == []
    assert read.next_producer_id == 0
    assert written(after(level(number)))[0] == {"FeatureLevelRecord": 0}


@pytest.mark.parametrize(("feature", "elr", "last_known"), [(1, (2,), (1,)), (1, (2,), ()), (1, (), (1,))])
def test_eligible_leaders_are_in_a_snapshot_while_their_feature_is_on(
    feature: int, elr: tuple[int, ...], last_known: tuple[int, ...]
) -> None:
    records = partition(directory_of(1), MIGRATING, eligible_leader_replicas=elr, last_known_elr=last_known)
    on = after(level(30), FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1), *records)
    off = after(level(30), *records)
    assert written(on)[1:] == ([], on)
    assert written(off)[1:] == ([], after(level(30), *partition(directory_of(1), MIGRATING)))
