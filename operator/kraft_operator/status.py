"""What the resource says about its cluster: classes, not numbers that change by themselves.

Pure: the same cluster, observation, decision and old status give the same status, and a condition keeps its lastTransitionTime until its
status changes. So a status that equals the old one need not be written, and is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.metadata_versions import FEATURE, KRAFT_FEATURE, name_of
from kraft_operator.api.spec import KRaftCluster, Role
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.observed import Observed, Pod, Quorum, QuorumState
from kraft_operator.plan.rollout.versions import BLOCKED, wishes
from kraft_operator.plan.situation import Decision, Finding, Topic
from kraft_operator.plan.steps import to_status
from kraft_operator.plan.voters.domains import Domain, domains
from storage_guard.formats import Verdict as Disk

Status = dict[str, Any]
Condition = dict[str, Any]
MAX_MESSAGE: Final = 4000
HEALTHY: Final = {
    Topic.SPEC: ("Valid", "the resource can be acted upon"),
    Topic.PLAN: ("NotWaiting", "no plan waits for approval"),
    Topic.STORAGE: ("Healthy", "no disk is refused"),
    Topic.MEMBERSHIP: ("Synced", "the nodes are those that the resource asks for"),
    Topic.ROLLOUT: ("Complete", "every pod runs the newest revision of its node"),
    Topic.PODS: ("Healthy", "no pod is in trouble"),
    Topic.VERSIONS: ("Final", "nothing that the resource asks for is left to be made final"),
    Topic.ENDPOINTS: ("Consistent", "every voter is where the metadata log says"),
    Topic.DOMAINS: ("Satisfied", "no failure domain that the resource names holds a majority of the voters"),
    Topic.REGISTRATIONS: ("Clean", "whoever is registered is a node of this cluster"),
}
ASIDE: Final = (Topic.VERSIONS.value, Topic.REGISTRATIONS.value, Topic.DOMAINS.value)
"""Conditions that may be False while the cluster serves as it should."""


def status(
    cluster: KRaftCluster,
    observed: Observed,
    decision: Decision,
    old: Mapping[str, Any],
    now: str,
) -> Status:
    """`now` is a timestamp, used only where a condition or the plan changes."""
    conditions = _conditions(cluster, observed, decision)
    ready = next(each for each in conditions if each["type"] == "Ready")
    return {
        "observedGeneration": cluster.generation,
        "phase": _phase(ready, conditions),
        **_of_ledger(cluster, decision.ledger),
        "quorum": _quorum(observed, decision.ledger),
        **_counts(cluster, observed),
        "nodes": _nodes(observed, decision),
        "versions": _versions(cluster, observed, decision, old),
        "registrations": {"ghosts": _ghosts(decision)},
        **({"risks": list(decision.risks)} if decision.risks else {}),
        "plan": to_status(decision.outline, old.get("plan") or {}, now),
        "conditions": dated(conditions, old, cluster.generation, now),
    }


def refused(generation: int, reason: str, problem: str, old: Mapping[str, Any], now: str) -> Status:
    """The status of a resource that was refused whole: what was known before stays, the conditions say why."""
    message = f"{problem}; the running cluster is left as it is"
    conditions = [
        _condition("Ready", "False", reason, message),
        _condition("Reconciling", "False", "Idle", "nothing can be done before this is corrected"),
        _condition("Stalled", "True", reason, message),
        _condition(Topic.SPEC.value, "False", reason, message),
    ]
    return {**_with(conditions, generation, old, now), "observedGeneration": generation, "phase": "Stalled"}


def hindered(generation: int, reason: str, problem: str, old: Mapping[str, Any], now: str) -> Status:
    """The status of a resource that could not be looked at or planned for. Of the cluster itself nothing new is known."""
    conditions = [
        _condition("Ready", "Unknown", reason, problem),
        _condition("Reconciling", "False", "Idle", "the operator cannot go on before this is corrected"),
        _condition("Stalled", "True", reason, problem),
        _condition(Topic.MANUAL.value, "True", reason, problem),
    ]
    return {**_with(conditions, generation, old, now), "phase": "Stalled"}


def _with(conditions: Sequence[Condition], generation: int, old: Mapping[str, Any], now: str) -> Status:
    """The old status with these conditions in place of its own."""
    named = {each["type"] for each in conditions}
    kept = [dict(each) for each in old.get("conditions") or () if each.get("type") not in named]
    return {**old, "conditions": dated(conditions, old, generation, now) + kept}


def dated(conditions: Sequence[Condition], old: Mapping[str, Any], generation: int, now: str) -> list[Condition]:
    before = {each.get("type"): each for each in old.get("conditions") or ()}
    found = []
    for each in conditions:
        same = before.get(each["type"], {}).get("status") == each["status"]
        time = before[each["type"]].get("lastTransitionTime", now) if same else now
        found.append({**each, "observedGeneration": generation, "lastTransitionTime": time})
    return found


def _conditions(cluster: KRaftCluster, observed: Observed, decision: Decision) -> list[Condition]:
    by_topic = {topic: [each for each in decision.findings if each.topic is topic] for topic in Topic}
    topics = [_topic(topic, by_topic[topic]) for topic in HEALTHY]
    quorum = _quorum_condition(observed, decision.ledger)
    suspended, asleep = by_topic[Topic.SUSPENDED], by_topic[Topic.HIBERNATED]
    stalled = [each for each in decision.findings if each.stalled]
    ready = _ready(cluster, observed, decision, quorum, topics)
    working = ready["status"] != "True" and not stalled and not suspended and ready["reason"] != "Hibernated"
    return [
        ready,
        _condition("Reconciling", "True", ready["reason"], ready["message"])
        if working
        else _condition("Reconciling", "False", "Idle", "there is nothing to do, or nothing that can be done"),
        _condition("Stalled", "True", stalled[0].reason, _joined(stalled))
        if stalled
        else _condition("Stalled", "False", "Progressing", "nothing waits for a person"),
        quorum,
        _redundant(observed, decision.ledger),
        *topics,
        _condition(
            "ManualInterventionRequired", "True", by_topic[Topic.MANUAL][0].reason, _joined(by_topic[Topic.MANUAL])
        )
        if by_topic[Topic.MANUAL]
        else _condition("ManualInterventionRequired", "False", "None", "the operator can do what is to be done"),
        _condition("Suspended", "True", "Suspended", suspended[0].message)
        if suspended
        else _condition("Suspended", "False", "Running", "the operator acts on this cluster"),
        _condition("Hibernated", "True", asleep[0].reason, asleep[0].message)
        if asleep
        else _condition("Hibernated", "False", "Awake", "nodes are kept running"),
    ]


def _ready(
    cluster: KRaftCluster, observed: Observed, decision: Decision, quorum: Condition, topics: Sequence[Condition]
) -> Condition:
    bad = next((each for each in topics if each["status"] != "True" and each["type"] not in ASIDE), None)
    if any(each.topic is Topic.SUSPENDED for each in decision.findings):
        return _condition("Ready", "False", "Suspended", "the cluster is watched, nothing is changed")
    asleep = next((each for each in decision.findings if each.topic is Topic.HIBERNATED), None)
    if asleep is not None and (bad is None or bad["type"] != Topic.PLAN.value):
        return _condition("Ready", "False", asleep.reason, asleep.message)
    if bad is not None:
        return _condition("Ready", "False", bad["reason"], bad["message"])
    if decision.ledger is None or decision.ledger.formation is not Formation.FORMED:
        return _condition("Ready", "False", "Forming", "the first quorum is being formed")
    if quorum["status"] != "True":
        return _condition("Ready", "False", quorum["reason"], quorum["message"])
    waiting = sorted(_unready(cluster, observed))
    if waiting:
        return _condition("Ready", "False", "NodesNotReady", f"waiting for {', '.join(waiting)}")
    absent = _unregistered(cluster, observed)
    if absent:
        return _condition("Ready", "False", "BrokersNotRegistered", f"not registered, or fenced: brokers {absent}")
    unproven = [
        group.name for group in cluster.spec.groups if group.node_ids and not decision.ledger.good_revision(group.name)
    ]
    if unproven:
        message = (
            f"nothing that {', '.join(unproven)} runs well with is written down yet: that takes two looks at the quorum"
        )
        return _condition("Ready", "False", "RevisionUnproven", message)
    return _condition("Ready", "True", "Ready", "a leader is known and every node is ready")


def _unregistered(cluster: KRaftCluster, observed: Observed) -> str:
    """Brokers whose pods are ready though the cluster does not count on them: a probe of a port cannot tell."""
    brokers = observed.brokers
    if brokers.registered is None:
        return ""
    serving = brokers.registered - (brokers.fenced or frozenset())
    return ", ".join(str(each) for pool in cluster.spec.broker_pools for each in pool.node_ids if each not in serving)


def _unready(cluster: KRaftCluster, observed: Observed) -> list[str]:
    ready = {pod.node_id for pod in observed.pods if pod.ready and not pod.terminating}
    return [
        names.pod_name(cluster.name, group.name, node_id)
        for group in cluster.spec.groups
        for node_id in group.node_ids
        if node_id not in ready
    ]


def _topic(topic: Topic, findings: Sequence[Finding]) -> Condition:
    if not findings:
        return _condition(topic.value, "True", *HEALTHY[topic])
    return _condition(topic.value, "False", findings[0].reason, _joined(findings))


def _joined(findings: Sequence[Finding]) -> str:
    text = "; ".join(dict.fromkeys(each.message for each in findings))
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"


def _quorum_condition(observed: Observed, ledger: Ledger | None) -> Condition:
    quorum = observed.quorum
    if ledger is None or ledger.formation is Formation.NOT_STARTED:
        return _condition("QuorumAvailable", "Unknown", "NotFormed", "no quorum was formed yet")
    match quorum.state:
        case QuorumState.AVAILABLE:
            return _condition("QuorumAvailable", "True", "LeaderKnown", "a majority follows one leader")
        case QuorumState.UNAVAILABLE:
            return _condition("QuorumAvailable", "False", "NoLeader", quorum.detail)
        case QuorumState.UNKNOWN:
            return _condition("QuorumAvailable", "Unknown", "NotReached", quorum.detail)


def _redundant(observed: Observed, ledger: Ledger | None) -> Condition:
    """Whether one more voter may be lost. A quorum of one never is redundant, by its owner's choice: no fault is told."""
    quorum = observed.quorum
    if ledger is None or ledger.formation is not Formation.FORMED or quorum.state is not QuorumState.AVAILABLE:
        return _condition("QuorumRedundant", "Unknown", "NotReached", "the voters are not known")
    if len(quorum.voters) == 1:
        return _condition("QuorumRedundant", "True", "SingleController", "one controller, as the resource asks")
    if quorum.headroom >= 1:
        return _condition("QuorumRedundant", "True", "Redundant", "one more voter may be lost")
    away = ", ".join(f"{each.node_id} ({each.state.value})" for each in quorum.voters if not each.live)
    return _condition(
        "QuorumRedundant", "False", "VoterDown", f"no further voter may be lost; not live: {away or 'none'}"
    )


def _condition(kind: str, value: str, reason: str, message: str) -> Condition:
    return {"type": kind, "status": value, "reason": reason, "message": message}


def _phase(ready: Condition, conditions: Sequence[Condition]) -> str:
    value = {each["type"]: each["status"] for each in conditions}
    if value["Suspended"] == "True":
        return "Suspended"
    if value["Hibernated"] == "True":
        return "Hibernated"
    if value["Stalled"] == "True":
        return "Stalled"
    if ready["status"] == "True":
        return "Ready"
    if ready["reason"] == "Forming":
        return "Forming"
    return "Degraded" if value["QuorumAvailable"] == "True" else "Reconciling"


def _of_ledger(cluster: KRaftCluster, ledger: Ledger | None) -> Status:
    if ledger is None:
        return {}
    return {"clusterID": ledger.cluster_id, "ledger": names.ledger_name(cluster.name)}


def _quorum(observed: Observed, ledger: Ledger | None) -> Status:
    quorum = observed.quorum
    formed = ledger is not None and ledger.formation is Formation.FORMED
    known: Status = {"leaderID": quorum.leader_id, "epoch": quorum.epoch} if quorum.epoch >= 0 else {"leaderID": -1}
    sizes: Status = {}
    if quorum.voters:
        sizes = {
            "size": len(quorum.voters),
            "live": quorum.live,
            "headroom": quorum.headroom,
            "voters": _voters(quorum),
        }
        where = domains(tuple(each.node_id for each in quorum.voters), observed.zones)
        sizes |= {"domains": [_domain(each) for each in where]} if where else {}
    return {"state": quorum.state.value, "formed": "Formed" if formed else "NotFormed", **known, **sizes}


def _domain(domain: Domain) -> Status:
    voters = list(domain.voters)
    return {"name": domain.name, "voters": voters, "majority": "Held" if domain.holds_majority else "NotHeld"}


def _versions(cluster: KRaftCluster, observed: Observed, decision: Decision, old: Mapping[str, Any]) -> Status:
    """What is known stays while no controller can be asked."""
    registry = observed.brokers.registry
    if registry.finalized is None:
        return dict(old.get("versions") or {})
    level, kraft = registry.finalized.get(FEATURE), registry.finalized.get(KRAFT_FEATURE, 0)
    wished = next((each for each in wishes(cluster.spec.versions, registry) if each.feature == FEATURE), None)
    blockers = [each.subject for each in decision.findings if (each.topic, each.reason) == (Topic.VERSIONS, BLOCKED)]
    values = {
        "metadataVersion": name_of(level) if level is not None else None,
        "metadataVersionTarget": name_of(wished.level) if wished is not None else None,
        "kraftVersion": kraft,
        "blockers": [each[:1000] for each in blockers[:64]],
    }
    return {key: value for key, value in values.items() if value is not None}


def _ghosts(decision: Decision) -> list[Status]:
    kinds = {"GhostBroker": "Broker", "GhostController": "Controller"}
    found = [each for each in decision.findings if each.topic is Topic.REGISTRATIONS and each.reason in kinds]
    return [{"nodeID": int(each.subject.rpartition(" ")[2]), "kind": kinds[each.reason]} for each in found][:256]


def _voters(quorum: Quorum) -> list[Status]:
    return [
        {"nodeID": each.node_id, "directoryID": each.directory_id, "state": each.state.value}
        for each in sorted(quorum.voters, key=lambda each: each.key)
    ]


def _counts(cluster: KRaftCluster, observed: Observed) -> Status:
    ready = {pod.node_id for pod in observed.pods if pod.ready and not pod.terminating}
    pools = [
        {"name": pool.name, "replicas": pool.replicas, "ready": len(ready & set(pool.node_ids))}
        for pool in cluster.spec.broker_pools
    ]
    controllers = cluster.spec.controllers
    chosen = f"{names.LABEL_CLUSTER}={cluster.name},{names.LABEL_ROLE}={Role.BROKER.value}"
    return {
        "controllers": {"replicas": controllers.replicas, "ready": len(ready & set(controllers.node_ids))},
        "brokers": {
            "replicas": sum(pool.replicas for pool in cluster.spec.broker_pools),
            "ready": sum(int(str(pool["ready"])) for pool in pools),
            "selector": chosen,
        },
        "pools": pools,
    }


def _nodes(observed: Observed, decision: Decision) -> list[Status]:
    found = []
    for node in sorted(decision.nodes):
        pod = observed.pod(node.node_id)
        entry = decision.ledger.entry(node.node_id) if decision.ledger else None
        values: dict[str, Any] = {
            "nodeID": node.node_id,
            "role": (Role.CONTROLLER if node.group == names.CONTROLLER_ROLE else Role.BROKER).value,
            "pool": node.group,
            "pod": pod.name if pod else None,
            "directoryID": entry.directory_id if entry else None,
            "storage": _storage(pod, decision),
            "state": "Held" if node.held else _state(pod),
            "zone": observed.zones.get(node.node_id) or (entry.rack if entry else None),
        }
        found.append({key: value for key, value in values.items() if value is not None})
    return found


def _storage(pod: Pod | None, decision: Decision) -> str:
    if pod is None or pod.inspect is None:
        return "Unknown"
    refused = next(
        (each for each in decision.findings if each.topic is Topic.STORAGE and each.subject == pod.name), None
    )
    if refused is not None and pod.inspect.verdict in (Disk.EMPTY, Disk.UNFINISHED):
        return "FormatRefused"
    if pod.main_started or pod.seal is not None:
        return "Match"
    if pod.inspect.verdict is Disk.EMPTY and pod.grant_nonce:
        return "Granted"
    return "Unknown" if pod.inspect.verdict is Disk.UNREADABLE else pod.inspect.verdict.value


def _state(pod: Pod | None) -> str:
    if pod is None:
        return "Pending"
    if pod.ready:
        return "Ready"
    if pod.trouble is not None:
        return "Failing"
    return "Running" if pod.main_started else "Init"
