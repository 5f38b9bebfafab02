"""The conditions of a KRaftCluster: what its findings and its quorum amount to, in the words of kstatus.

Pure. Each topic of the findings is one condition; Ready, Reconciling and Stalled summarise. A cause has one text, which
the summaries repeat literally, so a reader (and `kubectl kraft status`) can see that it is the same. While the quorum
is lost, nothing else counts: QuorumLost is the reason of Ready and of QuorumAvailable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.combined import serving_groups
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.observed import Observed, Quorum, QuorumState
from kraft_operator.operations.recovery import HELD
from kraft_operator.plan.situation import Decision, Finding, Topic
from kraft_operator.plan.wording import called, listed

Condition = dict[str, Any]
MAX_MESSAGE: Final = 4000
QUORUM_LOST: Final = "QuorumLost"
HARMLESS: Final = frozenset({"GhostController", "AuthorityRotates", "BecomesSecure"})
"""Reasons that are worth knowing and ask for nothing: their condition stays True."""
FOLLOWING: Final = frozenset({"RolloutInProgress", "RestartDeferred"})
"""Reasons that follow from a BadRevision, and say nothing more beside it."""
HEALTHY: Final = {
    Topic.SPEC: ("Valid", "the resource is valid"),
    Topic.PLAN: ("NotWaiting", "no plan waits for approval"),
    Topic.STORAGE: ("Healthy", "every disk is what it should be"),
    Topic.MEMBERSHIP: ("Synced", "the nodes are those that the resource asks for"),
    Topic.ROLLOUT: ("Complete", "every pod runs the newest revision"),
    Topic.PODS: ("Healthy", "no pod reports a problem"),
    Topic.VERSIONS: ("Final", "every feature level that the resource asks for is finalized"),
    Topic.ENDPOINTS: ("Consistent", "every voter's endpoint is the one in the metadata log"),
    Topic.DOMAINS: ("Satisfied", "no failure domain holds a majority of the voters"),
    Topic.SECURITY: ("Valid", "every certificate of the cluster is good, and none is due"),
    Topic.ARCHIVE: ("Following", "the archive of the metadata log follows the quorum, and its disk is whole"),
    Topic.ARCHIVE_COPY: ("Shipping", "the object store has what the archive has, but for what waits to be put"),
    Topic.AUDIT: ("NoneFailed", "no audit of the archive has failed; .status.archive.audit says what the newest found"),
    Topic.REGISTRATIONS: ("Clean", "only nodes of this cluster are registered"),
}
ASIDE: Final = (
    *(Topic.VERSIONS.value, Topic.REGISTRATIONS.value, Topic.DOMAINS.value),
    *(Topic.ARCHIVE.value, Topic.ARCHIVE_COPY.value, Topic.AUDIT.value),
)
"""Conditions that may be False while the cluster serves as it should."""


def conditions(cluster: KRaftCluster, observed: Observed, decision: Decision) -> list[Condition]:
    findings = _once(decision.findings)
    by_topic = {topic: [each for each in findings if each.topic is topic] for topic in Topic}
    absent = {
        *((Topic.SECURITY,) if not cluster.spec.security.certified else ()),
        *((Topic.ARCHIVE, Topic.ARCHIVE_COPY, Topic.AUDIT) if cluster.spec.archive is None else ()),
        *((Topic.ARCHIVE_COPY,) if cluster.spec.archive and cluster.spec.archive.store is None else ()),
        *((Topic.AUDIT,) if cluster.spec.archive and cluster.spec.archive.audit is None else ()),
    }
    topics = [_topic(topic, by_topic[topic]) for topic in HEALTHY if topic not in absent]
    lost = _lost(decision)
    quorum = _available(observed, decision.ledger, lost)
    stalled = [each for each in findings if each.stalled]
    ready = _ready(cluster, observed, decision, quorum=quorum, topics=topics, lost=lost)
    return [
        ready,
        _reconciling(ready, stalled),
        condition("Stalled", "True", stalled[0].reason, _joined(stalled))
        if stalled
        else condition("Stalled", "False", "Progressing", "nothing waits for a person"),
        quorum,
        _redundant(observed, decision.ledger),
        *topics,
        _secure(cluster, by_topic[Topic.SECURITY]),
        _aside(Topic.MANUAL, by_topic[Topic.MANUAL], "None", "the operator can do by itself whatever has to be done"),
        _aside(Topic.SUSPENDED, by_topic[Topic.SUSPENDED], "Running", "the operator acts on this cluster"),
        _aside(Topic.HIBERNATED, by_topic[Topic.HIBERNATED], "Awake", "the nodes are kept running"),
    ]


def condition(kind: str, value: str, reason: str, message: str) -> Condition:
    return {"type": kind, "status": value, "reason": reason, "message": message}


def dated(found: Sequence[Condition], old: Mapping[str, Any], generation: int, now: str) -> list[Condition]:
    """A condition keeps its date until its status changes."""
    before = {each.get("type"): each for each in old.get("conditions") or ()}
    dates = []
    for each in found:
        same = before.get(each["type"], {}).get("status") == each["status"]
        time = before[each["type"]].get("lastTransitionTime", now) if same else now
        dates.append({**each, "observedGeneration": generation, "lastTransitionTime": time})
    return dates


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Without the refusal to format a disk of whose loss another finding speaks."""
    voters = {each.subject.removeprefix("node ") for each in findings if each.subject.startswith("node ")}
    storage = [each.subject for each in findings if each.topic is Topic.STORAGE]
    brokers = {subject.removeprefix("broker ") for subject in storage if subject.startswith("broker ")}
    lost = {f"-{node_id}-0" for node_id in voters | brokers}
    return [each for each in findings if each.reason != "FormatRefused" or not each.subject.endswith(tuple(lost))]


def _lost(decision: Decision) -> Finding | None:
    """What is said of a lost quorum: that it is, what its recovery waits for, or that it is being recovered."""
    recovery = decision.ledger.recovery if decision.ledger is not None else None
    recovering = recovery is not None and recovery.stage in HELD
    for each in decision.findings:
        if each.topic is Topic.MANUAL and (each.reason == QUORUM_LOST or recovering):
            return each
    return next((each for each in decision.findings if recovering and each.reason == "RecoveringQuorum"), None)


def _reconciling(ready: Condition, stalled: Sequence[Finding]) -> Condition:
    if ready["status"] == "True":
        return condition("Reconciling", "False", "Idle", "no node, disk or voter has to be changed")
    if ready["reason"] in ("Suspended", "Hibernated"):
        return condition("Reconciling", "False", ready["reason"], ready["message"])
    if stalled:
        return condition("Reconciling", "False", "Stalled", "the condition Stalled says what a person has to do")
    return condition("Reconciling", "True", ready["reason"], ready["message"])


def _ready(
    cluster: KRaftCluster,
    observed: Observed,
    decision: Decision,
    quorum: Condition,
    topics: Sequence[Condition],
    lost: Finding | None,
) -> Condition:
    bad = next((each for each in topics if each["status"] != "True" and each["type"] not in ASIDE), None)
    suspended = next((each for each in decision.findings if each.topic is Topic.SUSPENDED), None)
    if suspended is not None:
        return _not_ready("Suspended", suspended.message)
    if lost is not None:
        return _not_ready(QUORUM_LOST, lost.message)
    asleep = next((each for each in decision.findings if each.topic is Topic.HIBERNATED), None)
    if asleep is not None and (bad is None or bad["type"] != Topic.PLAN.value):
        return _not_ready(asleep.reason, asleep.message)
    if bad is not None:
        return _not_ready(bad["reason"], bad["message"])
    if decision.ledger is None or decision.ledger.formation is not Formation.FORMED:
        return _not_ready("Forming", "the first quorum is being formed")
    if quorum["status"] != "True":
        return _not_ready(quorum["reason"], quorum["message"])
    return _serving(cluster, observed, decision.ledger)


def _serving(cluster: KRaftCluster, observed: Observed, ledger: Ledger) -> Condition:
    """Nothing is wrong that a rule has found: whether every node serves."""
    waiting = sorted(_unready(cluster, observed))
    if waiting:
        return _not_ready("NodesNotReady", f"not ready yet: {', '.join(waiting)}")
    absent = _unregistered(cluster, observed)
    if absent:
        what = f"read the log of {called('broker', absent)}"
        return _not_ready(
            "BrokersNotRegistered", f"{what}: the pod is ready, but the broker is fenced or not registered"
        )
    unproven = [each.name for each in cluster.spec.groups if each.node_ids and not ledger.good_revision(each.name)]
    if unproven:
        message = f"the next look at the quorum records the revision of {listed(unproven)} as good"
        return _not_ready("RevisionUnproven", message)
    return condition("Ready", "True", "Ready", "a majority follows one leader and every node serves")


def _not_ready(reason: str, message: str) -> Condition:
    return condition("Ready", "False", reason, message)


def _unregistered(cluster: KRaftCluster, observed: Observed) -> list[int]:
    """Brokers whose pods are ready though the cluster does not count on them: a probe of a port cannot tell."""
    brokers = observed.brokers
    if brokers.registered is None:
        return []
    serving = brokers.registered - (brokers.fenced or frozenset())
    return [each for group in serving_groups(cluster.spec) for each in group.node_ids if each not in serving]


def _unready(cluster: KRaftCluster, observed: Observed) -> list[str]:
    """A pod whose StatefulSet is gone is about to be collected as garbage, however well it serves."""
    sets = {"", *(each.uid for each in observed.sets)}
    ready = {pod.node_id for pod in observed.pods if pod.ready and not pod.terminating and pod.owner in sets}
    return [
        names.pod_name(cluster.name, group.name, node_id)
        for group in cluster.spec.groups
        for node_id in group.node_ids
        if node_id not in ready
    ]


def _topic(topic: Topic, findings: Sequence[Finding]) -> Condition:
    if not findings:
        return condition(topic.value, "True", *HEALTHY[topic])
    bad = any(each.reason == "BadRevision" for each in findings)
    telling = [each for each in findings if each.reason not in HARMLESS and not (bad and each.reason in FOLLOWING)]
    if not telling:
        return condition(topic.value, "True", findings[0].reason, _joined(findings))
    return condition(topic.value, "False", telling[0].reason, _joined(telling))


def _aside(topic: Topic, findings: Sequence[Finding], reason: str, message: str) -> Condition:
    """One whose normal value is False."""
    if findings:
        return condition(topic.value, "True", findings[0].reason, _joined(findings))
    return condition(topic.value, "False", reason, message)


def _joined(findings: Sequence[Finding]) -> str:
    text = "; ".join(dict.fromkeys(each.message for each in findings))
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"


def _secure(cluster: KRaftCluster, findings: Sequence[Finding]) -> Condition:
    """Whether strangers are kept out. That they are not is its owner's choice: no fault, but nothing to overlook."""
    kind = "Secure"
    security, spec = cluster.spec.security, cluster.spec
    if open_to_all := [each.name for each in spec.broker_listeners if not each.tls and security.authorized]:
        remedy = f"take {', '.join(open_to_all)} out of spec.endpoints.broker once no client needs it"
        return condition(kind, "False", "PlaintextListener", f"{remedy}: it is plaintext, and nobody says who it is")
    if security.enforced:
        message = "every connection is encrypted and says who it is, and what no ACL allows is denied"
        return condition(kind, "True", "Required", message)
    if security.certified:
        stage = security.stage.name.capitalize()
        return condition(kind, "False", "Migrating", f"it becomes secure and has reached {stage}")
    if findings:
        return condition(kind, "False", findings[0].reason, _joined(findings))
    message = (
        "set spec.security.tls.mode to Required to change it without a pause: whoever reaches a listener may do "
        "everything, connections are plaintext and nobody says who it is"
    )
    return condition(kind, "False", "Disabled", message)


def _available(observed: Observed, ledger: Ledger | None, lost: Finding | None) -> Condition:
    quorum, kind = observed.quorum, "QuorumAvailable"
    if ledger is None or ledger.formation is Formation.NOT_STARTED:
        return condition(kind, "Unknown", "NotFormed", "the first quorum has not formed yet")
    if lost is not None:
        return condition(kind, "False", QUORUM_LOST, lost.message)
    match quorum.state:
        case QuorumState.AVAILABLE:
            return condition(kind, "True", "LeaderKnown", "a majority follows one leader")
        case QuorumState.UNAVAILABLE:
            return condition(kind, "False", "NoLeader" if quorum.leader_id < 0 else "NoMajority", quorum.detail)
        case QuorumState.UNKNOWN:
            return condition(kind, "Unknown", "NotReached", quorum.detail)


def _redundant(observed: Observed, ledger: Ledger | None) -> Condition:
    """Whether one more voter may be lost. A quorum of one never is redundant, by its owner's choice: that
    is no fault.
    """
    quorum, kind = observed.quorum, "QuorumRedundant"
    if ledger is None or ledger.formation is not Formation.FORMED or quorum.state is not QuorumState.AVAILABLE:
        return condition(kind, "Unknown", "NotReached", "it is not known which voters are live")
    if len(quorum.voters) == 1:
        return condition(kind, "True", "SingleController", "one controller, as the resource asks")
    if quorum.headroom >= 1:
        return condition(kind, "True", "Redundant", "one more voter may be lost")
    away = [each for each in quorum.voters if not each.live]
    if not away:
        return condition(kind, "False", "VoterMissing", _too_few(quorum))
    states = ", ".join(f"voter {each.node_id} is {each.state.value}" for each in away)
    return condition(kind, "False", "VoterDown", f"no further voter may be lost: {states}")


def _too_few(quorum: Quorum) -> str:
    """An even number of voters bears no more losses than one voter less."""
    return f"no voter may be lost before another one is added: all {len(quorum.voters)} voters are live and needed"
