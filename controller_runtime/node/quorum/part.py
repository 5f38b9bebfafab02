"""The part that every node has: the replica of the metadata log, and the image that its committed records make.

While this node leads, somebody writes (`begin_writing`): then the image is what he wrote and is committed. Otherwise it
is replayed from the log, piece by piece, one per step, so that a vote never waits. What has its offsets is handed over
before consensus may write records of its own, wherever that begins: the rule is kept here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from controller_runtime.identifiers import NO_NODE, Endpoint, Epoch, Instant, NodeId, Offset, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.election_counts import ElectionCounts
from controller_runtime.node.quorum.events import LogFlushed, SnapshotFlushed
from controller_runtime.node.quorum.faults import OURS
from controller_runtime.node.quorum.image_feed import ImageFeed
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.node.quorum.ports import SnapshotReader
from controller_runtime.node.quorum.wire import VOTER_KEYS
from controller_runtime.node.quorum.writer import Writer
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.events import (
    CallFailed,
    PeerDisconnected,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
    TimePassed,
)
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.request_header import RequestHeader


class QuorumPart:
    """Implements `part.Part`."""

    NAME: ClassVar = "quorum"
    HEARS: ClassVar = frozenset({PeerDisconnected, LogFlushed, SnapshotFlushed, TimePassed})

    def __init__(self, meta: MetadataReplica, snapshots: SnapshotReader) -> None:
        self.meta = meta
        self.writer: Writer | None = None
        """Of the epoch that this node leads; None while nobody writes here."""
        self._feed = ImageFeed(meta, snapshots)
        self._wants_turn = False
        """More is committed than one step may replay."""

    # What others may know.

    @property
    def image(self) -> MetadataImage:
        """The newest committed image, without a metadata transaction that is still open."""
        return (self._feed.image if self.writer is None else self.writer.committed_image).stable

    @property
    def image_offset(self) -> Offset:
        """Where the newest committed image ends: where a transaction begins that is still open (KIP-868)."""
        return self._feed.stable_position if self.writer is None else self.writer.committed_offset

    @property
    def applied_timestamp(self) -> int:
        """The wall clock of the newest batch in the image, ms; -1: none."""
        return self._feed.last_timestamp if self.writer is None else self.writer.committed_timestamp

    def committed(self) -> tuple[MetadataImage, Offset, int, int]:
        """The newest committed image, with what a transaction that is open has changed; where it ends; its timestamp;
        and how much of the log this process replayed or wrote (snapshots do not count).
        """
        writer, feed = self.writer, self._feed
        if writer is None:
            return feed.image, feed.position, feed.last_timestamp, feed.replayed_bytes
        return writer.committed_image, writer.committed_offset, writer.committed_timestamp, writer.committed_bytes

    @property
    def is_known(self) -> bool:
        """How far the log is committed is known, and the image has come so far."""
        high_watermark = self.meta.replica.high_watermark
        return high_watermark is not None and self.committed()[1] >= high_watermark

    @property
    def elections(self) -> ElectionCounts:
        """Of partition leaders; for metrics."""
        return self._feed.elections

    @property
    def replayed_batches(self) -> tuple[int, Sequence[tuple[int, int]]]:
        """How many this process replayed, and the records and bytes of the newest; for metrics."""
        return self._feed.batches, self._feed.batch_sizes

    @property
    def loaded_snapshots(self) -> int:
        return self._feed.loaded_snapshots

    @property
    def has_left(self) -> bool:
        return self.meta.ready_to_stop

    def leads(self, epoch: Epoch) -> bool:
        leading = self.meta.leading
        return leading is not None and leading.epoch == epoch

    @property
    def leader_id(self) -> NodeId:
        """The active controller, or who is about to be; NO_NODE: nobody that is known."""
        found = self.meta.replica.leader_id
        return NO_NODE if found is None else found

    @property
    def kraft_version(self) -> int:
        """That of the newest voter set in the log."""
        return self.meta.replica.voter_history.kraft_version

    def leader_endpoint(self) -> Endpoint | None:
        """Where the active controller is reached now."""
        return self.meta.replica.leader_endpoint(self.meta.config.listener)

    # Driving it.

    def begin_step(self) -> None:
        """The shell performed all effects of the last step."""
        self.meta.begin_step()

    def start(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return self.meta.start(now, wall)

    def on_event(self, event: object, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        match event:
            case ResponseReceived(call_id, _, body):
                # What a new voter's node understands may be the last thing that its addition waits for.
                ahead = self.flush(now, wall) if isinstance(body, ApiVersionsResponse) else []
                return ahead + self.meta.response(call_id, body, now, wall)
            case CallFailed(call_id, why):
                return self.meta.failed(call_id, why, now, wall)
            case PeerDisconnected(endpoint):
                return self.meta.peer_disconnected(endpoint, now, wall)
            case LogFlushed(end_offset):
                return self.meta.flushed(end_offset, now, wall)
            case SnapshotFlushed(snapshot_id):
                return self.meta.snapshot_flushed(snapshot_id, now, wall)
            case TimePassed(held_up_s):
                return self.meta.tick(now, wall, held_up_s)
            case ShutdownRequested():
                return self.flush(now, wall) + self.meta.shutdown(now, wall)
            case _:
                return []

    def poll(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        del now, wall
        self.follow()
        return []

    def next_deadline(self) -> Instant | None:
        return Instant(0.0) if self._wants_turn else self.meta.next_deadline()

    def request(
        self, event: RequestReceived, now: Instant, wall: WallClock, envelope: RequestHeader | None = None
    ) -> list[QuorumEffect]:
        """A request with a key of RAFT_KEYS; `envelope` is the header of one that a broker forwarded."""
        out: list[QuorumEffect] = []
        try:
            if event.api_key in VOTER_KEYS:
                out += self.flush(now, wall)
            out += self.meta.request(event, now, wall, envelope)
        except OURS:
            raise
        except Exception as error:
            asker = Asker(event.request_id, event.body, envelope, event.connection.connection_id)
            out += self.meta.faults.fail(asker, "judged", error)
        return out

    # Writing and following.

    def epoch_to_write(self) -> Epoch | None:
        """This node leads it, nobody writes yet, and all that earlier leaders left has been replayed."""
        leading = self.meta.leading
        if leading is None or self.writer is not None or self._wants_turn or self._feed.position <= leading.epoch_start:
            return None
        return leading.epoch

    def begin_writing(self, writer: Writer) -> None:
        """Until this node leads the writer's epoch no more: whoever notices first says `end_writing`."""
        assert self.epoch_to_write() == writer.epoch, f"nobody may write in epoch {writer.epoch}"
        self.writer = writer

    def flush(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """Hand everything that was written to consensus."""
        writer = self.writer
        if writer is None or not writer.has_work or not self.leads(writer.epoch):
            return []
        with writer.handing_over() as batches:
            return self.meta.append(writer.epoch, batches, now, wall)

    def upgrade_kraft_version(self, epoch: Epoch, level: int, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """As the leader of `epoch`, after `upgrade_fault(level)` said None in this step. Nothing, if writing was what
        made it notice that it leads no more.
        """
        out = self.flush(now, wall)
        if self.leads(epoch):
            out += self.meta.upgrade_kraft_version(epoch, level, now, wall)
        return out

    def follow(self) -> None:
        """Unless somebody writes, replay a piece of what is committed."""
        if self.writer is not None and not self.leads(self.writer.epoch):
            self.end_writing()
        if self.writer is None:
            self._wants_turn = self._feed.advance()

    def end_writing(self) -> None:
        """The writer's epoch is over: uncommitted images go, and the feed continues where the committed one ends."""
        writer, self.writer = self.writer, None
        if writer is not None:
            self._wants_turn = True
            self._feed.restart(
                writer.committed_image, writer.committed_offset, writer.committed_timestamp, writer.committed_bytes
            )
