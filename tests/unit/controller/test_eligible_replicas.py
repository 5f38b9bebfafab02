"""Who may still lead when the ISR is empty (KIP-966), and who may not any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassign_q
from controller_runtime.protocol.messages import alter_partition_request as isr_q
from controller_runtime.protocol.messages import create_topics_request as topics_q
from controller_runtime.protocol.messages import incremental_alter_configs_request as configs_q
from controller_runtime.protocol.messages import update_features_request as features_q
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from support.nodes.controller_world import World, directory_of

pytestmark = pytest.mark.unit

SET: Final = 0
TOPIC: Final = 2
BROKER: Final = 4


class Partitions:
    """Brokers 0 to 3 and the topic mail: partition 0 on brokers 0, 1 and 2, two of which have to be in sync."""

    def __init__(self) -> None:
        self.world = World()
        for broker in range(4):
            self.world.start_broker(broker)
        placed = topics_q.CreatableReplicaAssignment(partition_index=0, broker_ids=(0, 1, 2))
        least = topics_q.CreatableTopicConfig(name="min.insync.replicas", value="2")
        topic = topics_q.CreatableTopic(
            name="mail", num_partitions=-1, replication_factor=-1, assignments=(placed,), configs=(least,)
        )
        self.world.decide(topics_q.CreateTopicsRequest(topics=(topic,)))

    @property
    def mail(self) -> Partition:
        topic = self.world.image.topics.named("mail")
        assert topic is not None
        found = topic.partition(0)
        assert found is not None
        return found

    def fence(self, *brokers: int) -> None:
        for broker in brokers:
            self.world.heartbeat(broker, want_fence=True)

    def reassign(self, *replicas: int) -> None:
        to = reassign_q.ReassignablePartition(partition_index=0, replicas=replicas)
        topic = reassign_q.ReassignableTopic(name="mail", partitions=(to,))
        self.world.decide(reassign_q.AlterPartitionReassignmentsRequest(topics=(topic,)))

    def cancel(self) -> None:
        """Of the reassignment that is under way."""
        topic = reassign_q.ReassignableTopic(
            name="mail", partitions=(reassign_q.ReassignablePartition(partition_index=0, replicas=None),)
        )
        self.world.decide(reassign_q.AlterPartitionReassignmentsRequest(topics=(topic,)))

    def propose(self, *isr: int) -> None:
        """The leader says who is in sync."""
        mail, topic = self.mail, self.world.image.topics.named("mail")
        assert topic is not None
        proposal = isr_q.PartitionData(
            partition_index=0,
            leader_epoch=mail.leader_epoch,
            partition_epoch=mail.partition_epoch,
            new_isr_with_epochs=tuple(isr_q.BrokerState(broker_id=it, broker_epoch=self.world.epoch(it)) for it in isr),
        )
        self.world.decide(
            isr_q.AlterPartitionRequest(
                broker_id=mail.leader,
                broker_epoch=self.world.epoch(mail.leader),
                topics=(isr_q.TopicData(topic_id=topic.id, partitions=(proposal,)),),
            )
        )

    def configure(self, kind: int, name: str, least: str) -> list[Any]:
        """The records of another min.insync.replicas."""
        config = configs_q.AlterableConfig(name="min.insync.replicas", config_operation=SET, value=least)
        resource = configs_q.AlterConfigsResource(resource_type=kind, resource_name=name, configs=(config,))
        decision = self.world.decide(configs_q.IncrementalAlterConfigsRequest(resources=(resource,)))
        return [record for record, _ in decision.records]


def test_a_replica_that_was_removed_is_not_eligible_when_it_is_added_again() -> None:
    """Its log begins anew. Apache Kafka 4.3.1 elects it with nothing (docs/deviations.md)."""
    cluster = Partitions()
    cluster.fence(1, 2)
    assert (cluster.mail.isr, cluster.mail.elr) == ((0,), (2,))
    cluster.reassign(0)
    assert (cluster.mail.replicas, cluster.mail.elr) == ((0,), ())
    cluster.world.heartbeat(2)
    cluster.reassign(0, 2)
    cluster.fence(0)
    assert (cluster.mail.replicas, cluster.mail.elr, cluster.mail.leader) == ((0, 2), (0,), -1)
    cluster.world.heartbeat(0)
    assert (cluster.mail.isr, cluster.mail.leader) == ((0,), 0)


def test_a_removed_replica_that_a_java_controller_left_eligible_is_not_either() -> None:
    """A log of Apache Kafka's may say so."""
    cluster = Partitions()
    cluster.fence(1, 2)
    topic = cluster.world.image.topics.named("mail")
    assert topic is not None
    removed = PartitionChangeRecord(
        topic_id=topic.id, partition_id=0, replicas=(0, 1), directories=(directory_of(0), directory_of(1))
    )
    cluster.world.append([(removed, 2)])
    assert (cluster.mail.isr, cluster.mail.elr) == ((0,), (2,))
    cluster.world.heartbeat(2)
    cluster.reassign(0, 1, 2)
    assert (cluster.mail.replicas, cluster.mail.elr) == ((0, 1, 2), ())


def test_another_minimum_in_sync_makes_nobody_eligible() -> None:
    """ELR-05: of the topic, or of the cluster."""
    for kind, name in ((TOPIC, "mail"), (BROKER, "")):
        cluster = Partitions()
        cluster.fence(1, 2, 0)
        before = cluster.mail
        assert (before.elr, before.last_known_elr) == ((0, 2), (0,))
        records = cluster.configure(kind, name, "1")
        assert [it for it in records if isinstance(it, ClearElrRecord)] == [
            ClearElrRecord(topic_name=name if kind == TOPIC else "")
        ]
        assert cluster.mail == replace(before, elr=(), last_known_elr=(), partition_epoch=before.partition_epoch + 1)


def test_where_nobody_was_eligible_another_minimum_changes_no_partition() -> None:
    """ELR-05: a leader's next proposal is not out of date for it."""
    cluster = Partitions()
    before = cluster.mail
    cluster.configure(TOPIC, "mail", "1")
    cluster.configure(BROKER, "", "1")
    assert cluster.mail == before


def test_what_is_proposed_and_is_so_already_changes_no_partition() -> None:
    """ELR-05."""
    cluster = Partitions()
    before, end = cluster.mail, cluster.world.offset
    cluster.propose(0, 1, 2)
    assert (cluster.mail, cluster.world.offset) == (before, end)


@pytest.mark.parametrize("level", [16, 17])
def test_a_reassignment_says_where_replicas_live_from_3_7_iv2_on(level: int) -> None:
    """REP-16: below, its record has no place for it."""
    world = World(level=level)
    for broker in range(3):
        world.start_broker(broker)
    there = topics_q.CreatableReplicaAssignment(partition_index=0, broker_ids=(0, 1))
    assert world.create("stock", -1, -1, assignments=(there,)).error_code == 0
    to = reassign_q.ReassignablePartition(partition_index=0, replicas=(2, 1))
    topic = reassign_q.ReassignableTopic(name="stock", partitions=(to,))
    ((record, version),) = world.decide(reassign_q.AlterPartitionReassignmentsRequest(topics=(topic,))).records
    again, _ = decode_record(encode_record(record, version))
    assert isinstance(again, PartitionChangeRecord)
    assert again.replicas == (2, 1, 0)
    assert again.directories == (None if level == 16 else tuple(map(directory_of, (2, 1, 0))))


ELR: Final = "eligible.leader.replicas.version"


def set_elr(cluster: Partitions, level: int) -> None:
    kind = 1 if level else 2  # an upgrade, a safe downgrade
    update = features_q.FeatureUpdateKey(feature=ELR, max_version_level=level, upgrade_type=kind)
    cluster.world.decide(features_q.UpdateFeaturesRequest(feature_updates=(update,)))
    assert cluster.world.image.features.level(ELR) == level


def test_who_led_before_others_did_is_not_the_last_known_leader() -> None:
    """ELR-03: others led while the feature was off, and have what broker 0 has not."""
    cluster = Partitions()
    cluster.fence(1, 2, 0)
    assert (cluster.mail.leader, cluster.mail.last_known_elr) == (-1, (0,))
    set_elr(cluster, 0)
    unclean = configs_q.AlterableConfig(name="unclean.leader.election.enable", config_operation=SET, value="true")
    resource = configs_q.AlterConfigsResource(resource_type=TOPIC, resource_name="mail", configs=(unclean,))
    cluster.world.decide(configs_q.IncrementalAlterConfigsRequest(resources=(resource,)))
    cluster.world.heartbeat(1)
    cluster.world.periodic()
    assert cluster.mail.leader == 1
    assert cluster.mail.last_known_elr == ()


def test_a_last_known_leader_that_a_java_controller_left_behind_is_forgotten() -> None:
    """ELR-03: whoever leads now is the one to be remembered when nobody does any more."""
    cluster = Partitions()
    topic = cluster.world.image.topics.named("mail")
    assert topic is not None
    cluster.world.append([(PartitionChangeRecord(topic_id=topic.id, partition_id=0, last_known_elr=(2,)), 2)])
    cluster.fence(2, 1, 0)
    assert (cluster.mail.leader, cluster.mail.last_known_elr) == (-1, (0,))


def test_a_last_known_leader_that_was_removed_is_not_elected() -> None:
    """Apache Kafka 4.3.1 resigns whenever it looks for a leader of such a partition (docs/deviations.md)."""
    cluster = Partitions()
    topic = cluster.world.image.topics.named("mail")
    assert topic is not None
    cluster.fence(1, 2, 0)
    nobody = PartitionChangeRecord(
        topic_id=topic.id, partition_id=0, isr=(), eligible_leader_replicas=(), last_known_elr=(3,)
    )
    cluster.world.append([(nobody, 2)])
    for broker in (1, 2):
        cluster.world.start_broker(broker)
    assert (cluster.mail.replicas, cluster.mail.leader) == ((0, 1, 2), -1)


def test_a_last_known_leader_is_forgotten_when_it_is_removed() -> None:
    """Its log begins anew when it is added again: it must not lead then without what was acknowledged."""
    cluster = Partitions()
    cluster.reassign(0, 1, 3)
    assert (cluster.mail.replicas, cluster.mail.adding_replicas) == ((0, 1, 3, 2), (3,))
    topic = cluster.world.image.topics.named("mail")
    assert topic is not None
    cluster.fence(1, 2, 3, 0)
    unclean = configs_q.AlterableConfig(name="unclean.leader.election.enable", config_operation=SET, value="true")
    resource = configs_q.AlterConfigsResource(resource_type=TOPIC, resource_name="mail", configs=(unclean,))
    cluster.world.decide(configs_q.IncrementalAlterConfigsRequest(resources=(resource,)))
    cluster.world.append([(PartitionChangeRecord(topic_id=topic.id, partition_id=0, last_known_elr=(3,)), 2)])
    cluster.cancel()
    assert (cluster.mail.replicas, cluster.mail.leader, cluster.mail.last_known_elr) == ((0, 1, 2), -1, ())
