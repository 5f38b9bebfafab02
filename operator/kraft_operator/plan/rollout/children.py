"""What has to be applied or deleted so that the children are what they should be, and nothing else.

An apply that would change nothing is not sent. Each child carries the digest of the intent it was made from; a field
that we dropped changes the digest, a field that somebody changed makes the live object differ from the intent. The
comparison asks whether the intent is contained in the live object, because the API server adds defaults; where the
server writes a value in another way (which we cannot know beforehand), the fingerprint of its answer to our last apply
is remembered (`Situation.settled`), so that one needless apply happens at most once per process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, Final

from kraft_operator.actions import Action, ApplyChild, DeleteChild
from kraft_operator.api import names
from kraft_operator.api.reader import InvalidSpec, quantity
from kraft_operator.api.roles import controls
from kraft_operator.ledger import Ledger
from kraft_operator.manifests.archive import archive_objects
from kraft_operator.manifests.audit import audit_objects
from kraft_operator.manifests.cluster import controllers_among, node_objects
from kraft_operator.manifests.context import Context, Manifest
from kraft_operator.manifests.passthrough import passthrough_objects
from kraft_operator.manifests.policies import disruption_budgets, network_policies
from kraft_operator.manifests.services import exposed_services, services
from kraft_operator.observed import Child, QuorumState
from kraft_operator.operations.recovery import HELD
from kraft_operator.plan.disks.claims import guarded_groups
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict

INTENT_ANNOTATION: Final = f"{names.GROUP}/intent"
NOT_OURS_TO_DELETE: Final = ("PersistentVolumeClaim", "Pod")


def sync_children(now: Situation) -> Verdict:
    if now.ledger is None:
        return NOTHING
    intents = _intents(now, now.ledger)
    live = {(child.kind, child.name): child for child in now.observed.children}
    actions: list[Action] = []
    for intent in intents:
        child = live.pop((intent["kind"], intent["metadata"]["name"]), None)
        if child is None:
            actions.append(ApplyChild(intent, "it is missing"))
        elif _differs(now, intent, child.live):
            actions.append(ApplyChild(intent, "it differs from what it should be"))
    told = _new_revisions(actions, now)
    pools = {group.name for group in now.cluster.spec.groups}
    pending = {str(node.node_id) for node in now.nodes if node.pending}
    live = {key: each for key, each in live.items() if _node_of(each) not in pending}
    gone = [
        DeleteChild(child.api, child.kind, child.name, child.uid, "nothing wants it any more")
        for child in live.values()
        if _unwanted(child, now, pools)
    ]
    first = [each for each in gone if each.kind == "TLSRoute"]  # its Service bears the mark by which it is found
    return Verdict(actions=(*first, *actions, *(each for each in gone if each not in first)), findings=told)


def _intents(now: Situation, ledger: Ledger) -> list[Manifest]:
    """All objects of the cluster, in the order in which they are to be applied. Groups that are rolled back get pods as
    the resource described them when they were good."""
    cluster, needed, closed = now.cluster, voters_needed(now), guarded_groups(now)
    controllers, nodes = controllers_among(cluster, now.nodes), tuple(sorted(now.nodes))
    routes = now.observed.routes.api
    still = ledger.recovery is not None and ledger.recovery.stage in HELD
    parts: list[tuple[Hashable, Callable[[], list[Manifest]]]] = [
        ("services", lambda: services(cluster)),
        (("exposed", nodes), lambda: exposed_services(cluster, nodes)),
        (("passthrough", nodes, routes), lambda: passthrough_objects(cluster, nodes, routes)),
        (("policies", now.images), lambda: network_policies(cluster, now.images)),
        (
            ("archive", now.images, ledger.cluster_id, controllers, ledger.generation, still),
            lambda: archive_objects(cluster, now.images, ledger.cluster_id, controllers, ledger.generation, held=still),
        ),
        (("audit", still), lambda: audit_objects(cluster, held=still)),
        (("budgets", needed, frozenset(closed)), lambda: disruption_budgets(cluster, needed, closed)),
    ]
    found = [each for what, render in parts for each in now.rendered.objects(cluster, (what,), _stamping(render))]
    for node in (each for each in nodes if not each.pending):
        good, images = now.rolled_back.get(node.group, (cluster, now.images))
        context = Context(good, ledger.cluster_id, controllers, images, ledger.replication_factor)
        revision = now.rendered.revision(replace(context, controller_ids=()), context.group(node))
        render = _stamping(partial(node_objects, context, node, revision))
        found += now.rendered.node(context, node, render)
    return found


def _stamping(render: Callable[[], list[Manifest]]) -> Callable[[], list[Manifest]]:
    return lambda: [stamped(each) for each in render()]


def _new_revisions(actions: Iterable[Action], now: Situation) -> tuple[Finding, ...]:
    """A set that is written anew does not show its new revision yet, and its pod is outdated from now on."""
    found = []
    given = {each.name: each.target for each in now.observed.sets if now.observed.pod(each.node_id) is not None}
    for action in actions:
        if not isinstance(action, ApplyChild) or action.manifest["kind"] != "StatefulSet":
            continue
        name = action.manifest["metadata"]["name"]
        revision = (action.manifest["metadata"].get("annotations") or {}).get(names.ANNOTATION_REVISION)
        if given.get(name, revision) not in (revision, ""):
            found.append(f"{name}-0")
    message = f"{', '.join(found)} {'gets' if len(found) == 1 else 'get'} a new revision"
    return (Finding(Topic.ROLLOUT, "RolloutInProgress", message),) if found else ()


def voters_needed(now: Situation) -> int | None:
    """How many controller pods an eviction has to leave Ready, so that exactly as many may go as the quorum can lose.
    What is Ready without being a live voter is kept too: which pod an eviction takes is not ours to choose. As long as
    the quorum is not known, what was said last stays."""
    quorum = now.observed.quorum
    if quorum.state is QuorumState.AVAILABLE and quorum.proven:
        ready = sum(pod.ready and not pod.terminating and controls(pod) for pod in now.observed.pods)
        return max(quorum.majority, ready - max(0, quorum.headroom))
    name = f"{now.cluster.name}-{now.cluster.spec.controllers.name}"
    for child in now.observed.children:
        if (child.kind, child.name) == ("PodDisruptionBudget", name):
            said = (child.live.get("spec") or {}).get("minAvailable")
            return said if isinstance(said, int) else None
    return None


def stamped(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with the digest of itself among its annotations."""
    meta = dict(manifest["metadata"])
    meta["annotations"] = {**(meta.get("annotations") or {}), INTENT_ANNOTATION: _digest(manifest)}
    return {**manifest, "metadata": meta}


def fingerprint(intent: Mapping[str, Any], live: Mapping[str, Any]) -> str:
    """Of the intent together with what the server made of its fields."""
    return _digest([intent, _projection(intent, live)])


def contained(intent: Any, live: Any) -> bool:
    """Every field of the intent is in the live object with the same meaning."""
    if isinstance(intent, dict | list) and intent == live:
        return True
    match intent:
        case dict():
            return (live is None and not intent) or (
                isinstance(live, dict) and all(contained(value, live.get(key)) for key, value in intent.items())
            )
        case list():
            if live is None:
                return not intent
            same_length = isinstance(live, list) and len(live) == len(intent)
            return same_length and all(contained(*pair) for pair in zip(intent, live, strict=True))
        case _:
            same = intent == live and isinstance(intent, bool) == isinstance(live, bool)
            return same or (live is None and intent in ("", None)) or _same_quantity(intent, live)


def _differs(now: Situation, intent: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    if live["metadata"].get("deletionTimestamp"):
        return False  # it has to go first; its deletion is an event
    if now.rendered.compare(intent, live, contained):
        return False
    return now.settled.get((intent["kind"], intent["metadata"]["name"])) != fingerprint(intent, live)


def _unwanted(child: Child, now: Situation, pools: set[str]) -> bool:
    """Not wanted by the plan and not the brokers of a pool that was taken out of the resource without being emptied."""
    labels = child.live["metadata"].get("labels") or {}
    if child.kind in NOT_OURS_TO_DELETE or child.name == names.ledger_name(now.cluster.name):
        return False
    if child.live["metadata"].get("deletionTimestamp"):
        return False
    return names.LABEL_NODE_ID not in labels or labels.get(names.LABEL_POOL) in pools


def _node_of(child: Child) -> str | None:
    return (child.live["metadata"].get("labels") or {}).get(names.LABEL_NODE_ID)


def _projection(intent: Any, live: Any) -> Any:
    match intent:
        case dict() if isinstance(live, dict):
            return {key: _projection(value, live.get(key)) for key, value in intent.items()}
        case list() if isinstance(live, list):
            return [_projection(*pair) for pair in zip(intent, live, strict=False)]
        case _:
            return live


def _same_quantity(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return False
    try:
        return quantity(str(one), "") == quantity(str(other), "")
    except InvalidSpec:
        return False


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()[:32]
