"""What was seen in one pass, as plain frozen values: the planner's only eyes.

Everything here was read live for this pass. What could not be read is absent or `UNKNOWN`, never assumed: a controller
that did not answer is not dead. Kubernetes objects appear only as far as a decision needs them; the raw dicts of
children stay in `Child.live`, for comparison with what they should be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from kraft_operator.archives import ArchiveSeen
from kraft_operator.audits import AuditSeen
from kraft_operator.credentials import Credentials
from kraft_operator.directories import Directories
from kraft_operator.operations.operation import Operation
from kraft_operator.operations.verdict import Witness
from kraft_operator.users import Found, Users
from storage_guard.copies import CopyReport
from storage_guard.formats import Report

MAIN: Final = "kafka"
"""The container of the node itself."""
CRASH_LOOP: Final = "CrashLoopBackOff"


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim of this cluster."""

    name: str
    uid: str
    node_id: int
    role: str
    pool: str
    volume: str = ""
    """The name of the bound PersistentVolume; empty while unbound."""
    terminating: bool = False
    identity: Mapping[str, str] = field(default_factory=dict)
    """Our annotations on it: cluster-id, node-id, directory-id, nonce, pvc-uid."""
    storage_class: str = ""
    requested: float = 0.0
    """Bytes it asks for; 0 when that is not known."""
    capacity: float = 0.0
    """Bytes it has."""
    resizing: str = ""
    """What Kubernetes says of a growth under way."""
    version: str = ""
    """Its resourceVersion: what is written on it is fenced by it."""
    further: str = ""
    """Which further volume of its broker it is; empty for a node's first."""
    owned: bool = False
    """It goes with the resource: of further volumes, whose claims are the operator's own."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a pod does not get on, in Kubernetes' words."""

    reason: str
    message: str
    container: str = ""


@dataclass(frozen=True, slots=True)
class Pod:
    name: str
    uid: str
    node_id: int
    role: str
    pool: str
    claim: str
    node: str = ""
    """The Kubernetes node it was scheduled to."""
    ready: bool = False
    terminating: bool = False
    revision: str = ""
    """What of its template asks for a restart when it changes."""
    made_of: str = ""
    """The whole template, as Kubernetes names it."""
    gate_waits: bool = False
    gate_passed: bool = False
    main_started: bool = False
    inspect: Report | None = None
    seal: Report | None = None
    grant_nonce: str | None = None
    rack: str | None = None
    nudges: int = 0
    trouble: Trouble | None = None
    port: int = 0
    """Of its first listener, as its own specification has it; 0 when that names none."""
    last_words: str = ""
    """What its node said before it failed the last time, without secrets. It may differ from failure to failure."""
    owner: str = ""
    """UID of the StatefulSet that it belongs to; empty when it has lost it and waits to be adopted."""
    volumes: Mapping[str, str] = field(default_factory=dict)
    """The further volumes that it has, to their claims."""
    grants: Mapping[str, str] = field(default_factory=dict)
    """The nonces of grants for them that it bears."""

    @property
    def nonces(self) -> frozenset[str | None]:
        """Of all grants that it bears."""
        return frozenset({self.grant_nonce, *self.grants.values()})

    @property
    def runs(self) -> bool:
        """Its main container was started and is not in a crash loop, in which no process is most of the time."""
        looping = self.trouble is not None and (self.trouble.container, self.trouble.reason) == (MAIN, CRASH_LOOP)
        return self.main_started and not looping


@dataclass(frozen=True, slots=True)
class NodeSet:
    """The StatefulSet of one node."""

    name: str
    uid: str
    node_id: int
    role: str
    pool: str
    replicas: int
    revision: str
    """The revision that a new pod would get; empty while the set's controller has not looked."""
    terminating: bool = False
    made_of: str = ""
    """The whole template of a new pod, as Kubernetes names it."""
    target: str = ""
    """The same, as we name it for the whole group."""
    volume_size: str = ""
    """What its claim template asks for, which no update can change."""
    volume_kind: tuple[str, str] = ("", "")
    """Class and selector of its claim template, neither of which can be changed (`Storage.kind`)."""
    volumes: Mapping[str, str] = field(default_factory=dict)
    """The further volumes that a new pod would have, to their claims."""

    def outdates(self, pod: Pod) -> bool:
        """A new pod would be another one. Other guards alone are no reason to restart a node, but one that could not
        start gets them.
        """
        if not self.revision or self.terminating or not pod.revision:
            return False
        stuck = pod.trouble is not None and not pod.main_started
        return pod.revision != self.revision or (stuck and pod.made_of != self.made_of)


@dataclass(frozen=True, slots=True)
class Child:
    """Any object of ours in the namespace, as it lives."""

    api: str
    kind: str
    name: str
    uid: str
    live: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Routes:
    """TLSRoutes, where a listener asks for them: served as `api`, or not, and `missing` has the remedy."""

    api: str = ""
    found: tuple[Child, ...] = ()
    missing: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Services whose load balancer nobody gives as they ask for it, to why."""


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper pod of a recovery. `report` once it has done what it was asked for; `line` is its last word."""

    name: str
    uid: str
    what: str
    node_id: int
    operation: str
    failed: bool = False
    line: str = ""
    report: CopyReport | None = None
    trouble: str = ""


class QuorumState(StrEnum):
    AVAILABLE = "Available"
    UNAVAILABLE = "Unavailable"
    """Enough voters answered for themselves and name no common leader."""
    UNKNOWN = "Unknown"


class VoterState(StrEnum):
    LIVE = "Live"
    """It answered for itself, follows the majority's leader, holds what was committed a round ago, and that leader
    knows it by the ledger's directory and heard from it since."""
    LAGGING = "Lagging"
    """It follows, but its log ends before what was committed a round ago."""
    DEAD = "Dead"
    """It does not answer, and the leader has not heard from it since the round before."""
    UNKNOWN = "Unknown"
    """Its own answer and the leader's do not go together, or it is there under another directory."""


@dataclass(frozen=True, slots=True)
class QuorumVoter:
    node_id: int
    directory_id: str
    log_end_offset: int
    state: VoterState
    last_fetch: int = -1
    """When the leader heard from it last, in milliseconds by the leader's clock."""
    endpoints: tuple[tuple[str, str, int], ...] = ()
    """(Listener, host, port) by which the metadata log knows it; empty where the leader does not tell."""

    @property
    def live(self) -> bool:
        return self.state is VoterState.LIVE

    @property
    def key(self) -> tuple[int, str]:
        return self.node_id, self.directory_id


@dataclass(frozen=True, slots=True)
class Observer:
    """A replica that is no voter."""

    node_id: int
    directory_id: str
    caught_up: bool
    """It holds what was committed a round ago, and the leader heard from it since."""
    last_fetch: int = -1


@dataclass(frozen=True, slots=True)
class Quorum:
    state: QuorumState = QuorumState.UNKNOWN
    detail: str = "no controller was asked"
    leader_id: int = -1
    epoch: int = -1
    high_watermark: int = -1
    voters: tuple[QuorumVoter, ...] = ()
    observers: tuple[Observer, ...] = ()
    proven: bool = False
    """A majority named the same leader in the same epoch a round ago too, so what is said of voters compares two
    rounds.
    """
    advanced: bool = False
    """Something was committed since that round."""
    settled: bool = False
    """The voters are the same as in that round, and all that the leader's log held then is committed: so is this voter
    set.
    """

    @property
    def live(self) -> int:
        return sum(voter.live for voter in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    @property
    def headroom(self) -> int:
        """How many more voters may be lost: below 0 there is no majority of live ones."""
        return self.live - self.majority

    def voter(self, node_id: int) -> QuorumVoter | None:
        return next((each for each in self.voters if each.node_id == node_id), None)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a partition's replicas are."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...] = ()
    leader: int = -1
    """-1: none."""

    @property
    def key(self) -> tuple[str, int]:
        return self.topic, self.partition


Levels = Mapping[str, tuple[int, int]]
"""Feature to the lowest and highest level that a node supports."""


@dataclass(frozen=True, slots=True)
class Registry:
    """What nodes say of versions, and whom the controllers have on their list; None where nobody could be asked."""

    controllers: frozenset[int] | None = None
    apis: frozenset[int] | None = None
    """Keys of the APIs that the controllers serve."""
    finalized: Mapping[str, int] | None = None
    supported: Mapping[int, Levels] = field(default_factory=dict)
    """Of the nodes that were asked and answered."""
    granted: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """(Feature, level) to what the active controller says to a trial that changes nothing: empty if it would do it."""


@dataclass(frozen=True, slots=True)
class Brokers:
    """What the cluster's own metadata says besides the quorum; None where nobody could be asked."""

    registered: frozenset[int] | None = None
    fenced: frozenset[int] | None = None
    replicas: Mapping[int, tuple[str, ...]] | None = None
    """Broker id to topics (a few, for the message) that have a replica there."""
    at_risk: Mapping[int, tuple[str, ...]] | None = None
    """Broker id to replicated partitions (a few) that would be left with too few replicas in sync if it stopped."""
    racks: Mapping[int, str] = field(default_factory=dict)
    partitions: tuple[Placement, ...] | None = None
    moving: frozenset[tuple[str, int]] | None = None
    """Partitions whose replicas are on the move."""
    registry: Registry = Registry()
    users: Found | None = None
    """Asked for where there are any."""
    cordoned: Mapping[int, bool | None] = field(default_factory=dict)
    """Of leaving brokers that answered: whether they take no new replicas; None where the release knows no cordons."""
    directories: Mapping[int, Directories] = field(default_factory=dict)
    """Of the brokers that are to do without a volume, and answered."""


@dataclass(frozen=True, slots=True)
class Observed:
    claims: tuple[Claim, ...] = ()
    pods: tuple[Pod, ...] = ()
    sets: tuple[NodeSet, ...] = ()
    children: tuple[Child, ...] = ()
    quorum: Quorum = Quorum()
    brokers: Brokers = Brokers()
    racks: Mapping[int, str] = field(default_factory=dict)
    """Node id to the value of the pool's rack label on the Kubernetes node where its pod is."""
    volumes: frozenset[str] = frozenset()
    """Names of the PersistentVolumes that the ledger knows and that exist although their claim is gone."""
    stranded: Mapping[str, str] = field(default_factory=dict)
    """Volume of a node that does not run to the Kubernetes node it was on, which is gone or out of service."""
    unready: Mapping[str, str] = field(default_factory=dict)
    """The same for nodes that are merely not Ready: they may come back any moment."""
    ledger_owners: tuple[str, ...] = ()
    """UIDs of the resources that the ledger's ConfigMap goes with; empty when it outlives them."""
    operations: tuple[Operation, ...] = ()
    """The KRaftOperations that name this cluster, ended ones too."""
    helpers: tuple[Helper, ...] = ()
    witnesses: tuple[Witness, ...] | None = None
    """What every process that answered knows of the log; None when nobody was asked."""
    expandable: Mapping[str, bool] = field(default_factory=dict)
    """Of the classes of claims that are smaller than the resource wants: whether their volumes can grow."""
    missing_classes: frozenset[str] = frozenset()
    """Of the storage classes that claims without a volume name: those that there are not."""
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Of sets that have to make a pod: group and revision to what the API server said against it."""
    zones: Mapping[int, str] = field(default_factory=dict)
    """Controllers' node ids to the failure domain of the Kubernetes node where their pod is, where the resource names a
    label for them: empty if that node does not bear it, absent without a pod that is somewhere."""
    reclaimed: frozenset[str] = frozenset()
    """Names of the bound PersistentVolumes that go with their claim (reclaim policy Delete)."""
    retained: frozenset[str] = frozenset()
    """Names of bound PersistentVolumes that outlive their claim: read in this pass while ProtectClaims is under way."""
    credentials: Credentials | None = None
    """Of a secure cluster."""
    users: Users | None = None
    """Of a secure cluster."""
    plaintext_sessions: Mapping[int, int] = field(default_factory=dict)
    """Controllers to the connections on their plaintext listener, of those that tell; asked before it is closed."""
    archive_claim: Claim | None = None
    """Of the archive, looked for while a quorum is made of it: by a RecoverQuorum, or of a new cluster."""
    archive_on: str = ""
    """The Kubernetes node where the pod of that archive is, which may live on."""
    archive: ArchiveSeen | None = None
    """What the page of the archive said; None when it did not answer, or there is none."""
    audit: AuditSeen = field(default_factory=AuditSeen)
    lake_missing: bool = False
    """The claim of the audits' lake is not there, as far as was looked."""
    hosts: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Node ids to name and UID of the Kubernetes node on which they run, where the ledger does not say so already."""
    further_claims: tuple[Claim, ...] = ()
    """Of brokers' volumes beside the first, which alone are among `claims`."""
    routes: Routes = Routes()

    def pod(self, node_id: int) -> Pod | None:
        return next((pod for pod in self.pods if pod.node_id == node_id), None)

    def claim(self, name: str) -> Claim | None:
        return next((claim for claim in self.claims if claim.name == name), None)

    def any_claim(self, name: str) -> Claim | None:
        return next((claim for claim in (*self.claims, *self.further_claims) if claim.name == name), None)

    def node_set(self, node_id: int) -> NodeSet | None:
        return next((each for each in self.sets if each.node_id == node_id), None)
