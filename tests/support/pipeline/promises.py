"""Committed histories that break one promise of KRaft each: sound bytes, equal on all disks, which no comparison of
copies can find.

Every history begins healthy. What it then says, no controller would write; the audit must name the promise and the
offset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.protocol.messages.fence_broker_record import FenceBrokerRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.disks.log_fleet import History, LogBatch, disks, topic
from support.pipeline.faults import some_log

ID = Uuid(b"a topic of its o")


def partition(**changes: object) -> VersionedRecord:
    healthy: dict[str, object] = {"partition_id": 0, "topic_id": ID, "replicas": (1, 2, 3), "isr": (1, 2), "leader": 1}
    return PartitionRecord(**healthy | changes), 2  # type: ignore[arg-type]


def broker(epoch: int) -> VersionedRecord:
    return RegisterBrokerRecord(broker_id=7, incarnation_id=Uuid(b"an incarnation.."), broker_epoch=epoch), 3


NEW: VersionedRecord = (TopicRecord(name="promised", topic_id=ID), 0)

UNKNOWN = "record type 125 is not known"

BROKEN: dict[str, tuple[VersionedRecord, ...]] = {
    "in-sync replicas are replicas": (NEW, partition(isr=(1, 2, 9))),
    "eligible leader replicas are replicas and not in sync": (NEW, partition(eligible_leader_replicas=(2,))),
    "a leader is in sync or eligible": (NEW, partition(leader=3)),
    "a topic id is used once": (NEW, (RemoveTopicRecord(topic_id=ID), 0), NEW),
    "a topic name is not taken": (NEW, topic(5001, "promised")),
    "producer ids are given once": tuple(
        (ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=number), 0) for number in (2000, 1000)
    ),
    "a broker's epoch grows with every registration": (broker(50), broker(49)),
    "a change is of a partition that exists": (
        NEW, (PartitionChangeRecord(partition_id=3, topic_id=ID, leader=1), 0),
    ),
    "a change is of the registration in force": (broker(50), (FenceBrokerRecord(id=7, epoch=49), 0)),
    "a topic that is removed exists": ((RemoveTopicRecord(topic_id=Uuid(b"nobody has seen.")), 0),),
}  # fmt: skip
"""The last record breaks the promise."""


@dataclass(frozen=True, slots=True)
class Broken:
    cluster: str
    promise: str
    offset: int
    kind: str = "broken promise"


def broken_promise(promise: str) -> Callable[[Path, str, Random], Broken]:
    def inject(root: Path, cluster: str, rng: Random) -> Broken:
        log, _ = some_log(cluster, rng)
        for record in BROKEN[promise]:
            for _ in range(rng.randrange(3)):
                log.idle(1)
            log.append(record)
        offset = log.end - 1
        log.idle(rng.randint(1, 4))
        return _written(root, log, promise, offset)

    return inject


def epoch_without_leader(root: Path, cluster: str, rng: Random) -> Broken:
    """The leader's record of the last epoch is another one, on every disk."""
    log, _ = some_log(cluster, rng)
    at = max(n for n, it in enumerate(log.batches) if it.epoch != log.batches[n - 1].epoch)
    silent = History(cluster, log.voters, log.batches[:at])
    silent.batches.append(LogBatch(0, silent.end, log.epoch, b""))  # the epoch that the next records are of
    silent.idle(log.end - silent.end)
    del silent.batches[at]
    return _written(root, silent, "an epoch begins with its leader's record", log.batches[at].base)


def record_of_the_future(root: Path, cluster: str, rng: Random) -> Broken:
    """A type that Apache Kafka 4.3 does not have: nothing is wrong with it, but the tables may lack something."""
    log, _ = some_log(cluster, rng)
    offset = log.end
    data = encode_batch([Record(offset, log.now, None, b"\x01\x7d\x00new")], partition_leader_epoch=log.epoch)
    log.batches.append(LogBatch(offset, offset + 1, log.epoch, data))
    log.idle(2)
    return replace(_written(root, log, UNKNOWN, offset), kind="unknown record")


def _written(root: Path, log: History, promise: str, offset: int) -> Broken:
    for disk in disks(root, log.cluster).values():
        disk.write(log)
    return Broken(log.cluster, promise, offset)


PROMISES: dict[str, Callable[[Path, str, Random], Broken]] = {
    **{promise: broken_promise(promise) for promise in BROKEN},
    "an epoch begins with its leader's record": epoch_without_leader,
    UNKNOWN: record_of_the_future,
}
