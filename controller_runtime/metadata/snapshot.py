"""An image as the records that make it again, in the order in which Kafka writes a snapshot (KIP-630).

Features first, metadata.version before the others, because every record after it is written at the version that it
allows; then brokers and controllers, topics each followed by its partitions, configs, client quotas, the producer id
block, ACLs, SCRAM credentials and delegation tokens. No transaction and no NoOpRecord is ever in a snapshot (QC-10).
What the finalized metadata.version cannot express is left out and reported to `on_loss` (IMG-03).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.cluster import (
    MIGRATING,
    BrokerRegistration,
    ControllerRegistration,
    Listener,
    VersionRange,
)
from controller_runtime.metadata.features import (
    CONTROLLER_REGISTRATION,
    CORDONED_LOG_DIRS,
    DELEGATION_TOKENS,
    DIRECTORY_ASSIGNMENT,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    METADATA_VERSION,
    SCRAM,
    ZK_MIGRATION,
    VersionedRecord,
    record_version,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.delegation_token_record import DelegationTokenRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from controller_runtime.protocol.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord

AnyEndpoint = TypeVar("AnyEndpoint", BrokerEndpoint, ControllerEndpoint)
AnyFeature = TypeVar("AnyFeature", BrokerFeature, ControllerFeature)
LossHandler = Callable[[str], None]


def snapshot_records(image: MetadataImage, on_loss: LossHandler = lambda _: None) -> Iterator[VersionedRecord]:
    """The records of a snapshot of this image. It must not be inside a transaction."""
    assert image.transaction is None, "an image inside a transaction has no snapshot"
    level = image.features.metadata_version
    yield from _features(image.features.levels)
    for broker in image.cluster.brokers.values():
        yield broker_record(broker, level, on_loss), record_version(RegisterBrokerRecord, level)
    yield from _controllers(image, level, on_loss)
    yield from _topics(image, level, on_loss)
    for resource_type, resource_name, values in image.configs.items():
        for name, value in values.items():
            yield ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value), 0
    yield from _client_quotas(image)
    if image.next_producer_id >= 0:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id), 0
    yield from _acls(image)
    yield from _scram(image, level, on_loss)
    yield from _delegation_tokens(image, level, on_loss)


def _features(levels: Mapping[str, int]) -> Iterator[VersionedRecord]:
    for name in sorted(levels, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=levels[name]), 0


def broker_record(
    broker: BrokerRegistration, level: int, on_loss: LossHandler = lambda _: None
) -> RegisterBrokerRecord:
    """A registration as one record, at the version that `level` allows."""
    directories = broker.directories if level >= DIRECTORY_ASSIGNMENT else ()
    if broker.directories and not directories:
        on_loss("the online log directories of one or more brokers")
    cordoned = broker.cordoned_directories if level >= CORDONED_LOG_DIRS else None
    if broker.cordoned_directories and cordoned is None:
        on_loss("the cordoned log directories of one or more brokers")
    if broker.is_migrating_zk_broker and level < ZK_MIGRATION:
        on_loss("the isMigratingZkBroker state of one or more brokers")
    return RegisterBrokerRecord(
        broker_id=broker.id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker and level >= ZK_MIGRATION,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=tuple(_endpoint(BrokerEndpoint, name, listener) for name, listener in broker.listeners.items()),
        features=tuple(_feature(BrokerFeature, name, range_) for name, range_ in broker.features.items()),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=directories,
        cordoned_log_dirs=cordoned,
    )


def _controllers(image: MetadataImage, level: int, on_loss: LossHandler) -> Iterator[VersionedRecord]:
    controllers = image.cluster.controllers
    if controllers and level < CONTROLLER_REGISTRATION:
        on_loss("controller registration data")
        return
    for controller in controllers.values():
        yield controller_record(controller), 0


def controller_record(controller: ControllerRegistration) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=tuple(_endpoint(ControllerEndpoint, name, it) for name, it in controller.listeners.items()),
        features=tuple(_feature(ControllerFeature, name, range_) for name, range_ in controller.features.items()),
    )


def _endpoint(cls: type[AnyEndpoint], name: str, listener: Listener) -> AnyEndpoint:
    return cls(name=name, host=listener.host, port=listener.port, security_protocol=listener.security_protocol)


def _feature(cls: type[AnyFeature], name: str, levels: VersionRange) -> AnyFeature:
    return cls(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)


def _topics(image: MetadataImage, level: int, on_loss: LossHandler) -> Iterator[VersionedRecord]:
    version = record_version(PartitionRecord, level)
    with_elr = image.features.level(ELIGIBLE_LEADER_REPLICAS_VERSION) > 0
    for topic in image.topics:
        yield TopicRecord(name=topic.name, topic_id=topic.id), 0
        for index, partition in topic.partitions():
            yield partition_record(topic.id, index, partition, level, on_loss, with_elr=with_elr), version


def partition_record(
    topic_id: Uuid,
    index: int,
    partition: Partition,
    level: int,
    on_loss: LossHandler = lambda _: None,
    *,
    with_elr: bool = False,
) -> PartitionRecord:
    """A partition as one record, at the version that `level` allows. `with_elr`: the feature is on; else they mean
    nothing.
    """
    with_directories = level >= DIRECTORY_ASSIGNMENT
    if not with_directories and any(directory != MIGRATING for directory in partition.directories):
        on_loss("the directory assignment state of one or more replicas")
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories if with_directories else (),
        eligible_leader_replicas=(partition.elr or None) if with_elr else None,
        last_known_elr=(partition.last_known_elr or None) if with_elr else None,
    )


def _client_quotas(image: MetadataImage) -> Iterator[VersionedRecord]:
    for entity, values in image.client_quotas.items():
        parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
        for key, value in values.items():
            yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False), 0


def _acls(image: MetadataImage) -> Iterator[VersionedRecord]:
    for acl in image.acls.values():
        yield (
            AccessControlEntryRecord(
                id=acl.id,
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            ),
            0,
        )


def _scram(image: MetadataImage, level: int, on_loss: LossHandler) -> Iterator[VersionedRecord]:
    if image.scram and level < SCRAM:
        on_loss("the SCRAM credentials of one or more users")
        return
    for (mechanism, name), credential in image.scram.items():
        yield (
            UserScramCredentialRecord(
                name=name,
                mechanism=mechanism,
                salt=credential.salt,
                stored_key=credential.stored_key,
                server_key=credential.server_key,
                iterations=credential.iterations,
            ),
            0,
        )


def _delegation_tokens(image: MetadataImage, level: int, on_loss: LossHandler) -> Iterator[VersionedRecord]:
    if image.delegation_tokens and level < DELEGATION_TOKENS:
        on_loss("one or more delegation tokens")
        return
    for token in image.delegation_tokens.values():
        yield (
            DelegationTokenRecord(
                owner=token.owner,
                requester=token.requester,
                renewers=token.renewers,
                issue_timestamp=token.issue_timestamp,
                max_timestamp=token.max_timestamp,
                expiration_timestamp=token.expiration_timestamp,
                token_id=token.token_id,
            ),
            0,
        )
