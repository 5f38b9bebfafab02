"""From a node's configuration to its parts: its roles decide which ones it has, and nothing else differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from controller_runtime.identifiers import Instant
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.node.node import Node
from controller_runtime.node.own_settings import OwnSettings
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.node.quorum.part import QuorumPart
from controller_runtime.node.quorum.ports import MetadataLogReader, SnapshotReader
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.node.quorum.upkeep import LogUpkeep
from controller_runtime.parts.call_ids import CallIds, CallTable
from controller_runtime.parts.chance import Chance
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.raft.voter_set import EMPTY, VoterSet
from controller_runtime.values import dataclass

if TYPE_CHECKING:  # a node loads only the parts that it has
    from controller_runtime.broker.broker_config import BrokerConfig
    from controller_runtime.node.broker_part import BrokerPart
    from controller_runtime.node.controller_part import ControllerPart, ControllerPartConfig


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """Everything a node is configured with: what all of them are, then its roles."""

    raft: RaftConfig
    cluster_id: str
    static_voters: VoterSet = EMPTY
    snapshots: SnapshotConfig = SnapshotConfig()
    controller: ControllerPartConfig | None = None
    broker: BrokerConfig | None = None


@dataclass(frozen=True, slots=True)
class NodeDisk:
    """What a node finds on its disk, and reads from it."""

    log: MetadataLogReader
    snapshots: SnapshotReader
    stored: ElectionState | None


def compose(config: NodeConfig, disk: NodeDisk, chance: Chance, jitter: Callable[[], float], now: Instant) -> Node:
    calls = CallTable()
    meta = MetadataReplica(
        config.raft,
        config.cluster_id,
        log=disk.log,
        snapshots=disk.snapshots,
        stored=disk.stored,
        static_voters=config.static_voters,
        jitter=jitter,
        now=now,
        calls=CallIds(calls, QuorumPart.NAME),
    )
    quorum = QuorumPart(meta, disk.snapshots)
    return Node(
        calls,
        quorum,
        LogUpkeep(config.snapshots, quorum, disk.log, disk.snapshots, now),
        OwnSettings(_own(config), quorum),
        controller=_controller(config, quorum, disk, chance, calls),
        broker=_broker(config, quorum, calls, chance, now),
        controller_listeners=[name for name, _ in config.raft.listeners],
    )


def _own(config: NodeConfig) -> OwnConfigs:
    """Both roles of a combined node have the same."""
    if config.controller is not None:
        decisions = config.controller.decisions
        return OwnConfigs(decisions.node_id, decisions.node_configs, decisions.rules)
    assert config.broker is not None, "a node has a role"
    return OwnConfigs(config.raft.node_id, config.broker.node_configs, config.broker.rules)


def _controller(
    config: NodeConfig, quorum: QuorumPart, disk: NodeDisk, chance: Chance, calls: CallTable
) -> ControllerPart | None:
    if config.controller is None:
        return None
    from controller_runtime.node.controller_part import ControllerPart

    largest = min(config.raft.fetch_max_bytes, disk.log.segment_bytes)
    return ControllerPart(config.controller, quorum, chance, CallIds(calls, ControllerPart.NAME), largest)


def _broker(
    config: NodeConfig, quorum: QuorumPart, calls: CallTable, chance: Chance, now: Instant
) -> BrokerPart | None:
    if config.broker is None:
        return None
    from controller_runtime.broker.service import BrokerService
    from controller_runtime.node.broker_part import BrokerPart

    return BrokerPart(BrokerService(config.broker, CallIds(calls, BrokerPart.NAME), chance.new_uuid, now), quorum)
