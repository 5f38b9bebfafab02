"""What lies below a path: the log directories of metadata partitions, whose they are, and their segments and snapshots.

A directory counts when it is called `__cluster_metadata-N`, or when it holds segments and no `partition.metadata` of a
topic: archives may call it what they like. Whose it is says `meta.properties` beside or inside of it. What cannot be
read becomes a `Problem` with its path; only when nothing at all is found there is an error. The sizes are those of the
moment: a reader goes no further than them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from pyarrow import fs

from controller_runtime.identifiers import METADATA_TOPIC_NAME, NO_DIRECTORY, ReplicaKey
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.file_names import LOG, parse_segment_file, parse_snapshot_file
from controller_runtime.storage.meta_properties import META_PROPERTIES, decode_meta_properties
from controller_runtime.storage.quorum_state import QUORUM_STATE, QuorumState, decode_quorum_state
from controller_runtime.storage.small_files import PARTITION_METADATA
from metadata_pipeline.sources.faults import Fault, ListingError
from metadata_pipeline.sources.files import Place, locate, read_small

BOOTSTRAP: Final = "bootstrap.checkpoint"
_METADATA_PARTITION: Final = re.compile(re.escape(METADATA_TOPIC_NAME) + r"-\d+\Z")


@dataclass(frozen=True, slots=True)
class Segment:
    """One file to read, and whose it is. `base_offset` is the offset in a log's name, 0 in a snapshot."""

    file: str
    kind: str
    size: int
    base_offset: int = 0
    snapshot_offset: int | None = None
    snapshot_epoch: int | None = None
    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: str | None = None
    partition: str | None = None

    @property
    def name(self) -> str:
        return self.file.partition("?")[0].rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Problem:
    """A path that could not be used, and why."""

    path: str
    fault: Fault
    detail: str


@dataclass(frozen=True, slots=True)
class LogDirectory:
    """One replica of a metadata partition: its owner, what it remembers of elections, its files in order."""

    path: str
    partition: str
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    quorum_state: QuorumState | None
    segments: tuple[Segment, ...]

    @property
    def static_voters(self) -> tuple[ReplicaKey, ...]:
        """Voters of kraft.version 0. From version 1 on they are VotersRecords in log and snapshots
        (`voters.voters_of`).
        """
        state = self.quorum_state
        return () if state is None else tuple(ReplicaKey(node, NO_DIRECTORY) for node in state.static_voters)


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything below the paths."""

    directories: tuple[LogDirectory, ...]
    problems: tuple[Problem, ...]

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(segment for directory in self.directories for segment in directory.segments)


def list_segments(
    paths: Iterable[str] | str,
    *,
    filesystem: Any = None,
    clusters: Iterable[str] | None = None,
    kinds: Iterable[str] = ("log", "snapshot", "bootstrap"),
) -> Listing:
    """List files and directories. Raises ListingError when there is nothing to read and nothing left to tell."""
    given = [paths] if isinstance(paths, str) else list(paths)
    directories: list[LogDirectory] = []
    problems: list[Problem] = []
    for path in given:
        for found in _below(path, filesystem):
            if isinstance(found, LogDirectory):
                directories.append(found)
            else:
                problems.append(found)
    if not directories:
        why = "; ".join(f"{problem.path}: {problem.detail}" for problem in problems) or "no path was given"
        raise ListingError(why)
    wanted, chosen = frozenset(kinds), None if clusters is None else frozenset(clusters)
    kept = [
        replace(each, segments=tuple(segment for segment in each.segments if segment.kind in wanted))
        for each in directories
        if chosen is None or each.cluster_id in chosen
    ]
    kept = [each for each in kept if each.segments]
    kept.sort(key=lambda it: (it.cluster_id or "", -1 if it.node_id is None else it.node_id, it.path))
    return Listing(tuple(kept), tuple(problems))


def _below(path: str, system: Any) -> Iterator[LogDirectory | Problem]:
    try:
        place, inner = locate(path, system)
        inner = inner.rstrip("/") or "/"
        info = place.system.get_file_info(inner)
    except (OSError, ValueError) as error:
        yield Problem(path, Fault.UNREADABLE, f"cannot be opened: {_plain(error)}")
        return
    if info.type == fs.FileType.NotFound:
        yield Problem(path, Fault.UNREADABLE, "does not exist")
    elif info.type == fs.FileType.File:
        yield from _single(place, info)
    else:
        yield from _tree(place, inner, path)


def _single(place: Place, info: Any) -> Iterator[LogDirectory | Problem]:
    """A file that was named itself is read even though its name or place is odd, as long as it says what it is."""
    segment = _segment(place, info)
    if segment is None:
        yield Problem(place.name_of(info.path), Fault.UNREADABLE, "is neither a .log nor a .checkpoint file")
        return
    yield from _directory(place, _parent(info.path), {info.base_name: info}, [segment], complete=False)


def _tree(place: Place, inner: str, given: str) -> Iterator[LogDirectory | Problem]:
    files: dict[str, dict[str, Any]] = defaultdict(dict)
    found = False
    for info in _walk(place, inner):
        if isinstance(info, Problem):
            yield info
            continue
        files[_parent(info.path)][info.base_name] = info
    for path in sorted(files):
        names = files[path]
        segments = [each for info in names.values() if (each := _segment(place, info)) is not None]
        if path != inner and not _is_metadata(path) and PARTITION_METADATA in names:
            continue
        if segments:
            found = True
            around = (
                {f"../{name}": info for name, info in files.get(_parent(path), {}).items()} if path != inner else {}
            )
            yield from _directory(place, path, names | around, segments, complete=path != inner)
    if not found:
        yield Problem(given, Fault.UNREADABLE, "nothing below it is a metadata log or snapshot")


def _walk(place: Place, inner: str) -> Iterator[Any]:
    """Every file below. One request where the store allows it; directory by directory where something is in the way."""
    try:
        yield from (
            info
            for info in place.system.get_file_info(fs.FileSelector(inner, recursive=True))
            if info.type == fs.FileType.File
        )
        return
    except OSError:
        pass
    waiting = [inner]
    while waiting:
        directory = waiting.pop()
        try:
            inside = place.system.get_file_info(fs.FileSelector(directory))
        except OSError as error:
            yield Problem(place.name_of(directory), Fault.UNREADABLE, f"cannot be listed: {_plain(error)}")
            continue
        waiting += [info.path for info in inside if info.type == fs.FileType.Directory]
        yield from (info for info in inside if info.type == fs.FileType.File)


def _segment(place: Place, info: Any) -> Segment | None:
    name = info.base_name
    if (log := parse_segment_file(name)) is not None and log[1] == LOG:
        return Segment(place.name_of(info.path), "log", info.size, base_offset=log[0])
    if (snapshot := parse_snapshot_file(name)) is not None:
        return Segment(
            place.name_of(info.path), "snapshot", info.size,
            snapshot_offset=snapshot.offset, snapshot_epoch=snapshot.epoch,
        )  # fmt: skip
    if name == BOOTSTRAP:
        return Segment(place.name_of(info.path), "bootstrap", info.size)
    return None


def _directory(
    place: Place, path: str, names: dict[str, Any], segments: list[Segment], *, complete: bool
) -> Iterator[LogDirectory | Problem]:
    """`names` are the files inside and, with `../` before them, those around; where they were not listed, they are
    asked for.
    """
    partition = path.rpartition("/")[2]
    candidates = (f"{path}/{META_PROPERTIES}", f"{_parent(path)}/{META_PROPERTIES}")
    if complete:
        known = {f"{path}/{name}" if "/" not in name else f"{_parent(path)}/{name[3:]}" for name in names}
        candidates = tuple(each for each in candidates if each in known)  # type: ignore[assignment]
    identity = None
    for candidate in candidates:
        try:
            identity = decode_meta_properties(read_small(place, candidate), place.name_of(candidate))
            break
        except FileNotFoundError:
            continue
        except (OSError, CorruptFile) as error:
            yield Problem(place.name_of(candidate), Fault.IDENTITY, _plain(error))
    state = None
    try:
        if not complete or QUORUM_STATE in names:
            state_path = f"{path}/{QUORUM_STATE}"
            state = decode_quorum_state(read_small(place, state_path), place.name_of(state_path))
    except FileNotFoundError:
        pass
    except (OSError, CorruptFile) as error:
        yield Problem(place.name_of(f"{path}/{QUORUM_STATE}"), Fault.UNREADABLE, _plain(error))
    cluster, node, directory = None, None, None
    if identity is not None:
        cluster, node = identity.cluster_id, int(identity.node_id)
        directory = None if identity.directory_id is None else str(identity.directory_id)
    owned = [
        replace(each, cluster_id=cluster, node_id=node, directory_id=directory, partition=partition)
        for each in segments
    ]
    owned.sort(key=lambda it: (it.kind, it.base_offset, it.snapshot_offset or 0, it.snapshot_epoch or 0))
    yield LogDirectory(
        place.name_of(path),
        partition,
        cluster,
        node_id=node,
        directory_id=directory,
        quorum_state=state,
        segments=tuple(owned),
    )


def _is_metadata(path: str) -> bool:
    return _METADATA_PARTITION.match(path.rpartition("/")[2]) is not None


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _plain(error: Exception) -> str:
    return str(error).partition(". Detail:")[0]
