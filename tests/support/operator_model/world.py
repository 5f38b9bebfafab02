"""A model of Kubernetes, disks and a quorum around the real planner and the real storage guard, for tests that need
thousands of histories.

Everything that decides is production code: `plan` for the operator, `judge`, `decide` and `seal` for the guards. The
model only moves values: a kubelet that starts pods and runs their init containers one step at a time, disks that keep
what was written, voters that elect when a majority of those that the first formatting named is up. It is no proof of
how Kubernetes behaves; end-to-end tests are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from controller_runtime.identifiers import Uuid
from kraft_operator.actions import (
    Action,
    AddVoter,
    ApplyChild,
    BeginReplacement,
    CordonBroker,
    DeleteChild,
    DeleteOperation,
    DeliverGrant,
    DiscardClaim,
    DropClaim,
    EndHelper,
    FinalizeFeature,
    MakeClaim,
    MoveReplicas,
    RemoveVoter,
    RestartPod,
    RunHelper,
    UncordonBroker,
    UpdateVoter,
    WriteLedger,
    target,
)
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import quantity
from kraft_operator.api.roles import BROKER, controls, serves
from kraft_operator.api.spec import KRaftCluster, VolumePolicy
from kraft_operator.claim_memory import KEY
from kraft_operator.directories import EVERY, Directories, Directory
from kraft_operator.judgement import Belief, Described, Replica, Round, round_of
from kraft_operator.judgement import judge as judge_quorum
from kraft_operator.kept_volumes import emptied, keeping_volumes
from kraft_operator.ledger import Ledger
from kraft_operator.ledger_format import LEDGER_KEY, parse, render
from kraft_operator.manifests.context import Images
from kraft_operator.manifests.further import log_directory
from kraft_operator.manifests.helpers import LABEL_HELPER, LABEL_HELPER_NODE, LABEL_OPERATION
from kraft_operator.manifests.properties import LOG_PATH
from kraft_operator.observed import (
    Brokers,
    Child,
    Claim,
    Helper,
    NodeSet,
    Observed,
    Placement,
    Pod,
    Quorum,
    QuorumVoter,
    Registry,
    Routes,
    Trouble,
    VoterState,
)
from kraft_operator.operations.operation import ANNOTATION_APPROVE, parse_operation
from kraft_operator.operations.operation_report import status_of
from kraft_operator.operations.verdict import Witness
from kraft_operator.plan.brake import Begun, Brake
from kraft_operator.plan.outline.after import changed
from kraft_operator.plan.rendered import Rendered
from kraft_operator.plan.rollout.rolling import IDLE, IDLE_SECONDS
from kraft_operator.plan.rollout.versions import trials
from kraft_operator.plan.rules import plan
from kraft_operator.plan.situation import Decision, Fence, Situation
from kraft_operator.plan.steps import Outline, from_status, to_status
from kraft_operator.pod_facts import helped
from kraft_operator.removals import EmptyDirectory
from kraft_operator.users import Acl
from storage_guard.copies import CopyReport, State
from storage_guard.facts import DirectoryIdentity, Journal, LedgerFacts, LogEnd, Passage, PodFacts, VolumeFacts, Way
from storage_guard.formats import (
    INITIAL_CONTROLLERS_PREFIX,
    NO_INITIAL_CONTROLLERS,
    Grant,
    GrantMode,
    GuardStep,
    Identity,
    Marker,
    MarkerState,
    Report,
    identity_key,
)
from storage_guard.judge import Judgement, judge
from storage_guard.passage import Hold, Sealed, decide, granted_marker, seal
from support.operator_model.hindrances import UNBOUND, hindrance, is_starved, refused_by_kubernetes

IMAGES = Images("operator:test", "operators")
DEBOUNCE = 10.0
CORDONS = 30
"""The metadata.version from which on a broker can be cordoned."""
PASS_SECONDS = 4.0
"""How long a pass takes in this world: three passes outlast the debounce of 10 s."""
CRASH_LOOP = Trouble("CrashLoopBackOff", "the container ends again and again", "kafka")
PLAINTEXT: Mapping[str, object] = {"tls": {"mode": "Disabled"}}
"""As a new cluster has to say it; most stories are about something else."""
STAGES = ("inspect", "gate", "format", "seal", "running")


def resource(**changes: object) -> dict[str, object]:
    """A KRaftCluster of three controllers and two brokers; `changes` replace parts of its spec."""
    spec: dict[str, object] = {
        "image": {"repository": "kafka", "tag": "1"},
        "controllers": {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}},
        "brokerPools": [pool("b", 2, 100)],
        "security": PLAINTEXT,
    }
    meta = {"name": "c", "namespace": "n", "uid": "cluster-uid", "generation": 1}
    return {"metadata": meta, "spec": {**spec, **changes}}


def pool(name: str, replicas: int, start: int) -> dict[str, object]:
    ids = {"start": start, "end": start + 9}
    return {"name": name, "replicas": replicas, "nodeIdRange": ids, "storage": {"size": "1Gi"}}


@dataclass(slots=True)
class Disk:
    """A physical volume. `ran` remembers what no real disk tells: the directories whose node has ever run on it."""

    name: str
    facts: VolumeFacts = field(default_factory=VolumeFacts)
    ran: set[str] = field(default_factory=set)


@dataclass(slots=True)
class LivePod:
    uid: str
    claim: str
    stage: str = "inspect"
    format_mode: str = ""
    grant: Grant | None = None
    report: Report | None = None
    sealed: Report | None = None
    journal: Journal = field(default_factory=Journal)
    passage: Passage | None = None
    trouble: Trouble | None = None
    hold: str = ""
    revision: str = ""
    """The whole template, without what chance gave."""
    template: str = ""
    """What of it asks for a restart."""
    nudges: int = 0
    image: str = ""
    guards: str = ""
    """Their image."""
    properties: str = ""
    hindrance: Trouble | None = None
    """Why no Kubernetes node runs it as it is."""
    sick: bool = False
    """What it runs with does not suffice any more."""
    volume: str = ""
    """Which further volume this is about, where it is one of `further`."""
    further: dict[str, LivePod] = field(default_factory=dict)
    """What its guards know of each further volume."""

    @property
    def each(self) -> tuple[LivePod, ...]:
        return (self, *self.further.values())

    @property
    def crashes(self) -> bool:
        """Its init containers have ended, and its process ends again and again."""
        return self.stage == "running" and (self.sick or "explode=" in self.properties)

    @property
    def runs(self) -> bool:
        return self.stage == "running" and not self.crashes


@dataclass(slots=True)
class LiveClaim:
    uid: str
    volume: str
    marks: dict[str, str] = field(default_factory=dict)
    requested: float = 2.0**30
    capacity: float = 2.0**30
    """The world has no resizer: a test that lets volumes grow plays it."""
    terminating: bool = False
    """Somebody deleted it; it goes with the last pod that uses it."""
    further: Claim | None = None
    """Of a broker's volume beside the first: how it was made."""
    storage_class: str = "standard"
    unbound: bool = False
    """Its class did not exist when it was made."""


class World:
    def __init__(self, **changes: object) -> None:
        self.cluster: KRaftCluster = parse_cluster(resource(**changes))
        self.images = IMAGES
        self.rendered = Rendered()
        """The guards', and where the operator is."""
        self.published = Outline()
        """The plan that the status shows."""
        self.ledger_data: dict[str, str] | None = None
        self.saved: dict[str, str] = {}
        """A ledger that somebody has saved."""
        self.ledger_owners: tuple[str, ...] = ()
        self.claims: dict[str, LiveClaim] = {}
        self.disks: dict[str, Disk] = {}
        self.pods: dict[int, LivePod] = {}
        self.sets: dict[int, NodeSet] = {}
        self.children: dict[tuple[str, str], Child] = {}
        self.registered: set[int] = set()
        self.replicas: dict[int, tuple[str, ...]] = {}
        self.at_risk: dict[int, tuple[str, ...]] = {}
        self.fence = Fence("operator-a", 1)
        self.clock = 0
        self.chosen = -1
        self.lagging: set[int] = set()
        self.wiped: dict[str, VolumeFacts] = {}
        """What was on disks that were emptied in place."""
        self.zones: dict[int, str] = {}
        """Where the Kubernetes nodes of controllers' pods are, by node id; the others' nodes bear no label."""
        self.seen_leader = -1
        """Who led when the operator looked last."""
        self.drifted: dict[int, tuple[str, int]] = {}
        """Voters that the metadata log knows by another host and port than their own."""
        self.away: dict[str, bool] = {}
        """Volumes whose Kubernetes node is silent, or (True) gone for good."""
        self.frozen: set[int] = set()
        """Nodes whose process hangs: it neither answers nor fetches."""
        self.formats: list[tuple[str, str, int, str]] = []
        """(mode, disk, node id, directory id) of every formatting that happened."""
        self.voters: dict[int, str] = {}
        """The voter set: what the first formatting wrote, as it was changed since."""
        self.acknowledged = 0
        self.waited: dict[str, float] = {}
        self.lost_answers = 0
        """How many coming changes of voters happen without their answer reaching the operator."""
        self.before: Round | None = None
        self.fetched: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.removed: list[Replica] = []
        """Voters that were removed: their leader lists them among its observers for minutes."""
        self.known: dict[int, tuple[tuple[str, str, int], ...]] = {}
        """Voters whose listeners were changed, to what the metadata log says of them."""
        self.silent: set[int] = set()
        """Controllers that do not have their own entry corrected."""
        self.writes: list[Action] = []
        self.node_ports: dict[str, int] = {}
        self.balancers = False
        self.balancer_says: dict[str, str] = {}
        """Services to why their load balancer is refused."""
        self.expands = True
        """Whether the class of all volumes allows them to grow."""
        self.lost: set[str] = set()
        """Directory ids whose node has run and whose disk is gone: none of them may ever be made again."""
        self.restarts: list[int] = []
        """Node ids of pods that the operator restarted, in order."""
        self.partitions: dict[tuple[str, int], list[int]] = {}
        """Of topics that were placed: where their replicas are."""
        self.in_sync: dict[tuple[str, int], list[int]] = {}
        """Of each partition, as the controllers have it; the last one stays, however long it is away."""
        self.complete: dict[tuple[str, int], set[frozenset[str]]] = {}
        """Of each partition the brokers that hold all of it, as the directories that they had: which of them has the
        partition is not known here, so a broker that has lost one may have lost it."""
        self.begun_empty: list[tuple[str, int]] = []
        """Partitions whose leader did not hold all of them: what they had is lost."""
        self.brake = Brake()
        self.date: datetime | None = None
        """By the wall clock, where a story is about it."""
        self.moving: dict[tuple[str, int], list[int]] = {}
        self.apis = {46, 82}
        """Of those that move replicas; 45 is what the bundled runtime does not serve."""
        self.cordoned: set[int] = set()
        """Brokers that take no new replicas. The controllers keep that, whether they are registered or not."""
        self.lies: dict[tuple[int, str, int], str] = {}
        """Of replicas (broker, topic, partition) that are not on the first volume of their broker: where they are."""
        self.relocating: dict[tuple[int, str, int], str] = {}
        """Replicas on their way to another volume of their broker, and to which."""
        self.sizes: dict[str, int] = {}
        """Bytes of each replica of a topic: a million if nobody says."""
        self.room: dict[tuple[int, str], int] = {}
        """Bytes that are free on a volume of a broker: plenty if nobody says."""
        self.closed: dict[int, tuple[str, ...]] = {}
        """Directories of brokers that take no new replicas."""
        self.finalized = {"metadata.version": 29, "kraft.version": 1}
        self.ghost_controllers: dict[int, int] = {}
        """Registered controllers that are gone, and the level they supported."""
        self.bad_images: set[str] = set()
        """Images that no kubelet can start."""
        self.private: set[str] = set()
        """Images that come only with the pull secret `registry`."""
        self.missing_classes: set[str] = set()
        self.made: set[str] = set()
        """Kinds of which somebody has made the one that is called `absent`."""
        self.sick_images: set[str] = set()
        """Images whose processes end again and again."""
        self.broken: list[str] = []
        """Promises that were seen to be broken."""
        self.ghosts: set[int] = set()
        self.epoch = 1
        self.helpers: dict[str, Helper] = {}
        self.helped: dict[str, list[str]] = {}
        """Helper pods, ended ones too, and the claims they name."""
        self.tasks: dict[str, RunHelper] = {}
        """Helper pods that have not done their task yet."""
        self.behind: set[int] = set()
        self.retained: set[str] = set()
        """Volumes whose reclaim policy is Retain: they outlive their claim."""
        self.promised: dict[str, int] = {}
        """Disks that tell of a later epoch than that of their log."""
        self.operations: dict[str, dict[str, object]] = {}
        """KRaftOperations by name, as the API server has them."""
        self.logins: dict[str, str] = {}
        """Who can log in, and by what: the salted password."""
        self.acls: dict[str, set[Acl]] = {}
        self.quotas: dict[str, dict[str, float]] = {}
        self.users: dict[str, dict[str, Any]] = {}
        """KRaftUsers by name, as the API server has them."""
        self.secrets: dict[str, dict[str, Any]] = {}
        """By name, as the API server has them."""

    # the operator

    @property
    def ledger(self) -> Ledger | None:
        return _ledger(self.ledger_data.get(LEDGER_KEY)) if self.ledger_data is not None else None

    def edit(self, **changes: object) -> None:
        edited = parse_cluster(resource(**changes))
        self.cluster = replace(
            edited,
            generation=self.cluster.generation + 1,
            approve=self.cluster.approve,
            given_up_claims=self.cluster.given_up_claims,
            approved_formats=self.cluster.approved_formats,
        )

    def approve(self, name: str | None = None) -> None:
        """Annotate the resource with a plan's hash, by default that of the published one."""
        self.cluster = replace(self.cluster, approve=self.published.hash if name is None else name)

    def plan(self) -> Decision:
        """A look at the quorum, then a second one for the plan: time passes between passes, far more than a follower's
        fetch takes.
        """
        now = self.situation()
        decision = plan(now)
        self.published = decision.outline
        seen = round_of(now.observed.quorum)
        self.before = (
            replace(seen, high_watermark=seen.high_watermark - 1) if seen else None
        )  # a NoOpRecord was committed since
        self.waited = {each: self.waited.get(each, 0.0) + PASS_SECONDS for each in decision.suspects}
        return decision

    def situation(self) -> Situation:
        return Situation(
            self.rendered.begin(keeping_volumes(self.cluster, self.ledger, (seen := self.observed()).further_claims)),
            seen,
            self.ledger,
            self.fence,
            self.draw,
            self.images,
            waited=dict(self.waited),
            published=from_status(to_status(self.published, {}, "")),
            brake=self.brake,
            date=self.date,
            rendered=self.rendered,
            overdue=frozenset(pod.uid for pod in self.pods.values() if pod.stage == "gate" and pod.grant and pod.hold),
        )

    def reconcile(self, stop_after: int | None = None) -> Decision:
        """One pass; the operator dies after `stop_after` actions."""
        decision = self.plan()
        for count, action in enumerate(decision.actions):
            if count == stop_after:
                return decision
            self.perform(action)
        for told in decision.reports:
            self.operations[told.operation.name]["status"] = status_of(told, str(self.clock))
        return decision

    def ask(self, name: str, kind: str, node_id: int | None = None) -> None:
        """Somebody creates a KRaftOperation."""
        spec = {"clusterName": "c", "type": kind} | ({"nodeID": node_id} if node_id is not None else {})
        meta = {"name": name, "uid": f"op-{name}", "generation": 1, "creationTimestamp": f"{len(self.operations):04}"}
        self.operations[name] = {"metadata": meta, "spec": spec}

    def _start_helper(self, action: RunHelper) -> None:
        if action.pod in self.helpers:
            return
        labels = action.manifest["metadata"]["labels"]
        what, node_id = labels[LABEL_HELPER], helped(labels[LABEL_HELPER_NODE])
        if action.claim is not None:
            volume = self.fresh("pv")
            self.disks[volume] = Disk(volume)
            marks = {
                each.rpartition("/")[2]: str(value) for each, value in action.claim["metadata"]["annotations"].items()
            }
            self.claims[action.claim["metadata"]["name"]] = LiveClaim(self.fresh("pvc"), volume, marks)
        self.helpers[action.pod] = Helper(action.pod, self.fresh("pod"), what, node_id, labels[LABEL_OPERATION])
        self.tasks[action.pod] = action
        self.helped[action.pod] = self._claims_of(action)

    def _drop(self, action: DropClaim) -> None:
        claim = self.claims.get(action.claim)
        used = [name for name, claims in self.helped.items() if name in self.helpers and action.claim in claims]
        if used:
            self.broken.append(f"{action.claim} cannot go: {used} name it")
        if claim is not None and claim.uid == action.uid:
            if claim.further is None and self.disks[claim.volume].facts != VolumeFacts():
                self.broken.append(f"{action.claim} was dropped and is not empty")
            if action.claim in {each.claim for pod in self.pods.values() for each in pod.each}:
                self.broken.append(f"{action.claim} was dropped under its pod")
            self.lost |= self.disks[claim.volume].ran
            del self.disks[claim.volume], self.claims[action.claim]

    def perform(self, action: Action) -> None:
        self.writes.append(action)
        kept = {node: pod.uid for node, pod in self.pods.items() if self.keeps_its_claim(node)}
        self._perform(action)
        for node_id, uid in kept.items():
            held = node_id not in self.sets or self.sets[node_id].replicas == 0
            if held or node_id not in self.pods or self.pods[node_id].uid != uid:
                self.broken.append(f"{target(action)}: the pod that kept the claim of node {node_id} was given up")

    def keeps_its_claim(self, node_id: int) -> bool:
        """Whether only this pod stands between a disk that the ledger knows and its end, and nobody has given the disk
        up.
        """
        entries = self.ledger.every_entry if self.ledger else ()
        known = {each.pvc_uid for each in entries if each.node_id == node_id and each.directory_id is not None}
        claims = {each.claim: self.claims[each.claim] for each in self.pods[node_id].each if each.claim in self.claims}
        return any(
            claim.terminating and claim.uid in known and claim.volume not in self.retained
            for name, claim in claims.items()
            if f"{name}:{claim.uid}" not in self.cluster.given_up_claims
        )

    def _perform(self, action: Action) -> None:
        """What has a physical side is done here; the rest is what `changed` makes of what is kept."""
        match action:
            case WriteLedger():
                self.ledger_data = render(action.ledger)
                owned = self.cluster.spec.volume_policy is VolumePolicy.DELETE
                self.ledger_owners = (self.cluster.uid,) if owned else ()
            case ApplyChild(manifest):
                self._apply(manifest)
            case DeliverGrant():
                pod = next((each for each in self.pods.values() if each.uid == action.grant.pod_uid), None)
                if pod is not None and action.volume:
                    pod.further[action.volume].grant = action.grant
                elif pod is not None:
                    pod.grant = action.grant
                    pod.format_mode = action.format_argument or pod.format_mode
            case MakeClaim():
                made = changed(self._kept(), action).any_claim(action.claim)
                self.make_claim(action.claim, action.volume, made if made is not None and made.further else None)
            case BeginReplacement():
                begun = Begun(self.cluster.uid, "n/c", action.node_id, action.directory_id, self.brake.now)
                self.brake = replace(self.brake, begun=(*self.brake.begun, begun))
            case MoveReplicas():
                self.move(action.replicas)
            case CordonBroker():
                self.cordon(action.node_id, action.directories)
            case EmptyDirectory():
                self.relocate(action.node_id, action.replicas)
            case UncordonBroker():
                self.uncordon(action.node_id)
            case FinalizeFeature():
                self.finalize(action.feature, action.level)
            case RemoveVoter():
                self._remove_voter(action)
            case AddVoter():
                self._add_voter(action)
            case UpdateVoter():
                self._update_voter(action)
            case DiscardClaim():
                self._discard(action)
            case RunHelper():
                self._start_helper(action)
            case EndHelper():
                self.helpers.pop(action.pod, None)
                self.tasks.pop(action.pod, None)
            case DropClaim():
                self._drop(action)
            case DeleteOperation():
                self.operations.pop(action.name, None)
            case RestartPod():
                self.restarts += [node_id for node_id, pod in self.pods.items() if pod.uid == action.uid]
                self.play(action)
            case _:
                self.play(action)

    def play(self, action: Action) -> None:
        """Take over what the operator's own model says of this action. A set that is orphaned stays known: its pod is
        of its making.
        """
        seen = changed(self._kept(), action)
        self.children = {(each.kind, each.name): each for each in seen.children}
        left = {each.uid: each for each in seen.pods}
        self.pods = {node: pod for node, pod in self.pods.items() if pod.uid in left}
        gone = action.name if isinstance(action, DeleteChild) else None
        known = {node: each for node, each in self.sets.items() if each.name != gone}
        self.sets = known | {each.node_id: each for each in seen.sets}
        for pod in self.pods.values():
            pod.nudges = left[pod.uid].nudges
        for each in (*seen.claims, *seen.further_claims):
            if each.name not in self.claims:
                volume = self.fresh("pv")
                self.disks[volume] = Disk(volume)
                self.claims[each.name] = LiveClaim(self.fresh("pvc"), volume, capacity=each.capacity, further=each)
            self.claims[each.name].marks, self.claims[each.name].requested = dict(each.identity), each.requested
            self.claims[each.name].further = each if each.further else None
        self.retained = set(seen.retained)
        self.voters = {each.node_id: each.directory_id for each in seen.quorum.voters}
        assert seen.brokers.registered is not None
        self.registered = set(seen.brokers.registered)
        self.cordoned = {each for each, closed in seen.brokers.cordoned.items() if closed}
        self.finalized = dict(seen.brokers.registry.finalized or {})

    def _kept(self) -> Observed:
        """What is kept as the operator sees it, whether anybody could be asked or not."""
        ends = self.acknowledged
        return Observed(
            claims=tuple(self._claims()),
            further_claims=tuple(self._further_claims()),
            pods=tuple(self._pods()),
            sets=tuple(each for each in self.sets.values() if ("StatefulSet", each.name) in self.children),
            children=tuple(self.children.values()),
            quorum=Quorum(voters=tuple(QuorumVoter(*each, ends, VoterState.LIVE) for each in self.voters.items())),
            brokers=Brokers(
                frozenset(self.registered),
                cordoned={each: each in self.cordoned for each in {*self.registered, *self.cordoned}},
                registry=Registry(finalized=dict(self.finalized)),
            ),
            retained=frozenset(self.retained),
        )

    def _remove_voter(self, action: RemoveVoter) -> None:
        """The active controller's answer: a majority of the new set commits, or nothing happens."""
        if self.leader() < 0 or self.voters.get(action.node_id) != action.directory_id:
            return
        left = {node: directory for node, directory in self.voters.items() if node != action.node_id}
        if len(self.running_voters(left)) <= len(left) // 2:
            self.broken.append(f"voter {action.node_id} was removed though no majority of the others runs")
            return
        self.play(action)
        self.drifted.pop(action.node_id, None)
        end, fetched = self.ends.get(action.node_id, 0), self.fetched.get(action.node_id, 0)
        self.removed.append(Replica(action.node_id, action.directory_id, end, fetched))
        self._commit()

    def _add_voter(self, action: AddVoter) -> None:
        if self.leader() < 0 or action.node_id in self.voters:
            return
        more = {**self.voters, action.node_id: action.directory_id}
        if len(self.running_voters(more)) <= len(more) // 2:
            self.broken.append(f"voter {action.node_id} was added though it makes the quorum unavailable")
            return
        self.play(action)
        self.removed = [each for each in self.removed if (each.node_id, each.directory_id) not in more.items()]
        self._commit()

    def _update_voter(self, action: UpdateVoter) -> None:
        """The leader checks epoch and directory, nobody's address. Asked to update itself it ends, as Apache Kafka's
        does. One that leads since the last look has another epoch."""
        if self.leader() != self.seen_leader:
            return
        if action.node_id == self.leader():
            self.broken.append(f"leader {action.node_id} was asked to update itself")
        if self.leader() < 0 or action.epoch != self.epoch or self.voters.get(action.node_id) != action.directory_id:
            return
        self._know(action.node_id, action.endpoints)
        _, host, port = action.endpoints[0]
        if host != self.cluster.voter_host(action.node_id):
            self.broken.append(f"voter {action.node_id} is said to be at {host}:{port}")
        self.drifted.pop(action.node_id, None)
        self._commit()

    def drift(self, node_id: int) -> None:
        """Somebody has told the leader another endpoint of this voter, which reaches it too."""
        self.drifted[node_id] = ("elsewhere", 9093)

    def _discard(self, action: DiscardClaim) -> None:
        claim = self.claims.get(action.claim)
        if claim is None or claim.uid != action.claim_uid:
            return
        del self.claims[action.claim]
        disk = self.disks.pop(claim.volume)
        self.away.pop(claim.volume, None)
        self.lost |= disk.ran
        live = set(self.voters.values())
        if disk.facts.identity is not None and disk.facts.identity.directory_id in live:
            self.broken.append(f"the disk of voter {disk.facts.identity} was discarded")
        self.pods = {node: pod for node, pod in self.pods.items() if pod.uid != action.pod_uid}

    def _apply(self, manifest: object) -> None:
        assert isinstance(manifest, dict)
        if manifest["kind"] == "Service":
            manifest = self._served(manifest)
        self.play(ApplyChild(manifest, ""))

    def _served(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """With what Kubernetes adds: ports of the nodes; the address of a balancer once there is one."""
        spec, name = manifest["spec"], manifest["metadata"]["name"]
        if spec["type"] == "ClusterIP":
            return manifest
        self.node_ports.setdefault(name, 30000 + len(self.node_ports))
        ports = [{**each, "nodePort": self.node_ports[name]} for each in spec["ports"]]
        ingress = [{"ip": f"192.0.2.{self.node_ports[name] - 30000}"}] if self.balancers else []
        return {**manifest, "spec": {**spec, "ports": ports}, "status": {"loadBalancer": {"ingress": ingress}}}

    def balance(self) -> None:
        """Somebody installs what gives addresses to load balancers."""
        self.balancers = True
        for child in [each for each in self.children.values() if each.kind == "Service"]:
            self._apply(child.live)

    def trust(self, name: str, text: str) -> None:
        """Somebody approves the verdict of a RecoverQuorum."""
        meta = self.operations[name]["metadata"]
        assert isinstance(meta, dict)
        meta["annotations"] = {ANNOTATION_APPROVE: text}

    def promise(self, node_id: int, epoch: int) -> None:
        """This controller has heard of a later epoch."""
        self.promised[self._disk(self.pods[node_id]).name] = epoch

    def older(self, node_id: int) -> None:
        """This controller's claim is one of the generation before, and none remembers more than its own disk."""
        self.forget_memory()
        self.claims[self.pods[node_id].claim].marks["generation"] = "1"

    def _witnesses(self) -> tuple[Witness, ...] | None:
        if self.ledger is None or self.ledger.recovery is not None:
            return None
        running = [each for each, pod in self.pods.items() if pod.runs and each not in self.frozen]
        ends = {each: self._disk(self.pods[each]).facts.log_end for each in running}
        return tuple(Witness(each, end.offset, end.epoch) for each, end in ends.items() if end is not None)

    def help(self) -> bool:
        """Every helper pod does what it was made for; returns whether there was one."""
        tasks, self.tasks = self.tasks, {}
        for name, task in tasks.items():
            if any(pod.claim in self._claims_of(task) and controls(self.sets[node]) for node, pod in self.pods.items()):
                self.broken.append(f"{name} uses a claim whose controller has a pod")
            self.helpers[name] = replace(self.helpers[name], report=self._helped(task))
        return bool(tasks)

    def _claims_of(self, task: RunHelper) -> list[str]:
        return [each["persistentVolumeClaim"]["claimName"] for each in task.manifest["spec"]["volumes"]]

    def _helped(self, task: RunHelper) -> CopyReport:
        values = {each["name"]: each.get("value", "") for each in task.manifest["spec"]["containers"][0]["env"]}
        own, *source = (self.disks[self.claims[each].volume] for each in self._claims_of(task))
        match task.manifest["metadata"]["labels"][LABEL_HELPER]:
            case "survey":
                return self._surveyed(own, values)
            case "recover":
                return self._recovered(own, source[0] if source else own, values)
            case _:
                own.facts = replace(VolumeFacts(), strangers=own.facts.strangers)
                return CopyReport(State.DONE)

    def _surveyed(self, disk: Disk, values: dict[str, str]) -> CopyReport:
        facts = disk.facts
        if facts.identity is None or facts.log_end is None:
            return CopyReport(State.EMPTY)
        end, who = facts.log_end, facts.identity
        points = [int(each) for each in values.get("POINTS", "").split(",") if each]
        digests = {each: f"same below {each}" for each in points if each <= end.offset}
        return CopyReport(
            State.COPY, who.node_id, who.cluster_id, who.directory_id or "", 0, end.offset, end.epoch, 0,
            self.promised.get(disk.name, end.epoch), tuple(sorted(self.voters.items())), digests,
        )  # fmt: skip

    def _recovered(self, disk: Disk, source: Disk, values: dict[str, str]) -> CopyReport:
        node_id, directory_id = int(values["NODE_ID"]), values["DIRECTORY_ID"]
        self._check_format(disk, directory_id)
        end = source.facts.log_end
        assert end is not None
        if (end.offset, end.epoch) != (int(values["END"]), int(values["LAST_EPOCH"])):
            self.broken.append(f"the seed ends at {end}, the order says {values['END']}")
        marker = Marker(MarkerState.SEALED, values["CLUSTER_ID"], node_id, values["NONCE"], "helper", directory_id)
        made = LogEnd(int(values["EPOCH"]), end.offset + 2)
        disk.facts = VolumeFacts(DirectoryIdentity(values["CLUSTER_ID"], node_id, directory_id), marker, made)
        self.voters, self.acknowledged, self.epoch = {node_id: directory_id}, made.offset, made.epoch
        self.formats.append(("recovered", disk.name, node_id, directory_id))
        if self.known:  # of a cluster whose voters have several listeners the log says which
            beside = (each.partition("://") for each in values.get("BESIDE", "").split(",") if each)
            more = ((name, *place.rpartition(":")[::2]) for name, _, place in beside)
            first = (values["LISTENER"], values["HOST"], values["PORT"])
            self.known = {node_id: tuple((name, host, int(port)) for name, host, port in (first, *more))}
        return CopyReport(State.DONE, node_id, values["CLUSTER_ID"], directory_id, nonce=values["NONCE"])

    def ghost(self, node_id: int) -> None:
        """A broker of the past: registered, fenced, and no node of ours."""
        self.registered.add(node_id)
        self.ghosts.add(node_id)

    # Kubernetes

    def kubelet(self, node_id: int | None = None) -> bool:
        """Every node's pod (or one) takes one step; returns whether anything moved."""
        moved = False
        for each in sorted(self.sets) if node_id is None else [node_id]:
            moved |= self._step(each)
        for key in sorted(self.moving)[:1]:
            self.partitions[key] = self.moving.pop(key)
            moved = True
        self.correct_entries()
        moved |= self.help() | self._relocated()
        moved |= self._collect()
        self._replicate()
        for each in [node for node in self.pods if node not in self.sets]:
            del self.pods[each]
            moved = True
        return moved

    def _step(self, node_id: int) -> bool:
        node_set = self.sets.get(node_id)
        if node_set is None or node_set.replicas == 0:
            return self.pods.pop(node_id, None) is not None
        pod = self.pods.get(node_id)
        if pod is None and ("StatefulSet", node_set.name) not in self.children:
            return False  # orphaned pods have nobody who makes them anew
        if pod is None:
            template = self.children["StatefulSet", node_set.name].live["spec"]["template"]
            if refused_by_kubernetes(template, self.made) or self._lacks_a_volume(node_set.name, template):
                return False
            if any(each not in self.claims for each in node_set.volumes.values()):
                return False
            self._create(node_id, node_set)
            return True
        if pod.hindrance is not None:
            told, pod.trouble = pod.trouble, pod.hindrance
            return told is None
        if self.claims[pod.claim].volume in self.away:
            return False
        for stage, image in (("inspect", pod.guards), ("format", pod.image)):
            if image in self.bad_images and pod.stage == stage:
                told, pod.trouble = pod.trouble, Trouble("ImagePullBackOff", f"no image {image}", stage)
                return told is None
        before = (pod.stage, pod.hold)
        match pod.stage:
            case "inspect":
                for each in pod.each:
                    found, facts = self._judged(node_id, each)
                    each.report = found.report(GuardStep.INSPECT, facts)
                pod.stage = "gate"
            case "gate":
                self._gate(node_id, pod)
            case "format":
                for each in pod.each:
                    self._format(node_id, each)
                pod.stage = "seal"
            case "seal":
                self._seal(node_id, pod)
            case _:
                self._run(node_id, pod)
        return (pod.stage, pod.hold) != before

    def _lacks_a_volume(self, name: str, template: Mapping[str, Any]) -> bool:
        """A kubelet starts nothing of a pod before all of its volumes are there."""
        if ("ConfigMap", name) not in self.children:
            return True
        wanted = (each["secret"]["secretName"] for each in template["spec"].get("volumes") or () if "secret" in each)
        return any(each not in self.secrets for each in wanted)

    def _create(self, node_id: int, node_set: NodeSet) -> None:
        name = f"data-{node_set.name}-0"
        if name not in self.claims:
            volume = self.fresh("pv")
            self.disks[volume] = Disk(volume)
            size = quantity(node_set.volume_size, "size")
            kind = node_set.volume_kind[0] or "standard"
            unbound = kind in self.missing_classes
            self.claims[name] = LiveClaim(
                self.fresh("pvc"), volume, {}, size, size, storage_class=kind, unbound=unbound
            )
        mode = NO_INITIAL_CONTROLLERS if controls(node_set) else ""
        template = self.children["StatefulSet", node_set.name].live["spec"]["template"]
        image = template["spec"]["containers"][0]["image"]
        waits = any(self.claims[each].unbound for each in (name, *node_set.volumes.values()))
        self.pods[node_id] = LivePod(
            self.fresh("pod"), name, guards=template["spec"]["initContainers"][0]["image"], format_mode=mode,
            revision=node_set.made_of, template=node_set.revision, image=image,
            properties=self.children["ConfigMap", node_set.name].live["data"]["server.properties"],
            sick=image in self.sick_images or is_starved(template),
            hindrance=UNBOUND if waits else hindrance(template, node_id, frozenset(self.private)),
        )  # fmt: skip
        for volume, claim in node_set.volumes.items():
            self.pods[node_id].further[volume] = LivePod(self.pods[node_id].uid, claim, volume=volume)
        lost = [
            key
            for key, volume in self.lies.items()
            if key[0] == node_id and volume and volume not in node_set.volumes
            if node_id in self.partitions.get(key[1:], ())
        ]
        if lost:
            self.broken.append(f"broker {node_id} starts without a volume that had replicas: {lost}")

    def _judged(self, node_id: int, pod: LivePod) -> tuple[Judgement, PodFacts]:
        facts = self._pod_facts(node_id, pod)
        return judge(self._disk(pod).facts, self._mounted(node_id, pod.volume), facts), facts

    def _pod_facts(self, node_id: int, pod: LivePod) -> PodFacts:
        controller = controls(self.sets[node_id])
        cluster_id = self.ledger.cluster_id if self.ledger else ""
        return PodFacts(pod.uid, node_id, cluster_id, controller, pod.format_mode, pod.grant)

    def _mounted(self, node_id: int, volume: str = "") -> LedgerFacts:
        text = (self.ledger_data or {}).get(identity_key(node_id, volume))
        return LedgerFacts(Identity.from_json(text) if text else None)

    def _gate(self, node_id: int, pod: LivePod) -> None:
        passed: list[tuple[LivePod, Passage]] = []
        for each in pod.each:
            found, facts = self._judged(node_id, each)
            answer = decide(found, self._mounted(node_id, each.volume), facts, each.journal, self._disk(each).facts)
            if isinstance(answer, Hold):
                pod.hold = answer.reason
                return
            passed.append((each, answer))
        for each, answer in passed:
            each.passage, each.journal, disk = answer, each.journal.passed(answer), self._disk(each)
            if answer.way is Way.FORMAT:
                disk.facts = replace(disk.facts, marker=granted_marker(answer, self._pod_facts(node_id, each)))
        pod.stage = "format"

    def _format(self, node_id: int, pod: LivePod) -> None:
        """kafka-storage format --ignore-formatted, in the mode that the annotation names."""
        disk = self._disk(pod)
        if disk.facts.identity is None:
            directory_id = self.draw()
            if pod.format_mode.startswith(INITIAL_CONTROLLERS_PREFIX):
                first = [
                    part.rpartition(":") for part in pod.format_mode.removeprefix(INITIAL_CONTROLLERS_PREFIX).split(",")
                ]
                named = {int(left.partition("@")[0]): directory for left, _, directory in first}
                directory_id = named[node_id]
                self.voters = self.voters or named
            assert self.ledger is not None
            identity = DirectoryIdentity(self.ledger.cluster_id, node_id, directory_id)
            disk.facts = replace(disk.facts, identity=identity, leftovers=())
            self._check_format(disk, directory_id)
            self.formats.append((pod.format_mode.partition("=")[0], disk.name, node_id, directory_id))

    def _check_format(self, disk: Disk, directory_id: str) -> None:
        if directory_id in self.lost:
            self.broken.append(f"directory {directory_id} ran, was lost and is made again on {disk.name}")
        others = {name for _, name, _, directory in self.formats if directory == directory_id} - {disk.name}
        if others:
            self.broken.append(f"directory {directory_id} is made on {disk.name}, it was on {others}")

    def _seal(self, node_id: int, pod: LivePod) -> None:
        for each in pod.each:
            answer = seal(self._disk(each).facts, self._pod_facts(node_id, each), each.journal)
            if not isinstance(answer, Sealed):
                pod.hold = answer.reason
                return
            disk = self._disk(each)
            disk.facts = replace(disk.facts, marker=answer.marker)
            each.journal = each.journal.with_seal(answer.marker.nonce)
            found, facts = self._judged(node_id, each)
            each.sealed = found.report(GuardStep.SEAL, facts)
        pod.stage = "running"
        self._run(node_id, pod)

    def _run(self, node_id: int, pod: LivePod) -> None:
        if pod.crashes:
            pod.trouble = CRASH_LOOP
            return
        disk = self._disk(pod)
        assert disk.facts.identity is not None
        assert disk.facts.identity.directory_id is not None
        disk.ran.add(disk.facts.identity.directory_id)
        for each in pod.further.values():
            identity = self._disk(each).facts.identity
            assert identity is not None
            assert identity.directory_id is not None
            self._disk(each).ran.add(identity.directory_id)
        if self.leader() < 0 or node_id in self.frozen:
            return
        if serves(self.sets[node_id]):
            self.registered.add(node_id)
        self._catch_up(node_id, self.acknowledged)

    def write_metadata(self) -> None:
        """A client's change is acknowledged."""
        if self.leader() >= 0:
            self._commit()

    def _commit(self) -> None:
        """An entry, on every running voter. Observers copy the leader's log when they take their next step."""
        self.acknowledged += 1
        for node_id in self.running_voters():
            self._catch_up(node_id, self.acknowledged)

    def _catch_up(self, node_id: int, offset: int) -> None:
        disk = self._disk(self.pods[node_id])
        if self.end_of(node_id) < offset and node_id not in self.lagging:
            disk.facts = replace(disk.facts, log_end=LogEnd(self.epoch, offset))

    def end_of(self, node_id: int) -> int:
        """The log end offset of a running controller."""
        end = self._disk(self.pods[node_id]).facts.log_end
        return end.offset if end else 0

    # the quorum

    def running_controllers(self) -> dict[int, str]:
        """Node id to the directory it runs on."""
        found = {}
        for node_id, pod in self.pods.items():
            if not pod.runs or node_id in self.frozen or not controls(self.sets[node_id]):
                continue
            identity = self._disk(pod).facts.identity
            assert identity is not None
            assert identity.directory_id is not None
            found[node_id] = identity.directory_id
        return found

    def running_voters(self, voters: dict[int, str] | None = None) -> list[int]:
        running = self.running_controllers()
        voters = self.voters if voters is None else voters
        return [node_id for node_id, directory in voters.items() if running.get(node_id) == directory]

    def leader(self) -> int:
        """Of a majority that runs, the voter with the longest log: of several the one that was chosen, else
        the lowest.
        """
        running = self.running_voters()
        if not self.voters or len(running) <= len(self.voters) // 2:
            return -1
        longest = max(map(self.end_of, running))
        able = [each for each in running if self.end_of(each) == longest]
        if longest < self.acknowledged:
            self.broken.append(
                f"no voter that runs holds acknowledged offset {self.acknowledged}, yet they are a majority"
            )
        return self.chosen if self.chosen in able else min(able)

    def lead(self, node_id: int) -> None:
        self.chosen = node_id

    # faults

    def place(self, topic: str, *replicas: int) -> None:
        """One more partition of this topic."""
        index = sum(name == topic for name, _ in self.partitions)
        self.partitions[topic, index] = list(replicas)

    def move(self, replicas: Mapping[tuple[str, int], tuple[int, ...]]) -> None:
        """The controllers begin to move them; the kubelet's steps are their time."""
        self.moving |= {key: list(each) for key, each in replicas.items()}

    def cordon(self, node_id: int, directories: Sequence[str] = ()) -> None:
        """The broker itself is asked, and it alone knows its directories."""
        if not self._serves(node_id) or self.finalized["metadata.version"] < CORDONS:
            self.broken.append(f"broker {node_id} is cordoned although it cannot be")
        if directories:
            if not set(directories) <= set(self.paths(node_id)):
                self.broken.append(f"broker {node_id} has not all of {directories}")
            self.closed[node_id] = tuple(directories)
            return
        self.cordoned.add(node_id)

    def uncordon(self, node_id: int) -> None:
        self.cordoned.discard(node_id)
        self.closed.pop(node_id, None)

    def lie(self, node_id: int, topic: str, partition: int, volume: str) -> None:
        """This replica of a placed topic is on a further volume of its broker."""
        self.lies[node_id, topic, partition] = volume

    def relocate(self, node_id: int, replicas: Mapping[tuple[str, int], str]) -> None:
        """The broker begins to copy them; the kubelet's steps are its time."""
        paths = self.paths(node_id)
        for key, path in replicas.items():
            if path not in paths or path in self.closed.get(node_id, ()):
                self.broken.append(f"{key} of broker {node_id} is to move to {path}, which takes nothing")
            self.relocating[node_id, *key] = paths[path]

    def paths(self, node_id: int) -> dict[str, str]:
        """The log directories of a broker's pod, to their volumes; the first volume has no name."""
        return {LOG_PATH: ""} | {log_directory(each): each for each in self.pods[node_id].further}

    def _directories_of(self, node_id: int) -> Directories:
        held = {key: self.sizes.get(key[0], 1_000_000) for key, each in self.partitions.items() if node_id in each}
        found = tuple(
            Directory(
                path,
                {key: size for key, size in held.items() if self.lies.get((node_id, *key), "") == volume},
                {key: size for key, size in held.items() if self.relocating.get((node_id, *key)) == volume},
                self.room.get((node_id, volume), 10**12),
            )
            for path, volume in self.paths(node_id).items()
        )
        whole = (EVERY,) if node_id in self.cordoned else ()
        knows = self.levels(node_id)[1] >= CORDONS
        return Directories(found, whole or self.closed.get(node_id, ()) if knows else None)

    def _emptied(self) -> dict[int, Directories]:
        """Of the brokers that the operator asks."""
        cluster = keeping_volumes(self.cluster, self.ledger, tuple(self._further_claims()))
        return {
            each: self._directories_of(each) for each in sorted(emptied(cluster, self.ledger)) if self._serves(each)
        }

    def _relocated(self) -> bool:
        """Copies of brokers that serve have come to their ends."""
        done = [each for each in self.relocating if self._serves(each[0])]
        for each in done:
            self.lies[each] = self.relocating.pop(each)
        return bool(done)

    def finalize(self, feature: str, level: int) -> None:
        if self._refusal(feature, level):
            self.broken.append(f"{feature} {level} is made final though a node does not support it")
        self.finalized[feature] = level

    def serve_reassignment(self) -> None:
        self.apis.add(45)

    def stranger(self, node_id: int) -> None:
        self.registered.add(node_id)

    def ghost_controller(self, node_id: int, level: int) -> None:
        self.ghost_controllers[node_id] = level

    def break_image(self, tag: int) -> None:
        self.bad_images.add(f"kafka:{tag}")

    def sicken(self, tag: int) -> None:
        """What ran until now runs no more: the log has outgrown the memory, a certificate has expired."""
        self.sick_images.add(f"kafka:{tag}")
        for pod in self.pods.values():
            pod.sick = pod.image in self.sick_images

    def delete_pod(self, node_id: int) -> None:
        self.pods.pop(node_id, None)

    def delete_claim(self, node_id: int) -> None:
        """The claim, its volume and the pod that used them are lost."""
        self.frozen.discard(node_id)
        pod = self.pods.pop(node_id, None)
        name = pod.claim if pod else f"data-{self.sets[node_id].name}-0"
        claim = self.claims.pop(name, None)
        if claim is not None:
            self.lost |= self.disks.pop(claim.volume).ran

    def terminate(self, node_id: int, volume: str = "") -> None:
        """Somebody deletes the claim under its running pod: it stays until no pod uses it."""
        pod = self.pods[node_id]
        self.claims[(pod.further[volume] if volume else pod).claim].terminating = True

    def give_up(self, *node_ids: int) -> None:
        """Its owner says that these claims, as they are now, may go."""
        named = (self.pods[each].claim for each in node_ids)
        tokens = frozenset(f"{name}:{self.claims[name].uid}" for name in named)
        self.cluster = replace(self.cluster, given_up_claims=tokens)

    def make_claim(self, name: str, volume: str, further: Claim | None = None) -> None:
        """A claim that can be bound to this volume only."""
        if (
            name in self.claims
            or volume not in self.disks
            or any(each.volume == volume for each in self.claims.values())
        ):
            self.broken.append(f"claim {name} is made for {volume}, which it cannot have")
            return
        self.claims[name] = LiveClaim(self.fresh("pvc"), volume, further=further)

    def approve_format(self, *node_ids: int) -> None:
        """Somebody lets these nodes' claims, as they are now, be formatted."""
        named = (self.pods[each].claim for each in node_ids)
        tokens = frozenset(f"{name}:{self.claims[name].uid}" for name in named)
        self.cluster = replace(self.cluster, approved_formats=tokens)

    def _collect(self) -> bool:
        """Claims that were deleted go once no pod uses them, and their volumes as the reclaim policy says."""
        used = {each.claim for pod in self.pods.values() for each in pod.each}
        gone = [name for name, claim in self.claims.items() if claim.terminating and name not in used]
        for name in gone:
            claim = self.claims.pop(name)
            if claim.volume not in self.retained:
                self.lost |= self.disks.pop(claim.volume).ran
        return bool(gone)

    def delete_volume(self, node_id: int, volume: str) -> None:
        """A further volume and its claim are lost, with the pod that used them."""
        pod = self.pods.pop(node_id)
        claim = self.claims.pop(pod.further[volume].claim)
        self.lost |= self.disks.pop(claim.volume).ran

    def release_volume(self, node_id: int, volume: str) -> None:
        """The claim of a further volume and the pod are lost; the volume stays, released."""
        del self.claims[self.pods.pop(node_id).further[volume].claim]

    def swap_volumes(self, node_id: int, one: str, other: str) -> None:
        """Two further volumes of a broker are exchanged behind their claims."""
        pod = self.pods.pop(node_id)
        first, second = (self.claims[pod.further[each].claim] for each in (one, other))
        first.volume, second.volume = second.volume, first.volume

    def forget_claim(self, node_id: int) -> None:
        """Somebody deletes the claim that a node has left behind."""
        name = next(each for each in self.claims if f"-{node_id}-" in each)
        self.lost |= self.disks.pop(self.claims.pop(name).volume).ran

    def retain_claim(self, node_id: int) -> None:
        """The claim and the pod are lost; the volume stays, released."""
        pod = self.pods.pop(node_id)
        del self.claims[pod.claim]

    def freeze(self, node_id: int) -> None:
        self.frozen.add(node_id)

    def cut_power(self, node_id: int) -> None:
        """The Kubernetes node of this controller, which has the volume, is silent."""
        pod = self.pods[node_id]
        self.away[self.claims[pod.claim].volume] = False
        self.frozen.add(node_id)

    def delete_node(self, node_id: int) -> None:
        """Its owner deletes the Node object: the pod is collected, a new one cannot be scheduled."""
        pod = self.pods.pop(node_id)
        self.away[self.claims[pod.claim].volume] = True
        self.frozen.discard(node_id)

    def lag(self, node_id: int) -> None:
        """It runs, answers and fetches, and its log stands still while others go on."""
        self.lagging.add(node_id)
        for _ in range(3):
            self.write_metadata()

    def thaw(self, node_id: int) -> None:
        self.frozen.discard(node_id)

    def wipe(self, node_id: int) -> None:
        """Emptied in place, marker and all, while the pod restarts."""
        disk = self._disk(self.pods.pop(node_id))
        self.wiped[disk.name] = disk.facts
        disk.facts = VolumeFacts()
        self.lost |= disk.ran

    def give_back(self) -> None:
        """What was wiped is put back on the same disks, under the eyes of the pods that wait there."""
        for pod in self.pods.values():
            disk = self._disk(pod)
            if pod.stage == "gate" and disk.facts == VolumeFacts() and disk.name in self.wiped:
                disk.facts = self.wiped[disk.name]

    def swap(self, one: int, other: int) -> None:
        """Two nodes' disks are exchanged behind their claims."""
        first, second = (self.claims[self.pods.pop(each).claim] for each in (one, other))
        first.volume, second.volume = second.volume, first.volume

    def copy_of(self, node_id: int) -> VolumeFacts:
        return self._disk(self.pods[node_id]).facts

    def restore(self, node_id: int, facts: VolumeFacts) -> None:
        """An old copy is put where the disk was."""
        self._disk(self.pods.pop(node_id)).facts = facts

    def delete_cluster(self) -> None:
        """The resource goes: its children are collected, claims and ledger stay."""
        self.pods, self.sets, self.children = {}, {}, {}

    def lose_ledger(self) -> None:
        self.ledger_data = None

    def restore_claim(self, node_id: int) -> None:
        """This node's claim comes out of a backup, on another volume, with all that it bore."""
        pod = self.pods.pop(node_id, None)
        name = pod.claim if pod else next(each for each in self.claims if each.endswith(f"-{node_id}-0"))
        old = self.claims[name]
        volume = self.fresh("pv")
        disk = self.disks.pop(old.volume)
        self.disks[volume] = Disk(volume, disk.facts, set(disk.ran))
        self.claims[name] = LiveClaim(self.fresh("pvc"), volume, dict(old.marks))

    def restore_from_backup(self, earlier: dict[int, VolumeFacts], *, with_ledger: bool) -> None:
        """The whole cluster, as a tool for backups puts it back: resource, claims, volumes, and the ledger or not. Some
        volumes are of an earlier time.
        """
        for node_id, facts in earlier.items():
            self._disk(self.pods[node_id]).facts = facts
        for node_id in list(self.pods):
            self.restore_claim(node_id)
        self.delete_cluster()
        if not with_ledger:
            self.lose_ledger()

    def restore_everything(self, *older: int) -> None:
        """As `restore_from_backup` with its ledger; these nodes' disks are as they were before the last
        twenty changes.
        """
        earlier = {node_id: self.copy_of(node_id) for node_id in older}
        for _ in range(20):
            self.write_metadata()
        self.restore_from_backup(earlier, with_ledger=True)

    def keep_ledger(self) -> None:
        """Somebody saves the ledger."""
        self.saved = dict(self.ledger_data or {})

    def put_back_ledger(self) -> None:
        self.ledger_data = dict(self.saved)

    def forget_memory(self) -> None:
        """No claim remembers more than its own disk: the operator of before did not write it."""
        for claim in self.claims.values():
            claim.marks.pop(KEY, None)

    def take_over(self) -> None:
        self.fence = Fence(f"operator-{self.fence.transitions + 1}", self.fence.transitions + 1)

    # sight

    def observed(self) -> Observed:
        self._collect()
        return Observed(
            claims=tuple(self._claims()),
            further_claims=tuple(self._further_claims()),
            pods=tuple(self._pods()),
            sets=tuple(each for each in self.sets.values() if ("StatefulSet", each.name) in self.children),
            expandable={"standard": self.expands},
            children=tuple(self.children.values()),
            quorum=self._quorum(),
            brokers=self._brokers(),
            volumes=frozenset(self.disks) - {claim.volume for claim in self.claims.values()},
            stranded={volume: "k2" for volume, gone in self.away.items() if gone},
            unready={volume: "k2" for volume, gone in self.away.items() if not gone},
            ledger_owners=self.ledger_owners,
            operations=tuple(map(parse_operation, self.operations.values())),
            helpers=tuple(self.helpers.values()),
            witnesses=self._witnesses(),
            zones=self._zones(),
            refused=self._refused(),
            routes=Routes(refused=dict(self.balancer_says)),
            retained=frozenset(self.retained),
            missing_classes=frozenset(self.missing_classes & {each.storage_class for each in self.claims.values()}),
        )

    def _refused(self) -> dict[tuple[str, str], str]:
        """As `pod_trials` finds it."""
        found = {}
        for each in self.sets.values():
            child, pod = self.children.get(("StatefulSet", each.name)), self.pods.get(each.node_id)
            outdated = pod is not None and pod.template != each.revision
            if child is None or not each.replicas or (pod is not None and not outdated):
                continue
            if said := refused_by_kubernetes(child.live["spec"]["template"], self.made):
                found[each.pool, each.target] = said
        return found

    def _zones(self) -> dict[int, str]:
        if self.cluster.spec.controllers.failure_domains is None:
            return {}
        return {each: self.zones.get(each, "") for each in self.pods if controls(self.sets[each])}

    def _claims(self) -> Iterator[Claim]:
        for name, claim in self.claims.items():
            if claim.further is not None:
                continue
            _, group, node = name.removeprefix("data-").removesuffix("-0").split("-")
            role = (self.cluster.spec.controllers.roles if group == "controller" else BROKER).label
            yield Claim(
                name,
                claim.uid,
                int(node),
                role,
                group,
                "" if claim.unbound else claim.volume,
                claim.terminating,
                identity=dict(claim.marks),
                storage_class=claim.storage_class,
                requested=claim.requested,
                capacity=claim.capacity,
            )

    def _further_claims(self) -> Iterator[Claim]:
        for claim in (self.claims[name] for name in sorted(self.claims)):
            if claim.further is not None:
                yield replace(
                    claim.further, uid=claim.uid, volume="" if claim.unbound else claim.volume,
                    terminating=claim.terminating, identity=dict(claim.marks), storage_class="standard",
                    requested=claim.requested, capacity=claim.capacity,
                )  # fmt: skip

    def _reported(self, pod: LivePod, what: str) -> Report | None:
        """Of the node's first volume, with the same about each further one."""
        own: Report | None = getattr(pod, what)
        found = {each.volume: getattr(each, what) for each in pod.further.values()}
        return replace(own, volumes=found) if own is not None else None

    def _pods(self) -> Iterator[Pod]:
        for node_id, pod in self.pods.items():
            node_set = self.sets[node_id]
            stage = STAGES.index(pod.stage)
            yield Pod(
                name=f"{node_set.name}-0", uid=pod.uid, node_id=node_id, role=node_set.role, pool=node_set.pool,
                claim=pod.claim, node="k1", ready=pod.runs and node_id not in self.frozen, revision=pod.template,
                made_of=pod.revision, gate_waits=stage == 1, gate_passed=stage > 1,
                main_started=stage == 4, inspect=self._reported(pod, "report"), seal=self._reported(pod, "sealed"),
                volumes={each.volume: each.claim for each in pod.further.values()},
                grants={each.volume: each.grant.nonce for each in pod.further.values() if each.grant},
                nudges=pod.nudges, grant_nonce=pod.grant.nonce if pod.grant else None, trouble=pod.trouble,
                last_words="FATAL explode: unknown name" if pod.crashes else "",
                owner=node_set.uid if ("StatefulSet", node_set.name) in self.children else "",
            )  # fmt: skip

    def _quorum(self) -> Quorum:
        """As `judgement` makes it of what controllers answer: those that do not run are silent."""
        leader, running = self.leader(), self.running_controllers()
        ledger = self.ledger
        asked = (ledger.controllers or ledger.initial_controllers) if ledger else ()
        beliefs = {each: Belief(leader, self.epoch) if each in running else None for each in asked}
        if leader < 0:
            return judge_quorum(beliefs, None, {})
        self.clock += 1
        self.seen_leader = leader
        fetched = dict.fromkeys(running, self.clock)
        self.fetched |= fetched
        end = self.acknowledged
        self.ends |= {node: self.end_of(node) for node in running}
        voters = tuple(
            Replica(each, name, self.ends.get(each, -1), self.fetched.get(each, -1), self._endpoints(each))
            for each, name in self.voters.items()
        )
        observers = tuple(
            Replica(each, name, self.ends[each], self.clock)
            for each, name in running.items()
            if self.voters.get(each) != name
        )
        stale = tuple(each for each in self.removed if running.get(each.node_id) != each.directory_id)
        directories = (
            {each: entry.directory_id if (entry := ledger.entry(each)) else None for each in asked} if ledger else {}
        )
        return judge_quorum(
            beliefs, Described(leader, self.epoch, end, voters, (*stale, *observers)), directories, self.before
        )

    def _endpoints(self, node_id: int) -> tuple[tuple[str, str, int], ...]:
        listener = self.cluster.spec.voter_listener
        host, port = self.drifted.get(node_id, (self.cluster.voter_host(node_id), listener.port))
        return self.known.get(node_id, ((listener.name, host, port),))

    def _know(self, node_id: int, endpoints: tuple[tuple[str, str, int], ...]) -> None:
        """What the metadata log says of a voter from then on."""
        if node_id in self.known or len(endpoints) > 1:
            self.known[node_id] = tuple(endpoints)

    def correct_entries(self) -> None:
        """A voter that finds other listeners of itself in the log than it serves corrects them: who leads when it is
        elected, who follows by UpdateRaftVoter, as long as the leader's own default is among them.
        """
        leader = self.leader()
        for node_id in self.running_voters() if leader >= 0 else ():
            served = self.served(node_id)
            own = next(iter(self.served(leader)), None)
            if node_id in self.silent or served == self._endpoints(node_id) or not served:
                continue
            if node_id in self.drifted or own is None or own[0] not in {each[0] for each in served}:
                continue
            self.known[node_id] = served
            self._commit()

    def served(self, node_id: int) -> tuple[tuple[str, str, int], ...]:
        """By this node's own file, its default first; only what controllers are known by."""
        found = self.file(node_id)
        listed = dict(each.partition("://")[::2] for each in found["advertised.listeners"].split(","))
        return tuple(
            (name, listed[name].rpartition(":")[0], int(listed[name].rpartition(":")[2]))
            for name in found["controller.listener.names"].split(",")
            if name in listed
        )

    def file(self, node_id: int) -> dict[str, str]:
        """What the node of a pod was started with."""
        lines = self.pods[node_id].properties.splitlines()
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    def levels(self, node_id: int) -> tuple[int, int]:
        """The metadata.versions that a node supports: image N of this world brings level 28+N."""
        tag = self.pods[node_id].image.rpartition(":")[2]
        return 7, 28 + min(int(tag), 5)

    def _refusal(self, feature: str, level: int) -> str:
        if feature != "metadata.version":
            return ""
        for node_id, supported in self.ghost_controllers.items():
            if supported < level:
                return f"controller {node_id} only supports versions 7-{supported}"
        old = [each for each in self.pods if self.levels(each)[1] < level]
        return f"node {old[0]} is too old" if old else ""

    def _registry(self) -> Registry:
        if self.leader() < 0:
            return Registry()
        running = {each for each, pod in self.pods.items() if pod.runs and each not in self.frozen}
        controllers = {each for each in running if controls(self.sets[each])} | set(self.ghost_controllers)
        granted = {each: self._refusal(*each) for each in trials(self.waited)}
        supported = {each: {"metadata.version": self.levels(each), "kraft.version": (0, 1)} for each in running}
        return Registry(frozenset(controllers), frozenset(self.apis), dict(self.finalized), supported, granted)

    def _brokers(self) -> Brokers:
        up = any(serves(self.sets[each]) and pod.runs for each, pod in self.pods.items())
        if not up:
            return Brokers(registry=self._registry())
        self._replicate()
        held = dict(self.replicas)
        for (topic, _), replicas in sorted(self.partitions.items()):
            for broker in replicas:
                held[broker] = tuple(dict.fromkeys((*held.get(broker, ()), topic)))
        return Brokers(
            frozenset(self.registered),
            frozenset(self.ghosts & self.registered) | self._fenced(),
            held,
            dict(self.at_risk),
            partitions=tuple(self._placed(key, each) for key, each in self.partitions.items()),
            moving=frozenset(self.moving),
            registry=self._registry(),
            cordoned={each: self._cordoned(each) for each in self.registered if self._serves(each)},
            directories=self._emptied(),
        )

    def _cordoned(self, node_id: int) -> bool | None:
        """A release below 4.3 knows no cordons."""
        return node_id in self.cordoned if self.levels(node_id)[1] >= CORDONS else None

    def _fenced(self) -> frozenset[int]:
        """Brokers of ours that do not run: the time that the controllers take to notice is no part of this world."""
        return frozenset(each for each in self.registered if each in self.sets and not self._serves(each))

    def _serves(self, node_id: int) -> bool:
        return (
            node_id in self.registered
            and node_id in self.pods
            and self.pods[node_id].runs
            and node_id not in self.frozen
        )

    def _placed(self, key: tuple[str, int], replicas: list[int]) -> Placement:
        in_sync = self.in_sync[key]
        leader = next((each for each in in_sync if self._serves(each) and each not in self.behind), -1)
        return Placement(*key, tuple(replicas), tuple(in_sync), leader)

    def _replicate(self) -> None:
        """Whoever is in sync and serves leads; the others copy from it. Nobody who is not in sync ever leads."""
        for key, replicas in self.partitions.items():
            up = [each for each in replicas if self._serves(each) and each not in self.behind]
            in_sync = [each for each in self.in_sync.get(key, replicas) if each in replicas] or replicas
            able = [each for each in in_sync if each in up]
            if not able:
                self.in_sync[key] = in_sync[:1]
                continue
            whole = self.complete.get(key)
            if whole is not None and not any(each <= self._directories(able[0]) for each in whole):
                self.begun_empty.append(key)
            self.in_sync[key] = [*able, *(each for each in up if each not in able)]
            self.complete[key] = {self._directories(each) for each in up}

    def _directories(self, node_id: int) -> frozenset[str]:
        found = (self._disk(each).facts.identity for each in self.pods[node_id].each)
        return frozenset(each.directory_id or "" for each in found if each is not None)

    def fall_behind(self, node_id: int) -> None:
        """No replica of this broker is in sync."""
        self.behind.add(node_id)

    def keep_up(self, node_id: int) -> None:
        """Its replicas come in sync again."""
        self.behind.discard(node_id)

    def drop_topic(self, *node_ids: int) -> None:
        """Somebody deletes every topic with a replica on one of these brokers only."""
        gone = [key for key, replicas in self.partitions.items() if set(replicas) <= set(node_ids)]
        for key in gone:
            del self.partitions[key]

    def _disk(self, pod: LivePod) -> Disk:
        return self.disks[self.claims[pod.claim].volume]

    # chance

    def draw(self) -> str:
        self.clock += 1
        return str(Uuid(self.clock.to_bytes(16, "big")))

    def fresh(self, what: str) -> str:
        self.clock += 1
        return f"{what}-{self.clock}"

    def waiting(self, decision: Decision) -> bool:
        """Time alone will change the plan: a suspicion has not stood long enough yet."""
        return any(self.waited.get(each, 0.0) < _patience(each) + PASS_SECONDS for each in decision.suspects)

    def settle(self, rounds: int = 40) -> Decision:
        """Reconcile and let the kubelet work until nothing moves."""
        decision, quiet = self.reconcile(), 0
        for _ in range(rounds):
            moved = self.kubelet()
            decision = self.reconcile()
            quiet = 0 if moved or decision.actions or self.waiting(decision) else quiet + 1
            if quiet == 2:  # one look compares with the one before
                return decision
        raise AssertionError(f"still moving after {rounds} rounds: {decision.actions}")


def _patience(suspicion: str) -> float:
    return IDLE_SECONDS if suspicion.endswith(IDLE) else DEBOUNCE


@lru_cache(16)
def _ledger(text: str | None) -> Ledger:
    """It is looked at far more often than it is written, and never changed in place."""
    return parse({} if text is None else {LEDGER_KEY: text})


def refused(decision: Decision) -> list[str]:
    return [finding.reason for finding in decision.findings]


__all__ = ["Disk", "GrantMode", "World", "pool", "refused", "resource"]
