"""What a rule sees and what it may answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from kraft_operator.actions import Action
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.ledger import Ledger
from kraft_operator.manifests.context import Images, NodePlan
from kraft_operator.observed import Observed
from kraft_operator.operations.operation_report import OperationReport
from kraft_operator.plan.brake import NO_LIMIT, Brake
from kraft_operator.plan.rendered import Rendered
from kraft_operator.plan.steps import EMPTY, Outline

Draw = Callable[[], str]
"""A fresh random uuid in Kafka's text form."""

Progress = Mapping[tuple[int, str], tuple[int, int]]
"""(node id, directory id) to the (epoch, offset) that a controller's log was seen to have reached."""


@dataclass(frozen=True, slots=True)
class Fence:
    """In whose name steps are journaled: this holder, in this term of the Lease."""

    holder: str
    transitions: int


Settled = Mapping[tuple[str, str], str]
"""(kind, name) of a child to the fingerprint that the API server made of our last apply; see `children`."""


class Topic(StrEnum):
    """The condition that a finding speaks to."""

    SPEC = "SpecValid"
    PLAN = "PlanApproved"
    STORAGE = "StorageHealthy"
    MEMBERSHIP = "MembershipSynced"
    ROLLOUT = "RolloutComplete"
    PODS = "PodsHealthy"
    VERSIONS = "VersionFinalized"
    REGISTRATIONS = "RegistrationsClean"
    ENDPOINTS = "EndpointsConsistent"
    DOMAINS = "FailureDomainsSatisfied"
    SECURITY = "CertificatesValid"
    ARCHIVE = "ArchiveCurrent"
    ARCHIVE_COPY = "ArchiveCopyCurrent"
    AUDIT = "AuditCurrent"
    SUSPENDED = "Suspended"
    HIBERNATED = "Hibernated"
    MANUAL = "ManualInterventionRequired"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that keeps the cluster from being what it should be, with the remedy in the message."""

    topic: Topic
    reason: str
    message: str
    subject: str = ""
    """The pod or claim it is about."""
    stalled: bool = False
    """Nothing but a person's act will change it."""
    deferred: bool = False
    """The fleet's brake holds it back: time alone will change it."""


@dataclass(frozen=True, slots=True)
class Situation:
    cluster: KRaftCluster
    observed: Observed
    ledger: Ledger | None
    fence: Fence
    draw: Draw
    images: Images
    settled: Settled = field(default_factory=dict)
    progress: Progress = field(default_factory=dict)
    overdue: frozenset[str] = frozenset()
    """UIDs of pods that did not react for a while to what was written on them."""
    waited: Mapping[str, float] = field(default_factory=dict)
    """For how many seconds each suspicion of earlier plans has stood without a break."""
    published: Outline = EMPTY
    """The plan that the status shows."""
    date: datetime | None = None
    """Today, by the wall clock; None where nothing that has ended is to be cleared away."""
    brake: Brake = NO_LIMIT
    """How many replacements the operator has begun lately, over all of its clusters."""
    nodes: tuple[NodePlan, ...] = ()
    """Filled in by the rules about nodes, in the order of ids."""
    replacing: frozenset[int] = frozenset()
    """Nodes of whose lost disk the rule about losses speaks; filled in by it."""
    rolled_back: Mapping[str, tuple[KRaftCluster, Images]] = field(default_factory=dict)
    """Groups that do not get their wanted revision, to the resource and images that their last good one was made of."""
    bad: bool = False
    """Something that the resource asks for is known to break pods: no pod gets a revision that nobody has
    seen at work.
    """
    guarded: frozenset[int] = frozenset()
    """Nodes whose pod is all that keeps a claim that somebody deletes: filled in by the rule about claims."""
    stepped: bool = False
    """A rule before this one has planned a disruptive step: the voters change or restart one at a time."""
    rendered: Rendered = field(default_factory=Rendered)
    """What was rendered before, for this cluster."""
    lays_out: bool = True
    """The way ahead is laid out anew. It costs as much as hundreds of looks at a large cluster: without it, what was
    published stays as it is, as long as the rules do nothing else.
    """
    empty: frozenset[str] = frozenset()
    """UIDs of claims whose volume was seen to be empty: known where the way is laid out."""
    foreseen: bool = False
    """It lies ahead: what somebody has to approve is taken as approved, so that the way goes on behind it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One rule's answer. `ledger` and `nodes` replace the situation's for the rules behind it."""

    ledger: Ledger | None = None
    nodes: tuple[NodePlan, ...] | None = None
    actions: tuple[Action, ...] = ()
    findings: tuple[Finding, ...] = ()
    suspects: frozenset[str] = frozenset()
    """What is suspected now; it has to stand for a while before anything follows from it."""
    replacing: frozenset[int] = frozenset()
    guarded: frozenset[int] = frozenset()
    rolled_back: Mapping[str, tuple[KRaftCluster, Images]] = field(default_factory=dict)
    bad: bool = False
    stop: bool = False
    """No rule behind this one is asked."""


NOTHING = Verdict()
Rule = Callable[[Situation], Verdict]


@dataclass(frozen=True, slots=True)
class Decision:
    actions: tuple[Action, ...] = ()
    findings: tuple[Finding, ...] = ()
    ledger: Ledger | None = None
    """The ledger as it is once the plan is done."""
    nodes: tuple[NodePlan, ...] = ()
    suspects: frozenset[str] = frozenset()
    reports: tuple[OperationReport, ...] = ()
    """What is to be said of operations."""
    risks: tuple[str, ...] = ()
    """What is as it was asked for, and may cost data all the same."""
    outline: Outline = EMPTY
    """The whole way, as it is published."""
