"""Metadata logs of any size for measuring: what a busy cluster writes, and what an idle one does.

A pool of batches is encoded by the runtime's own encoders, then repeated with new offsets (which no checksum covers),
so that a hundred million records are a matter of writing, not of encoding. Busy: about 77 records in a batch, mostly
partition changes, then partitions and topics, configurations, registrations. Idle: one record in a batch, nearly always
a NoOp.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import Record, encode_batch

BROKERS: Final = 60
POOL_BATCHES: Final = 600
RECORDS_IN_BUSY_BATCH: Final = 77
START_MS: Final = 1_790_000_000_000
STEP_MS: Final = 500
META_PROPERTIES: Final = "#\nversion=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={directory}\n"
_offset: Final = struct.Struct(">q")


class Pool:
    """Encoded batches that may follow one another in any number."""

    def __init__(self, kind: str, seed: int = 7) -> None:
        dice = random.Random(seed)
        self.batches: list[tuple[bytearray, int]] = []
        for number in range(POOL_BATCHES):
            values = _busy(dice, number) if kind == "busy" else [_idle(dice)]
            records = [Record(index, START_MS + STEP_MS * number, None, value) for index, value in enumerate(values)]
            self.batches.append((bytearray(encode_batch(records, partition_leader_epoch=1)), len(records)))
        self.records = sum(count for _, count in self.batches)
        self.bytes = sum(len(batch) for batch, _ in self.batches)

    def write(self, path: Path, *, records: int, base_offset: int = 0) -> tuple[int, int]:
        """A segment of about so many records; returns (records, bytes)."""
        offset = base_offset
        size = 0
        with path.open("wb", buffering=1 << 20) as file:
            while True:
                for batch, count in self.batches:
                    if offset - base_offset >= records:
                        return offset - base_offset, size
                    _offset.pack_into(batch, 0, offset)
                    file.write(batch)
                    offset += count
                    size += len(batch)


def write_directory(
    root: Path, *, cluster: str = "AAAAAAAAAAAAAAAAAAAAAA", node: int = 1, directory: str = "mVsT6QdLR0iZ0bMHhW1gWg"
) -> Path:
    """A node's directory; returns the one for its metadata log."""
    partition = root / "__cluster_metadata-0"
    partition.mkdir(parents=True)
    (root / "meta.properties").write_text(META_PROPERTIES.format(cluster=cluster, node=node, directory=directory))
    return partition


def _idle(dice: random.Random) -> bytes:
    return encode_record(NoOpRecord(), 0) if dice.random() < 0.95 else _change(dice, Uuid(dice.randbytes(16)))


def _busy(dice: random.Random, number: int) -> list[bytes]:
    topic = Uuid(dice.randbytes(16))
    kind = dice.random()
    if kind < 0.05:
        return [_registration(dice), *(_registration_change(dice) for _ in range(3))]
    if kind < 0.25:
        name = f"orders-{number}-{dice.randrange(1000)}"
        made = [encode_record(TopicRecord(name=name, topic_id=topic), 0)]
        made += [_config(name, dice) for _ in range(3)]
        return made + [_partition(dice, topic, index) for index in range(96)]
    if kind < 0.35:
        return [
            encode_record(RemoveTopicRecord(topic_id=topic), 0),
            encode_record(
                ProducerIdsRecord(
                    broker_id=dice.randrange(BROKERS), broker_epoch=number, next_producer_id=number * 1000
                ),
                0,
            ),
            encode_record(NoOpRecord(), 0),
        ]
    return [_change(dice, topic) for _ in range(dice.randrange(20, 180))]


def _replicas(dice: random.Random) -> tuple[int, ...]:
    return tuple(dice.sample(range(BROKERS), 3))


def _partition(dice: random.Random, topic: Uuid, index: int) -> bytes:
    replicas = _replicas(dice)
    record = PartitionRecord(
        partition_id=index, topic_id=topic, replicas=replicas, isr=replicas, leader=replicas[0], leader_epoch=0,
        partition_epoch=0, directories=tuple(_directory(broker) for broker in replicas),
    )  # fmt: skip
    return encode_record(record, 2)


def _directory(broker: int) -> Uuid:
    return Uuid(random.Random(broker).randbytes(16))


def _change(dice: random.Random, topic: Uuid) -> bytes:
    isr = _replicas(dice)[: dice.choice((2, 3, 3))]
    leader = isr[0] if dice.random() < 0.5 else -2
    elr = isr[:1] if dice.random() < 0.1 else None
    record = PartitionChangeRecord(
        partition_id=dice.randrange(200), topic_id=topic, isr=isr, leader=leader, eligible_leader_replicas=elr
    )
    return encode_record(record, 2)


def _config(topic: str, dice: random.Random) -> bytes:
    name, value = dice.choice(
        (("retention.ms", "604800000"), ("cleanup.policy", "compact"), ("min.insync.replicas", "2"))
    )
    return encode_record(ConfigRecord(resource_type=2, resource_name=topic, name=name, value=value), 0)


def _registration(dice: random.Random) -> bytes:
    broker = dice.randrange(BROKERS)
    record = RegisterBrokerRecord(
        broker_id=broker, incarnation_id=Uuid(dice.randbytes(16)), broker_epoch=dice.randrange(1 << 30),
        end_points=(BrokerEndpoint(name="PLAINTEXT", host=f"broker-{broker}.example", port=9092),),
        features=(BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30),),
        rack="a", log_dirs=(_directory(broker),),
    )  # fmt: skip
    return encode_record(record, 4)


def _registration_change(dice: random.Random) -> bytes:
    record = BrokerRegistrationChangeRecord(
        broker_id=dice.randrange(BROKERS), broker_epoch=5, fenced=dice.choice((1, -1))
    )
    return encode_record(record, 3)
