"""One pass over one cluster: observe, plan, execute, report. Glue only.

A look at a cluster that was quiet is a glance: the objects as the index has them, the quorum asked as ever. If there is
still nothing to do, to say or to suspect, that was all, and the API server was not asked. Else everything is read live
and decided anew, so no write and no evidence rests on what a watch has shown. A pass blocks its worker thread; every
call in it has a deadline.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from kraft_operator import events, status
from kraft_operator.actions import Action, target
from kraft_operator.api.parse import read_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.audit_status import note_audit
from kraft_operator.execute import Account, Execution
from kraft_operator.fence import FenceLost, Holder, Stale
from kraft_operator.index import Index
from kraft_operator.keys import Key
from kraft_operator.kube import CLUSTER, OPERATION, VOLUME, Forbidden, Gateway, KubeError, NotFound, Object, Reader
from kraft_operator.last_words import redacted
from kraft_operator.lease import LeaseLost, LeaseRunsOut
from kraft_operator.ledger_format import CorruptLedger
from kraft_operator.manifests.context import Images
from kraft_operator.memory import Memory, essence
from kraft_operator.metrics import Metrics
from kraft_operator.observe import Sight, controllers_of, observe, operations_of, users_of
from kraft_operator.observed import Quorum
from kraft_operator.operations.operation import Operation, Phase, is_expired
from kraft_operator.operations.operation_report import OperationReport, status_of
from kraft_operator.plan.rules import plan
from kraft_operator.plan.situation import Decision, Draw, Fence, Finding, Situation, Topic
from kraft_operator.plan.steps import Approved, from_status
from kraft_operator.plan.users import without_a_cluster
from kraft_operator.quorum import AdminFailed, QuorumProbe
from kraft_operator.security.certificates import Issuer
from kraft_operator.settings import Settings
from kraft_operator.user_writes import tell_user

logger: Final = logging.getLogger("kraft_operator")
LEDGER_REMEDY: Final = "restore the ledger, or delete it to have it rebuilt from the volume claims"
RECLAIM_SECONDS: Final = 600.0
"""How long a volume's reclaim policy is believed."""


@dataclass(slots=True)
class Reconciler:
    kube: Gateway
    probe: QuorumProbe
    holder: Holder
    account: Account
    settings: Settings
    metrics: Metrics
    draw: Draw
    recorder: events.Recorder
    clock: Callable[[], float] = time.monotonic
    issuer: Issuer = field(default_factory=Issuer)
    index: Index = field(init=False)
    _memories: dict[Key, Memory] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.index = Index(self.kube, self.clock)

    def reconcile(self, key: Key) -> float | None:
        """Bring one cluster a step closer; returns when to look again, None when there is nothing to look at."""
        changes = self.index.changes(key)
        memory = self._memories.get(key)
        if memory is not None and memory.quiet and self.index.complete:
            if self._is_at_rest(key, memory, changes):
                return self.settings.probe_seconds
            if (again := self._glance(key, changes)) is not None:
                return again
        return self._live(key, changes)

    def _is_at_rest(self, key: Key, memory: Memory, changes: int) -> bool:
        """No watch has brought anything, and the quorum answers as before: the decision would be the same."""
        now = self.clock()
        if (rest := memory.rests(changes, now)) is None:
            return False
        quorum, brokers = self.probe.look(replace(rest.asked, before=memory.before(now)))
        memory.note_quorum(quorum, self.clock())
        self._note_quorum(key, quorum)
        return (essence(quorum), brokers) == (rest.quorum, rest.brokers)

    def _glance(self, key: Key, changes: int) -> float | None:
        """When to look again, or None: the cluster has to be looked at live."""
        resource = self.index.find(CLUSTER, key.namespace, key.name)
        if resource is None or resource["metadata"].get("deletionTimestamp"):
            return None
        try:
            cluster = read_cluster(resource)
            sight = self._observe(key, cluster, self.index)
            cluster = sight.cluster
            decision = self._decide(key, resource, cluster, sight)
        except Exception as error:
            logger.debug("%s: a live look has to tell: %r", key, error)
            return None
        new = self._status(key, resource, cluster, sight, decision)
        reported = any(status_of(each, _now()) != each.operation.status for each in decision.reports)
        if decision.actions or decision.suspects or reported or new != resource.get("status"):
            return None
        self._keep(key, decision, sight)
        self._note_status(resource, new)
        again = self._again(key, resource, decision, changes, wrote=False)
        if _may_rest(resource, decision):
            self._memories[key].note_rest(changes, sight.asked, sight.observed, self.clock())
        return again

    def _live(self, key: Key, changes: int) -> float | None:
        resource = self.kube.find(CLUSTER, key.namespace, key.name)
        if resource is None or resource["metadata"].get("deletionTimestamp"):
            self._memories.pop(key, None)
            self.metrics.forget(namespace=key.namespace, name=key.name)
            self._tell_orphans(key)
            return None
        try:
            cluster = read_cluster(resource)
            sight = self._observe(key, cluster, self.kube)
            cluster = sight.cluster
        except InvalidSpec as error:
            return self._refuse(resource, "SpecInvalid", f"{error.path}: {error.problem}")
        except CorruptLedger as error:
            return self._refuse(
                resource, "LedgerCorrupt", f"{LEDGER_REMEDY}: {key.name}-ledger cannot be read: {error}"
            )
        except Exception as error:
            self._hinder(resource, error)
            raise
        try:
            decision = self._decide(key, resource, cluster, sight)
        except (LeaseLost, LeaseRunsOut):
            raise
        except Exception as error:
            self._hinder(resource, error)
            raise
        self._keep(key, decision, sight)
        wrote = self._carry_out(key, resource, cluster, sight, decision)
        return self._again(key, resource, decision, changes, wrote=wrote)

    def _observe(self, key: Key, cluster: KRaftCluster, reader: Reader) -> Sight:
        memory, now = self._memory(key, cluster), self.clock()
        policy, memory.routes.told = partial(self._reclaim_policy, memory), self.index.route_changes(key)
        sight = observe(
            cluster, reader, self.kube, self.probe, memory.secrets, now=now, before=memory.before(now),
            suspected=memory.suspected, reclaim_policy=policy, archive=memory.archive, routes=memory.routes,
        )  # fmt: skip
        memory.note_quorum(sight.observed.quorum, self.clock())
        return sight

    def _decide(self, key: Key, resource: Object, cluster: KRaftCluster, sight: Sight) -> Decision:
        memory, now = self._memory(key, cluster), self.clock()
        term = self.holder.require(self.settings.call_timeout)
        situation = Situation(
            memory.rendered.begin(cluster), sight.observed, ledger=sight.ledger,
            fence=Fence(term.holder, term.transitions), draw=self.draw,
            images=Images(self.settings.operator_image, self.settings.lease_namespace), settled=memory.settled,
            progress=memory.progress, overdue=memory.overdue(now), waited=memory.waited(now),
            published=from_status((resource.get("status") or {}).get("plan")),
            date=self.issuer.now(), brake=self.account.brake(), rendered=memory.rendered,
            lays_out=now >= memory.way_due,
        )  # fmt: skip
        decision = plan(situation)
        if situation.lays_out:
            memory.note_plan(self.clock() - now, self.clock())
        return decision

    def _keep(self, key: Key, decision: Decision, sight: Sight) -> None:
        """Remember what this look has shown, and show it as numbers."""
        memory, now = self._memories[key], self.clock()
        memory.suspect(decision.suspects, now)
        memory.note_gates(sight.observed.pods, now)
        self._note_quorum(key, sight.observed.quorum)
        deferred = any(each.deferred for each in decision.findings)
        self.metrics.set("kraft_operator_replacement_deferred", deferred, namespace=key.namespace, name=key.name)
        going = any(each.stalled and each.reason == "ClaimTerminating" for each in decision.findings)
        self.metrics.set("kraft_operator_claim_terminating", going, namespace=key.namespace, name=key.name)

    def _carry_out(self, key: Key, resource: Object, cluster: KRaftCluster, sight: Sight, decision: Decision) -> bool:
        """Perform and report; whether the cluster or what is said of it has changed."""
        memory, before = self._memories[key], resource.get("status")
        execution = Execution(
            cluster, self.kube, holder=self.holder, account=self.account,
            quorum=self.probe.changes(
                controllers_of(cluster, sight.observed, decision.ledger), sight.asked.security
            ), issuer=self.issuer,
            failpoints=self.settings.failpoints, call_timeout=self.settings.call_timeout,
            ledger_object=sight.ledger_object, settled=memory.settled,
        )  # fmt: skip
        self._publish(key, resource, cluster, sight, decision)
        try:
            execution.run(decision.actions)
        except (LeaseLost, FenceLost):
            raise  # not even the status is ours to write
        except Exception as error:
            found = hindrance(error)
            more = (Finding(Topic.MANUAL, *found, stalled=True),) if found else ()
            told = replace(decision, findings=decision.findings + more)
            self._report(key, resource, cluster, sight=sight, decision=told, execution=execution)
            raise
        finally:
            memory.forget(decision.actions)
            for waited in memory.note_touched(execution.done, self.clock()):
                self.metrics.observe("kraft_operator_grant_seconds", waited)
        self._report(key, resource, cluster, sight=sight, decision=decision, execution=execution)
        return bool(decision.actions) or resource.get("status") != before

    def _again(self, key: Key, resource: Object, decision: Decision, changes: int, *, wrote: bool) -> float:
        """One that is Ready, or waits for a person, is looked at as often as a loss has to be noticed."""
        memory = self._memories[key]
        memory.quiet = not wrote and not decision.suspects
        pause = memory.pause(changes, wrote, self.clock())
        return self.settings.probe_seconds if _may_rest(resource, decision) else pause

    def _publish(self, key: Key, resource: Object, cluster: KRaftCluster, sight: Sight, decision: Decision) -> None:
        """A new plan is in the status before its first step is taken."""
        old: Mapping[str, Any] = resource.get("status") or {}
        name = decision.outline.hash
        if not name or name == (old.get("plan") or {}).get("hash") or not decision.actions:
            return
        self.holder.require(self.settings.call_timeout)
        planned = replace(decision, ledger=sight.ledger)
        new = self._status(key, resource, cluster, sight, planned)
        self._write_status(resource, new)
        for note in events.notes(old, new, sight.ledger, sight.ledger, ()):
            self.recorder.post(resource, note)

    def _report(
        self,
        key: Key,
        resource: Object,
        cluster: KRaftCluster,
        sight: Sight,
        decision: Decision,
        execution: Execution,
    ) -> None:
        """Write the status if it says something new, and tell what happened."""
        self.holder.require(self.settings.call_timeout)
        findings = decision.findings + tuple(_refusal(action, why) for action, why in execution.refused)
        decision = replace(decision, findings=findings)
        old: Mapping[str, Any] = resource.get("status") or {}
        new = self._status(key, resource, cluster, sight, decision)
        self._write_status(resource, new)
        learned = decision.ledger if execution.ledger_written else sight.ledger
        for note in events.notes(old, new, sight.ledger, learned, execution.done):
            self.recorder.post(resource, note)
        self._tell(resource["metadata"]["namespace"], decision.reports)

    def _status(
        self, key: Key, resource: Object, cluster: KRaftCluster, sight: Sight, decision: Decision
    ) -> status.Status:
        """What the decision amounts to, without what passes by itself within seconds."""
        old, now = resource.get("status") or {}, self.clock()
        steady = self._memories[key].steady
        decision = replace(decision, findings=steady.patient(decision.findings, old, now))
        return steady.held(status.status(cluster, sight.observed, decision, old, _now()), old, now)

    def _refuse(self, resource: Object, reason: str, problem: str) -> float:
        old = resource.get("status") or {}
        new = status.refused(resource["metadata"].get("generation", 0), reason, problem, old, _now())
        self._write_status(resource, new)
        for note in events.notes(old, new, None, None, ()):
            self.recorder.post(resource, note)
        return self.settings.resync_seconds

    def _hinder(self, resource: Object, error: Exception) -> None:
        """What keeps the operator from looking or planning, in the status: a log line is read by nobody."""
        if (found := hindrance(error)) is None:
            return
        self.holder.require(self.settings.call_timeout)
        old = resource.get("status") or {}
        new = status.hindered(resource["metadata"].get("generation", 0), *found, old, _now())
        self._write_status(resource, new)
        for note in events.notes(old, new, None, None, ()):
            self.recorder.post(resource, note)

    def _write_status(self, resource: Object, new: status.Status) -> None:
        self._note_status(resource, new)
        if new == resource.get("status"):
            return
        meta = resource["metadata"]
        body = {
            "apiVersion": CLUSTER.api,
            "kind": CLUSTER.kind,
            "metadata": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
            "status": new,
        }
        try:
            resource["status"] = self.kube.apply(CLUSTER, body, "status").get("status")
        except NotFound:
            return  # deleted meanwhile

    def _tell_orphans(self, key: Key) -> None:
        """Of operations and users whose cluster is not there."""
        for told in without_a_cluster(users_of(self.kube, key.namespace, key.name), key.name):
            self.holder.require(self.settings.call_timeout)
            tell_user(self.kube, key.namespace, told, self.settings.call_timeout)
        why = f"there is no KRaftCluster {key.name} in namespace {key.namespace}"
        found = operations_of(self.kube, key.namespace, key.name)
        asked = [each for each in found if not each.finished]
        self._tell(key.namespace, [OperationReport(each, Phase.PENDING, "ClusterNotFound", why) for each in asked])
        self._clear_away(key.namespace, found)

    def _clear_away(self, namespace: str, operations: Sequence[Operation]) -> None:
        """As the rule about operations does, where there is no cluster to plan for."""
        for each in operations:
            if is_expired(each, datetime.now(UTC)):
                self.holder.require(self.settings.call_timeout)
                self.kube.delete(OPERATION, namespace, each.name, uid=each.uid)

    def _tell(self, namespace: str, reports: Sequence[OperationReport]) -> None:
        """Write the status of each operation of which there is something new to say."""
        for reported in reports:
            new = status_of(reported, _now())
            if new == reported.operation.status:
                continue
            self.holder.require(self.settings.call_timeout)
            meta = {"name": reported.operation.name, "namespace": namespace, "uid": reported.operation.uid}
            body = {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": meta, "status": new}
            try:
                self.kube.apply(OPERATION, body, "status")
            except NotFound:
                continue  # deleted meanwhile

    def _note_status(self, resource: Object, new: status.Status) -> None:
        """Conditions and plan as numbers, for alerts."""
        labels = {"namespace": resource["metadata"]["namespace"], "name": resource["metadata"]["name"]}
        for each in new.get("conditions") or ():
            value = {"True": 1, "False": 0}.get(each["status"], -1)
            self.metrics.set("kraft_operator_condition", value, condition=each["type"], **labels)
        plan_told = new.get("plan") or {}
        ahead = sum(each["state"] != "Done" for each in plan_told.get("steps") or ()) + len(plan_told.get("more") or ())
        self.metrics.set("kraft_operator_plan_steps", ahead, **labels)
        self.metrics.set("kraft_operator_plan_waiting", plan_told.get("approved") == "No", **labels)
        note_audit(self.metrics, new, labels)

    def _memory(self, key: Key, cluster: KRaftCluster) -> Memory:
        memory = self._memories.get(key)
        if memory is None or memory.uid != cluster.uid:
            memory = self._memories[key] = Memory(cluster.uid)
        return memory

    def _note_quorum(self, key: Key, quorum: Quorum) -> None:
        labels = {"namespace": key.namespace, "name": key.name}
        self.metrics.set("kraft_operator_quorum_leader", quorum.leader_id, **labels)
        self.metrics.set("kraft_operator_quorum_live_voters", quorum.live, **labels)
        self.metrics.set("kraft_operator_quorum_high_watermark", quorum.high_watermark, **labels)
        self.metrics.set("kraft_operator_quorum_headroom", quorum.headroom if quorum.voters else -1, **labels)

    def _reclaim_policy(self, memory: Memory, volume: str, fresh: bool) -> str:
        """What becomes of it when its claim goes. It hardly ever changes, so a volume is asked for now and then only,
        unless something depends on it.
        """
        known = memory.reclaimed.get(volume)
        if fresh or known is None or self.clock() - known[0] >= RECLAIM_SECONDS:
            try:
                found = self.kube.find(VOLUME, None, volume)
            except Forbidden:
                found = None
            policy = str((found or {"spec": {}})["spec"].get("persistentVolumeReclaimPolicy", ""))
            known = memory.reclaimed[volume] = self.clock(), policy
        return known[1]


def hindrance(error: Exception) -> tuple[str, str] | None:
    """Reason and message of what a person has to mend; None for what passes by itself or is nobody's to tell."""
    match error:
        case Forbidden():
            remedy = "give the operator's ServiceAccount the rights of this version's chart or kustomize base"
            return "Forbidden", f"{remedy}: {error.message}"
        case KubeError() | AdminFailed() | Stale() | LeaseLost() | LeaseRunsOut() | FenceLost():
            return None
        case _:
            remedy = "report it with the operator's log and this resource; the running cluster is left as it is"
            return "OperatorFault", f"{remedy}: {type(error).__name__}: {redacted(str(error))}"


def _refusal(action: Action, why: str) -> Finding:
    message = f"correct what the API server refuses in {target(action)}: {why}"
    return Finding(Topic.SPEC, "RefusedByKubernetes", message, stalled=True)


def _may_rest(resource: Object, decision: Decision) -> bool:
    """Only a glance begins a rest: changes are counted of the index, and a live read may show less than that."""
    conditions = (resource.get("status") or {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return not decision.actions and (ready or decision.outline.approved is Approved.NO)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
