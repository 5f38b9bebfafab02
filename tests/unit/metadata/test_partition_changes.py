"""What a change leaves of a partition, and which changes no partition can follow: as `PartitionRegistration` of Apache
Kafka 4.3.1 does it.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.cluster import MIGRATING
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.metadata.replay import ReplayError, replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import directory_of, uuid

pytestmark = pytest.mark.unit

TOPIC = uuid("topic", 1)
X, Y, Z = directory_of(1), directory_of(2), directory_of(3)


def after(*records: Message, base: MetadataImage | None = None) -> MetadataImage:
    builder = (base or MetadataImage.empty()).builder()
    for record in records:
        replay(builder, record)
    return builder.freeze()


def stock(replicas: tuple[int, ...] = (1, 2), directories: tuple[Uuid, ...] = (), **more: object) -> MetadataImage:
    values: dict[str, object] = {"leader_epoch": 0, "partition_epoch": 0, **more}
    partition = PartitionRecord(
        partition_id=0, topic_id=TOPIC, replicas=replicas, isr=replicas, leader=1, directories=directories, **values  # type: ignore[arg-type]
    )  # fmt: skip
    return after(TopicRecord(name="stock", topic_id=TOPIC), partition)


def change(**values: object) -> PartitionChangeRecord:
    return PartitionChangeRecord(topic_id=TOPIC, partition_id=0, **values)  # type: ignore[arg-type]


def directories_of(image: MetadataImage) -> tuple[Uuid, ...]:
    found = image.topics.partition(TOPIC, 0)
    assert found is not None
    assert [found.directory(broker) for broker in found.replicas] == list(found.directories)
    return found.directories


@pytest.mark.parametrize(
    ("before", "changed", "wanted"),
    [
        ((), change(replicas=(1, 2, 3)), (MIGRATING,) * 3),
        ((MIGRATING, MIGRATING), change(replicas=(1,)), (MIGRATING,)),
        ((X, Y), change(directories=()), (MIGRATING,) * 2),
        ((X, Y), change(replicas=(1, 2, 3), directories=()), (MIGRATING,) * 3),
        ((X, Y), change(directories=(MIGRATING,)), (MIGRATING,) * 2),
        ((X, Y), change(replicas=(2, 1)), (X, Y)),
        ((X, Y), change(directories=(X, Z)), (X, Z)),
        ((X, Y), change(replicas=(1, 2, 3), directories=(X, MIGRATING, Z)), (X, MIGRATING, Z)),
        ((X, Y), change(isr=(1,)), (X, Y)),
    ],
)
def test_every_replica_has_a_directory_after_a_change(
    before: tuple[Uuid, ...], changed: PartitionChangeRecord, wanted: tuple[Uuid, ...]
) -> None:
    assert directories_of(after(changed, base=stock(directories=before))) == wanted


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ((X, Y), change(replicas=(1, 2, 3))),
        ((X, MIGRATING), change(replicas=(1, 2, 3))),
        ((X, Y), change(replicas=(1, 2, 3), directories=(X, Y))),
        ((X, Y), change(replicas=(1, 2, 3), directories=(MIGRATING, MIGRATING))),
        ((X, Y), change(directories=(X,))),
    ],
)
def test_a_change_that_leaves_a_replica_without_a_directory_is_an_error(
    before: tuple[Uuid, ...], changed: PartitionChangeRecord
) -> None:
    with pytest.raises(ReplayError, match=r"partition 0 of topic .*: [23] replicas but [12] directories"):
        after(changed, base=stock(directories=before))


def test_a_partition_that_grew_below_3_7_is_in_a_snapshot_that_can_be_read_after_the_upgrade() -> None:
    grown = after(
        change(replicas=(1, 2, 3)), FeatureLevelRecord(name="metadata.version", feature_level=30), base=stock()
    )
    read = after(*(decode_record(encode_record(*record))[0] for record in snapshot_records(grown)))
    assert read == grown


@pytest.mark.parametrize("state", [0, 1])
def test_a_leader_is_recovered_or_recovering(state: int) -> None:
    for image in (stock(leader_recovery_state=state), after(change(leader_recovery_state=state), base=stock())):
        found = image.topics.partition(TOPIC, 0)
        assert found is not None
        assert found.leader_recovery_state == state
    kept = after(change(isr=(1,)), base=stock(leader_recovery_state=state)).topics.partition(TOPIC, 0)
    assert kept is not None
    assert kept.leader_recovery_state == state


def test_any_other_recovery_state_is_an_error() -> None:
    for state in (-1, 2, 127):
        with pytest.raises(ReplayError, match=f"{state} is no leader recovery state"):
            stock(leader_recovery_state=state)
    for state in (-2, 2, 127):
        with pytest.raises(ReplayError, match=f"{state} is no leader recovery state"):
            after(change(leader_recovery_state=state), base=stock())


@pytest.mark.parametrize(("elr", "last_known", "epoch"), [((), (), 0), ((2,), (), 1), ((), (2,), 1), ((2,), (1,), 1)])
def test_clearing_the_elr_is_a_change_exactly_when_there_is_one(
    elr: tuple[int, ...], last_known: tuple[int, ...], epoch: int
) -> None:
    before = stock(eligible_leader_replicas=elr, last_known_elr=last_known)
    cleared = after(ClearElrRecord(topic_name="stock"), base=before)
    found = cleared.topics.partition(TOPIC, 0)
    assert found is not None
    assert (found.elr, found.last_known_elr, found.partition_epoch) == ((), (), epoch)
    assert (cleared.topics is before.topics) is (epoch == 0), "what did not change is shared"


@pytest.mark.parametrize("index", [1, 63, 64, 65, 128])
def test_a_change_of_a_partition_that_a_new_topic_does_not_have_is_an_error(index: int) -> None:
    records = [
        TopicRecord(name="stock", topic_id=TOPIC),
        PartitionRecord(partition_id=0, topic_id=TOPIC, replicas=(1,), isr=(1,), leader=1),
        PartitionChangeRecord(topic_id=TOPIC, partition_id=index, isr=(1,)),
    ]
    for base, left in ((None, records), (after(*records[:2]), records[2:])):
        with pytest.raises(ReplayError, match="does not exist"):
            after(*left, base=base)
