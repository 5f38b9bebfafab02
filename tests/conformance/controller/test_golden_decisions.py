"""Given the image that a Java controller had, our controller writes the records that the Java controller wrote.

Every change of a broker's state in the golden logs is decided again: fencing (by a lost session and by a shutdown),
unfencing, controlled shutdown, an unclean restart, unregistration, directory assignment, and what eligible leader
replicas make of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller_runtime.controller.activation import activation_records
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.controller.service import ControllerConfig, ControllerService
from controller_runtime.identifiers import Instant, NodeId, Offset, Uuid, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.chance import Chance
from controller_runtime.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from controller_runtime.protocol.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.schema import Message
from support.disks.metadata_logs import Batch, batches_of, image_of, records_of
from support.golden import GOLDEN

pytestmark = pytest.mark.conformance

LOGS = [
    GOLDEN / "cluster" / "controller-2" / "__cluster_metadata-0" / f"{0:020}.log",
    GOLDEN / "static-voters" / "controller-2" / "__cluster_metadata-0" / f"{0:020}.log",
]
CLUSTER_ID = "the cluster of the log"


def name_of(path: Path) -> str:
    return str(path.relative_to(GOLDEN))


def history(log: Path) -> Iterator[tuple[MetadataImage, Batch]]:
    """Each batch of a log with the image before it."""
    image = MetadataImage.empty()
    for batch in batches_of(log):
        yield image, batch
        image = image_of((record for _, record in batch), image)


def ask(image: MetadataImage, request: Message, next_offset: int) -> Decision:
    config = ControllerConfig(node_id=NodeId(1), cluster_id=CLUSTER_ID, bootstrap_records=())
    service = ControllerService(config, Chance(new_uuid=lambda: Uuid(bytes(16)), below=lambda _: 0))
    service.activate(image, Instant(0.0))
    context = RequestContext(4, Offset(next_offset), WallClock(0), kraft_version=1)
    # Long after every session ended, so that a new incarnation is not refused.
    return service.handle(image, request, context, Instant(100.0))


def request_for(image: MetadataImage, record: Message, next_offset: int) -> Message | None:
    """The request that must have led to this record."""
    match record:
        case UnregisterBrokerRecord():
            return UnregisterBrokerRequest(broker_id=record.broker_id)
        case BrokerRegistrationChangeRecord() if record.cordoned_log_dirs is None:
            return BrokerHeartbeatRequest(
                broker_id=record.broker_id,
                broker_epoch=record.broker_epoch,
                current_metadata_offset=next_offset,
                want_fence=record.fenced == 1,
                want_shut_down=record.in_controlled_shutdown == 1 or record.fenced == 1,
            )
        case RegisterBrokerRecord():
            return registration(image, record)
        case _:
            return None


def registration(image: MetadataImage, record: RegisterBrokerRecord) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=record.broker_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=record.incarnation_id,
        listeners=tuple(
            Listener(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in record.end_points
        ),
        features=tuple(
            Feature(
                name=f.name,
                min_supported_version=f.min_supported_version,
                max_supported_version=f.max_supported_version,
            )
            for f in record.features
        ),
        rack=record.rack,
        log_dirs=record.log_dirs,
        previous_broker_epoch=-1,
    )


def comparable(records: Iterable[VersionedRecord]) -> list[str]:
    """In any order, since Java walks hash maps, without NoOp records that shared the batch, and with our choice of
    epoch (docs/deviations.md).
    """
    kept = []
    for record, version in records:
        if isinstance(record, NoOpRecord) or (
            isinstance(record, BrokerRegistrationChangeRecord) and record.cordoned_log_dirs is not None
        ):
            continue
        kept.append(
            repr((replace(record, broker_epoch=0) if isinstance(record, RegisterBrokerRecord) else record, version))
        )
    return sorted(kept)


@pytest.mark.parametrize("log", LOGS, ids=name_of)
def test_broker_state_changes_are_decided_as_java_decided_them(log: Path) -> None:
    decided = []
    for image, batch in history(log):
        for offset, (record, _) in batch:
            request = request_for(image, record, batch[0][0])
            alone = (
                isinstance(record, RegisterBrokerRecord)
                and sum(isinstance(r, RegisterBrokerRecord) for _, (r, _) in batch) > 1
            )
            if request is None or alone:
                continue
            ours = ask(image, request, batch[0][0])
            assert comparable(ours.records) == comparable(records for _, records in batch), f"offset {offset}: {record}"
            decided.append(record)
    kinds = {type(record).__name__ for record in decided}
    assert {"BrokerRegistrationChangeRecord"} <= kinds
    if "cluster/" in name_of(log):
        assert {"RegisterBrokerRecord", "UnregisterBrokerRecord"} <= kinds
        assert len(decided) >= 11


def test_replicas_are_assigned_to_directories_as_java_assigned_them() -> None:
    assigned = 0
    image = MetadataImage.empty()
    for batch in batches_of(LOGS[0]):
        for _, (record, version) in batch:
            request = assignment_for(image, record)
            if request is not None:
                assert ask(image, request, 0).records == ((record, version),)
                assigned += 1
            image = image_of([(record, version)], image)
    assert assigned >= 50


def assignment_for(image: MetadataImage, record: Message) -> AssignReplicasToDirsRequest | None:
    """The request behind a change that names directories and nothing else."""
    if not isinstance(record, PartitionChangeRecord) or record.directories is None:
        return None
    only = PartitionChangeRecord(
        partition_id=record.partition_id, topic_id=record.topic_id, directories=record.directories
    )
    partition = image.topics.partition(record.topic_id, record.partition_id)
    if record != only or partition is None:
        return None
    place = next(i for i, directory in enumerate(record.directories) if directory != partition.directories[i])
    broker = image.cluster.brokers[NodeId(partition.replicas[place])]
    topic = TopicData(topic_id=record.topic_id, partitions=(PartitionData(partition_index=record.partition_id),))
    directory = DirectoryData(id=record.directories[place], topics=(topic,))
    return AssignReplicasToDirsRequest(broker_id=broker.id, broker_epoch=broker.epoch, directories=(directory,))


@pytest.mark.parametrize("log", LOGS, ids=name_of)
def test_the_first_batch_of_a_new_cluster_is_java_s(log: Path) -> None:
    golden = [record for _, record in batches_of(log)[0]]
    # Each controller was formatted alone, with its own SCRAM salt; one of them led first.
    checkpoints = sorted(log.parent.parent.parent.glob("controller-*/bootstrap.checkpoint"))
    assert golden in [list(activation_records(MetadataImage.empty(), tuple(records_of(path)))) for path in checkpoints]
