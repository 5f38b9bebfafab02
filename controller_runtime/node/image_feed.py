"""The image of the cluster as a standby or a broker knows it: the newest snapshot, then every committed batch.

`advance` replays a bounded piece and says whether more is waiting, so a long log never blocks the node. What it meets is what every node of the
quorum meets: a record that cannot be replayed is fatal (`ReplayError`, `ProtocolError`), never skipped.
"""

from __future__ import annotations

from controller_runtime.identifiers import Offset, OffsetAndEpoch
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.node.log_reading import BOOTSTRAP_SNAPSHOT, read_whole_snapshot
from controller_runtime.node.metadata_replica import MetadataReplica
from controller_runtime.node.ports import SnapshotReader
from controller_runtime.protocol.record_batch import RecordBatch, decode_batches


class ImageFeed:
    def __init__(self, meta: MetadataReplica, snapshots: SnapshotReader) -> None:
        self._meta = meta
        self._snapshots = snapshots
        self.image = MetadataImage.empty()
        self.position = meta.replica.log.start_offset
        """Everything below is in the image."""
        self.last_timestamp = -1
        """The wall clock of the newest batch replayed, in ms."""
        latest = meta.replica.log.latest_snapshot
        if latest is not None:
            self.load_snapshot(latest)

    def load_snapshot(self, snapshot_id: OffsetAndEpoch) -> None:
        assert snapshot_id != BOOTSTRAP_SNAPSHOT, "the bootstrap snapshot says nothing about the cluster"
        builder = MetadataImage.empty().builder()
        for batch in decode_batches(read_whole_snapshot(self._snapshots, snapshot_id)):
            if not batch.header.is_control:
                for record in batch.records:
                    replay(builder, decode_record(record.value or b"")[0])
        self.image = builder.freeze()
        self.position = snapshot_id.offset

    def advance(self) -> bool:
        """Replay what is committed, up to a bound. True if more is waiting."""
        arrived = self._meta.arrived_snapshot
        if arrived is not None:
            self._meta.arrived_snapshot = None
            self.load_snapshot(arrived)
        for batch in self._meta.next_committed(self.position):
            self._replay(batch)
        return self.position < self._meta.high_watermark

    def _replay(self, batch: RecordBatch) -> None:
        if not batch.header.is_control:
            builder = self.image.builder()
            for record in batch.records:
                replay(builder, decode_record(record.value or b"")[0])
            self.image = builder.freeze()
        self.position = Offset(batch.header.next_offset)
        self.last_timestamp = batch.header.max_timestamp

    def restart(self, image: MetadataImage, position: Offset) -> None:
        """Continue from here: the node was active until now and knows what was committed."""
        self.image = image
        self.position = position
