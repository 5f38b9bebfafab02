"""A quorum of one voter made from a copy of the metadata log; the copy itself is never written to.

Everything is made in a directory beside the node's own, under a new directory id: the copy's segments and snapshots,
then one batch whose voter sets lead from the copy's to the only voter, in an epoch above every epoch that was seen, and
a quorum-state of that epoch without a vote. `meta.properties` is written last. Then the node's old directory is renamed
to `log.generation-N`, the new one takes its place, and the marker says so. A helper that is killed anywhere is followed
by one that goes on: what was made under the same nonce is recognised by its directory id.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from controller_runtime.identifiers import DirectoryId, Endpoint, Epoch, NodeId, Uuid
from controller_runtime.protocol.control_records import control_record
from controller_runtime.protocol.messages.kraft_version_record import KRaftVersionRecord
from controller_runtime.protocol.messages.voters_record import Endpoint as VoterEndpoint
from controller_runtime.protocol.messages.voters_record import VotersRecord
from controller_runtime.protocol.record_batch import BatchHeader, encode_batch
from controller_runtime.storage import file_names
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.formatting import BOOTSTRAP_CHECKPOINT, InitialVoter, voters_of
from controller_runtime.storage.log.batches import scan
from controller_runtime.storage.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    decode_meta_properties,
    save_meta_properties,
)
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import QuorumState, save_quorum_state
from controller_runtime.storage.small_files import PARTITION_METADATA
from storage_guard.copies import CopyReport, State
from storage_guard.formats import Marker, MarkerState
from storage_guard.survey import METADATA_LOG, last_voters
from storage_guard.volume import ASIDE, MARKER, WORK, Volume

_CHUNK: Final = 1 << 20
STAND_IN: Final = (1 << 31) - 1
"""A voter that never was: it stands between the two directories of a quorum of one, in records that nobody but their
neighbours reads.
"""


class RecoveryRefused(Exception):
    """What lies here is not what the verdict was about. Nothing was changed that cannot be done again."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to make of which copy; all of it was decided and written down before."""

    cluster_id: str
    node_id: int
    old_generation: int
    directory_id: str
    nonce: str
    epoch: int
    """Above every epoch that anybody has seen."""
    end: int
    last_epoch: int
    """Where the copy that was judged ends; another one is refused."""
    listener: str
    host: str
    port: int
    beside: tuple[tuple[str, str, int], ...] = ()
    """Listeners that the voter serves besides: name, host, port."""
    cut: bool = False
    """What the copy holds beyond `end` is not taken: an archive, up to a point in time."""


def recover(
    filesystem: FileSystem, source: str, log_directory: str, order: Order, pod_uid: str, now: int, date: str
) -> CopyReport:
    """`source` is the log directory with the copy (the node's own, or another's); `now` is wall clock in ms."""
    volume = Volume(filesystem, log_directory)
    work = join(volume.root, f"{WORK}{order.nonce}")
    if _directory_id(filesystem, log_directory) != order.directory_id:
        if _directory_id(filesystem, work) != order.directory_id:
            _remove(filesystem, work)
            _make(filesystem, source, work, order=order, now=now, date=date)
        _put_aside(filesystem, log_directory, order.old_generation)
        filesystem.rename(work, log_directory)
        filesystem.sync_directory(volume.root)
    marker = Marker(
        MarkerState.SEALED,
        order.cluster_id,
        order.node_id,
        nonce=order.nonce,
        pod_uid=pod_uid,
        directory_id=order.directory_id,
    )
    volume.write_marker(marker)
    return CopyReport(
        State.DONE, order.node_id, order.cluster_id, order.directory_id, nonce=order.nonce, last_epoch=order.epoch
    )


def set_aside(filesystem: FileSystem, log_directory: str, old_generation: int) -> CopyReport:
    """Afterwards the volume is as good as empty to the guards, and the old directory lies beside, whole."""
    volume = Volume(filesystem, log_directory)
    _put_aside(filesystem, log_directory, old_generation)
    marker = join(volume.root, MARKER)
    if filesystem.exists(marker):
        filesystem.remove(marker)
        filesystem.sync_directory(volume.root)
    return CopyReport(State.DONE)


def _make(filesystem: FileSystem, source: str, work: str, order: Order, now: int, date: str) -> None:
    target = join(work, METADATA_LOG)
    filesystem.make_directories(target)
    origin = join(source, METADATA_LOG)
    for name in filesystem.list_directory(origin):
        segment, snapshot = file_names.parse_segment_file(name), file_names.parse_snapshot_file(name)
        log = segment is not None and segment[1] == file_names.LOG
        at = segment[0] if segment is not None else int(snapshot.offset) if snapshot is not None else 0
        if order.cut and at > order.end:
            continue
        if log or snapshot is not None or name == PARTITION_METADATA:
            limit = _bytes_below(filesystem, join(origin, name), order.end) if log and order.cut else None
            read_only = not log and name != PARTITION_METADATA
            _copy(filesystem, join(origin, name), join(target, name), read_only=read_only, limit=limit)
    if filesystem.exists(join(source, BOOTSTRAP_CHECKPOINT)):
        _copy(filesystem, join(source, BOOTSTRAP_CHECKPOINT), join(work, BOOTSTRAP_CHECKPOINT), read_only=False)
    filesystem.sync_directory(target)
    _append_the_only_voter(filesystem, target, order, now)
    save_quorum_state(filesystem, target, QuorumState(epoch=Epoch(order.epoch)))
    identity = MetaProperties(order.cluster_id, NodeId(order.node_id), _parsed(order.directory_id))
    save_meta_properties(filesystem, work, identity, date)
    filesystem.sync_directory(work)


def _append_the_only_voter(filesystem: FileSystem, directory: str, order: Order, now: int) -> None:
    log = MetadataLog.open(filesystem, directory)
    epochs = [int(epoch) for epoch, _ in log.epoch_starts()]
    epochs += [int(each.epoch) for each in log.snapshots() if each.offset == log.end_offset]
    last = max(epochs, default=0)
    if (int(log.end_offset), last) != (order.end, order.last_epoch):
        raise RecoveryRefused(
            f"the copy ends at offset {log.end_offset} of epoch {last}, the verdict was "
            f"about {order.end} of {order.last_epoch}"
        )
    voter = InitialVoter(NodeId(order.node_id), _parsed(order.directory_id), Endpoint(order.host, order.port))
    before = last_voters(filesystem, directory)
    (only,) = voters_of([voter], order.listener).voters
    more = tuple(VoterEndpoint(name=name, host=host, port=port) for name, host, port in order.beside)
    made = VotersRecord(voters=(replace(only, endpoints=(*only.endpoints, *more)),))
    messages = (KRaftVersionRecord(kraft_version=1), *_down_to(made, before))
    records = [control_record(message, offset=order.end + at, timestamp=now) for at, message in enumerate(messages)]
    log.append(encode_batch(records, partition_leader_epoch=order.epoch, is_control=True))
    pending = log.take_pending_write()
    if pending is not None:
        pending.perform()
        log.complete(pending)
    log.close()


def _down_to(only: VotersRecord, before: VotersRecord | None) -> list[VotersRecord]:
    """Every replica that reads this log refuses voters of whom more than one changed at once. So the new one comes, and
    the others go one by one; a node is in a set once, so its old directory leaves first."""
    (new,) = only.voters
    left = list(before.voters) if before is not None else []
    sets = []
    if len(left) == 1 and left[0].voter_id == new.voter_id:
        left = [*left, replace(new, voter_id=STAND_IN)]  # a set is never empty
        sets.append(left)
    if any(each.voter_id == new.voter_id for each in left):
        left = [each for each in left if each.voter_id != new.voter_id]
        sets.append(left)
    sets += [[*left[at:], new] for at in range(len(left) + 1)]
    return [VotersRecord(voters=tuple(sorted(each, key=lambda voter: voter.voter_id))) for each in sets]


def _put_aside(filesystem: FileSystem, log_directory: str, generation: int) -> None:
    if not filesystem.exists(log_directory):
        return
    root = Volume(filesystem, log_directory).root
    target, number = join(root, f"{ASIDE}{generation}"), 1
    while filesystem.exists(target):
        number += 1
        target = join(root, f"{ASIDE}{generation}.{number}")
    filesystem.rename(log_directory, target)
    filesystem.sync_directory(root)


def _directory_id(filesystem: FileSystem, directory: str) -> str | None:
    path = join(directory, META_PROPERTIES)
    if not filesystem.exists(path):
        return None
    return str(decode_meta_properties(read_whole(filesystem, path), path).directory_id)


def _bytes_below(filesystem: FileSystem, path: str, end: int) -> int:
    """Of the batches of a log file that end there at the latest."""
    file, found = filesystem.open(path, write=False), 0
    try:
        for place in scan(file):
            if not isinstance(place, BatchHeader) or place.next_offset > end:
                break
            found = place.end_position
    finally:
        file.close()
    return found


def _copy(filesystem: FileSystem, source: str, target: str, *, read_only: bool, limit: int | None = None) -> None:
    reading, writing = filesystem.open(source, write=False), filesystem.open(target, create=True)
    try:
        position = 0
        while data := reading.read_at(position, _CHUNK if limit is None else min(_CHUNK, limit - position)):
            writing.write_at(position, data)
            position += len(data)
        writing.fdatasync()
    finally:
        reading.close()
        writing.close()
    if read_only:
        filesystem.make_read_only(target)


def _remove(filesystem: FileSystem, path: str) -> None:
    if not filesystem.exists(path):
        return
    for name in filesystem.list_directory(path):
        inner = join(path, name)
        if filesystem.is_directory(inner):
            _remove(filesystem, inner)
        else:
            filesystem.remove(inner)
    filesystem.remove_directory(path)


def _parsed(directory_id: str) -> DirectoryId:
    return DirectoryId(Uuid.parse(directory_id))
