"""What all machines of a schedule have in common: who votes at first, how they are told, their timers, and how a disk
is formatted.

A directory id names one disk: node 3's first disk is generation 0, the disk that replaces it generation 1, and so on.
Only disks of generation 0 know the first voters; a later one is formatted with `--no-initial-controllers` and has to be
added to the quorum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from controller_runtime.identifiers import DirectoryId, Endpoint, NodeId, Uuid
from controller_runtime.metadata.features import bootstrap_records
from controller_runtime.metadata.records import encode_record
from controller_runtime.raft.voter_set import EMPTY, VoterSet, static_voters
from controller_runtime.storage.formatting import FormatRequest, InitialVoter, format_directory
from controller_runtime.storage.metadata_log import METADATA_DIRECTORY
from support.simulation.disk import SimDisk

CLUSTER_ID: Final = "c2ltdWxhdGVkLWNsdXN0ZXI"
DATA: Final = "/data"
LOG: Final = f"{DATA}/{METADATA_DIRECTORY}"
LISTENER: Final = "CONTROLLER"
BROKER_LISTENER: Final = "PLAINTEXT"
BROKER: Final = NodeId(1000)
"""The broker of most fleets."""


def endpoint_of(node_id: NodeId) -> Endpoint:
    return Endpoint(f"controller-{node_id}", 9093)


def broker_endpoint_of(node_id: NodeId) -> Endpoint:
    return Endpoint(f"broker-{node_id}", 9092)


def directory_of(node_id: NodeId, generation: int = 0) -> DirectoryId:
    return DirectoryId(Uuid.of(0x5EED_0000_0000_4000 + generation, 0x8000_0000_0000_0000 + node_id))


@dataclass(frozen=True)
class Timings:
    """Kafka's `controller.quorum.*` and `broker.*`, and how often the active controller writes a NoOpRecord."""

    election_timeout_ms: int = 1000
    first_election_timeout_ms: int = 150
    fetch_timeout_ms: int = 2000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    no_op_interval_s: float = 0.5
    session_timeout_s: float = 9.0
    heartbeat_interval_s: float = 2.0


@dataclass(frozen=True)
class Fleet:
    """`observers` run from the start but do not vote; with dynamic voters they may be added."""

    voters: tuple[NodeId, ...]
    observers: tuple[NodeId, ...]
    dynamic: bool
    brokers: tuple[NodeId, ...] = (BROKER,)
    segment_bytes: int = 1 << 14
    timings: Timings = field(default_factory=Timings)
    auto_join: bool = False
    snapshot_bytes: int = 0
    """Every node writes a snapshot after so many bytes of log; 0 means never."""
    metadata_version: str = "4.3"
    """Below 3.7 controllers do not register themselves."""
    scrub_ms: int = 10_000
    """Between two slices of what is read again, to find bit rot."""
    authorizes: bool = False
    """Everybody who is somebody (`World.principals`) is held to the ACLs; nodes are super users."""
    fetch_bytes: int = 1 << 20
    """How much one Fetch or FetchSnapshot brings at most."""

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """The controllers."""
        return self.voters + self.observers

    @property
    def everybody(self) -> tuple[NodeId, ...]:
        return self.nodes + self.brokers

    def static_voters(self) -> VoterSet:
        if self.dynamic:
            return EMPTY
        return static_voters(LISTENER, [(node, endpoint_of(node)) for node in self.voters])

    def format(self, disk: SimDisk, node: NodeId, generation: int) -> None:
        """What `kafka-storage format` does before a node's first start."""
        initial = self.dynamic and generation == 0 and node in self.voters
        disk.take(_formatted(self.voters if initial else (), node, generation, self.metadata_version))


@lru_cache(maxsize=256)
def _formatted(voters: tuple[NodeId, ...], node: NodeId, generation: int, release: str) -> SimDisk:
    """A disk to copy: many schedules begin with the same ones."""
    initial = [InitialVoter(voter, directory_of(voter), endpoint_of(voter)) for voter in voters]
    values = [encode_record(*record) for record in bootstrap_records(release)]
    request = FormatRequest(CLUSTER_ID, node, [DATA], DATA, values, initial, LISTENER)
    directory = directory_of(node, generation)
    disk = SimDisk()
    format_directory(disk, DATA, request, now=0, date="Sat", new_directory_id=lambda: directory)
    disk.make_directories(LOG)
    return disk
