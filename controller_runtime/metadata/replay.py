"""The one mutation path: what each metadata record does to the image, on leaders, followers, brokers and tools alike.

Every record type of 4.3.1 is here, also those whose requests this runtime does not serve yet, so that a real Kafka's
log replays whole. A record that contradicts the image (a change of a partition that does not exist, an end without a
begin) is a `ReplayError`: the log of a quorum cannot contain it, so a node that meets one must stop rather than hold
another cluster than its peers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from controller_runtime.identifiers import BrokerEpoch, DirectoryId, NodeId
from controller_runtime.metadata.cluster import (
    MIGRATING,
    BrokerRegistration,
    ControllerRegistration,
    Listener,
    VersionRange,
    directory_order,
)
from controller_runtime.metadata.configs import TOPIC
from controller_runtime.metadata.features import KRAFT_VERSION
from controller_runtime.metadata.image import MetadataBuilder
from controller_runtime.metadata.partition_runs import PartitionRun
from controller_runtime.metadata.partitions import RECOVERED, RECOVERING, Partition, pack
from controller_runtime.metadata.security import AccessControlEntry, DelegationToken, ScramCredential
from controller_runtime.protocol.messages.abort_transaction_record import AbortTransactionRecord
from controller_runtime.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.delegation_token_record import DelegationTokenRecord
from controller_runtime.protocol.messages.end_transaction_record import EndTransactionRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.fence_broker_record import FenceBrokerRecord
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.register_controller_record import RegisterControllerRecord
from controller_runtime.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from controller_runtime.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from controller_runtime.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.protocol.messages.zk_migration_state_record import ZkMigrationStateRecord
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

NO_LEADER_CHANGE: Final = -2
_SAME_RECOVERY_STATE: Final = -1


class ReplayError(Exception):
    """A record that cannot follow what the log said before."""


def replay(builder: MetadataBuilder, record: Message) -> None:
    """Apply one record. Raises ReplayError, after which the builder must not be used."""
    handler = _HANDLERS.get(type(record))
    if handler is None:
        raise ReplayError(f"{type(record).__name__} is not a metadata record")
    handler(builder, record)


# The cluster.


def _register_broker(builder: MetadataBuilder, record: RegisterBrokerRecord) -> None:
    broker_id = NodeId(record.broker_id)
    builder.brokers[broker_id] = BrokerRegistration(
        id=broker_id,
        epoch=BrokerEpoch(record.broker_epoch),
        incarnation_id=record.incarnation_id,
        listeners={e.name: Listener(e.host, e.port, e.security_protocol) for e in record.end_points},
        features={f.name: VersionRange(f.min_supported_version, f.max_supported_version) for f in record.features},
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        is_migrating_zk_broker=record.is_migrating_zk_broker,
        directories=tuple(map(DirectoryId, sorted(record.log_dirs, key=directory_order))),
        cordoned_directories=None
        if record.cordoned_log_dirs is None
        else tuple(map(DirectoryId, record.cordoned_log_dirs)),
    )


def _broker(builder: MetadataBuilder, broker_id: int, epoch: int, record: Message) -> BrokerRegistration:
    registration = builder.brokers.get(NodeId(broker_id))
    if registration is None:
        raise ReplayError(f"{type(record).__name__} for broker {broker_id}, which is not registered")
    if registration.epoch != epoch:
        raise ReplayError(
            f"{type(record).__name__} for broker {broker_id} epoch {epoch}, but it is "
            f"registered with epoch {registration.epoch}"
        )
    return registration


def _unregister_broker(builder: MetadataBuilder, record: UnregisterBrokerRecord) -> None:
    del builder.brokers[_broker(builder, record.broker_id, record.broker_epoch, record).id]


def _change_broker(builder: MetadataBuilder, record: BrokerRegistrationChangeRecord) -> None:
    old = _broker(builder, record.broker_id, record.broker_epoch, record)
    if record.fenced not in (-1, 0, 1) or record.in_controlled_shutdown not in (0, 1):
        what = f"fenced {record.fenced} and in_controlled_shutdown {record.in_controlled_shutdown}"
        raise ReplayError(f"BrokerRegistrationChangeRecord for broker {record.broker_id} with {what}")
    cordoned = record.cordoned_log_dirs
    builder.brokers[old.id] = replace(
        old,
        fenced=old.fenced if record.fenced == 0 else record.fenced == 1,
        in_controlled_shutdown=old.in_controlled_shutdown or record.in_controlled_shutdown == 1,
        directories=tuple(map(DirectoryId, sorted(record.log_dirs, key=directory_order))) or old.directories,
        cordoned_directories=old.cordoned_directories if cordoned is None else tuple(map(DirectoryId, cordoned)),
    )


def _fence_broker(builder: MetadataBuilder, record: FenceBrokerRecord) -> None:
    old = _broker(builder, record.id, record.epoch, record)
    builder.brokers[old.id] = replace(old, fenced=True)


def _unfence_broker(builder: MetadataBuilder, record: UnfenceBrokerRecord) -> None:
    old = _broker(builder, record.id, record.epoch, record)
    builder.brokers[old.id] = replace(old, fenced=False)


def _register_controller(builder: MetadataBuilder, record: RegisterControllerRecord) -> None:
    controller_id = NodeId(record.controller_id)
    builder.controllers[controller_id] = ControllerRegistration(
        id=controller_id,
        incarnation_id=record.incarnation_id,
        listeners={e.name: Listener(e.host, e.port, e.security_protocol) for e in record.end_points},
        features={f.name: VersionRange(f.min_supported_version, f.max_supported_version) for f in record.features},
        zk_migration_ready=record.zk_migration_ready,
    )


# Topics and partitions.


def replay_run(builder: MetadataBuilder, run: PartitionRun) -> None:
    """What replaying a PartitionRecord for each of these partitions would do."""
    topics = builder.topics
    if run.topic_id not in topics:
        raise ReplayError(f"PartitionRecord {run.first} of topic {run.topic_id}, which does not exist")
    topics.put_rows(run.topic_id, run.first, run.count, run.rows)


def _create_topic(builder: MetadataBuilder, record: TopicRecord) -> None:
    topics = builder.topics
    if record.topic_id in topics or topics.id_of(record.name) is not None:
        raise ReplayError(f"TopicRecord {record.name!r} with id {record.topic_id}, but that name or id exists")
    topics.create(record.name, record.topic_id)


def _remove_topic(builder: MetadataBuilder, record: RemoveTopicRecord) -> None:
    name = builder.topics.remove(record.topic_id)
    if name is None:
        raise ReplayError(f"RemoveTopicRecord for topic {record.topic_id}, which does not exist")
    builder.configs.remove(TOPIC, name)


def _put_partition(builder: MetadataBuilder, record: PartitionRecord) -> None:
    topics, topic_id, replicas = builder.topics, record.topic_id, record.replicas
    if topic_id not in topics:
        raise ReplayError(f"PartitionRecord {record.partition_id} of topic {topic_id}, which does not exist")
    directories = record.directories or (MIGRATING,) * len(replicas)
    if len(directories) != len(replicas):
        raise ReplayError(
            f"partition {record.partition_id} of {topic_id} has {len(replicas)} "
            f"replicas but {len(directories)} directories"
        )
    _check_recovery(record.leader_recovery_state, record)
    lists = (
        replicas,
        topics.table.numbers(directories),
        record.isr,
        record.removing_replicas,
        record.adding_replicas,
        record.eligible_leader_replicas or (),
        record.last_known_elr or (),
    )
    row = pack(record.leader, record.leader_epoch, record.partition_epoch, record.leader_recovery_state, lists)
    topics.put_row(topic_id, record.partition_id, row)


def _change_partition(builder: MetadataBuilder, record: PartitionChangeRecord) -> None:
    old = builder.topics.partition(record.topic_id, record.partition_id)
    if old is None:
        raise ReplayError(
            f"PartitionChangeRecord for partition {record.partition_id} of topic "
            f"{record.topic_id}, which does not exist"
        )
    builder.topics.put(record.topic_id, record.partition_id, merge(old, record))


def merge(old: Partition, record: PartitionChangeRecord) -> Partition:
    """The partition after a change: its epoch grows always, its leader epoch exactly when the record names a leader."""
    replicas = old.replicas if record.replicas is None else record.replicas
    led = record.leader != NO_LEADER_CHANGE
    recovery = record.leader_recovery_state
    if recovery != _SAME_RECOVERY_STATE:
        _check_recovery(recovery, record)
    return Partition(
        replicas=replicas,
        directories=_directories_after(old, record, replicas),
        isr=old.isr if record.isr is None else record.isr,
        leader=record.leader if led else old.leader,
        leader_epoch=old.leader_epoch + led,
        partition_epoch=old.partition_epoch + 1,
        leader_recovery_state=old.leader_recovery_state if recovery == _SAME_RECOVERY_STATE else recovery,
        removing_replicas=old.removing_replicas if record.removing_replicas is None else record.removing_replicas,
        adding_replicas=old.adding_replicas if record.adding_replicas is None else record.adding_replicas,
        elr=old.elr if record.eligible_leader_replicas is None else record.eligible_leader_replicas,
        last_known_elr=old.last_known_elr if record.last_known_elr is None else record.last_known_elr,
    )


def _directories_after(
    old: Partition, record: PartitionChangeRecord, replicas: tuple[int, ...]
) -> tuple[DirectoryId, ...]:
    """One for each replica. While none is known they are MIGRATING, however many replicas there are, and nobody names
    them.
    """
    named = record.directories
    directories = old.directories if named is None else tuple(map(DirectoryId, named))
    counted = bool(named) and record.replicas is not None
    if directories.count(MIGRATING) == len(directories) and not counted:
        return (MIGRATING,) * len(replicas)
    if len(directories) != len(replicas):
        raise ReplayError(
            f"PartitionChangeRecord for partition {record.partition_id} of topic {record.topic_id}: "
            f"{len(replicas)} replicas but {len(directories)} directories"
        )
    return directories


def _check_recovery(state: int, record: PartitionRecord | PartitionChangeRecord) -> None:
    if state not in (RECOVERED, RECOVERING):
        raise ReplayError(
            f"{type(record).__name__} for partition {record.partition_id} of topic {record.topic_id}: "
            f"{state} is no leader recovery state"
        )


def _clear_elr(builder: MetadataBuilder, record: ClearElrRecord) -> None:
    topics = builder.topics.freeze()
    if record.topic_name and topics.named(record.topic_name) is None:
        raise ReplayError(f"ClearElrRecord for topic {record.topic_name!r}, which does not exist")
    for topic in [t for t in topics if record.topic_name in ("", t.name)]:
        for index, partition in topic.partitions():
            if partition.elr or partition.last_known_elr:
                cleared = replace(partition, elr=(), last_known_elr=(), partition_epoch=partition.partition_epoch + 1)
                builder.topics.put(topic.id, index, cleared)


# Everything else.


def _set_config(builder: MetadataBuilder, record: ConfigRecord) -> None:
    builder.configs.set(record.resource_type, record.resource_name, record.name, record.value)


def _set_feature(builder: MetadataBuilder, record: FeatureLevelRecord) -> None:
    if record.name == KRAFT_VERSION:
        return
    if record.feature_level == 0:
        builder.features.pop(record.name, None)
    else:
        builder.features[record.name] = record.feature_level


def _set_quota(builder: MetadataBuilder, record: ClientQuotaRecord) -> None:
    entity = tuple(sorted(((e.entity_type, e.entity_name) for e in record.entity), key=lambda pair: pair[0]))
    values = dict(builder.client_quotas.get(entity, {}))
    if record.remove:
        values.pop(record.key, None)
    else:
        values[record.key] = record.value
    if values:
        builder.client_quotas[entity] = values
    else:
        builder.client_quotas.pop(entity, None)


def _set_producer_ids(builder: MetadataBuilder, record: ProducerIdsRecord) -> None:
    builder.next_producer_id = record.next_producer_id


def _add_acl(builder: MetadataBuilder, record: AccessControlEntryRecord) -> None:
    builder.acls[record.id] = AccessControlEntry(
        id=record.id,
        resource_type=record.resource_type,
        resource_name=record.resource_name,
        pattern_type=record.pattern_type,
        principal=record.principal,
        host=record.host,
        operation=record.operation,
        permission_type=record.permission_type,
    )


def _remove_acl(builder: MetadataBuilder, record: RemoveAccessControlEntryRecord) -> None:
    if builder.acls.pop(record.id) is None:
        raise ReplayError(f"RemoveAccessControlEntryRecord for ACL {record.id}, which does not exist")


def _set_scram(builder: MetadataBuilder, record: UserScramCredentialRecord) -> None:
    credential = ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)
    builder.scram[(record.mechanism, record.name)] = credential


def _remove_scram(builder: MetadataBuilder, record: RemoveUserScramCredentialRecord) -> None:
    if builder.scram.pop((record.mechanism, record.name), None) is None:
        raise ReplayError(f"RemoveUserScramCredentialRecord for user {record.name!r}, which has no such credential")


def _set_token(builder: MetadataBuilder, record: DelegationTokenRecord) -> None:
    builder.delegation_tokens[record.token_id] = DelegationToken(
        token_id=record.token_id,
        owner=record.owner,
        requester=record.requester,
        renewers=record.renewers,
        issue_timestamp=record.issue_timestamp,
        max_timestamp=record.max_timestamp,
        expiration_timestamp=record.expiration_timestamp,
    )


def _remove_token(builder: MetadataBuilder, record: RemoveDelegationTokenRecord) -> None:
    builder.delegation_tokens.pop(record.token_id, None)


def _begin_transaction(builder: MetadataBuilder, record: BeginTransactionRecord) -> None:
    if builder.transaction is not None:
        raise ReplayError(f"transaction {record.name!r} begins inside transaction {builder.transaction.name!r}")
    builder.begin_transaction(record.name)


def _end_transaction(builder: MetadataBuilder, _: EndTransactionRecord) -> None:
    if builder.transaction is None:
        raise ReplayError("EndTransactionRecord without a transaction")
    builder.end_transaction()


def _abort_transaction(builder: MetadataBuilder, _: AbortTransactionRecord) -> None:
    if builder.transaction is None:
        raise ReplayError("AbortTransactionRecord without a transaction")
    builder.abort_transaction()


def _change_nothing(_: MetadataBuilder, __: Message) -> None:
    """NoOpRecord moves the high watermark; ZkMigrationStateRecord means nothing since 4.0."""


_HANDLERS: Final[Mapping[type[Message], Callable[[MetadataBuilder, Any], None]]] = {
    RegisterBrokerRecord: _register_broker,
    UnregisterBrokerRecord: _unregister_broker,
    TopicRecord: _create_topic,
    PartitionRecord: _put_partition,
    ConfigRecord: _set_config,
    PartitionChangeRecord: _change_partition,
    FenceBrokerRecord: _fence_broker,
    UnfenceBrokerRecord: _unfence_broker,
    RemoveTopicRecord: _remove_topic,
    DelegationTokenRecord: _set_token,
    UserScramCredentialRecord: _set_scram,
    FeatureLevelRecord: _set_feature,
    ClientQuotaRecord: _set_quota,
    ProducerIdsRecord: _set_producer_ids,
    BrokerRegistrationChangeRecord: _change_broker,
    AccessControlEntryRecord: _add_acl,
    RemoveAccessControlEntryRecord: _remove_acl,
    NoOpRecord: _change_nothing,
    ZkMigrationStateRecord: _change_nothing,
    RemoveUserScramCredentialRecord: _remove_scram,
    BeginTransactionRecord: _begin_transaction,
    EndTransactionRecord: _end_transaction,
    AbortTransactionRecord: _abort_transaction,
    RemoveDelegationTokenRecord: _remove_token,
    RegisterControllerRecord: _register_controller,
    ClearElrRecord: _clear_elr,
}
