"""What is waited for comes: what Kubernetes, the guards and the nodes do of themselves once the operator has acted.

A pod is made for every set, its guard reports what the ledger says of its disk, a granted disk is formatted, a node
that runs is Ready, follows, and catches up; moves end; a quorum with a majority of running voters has a leader. Nobody
fails here, and nothing is lost: this is the way as it is published, not a forecast. What is away (a volume whose
machine is gone, a pod that cannot start) stays away. New UIDs and directory ids are drawn, and mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from kraft_operator.api import names
from kraft_operator.api.combined import broker_ids
from kraft_operator.api.reader import quantity
from kraft_operator.api.roles import controls, serves
from kraft_operator.directories import Directories, moved_off
from kraft_operator.ephemeral import disk_of, disks_of
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.manifests.further import log_directory
from kraft_operator.manifests.properties import LOG_PATH
from kraft_operator.observed import (
    Brokers,
    Claim,
    Levels,
    NodeSet,
    Observer,
    Placement,
    Pod,
    Quorum,
    QuorumState,
    QuorumVoter,
    Registry,
    VoterState,
)
from kraft_operator.plan.disks.further import through
from kraft_operator.plan.disks.grants import KNOWN
from kraft_operator.plan.nodes.drain import ALTER, LIST
from kraft_operator.plan.rollout.versions import wishes
from kraft_operator.plan.situation import Situation
from kraft_operator.plan.voters.endpoints import served_by
from storage_guard.formats import DiskVerdict, GuardStep, Report


def arrived(now: Situation) -> Situation:
    """`now` once everybody but the operator has done what they can."""
    if now.ledger is None:
        return now
    now = _with_pods(now, now.ledger)
    ledger = now.ledger
    assert ledger is not None
    observed = replace(now.observed, quorum=_quorum(now, ledger))
    return replace(now, observed=replace(observed, brokers=_brokers(replace(now, observed=observed))))


def mended(now: Situation) -> Situation:
    """`now` once people have mended what keeps nodes, volumes and replicas from going on: pods start, machines and
    their volumes are back, in whatever zone they should be, classes let volumes grow, replicas can be moved, and nobody
    is registered who does not run.
    """
    seen, brokers = now.observed, now.observed.brokers
    running = frozenset(each.node_id for each in seen.pods)
    apis = brokers.registry.apis
    partitions = _movable(now)
    known = {each.topic for each in partitions}
    held = {node: tuple(each for each in topics if each in known) for node, topics in (brokers.replicas or {}).items()}
    able = replace(
        brokers,
        replicas=None if brokers.replicas is None else {node: topics for node, topics in held.items() if topics},
        moving=brokers.moving or frozenset(),
        registered=None if brokers.registered is None else brokers.registered & running,
        fenced=None if brokers.fenced is None else brokers.fenced & running,
        partitions=partitions,
        registry=replace(brokers.registry, apis=None if apis is None else apis | {ALTER, LIST}),
    )
    whole = replace(
        seen,
        pods=tuple(replace(each, trouble=None) for each in seen.pods),
        stranded={},
        unready={},
        zones={},
        expandable=dict.fromkeys(seen.expandable, True),
        brokers=able,
    )
    return arrived(replace(now, observed=whole))


def _movable(now: Situation) -> tuple[Placement, ...]:
    """Every partition can be read, and none has more replicas than there are brokers that stay."""
    stay = broker_ids(now.cluster.spec)
    return tuple(
        replace(each, replicas=tuple(broker for broker in each.replicas if broker in stay))
        if len(each.replicas) > len(stay) and stay & set(each.replicas)
        else each
        for each in now.observed.brokers.partitions or ()
    )


def directory_of(pod: Pod) -> str | None:
    """On which its node runs."""
    report = pod.seal or pod.inspect
    return report.directory_id if report is not None and pod.main_started else None


# pods and disks


@dataclass(frozen=True, slots=True)
class _Place:
    """A node's set with its pod and claim."""

    now: Situation
    ledger: Ledger
    node_set: NodeSet
    pod: Pod
    claim: Claim


def _with_pods(now: Situation, ledger: Ledger) -> Situation:
    found = list(_places(now, ledger))
    running = {each.node_id for each in now.observed.pods if not each.terminating}
    further = (each for each in now.observed.further_claims if not each.terminating or each.node_id in running)
    now = replace(now, observed=replace(now.observed, further_claims=tuple(further)))
    found = [replace(each, now=now) for each in found]
    named = {each.claim.name for each in found}
    kept = (each for each in now.observed.claims if each.name not in named and not each.terminating)
    sets = {each.node_id for each in now.observed.sets}
    orphans = (each for each in now.observed.pods if each.node_id not in sets and not each.terminating)
    return replace(
        now,
        observed=replace(
            now.observed,
            claims=tuple(sorted((*kept, *(each.claim for each in found)), key=lambda each: each.name)),
            pods=tuple(sorted((*orphans, *map(_moved_on, found)), key=lambda each: each.node_id)),
        ),
    )


def _places(now: Situation, ledger: Ledger) -> Iterator[_Place]:
    for node_set in now.observed.sets:
        if node_set.replicas == 0 or node_set.terminating:
            continue
        pod = now.observed.pod(node_set.node_id)
        pod = None if pod is not None and pod.terminating else pod
        group = now.cluster.spec.group(node_set.pool)
        if group is not None and group.storage.ephemeral:
            made = pod or _pod_of(now, node_set, disk_of(f"{node_set.name}-0"))
            yield _Place(now, ledger, node_set, made, disks_of((made,))[0])
            continue
        name = names.claim_name(now.cluster.name, node_set.pool, node_set.node_id)
        claim = now.observed.claim(name)
        if claim is None or (claim.terminating and pod is None):
            size = quantity(node_set.volume_size, "size") if node_set.volume_size else 0.0
            uid, volume = now.draw(), now.draw()
            claim = Claim(
                name=name,
                uid=uid,
                node_id=node_set.node_id,
                role=node_set.role,
                pool=node_set.pool,
                volume=volume,
                requested=size,
                capacity=size,
            )
        yield _Place(now, ledger, node_set, pod or _pod_of(now, node_set, claim.name), claim)


def _pod_of(now: Situation, node_set: NodeSet, claim: str) -> Pod:
    return Pod(
        name=f"{node_set.name}-0",
        uid=now.draw(),
        node_id=node_set.node_id,
        role=node_set.role,
        pool=node_set.pool,
        claim=claim,
        revision=node_set.revision,
        made_of=node_set.made_of,
        owner=node_set.uid,
        volumes=node_set.volumes,
    )


def _moved_on(place: _Place) -> Pod:
    """As far as its disk and its machine let it."""
    pod, observed = place.pod, place.now.observed
    if place.claim.volume in observed.stranded or place.claim.volume in observed.unready:
        return pod
    if not pod.main_started and any(observed.any_claim(each) is None for each in pod.volumes.values()):
        return pod  # no kubelet starts it before its claims are there
    if pod.inspect is None and not pod.main_started:
        pod = replace(pod, inspect=_of_all(place, pod, _report), gate_waits=True)
    if not pod.main_started and (seal := _of_all(place, pod, _let_through)) is not None:
        pod = replace(pod, seal=seal, gate_waits=False, gate_passed=True, main_started=True)
    return replace(pod, ready=True) if pod.main_started and pod.trouble is None else pod


def _of_all(place: _Place, pod: Pod, look: Callable[[_Place, Pod], Report | None]) -> Report | None:
    """With what is seen of further volumes; None if one of them is not through."""
    whole = look(place, pod)
    found: dict[str, Report] = {}
    for volume, name in pod.volumes.items():
        seen = through(replace(place.now, observed=replace(place.now.observed, pods=(pod,))), volume)
        claim, mine = seen.observed.claim(name), seen.observed.pod(pod.node_id)
        assert seen.ledger is not None
        if claim is None or mine is None:
            return None
        report = look(replace(place, now=seen, ledger=seen.ledger, pod=mine, claim=claim), mine)
        if report is None:
            return None
        found[volume] = report
    return replace(whole, volumes=found) if whole is not None and found else whole


def _report(place: _Place, _: Pod) -> Report:
    """Of a volume that nobody has looked into: it holds what the ledger has on it."""
    node_id, entry = place.node_set.node_id, place.ledger.entry(place.node_set.node_id)
    gone = next((each for each in place.ledger.written_off if each.pvc_uid == place.claim.uid), None)
    if gone is not None and place.claim.uid not in place.now.empty:
        return Report(
            step=GuardStep.INSPECT,
            verdict=DiskVerdict.FOREIGN,
            reason="NotInLedger",
            message="it holds a directory that was written off",
            pod_uid=place.pod.uid,
            node_id=node_id,
            cluster_id=place.ledger.cluster_id,
            disk_node_id=gone.node_id,
            directory_id=gone.directory_id,
        )
    if entry is None or entry.directory_id is None or entry.pvc_uid != place.claim.uid:
        return Report(
            step=GuardStep.INSPECT,
            verdict=DiskVerdict.EMPTY,
            reason="NeverFormatted",
            message="the volume is empty",
            pod_uid=place.pod.uid,
            node_id=node_id,
        )
    return Report(
        step=GuardStep.INSPECT,
        verdict=DiskVerdict.FORMATTED,
        reason=KNOWN,
        message="as the ledger knows it",
        pod_uid=place.pod.uid,
        node_id=node_id,
        cluster_id=place.ledger.cluster_id,
        disk_node_id=node_id,
        directory_id=entry.directory_id,
        last_epoch=entry.min_epoch,
        log_end_offset=entry.min_offset,
        nonce=entry.nonce,
    )


def _let_through(place: _Place, pod: Pod) -> Report | None:
    """What `seal` reports of the disk, once the gate has opened; None while it does not."""
    report, entry = pod.inspect, place.ledger.entry(pod.node_id)
    if report is None:
        return None
    if report.verdict is DiskVerdict.FORMATTED and report.reason == KNOWN:
        return replace(report, step=GuardStep.SEAL)
    grant = entry.grant if entry is not None else None
    if grant is None or (grant.pod_uid, grant.nonce) != (pod.uid, pod.grant_nonce):
        return None
    directory_id = grant.directory_id or report.directory_id or place.now.draw()
    return replace(
        report,
        step=GuardStep.SEAL,
        verdict=DiskVerdict.FORMATTED,
        cluster_id=place.ledger.cluster_id,
        disk_node_id=pod.node_id,
        directory_id=directory_id,
        nonce=grant.nonce,
    )


# the quorum


def _quorum(now: Situation, ledger: Ledger) -> Quorum:
    running = {
        pod.node_id: directory
        for pod in now.observed.pods
        if controls(pod) and pod.ready and (directory := directory_of(pod)) is not None
    }
    quorum = now.observed.quorum
    voters = tuple(_judged(now, each, running) for each in quorum.voters or _remembered(ledger))
    live = [each.node_id for each in voters if each.live]
    if len(live) <= len(voters) // 2:
        return replace(quorum, voters=voters)
    leader = quorum.leader_id if quorum.leader_id in live else min(live)
    keys = {each.key for each in voters}
    observers = tuple(Observer(*each, caught_up=True) for each in running.items() if each not in keys)
    return Quorum(
        state=QuorumState.AVAILABLE,
        detail="a majority follows one leader",
        leader_id=leader,
        epoch=max(quorum.epoch, 1),
        high_watermark=max(quorum.high_watermark, 0),
        voters=voters,
        observers=observers,
        proven=True,
        advanced=True,
        settled=True,
    )


def _judged(now: Situation, voter: QuorumVoter, running: Mapping[int, str]) -> QuorumVoter:
    """A voter whose listeners have changed corrects its own entry."""
    alive = running.get(voter.node_id) == voter.directory_id
    if alive and now.cluster.spec.security.migrated and _is_new(now, voter.node_id):
        voter = replace(voter, endpoints=served_by(now.cluster, voter.node_id))
    return replace(voter, state=VoterState.LIVE if alive else VoterState.DEAD)


def _is_new(now: Situation, node_id: int) -> bool:
    node_set, pod = now.observed.node_set(node_id), now.observed.pod(node_id)
    return node_set is not None and pod is not None and pod.revision == node_set.revision


def _remembered(ledger: Ledger) -> Iterator[QuorumVoter]:
    """Whom the first formatting names, and later whom the ledger knows, where nobody could be asked."""
    first = ledger.formation is Formation.STARTED
    for node_id in ledger.initial_controllers if first else ledger.controllers or ledger.initial_controllers:
        entry = ledger.entry(node_id)
        directory_id = None if entry is None else entry.chosen_directory_id if first else entry.directory_id
        if directory_id is not None:
            yield QuorumVoter(node_id, directory_id, 0, VoterState.UNKNOWN)


# brokers


def _brokers(now: Situation) -> Brokers:
    brokers = now.observed.brokers
    running = frozenset(pod.node_id for pod in now.observed.pods if serves(pod) and pod.ready)
    if now.observed.quorum.state is not QuorumState.AVAILABLE:
        return brokers
    registered = (brokers.registered or frozenset()) | running
    return replace(
        brokers,
        registered=registered,
        fenced=registered - running,
        replicas=_held(brokers),
        partitions=_in_sync(brokers, running),
        at_risk={},
        moving=None if brokers.moving is None else frozenset(),
        directories=_directories(now, brokers.directories),
        registry=_registry(now, brokers.registry),
    )


def _directories(now: Situation, seen: Mapping[int, Directories]) -> Mapping[int, Directories]:
    """Moves have ended; a pod that was made anew has the directories of its volumes."""
    paths = {each.node_id: {LOG_PATH, *map(log_directory, each.volumes)} for each in now.observed.pods}
    return {node_id: moved_off(each, paths[node_id]) for node_id, each in seen.items() if node_id in paths}


def _in_sync(brokers: Brokers, running: frozenset[int]) -> tuple[Placement, ...] | None:
    """Who does not run falls out of sync, the last one excepted; who runs comes back."""
    if brokers.partitions is None:
        return None
    found = []
    for each in brokers.partitions:
        able = [broker for broker in each.in_sync if broker in running]
        back = [broker for broker in each.replicas if broker in running and broker not in able] if able else []
        leader = each.leader if each.leader in able else able[0] if able else -1
        found.append(replace(each, in_sync=tuple([*able, *back] or each.in_sync[:1]), leader=leader))
    return tuple(found)


def _held(brokers: Brokers) -> Mapping[int, tuple[str, ...]]:
    """Topics whose partitions are known are where these are; of others nobody knows better than before."""
    known = {each.topic for each in brokers.partitions or ()}
    held = {
        broker: [each for each in topics if each not in known] for broker, topics in (brokers.replicas or {}).items()
    }
    for each in brokers.partitions or ():
        for broker in each.replicas:
            held.setdefault(broker, []).append(each.topic)
    return {broker: tuple(dict.fromkeys(topics)) for broker, topics in held.items() if topics}


def _registry(now: Situation, registry: Registry) -> Registry:
    """Pods of the newest revision support what the resource asks for; the controllers would raise it."""
    wished = {each.feature: each.level for each in wishes(now.cluster.spec.versions, registry)}
    newest = {pod.node_id: pod.revision for pod in now.observed.pods}
    supported = dict(registry.supported)
    for node_set in now.observed.sets:
        if newest.get(node_set.node_id) == node_set.revision:
            supported[node_set.node_id] = _raised(supported.get(node_set.node_id, {}), wished)
    return replace(registry, supported=supported, granted={**registry.granted, **dict.fromkeys(wished.items(), "")})


def _raised(levels: Levels, wished: Mapping[str, int]) -> Levels:
    low = {feature: levels.get(feature, (0, 0)) for feature in wished}
    return {**levels, **{feature: (least, max(most, wished[feature])) for feature, (least, most) in low.items()}}
