"""What the resource says about its cluster: classes, not numbers that change by themselves.

Pure: the same cluster, observation, decision and old status give the same status, and a condition keeps its
lastTransitionTime until its status changes. So a status that equals the old one need not be written, and is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.combined import broker_ids, serving_groups, serving_roles
from kraft_operator.api.metadata_versions import FEATURE, KRAFT_FEATURE, name_of
from kraft_operator.api.roles import BROKER
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.audit_status import audit_status
from kraft_operator.conditions import Condition, condition, conditions, dated
from kraft_operator.copy_status import copy_status
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.observed import Observed, Pod, Quorum, QuorumState
from kraft_operator.operations.from_archive import published
from kraft_operator.plan.rollout.versions import BLOCKED, wishes
from kraft_operator.plan.situation import Decision, Topic
from kraft_operator.plan.steps import to_status
from kraft_operator.plan.voters.domains import Domain, domains
from storage_guard.formats import DiskVerdict as Disk

Status = dict[str, Any]
SECRETS: Final = (
    "the volume holds what the log holds: keys of SCRAM users, delegation tokens, passwords in configurations. It is "
    "not encrypted by the operator; its files are readable by the archive's user alone"
)


def status(
    cluster: KRaftCluster,
    observed: Observed,
    decision: Decision,
    old: Mapping[str, Any],
    now: str,
) -> Status:
    """`now` is a timestamp, used only where a condition or the plan changes."""
    found = conditions(cluster, observed, decision)
    ready = found[0]
    return {
        "observedGeneration": cluster.generation,
        "phase": _phase(ready, found),
        **_waits_for(found, decision),
        **_of_ledger(cluster, decision.ledger),
        "quorum": _quorum(observed, decision.ledger),
        **_counts(cluster, observed),
        "nodes": _nodes(cluster, observed, decision),
        "versions": _versions(cluster, observed, decision, old),
        **_tls_migration(cluster, decision, old, now),
        **_archive(cluster, observed, decision.ledger, old),
        **_from_archive(decision.ledger, old),
        "registrations": {"ghosts": _ghosts(decision)},
        **({"risks": list(decision.risks)} if decision.risks else {}),
        "plan": to_status(decision.outline, old.get("plan") or {}, now),
        "conditions": dated(found, old, cluster.generation, now),
    }


def refused(generation: int, reason: str, problem: str, old: Mapping[str, Any], now: str) -> Status:
    """The status of a resource that was refused whole: what was known before stays, the conditions say why."""
    message = f"{problem}; the running cluster is left as it is"
    found = [
        condition("Ready", "False", reason, message),
        condition("Reconciling", "False", "Stalled", "the condition Stalled says what a person has to do"),
        condition("Stalled", "True", reason, message),
        condition(Topic.SPEC.value, "False", reason, message),
    ]
    new = {"observedGeneration": generation, "phase": "Stalled", "waitsFor": _person(reason)}
    return {**_with(found, generation, old, now), **new}


def hindered(generation: int, reason: str, problem: str, old: Mapping[str, Any], now: str) -> Status:
    """The status of a resource that could not be looked at or planned for. Of the cluster itself nothing
    new is known.
    """
    see = f"the condition {Topic.MANUAL.value} says what a person has to do"
    found = [
        condition("Ready", "Unknown", reason, see),
        condition("Reconciling", "False", "Stalled", see),
        condition("Stalled", "True", reason, see),
        condition(Topic.MANUAL.value, "True", reason, problem),
    ]
    return {**_with(found, generation, old, now), "phase": "Stalled", "waitsFor": _person(reason)}


def _with(conditions: Sequence[Condition], generation: int, old: Mapping[str, Any], now: str) -> Status:
    """The old status with these conditions in place of its own."""
    named = {each["type"] for each in conditions}
    kept = [dict(each) for each in old.get("conditions") or () if each.get("type") not in named]
    return {**old, "conditions": dated(conditions, old, generation, now) + kept}


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
    if ready["reason"] in ("Forming", "FormingFromArchive"):
        return "Forming"
    return "Degraded" if value["QuorumAvailable"] == "True" else "Reconciling"


def _waits_for(found: Sequence[Condition], decision: Decision) -> Status:
    """What keeps the cluster from being ready, short enough for a column."""
    by_type = {each["type"]: each for each in found}
    ready, stalled = by_type["Ready"], by_type["Stalled"]
    if ready["status"] == "True" or ready["reason"] in ("Suspended", "Hibernated"):
        return {}
    if stalled["status"] == "True":
        return {"waitsFor": _person(stalled["reason"])}
    if by_type[Topic.PLAN.value]["status"] == "False":
        return {"waitsFor": f"approval of plan {decision.outline.hash}"}
    return {"waitsFor": ready["reason"]}


def _person(reason: str) -> str:
    return f"a person ({reason})"


def _of_ledger(cluster: KRaftCluster, ledger: Ledger | None) -> Status:
    if ledger is None:
        return {}
    return {"clusterID": ledger.cluster_id, "ledger": names.ledger_name(cluster.name)}


def _quorum(observed: Observed, ledger: Ledger | None) -> Status:
    quorum = observed.quorum
    formed = ledger is not None and ledger.formation is Formation.FORMED
    led = quorum.state is QuorumState.AVAILABLE
    known: Status = {"leaderID": quorum.leader_id, "epoch": quorum.epoch} if led else {"leaderID": -1}
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


def _tls_migration(cluster: KRaftCluster, decision: Decision, old: Mapping[str, Any], now: str) -> Status:
    """Of a cluster that was plaintext: which stage it has reached, since when, and what it waits for."""
    security = cluster.spec.security
    if not security.migrated:
        return {}
    before, stage = old.get("tlsMigration") or {}, security.stage.name.capitalize()
    since = before.get("since", now) if before.get("stage") == stage else now
    gate = next((each.message for each in decision.findings if each.reason == "BecomesSecure"), "")
    return {"tlsMigration": {"stage": stage, "since": since, **({"gate": gate[:2048]} if gate else {})}}


def _archive(cluster: KRaftCluster, observed: Observed, ledger: Ledger | None, old: Mapping[str, Any]) -> Status:
    """What it proved when it last read its whole disk, which changes every ten minutes; the numbers of the moment are
    on its page. While that is silent, what was proven stays.
    """
    if cluster.spec.archive is None:
        return {}
    where: Status = {"claim": names.archive_claim(cluster.name), "access": "Restricted", "secrets": SECRETS}
    where |= copy_status(cluster, observed.archive, old)
    where |= audit_status(cluster, observed.audit, ledger.cluster_id if ledger is not None else "", old)
    seen, before = observed.archive, old.get("archive") or {}
    if seen is None:
        proven = {key: before[key] for key in ("verified", "asides") if key in before}
        return {"archive": {"standing": "Unknown", **where, **proven}}
    found: Status = {"standing": seen.standing, **where, "asides": seen.asides}
    if seen.verified is not None:
        at = datetime.fromtimestamp(seen.verified.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        found["verified"] = {
            "start": seen.verified.start, "end": seen.verified.end, "epoch": seen.verified.epoch,
            "digest": seen.verified.digest, "at": at,
        }  # fmt: skip
    return {"archive": found}


def _from_archive(ledger: Ledger | None, old: Mapping[str, Any]) -> Status:
    """What a cluster was formed of. A ledger that was made again from the claims has forgotten it."""
    if ledger is not None and ledger.formed_from is not None:
        return {"fromArchive": published(ledger.formed_from)}
    return {"fromArchive": old["fromArchive"]} if old.get("fromArchive") else {}


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
    brokers = broker_ids(cluster.spec)
    controllers = cluster.spec.controllers
    chosen = f"{names.LABEL_CLUSTER}={cluster.name},{names.LABEL_ROLE}={serving_roles(cluster.spec).label}"
    return {
        "controllers": {"replicas": controllers.replicas, "ready": len(ready & set(controllers.node_ids))},
        "brokers": {
            "replicas": sum(group.replicas for group in serving_groups(cluster.spec)),
            "ready": len(ready & brokers),
            "selector": chosen,
        },
        "pools": pools,
    }


def _nodes(cluster: KRaftCluster, observed: Observed, decision: Decision) -> list[Status]:
    found = []
    for node in sorted(decision.nodes):
        pod = observed.pod(node.node_id)
        entry = decision.ledger.entry(node.node_id) if decision.ledger else None
        values: dict[str, Any] = {
            "nodeID": node.node_id,
            "role": (cluster.spec.controllers.roles if node.group == names.CONTROLLER_ROLE else BROKER).label,
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
