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
    CordonBroker,
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
    UncordonBroker,
    UnregisterBroker,
    UpdateVoter,
    WriteLedger,
    target,
)
from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster, VolumePolicy
from kraft_operator.certificate_writes import CertificateWrites
from kraft_operator.credentials import CredentialAction, EnterStage
from kraft_operator.disk_writes import DiskWrites
from kraft_operator.fence import FenceLost, Holder, Stale, still_holds
from kraft_operator.kube import (
    BY_KIND,
    CLAIM,
    CONFIG_MAP,
    OPERATION,
    POD,
    STATEFUL_SET,
    Conflict,
    Forbidden,
    Gateway,
    Invalid,
    Kind,
    Object,
)
from kraft_operator.lease import Term
from kraft_operator.ledger import JournaledStep, Ledger
from kraft_operator.ledger_format import render
from kraft_operator.manifests.context import labels, owner_reference
from kraft_operator.plan.brake import Begun, Brake
from kraft_operator.plan.rollout.children import fingerprint
from kraft_operator.pod_facts import NUDGE_ANNOTATION
from kraft_operator.quorum import AdminFailed, QuorumChanges
from kraft_operator.removals import DropVolume, EmptyDirectory
from kraft_operator.security.certificates import Issuer
from kraft_operator.settings import Failpoints
from kraft_operator.user_writes import UserWrites
from kraft_operator.users import ChangeAcls, ForgetUser, MakeCredential, SetPassword, SetQuotas, TellUser, UserAction
from storage_guard.formats import RACK_ANNOTATION

logger: Final = logging.getLogger("kraft_operator")


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
    issuer: Issuer = field(default_factory=Issuer)
    done: list[Action] = field(default_factory=list)
    refused: list[tuple[Action, str]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Users for whom a change of the cluster failed, and why."""
    ledger_written: bool = False
    ledger_asked: bool = False

    def run(self, actions: tuple[Action, ...]) -> None:
        """Perform them. A child that the API server refuses for its content, or a volume that the operator may not
        change, is noted, and does not stop the others; nor does a user whose wishes the cluster refuses."""
        for action in actions:
            try:
                self._ask(action)
                self._perform(action)
            except (Invalid, Forbidden) as error:
                if isinstance(error, Invalid) and isinstance(action, UserAction):
                    self._fail(action, error.message)
                    continue
                may_be_refused = ApplyChild if isinstance(error, Invalid) else RetainVolume
                if not isinstance(action, may_be_refused):
                    raise
                self.refused.append((action, error.message))
                self._log(action, f"refused: {error.message}")
            except AdminFailed as error:
                if not isinstance(action, UserAction):
                    raise
                self._fail(action, str(error))
            else:
                self.done.append(action)
                self._log(action, action.reason)

    def _fail(self, action: UserAction, why: str) -> None:
        """Its status says it, and the others get theirs."""
        self.failed[action.user] = why
        self._log(action, why)

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
        if isinstance(action, CredentialAction):
            self.certificates.perform(action)
            return
        match action:
            case WriteLedger():
                self._write_ledger(action.ledger)
            case ApplyChild():
                self._apply(action.manifest)
            case DeleteChild() | OrphanSet() | DeleteOperation() | EndHelper():
                self._take_away(action)
            case DeliverGrant():
                self._fenced("grant", action.step, lambda: self.disks.deliver(action))
            case AnnotateClaim():
                marks = {f"{names.GROUP}/{key}": value for key, value in action.annotations.items()}
                self._annotate(CLAIM, action.claim, marks, action.uid)
            case Remember():
                self.disks.remember(action)
            case GrowClaim():
                self.disks.grow(action)
            case RetainVolume():
                self.disks.retain(action)
            case MakeClaim():
                self.disks.make_claim(action)
            case TellRack():
                self._annotate(POD, action.pod, {RACK_ANNOTATION: action.rack}, action.uid)
            case NudgePod():
                self._annotate(POD, action.pod, {NUDGE_ANNOTATION: str(action.count)}, action.uid)
            case BeginReplacement():
                self._begin(action)
            case GiveUpDisk() | EnterStage() | DropVolume():
                pass  # the ledger has it
            case UnregisterBroker():
                self._fenced("unregister", action.step, lambda: self._unregister(action))
            case MoveReplicas() | EmptyDirectory():
                self._fenced("move_replicas", action.step, lambda: self._move(action))
            case CordonBroker() | UncordonBroker():
                self._fenced("cordon", action.step, lambda: self._cordon(action))
            case FinalizeFeature():
                self._fenced("finalize", action.step, lambda: self._finalize(action))
            case RemoveVoter():
                self._fenced("remove_voter", action.step, lambda: self._change_voters("remove_voter", action))
            case AddVoter():
                self._fenced("add_voter", action.step, lambda: self._change_voters("add_voter", action))
            case UpdateVoter():
                self._fenced("update_voter", action.step, lambda: self._update(action))
            case DiscardClaim():
                self._fenced("discard", action.step, lambda: self.disks.discard(action))
            case RestartPod():
                self._fenced("restart", action.step, lambda: self._restart(action))
            case RunHelper():
                self._run_helper(action)
            case MakeCredential() | SetPassword() | ChangeAcls() | SetQuotas() | ForgetUser() | TellUser():
                self.users.perform(action, self.failed.get(action.user, ""))
            case DropClaim():
                self.failpoints.hit("before_call.drop_claim")
                self.kube.delete(CLAIM, self.cluster.namespace, action.claim, uid=action.uid, timeout=self.call_timeout)
            case _ as unknown:
                assert_never(unknown)

    def _fenced(self, what: str, step: JournaledStep, call: Callable[[], None]) -> None:
        self.failpoints.hit(f"after_journal.{what}")
        self._still_holds(step)
        call()
        self.failpoints.hit(f"after_call.{what}")

    def _still_holds(self, step: JournaledStep) -> None:
        still_holds(self.holder, step, self.call_timeout)

    @property
    def disks(self) -> DiskWrites:
        return DiskWrites(self.cluster.namespace, self.kube, self.holder, self.failpoints, self.call_timeout)

    @property
    def users(self) -> UserWrites:
        return UserWrites(self.cluster, self.kube, self.quorum, self.failpoints, self.call_timeout, issuer=self.issuer)

    @property
    def certificates(self) -> CertificateWrites:
        authority = names.authority_key(self.cluster.name)
        return CertificateWrites(
            self.cluster, self.kube, self.issuer, self.failpoints, self.call_timeout, authority=authority
        )

    def _unregister(self, action: UnregisterBroker) -> None:
        self._still_holds(action.step)
        self.failpoints.hit("before_call.unregister")
        self.quorum.unregister(action.node_id, self.call_timeout)

    def _move(self, action: MoveReplicas | EmptyDirectory) -> None:
        self._still_holds(action.step)
        self.failpoints.hit("before_call.move_replicas")
        if isinstance(action, EmptyDirectory):
            at = Endpoint(action.host, action.port)
            self.quorum.relocate(action.node_id, at, action.replicas, self.call_timeout)
        else:
            self.quorum.move(action.replicas, self.call_timeout)

    def _cordon(self, action: CordonBroker | UncordonBroker) -> None:
        self._still_holds(action.step)
        self.failpoints.hit("before_call.cordon")
        if isinstance(action, CordonBroker):
            self.quorum.cordon(
                action.node_id, Endpoint(action.host, action.port), self.call_timeout, action.directories
            )
        else:
            self.quorum.uncordon(action.node_id, self.call_timeout)

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
            endpoints = {name: Endpoint(host, port) for name, host, port in action.endpoints}
            self.quorum.add(action.node_id, action.directory_id, endpoints, self.call_timeout)

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

    def _take_away(self, action: DeleteChild | OrphanSet | DeleteOperation | EndHelper) -> None:
        match action:
            case DeleteChild():
                self._delete(BY_KIND[action.api, action.kind], action.name, action.uid)
            case OrphanSet():
                self._delete(STATEFUL_SET, action.name, action.uid, orphan=True)
            case DeleteOperation():
                self._delete(OPERATION, action.name, action.uid)
            case EndHelper():
                self._delete(POD, action.pod, action.uid)

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
