"""The part that looks after the metadata log's files: snapshots of the image, the log's beginning, damaged bytes."""

from __future__ import annotations

from typing import ClassVar

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.events import LogScrubbed, SnapshotGivenUp, SnapshotWritten
from controller_runtime.node.quorum.part import QuorumPart
from controller_runtime.node.quorum.ports import MetadataLogReader, SnapshotReader
from controller_runtime.node.quorum.scrubbing import Scrubber
from controller_runtime.node.quorum.snapshots import SnapshotConfig, SnapshotKeeper


class LogUpkeep:
    """Implements `part.Part`."""

    NAME: ClassVar = "upkeep"
    HEARS: ClassVar = frozenset({SnapshotWritten, SnapshotGivenUp, LogScrubbed})

    has_left: ClassVar = True
    """A file that is being written may be left as it is."""

    def __init__(
        self,
        config: SnapshotConfig,
        quorum: QuorumPart,
        log: MetadataLogReader,
        snapshots: SnapshotReader,
        now: Instant,
    ) -> None:
        self._quorum = quorum
        self.keeper = SnapshotKeeper(config, quorum.meta, log, snapshots, now)
        self.scrubber = Scrubber(config.scrub_interval_ms, quorum.meta, self.keeper, now)

    def on_event(self, event: object, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        match event:
            case SnapshotWritten(snapshot_id, size_bytes):
                return self.keeper.written(snapshot_id, size_bytes, now, wall)
            case SnapshotGivenUp(snapshot_id, reason):
                return self.keeper.given_up(snapshot_id, reason)
            case LogScrubbed(damage):
                return self.scrubber.scrubbed(damage, now)
            case _:
                return []

    def poll(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        out = self.scrubber.poll(now)  # what it finds, the keeper replaces
        image, offset, timestamp, size = self._quorum.committed()
        return out + self.keeper.poll(image, offset, timestamp, replayed_bytes=size, now=now, wall=wall)

    def next_deadline(self) -> Instant:
        return min(self.keeper.next_deadline(), self.scrubber.next_deadline())
