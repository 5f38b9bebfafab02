"""A fleet of metadata logs as files, written batch by batch: whose they are, which epochs they hold, what is broken in
them is decided by the test.

`History` is one cluster's log as bytes of batches; `Disk` writes a part of it where a node would have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.control_records import control_record
from controller_runtime.protocol.messages import leader_change_message as leader_change
from controller_runtime.protocol.messages import voters_record
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.snapshot_batches import SnapshotContent, snapshot_bytes

START_MS = 1_795_000_000_000
NO_OP: VersionedRecord = (NoOpRecord(), 0)


def disk_id(node: int, number: int = 1) -> Uuid:
    return Uuid(b"disk" + node.to_bytes(6, "big") + number.to_bytes(6, "big"))


def topic(number: int, name: str | None = None) -> VersionedRecord:
    return TopicRecord(name=name or f"topic-{number}", topic_id=Uuid(b"topic..." + number.to_bytes(8, "big"))), 0


@dataclass(frozen=True, slots=True)
class LogBatch:
    base: int
    end: int
    epoch: int
    data: bytes


@dataclass
class History:
    """A log that grows at its end. Time passes by half a second for each batch."""

    cluster: str
    voters: tuple[int, ...] = (1, 2, 3)
    batches: list[LogBatch] = field(default_factory=list)
    aborts: set[int] = field(default_factory=set)
    """Offsets at which a metadata transaction was given up."""

    @property
    def end(self) -> int:
        return self.batches[-1].end if self.batches else 0

    @property
    def epoch(self) -> int:
        return self.batches[-1].epoch if self.batches else 0

    @property
    def now(self) -> int:
        return START_MS + 500 * len(self.batches)

    def fork(self, end: int) -> History:
        """The same log up to an offset, to go on differently."""
        return History(self.cluster, self.voters, [it for it in self.batches if it.end <= end])

    def lead(self, node: int, epoch: int | None = None) -> None:
        """A new leader: its LeaderChangeMessage, and in the first epoch the voters."""
        epoch = self.epoch + 1 if epoch is None else epoch
        voters = tuple(leader_change.Voter(voter_id=voter) for voter in self.voters)
        messages: list[Message] = [
            leader_change.LeaderChangeMessage(leader_id=node, voters=voters, granting_voters=voters)
        ]
        if not self.batches:
            messages.append(voters_of(self.voters))
        records = [control_record(it, offset=self.end + n, timestamp=self.now) for n, it in enumerate(messages)]
        self._add(records, epoch, control=True)

    def vote(self) -> None:
        """The voters once more, amid an epoch: as when one of them got another endpoint."""
        self._add(
            [control_record(voters_of(self.voters), offset=self.end, timestamp=self.now)], self.epoch, control=True
        )

    def append(self, *records: VersionedRecord) -> None:
        encoded = [
            Record(self.end + n, self.now, None, encode_record(message, version))
            for n, (message, version) in enumerate(records)
        ]
        self._add(encoded, self.epoch)

    def idle(self, batches: int) -> None:
        for _ in range(batches):
            self.append(NO_OP)

    def _add(self, records: Sequence[Record], epoch: int, *, control: bool = False) -> None:
        data = encode_batch(records, partition_leader_epoch=epoch, is_control=control)
        self.batches.append(LogBatch(self.end, self.end + len(records), epoch, data))

    def epoch_before(self, end: int) -> int:
        return next(it.epoch for it in self.batches if it.base < end <= it.end)

    def snapshot(self, image: MetadataImage, end: int) -> tuple[str, bytes]:
        """Name and bytes of the snapshot of an image at an end offset."""
        epoch = self.epoch_before(end)
        values = tuple(encode_record(record, version) for record, version in snapshot_records(image))
        content = SnapshotContent(self.now, 1, voters_of(self.voters), values)
        return f"{end:020d}-{epoch:010d}.checkpoint", snapshot_bytes(content, epoch, self.now)


def voters_of(nodes: Iterable[int]) -> voters_record.VotersRecord:
    return voters_record.VotersRecord(
        voters=tuple(
            voters_record.Voter(
                voter_id=node,
                voter_directory_id=disk_id(node),
                endpoints=(voters_record.Endpoint(name="CONTROLLER", host="localhost", port=9093),),
                kraft_version_feature=voters_record.KRaftVersionFeature(
                    min_supported_version=0, max_supported_version=1
                ),
            )
            for node in nodes
        )
    )


@dataclass
class Disk:
    """The log directory of one node."""

    home: Path
    cluster: str
    node: int
    number: int = 1

    def __post_init__(self) -> None:
        self.log_dir.mkdir(parents=True, exist_ok=True)
        identity = (
            "version=1\n"
            f"cluster.id={self.cluster}\n"
            f"node.id={self.node}\n"
            f"directory.id={disk_id(self.node, self.number)}\n"
        )
        (self.home / "meta.properties").write_text(identity)

    @property
    def log_dir(self) -> Path:
        return self.home / "__cluster_metadata-0"

    def write(
        self,
        history: History,
        *,
        start: int = 0,
        end: int | None = None,
        segments: Sequence[int] = (),
        epoch: int | None = None,
    ) -> None:
        """The whole directory anew: batches from `start` to `end`, a new segment at each of `segments`,
        quorum-state.
        """
        for path in self.log_dir.glob("*.log"):
            path.unlink()
        held = [it for it in history.batches if it.base >= start and (end is None or it.end <= end)]
        first = held[0].base if held else start
        cuts = [first, *(cut for cut in segments if cut > first)]
        for number, cut in enumerate(cuts):
            after = cuts[number + 1] if number + 1 < len(cuts) else None
            data = b"".join(it.data for it in held if it.base >= cut and (after is None or it.base < after))
            self.segment(cut).write_bytes(data)
        last = held[-1].epoch if held else 0
        self.quorum_state(last if epoch is None else epoch)

    def segment(self, base: int) -> Path:
        return self.log_dir / f"{base:020d}.log"

    def quorum_state(self, epoch: int) -> None:
        none = "AAAAAAAAAAAAAAAAAAAAAA"
        text = f'{{"leaderId":1,"leaderEpoch":{epoch},"votedId":-1,"votedDirectoryId":"{none}","data_version":1}}'
        (self.log_dir / "quorum-state").write_text(text)

    def snapshot(self, history: History, image: MetadataImage, end: int) -> Path:
        name, data = history.snapshot(image, end)
        path = self.log_dir / name
        path.write_bytes(data)
        return path


def disks(root: Path, cluster: str, nodes: Iterable[int] = (1, 2, 3)) -> dict[int, Disk]:
    return {node: Disk(root / cluster / f"node-{node}", cluster, node) for node in nodes}
