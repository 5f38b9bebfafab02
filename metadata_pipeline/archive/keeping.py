"""Writing an archive: parts of a quorum's log go to Apache Kafka's own files, each batch checked before it is written.

A snapshot stands under its name when it is whole and synced. One that begins above what is kept means that the quorum
threw away what the archive does not have: what was kept goes aside, and the log goes on from the snapshot.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from controller_runtime.identifiers import DirectoryId, Epoch, NodeId, Uuid
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.record_batch import batch_headers, verify_crc
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.meta_properties import META_PROPERTIES, MetaProperties, save_meta_properties
from controller_runtime.storage.quorum_state import QuorumState, save_quorum_state
from metadata_pipeline.archive.examining import Listed, check_snapshot, listed
from metadata_pipeline.archive.memory import Memory, Verified, is_unproven, save
from metadata_pipeline.archive.opening import DIRECTORY, Opened, set_aside
from metadata_pipeline.wire.files import log_name, snapshot_name
from metadata_pipeline.wire.leader import Committed, Leader, Mark, Part, ReadError, SnapshotSlice

SEGMENT_BYTES: Final = 16 << 20
UNSYNCED_BYTES: Final = 16 << 20
REMEMBER_SECONDS: Final = 10.0
"""How old `archive.json` may be beside a log that grows: it is a lower bound, never a claim."""
NO_NODE: Final = NodeId(-1)
"""As of whoever fetches and is no replica (KIP-595)."""
_BESIDE: Final = "snapshot.part"


class Keeper:
    """The one writer of an open archive. Raises OSError and StorageError; after one it has to be opened again."""

    def __init__(self, opened: Opened, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.home = opened.home
        self.directory = opened.directory
        self.memory = opened.memory
        self.mark = opened.examined.mark
        self.start = opened.examined.start
        self.size_bytes = opened.examined.size_bytes
        self._lock = opened.lock
        self._segment_bytes = segment_bytes
        self._descriptor = -1
        self._written = 0
        self._unsynced = 0
        self._remembered = float("-inf")
        self._leader: Leader | None = None
        self.has_news = True
        """Snapshots or what was set aside have changed since somebody looked."""
        (self.home / _BESIDE).unlink(missing_ok=True)

    def belongs_to(self, cluster_id: str) -> None:
        """From now on the directory says whose log it is."""
        if self.memory.cluster_id != cluster_id:
            self._remember(replace(self.memory, cluster_id=cluster_id))
        if not (self.home / META_PROPERTIES).exists():
            who = MetaProperties(cluster_id, NO_NODE, DirectoryId(Uuid(os.urandom(16))))
            date = datetime.now(UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
            save_meta_properties(OsFileSystem(), str(self.home), who, date)

    def take(self, part: Part) -> None:
        """Raises ReadError for what is no log."""
        if isinstance(part, SnapshotSlice):
            self._take_slice(part)
        else:
            self._append(part)
        if self._leader != part.leader:
            self._note_leader(part.leader)

    def sync(self, now: float) -> None:
        """Return when all that was taken is durable. `now` is monotonic, in seconds."""
        if self._unsynced:
            os.fdatasync(self._descriptor)
            self._unsynced = 0
        if self.memory.kept != self.mark and now - self._remembered >= REMEMBER_SECONDS:
            self._remember(replace(self.memory, kept=self.mark))
            self._remembered = now

    @property
    def is_unproven(self) -> bool:
        return is_unproven(self.memory.verified, self.start, self.mark.end)

    def verified(self, verified: Verified) -> None:
        self._remember(replace(self.memory, verified=verified, kept=self.mark))

    def drop(self, outlived: Listed) -> None:
        """Snapshots last, and the log from its beginning on: whatever a crash leaves can be restored from."""
        for base in outlived.segments:
            self._forget(log_name(base))
        for snapshot in outlived.snapshots:
            self._forget(snapshot_name(snapshot))
        if outlived.segments:
            self.start = min(each for each in listed(self.directory).segments)
        OsFileSystem().sync_directory(str(self.directory))

    def snapshots_taken(self) -> Mapping[Mark, float]:
        """When each snapshot was archived, in seconds since 1970."""
        found = listed(self.directory).snapshots
        return {each: (self.directory / snapshot_name(each)).stat().st_mtime for each in found}

    def close(self) -> None:
        """What was taken is durable and remembered, if the disk allows it."""
        try:
            if self._unsynced:
                os.fdatasync(self._descriptor)
            if self.memory.kept != self.mark:
                self._remember(replace(self.memory, kept=self.mark))
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Nothing more is claimed of what was written; somebody else may open the archive."""
        self._close_segment()
        self._lock.release()

    def _append(self, part: Committed) -> None:
        try:
            for header in batch_headers(part.data):
                verify_crc(part.data, header)
        except ProtocolError as error:
            raise ReadError("malformed", f"behind offset {part.start}: {error}") from error
        assert part.start == self.mark.end, f"the log goes on at {self.mark.end}, not at {part.start}"
        if self._descriptor < 0 or self._written >= self._segment_bytes:
            self._open_segment(part.start)
        view = memoryview(part.data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        self._written += len(part.data)
        self._unsynced += len(part.data)
        self.size_bytes += len(part.data)
        self.mark = part.mark
        if self._unsynced >= UNSYNCED_BYTES:
            os.fdatasync(self._descriptor)
            self._unsynced = 0

    def _open_segment(self, base: int) -> None:
        """The last segment goes on while there is room in it: an offset is in one segment only."""
        self._close_segment()
        segments = listed(self.directory).segments
        last = self.directory / log_name(segments[-1]) if segments else None
        if last is not None and last.stat().st_size >= self._segment_bytes:
            last = None
        path = last or self.directory / log_name(base)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._written = os.fstat(self._descriptor).st_size
        OsFileSystem().sync_directory(str(self.directory))

    def _close_segment(self) -> None:
        if self._descriptor >= 0:
            if self._unsynced:
                os.fdatasync(self._descriptor)
                self._unsynced = 0
            os.close(self._descriptor)
            self._descriptor = -1

    def _take_slice(self, part: SnapshotSlice) -> None:
        beside = self.home / _BESIDE
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_APPEND if part.position else os.O_TRUNC)
        with os.fdopen(os.open(beside, flags, 0o600), "ab" if part.position else "wb") as file:
            file.write(part.data)
            if part.last:
                file.flush()
                os.fsync(file.fileno())
        if not part.last:
            return
        flaw = check_snapshot(beside)
        if flaw is not None:
            beside.unlink()
            raise ReadError("malformed", f"the snapshot {snapshot_name(part.mark)} of the leader: {flaw}")
        if part.mark.end > self.mark.end:
            self._begin_at(part.mark)
        self.size_bytes += beside.stat().st_size
        self.has_news = True
        beside.rename(self.directory / snapshot_name(part.mark))
        for each in (self.directory, self.home):
            OsFileSystem().sync_directory(str(each))

    def _begin_at(self, snapshot: Mark) -> None:
        self._close_segment()
        if self.mark.end:
            self._remember(replace(self.memory, kept=Mark(), verified=None))
            set_aside(self.home)
            (self.home / DIRECTORY).mkdir(mode=0o700)
            self.size_bytes, self._leader = 0, None
        self.mark, self.start = snapshot, snapshot.end

    def _note_leader(self, leader: Leader) -> None:
        self._leader = leader
        state = QuorumState(Epoch(leader.epoch), leader_id=NodeId(leader.node))
        save_quorum_state(OsFileSystem(), str(self.directory), state)
        self._remember(replace(self.memory, leader_epoch=max(leader.epoch, self.memory.leader_epoch)))

    def _forget(self, name: str) -> None:
        path: Path = self.directory / name
        self.size_bytes -= path.stat().st_size
        path.unlink()

    def _remember(self, memory: Memory) -> None:
        self.memory = memory
        save(self.home, memory)
