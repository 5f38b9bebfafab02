"""A builder goes on after it was frozen or looked into, and no image notices."""

from __future__ import annotations

import pytest

from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.abort_transaction_record import AbortTransactionRecord
from controller_runtime.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.delegation_token_record import DelegationTokenRecord
from controller_runtime.protocol.messages.end_transaction_record import EndTransactionRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.register_controller_record import RegisterControllerRecord
from controller_runtime.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import uuid

pytestmark = pytest.mark.unit


def quota(user: str) -> ClientQuotaRecord:
    return ClientQuotaRecord(entity=(EntityData(entity_type="user", entity_name=user),), key="k", value=1.0)


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"topic-{number}", topic_id=uuid("topic", number))


def partition(number: int) -> PartitionRecord:
    return PartitionRecord(partition_id=0, topic_id=uuid("topic", number), replicas=(1,), isr=(1,), leader=1)


def config(value: str, resource_type: int = 2) -> ConfigRecord:
    return ConfigRecord(resource_type=resource_type, resource_name="topic-1", name="retention.ms", value=value)


TWICE: dict[str, tuple[Message, ...]] = {
    "features": tuple(FeatureLevelRecord(name=name, feature_level=1) for name in ("a", "b")),
    "brokers": tuple(RegisterBrokerRecord(broker_id=number, broker_epoch=9) for number in (1, 2)),
    "controllers": tuple(RegisterControllerRecord(controller_id=number) for number in (1, 2)),
    "topics": (topic(1), topic(2)),
    "configs": (config("1"), config("2")),
    "quotas": (quota("ann"), quota("bob")),
    "producer ids": tuple(ProducerIdsRecord(next_producer_id=number) for number in (1000, 2000)),
    "acls": tuple(AccessControlEntryRecord(id=uuid("acl", number)) for number in (1, 2)),
    "scram": tuple(UserScramCredentialRecord(name=name, mechanism=1) for name in ("ann", "bob")),
    "tokens": tuple(DelegationTokenRecord(token_id=name) for name in ("t", "u")),
}


def replayed(builder: MetadataBuilder, *records: Message) -> MetadataBuilder:
    for record in records:
        replay(builder, record)
    return builder


def after(*records: Message, base: MetadataImage | None = None) -> MetadataImage:
    return replayed((base or MetadataImage.empty()).builder(), *records).freeze()


LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)


@pytest.mark.parametrize("kind", TWICE)
def test_a_frozen_image_stays_as_it_is_when_its_builder_goes_on(kind: str) -> None:
    first, second = TWICE[kind]
    builder = replayed(MetadataImage.empty().builder(), LEVEL, first)
    frozen = builder.freeze()
    then = list(snapshot_records(frozen))
    replayed(builder, second)
    assert builder.freeze() == after(LEVEL, first, second) != frozen
    assert list(snapshot_records(frozen)) == then
    assert frozen == after(LEVEL, first)


def test_a_topic_that_is_not_touched_again_is_shared() -> None:
    builder = replayed(MetadataImage.empty().builder(), topic(1), partition(1))
    first = builder.freeze()
    second = replayed(builder, topic(2), partition(2)).freeze()
    assert second.topics.named("topic-1") is first.topics.named("topic-1")
    assert (first.topics.partition_count, second.topics.partition_count) == (1, 2)


BASE = after(LEVEL, topic(1), partition(1), config("0"))
OTHERS: dict[str, tuple[Message, ...]] = {
    **{kind: (second,) for kind, (_, second) in TWICE.items()},
    "a transaction that begins": (BeginTransactionRecord(name="t"),),
    "a transaction that ends": (BeginTransactionRecord(name="t"), config("8"), EndTransactionRecord()),
    "a transaction that is aborted": (BeginTransactionRecord(name="t"), config("8"), AbortTransactionRecord()),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_look_shows_whatever_changed(kind: str) -> None:
    changes = OTHERS[kind]
    for records in ((config("1"), *changes), (*changes, config("1"))):
        builder = BASE.builder()
        for count, record in enumerate(records, 1):
            replay(builder, record)
            assert builder.peek() == after(*records[:count], base=BASE)
        assert builder.peek().configs.of(2, "topic-1") == after(*records, base=BASE).configs.of(2, "topic-1")
        assert builder.freeze() == after(*records, base=BASE)


def test_a_look_at_changed_values_copies_nothing() -> None:
    builder = replayed(BASE.builder(), config("1"))
    seen = builder.peek()
    assert seen.configs.of(2, "topic-1") == {"retention.ms": "1"}
    replay(builder, config("2"))
    assert builder.peek() is seen
    assert seen.configs.of(2, "topic-1") == {"retention.ms": "2"}
    replay(builder, config("3", resource_type=32))
    assert builder.peek().configs.of(32, "topic-1") == {"retention.ms": "3"}
    assert builder.peek() is builder.peek()
    builder.freeze()
    replay(builder, config("4"))
    assert builder.peek().configs.of(2, "topic-1") == {"retention.ms": "4"}


def test_a_look_at_new_topics_copies_nothing() -> None:
    builder = replayed(BASE.builder(), topic(2), partition(2))
    seen = builder.peek()
    assert (seen.topics.partition_count, len(seen.topics)) == (2, 2)
    replayed(builder, topic(3), partition(3))
    assert builder.peek() is seen
    assert (seen.topics.partition_count, len(seen.topics)) == (3, 3)
    assert (BASE.topics.partition_count, len(BASE.topics)) == (1, 1)
    frozen = builder.freeze()
    replayed(builder, topic(4), partition(4))
    assert len(builder.peek().topics) == 4
    assert (frozen.topics.partition_count, len(frozen.topics)) == (3, 3)


def test_a_delegation_token_ends_when_it_is_removed() -> None:
    with_token = after(DelegationTokenRecord(token_id="t"), DelegationTokenRecord(token_id="u"))
    assert after(RemoveDelegationTokenRecord(token_id="t"), base=with_token) == after(
        DelegationTokenRecord(token_id="u")
    )
    assert after(RemoveDelegationTokenRecord(token_id="x"), base=with_token) == with_token
