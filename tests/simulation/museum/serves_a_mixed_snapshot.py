"""The leader answers each piece of a snapshot from its newest one: a follower assembles two snapshots into one file. etcd members ended with a
database that did not match its snapshot.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.storage.metadata_log import MetadataLog

SOURCE = "etcd-io/etcd#9021, class of defect"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = MetadataLog.read_snapshot

    def read(self: MetadataLog, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        return original(self, self.snapshots()[-1] if position else snapshot_id, position, max_bytes)

    patch.setattr(MetadataLog, "read_snapshot", read)
