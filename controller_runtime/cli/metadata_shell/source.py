"""Where the image comes from: a file of batches, a directory of a node, or the active controller of a living quorum.

A file is a snapshot or a segment of the log. Of a directory the newest snapshot and the log behind it are read; of a
living quorum what is committed, and `refresh` reads on. Batches are taken one by one, so that memory holds the image
and no file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Final, Protocol

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.metadata_log import LogPart
from controller_runtime.cli.bootstrap import Bootstrap
from controller_runtime.cli.metadata_shell.tree import Directory, Provenance, root_of
from controller_runtime.cli.progress import Progress
from controller_runtime.identifiers import METADATA_TOPIC_NAME, Epoch, Offset, OffsetAndEpoch
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import ReplayError, replay
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.record_batch import RecordBatch, decode_batches, read_header
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import DirectoryLocked
from controller_runtime.storage.filesystem import OsFileSystem, OsLock
from controller_runtime.storage.log.batches import ScanEnd, scan

_NOTHING: Final = OffsetAndEpoch(Offset(0), Epoch(0))
_LOCK: Final = ".lock"
_ANOTHER_LEADER: Final = frozenset({ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH})
_ELECTIONS: Final = 10
"""How many may come in between while the log is read."""


class Unreadable(Exception):
    """There is no image to show; the message says what is wrong."""


class Source(Protocol):
    def refresh(self) -> None:
        """Read on, where there is more. Raises Unreadable, AdminError, ApiError."""

    def root(self) -> Directory: ...

    def close(self) -> None: ...


class Replayed:
    """Batches on the way into an image."""

    def __init__(self) -> None:
        self._builder: MetadataBuilder = MetadataImage.empty().builder()
        self.provenance = Provenance()
        self.end = _NOTHING
        """Behind the newest batch, control batches counted."""
        self._progress = Progress()

    def add(self, batch: RecordBatch) -> None:
        """Raises ProtocolError, ReplayError."""
        header = batch.header
        if not header.is_control:
            for record in batch.records:
                replay(self._builder, decode_record(record.value or b"")[0])
            self.provenance = Provenance(header.last_offset, header.partition_leader_epoch, header.max_timestamp)
        self.end = OffsetAndEpoch(Offset(header.last_offset + 1), Epoch(header.partition_leader_epoch))
        self._progress.say(f"Loading: offset {header.last_offset}")

    def is_at(self, snapshot: OffsetAndEpoch) -> None:
        """The snapshot is whole: the log goes on behind it."""
        self.end = snapshot
        self.provenance = Provenance(snapshot.offset - 1, snapshot.epoch, self.provenance.time_ms)

    def root(self) -> Directory:
        return root_of(self._builder.freeze().stable, self.provenance)


class Files:
    """What a snapshot, a segment or a directory holds, read once."""

    def __init__(self, path: str) -> None:
        self._lock = _lock_beside(path)
        try:
            self._root = _read(path)
        except BaseException:
            self.close()
            raise

    def refresh(self) -> None:
        pass

    def root(self) -> Directory:
        return self._root

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _read(path: str) -> Directory:
    replayed = Replayed()
    for file in _files_of(path):
        snapshot = file_names.parse_snapshot_file(os.path.basename(file))
        try:
            for batch in _batches(file):
                if snapshot is not None or batch.header.last_offset >= replayed.end.offset:
                    replayed.add(batch)
        except (ProtocolError, ReplayError) as error:
            raise Unreadable(f"{file}: {error}") from error
        if snapshot is not None and os.path.isdir(path):
            replayed.is_at(snapshot)
    return replayed.root()


def _files_of(path: str) -> list[str]:
    if not os.path.exists(path):
        raise Unreadable(f"java.nio.file.NoSuchFileException: {path}")
    if not os.path.isdir(path):
        return [path]
    below = os.path.join(path, f"{METADATA_TOPIC_NAME}-0")
    return _files_in(below if os.path.isdir(below) else path)


def _files_in(directory: str) -> list[str]:
    names = os.listdir(directory)
    ids = sorted((found.offset, name) for name in names if (found := file_names.parse_snapshot_file(name)) is not None)
    end, snapshots = (ids[-1][0], [ids[-1][1]]) if ids else (0, [])
    parsed = filter(None, map(file_names.parse_segment_file, names))
    segments = sorted(base for base, suffix in parsed if suffix == file_names.LOG)
    first = max((base for base in segments if base <= end), default=0)
    logs = [file_names.segment_file(base, file_names.LOG) for base in segments if base >= first]
    if not snapshots and not logs:
        raise Unreadable(f"{directory} holds no snapshot and no segment of a metadata log: name the directory of one")
    return [os.path.join(directory, name) for name in [*snapshots, *logs]]


def _batches(path: str) -> Iterator[RecordBatch]:
    """Raises ProtocolError and Unreadable."""
    try:
        file = OsFileSystem().open(path, write=False)
    except OSError as error:
        raise Unreadable(f"{path} ({error.strerror})") from error
    found = 0
    try:
        for item in scan(file, verify=True):
            if isinstance(item, ScanEnd):
                if not found or not item.torn:
                    raise Unreadable(f"{path}: no whole batch at byte {item.position}: {item.reason}")
                return
            found += 1
            data = file.read_at(item.position, item.size_in_bytes)
            yield RecordBatch(read_header(data), data)
    finally:
        file.close()
    if not found:
        raise Unreadable(f"{path} is empty")


def _lock_beside(path: str) -> OsLock | None:
    """The lock of the log directory around a snapshot, if there is a lock file: no node may run there."""
    whole = os.path.abspath(path)
    up = [whole, os.path.dirname(whole)] if os.path.isdir(whole) else [os.path.dirname(os.path.dirname(whole))]
    for directory in up:
        if os.path.exists(os.path.join(directory, _LOCK)):
            try:
                return OsLock(os.path.join(directory, _LOCK))
            except DirectoryLocked as error:
                ensure = "Please ensure that no broker or controller process is using this directory before proceeding."
                raise Unreadable(f"Unable to lock {directory}. {ensure}") from error
            except OSError as error:
                raise Unreadable(f"Unable to lock {directory}: {error.strerror}") from error
    return None


class Live:
    """The committed log of a living quorum, followed."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        self._runner = asyncio.Runner()
        try:
            self._admin = self._runner.run(_made(bootstrap))
        except BaseException:
            self._runner.close()
            raise
        self._replayed = Replayed()

    def refresh(self) -> None:
        self._runner.run(self._read_on())

    def root(self) -> Directory:
        return self._replayed.root()

    def close(self) -> None:
        with self._runner:
            self._runner.run(self._admin.close())

    async def _read_on(self) -> None:
        """Up to the high watermark. A leader that changes meanwhile is followed."""
        for left in reversed(range(_ELECTIONS)):
            epoch = (await self._admin.describe_quorum()).leader_epoch
            try:
                while await self._read_part(epoch):
                    pass
            except ApiError as error:
                if error.code not in _ANOTHER_LEADER or not left:
                    raise
            else:
                return

    async def _read_part(self, epoch: Epoch) -> bool:
        """False when nothing that is committed follows."""
        part = await self._admin.fetch_metadata_log(self._replayed.end, epoch)
        if part.diverged:
            self._replayed = Replayed()
        elif part.snapshot is not None:
            await self._read_snapshot(part.snapshot, epoch)
        else:
            return self._take(part)
        return True

    def _take(self, part: LogPart) -> bool:
        """Whether there was anything that is committed."""
        took = False
        for batch in decode_batches(part.records, partial_tail=True):
            if self._replayed.end.offset <= batch.header.last_offset < part.high_watermark:
                self._replayed.add(batch)
                took = True
        return took

    async def _read_snapshot(self, snapshot: OffsetAndEpoch, epoch: Epoch) -> None:
        replayed, rest = Replayed(), b""
        async for data, _ in self._admin.fetch_metadata_snapshot(snapshot, epoch):
            rest += data
            whole = decode_batches(rest, partial_tail=True)
            for batch in whole:
                replayed.add(batch)
            rest = rest[whole[-1].header.end_position :] if whole else rest
        replayed.is_at(snapshot)
        self._replayed = replayed


async def _made(bootstrap: Bootstrap) -> AdminClient:
    return bootstrap.admin()
