"""One pass over one cluster: observe, plan, execute, report. Glue, and the little that is remembered between passes.

Remembered, and safe to lose: how the API server renders our last applies (saves needless ones), and how far controllers' logs were seen to
reach (raises the ledger's minimums). A pass blocks its worker thread; every call in it has a deadline.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from kraft_operator import events, status
from kraft_operator.actions import Action, DeliverGrant, NudgePod, TellRack, target
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.execute import Account, Execution, FenceLost, Holder, Stale
from kraft_operator.judgement import Round, round_of
from kraft_operator.keys import Key
from kraft_operator.kube import CLUSTER, OPERATION, VOLUME, Forbidden, Gateway, KubeError, NotFound, Object
from kraft_operator.last_words import redacted
from kraft_operator.lease import LeaseLost, LeaseRunsOut
from kraft_operator.ledger import CorruptLedger
from kraft_operator.manifests.context import Images
from kraft_operator.metrics import Metrics
from kraft_operator.observe import Sight, controllers_of, observe, operations_of
from kraft_operator.observed import Quorum, QuorumState
from kraft_operator.operations.operation import Operation, Phase, is_expired
from kraft_operator.operations.telling import Telling, status_of
from kraft_operator.plan.rules import plan
from kraft_operator.plan.situation import Decision, Draw, Fence, Finding, Situation, Topic
from kraft_operator.plan.steps import Approved, from_status
from kraft_operator.quorum import AdminFailed, QuorumProbe
from kraft_operator.settings import Settings
from kraft_operator.steadiness import Steadiness

BUSY_SECONDS: Final = 1.0
"""How soon to look again while something is on its way that sends no event (an election, a registration)."""
ROUND_SECONDS: Final = 2.0
"""How long before a look its round of comparison must be: four times the wait of a follower's fetch."""
NUDGE_SECONDS: Final = 3.0
"""How long a gate may take to see an annotation before the pod is touched again."""


RECLAIM_SECONDS: Final = 600.0
"""How long a volume's reclaim policy is believed."""


@dataclass(slots=True)
class Memory:
    """Of one cluster, in this process."""

    uid: str
    settled: dict[tuple[str, str], str] = field(default_factory=dict)
    progress: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    inspected: dict[str, float] = field(default_factory=dict)
    """Pod UID to when its inspected disk was first seen."""
    suspected: dict[str, float] = field(default_factory=dict)
    """What the last plan suspected, to when it was suspected first."""
    rounds: deque[tuple[float, Round]] = field(default_factory=lambda: deque(maxlen=16))
    """When the quorum was looked at, and what of it is compared with later looks."""
    reclaimed: dict[str, tuple[float, bool]] = field(default_factory=dict)
    """Volume to when its reclaim policy was read, and whether that was Delete."""
    steady: Steadiness = field(default_factory=Steadiness)
    touched: dict[str, float] = field(default_factory=dict)
    """Pod UID to when we last wrote something on it that its gate waits for."""


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
    _memories: dict[Key, Memory] = field(default_factory=dict)

    def reconcile(self, key: Key) -> float | None:
        """Bring one cluster a step closer; returns when to look again, None when there is nothing to look at."""
        resource = self.kube.find(CLUSTER, key.namespace, key.name)
        if resource is None or resource["metadata"].get("deletionTimestamp"):
            self._memories.pop(key, None)
            self.metrics.forget(namespace=key.namespace, name=key.name)
            self._tell_orphans(key)
            return None
        try:
            cluster = parse_cluster(resource)
            memory = self._memory(key, cluster)
            before, reclaimed = self._before(memory), partial(self._reclaimed, memory)
            sight = observe(cluster, self.kube, self.probe, before, memory.suspected, reclaimed)
        except InvalidSpec as error:
            return self._refuse(resource, "SpecInvalid", f"{error.path}: {error.problem}")
        except CorruptLedger as error:
            return self._refuse(resource, "LedgerCorrupt", f"the ledger {key.name}-ledger cannot be read: {error}")
        except Exception as error:
            self._hinder(resource, error)
            raise
        return self._pass(key, resource, cluster, sight)

    def _pass(self, key: Key, resource: Object, cluster: KRaftCluster, sight: Sight) -> float:
        memory = self._memory(key, cluster)
        self._note_quorum(key, memory, sight.observed.quorum)
        term = self.holder.require(self.settings.call_timeout)
        situation = Situation(
            cluster, sight.observed, sight.ledger, Fence(term.holder, term.transitions), self.draw,
            Images(self.settings.operator_image, self.settings.lease_namespace), memory.settled, memory.progress,
            self._overdue(memory), self._waited(memory), from_status((resource.get("status") or {}).get("plan")),
            self.account.brake(),
        )  # fmt: skip
        try:
            decision = plan(situation)
        except Exception as error:
            self._hinder(resource, error)
            raise
        self._remember_suspects(memory, decision)
        deferred = any(each.deferred for each in decision.findings)
        self.metrics.set("kraft_operator_replacement_deferred", deferred, namespace=key.namespace, name=key.name)
        going = any(each.stalled and each.reason == "ClaimTerminating" for each in decision.findings)
        self.metrics.set("kraft_operator_claim_terminating", going, namespace=key.namespace, name=key.name)
        self._time_inspections(memory, sight)
        execution = Execution(
            cluster, self.kube, self.holder, self.account,
            self.probe.changes(controllers_of(cluster, sight.observed, decision.ledger)),
            self.settings.failpoints, self.settings.call_timeout, sight.ledger_object, memory.settled,
        )  # fmt: skip
        self._publish(resource, cluster, sight, decision)
        try:
            execution.run(decision.actions)
        except (LeaseLost, FenceLost):
            raise  # not even the status is ours to write
        except Exception as error:
            found = hindrance(error)
            more = (Finding(Topic.MANUAL, *found, stalled=True),) if found else ()
            self._report(resource, cluster, sight, replace(decision, findings=decision.findings + more), execution)
            raise
        finally:
            self._time_grants(memory, execution.done)
        self._report(resource, cluster, sight, decision, execution)
        waits = decision.outline.approved is Approved.NO
        rests = not decision.actions and (waits or _is(resource, "Ready"))
        return self.settings.probe_seconds if rests else BUSY_SECONDS

    def _publish(self, resource: Object, cluster: KRaftCluster, sight: Sight, decision: Decision) -> None:
        """A new plan is in the status before its first step is taken."""
        old: Mapping[str, Any] = resource.get("status") or {}
        name = decision.outline.hash
        if not name or name == (old.get("plan") or {}).get("hash") or not decision.actions:
            return
        self.holder.require(self.settings.call_timeout)
        planned = replace(decision, ledger=sight.ledger)
        new = self._status(resource, cluster, sight, planned)
        self._write_status(resource, new)
        for note in events.notes(old, new, sight.ledger, sight.ledger, ()):
            self.recorder.post(resource, note)

    def _report(
        self,
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
        new = self._status(resource, cluster, sight, decision)
        self._write_status(resource, new)
        learned = decision.ledger if execution.ledger_written else sight.ledger
        for note in events.notes(old, new, sight.ledger, learned, execution.done):
            self.recorder.post(resource, note)
        self._tell(resource["metadata"]["namespace"], decision.tellings)
        self._clear_away(resource["metadata"]["namespace"], sight.observed.operations)

    def _status(self, resource: Object, cluster: KRaftCluster, sight: Sight, decision: Decision) -> status.Status:
        """What the decision amounts to, without what passes by itself within seconds."""
        old, now = resource.get("status") or {}, self.clock()
        steady = self._memory(Key(cluster.namespace, cluster.name), cluster).steady
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
        found = hindrance(error)
        if found is None:
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
        """Of operations whose cluster is not there."""
        why = f"there is no KRaftCluster {key.name} in namespace {key.namespace}"
        found = operations_of(self.kube, key.namespace, key.name)
        asked = [each for each in found if not each.finished]
        self._tell(key.namespace, [Telling(each, Phase.PENDING, "ClusterNotFound", why) for each in asked])
        self._clear_away(key.namespace, found)

    def _clear_away(self, namespace: str, operations: Sequence[Operation]) -> None:
        """Delete those that ended long enough ago (spec.ttlSecondsAfterFinished)."""
        for each in operations:
            if is_expired(each, datetime.now(UTC)):
                self.holder.require(self.settings.call_timeout)
                self.kube.delete(OPERATION, namespace, each.name, uid=each.uid)

    def _tell(self, namespace: str, tellings: Sequence[Telling]) -> None:
        """Write the status of each operation of which there is something new to say."""
        for told in tellings:
            new = status_of(told, _now())
            if new == told.operation.status:
                continue
            self.holder.require(self.settings.call_timeout)
            meta = {"name": told.operation.name, "namespace": namespace, "uid": told.operation.uid}
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

    def _memory(self, key: Key, cluster: KRaftCluster) -> Memory:
        memory = self._memories.get(key)
        if memory is None or memory.uid != cluster.uid:
            memory = self._memories[key] = Memory(cluster.uid)
        return memory

    def _note_quorum(self, key: Key, memory: Memory, quorum: Quorum) -> None:
        labels = {"namespace": key.namespace, "name": key.name}
        self.metrics.set("kraft_operator_quorum_leader", quorum.leader_id, **labels)
        self.metrics.set("kraft_operator_quorum_live_voters", quorum.live, **labels)
        self.metrics.set("kraft_operator_quorum_high_watermark", quorum.high_watermark, **labels)
        self.metrics.set("kraft_operator_quorum_headroom", quorum.headroom if quorum.voters else -1, **labels)
        if (seen := round_of(quorum)) is not None:
            memory.rounds.append((self.clock(), seen))
        if quorum.state is not QuorumState.AVAILABLE or quorum.high_watermark < 0:
            return
        for voter in quorum.voters:
            # At or past the high watermark of this epoch, a log holds an entry of this epoch: (epoch, offset) compares safely.
            # No further than it: what is not committed may be truncated.
            if voter.live and voter.log_end_offset >= quorum.high_watermark:
                memory.progress[voter.node_id, voter.directory_id] = (quorum.epoch, quorum.high_watermark)

    def _before(self, memory: Memory) -> Round | None:
        """The newest round that is old enough."""
        now = self.clock()
        return next((seen for at, seen in reversed(memory.rounds) if now - at >= ROUND_SECONDS), None)

    def _waited(self, memory: Memory) -> dict[str, float]:
        now = self.clock()
        return {suspicion: now - since for suspicion, since in memory.suspected.items()}

    def _remember_suspects(self, memory: Memory, decision: Decision) -> None:
        """A suspicion that was not repeated is forgotten: evidence has to stand without a break."""
        now = self.clock()
        memory.suspected = {each: memory.suspected.get(each, now) for each in decision.suspects}

    def _reclaimed(self, memory: Memory, volume: str) -> bool:
        """Whether it goes with its claim. A policy hardly ever changes, so a volume is asked for now and then only."""
        known = memory.reclaimed.get(volume)
        if known is None or self.clock() - known[0] >= RECLAIM_SECONDS:
            try:
                found = self.kube.find(VOLUME, None, volume)
            except Forbidden:
                found = None
            policy = (found or {"spec": {}})["spec"].get("persistentVolumeReclaimPolicy")
            known = memory.reclaimed[volume] = self.clock(), policy == "Delete"
        return known[1]

    def _overdue(self, memory: Memory) -> frozenset[str]:
        now = self.clock()
        return frozenset(uid for uid, at in memory.touched.items() if now - at > NUDGE_SECONDS)

    def _time_inspections(self, memory: Memory, sight: Sight) -> None:
        now = self.clock()
        waiting = {pod.uid for pod in sight.observed.pods if pod.gate_waits}
        memory.touched = {uid: at for uid, at in memory.touched.items() if uid in waiting}
        seen = {pod.uid: memory.inspected.get(pod.uid, now) for pod in sight.observed.pods if pod.inspect}
        memory.inspected = seen

    def _time_grants(self, memory: Memory, done: list[Action]) -> None:
        for action in done:
            match action:
                case DeliverGrant():
                    memory.touched[action.grant.pod_uid] = self.clock()
                case TellRack() | NudgePod():
                    memory.touched[action.uid] = self.clock()
                case _:
                    pass
            if isinstance(action, DeliverGrant):
                waited = self.clock() - memory.inspected.get(action.grant.pod_uid, self.clock())
                self.metrics.observe("kraft_operator_grant_seconds", waited)


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
    return Finding(Topic.SPEC, "RefusedByKubernetes", f"{target(action)}: {why}", stalled=True)


def _is(resource: Object, kind: str) -> bool:
    conditions = (resource.get("status") or {}).get("conditions") or ()
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
