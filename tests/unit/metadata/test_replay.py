"""What each record does to the image, and which records contradict it."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.cluster import LOST, MIGRATING, UNASSIGNED
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.replay import ReplayError, replay
from controller_runtime.protocol.messages.abort_transaction_record import AbortTransactionRecord
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.end_transaction_record import EndTransactionRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.fence_broker_record import FenceBrokerRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from controller_runtime.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import directory_of, uuid

pytestmark = pytest.mark.unit

TOPIC = uuid("topic", 1)


def after(*records: Message, base: MetadataImage | None = None) -> MetadataImage:
    builder = (base or MetadataImage.empty()).builder()
    for record in records:
        replay(builder, record)
    return builder.freeze()


def partition(index: int = 0, replicas: tuple[int, ...] = (1, 2), **changes: object) -> PartitionRecord:
    values = {"isr": replicas, "leader": replicas[0], "leader_epoch": 0, "partition_epoch": 0} | changes
    return PartitionRecord(partition_id=index, topic_id=TOPIC, replicas=replicas, **values)  # type: ignore[arg-type]


STOCK = after(TopicRecord(name="stock", topic_id=TOPIC), partition())
BROKER = after(RegisterBrokerRecord(broker_id=1, broker_epoch=9, log_dirs=(directory_of(1),)))


def the_partition(image: MetadataImage) -> Partition:
    found = image.topics.partition(TOPIC, 0)
    assert found is not None
    return found


def test_a_change_grows_the_partition_epoch_and_a_named_leader_the_leader_epoch() -> None:
    shrunk = after(PartitionChangeRecord(topic_id=TOPIC, partition_id=0, isr=(1,)), base=STOCK)
    assert (the_partition(shrunk).isr, the_partition(shrunk).partition_epoch, the_partition(shrunk).leader_epoch) == (
        (1,),
        1,
        0,
    )
    same_leader = after(PartitionChangeRecord(topic_id=TOPIC, partition_id=0, leader=1), base=shrunk)
    assert (
        the_partition(same_leader).leader,
        the_partition(same_leader).partition_epoch,
        the_partition(same_leader).leader_epoch,
    ) == (1, 2, 1)


def test_a_partition_without_directories_is_migrating() -> None:
    assert the_partition(STOCK).directories == (MIGRATING, MIGRATING)
    assert the_partition(STOCK).directory(2) == MIGRATING


def test_removing_a_topic_removes_its_configs_and_frees_its_name() -> None:
    configured = after(ConfigRecord(resource_type=2, resource_name="stock", name="retention.ms", value="5"), base=STOCK)
    removed = after(RemoveTopicRecord(topic_id=TOPIC), base=configured)
    assert removed == MetadataImage.empty()
    assert (configured.topics.partition_count, removed.topics.partition_count) == (1, 0)


def test_a_null_value_deletes_a_config() -> None:
    one = after(ConfigRecord(resource_type=4, resource_name="1", name="a", value="x"))
    assert one.configs.of(4, "1") == {"a": "x"}
    assert (
        after(ConfigRecord(resource_type=4, resource_name="1", name="a", value=None), base=one) == MetadataImage.empty()
    )


def test_level_zero_removes_a_feature_and_kraft_version_is_ignored() -> None:
    image = after(
        FeatureLevelRecord(name="group.version", feature_level=1),
        FeatureLevelRecord(name="kraft.version", feature_level=1),
    )
    assert image.features.levels == {"group.version": 1}
    assert after(FeatureLevelRecord(name="group.version", feature_level=0), base=image) == MetadataImage.empty()


def test_fencing_records_of_old_and_new_say_the_same() -> None:
    unfenced = after(UnfenceBrokerRecord(id=1, epoch=9), base=BROKER)
    assert unfenced == after(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=9, fenced=-1), base=BROKER)
    assert not unfenced.cluster.brokers[NodeId(1)].fenced
    assert after(FenceBrokerRecord(id=1, epoch=9), base=unfenced) == BROKER


@pytest.mark.parametrize(("fenced", "shutdown", "wanted"), [
    (0, 0, (True, False)), (1, 0, (True, False)), (-1, 0, (False, False)), (0, 1, (True, True)), (-1, 1, (False, True)),
])  # fmt: skip
def test_a_change_fences_unfences_or_leaves_a_broker(fenced: int, shutdown: int, wanted: tuple[bool, bool]) -> None:
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=9, fenced=fenced, in_controlled_shutdown=shutdown)
    broker = after(change, base=BROKER).cluster.brokers[NodeId(1)]
    assert (broker.fenced, broker.in_controlled_shutdown) == wanted
    again = after(change, BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=9), base=BROKER)
    assert again.cluster.brokers[NodeId(1)] == broker


@pytest.mark.parametrize(("fenced", "shutdown"), [(2, 0), (-2, 0), (127, 1), (0, -1), (0, 2), (1, -2)])
def test_a_change_that_nobody_knows_is_an_error(fenced: int, shutdown: int) -> None:
    """As `ClusterDelta` of Apache Kafka 4.3.1."""
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=9, fenced=fenced, in_controlled_shutdown=shutdown)
    with pytest.raises(ReplayError, match=f"broker 1 with fenced {fenced} and in_controlled_shutdown {shutdown}"):
        after(change, base=BROKER)


def test_directories_change_only_when_they_are_named() -> None:
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=9, cordoned_log_dirs=())
    broker = after(change, base=BROKER).cluster.brokers[NodeId(1)]
    assert (broker.directories, broker.cordoned_directories) == ((directory_of(1),), ())
    moved = after(
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=9, log_dirs=(directory_of(1, 2),)), base=BROKER
    )
    assert moved.cluster.brokers[NodeId(1)].directories == (directory_of(1, 2),)


def test_which_directories_are_online() -> None:
    broker = BROKER.cluster.brokers[NodeId(1)]
    answers = {
        d: broker.has_online_directory(d) for d in (directory_of(1), directory_of(2), UNASSIGNED, MIGRATING, LOST)
    }
    assert list(answers.values()) == [True, False, True, True, False]


def test_clearing_the_elr_changes_only_partitions_that_have_one() -> None:
    image = after(
        TopicRecord(name="stock", topic_id=TOPIC),
        partition(0, isr=(), leader=-1, eligible_leader_replicas=(1,), last_known_elr=(1,)),
        partition(1),
    )
    for name in ("", "stock"):
        cleared = after(ClearElrRecord(topic_name=name), base=image)
        assert (
            the_partition(cleared).elr,
            the_partition(cleared).last_known_elr,
            the_partition(cleared).partition_epoch,
        ) == ((), (), 1)
        assert cleared.topics.partition(TOPIC, 1) == image.topics.partition(TOPIC, 1)


def test_a_quota_is_removed_by_its_key() -> None:
    entity = (EntityData(entity_type="user", entity_name=None), EntityData(entity_type="client-id", entity_name="c"))
    image = after(ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=5.0))
    assert image.client_quotas == {(("client-id", "c"), ("user", None)): {"producer_byte_rate": 5.0}}
    assert (
        after(ClientQuotaRecord(entity=entity, key="producer_byte_rate", remove=True), base=image)
        == MetadataImage.empty()
    )


def test_scram_credentials_are_kept_per_mechanism() -> None:
    image = after(UserScramCredentialRecord(name="ann", mechanism=1, salt=b"s", iterations=4096))
    assert set(image.scram) == {(1, "ann")}
    assert after(RemoveUserScramCredentialRecord(name="ann", mechanism=1), base=image) == MetadataImage.empty()


def test_a_transaction_is_stable_only_at_its_end() -> None:
    begun = after(
        BeginTransactionRecord(name="t"), FeatureLevelRecord(name="group.version", feature_level=1), base=STOCK
    )
    assert begun.features.level("group.version") == 1
    assert begun.stable == STOCK
    ended = after(EndTransactionRecord(), base=begun)
    assert (ended.stable, ended.features.level("group.version")) == (ended, 1)


def test_an_aborted_transaction_leaves_nothing_behind_even_across_images() -> None:
    begun = after(BeginTransactionRecord(), RemoveTopicRecord(topic_id=TOPIC), base=STOCK)
    assert after(AbortTransactionRecord(reason="failover"), base=begun) == STOCK
    whole = after(BeginTransactionRecord(), RemoveTopicRecord(topic_id=TOPIC), AbortTransactionRecord(), base=STOCK)
    assert whole == STOCK


CONTRADICTIONS = {
    "a change of an unknown partition": (STOCK, PartitionChangeRecord(topic_id=TOPIC, partition_id=7, leader=1)),
    "a partition of an unknown topic": (MetadataImage.empty(), partition()),
    "replicas and directories that do not match": (STOCK, partition(directories=(directory_of(1),))),
    "a topic that exists": (STOCK, TopicRecord(name="stock", topic_id=uuid("topic", 2))),
    "an id that exists": (STOCK, TopicRecord(name="other", topic_id=TOPIC)),
    "the removal of an unknown topic": (MetadataImage.empty(), RemoveTopicRecord(topic_id=TOPIC)),
    "the ELR of an unknown topic": (MetadataImage.empty(), ClearElrRecord(topic_name="nope")),
    "a change of an unknown broker": (
        MetadataImage.empty(),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=9),
    ),
    "a change of a former epoch": (BROKER, BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=8, fenced=1)),
    "unregistering a former epoch": (BROKER, UnregisterBrokerRecord(broker_id=1, broker_epoch=8)),
    "an unknown ACL": (MetadataImage.empty(), RemoveAccessControlEntryRecord(id=TOPIC)),
    "an unknown credential": (MetadataImage.empty(), RemoveUserScramCredentialRecord(name="ann", mechanism=1)),
    "an end without a begin": (STOCK, EndTransactionRecord()),
    "an abort without a begin": (STOCK, AbortTransactionRecord()),
    "a begin inside a transaction": (after(BeginTransactionRecord(name="t")), BeginTransactionRecord(name="u")),
    "what is no metadata record": (STOCK, CreateTopicsRequest()),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_record_that_contradicts_the_image_is_an_error(case: str) -> None:
    base, record = CONTRADICTIONS[case]
    with pytest.raises(ReplayError):
        after(record, base=base)


def test_an_older_image_does_not_change() -> None:
    before = after(base=STOCK)
    after(PartitionChangeRecord(topic_id=TOPIC, partition_id=0, leader=2), partition(1), base=before)
    assert before == STOCK
    assert before.topics.partition_count == 1


def test_what_a_record_does_not_touch_is_shared() -> None:
    changed = after(ConfigRecord(resource_type=4, resource_name="1", name="a", value="x"), base=STOCK)
    assert changed.topics is STOCK.topics
    assert changed.cluster is STOCK.cluster
