"""The hash of the metadata that a group was assigned on, as Kafka's: what Java's coordinators have written, and vectors
of hash4j 0.22.0, which they use.
"""

from __future__ import annotations

from typing import Final

import pytest

from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.metadata_hash import TopicHashes
from controller_runtime.coordinator.consumer.record_shapes import EpochKey, EpochValue
from controller_runtime.coordinator.consumer.records import ConsumerRecord
from controller_runtime.coordinator.consumer.xxh3 import xxh3_64
from controller_runtime.coordinator.offsets_records import read
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.record_batch import decode_batches
from support.golden import GOLDEN, broker_data

pytestmark = pytest.mark.unit

VECTORS: Final = {
    0: 3244421341483603138, 1: 5502495245947142431, 3: 7943829059066201772, 4: 6650799683851767871,
    8: 18013639643258255605, 9: 8944394699905593055, 16: 9704121104262105176, 17: 13081819869213806705,
    33: 11880189719134216051, 65: 10936639315039379145, 97: 17385482648986237405, 128: 1211889905577015873,
    129: 1605741916052902306, 144: 13001258560068459194, 240: 13172940074023354854, 241: 10767172507156293534,
    1024: 8123710315364152507, 1025: 7405123385822357415, 1089: 3547648957351721518, 5000: 16429264659058461020,
}  # fmt: skip


def test_bytes_of_every_size_class_have_the_hash_of_java() -> None:
    """CGP-10"""
    assert {size: xxh3_64(bytes((131 * at + 7) % 256 for at in range(size))) for size in VECTORS} == VECTORS


def images() -> list[MetadataImage]:
    """Of the golden cluster, after every batch of its metadata log."""
    path = GOLDEN / "cluster" / "controller-1" / "__cluster_metadata-0" / "00000000000000000000.log"
    builder, found = MetadataBuilder(MetadataImage.empty()), []
    for batch in decode_batches(path.read_bytes()):
        if batch.header.is_control:
            continue
        for record in batch.records:
            replay(builder, decode_record(record.value or b"")[0])
        found.append(builder.freeze())
        builder = found[-1].builder()
    return found


def test_groups_that_java_coordinated_have_the_hash_that_java_wrote(tmp_path_factory: pytest.TempPathFactory) -> None:
    """CGP-10, GRP-23: with the topics as they were at one time of the cluster's life."""
    times, hashes = images(), TopicHashes()
    groups: dict[str, ConsumerGroup] = {}
    checked = 0
    for broker in (11, 12, 13):
        home = broker_data(broker, tmp_path_factory.mktemp(f"broker-{broker}"))
        for path in sorted(home.rglob("__consumer_offsets-*/*.log")):
            for batch in decode_batches(path.read_bytes()):
                if batch.header.is_control:
                    continue
                written: dict[str, int] = {}
                for line in batch.records:
                    record = read(line.key, line.value)
                    if isinstance(record, ConsumerRecord):
                        group = groups.setdefault(record.group_id, ConsumerGroup(record.group_id))
                        group.replay(record)
                        if isinstance(record.key, EpochKey) and isinstance(record.value, EpochValue):
                            written[record.group_id] = record.value.metadata_hash
                for group_id, number in written.items():
                    names = groups[group_id].subscribed()
                    assert number in {hashes.of_group(names, image) for image in times}, group_id
                    checked += number != 0
    assert checked > 3
