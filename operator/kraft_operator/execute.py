"""The only writer: performs a plan's actions in order, each with its preconditions, and stops at the first that fails.

Before every action the Lease is asked whether it has time for it, and the ledger whether it is the one that the plan
was made upon. A fenced step was journaled in the ledger before it comes here. Right before its call the Lease is asked
again whether the step still fits into what is left of it, the objects are read again, and the call carries their UID
and resourceVersion: a process that was frozen between journal and call either finds its Lease gone or is refused by the
API server. Who cannot write the ledger asks the Lease: when its term has changed, this process is not the writer any
more and must exit (`FenceLost`); else an outsider has edited it, and the next pass reads it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, assert_never

from controller_runtime.identifiers import Endpoint
from kraft_operator.actions import (
    Action,
    AddVoter,
    AnnotateClaim,
    ApplyChild,
    BeginReplacement,
    DeleteChild,
    DeleteOperation,
    DeliverGrant,
    DiscardClaim,
    DropClaim,
    EndHelper,
    FinalizeFeature,
    GiveUpDisk,
    GrowClaim,
    MakeClaim,
    MoveReplicas,
    NudgePod,
    OrphanSet,
    Remember,
    RemoveVoter,
    RestartPod,
    RetainVolume,
    RunHelper,
    TellRack,
    UnregisterBroker,
    UpdateVoter,
    WriteLedger,
    target,
)
from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster, VolumePolicy
from kraft_operator.claim_memory import KEY
from kraft_operator.kube import (
    BY_KIND,
    CLAIM,
    CONFIG_MAP,
    OPERATION,
    POD,
    STATEFUL_SET,
    VOLUME,
    Conflict,
    Forbidden,
    Gateway,
    Invalid,
    Kind,
    NotFound,
    Object,
)
from kraft_operator.lease import LeaseLost, Term
from kraft_operator.ledger import Ledger, Step, render
from kraft_operator.manifests.context import labels, owner_reference
from kraft_operator.plan.brake import Begun, Brake
from kraft_operator.plan.rollout.children import fingerprint
from kraft_operator.pod_facts import NUDGE_ANNOTATION
from kraft_operator.quorum import QuorumChanges
from kraft_operator.settings import Failpoints
from storage_guard.formats import FORMAT_MODE_ANNOTATION, GRANT_ANNOTATION, RACK_ANNOTATION

logger: Final = logging.getLogger("kraft_operator")


class FenceLost(Exception):
    """Another operator wrote the ledger: this process may not act any more."""


class Stale(Exception):
    """What a step was planned for is not there any more; the next pass plans anew."""


class Holder(Protocol):
    def require(self, seconds: float) -> Term: ...

    def still_holds(self) -> bool:
        """Whether the Lease, read now, names this very term."""
        ...


class Account(Protocol):
    """Of the replacements begun by this operator, in all of its clusters."""

    def brake(self) -> Brake: ...

    def begin(self, what: Begun, term: Term, timeout: float) -> bool:
        """Write it down; False when there is no room by now."""
        ...


@dataclass(slots=True)
class Execution:
    """One pass of one cluster; `ledger_object` is the ConfigMap as read, None when there is none."""

    cluster: KRaftCluster
    kube: Gateway
    holder: Holder
    account: Account
    quorum: QuorumChanges
    failpoints: Failpoints
    call_timeout: float
    ledger_object: Object | None
    settled: dict[tuple[str, str], str]
    done: list[Action] = field(default_factory=list)
    refused: list[tuple[Action, str]] = field(default_factory=list)
    ledger_written: bool = False
    ledger_asked: bool = False

    def run(self, actions: tuple[Action, ...]) -> None:
        """Perform them. A child that the API server refuses for its content, or a volume that the operator may not
        change, is noted, and does not stop the others."""
        for action in actions:
            try:
                self._ask(action)
                self._perform(action)
            except (Invalid, Forbidden) as error:
                may_be_refused = ApplyChild if isinstance(error, Invalid) else RetainVolume
                if not isinstance(action, may_be_refused):
                    raise
                self.refused.append((action, error.message))
                self._log(action, f"refused: {error.message}")
            else:
                self.done.append(action)
                self._log(action, action.reason)

    def _log(self, action: Action, why: str) -> None:
        place = f"{self.cluster.namespace}/{self.cluster.name}"
        logger.info("%s: %s %s: %s", place, type(action).__name__, target(action), why)

    def _ask(self, action: Action) -> None:
        """Whether it may still be done: the Lease has time for it, and the ledger is the one that was planned upon. Who
        writes the ledger asks it by doing so, and holds it for the rest of the pass: nobody writes it without taking
        the Lease."""
        self.holder.require(self.call_timeout)
        if self.ledger_asked or isinstance(action, WriteLedger) or self.ledger_object is None:
            return
        name = names.ledger_name(self.cluster.name)
        found = self.kube.find(CONFIG_MAP, self.cluster.namespace, name)
        version = found["metadata"].get("resourceVersion") if found is not None else None
        if version != self.ledger_object["metadata"].get("resourceVersion"):
            raise Stale(f"{name} is not the one that was planned upon; it is read again")
        self.ledger_asked = True

    def _perform(self, action: Action) -> None:
        match action:
            case WriteLedger():
                self._write_ledger(action.ledger)
            case ApplyChild():
                self._apply(action.manifest)
            case DeleteChild():
                self._delete(BY_KIND[action.api, action.kind], action.name, action.uid)
            case DeliverGrant():
                self._fenced("grant", action.step, lambda: self._deliver(action))
            case AnnotateClaim():
                marks = {f"{names.GROUP}/{key}": value for key, value in action.annotations.items()}
                self._annotate(CLAIM, action.claim, marks, action.uid)
            case Remember():
                self._remember(action)
            case GrowClaim():
                self._grow(action)
            case RetainVolume():
                self._retain(action)
            case MakeClaim():
                self._make_claim(action)
            case OrphanSet():
                self._delete(STATEFUL_SET, action.name, action.uid, orphan=True)
            case TellRack():
                mark = {RACK_ANNOTATION: action.rack}
                self._annotate(POD, action.pod, mark, action.uid)
            case NudgePod():
                mark = {NUDGE_ANNOTATION: str(action.count)}
                self._annotate(POD, action.pod, mark, action.uid)
            case BeginReplacement():
                self._begin(action)
            case GiveUpDisk():
                pass  # the ledger has it
            case UnregisterBroker():
                self._fenced("unregister", action.step, lambda: self._unregister(action))
            case MoveReplicas():
                self._fenced("move_replicas", action.step, lambda: self._move(action))
            case FinalizeFeature():
                self._fenced("finalize", action.step, lambda: self._finalize(action))
            case RemoveVoter():
                self._fenced("remove_voter", action.step, lambda: self._change_voters("remove_voter", action))
            case AddVoter():
                self._fenced("add_voter", action.step, lambda: self._change_voters("add_voter", action))
            case UpdateVoter():
                self._fenced("update_voter", action.step, lambda: self._update(action))
            case DiscardClaim():
                self._fenced("discard", action.step, lambda: self._discard(action))
            case RestartPod():
                self._fenced("restart", action.step, lambda: self._restart(action))
            case RunHelper():
                self._run_helper(action)
            case DeleteOperation():
                self._delete(OPERATION, action.name, action.uid)
            case EndHelper():
                self._delete(POD, action.pod, action.uid)
            case DropClaim():
                self.failpoints.hit("before_call.drop_claim")
                self.kube.delete(CLAIM, self.cluster.namespace, action.claim, uid=action.uid, timeout=self.call_timeout)
            case _ as unknown:
                assert_never(unknown)

    def _fenced(self, what: str, step: Step, call: Callable[[], None]) -> None:
        self.failpoints.hit(f"after_journal.{what}")
        self._still_holds(step)
        call()
        self.failpoints.hit(f"after_call.{what}")

    def _still_holds(self, step: Step) -> None:
        term = self.holder.require(self.call_timeout)
        if (term.holder, term.transitions) != (step.holder, step.transitions):
            raise LeaseLost(f"the step was journaled by {step.holder} in term {step.transitions}, this is {term}")

    def _deliver(self, action: DeliverGrant) -> None:
        """Read pod, claim and volume once more: the grant is for these three and no others."""
        grant, namespace = action.grant, self.cluster.namespace
        pod = self.kube.get(POD, namespace, action.pod)
        claim = self.kube.get(CLAIM, namespace, action.claim)
        volume = self.kube.get(VOLUME, None, grant.pv_name)
        facts = {
            "pod": (pod["metadata"]["uid"], grant.pod_uid),
            "claim": (claim["metadata"]["uid"], grant.pvc_uid),
            "volume": (claim["spec"].get("volumeName"), grant.pv_name),
            "volume's claim": ((volume["spec"].get("claimRef") or {}).get("uid"), grant.pvc_uid),
        }
        for what, (found, granted) in facts.items():
            if found != granted:
                raise Stale(f"{action.pod}: the {what} is {found}, the grant is for {granted}")
        marks = {GRANT_ANNOTATION: grant.to_json()}
        if action.format_argument is not None:
            marks[FORMAT_MODE_ANNOTATION] = action.format_argument
        self._still_holds(action.step)
        self.failpoints.hit("before_call.grant")
        version = pod["metadata"]["resourceVersion"]
        self.kube.annotate(
            POD, namespace, action.pod, marks, uid=grant.pod_uid, resource_version=version, timeout=self.call_timeout
        )

    def _unregister(self, action: UnregisterBroker) -> None:
        self._still_holds(action.step)
        self.failpoints.hit("before_call.unregister")
        self.quorum.unregister(action.node_id, self.call_timeout)

    def _move(self, action: MoveReplicas) -> None:
        self._still_holds(action.step)
        self.failpoints.hit("before_call.move_replicas")
        self.quorum.move(action.replicas, self.call_timeout)

    def _finalize(self, action: FinalizeFeature) -> None:
        self._still_holds(action.step)
        self.failpoints.hit("before_call.finalize")
        self.quorum.finalize(action.feature, action.level, self.call_timeout)

    def _change_voters(self, place: str, action: RemoveVoter | AddVoter) -> None:
        if isinstance(action, RemoveVoter) and action.begins:
            self._begin(action)
        self._still_holds(action.step)
        self.failpoints.hit(f"before_call.{place}")
        if isinstance(action, RemoveVoter):
            self.quorum.remove(action.node_id, action.directory_id, self.call_timeout)
        else:
            endpoint = Endpoint(action.host, action.port)
            self.quorum.add(action.node_id, action.directory_id, action.listener, endpoint, self.call_timeout)

    def _begin(self, action: RemoveVoter | BeginReplacement) -> None:
        """Other clusters may have taken the last place since the plan was made."""
        term = self.holder.require(self.call_timeout)
        place = f"{self.cluster.namespace}/{self.cluster.name}"
        what = Begun(self.cluster.uid, place, action.node_id, action.directory_id, 0.0)
        if not self.account.begin(what, term, self.call_timeout):
            raise Stale(
                f"node {action.node_id} is not replaced now: the operator has begun as many replacements as it may"
            )

    def _update(self, action: UpdateVoter) -> None:
        self._still_holds(action.step)
        self.failpoints.hit("before_call.update_voter")
        endpoints = {name: Endpoint(host, port) for name, host, port in action.endpoints}
        self.quorum.update(action.node_id, action.directory_id, endpoints, action.epoch, self.call_timeout)

    def _discard(self, action: DiscardClaim) -> None:
        """The claim first: it stays until no pod uses it, and the next pod must not find it."""
        namespace = self.cluster.namespace
        self._still_holds(action.step)
        self.failpoints.hit("before_call.discard")
        self.kube.delete(CLAIM, namespace, action.claim, uid=action.claim_uid, timeout=self.call_timeout)
        self.failpoints.hit("between_calls.discard")
        grace = 0 if action.node_is_lost else None
        self.kube.delete(POD, namespace, action.pod, uid=action.pod_uid, timeout=self.call_timeout, grace_seconds=grace)

    def _run_helper(self, action: RunHelper) -> None:
        """Its name says its task, and its task is written down: two operators can only make the same one."""
        self.failpoints.hit("before_call.helper")
        for kind, body in ((CLAIM, action.claim), (POD, action.manifest)):
            try:
                if body is not None:
                    self.kube.create(kind, self.cluster.namespace, dict(body), timeout=self.call_timeout)
            except Conflict:
                continue  # it is there
        self.failpoints.hit("after_call.helper")

    def _restart(self, action: RestartPod) -> None:
        self._still_holds(action.step)
        self.failpoints.hit("before_call.restart")
        self.kube.delete(POD, self.cluster.namespace, action.pod, uid=action.uid, timeout=self.call_timeout)

    def _delete(self, kind: Kind, name: str, uid: str, *, orphan: bool = False) -> None:
        timeout = self.call_timeout
        self.kube.delete(kind, self.cluster.namespace, name, uid=uid, timeout=timeout, orphan=orphan)

    def _annotate(self, kind: Kind, name: str, marks: Mapping[str, str | None], uid: str) -> None:
        self.kube.annotate(kind, self.cluster.namespace, name, marks, uid=uid, timeout=self.call_timeout)

    def _apply(self, manifest: Mapping[str, Any]) -> None:
        intent = dict(manifest)
        kind = BY_KIND[intent["apiVersion"], intent["kind"]]
        live = self.kube.apply(kind, intent, timeout=self.call_timeout)
        self.settled[intent["kind"], intent["metadata"]["name"]] = fingerprint(intent, live)

    def _grow(self, action: GrowClaim) -> None:
        request = {"resources": {"requests": {"storage": action.size}}}
        body = {"metadata": {"uid": action.uid}, "spec": request}
        self.kube.patch(CLAIM, self.cluster.namespace, action.claim, body, timeout=self.call_timeout)

    def _retain(self, action: RetainVolume) -> None:
        volume = self.kube.get(VOLUME, None, action.volume)
        bound = (volume["spec"].get("claimRef") or {}).get("uid")
        if bound != action.claim_uid:
            raise Stale(f"volume {action.volume} is bound to claim {bound}, not to {action.claim} {action.claim_uid}")
        self.holder.require(self.call_timeout)
        change = {"metadata": {"uid": volume["metadata"]["uid"]}, "spec": {"persistentVolumeReclaimPolicy": "Retain"}}
        self.kube.patch(VOLUME, "", action.volume, change, timeout=self.call_timeout)

    def _make_claim(self, action: MakeClaim) -> None:
        """The volume is freed for exactly this name, then the claim is made for exactly this volume."""
        namespace = self.cluster.namespace
        volume = self.kube.get(VOLUME, None, action.volume)
        spec, reference = volume["spec"], volume["spec"].get("claimRef") or {}
        ours = (reference.get("namespace", namespace), reference.get("name", action.claim)) == (namespace, action.claim)
        if not ours or reference.get("uid", action.old_uid) != action.old_uid:
            raise Stale(f"volume {action.volume} is bound to {reference}, not to the claim that node had")
        self.holder.require(self.call_timeout)
        self.failpoints.hit("before_call.make_claim")
        if reference.get("uid"):
            meta = {"uid": volume["metadata"]["uid"], "resourceVersion": volume["metadata"]["resourceVersion"]}
            free = {"claimRef": {"uid": None, "resourceVersion": None}}
            self.kube.patch(VOLUME, "", action.volume, {"metadata": meta, "spec": free}, timeout=self.call_timeout)
        self.failpoints.hit("between_calls.make_claim")
        wanted = {key: spec[key] for key in ("accessModes", "volumeMode") if key in spec}
        wanted |= {"volumeName": action.volume, "storageClassName": spec.get("storageClassName", "")}
        wanted |= {"resources": {"requests": {"storage": spec["capacity"]["storage"]}}}
        body: Object = {"apiVersion": CLAIM.api, "kind": CLAIM.kind, "spec": wanted}
        body["metadata"] = {"name": action.claim, "namespace": namespace, "labels": dict(action.labels)}
        try:
            self.kube.create(CLAIM, namespace, body, timeout=self.call_timeout)
        except Conflict as error:
            raise Stale(f"claim {action.claim} is there again") from error

    def _remember(self, action: Remember) -> None:
        """A claim that went meanwhile cannot remember; one that was changed may have been written by a successor."""
        self.failpoints.hit("after_journal.remember")
        marks = {f"{names.GROUP}/{KEY}": action.memory}
        for name, uid, version in action.claims:
            self.holder.require(self.call_timeout)
            try:
                self.kube.annotate(
                    CLAIM,
                    self.cluster.namespace,
                    name,
                    marks,
                    uid=uid,
                    resource_version=version,
                    timeout=self.call_timeout,
                )
            except NotFound:
                continue
            except Conflict as error:
                raise Stale(f"claim {name} has changed since it was read: {error.message}") from error
            self.failpoints.hit("between_calls.remember")
        self.failpoints.hit("after_call.remember")

    def _write_ledger(self, ledger: Ledger) -> None:
        body = ledger_object(self.cluster, ledger, self.ledger_object)
        try:
            if self.ledger_object is None:
                namespace = self.cluster.namespace
                self.ledger_object = self.kube.create(CONFIG_MAP, namespace, body, timeout=self.call_timeout)
            else:
                self.ledger_object = self.kube.replace(CONFIG_MAP, body, timeout=self.call_timeout)
        except Conflict as error:
            what = f"ledger of {self.cluster.namespace}/{self.cluster.name}: {error.message}"
            if self.holder.still_holds():
                raise Stale(f"{what}; somebody else has edited it, it is read again") from error
            raise FenceLost(what) from error
        self.ledger_written = self.ledger_asked = True


def ledger_object(cluster: KRaftCluster, ledger: Ledger, live: Object | None) -> Object:
    """The ConfigMap to write: ours in place, what others added kept. It outlives the resource unless volumes go with
    it.
    """
    meta = dict(
        (live or {}).get("metadata") or {"name": names.ledger_name(cluster.name), "namespace": cluster.namespace}
    )
    meta.pop("managedFields", None)
    meta["labels"] = {**(meta.get("labels") or {}), **labels(cluster)}
    owned = cluster.spec.volume_policy is VolumePolicy.DELETE
    meta["ownerReferences"] = [owner_reference(cluster)] if owned else []
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": render(ledger)}
