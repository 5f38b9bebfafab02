"""The disk of a node, and what every node is configured with.

The directories are locked and checked, the log is recovered and the election state read before a node exists. Whatever
cannot be explained on a disk raises here, with the file's name, and the process ends before it has spoken to anybody.
"""

from __future__ import annotations

import os
import time
from typing import Final

from controller_runtime.configuration.config import ServerConfig
from controller_runtime.configuration.names import INTERNAL_SEGMENT_BYTES
from controller_runtime.configuration.settings import Settings
from controller_runtime.identifiers import DirectoryId, Endpoint, NodeId, ReplicaKey, Uuid
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.voter_set import EMPTY, Voter, VoterSet
from controller_runtime.storage.consistency import check_same_moment
from controller_runtime.storage.directories import NodeDirectories, open_directories
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.formatting import usable_directory_id
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import QuorumState, load_quorum_state, save_quorum_state
from controller_runtime.values import dataclass

FETCH_TIMEOUT: Final = "controller.quorum.fetch.timeout.ms"
FETCH_TIMEOUT_MS: Final = 700
"""Unless the file sets it; Kafka's is 2000. How long a frozen leader, or a cut network, keeps the quorum from
committing.
"""
FETCH_STAGGER_MS: Final = 40
"""Longer than an election among processes that run."""
KAFKA_FETCH_MAX_WAIT_MS: Final = 500
"""How long a leader may hold back a Fetch; at most a third of the fetch timeout, so that one late answer deposes
nobody.
"""
HIGH_WATERMARK_LINGER_MS: Final = 1
"""The next request of a client that waits for its answers comes sooner; what standby controllers tell of metadata is
older by no more.
"""


@dataclass(frozen=True, slots=True)
class Disk:
    """What was found on the node's directories; holds their locks."""

    filesystem: OsFileSystem
    directories: NodeDirectories
    metadata_log: MetadataLog
    stored: ElectionState | None

    def save_election(self, state: ElectionState) -> None:
        """Returns when it is durable."""
        save_quorum_state(self.filesystem, self.directories.metadata_log, _to_file(state))

    def close(self) -> None:
        self.metadata_log.close()
        self.directories.release()


def open_disk(config: ServerConfig) -> Disk:
    """Lock, check and recover. Raises StorageError naming the culprit."""
    filesystem = OsFileSystem()
    directories = open_directories(
        filesystem,
        config.log_dirs,
        metadata_dir=config.metadata_log_dir,
        node_id=config.node_id,
        new_directory_id=_new_directory_id,
        date=time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime()),
    )
    settings = config.settings
    log_config = LogConfig(
        segment_bytes=settings.integer(
            INTERNAL_SEGMENT_BYTES if settings.has(INTERNAL_SEGMENT_BYTES) else "metadata.log.segment.bytes"
        ),
        segment_ms=settings.integer("metadata.log.segment.ms"),
    )
    try:
        metadata_log = MetadataLog.open(filesystem, directories.metadata_log, log_config)
        found = load_quorum_state(filesystem, directories.metadata_log)
        if config.is_controller:
            check_same_moment(metadata_log, found)
    except BaseException:
        directories.release()
        raise
    return Disk(filesystem, directories, metadata_log, None if found is None else _from_file(found))


def raft_config(config: ServerConfig, disk: Disk, listeners: tuple[tuple[str, Endpoint], ...]) -> RaftConfig:
    """`listeners`: this node's own controller listeners; none on a broker."""
    settings = config.settings
    fetch_timeout_ms = settings.integer(FETCH_TIMEOUT) if settings.has(FETCH_TIMEOUT) else FETCH_TIMEOUT_MS
    return RaftConfig(
        node_id=config.node_id,
        directory_id=disk.directories.metadata_directory_id,
        listener=config.controller_listener_names[0],
        listeners=listeners,
        can_vote=config.is_controller,
        auto_join=config.is_controller and settings.boolean("controller.quorum.auto.join.enable"),
        durable_fetch=config.is_controller,
        bootstrap=config.contact_points,
        election_timeout_ms=settings.integer("controller.quorum.election.timeout.ms"),
        election_backoff_max_ms=settings.integer("controller.quorum.election.backoff.max.ms"),
        high_watermark_linger_ms=HIGH_WATERMARK_LINGER_MS,
        fetch_timeout_ms=fetch_timeout_ms,
        fetch_stagger_ms=FETCH_STAGGER_MS,
        fetch_max_wait_ms=min(KAFKA_FETCH_MAX_WAIT_MS, fetch_timeout_ms // 3),
        request_timeout_ms=settings.integer("controller.quorum.request.timeout.ms"),
        retry_backoff_ms=settings.integer("controller.quorum.retry.backoff.ms"),
        fetch_max_bytes=settings.integer("controller.quorum.fetch.max.bytes"),
        snapshot_max_bytes=settings.integer("controller.quorum.fetch.snapshot.max.bytes"),
    )


def quota_samples(settings: Settings) -> tuple[int, int]:
    """Over how many samples rates are measured, and of how many milliseconds."""
    return settings.integer("quota.window.num"), settings.integer("quota.window.size.seconds") * 1000


def snapshot_config(config: ServerConfig) -> SnapshotConfig:
    settings = config.settings
    return SnapshotConfig(
        max_new_bytes=settings.integer("metadata.log.max.record.bytes.between.snapshots"),
        max_interval_ms=settings.integer("metadata.log.max.snapshot.interval.ms"),
        retention_bytes=settings.integer("metadata.max.retention.bytes"),
        retention_ms=settings.integer("metadata.max.retention.ms"),
        scrub_interval_ms=config.scrub_interval_ms,
    )


def static_voters(config: ServerConfig) -> VoterSet:
    listener = config.controller_listener_names[0]
    if not config.quorum_voters:
        return EMPTY
    return VoterSet.of(
        Voter(ReplicaKey(node_id), ((listener, endpoint),)) for node_id, endpoint in config.quorum_voters.items()
    )


# Chance. os.urandom costs a microsecond and no import.


def random_uuid() -> Uuid:
    """Version 4, and none that Kafka reserves."""
    while True:
        value = bytearray(os.urandom(16))
        value[6] = value[6] & 0x0F | 0x40
        value[8] = value[8] & 0x3F | 0x80
        candidate = Uuid(bytes(value))
        if usable_directory_id(candidate):
            return candidate


def _new_directory_id() -> DirectoryId:
    return DirectoryId(random_uuid())


def jitter() -> float:
    """Uniform in [0, 1)."""
    return int.from_bytes(os.urandom(6), "big") / (1 << 48)


def below(bound: int) -> int:
    """Uniform in [0, bound); the bias of a 64-bit number is of no account here."""
    return int.from_bytes(os.urandom(8), "big") % bound if bound > 1 else 0


def _from_file(state: QuorumState) -> ElectionState:
    voted = None if state.voted_id is None else ReplicaKey(state.voted_id, state.voted_directory)
    return ElectionState(state.epoch, state.leader_id, voted, state.version, state.static_voters)


def _to_file(state: ElectionState) -> QuorumState:
    voted = state.voted_key
    return QuorumState(
        epoch=state.epoch,
        leader_id=state.leader_id,
        voted_id=None if voted is None else NodeId(voted.node_id),
        voted_directory=DirectoryId(Uuid(bytes(16)))
        if voted is None or state.kraft_version == 0
        else voted.directory_id,
        static_voters=state.static_voters,
        version=state.kraft_version,
    )
