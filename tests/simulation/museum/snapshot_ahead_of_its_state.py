"""A snapshot is named after the log's end while its image is older: etcd applied and took snapshots at the
same time.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset, OffsetAndEpoch, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.quorum.effects import QuorumEffect, TakeSnapshot
from controller_runtime.node.quorum.snapshots import SnapshotKeeper

SOURCE = "etcd-io/etcd#4061"


def break_it(patch: pytest.MonkeyPatch) -> None:
    def take(
        self: SnapshotKeeper, image: MetadataImage, offset: Offset, timestamp: int, wall: WallClock
    ) -> list[QuorumEffect]:
        log = self._meta.replica.log
        if log.end_offset <= (log.latest_snapshot.offset if log.latest_snapshot else log.start_offset):
            return []
        snapshot_id = OffsetAndEpoch(log.end_offset, log.last_epoch)
        self._busy = snapshot_id
        return [TakeSnapshot(snapshot_id, image, *self._meta.replica.voter_history.at(offset), timestamp, wall)]

    patch.setattr(SnapshotKeeper, "_take", take)
