"""Reading the metadata log: what was appended in earlier steps, and what this very step appends.

Effects are performed after the step, so a batch that a step appends cannot be read through the port yet. `StepLog`
remembers the step's own batches until the next step begins. `recover` reads, once at start, what consensus must know of
the log: its epochs, and who votes.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch
from controller_runtime.node.quorum.control_batches import decode_control_batch
from controller_runtime.node.quorum.ports import MetadataLogReader, SnapshotReader
from controller_runtime.node.quorum.snapshot_content import first_batch
from controller_runtime.protocol.record_batch import RecordBatch, batch_headers
from controller_runtime.raft.log_view import LogView
from controller_runtime.raft.messages import ControlRecord, KRaftVersion
from controller_runtime.raft.voter_set import BOOTSTRAP_OFFSET, VoterHistory, VoterSet
from controller_runtime.values import dataclass

READ_BYTES: Final = 1 << 20
BOOTSTRAP_SNAPSHOT: Final = OffsetAndEpoch(Offset(0), Epoch(0))


@dataclass(slots=True)
class _Fresh:
    base_offset: Offset
    end_offset: Offset
    data: bytes


class StepLog:
    """Reads across the port and the batches of the running step."""

    def __init__(self, log: MetadataLogReader) -> None:
        self._log = log
        self._fresh: list[_Fresh] = []

    def begin_step(self) -> None:
        """Everything of the last step was performed: the port has it."""
        self._fresh.clear()

    def append(self, base_offset: Offset, end_offset: Offset, data: bytes) -> None:
        self._fresh.append(_Fresh(base_offset, end_offset, data))

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that contains `offset`, at least one, never more than a segment's; b"" at the
        log's end.
        """
        if not self._fresh or offset < self._fresh[0].base_offset:
            return self._log.read(offset, max_bytes)
        parts: list[bytes] = []
        size, limit = 0, min(max_bytes, self._log.segment_bytes)
        for batch in self._fresh:
            if batch.end_offset <= offset:
                continue
            if parts and size + len(batch.data) > limit:
                break
            parts.append(batch.data)
            size += len(batch.data)
        return b"".join(parts)


def recover(log: MetadataLogReader, snapshots: SnapshotReader, static_voters: VoterSet) -> tuple[LogView, VoterHistory]:
    """What consensus knows after a restart: voters from the newest snapshot, then from every control batch
    of the log.
    """
    frozen = [snapshot for snapshot in snapshots.snapshots() if snapshot != BOOTSTRAP_SNAPSHOT]
    view = LogView(log.start_offset, log.end_offset, log.flushed_offset, list(log.epoch_starts()), frozen)
    history = VoterHistory(static_voters)
    if BOOTSTRAP_SNAPSHOT in snapshots.snapshots():
        version, voters = snapshot_voters(snapshots, BOOTSTRAP_SNAPSHOT)
        history.reset(BOOTSTRAP_OFFSET, version, voters)
    start = log.start_offset
    if frozen:
        version, voters = snapshot_voters(snapshots, frozen[-1])
        if version or voters is not None:
            history.reset(Offset(frozen[-1].offset - 1), version, voters)
        start = frozen[-1].offset
    _read_voters(log, start, history)
    return view, history


def _read_voters(log: MetadataLogReader, start: Offset, history: VoterHistory) -> None:
    """Control records from `start` on, committed or not: truncation gives them up again."""
    at = start
    while at < log.end_offset:
        data = log.read(at, READ_BYTES)
        for header in batch_headers(data):
            at = Offset(header.next_offset)
            if header.is_control and header.base_offset >= start:
                raw = data[header.position : header.end_position]
                note_controls(history, decode_control_batch(RecordBatch(header, raw)))


def note_controls(history: VoterHistory, controls: tuple[tuple[Offset, ControlRecord], ...]) -> None:
    for offset, record in controls:
        match record:
            case VoterSet():
                history.add_voters(offset, record)
            case KRaftVersion(level):
                history.add_version(offset, level)
            case _:
                pass


def snapshot_voters(snapshots: SnapshotReader, snapshot_id: OffsetAndEpoch) -> tuple[int, VoterSet | None]:
    """kraft.version and voters, from the first batch of a snapshot. At version 0 there are none."""
    version, voters = 0, None
    for _, record in decode_control_batch(first_batch(snapshots, snapshot_id)):
        match record:
            case VoterSet():
                voters = record
            case KRaftVersion(level):
                version = level
            case _:
                pass
    return version, voters
