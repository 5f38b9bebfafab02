"""Format log directories as `kafka-storage format` does: once, and never over a formatted one.

`meta.properties` is written last in each directory and everything before it is durable by then, so a crash leaves the
directory either formatted or as good as empty; formatting again mends it. What is decided here is only what lies on
disk; which records begin the cluster is the caller's to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch, Uuid
from controller_runtime.protocol.messages import voters_record
from controller_runtime.protocol.messages.voters_record import VotersRecord
from controller_runtime.storage import file_names
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.meta_properties import MetaProperties, load_ensemble, save_meta_properties
from controller_runtime.storage.metadata_log import METADATA_DIRECTORY
from controller_runtime.storage.small_files import write_atomically
from controller_runtime.storage.snapshot_batches import SnapshotContent, parse_snapshot, snapshot_bytes
from controller_runtime.values import dataclass

BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
BOOTSTRAP_SNAPSHOT: Final = OffsetAndEpoch(Offset(0), Epoch(0))
_RESERVED_IDS: Final = 100


@dataclass(frozen=True, slots=True)
class InitialVoter:
    """One voter of a new quorum."""

    node_id: NodeId
    directory_id: DirectoryId
    endpoint: Endpoint


@dataclass(frozen=True, slots=True)
class FormatRequest:
    """What to write. `voters` is empty unless the quorum begins with a voter set (`--standalone`,
    `--initial-controllers`).
    """

    cluster_id: str
    node_id: NodeId
    directories: Sequence[str]
    metadata_dir: str
    bootstrap_values: Sequence[bytes]
    voters: Sequence[InitialVoter] = ()
    controller_listener: str = "CONTROLLER"
    ignore_formatted: bool = False


@dataclass(frozen=True, slots=True)
class Formatted:
    """One directory that was written, and what it is for, in Kafka's words."""

    directory: str
    description: str
    directory_id: DirectoryId


class AlreadyFormatted(StorageError):
    """A directory carries an identity and `--ignore-formatted` was not given."""


def directories_to_format(filesystem: FileSystem, request: FormatRequest) -> list[str]:
    """The directories that are not formatted yet, in Kafka's order. Raises when that is none of our business."""
    every = sorted({*request.directories, request.metadata_dir})
    ensemble = load_ensemble(filesystem, [path for path in every if filesystem.exists(path)], request.metadata_dir)
    ensemble.check(node_id=request.node_id, cluster_id=request.cluster_id)
    if ensemble.formatted and not request.ignore_formatted:
        first = next(iter(ensemble.formatted))
        hint = "Use --ignore-formatted to ignore this directory and format the others."
        raise AlreadyFormatted(f"Log directory {first} is already formatted. {hint}")
    for path, error in ensemble.errors.items():
        if filesystem.exists(path):
            raise StorageError(f"I/O error trying to read log directory {path}: {error}")
    return _java_order(path for path in every if path not in ensemble.formatted)


def describe(directory: str, request: FormatRequest) -> str:
    """What kind of directory Kafka calls this."""
    if directory != request.metadata_dir:
        return "data directory"
    if not request.voters:
        return "metadata directory"
    if any(voter.node_id == request.node_id for voter in request.voters):
        return "dynamic metadata voter directory"
    return "dynamic metadata directory"


def format_directory(
    filesystem: FileSystem,
    directory: str,
    request: FormatRequest,
    *,
    now: int,
    date: str,
    new_directory_id: Callable[[], DirectoryId],
) -> Formatted:
    """Write one directory durably. `now` is wall clock in ms, `date` the comment of `meta.properties`."""
    description = describe(directory, request)
    own = [voter.directory_id for voter in request.voters if voter.node_id == request.node_id]
    directory_id = own[0] if own and directory == request.metadata_dir else new_directory_id()
    filesystem.make_directories(directory)
    bootstrap = SnapshotContent(0, None, None, tuple(request.bootstrap_values))
    write_atomically(filesystem, join(directory, BOOTSTRAP_CHECKPOINT), snapshot_bytes(bootstrap, 0, now))
    if directory == request.metadata_dir and request.voters:
        _write_voters(filesystem, directory, request, now)
    identity = MetaProperties(request.cluster_id, request.node_id, directory_id)
    save_meta_properties(filesystem, directory, identity, date)
    return Formatted(directory, description, directory_id)


def voters_of(voters: Sequence[InitialVoter], listener: str) -> VotersRecord:
    """The voter set as a record, in the order of the node ids."""
    return VotersRecord(
        voters=tuple(
            voters_record.Voter(
                voter_id=voter.node_id,
                voter_directory_id=voter.directory_id,
                endpoints=(voters_record.Endpoint(name=listener, host=voter.endpoint.host, port=voter.endpoint.port),),
                kraft_version_feature=voters_record.KRaftVersionFeature(
                    min_supported_version=0, max_supported_version=1
                ),
            )
            for voter in sorted(voters, key=lambda voter: voter.node_id)
        )
    )


def load_bootstrap_values(filesystem: FileSystem, directory: str) -> tuple[bytes, ...] | None:
    """The encoded records of `bootstrap.checkpoint`; None when the directory has none."""
    path = join(directory, BOOTSTRAP_CHECKPOINT)
    if not filesystem.exists(path):
        return None
    return parse_snapshot(read_whole(filesystem, path), path).values


def usable_directory_id(candidate: Uuid) -> bool:
    """Kafka's rule for random ids: none of the reserved first hundred, none whose text begins with a dash."""
    return int.from_bytes(candidate, "big") >= _RESERVED_IDS and not candidate.begins_with_dash


def _write_voters(filesystem: FileSystem, directory: str, request: FormatRequest, now: int) -> None:
    log = join(directory, METADATA_DIRECTORY)
    filesystem.make_directories(log)
    voters = voters_of(request.voters, request.controller_listener)
    content = SnapshotContent(now, 1, voters, ())
    path = join(log, file_names.snapshot_file(BOOTSTRAP_SNAPSHOT))
    write_atomically(filesystem, path, snapshot_bytes(content, BOOTSTRAP_SNAPSHOT.epoch, now))
    filesystem.make_read_only(path)


def _java_order(paths: Iterable[str]) -> list[str]:
    """The order in which a Java HashMap holds these keys: that is how `kafka-storage` goes through directories."""
    keys = list(paths)
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2
    return sorted(keys, key=lambda key: _java_hash(key) & (buckets - 1))


def _java_hash(text: str) -> int:
    value = 0
    for unit in memoryview(text.encode("utf-16-be")).cast("H"):
        value = (value * 31 + int.from_bytes(unit.to_bytes(2, "little"), "big")) & 0xFFFFFFFF
    return value ^ value >> 16
