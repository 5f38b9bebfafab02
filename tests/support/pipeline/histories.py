"""Random histories of a cluster, decided by our own controller, and what its image says in the words of the pipeline's
tables.

Requests go to the real controller (brokers come, stop, are fenced; topics come and go); records whose requests other
tests own (access rules, SCRAM, quotas, transactions) are appended as a controller would. `facts_of_image` and
`facts_of_rows` bring both sides into one form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from controller_runtime.identifiers import DirectoryId, NodeId, Uuid
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.messages.abort_transaction_record import AbortTransactionRecord
from controller_runtime.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.end_transaction_record import EndTransactionRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from controller_runtime.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from metadata_pipeline.redaction import Redactor, is_secret_config
from support.disks.log_fleet import NO_OP, History
from support.nodes.controller_world import World, uuid

Facts = dict[tuple[Any, ...], Any]


@dataclass
class RandomHistory:
    """A world that random things happen to. `log` has every record from offset 3 on."""

    seed: int
    world: World = field(default_factory=World)
    actions: int = 0

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.names = 0

    def run(self, actions: int) -> None:
        for broker in (1, 2, 3):
            self.world.start_broker(broker)
        for _ in range(actions):
            self.rng.choice(ACTIONS)(self)

    def some_topic(self) -> Any:
        topics = list(self.world.image.topics)
        return self.rng.choice(topics) if topics else None

    def put(self, *records: VersionedRecord) -> None:
        self.world.append(records)


def _create(history: RandomHistory) -> None:
    history.names += 1
    history.world.create(f"topic-{history.names % 5}", history.rng.randint(1, 3), history.rng.randint(1, 2))


def _remove(history: RandomHistory) -> None:
    if (topic := history.some_topic()) is not None:
        history.put((RemoveTopicRecord(topic_id=topic.id), 0))


def _time_passes(history: RandomHistory) -> None:
    """Who does not send heartbeats meanwhile is fenced, and loses its leaderships."""
    world = history.world
    living = [broker for broker in world.image.cluster.brokers if history.rng.random() < 0.6]
    for _ in range(4):
        world.wait(3.0)
        for broker in living:
            if broker in world.image.cluster.brokers:
                world.heartbeat(int(broker))


def _restart(history: RandomHistory) -> None:
    broker = history.rng.choice((1, 2, 3, 4))
    history.names += 1
    history.world.register(broker, incarnation=history.names + 10)
    if NodeId(broker) in history.world.image.cluster.brokers and history.rng.random() < 0.8:
        history.world.heartbeat(broker)


def _stop(history: RandomHistory) -> None:
    brokers = [int(broker) for broker in history.world.image.cluster.brokers]
    if brokers:
        history.world.heartbeat(history.rng.choice(brokers), want_shut_down=True)


def _unregister(history: RandomHistory) -> None:
    fenced = [it for it in history.world.image.cluster.brokers.values() if it.fenced]
    used = {broker for topic in history.world.image.topics for _, it in topic.partitions() for broker in it.replicas}
    for it in fenced:
        if int(it.id) not in used:
            history.put((UnregisterBrokerRecord(broker_id=it.id, broker_epoch=it.epoch), 0))
            return


def _configure(history: RandomHistory) -> None:
    topic = history.some_topic()
    name = topic.name if topic is not None and history.rng.random() < 0.7 else None
    key = history.rng.choice(("retention.ms", "cleanup.policy", "my.secret.thing"))
    value = history.rng.choice((None, "1000", "compact", "other"))
    kind, resource = (2, name) if name is not None else (4, history.rng.choice(("", "1")))
    history.put((ConfigRecord(resource_type=kind, resource_name=resource or "", name=key, value=value), 0))


def _reassign(history: RandomHistory) -> None:
    topic = history.some_topic()
    if topic is None:
        return
    index, partition = history.rng.choice(list(topic.partitions()))
    change = PartitionChangeRecord(topic_id=topic.id, partition_id=index)
    match history.rng.randrange(4):
        case 0:
            in_sync = partition.leader if partition.leader in partition.replicas else partition.replicas[0]
            eligible = tuple(it for it in partition.replicas if it != in_sync)
            change = replace(change, eligible_leader_replicas=eligible, isr=(in_sync,))
        case 1:
            change = replace(change, last_known_elr=partition.replicas[:1], isr=partition.isr)
        case 2:
            change = replace(change, adding_replicas=(9,), removing_replicas=partition.replicas[:1])
        case _:
            change = replace(change, leader=partition.leader, leader_recovery_state=history.rng.choice((0, 1)))
    history.put((change, 2))


def _clear_elr(history: RandomHistory) -> None:
    topic = history.some_topic()
    name = "" if topic is None or history.rng.random() < 0.5 else topic.name
    history.put((ClearElrRecord(topic_name=name), 0))


def _secure(history: RandomHistory) -> None:
    rng, image = history.rng, history.world.image
    history.names += 1
    match rng.randrange(4):
        case 0:
            rule = AccessControlEntryRecord(
                id=uuid("acl", history.names), resource_type=2, resource_name="stock", pattern_type=3,
                principal="User:a", host="*", operation=3, permission_type=3,
            )  # fmt: skip
            history.put((rule, 0))
        case 1 if image.acls:
            history.put((RemoveAccessControlEntryRecord(id=rng.choice(list(image.acls))), 0))
        case 2:
            user = UserScramCredentialRecord(
                name=f"user-{rng.randrange(3)}", mechanism=1, salt=rng.randbytes(8), stored_key=rng.randbytes(8),
                server_key=rng.randbytes(8), iterations=4096,
            )  # fmt: skip
            history.put((user, 0))
        case _ if image.scram:
            mechanism, name = rng.choice(list(image.scram))
            history.put((RemoveUserScramCredentialRecord(name=name, mechanism=mechanism), 0))
        case _:
            pass


def _limit(history: RandomHistory) -> None:
    rng = history.rng
    entity = (
        EntityData(entity_type="user", entity_name=rng.choice(("a", None))),
        EntityData(entity_type="client-id", entity_name="x"),
    )
    quota = ClientQuotaRecord(
        entity=entity, key="producer_byte_rate", value=rng.randrange(9) * 10.0, remove=rng.random() < 0.3
    )
    history.put((quota, 0))


def _ids(history: RandomHistory) -> None:
    following = max(history.world.image.next_producer_id, 0) + 1000
    history.put((ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=following), 0))


def _transaction(history: RandomHistory) -> None:
    """A metadata transaction around some changes, ended or aborted."""
    history.put((BeginTransactionRecord(name="tx"), 0))
    for action in history.rng.sample((_configure, _limit, _ids), 2):
        action(history)
    ending: VersionedRecord = (EndTransactionRecord(), 0)
    if history.rng.random() < 0.6:
        ending = (AbortTransactionRecord(reason="changed my mind"), 0)
    history.put(ending)


ACTIONS: tuple[Callable[[RandomHistory], None], ...] = (
    _create, _create, _remove, _time_passes, _restart, _stop, _unregister, _configure, _configure, _reassign, _reassign,
    _clear_elr, _secure, _secure, _limit, _ids, _transaction,
)  # fmt: skip


def log_of(
    history: RandomHistory, cluster: str, voters: tuple[int, ...] = (1,)
) -> tuple[History, dict[int, MetadataImage]]:
    """The history as a log in batches of random sizes with leader changes between, and the image after each offset.

    Offsets are the world's own plus those of later leaders' records, so broker epochs are no longer offsets: the tables
    do not care.
    """
    rng = Random(history.seed + 1)
    log = History(cluster, voters)
    log.lead(1)
    log.append(NO_OP)
    assert log.end == 3
    images = dict.fromkeys(range(3), MetadataImage.empty())
    builder, waiting = MetadataImage.empty().builder(), list(history.world.log)
    in_transaction = False
    while waiting:
        batch = [waiting.pop(0) for _ in range(min(len(waiting), rng.randint(1, 6)))]
        for number, (record, _) in enumerate(batch):
            replay(builder, record)
            image = builder.freeze()
            in_transaction = image.transaction is not None
            images[log.end + number] = image
            if isinstance(record, AbortTransactionRecord):
                log.aborts.add(log.end + number)
        log.append(*batch)
        if rng.random() < 0.04 and not in_transaction:
            log.lead(rng.choice(voters))
            images[log.end - 1] = builder.freeze()
    return log, images


# Both sides in one form.


def _shown(redactor: Redactor, kind: int, name: str, value: str) -> str:
    hidden = is_secret_config(kind, name) and not redactor.include_secrets
    return redactor.fingerprint(value.encode()) if hidden else value


def facts_of_image(image: MetadataImage, redactor: Redactor) -> Facts:
    facts: Facts = {}
    for topic in image.topics:
        facts["topic", str(topic.id)] = topic.name
        for index, it in topic.partitions():
            facts["partition", str(topic.id), index] = (
                it.leader, it.leader_epoch, it.partition_epoch, tuple(it.replicas), tuple(it.isr), tuple(it.elr),
                tuple(it.last_known_elr),
                tuple(it.adding_replicas), tuple(it.removing_replicas), it.leader_recovery_state,
                tuple(map(str, it.directories)),
            )  # fmt: skip
    for broker in image.cluster.brokers.values():
        facts["broker", int(broker.id)] = (
            int(broker.epoch), str(broker.incarnation_id), broker.rack, broker.fenced, broker.in_controlled_shutdown,
            _names(broker.directories),
        )  # fmt: skip
    for controller in image.cluster.controllers.values():
        facts["controller", int(controller.id)] = str(controller.incarnation_id)
    for kind, resource, values in image.configs.items():
        for name, value in values.items():
            facts["config", kind, resource, name] = _shown(redactor, kind, name, value)
    for name, level in image.features.levels.items():
        facts["feature", name] = level
    for entity, quotas in image.client_quotas.items():
        for name, amount in quotas.items():
            facts["quota", entity, name] = amount
    for rule in image.acls.values():
        facts["acl", str(rule.id)] = (
            rule.resource_type, rule.resource_name, rule.pattern_type, rule.principal, rule.host, rule.operation,
            rule.permission_type,
        )  # fmt: skip
    for (mechanism, user), credential in image.scram.items():
        facts["scram", user, mechanism] = (credential.iterations, redactor.fingerprint(credential.stored_key))
    if image.next_producer_id >= 0:
        facts["producer ids",] = image.next_producer_id
    return facts


def _names(directories: Iterable[DirectoryId | Uuid]) -> tuple[str, ...]:
    return tuple(sorted(map(str, directories)))


def facts_of_rows(tables: Mapping[str, list[dict[str, Any]]]) -> Facts:
    """The same of rows that are valid at one moment."""
    facts: Facts = {}
    for it in tables["topics"]:
        facts["topic", it["topic_id"]] = it["name"]
    for it in tables["partitions"]:
        lists = (
            tuple(it[name])
            for name in ("replicas", "isr", "elr", "last_known_elr", "adding_replicas", "removing_replicas")
        )
        facts["partition", it["topic_id"], it["partition_id"]] = (
            it["leader"], it["leader_epoch"], it["partition_epoch"], *lists, it["leader_recovery_state"],
            tuple(it["directories"]),
        )  # fmt: skip
    for it in tables["brokers"]:
        facts["broker", it["broker_id"]] = (
            it["broker_epoch"], it["incarnation_id"], it["rack"], it["fenced"], it["in_controlled_shutdown"],
            tuple(sorted(it["log_dirs"])),
        )  # fmt: skip
    for it in tables["controllers"]:
        facts["controller", it["controller_id"]] = it["incarnation_id"]
    for it in tables["configs"]:
        facts["config", it["resource_type"], it["resource_name"], it["name"]] = it["value"]
    for it in tables["features"]:
        if it["name"] != "kraft.version":
            facts["feature", it["name"]] = it["level"]
    for it in tables["quotas"]:
        facts["quota", _entity(it["entity"]), it["quota"]] = it["value"]
    for it in tables["acls"]:
        facts["acl", it["id"]] = (
            it["resource_type"], it["resource_name"], it["pattern_type"], it["principal"], it["host"], it["operation"],
            it["permission_type"],
        )  # fmt: skip
    for it in tables["scram"]:
        facts["scram", it["user"], it["mechanism"]] = (it["iterations"], it["fingerprint"])
    for it in tables["producer_ids"]:
        facts["producer ids",] = it["next_producer_id"]
    return facts


def _entity(text: str) -> tuple[tuple[str, str | None], ...]:
    import json

    return tuple((one["entityType"], one.get("entityName")) for one in json.loads(text))


def valid_at(rows: Iterable[Mapping[str, Any]], offset: int) -> list[dict[str, Any]]:
    return [
        dict(it) for it in rows if it["valid_from"] <= offset and (it["valid_to"] is None or it["valid_to"] > offset)
    ]
