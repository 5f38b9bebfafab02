"""The desired state of a `KRaftCluster`, as frozen values.

`parse_cluster` (in `parse`) is the only maker: whoever holds one of these may trust it. Values that Kubernetes alone
judges (resources, affinity, tolerations, spread constraints) stay plain objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from kraft_operator.api import names
from kraft_operator.api.audit import Audit
from kraft_operator.api.from_archive import FromArchive
from kraft_operator.api.network import ListenerSpec, NetworkPolicySpec
from kraft_operator.api.object_store import ObjectStore
from kraft_operator.api.pod import Pod
from kraft_operator.api.process import Process
from kraft_operator.api.roles import Roles
from kraft_operator.api.security import Security
from kraft_operator.api.storage import Storage
from kraft_operator.api.windows import Window


class PullPolicy(StrEnum):
    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class BootstrapPolicy(StrEnum):
    NEW_OR_ADOPT = "NewOrAdopt"
    ADOPT_ONLY = "AdoptOnly"


class VolumePolicy(StrEnum):
    RETAIN = "Retain"
    DELETE = "Delete"


class LifecycleState(StrEnum):
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    HIBERNATED = "Hibernated"


class LostDisk(StrEnum):
    REPLACE = "Replace"
    REPORT = "Report"


class QuorumLoss(StrEnum):
    MANUAL = "Manual"
    PROVEN_ONLY = "ProvenOnly"
    """A recovery whose verdict is ProvenComplete needs no approval."""


class NodeGone(StrEnum):
    WAIT = "Wait"
    TREAT_AS_LOST = "TreatAsLost"


class RolloutStrategy(StrEnum):
    QUORUM_AWARE = "QuorumAware"
    ON_DELETE = "OnDelete"


class ChangeMode(StrEnum):
    APPLY = "Apply"
    PLAN = "Plan"
    """Nothing is changed before somebody has approved the plan by its hash."""


class OnBadRevision(StrEnum):
    ROLLBACK = "Rollback"
    HALT = "Halt"


class Drain(StrEnum):
    REQUIRE = "Require"
    FORCE = "Force"


class DomainPolicy(StrEnum):
    PREFER = "Prefer"
    REQUIRE = "Require"


class MetadataVersionPolicy(StrEnum):
    PINNED = "Pinned"
    FOLLOW = "FollowVersionAfterSoak"


class QuorumFeature(StrEnum):
    PINNED = "Pinned"
    LATEST = "Latest"


class Probes(StrEnum):
    HTTP = "HTTP"
    TCP = "TCP"


@dataclass(frozen=True, slots=True)
class Image:
    reference: str
    """What a kubelet pulls: repository, tag and digest already joined."""
    pull_policy: PullPolicy = PullPolicy.IF_NOT_PRESENT
    pull_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeIdRange:
    """Both ends belong to it."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start + 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.end + 1))

    def __contains__(self, node_id: object) -> bool:
        return isinstance(node_id, int) and self.start <= node_id <= self.end

    def overlaps(self, other: NodeIdRange) -> bool:
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, slots=True)
class ScaleDown:
    """What has to become of a broker's replicas before it goes."""

    drain: Drain = Drain.REQUIRE
    timeout_seconds: float = 1800.0


@dataclass(frozen=True, slots=True)
class FailureDomains:
    """What is lost together: Kubernetes nodes with the same value of this label."""

    key: str = "topology.kubernetes.io/zone"
    policy: DomainPolicy = DomainPolicy.PREFER


@dataclass(frozen=True, slots=True)
class Group:
    """The controllers, or a pool of brokers: nodes that differ in nothing but their id."""

    roles: Roles
    name: str
    """`controller` or the pool's name: the R of `C-R-N`."""
    replicas: int
    node_id_range: NodeIdRange
    storage: Storage
    """What each node has that `overrides` does not name."""
    resources: Mapping[str, Any] = field(default_factory=dict)
    pod: Pod = field(default_factory=Pod)
    config: Mapping[str, str] = field(default_factory=dict)
    rack_node_label: str | None = None
    """Brokers: the label of the Kubernetes node whose value becomes broker.rack."""
    scale_down: ScaleDown = ScaleDown()
    max_unavailable: int | None = None
    """Brokers: how many of the pool may be evicted at once; None: one, of several."""
    failure_domains: FailureDomains | None = None
    """Controllers: none of these may hold a majority of the voters. None: nobody asked."""
    excluded_node_ids: frozenset[int] = frozenset()
    """Brokers: ids that the pool does without."""
    image: Image | None = None
    """Controllers: what they run in place of the cluster's image."""
    probes: Probes | None = None
    """Controllers: what that image offers, when it is not what the cluster's does."""
    process: Process = field(default_factory=Process)
    overrides: Mapping[int, Storage] = field(default_factory=dict)
    """By node id."""
    volumes: Mapping[str, Storage] = field(default_factory=dict)
    """Brokers: what each node has besides, by name: each with a log directory of its own."""

    def storage_of(self, node_id: int) -> Storage:
        return self.overrides.get(node_id, self.storage)

    def volume_of(self, node_id: int, further: str = "") -> Storage | None:
        """Of its first volume, or of the named one beside it."""
        return self.volumes.get(further) if further else self.storage_of(node_id)

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids that the group wants: the first ones of its range that are not excluded. Scaling down takes the
        highest away.
        """
        usable = (each for each in self.node_id_range if each not in self.excluded_node_ids)
        return tuple(islice(usable, self.replicas))


@dataclass(frozen=True, slots=True)
class Config:
    """Keys of server.properties given by the user. A group's own `config` wins over its role's, that over `common`."""

    common: Mapping[str, str] = field(default_factory=dict)
    controller: Mapping[str, str] = field(default_factory=dict)
    broker: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """What the operator does by itself when a voter's disk is lost, and how long the evidence must stand before."""

    lost_disk: LostDisk = LostDisk.REPLACE
    debounce_seconds: float = 10.0
    node_gone: NodeGone = NodeGone.WAIT
    """Whether a Kubernetes node that is gone or out of service is proof that the volumes on it are lost."""
    quorum_loss: QuorumLoss = QuorumLoss.MANUAL


@dataclass(frozen=True, slots=True)
class Rollout:
    """How a new revision reaches the pods, and what becomes of one whose first pod does not come up."""

    strategy: RolloutStrategy = RolloutStrategy.QUORUM_AWARE
    ready_timeout_seconds: float = 300.0
    on_bad_revision: OnBadRevision = OnBadRevision.ROLLBACK
    windows: tuple[Window, ...] = ()
    """When pods that serve may be restarted; none: at any time."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Which feature levels are made final, and when. Levels only rise."""

    policy: MetadataVersionPolicy = MetadataVersionPolicy.PINNED
    level: int | None = None
    """Of metadata.version, when it is pinned to a value."""
    soak_seconds: float = 3600.0
    quorum_feature: QuorumFeature = QuorumFeature.PINNED

    @property
    def wants_anything(self) -> bool:
        pinned = self.policy is MetadataVersionPolicy.PINNED and self.level is None
        return not pinned or self.quorum_feature is QuorumFeature.LATEST


@dataclass(frozen=True, slots=True)
class Archive:
    """A copy of the metadata log that a follower keeps, for ever unless `keep_seconds`. Another `beginning`: anew."""

    storage: Storage
    keep_seconds: float | None = None
    beginning: int = 0
    resources: Mapping[str, Any] = field(default_factory=dict)
    audit: Audit | None = None
    store: ObjectStore | None = None


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    image: Image
    controllers: Group
    broker_pools: tuple[Group, ...]
    controller_listeners: tuple[ListenerSpec, ...]
    """The first is the voters' default listener."""
    broker_listeners: tuple[ListenerSpec, ...]
    """The first is the inter-broker listener."""
    cluster_domain: str = "cluster.local"
    cluster_id: str | None = None
    config: Config = field(default_factory=Config)
    bootstrap_policy: BootstrapPolicy = BootstrapPolicy.NEW_OR_ADOPT
    volume_policy: VolumePolicy = VolumePolicy.RETAIN
    lifecycle: LifecycleState = LifecycleState.RUNNING
    probes: Probes = Probes.HTTP
    recovery: RecoveryPolicy = RecoveryPolicy()
    rollout: Rollout = Rollout()
    versions: Versions = Versions()
    change_mode: ChangeMode = ChangeMode.APPLY
    security: Security = field(default_factory=Security)
    network_policy: NetworkPolicySpec = field(default_factory=NetworkPolicySpec)
    archive: Archive | None = None
    from_archive: FromArchive | None = None
    quorum_listeners: tuple[ListenerSpec, ...] = ()
    """By which brokers know the controllers, where that is not how these serve (`stages`)."""
    opening: tuple[ListenerSpec, ...] = ()
    """Of controllers: network policies let them through before anybody serves them."""

    @property
    def known_controllers(self) -> tuple[ListenerSpec, ...]:
        """How brokers reach the quorum, the one that they use first."""
        return self.quorum_listeners or self.controller_listeners

    @property
    def asked_controller(self) -> ListenerSpec:
        """By which the operator speaks to controllers."""
        return self._spoken(self.controller_listeners)

    @property
    def asked_broker(self) -> ListenerSpec:
        return self._spoken(self.broker_listeners)

    def _spoken(self, listeners: tuple[ListenerSpec, ...]) -> ListenerSpec:
        return next((each for each in listeners if bool(each.tls) is self.security.speaks_tls), listeners[0])

    def broker_port(self, known: int) -> int:
        """Where the operator speaks to a broker whose pod tells this port (0: no pod). It wins, as the resource may ask
        for another one by now, unless the cluster became secure: then the port is the operator's own."""
        told = not (self.security.migrated and self.security.speaks_tls)
        return (known if told else 0) or self.asked_broker.port

    @property
    def plaintext_controllers(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.controller_listeners if not each.tls)

    @property
    def voter_listener(self) -> ListenerSpec:
        """By which claims know their voter: the plaintext one as long as it is served."""
        return next((each for each in self.controller_listeners if not each.tls), self.controller_listeners[0])

    def uses_certificates(self, roles: Roles) -> bool:
        return any(each.tls for each in (*self.listeners_of(roles), *(self.known_controllers if roles.serves else ())))

    def listeners_of(self, roles: Roles) -> tuple[ListenerSpec, ...]:
        """What such nodes serve, controllers' before brokers'."""
        controllers = self.controller_listeners if roles.controls else ()
        return (*controllers, *(self.broker_listeners if roles.serves else ()))

    @property
    def groups(self) -> tuple[Group, ...]:
        """The controllers, then the pools in the order of the resource."""
        return (self.controllers, *self.broker_pools)

    def image_of(self, group: Group) -> Image:
        return group.image or self.image

    def probes_of(self, group: Group) -> Probes:
        return group.probes or self.probes

    def java_in(self, group: Group) -> bool:
        """Whether its image has a JVM: one that offers probes by HTTP is Quorate's own."""
        return self.probes_of(group) is Probes.TCP

    def group(self, name: str) -> Group | None:
        return next((group for group in self.groups if group.name == name), None)


@dataclass(frozen=True, slots=True)
class KRaftCluster:
    """A resource that passed validation."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: ClusterSpec
    restart: str = ""
    """What the restart annotation says; a new value makes a new revision of every pod."""
    approve: str = ""
    """The hash of the plan that somebody has approved."""
    given_up_claims: frozenset[str] = frozenset()
    """NAME:UID of claims that are being deleted and that somebody lets go with their data."""
    approved_formats: frozenset[str] = frozenset()
    """NAME:UID of empty claims that somebody lets be formatted although the ledger does not know what their node had
    before.
    """
    rotate: str = ""
    """What the annotation says that asks for another authority."""
    formed: str = ""
    """What the ledger says of its security, which `spec` was read with."""
    kept_mode: str = ""
    """Which security.tls.mode the resource asks for, where the cluster was formed with the other one and keeps it."""
    doubt: tuple[str, str] = ("", "")
    """What is wrong if the cluster is as the resource says (path, problem): only the ledger can tell whether it is."""
    kept_volumes: tuple[tuple[str, str], ...] = ()
    """Pool and name of further volumes that the resource names no more and that brokers keep (`kept_volumes`)."""
    hindrance: str = ""
    """What is wrong with the resource of a plaintext cluster that is asked to become secure."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """The spec as it was read: of it, what makes a group's pods is kept for the way back (`revision`)."""

    def host(self, group: Group, node_id: int) -> str:
        """The DNS name of a node, for ever."""
        return names.node_host(self.name, group.name, node_id, self.namespace, self.spec.cluster_domain)

    def voter_host(self, node_id: int) -> str:
        return self.host(self.spec.controllers, node_id)
