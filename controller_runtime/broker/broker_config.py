"""What a broker is configured with: values, read by the shell."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.broker.fetch_sessions import SLOTS
from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.broker.replica_fetchers import FetchSettings
from controller_runtime.broker.replication.throttles import ThrottleSamples
from controller_runtime.identifiers import DirectoryId, NodeId
from controller_runtime.metadata.broker_configs import NodeRules
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Everything a broker is configured with."""

    identity: BrokerIdentity
    auto_create_topics: bool = True
    node_configs: Mapping[str, str] = field(default_factory=dict)
    """The lines of its configuration file."""
    security: SecurityRules = SecurityRules()
    rules: NodeRules = NodeRules()
    """What it knows of names of configurations."""
    log_directories: Mapping[DirectoryId, str] = field(default_factory=dict)
    """Where they are, in the order of `log.dirs`."""
    named_directories: Mapping[str, DirectoryId] = field(default_factory=dict)
    """The same, by their names in `log.dirs`."""
    offline_directories: tuple[str, ...] = ()
    """Paths of those that could not be read at start."""
    replica_lag_s: float = 30.0
    """`replica.lag.time.max.ms`."""
    inter_broker_listener: str = "PLAINTEXT"
    """At which brokers speak with each other."""
    replica_fetch: FetchSettings = FetchSettings()
    throttle_samples: ThrottleSamples = ThrottleSamples()
    fetch_session_slots: int = SLOTS
    """`max.incremental.fetch.session.cache.slots`."""
    sends_near: bool = False
    """Consumers are told to read from a replica in their own rack (`replica.selector.class`)."""
    metadata_directory: DirectoryId | None = None
    """The log directory that has the metadata log, too: the node cannot go on without it."""

    @property
    def directory_paths(self) -> Mapping[DirectoryId, str]:
        """Where they are; where nobody says it, by their ids."""
        return self.log_directories or {each: str(each) for each in self.identity.log_dirs}

    @property
    def near_to(self) -> NodeId | None:
        """This broker, if it tells consumers which replica is nearer than itself."""
        return self.identity.node_id if self.sends_near else None
