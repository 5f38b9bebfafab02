"""Which cluster this is: the ledger found, made, or rebuilt; never a second cluster over the data of a first.

A volume that bears this cluster's annotations forbids bootstrapping for ever: the ledger is then rebuilt, as formed,
from what the controllers' claims remember (`recall`), or where none does from the identities alone. A volume that was
there before the ledger and bears nothing is remembered as unproven; `formation` waits until it was seen to be empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kraft_operator.api.roles import controls
from kraft_operator.api.spec import BootstrapPolicy, LifecycleState
from kraft_operator.ledger import Entry, Formation, Ledger, Origin, WrittenOff
from kraft_operator.manifests.properties import FILE_NAME
from kraft_operator.manifests.replication import factor_for, factor_in
from kraft_operator.observed import Claim
from kraft_operator.plan.disks.copies import restored
from kraft_operator.plan.disks.further import recalled_volumes
from kraft_operator.plan.disks.recall import borne, counted_on, outdated, rebuilt, recalled, remembered, unproven_nodes
from kraft_operator.plan.security import mode_found_again, mode_of
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called

ADOPTION_CONFLICT = "AdoptionConflict"


def hold_while_suspended(now: Situation) -> Verdict:
    if now.cluster.spec.lifecycle is not LifecycleState.SUSPENDED:
        return NOTHING
    message = "the operator watches and changes nothing before spec.lifecycle.state is Running again"
    return Verdict(findings=(Finding(Topic.SUSPENDED, "Suspended", message),), stop=True)


def wait_for_the_past_to_go(now: Situation) -> Verdict:
    """A resource of the same name was deleted together with its volumes and ledger; they have to be gone first. What
    this resource's own pods keep is nobody's past, though somebody has deleted it: the ledger is rebuilt from it.
    """
    stale = [uid for uid in now.observed.ledger_owners if uid != now.cluster.uid]
    claims = (*now.observed.claims, *now.observed.further_claims)
    kept = _kept_by_own_pods(now)
    leaving = [each.name for each in claims if each.terminating and each.name not in kept] if now.ledger is None else []
    if not stale and not leaving:
        return NOTHING
    what = called("claim", sorted(leaving)) if leaving else f"the ledger {now.cluster.name}-ledger"
    message = (
        f"wait until {what} of an earlier resource of this name "
        f"{'are' if leaving[1:] else 'is'} deleted; nothing is created before"
    )
    return Verdict(findings=(Finding(Topic.SPEC, "WaitingForDeletion", message),), stop=True)


def _kept_by_own_pods(now: Situation) -> frozenset[str]:
    """Claims of pods that run and belong to StatefulSets of this very resource, not of one of the same name before."""
    sets = {each.uid for each in now.observed.children if each.kind == "StatefulSet"}
    pods = [each for each in now.observed.pods if each.owner in sets and not each.terminating]
    return frozenset(name for each in pods for name in (each.claim, *each.volumes.values()))


def find_the_ledger(now: Situation) -> Verdict:
    """With a ledger there is nothing to decide here, unless it is older than the claims' memory of it."""
    if now.ledger is not None:
        older = outdated(now)
        return NOTHING if older is None else Verdict(ledger=recalled_volumes(now, older[0]), findings=(older[1],))
    bearing = tuple(claim for claim in now.observed.claims if claim.identity.get("cluster-id"))
    memory = remembered(now.observed.claims)
    if bearing or memory is not None:
        return _rebuilt(now, bearing, memory)
    if now.cluster.spec.bootstrap_policy is BootstrapPolicy.ADOPT_ONLY:
        return _refused(
            "NothingToAdopt",
            f"restore the ledger {now.cluster.name}-ledger or the volume claims, or set "
            "spec.bootstrap.policy to NewOrAdopt to form a new quorum: the policy is AdoptOnly, and there is "
            "neither a ledger nor an annotated claim of this cluster",
        )
    unproven = tuple(sorted(claim.uid for claim in now.observed.claims))
    return Verdict(ledger=Ledger(now.cluster.spec.cluster_id or now.draw(), unproven_claims=unproven,
        security=mode_of(now), replication_factor=factor_for(now.cluster.spec)))  # fmt: skip


def refuse_another_cluster_id(now: Situation) -> Verdict:
    wanted = now.cluster.spec.cluster_id
    if now.ledger is None or wanted is None or wanted == now.ledger.cluster_id:
        return NOTHING
    return _refused(
        "ClusterIDMismatch",
        f"set spec.clusterID back to {now.ledger.cluster_id}, or use another name for another cluster: the volumes "
        f"and the ledger of this name do not belong to {wanted}; nothing was changed",
    )


def refuse_taken_node_ids(now: Situation) -> Verdict:
    """A node id means one disk for ever; it cannot move to another pool."""
    if now.ledger is None:
        return NOTHING
    wanted = {node_id: group.name for group in now.cluster.spec.groups for node_id in group.node_ids}
    for entry in now.ledger.entries:
        if wanted.get(entry.node_id, entry.pool) != entry.pool:
            return _refused(
                "NodeIDTaken",
                f"choose another nodeIdRange for {wanted[entry.node_id]}: node id {entry.node_id} belongs to "
                f"{entry.pool} for ever; nothing was changed",
            )
    return NOTHING


def _rebuilt(now: Situation, bearing: tuple[Claim, ...], memory: Ledger | None) -> Verdict:
    """The ledger that the claims tell of."""
    ids = sorted({claim.identity["cluster-id"] for claim in bearing} | ({memory.cluster_id} if memory else set()))
    if len(ids) > 1:
        return _refused(
            ADOPTION_CONFLICT,
            "move the volume claims that do not belong here out of the namespace: the ledger is missing, and the "
            f"claims bear several cluster ids ({', '.join(ids)})",
        )
    for claim in bearing:
        if claim.identity.get("node-id") != str(claim.node_id) or not claim.identity.get("directory-id"):
            return _refused(
                ADOPTION_CONFLICT,
                f"put the right volumes back: the ledger is missing, and claim {claim.name} of node {claim.node_id} "
                f"bears the identity of node {claim.identity.get('node-id', '?')}",
            )
        if claim.identity.get("pvc-uid", claim.uid) != claim.uid and not restored(now):
            return _refused(
                ADOPTION_CONFLICT,
                f"remove the annotation kraft.quorate.dev/pvc-uid of claim {claim.name} if it is the only copy of its "
                "volume: the ledger is missing, and the annotations were made for another claim",
            )
    ledger = _from_identities(now, ids[0], bearing) if memory is None else recalled(now.cluster, memory, bearing)
    ledger = recalled_volumes(now, ledger)
    return Verdict(ledger=counted_on(ledger), findings=(rebuilt(now, ledger, complete=memory is not None),))


def _from_identities(now: Situation, cluster_id: str, bearing: tuple[Claim, ...]) -> Ledger:
    """No controller's claim remembers more: every node that may have had a disk and bears none is doubted."""
    generation = max(map(_generation, bearing))
    old = [claim for claim in bearing if controls(claim) and _generation(claim) < generation]
    fresh = (_with_leave(now, borne(claim)) for claim in bearing if claim not in old)
    entries = tuple(sorted(fresh, key=lambda entry: entry.node_id))
    known = {entry.node_id for entry in entries if controls(entry)}
    controllers = tuple(sorted(known | set(now.cluster.spec.controllers.node_ids)))
    gone = tuple(WrittenOff(claim.node_id, claim.identity["directory-id"]) for claim in old)
    doubted = unproven_nodes(now, (claim.node_id for claim in bearing))
    return Ledger(
        cluster_id, Origin.REBUILT, Formation.FORMED, generation, controllers, entries=entries, written_off=gone,
        doubted=doubted, security=mode_found_again(now, doubts=bool(doubted)),
        replication_factor=factor_in(_properties(now)),
    )  # fmt: skip


def _properties(now: Situation) -> Iterator[str]:
    """Of the nodes, as they are in their ConfigMaps."""
    maps = (each.live for each in now.observed.children if each.kind == "ConfigMap")
    return (str((live.get("data") or {}).get(FILE_NAME, "")) for live in maps)


def _with_leave(now: Situation, entry: Entry) -> Entry:
    """A broker that nobody asks for, that has no set and is not registered, was removed before."""
    wanted = {node_id for group in now.cluster.spec.groups for node_id in group.node_ids}
    registered = now.observed.brokers.registered
    if controls(entry) or entry.node_id in wanted or registered is None:
        return entry
    gone = now.observed.node_set(entry.node_id) is None and entry.node_id not in registered
    return replace(entry, retired=gone)


def _generation(claim: Claim) -> int:
    """Of the quorum that it belongs to: a recovery begins a new one, and what is left of those before it is refused."""
    text = claim.identity.get("generation", "1")
    return int(text) if text.isascii() and text.isdigit() else 1


def _refused(reason: str, message: str) -> Verdict:
    return Verdict(findings=(Finding(Topic.SPEC, reason, message, stalled=True),), stop=True)
