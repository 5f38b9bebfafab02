"""What an action makes of what is seen, as far as it is the action's own doing: a set is written anew, a voter is gone,
a pod is deleted.

What others do because of it (a pod is made, a disk is formatted, a controller catches up) is in `arrival`. Nothing is
checked here: whether an action may be taken is for the rules to say, and whether it is still about the object that was
seen is for `execute`. The model of Kubernetes in the tests keeps its objects by `changed`, and a property test compares
the rest of it with what that model does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, assert_never

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
)
from kraft_operator.api import names
from kraft_operator.api.reader import quantity
from kraft_operator.api.spec import VolumePolicy
from kraft_operator.api.storage import Storage
from kraft_operator.claim_memory import KEY
from kraft_operator.credentials import (
    CopyCertificate,
    Credentials,
    EnterStage,
    IssueCertificate,
    MakeAuthority,
    PublishAuthorities,
    RequestCertificate,
    TurnAuthority,
)
from kraft_operator.directories import Directories, moving_off
from kraft_operator.manifests.further import volumes_in
from kraft_operator.manifests.helpers import LABEL_HELPER, LABEL_HELPER_NODE, LABEL_OPERATION
from kraft_operator.manifests.nodes import template_of
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
    QuorumState,
    QuorumVoter,
    VoterState,
)
from kraft_operator.plan.brake import Begun
from kraft_operator.plan.outline.certificates_after import issued_after
from kraft_operator.plan.situation import Situation
from kraft_operator.removals import DropVolume, EmptyDirectory
from kraft_operator.users import ChangeAcls, ForgetUser, MakeCredential, SetPassword, SetQuotas, TellUser

Written = AnnotateClaim | Remember | GrowClaim  # on claims
OfPods = DeliverGrant | TellRack | NudgePod | RestartPod
OfVolumes = RetainVolume | MakeClaim | DropClaim | DiscardClaim
OfVoters = RemoveVoter | AddVoter | UpdateVoter
OfBrokers = UnregisterBroker | MoveReplicas | EmptyDirectory | CordonBroker | UncordonBroker | FinalizeFeature
OfOperations = RunHelper | EndHelper | DeleteOperation


def after(now: Situation, action: Action) -> Situation:
    match action:
        case WriteLedger(ledger):
            owners = (now.cluster.uid,) if now.cluster.spec.volume_policy is VolumePolicy.DELETE else ()
            return replace(now, ledger=ledger, observed=replace(now.observed, ledger_owners=owners))
        case BeginReplacement(node_id, directory_id):
            who = f"{now.cluster.namespace}/{now.cluster.name}"
            begun = Begun(now.cluster.uid, who, node_id, directory_id, now.brake.now)
            return replace(now, brake=replace(now.brake, begun=(*now.brake.begun, begun)))
        case _:
            return replace(now, observed=changed(now.observed, action))


def changed(seen: Observed, action: Action) -> Observed:
    if isinstance(action, OfBrokers):
        return replace(seen, brokers=_brokers(seen.brokers, action))
    match action:
        case WriteLedger() | BeginReplacement() | GiveUpDisk() | EnterStage() | DropVolume():
            return seen  # what they change is remembered, not seen
        case MakeCredential() | SetPassword() | ChangeAcls() | SetQuotas() | ForgetUser() | TellUser():
            return replace(seen, users=None)  # a way does not lead through users: they are seen to in every pass
        case ApplyChild(manifest):
            return _applied(seen, manifest)
        case DeleteChild() | OrphanSet():
            return _deleted(seen, action)
        case AnnotateClaim() | Remember() | GrowClaim():
            further = tuple(_written(each, action) for each in seen.further_claims)
            return replace(seen, claims=tuple(_written(each, action) for each in seen.claims), further_claims=further)
        case DeliverGrant() | TellRack() | NudgePod() | RestartPod():
            return replace(seen, pods=_pods(seen.pods, action))
        case RetainVolume() | MakeClaim() | DropClaim() | DiscardClaim():
            return _volumes(seen, action)
        case RemoveVoter() | AddVoter() | UpdateVoter():
            return replace(seen, quorum=_quorum(seen.quorum, action))
        case RunHelper() | EndHelper() | DeleteOperation():
            return _operations(seen, action)
        case (
            MakeAuthority()
            | TurnAuthority()
            | IssueCertificate()
            | RequestCertificate()
            | PublishAuthorities()
            | CopyCertificate()
        ):
            return replace(seen, credentials=issued_after(seen.credentials or Credentials(), action))
        case _:
            assert_never(action)


# children


def _applied(seen: Observed, manifest: Mapping[str, Any]) -> Observed:
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    if kind == "PersistentVolumeClaim":
        return _with_further_claim(seen, manifest)
    before = next((each for each in seen.children if (each.kind, each.name) == (kind, name)), None)
    uid = before.uid if before is not None else f"{kind}/{name}"
    child = Child(manifest["apiVersion"], kind, name, uid, manifest)
    children = (*(each for each in seen.children if each is not before), child)
    if kind != "StatefulSet" or names.LABEL_NODE_ID not in (manifest["metadata"].get("labels") or {}):
        return replace(seen, children=children)
    made = _set_of(child)
    sets = (*(each for each in seen.sets if each.node_id != made.node_id), made)
    return replace(seen, children=children, sets=tuple(sorted(sets, key=lambda each: each.node_id)))


def _with_further_claim(seen: Observed, manifest: Mapping[str, Any]) -> Observed:
    """Of a broker's volume beside the first: made and bound, or with another owner."""
    meta, labels = manifest["metadata"], manifest["metadata"]["labels"]
    owned = "ownerReferences" in meta
    there = next((each for each in seen.further_claims if each.name == meta["name"]), None)
    size = quantity(manifest["spec"]["resources"]["requests"]["storage"], "size")
    made = Claim(
        name=meta["name"],
        uid=f"PersistentVolumeClaim/{meta['name']}",
        node_id=int(labels[names.LABEL_NODE_ID]),
        role=labels[names.LABEL_ROLE],
        pool=labels[names.LABEL_POOL],
        volume=f"volume of {meta['name']}",
        requested=size,
        capacity=size,
        further=labels[names.LABEL_VOLUME],
    )
    others = (each for each in seen.further_claims if each is not there)
    return replace(seen, further_claims=_by_name((*others, replace(there or made, owned=owned))))


def _by_name(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    return tuple(sorted(claims, key=lambda each: each.name))


def _set_of(child: Child) -> NodeSet:
    """As Kubernetes shows it once it has looked; what it calls the template is its own affair, ours is as good."""
    meta, spec = child.live["metadata"], child.live["spec"]
    claims = spec.get("volumeClaimTemplates") or ()
    claim = claims[0]["spec"] if claims else {}
    return NodeSet(
        name=child.name,
        uid=child.uid,
        node_id=int(meta["labels"][names.LABEL_NODE_ID]),
        role=meta["labels"][names.LABEL_ROLE],
        pool=meta["labels"][names.LABEL_POOL],
        replicas=spec["replicas"],
        revision=template_of(child.live),
        made_of=sha256(json.dumps(spec["template"], sort_keys=True, default=str).encode()).hexdigest()[:10],
        target=(meta.get("annotations") or {}).get(names.ANNOTATION_REVISION, ""),
        volume_size=claim["resources"]["requests"]["storage"] if claims else "",
        volume_kind=Storage("", claim.get("storageClassName"), claim.get("selector") or {}).kind,
        volumes=volumes_in(spec["template"]["spec"]),
    )


def _deleted(seen: Observed, action: DeleteChild | OrphanSet) -> Observed:
    """A set's pod goes with it, unless it is orphaned."""
    kind = action.kind if isinstance(action, DeleteChild) else "StatefulSet"
    children = tuple(each for each in seen.children if (each.kind, each.name) != (kind, action.name))
    if kind != "StatefulSet":
        return replace(seen, children=children)
    gone = {each.node_id for each in seen.sets if each.name == action.name}
    orphaned = isinstance(action, OrphanSet)
    return replace(
        seen,
        children=children,
        sets=tuple(each for each in seen.sets if each.node_id not in gone),
        pods=tuple(each for each in seen.pods if orphaned or each.node_id not in gone),
    )


# claims, pods, volumes


def _written(claim: Claim, action: Written) -> Claim:
    match action:
        case AnnotateClaim():
            mine = (claim.name, claim.uid) == (action.claim, action.uid)
            return replace(claim, identity={**claim.identity, **action.annotations}) if mine else claim
        case Remember():
            mine = any((claim.name, claim.uid) == (name, uid) for name, uid, _ in action.claims)
            return replace(claim, identity={**claim.identity, KEY: action.memory}) if mine else claim
        case GrowClaim():
            mine = (claim.name, claim.uid) == (action.claim, action.uid)
            return replace(claim, requested=quantity(action.size, "size")) if mine else claim


def _pods(pods: tuple[Pod, ...], action: OfPods) -> tuple[Pod, ...]:
    match action:
        case DeliverGrant():
            return tuple(_granted(each, action) if each.uid == action.grant.pod_uid else each for each in pods)
        case TellRack():
            return tuple(replace(each, rack=action.rack) if each.uid == action.uid else each for each in pods)
        case NudgePod():
            return tuple(replace(each, nudges=action.count) if each.uid == action.uid else each for each in pods)
        case RestartPod():
            return tuple(each for each in pods if each.uid != action.uid)


def _granted(pod: Pod, action: DeliverGrant) -> Pod:
    if action.volume:
        return replace(pod, grants={**pod.grants, action.volume: action.grant.nonce})
    return replace(pod, grant_nonce=action.grant.nonce)


def _volumes(seen: Observed, action: OfVolumes) -> Observed:
    match action:
        case RetainVolume():
            bound = any(
                (each.name, each.uid, each.volume) == (action.claim, action.claim_uid, action.volume)
                for each in (*seen.claims, *seen.further_claims)
            )
            return replace(seen, retained=seen.retained | {action.volume}) if bound else seen
        case MakeClaim():
            node_id = int(action.labels[names.LABEL_NODE_ID])
            node_set = seen.node_set(node_id)  # its template asks for as much as the volume has
            size = quantity(node_set.volume_size, "size") if node_set is not None and node_set.volume_size else 0.0
            made = Claim(
                name=action.claim,
                uid=f"after {action.old_uid}",
                node_id=node_id,
                requested=size,
                capacity=size,
                role=action.labels[names.LABEL_ROLE],
                pool=action.labels[names.LABEL_POOL],
                volume=action.volume,
                further=(further := action.labels.get(names.LABEL_VOLUME, "")),
            )
            if further:
                more = _by_name((*seen.further_claims, replace(made, requested=0.0, capacity=0.0)))
                return replace(seen, further_claims=more, volumes=seen.volumes - {action.volume})
            return replace(seen, claims=(*seen.claims, made), volumes=seen.volumes - {action.volume})
        case DropClaim():
            kept = [_without(each, action.claim, action.uid) for each in (seen.claims, seen.further_claims)]
            return replace(seen, claims=kept[0], further_claims=kept[1])
        case DiscardClaim():
            pods = tuple(each for each in seen.pods if each.uid != action.pod_uid)
            return replace(seen, claims=_without(seen.claims, action.claim, action.claim_uid), pods=pods)


def _without(claims: tuple[Claim, ...], name: str, uid: str) -> tuple[Claim, ...]:
    return tuple(each for each in claims if (each.name, each.uid) != (name, uid))


# the quorum and the brokers


def _quorum(quorum: Quorum, action: OfVoters) -> Quorum:
    """The change is committed: the controllers answer no earlier."""
    match action:
        case RemoveVoter():
            voters = tuple(each for each in quorum.voters if each.key != (action.node_id, action.directory_id))
            if voters == quorum.voters:
                return quorum
            led = any(each.node_id == quorum.leader_id for each in voters)
            leader = quorum.leader_id if led else min((each.node_id for each in voters if each.live), default=-1)
            state = quorum.state if leader >= 0 else QuorumState.UNAVAILABLE
            epoch = quorum.epoch if led else quorum.epoch + 1
            return replace(quorum, voters=voters, leader_id=leader, epoch=epoch, state=state, settled=False)
        case AddVoter():
            if quorum.voter(action.node_id) is not None:
                return quorum
            end = quorum.high_watermark
            made = QuorumVoter(action.node_id, action.directory_id, end, VoterState.LIVE, endpoints=action.endpoints)
            observers = tuple(each for each in quorum.observers if (each.node_id, each.directory_id) != made.key)
            return replace(quorum, voters=(*quorum.voters, made), observers=observers, settled=False)
        case UpdateVoter():
            key = (action.node_id, action.directory_id)
            moved = (replace(each, endpoints=action.endpoints) if each.key == key else each for each in quorum.voters)
            return replace(quorum, voters=tuple(moved))


def _brokers(brokers: Brokers, action: OfBrokers) -> Brokers:
    match action:
        case UnregisterBroker(node_id):
            registered = None if brokers.registered is None else brokers.registered - {node_id}
            fenced = None if brokers.fenced is None else brokers.fenced - {node_id}
            return replace(brokers, registered=registered, fenced=fenced)
        case MoveReplicas():
            moving = (brokers.moving or frozenset()) | action.replicas.keys()
            return replace(brokers, moving=moving, partitions=_moved(brokers.partitions, action.replicas))
        case EmptyDirectory(node_id):
            return _with_directories(brokers, node_id, lambda seen: moving_off(seen, action.replicas))
        case CordonBroker(node_id) if action.directories:
            return _with_directories(brokers, node_id, lambda seen: replace(seen, closed=action.directories))
        case CordonBroker(node_id):
            return replace(brokers, cordoned={**brokers.cordoned, node_id: True})
        case UncordonBroker(node_id):
            brokers = _with_directories(brokers, node_id, lambda seen: replace(seen, closed=()))
            return replace(brokers, cordoned={n: closed and n != node_id for n, closed in brokers.cordoned.items()})
        case FinalizeFeature():
            levels = {**(brokers.registry.finalized or {}), action.feature: action.level}
            return replace(brokers, registry=replace(brokers.registry, finalized=levels))


def _with_directories(brokers: Brokers, node_id: int, change: Callable[[Directories], Directories]) -> Brokers:
    seen = brokers.directories.get(node_id)
    return brokers if seen is None else replace(brokers, directories={**brokers.directories, node_id: change(seen)})


def _moved(
    partitions: tuple[Placement, ...] | None, replicas: Mapping[tuple[str, int], tuple[int, ...]]
) -> tuple[Placement, ...] | None:
    """A move shows its targets at once; it ends when it does not count as under way any more."""
    if partitions is None:
        return None
    return tuple(replace(each, replicas=tuple(replicas.get(each.key, each.replicas))) for each in partitions)


# operations


def _with_claim(seen: Observed, manifest: Mapping[str, Any] | None) -> Observed:
    """A helper's claim is made before it, unless there is one."""
    if manifest is None or seen.claim(manifest["metadata"]["name"]) is not None:
        return seen
    meta, name = manifest["metadata"], manifest["metadata"]["name"]
    labels, marks = meta.get("labels") or {}, meta.get("annotations") or {}
    made = Claim(
        name=name,
        uid=f"PersistentVolumeClaim/{name}",
        node_id=int(labels[names.LABEL_NODE_ID]),
        role=labels[names.LABEL_ROLE],
        pool=labels[names.LABEL_POOL],
        volume=f"volume of {name}",
        identity={key.rpartition("/")[2]: str(value) for key, value in marks.items()},
        requested=quantity(manifest["spec"]["resources"]["requests"]["storage"], "size"),
    )
    return replace(seen, claims=(*seen.claims, made))


def _operations(seen: Observed, action: OfOperations) -> Observed:
    match action:
        case RunHelper():
            labels = action.manifest["metadata"]["labels"]
            node_id, what = int(labels[LABEL_HELPER_NODE]), labels[LABEL_HELPER]
            made = Helper(action.pod, f"Pod/{action.pod}", what, node_id, labels[LABEL_OPERATION])
            there = any(each.name == action.pod for each in seen.helpers)
            return seen if there else replace(_with_claim(seen, action.claim), helpers=(*seen.helpers, made))
        case EndHelper():
            return replace(seen, helpers=tuple(each for each in seen.helpers if each.name != action.pod))
        case DeleteOperation():
            return replace(seen, operations=tuple(each for each in seen.operations if each.name != action.name))
