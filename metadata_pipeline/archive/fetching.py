"""An archive's directory made of what its store has: for a recovery, a drill, an audit, or a follower with a new disk.

Everything is brought beside the place, compared with the digests of the manifest, and read whole as any archive is;
only then does it get its name. What a killed process left is begun again.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import BinaryIO, Final

from controller_runtime.identifiers import DirectoryId, Epoch, NodeId, Uuid
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.meta_properties import META_PROPERTIES, MetaProperties, save_meta_properties
from controller_runtime.storage.quorum_state import QuorumState, save_quorum_state
from metadata_pipeline.archive import memory as memories
from metadata_pipeline.archive.examining import Examined, examine
from metadata_pipeline.archive.keeping import NO_NODE, SEGMENT_BYTES
from metadata_pipeline.archive.manifest import History, Manifest
from metadata_pipeline.archive.memory import Memory, Verified
from metadata_pipeline.archive.objects import Objects
from metadata_pipeline.archive.opening import DIRECTORY
from metadata_pipeline.archive.problems import StoreProblem, StoreStanding
from metadata_pipeline.archive.shipping import StoreSettings, open_objects
from metadata_pipeline.wire.files import log_name, snapshot_name
from metadata_pipeline.wire.leader import Mark

BESIDE: Final = ".fetching"


def fill_empty(home: Path, settings: StoreSettings, cluster_id: str | None, begun: str) -> Mark | None:
    """What was brought; None where there is an archive, or nothing in the store of this beginning and cluster. Raises
    StoreProblem, OSError.
    """
    _swept(home)
    if (home / memories.FILE).exists() or (home / DIRECTORY).exists():
        return None
    objects = open_objects(settings)
    found = objects.manifest()
    if found is None or found.now.begun != begun or found.now.is_empty:
        return None
    if cluster_id is not None and found.cluster_id != cluster_id:
        return None  # its own beginning says so
    return fetch(home, objects, found, found.now).mark


def fetch(home: Path, objects: Objects, manifest: Manifest, history: History) -> Examined:
    """Into an empty directory. Raises StoreProblem, OSError."""
    _swept(home)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = home / BESIDE
    directory = beside / DIRECTORY
    directory.mkdir(parents=True, mode=0o700)
    _log(directory, objects, history)
    for snapshot in history.snapshots:
        path = directory / snapshot_name(snapshot.mark)
        with _new(path) as descriptor:
            for part in snapshot.parts:
                _write(descriptor.fileno(), objects.get(part))
        os.utime(path, (snapshot.taken, snapshot.taken))
    examined = examine(directory)
    if examined.flaw is not None or examined.mark != history.mark:
        why = examined.flaw or f"it ends at offset {examined.mark.end}, and {history.mark.end} is named"
        raise StoreProblem(StoreStanding.DAMAGED, f"{objects.url}: {why}")
    _identity(beside, directory, manifest, history, examined)
    for each in (DIRECTORY, META_PROPERTIES, memories.FILE):  # archive.json last: it says that all is there
        (beside / each).rename(home / each)
    OsFileSystem().sync_directory(str(home))
    beside.rmdir()
    return examined


def _log(directory: Path, objects: Objects, history: History) -> None:
    """Pieces that follow one another go into one segment, up to its size."""
    path, written = directory / log_name(history.start), 0
    for piece in history.pieces:
        if written == 0 or written >= SEGMENT_BYTES:
            path, written = directory / log_name(piece.start), 0
        data = objects.get(piece.stored)
        with _new(path) as opened:
            _write(opened.fileno(), data)
        written += len(data)


def _identity(beside: Path, directory: Path, manifest: Manifest, history: History, examined: Examined) -> None:
    files = OsFileSystem()
    who = MetaProperties(manifest.cluster_id, NO_NODE, DirectoryId(Uuid(os.urandom(16))))
    save_meta_properties(files, str(beside), who, time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime()))
    save_quorum_state(files, str(directory), QuorumState(Epoch(manifest.leader_epoch), leader_id=NodeId(-1)))
    verified = Verified(examined.start, examined.mark.end, examined.mark.epoch, examined.digest, at=time.time())
    memories.save(beside, Memory(manifest.cluster_id, history.begun, history.mark, manifest.leader_epoch, verified))
    files.sync_directory(str(directory))


def _swept(home: Path) -> None:
    """What a killed process left: it is whole if archive.json is in its place, and else nothing of it counts."""
    beside = home / BESIDE
    if not beside.exists():
        return
    if not (home / memories.FILE).exists():
        shutil.rmtree(home / DIRECTORY, ignore_errors=True)
        (home / META_PROPERTIES).unlink(missing_ok=True)
    shutil.rmtree(beside)


def _new(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fdatasync(descriptor)
