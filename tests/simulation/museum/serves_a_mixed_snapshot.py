"""The leader answers each piece of a snapshot from its newest one and the follower does not look at what it assembles: two snapshots become one file.
etcd members ended with a database that did not match its snapshot. Either half alone is harmless here: the follower checks every batch as it comes.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.node import metadata_replica
from controller_runtime.node.snapshot_content import ArrivingSnapshot
from controller_runtime.protocol.record_batch import RecordBatch
from controller_runtime.storage.metadata_log import MetadataLog

SOURCE = "etcd-io/etcd#9021, class of defect"


class Unseen(ArrivingSnapshot):
    def take(self, data: bytes) -> list[RecordBatch]:
        self.position += len(data)
        return []

    def finish(self) -> None: ...


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = MetadataLog.read_snapshot

    def read(self: MetadataLog, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        return original(self, self.snapshots()[-1] if position else snapshot_id, position, max_bytes)

    patch.setattr(MetadataLog, "read_snapshot", read)
    patch.setattr(metadata_replica, "ArrivingSnapshot", Unseen)
