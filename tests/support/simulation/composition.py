"""From a simulated machine to the node that runs on it, as `server.shell.assembly` makes one of a configuration."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from controller_runtime.answers.api_versions import SUPPORTED_LEVELS
from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.broker.broker_config import BrokerConfig
from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.controller.service import ControllerConfig
from controller_runtime.identifiers import BrokerEpoch, Uuid
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.records import decode_record
from controller_runtime.node.compose import NodeConfig, NodeDisk, compose
from controller_runtime.node.controller_part import ControllerPartConfig
from controller_runtime.node.controller_registration import ControllerIdentity
from controller_runtime.node.node import Node
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.parts.chance import Chance
from controller_runtime.raft.config import RaftConfig
from controller_runtime.storage.formatting import load_bootstrap_values
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.values import replace
from support.simulation.fleet import BROKER_LISTENER, CLUSTER_ID, DATA, LISTENER, broker_endpoint_of, endpoint_of

if TYPE_CHECKING:
    from support.simulation.data_plane import DataPlane
    from support.simulation.machine import Machine

REGISTRATION_TIMEOUT_S: Final = 3600.0
"""No broker gives up while the schedule keeps the controllers from it."""


def composed(machine: Machine, log: MetadataLog, data: DataPlane | None) -> Node:
    config = NodeConfig(
        raft_config(machine),
        CLUSTER_ID,
        machine.fleet.static_voters(),
        _snapshot_config(machine),
        None if machine.is_broker else _controller_config(machine),
        None if data is None else _broker_config(machine, data),
    )
    chance = Chance(lambda: Uuid(machine.rng.randbytes(16)), machine.rng.randrange)
    return compose(config, NodeDisk(log, log, machine.persisted), chance, machine.rng.random, machine.now)


def _controller_config(machine: Machine) -> ControllerPartConfig:
    timings = machine.fleet.timings
    controller = ControllerConfig(
        machine.id,
        CLUSTER_ID,
        _records(load_bootstrap_values(machine.disk, DATA) or ()),
        broker_session_timeout_s=timings.session_timeout_s,
        no_op_interval_s=timings.no_op_interval_s,
        security=_security(machine),
    )
    incarnation = Uuid(machine.rng.randbytes(16))
    identity = ControllerIdentity(machine.id, incarnation, ((LISTENER, endpoint_of(machine.id), 0),))
    return ControllerPartConfig(controller, identity)


def _broker_config(machine: Machine, data: DataPlane) -> BrokerConfig:
    timings = machine.fleet.timings
    machine.incarnation = Uuid(machine.rng.randbytes(16))
    identity = BrokerIdentity(
        node_id=machine.id,
        cluster_id=CLUSTER_ID,
        incarnation_id=machine.incarnation,
        listeners=((BROKER_LISTENER, broker_endpoint_of(machine.id), 0),),
        features=SUPPORTED_LEVELS,
        log_dirs=(machine.directory,),
        previous_epoch=BrokerEpoch(data.manager.previous_broker_epoch),
        heartbeat_interval_s=timings.heartbeat_interval_s,
        registration_timeout_s=REGISTRATION_TIMEOUT_S,
    )
    return BrokerConfig(identity, security=_security(machine))


def _security(machine: Machine) -> SecurityRules:
    authorizer = AuthorizerRules(frozenset({"User:ANONYMOUS"}))
    return SecurityRules(authorizer=authorizer if machine.fleet.authorizes else None)


def raft_config(machine: Machine) -> RaftConfig:
    fleet, timings = machine.fleet, machine.fleet.timings
    listeners = () if machine.is_broker else ((LISTENER, endpoint_of(machine.id)),)
    return RaftConfig(
        machine.id,
        machine.directory,
        LISTENER,
        listeners,
        can_vote=not machine.is_broker,
        durable_fetch=not machine.is_broker,
        bootstrap=tuple(endpoint_of(voter) for voter in fleet.voters),
        election_timeout_ms=timings.election_timeout_ms,
        first_election_timeout_ms=timings.first_election_timeout_ms,
        fetch_timeout_ms=timings.fetch_timeout_ms,
        request_timeout_ms=timings.request_timeout_ms,
        retry_backoff_ms=timings.retry_backoff_ms,
        fetch_max_wait_ms=timings.fetch_max_wait_ms,
        high_watermark_linger_ms=(0, 5)[machine.id % 2],
        fetch_max_bytes=fleet.fetch_bytes,
        snapshot_max_bytes=fleet.fetch_bytes,
        auto_join=fleet.auto_join and not machine.is_broker,
    )


def _snapshot_config(machine: Machine) -> SnapshotConfig:
    config, size = SnapshotConfig(scrub_interval_ms=machine.fleet.scrub_ms), machine.fleet.snapshot_bytes
    return replace(config, max_new_bytes=size, retention_bytes=2 * size) if size else config


@lru_cache(maxsize=16)
def _records(values: tuple[bytes, ...]) -> tuple[VersionedRecord, ...]:
    """Of a bootstrap checkpoint; the same ones at every start."""
    return tuple(decode_record(value) for value in values)
