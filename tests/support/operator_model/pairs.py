"""Pairs (what is asked and seen) -> plan, for golden files: a sound cluster, what is different about it, and what the
operator does about that.

The cluster is the model world's, settled; then the look at it is changed line by line, so that a pair can hold what no
history of faults leads to. Every pair stands alone. Lines:

    spec CHANGE ...                 the resource is edited: controllers=5 brokers=1 image=2 domains=Require planned
                                    suspended hibernated ondelete report treat-as-lost adopt-only clusterID=X no-pools
                                    other-ids ephemeral combined=3
    begin CHANGE ... | CHANGE ...   how it was settled, and after which edits; the first line
    new                             there is nothing yet, not even a ledger
    forming [begun]                 the first quorum's pods wait at their gates
    quorum unknown|unavailable|unproven|unsettled|idle       idle: nothing was committed since the last look
    leader N, voter N STATE|gone, voter N at HOST PORT, observer N caught-up|behind|removed-one
    pod N gone|terminating|unready|pending|old|overdue|stuck, pod N trouble REASON,
    pod N disk VERDICT [DIRECTORY|ran|behind|same-pod]      a new pod (or the same one) waits at its gate
    claim N gone|new|classless|terminating|unmarked|foreign|swapped|copied|from-elsewhere, volume N remains,
    node-of N lost|silent
    broker N fenced|unregistered|absent, broker N holds TOPIC, broker N risks PARTITION, brokers unknown ledger
    lost|forgets N|gives-up N|writes-off N DIRECTORY|reached N EPOCH OFFSET|unproven N|asks-for N (a ReplaceVoter runs)
    child KIND/NAME gone|edited|stray, set N gone, rack N ZONE, zones OF-0 OF-1 ... (none: no label), owners UID
    for-long                        whatever is suspected has been so for long
    brake LIMIT CLUSTER ...         replacements that were begun within the hour, in other clusters or (this) of this
                                    cluster's voter 1
    approve                         the published plan
    way                             tells the published plan, too
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

from kraft_operator.actions import Action, ApplyChild, DeleteChild, WriteLedger, target
from kraft_operator.ledger import Ledger, RunningOperation, WrittenOff
from kraft_operator.ledger_format import render
from kraft_operator.observed import Child, Observed, Observer, Pod, Quorum, QuorumState, Trouble, VoterState
from kraft_operator.plan.brake import Begun, Brake
from kraft_operator.plan.rules import plan
from kraft_operator.plan.situation import Decision, Situation
from kraft_operator.plan.steps import Outline
from storage_guard.formats import DiskVerdict, GuardStep, Report
from support.operator_model.world import IMAGES, World, pool

Look = Callable[[Observed], Observed]


class Ages(dict[str, float]):
    """Every suspicion is old."""

    def get(self, key: str, default: float = 0.0) -> float:  # type: ignore[override]
        return 1000.0


def changes(words: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for word in words:
        name, _, value = word.partition("=")
        match name:
            case "controllers":
                ids = {"start": 0, "end": 9}
                found["controllers"] = {"replicas": int(value), "nodeIdRange": ids, "storage": {"size": "1Gi"}}
            case "domains":
                of_three = {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
                controllers = found.get("controllers", of_three)
                assert isinstance(controllers, dict)
                found["controllers"] = {**controllers, "failureDomains": {"policy": value}}
            case "brokers":
                found["brokerPools"] = [pool("b", int(value), 100)]
            case "no-pools":
                found["brokerPools"] = []
            case "other-ids":
                found["brokerPools"] = [pool("b", 2, 100), pool("d", 1, 110)]
            case "taken-ids":
                found["brokerPools"] = [pool("d", 2, 100)]
            case "image":
                found["image"] = {"repository": "kafka", "tag": value}
            case "planned":
                found["changePolicy"] = {"mode": "Plan"}
            case "suspended" | "hibernated":
                found["lifecycle"] = {"state": name.capitalize()}
            case "ondelete":
                found["rollout"] = {"strategy": "OnDelete"}
            case "report":
                found["recoveryPolicy"] = {"lostDisk": "Report"}
            case "treat-as-lost":
                found["recoveryPolicy"] = {"nodeGone": "TreatAsLost"}
            case "adopt-only":
                found["bootstrap"] = {"policy": "AdoptOnly"}
            case "ephemeral":
                ids = {"start": 0, "end": 9}
                disk = {"type": "Ephemeral", "size": "1Gi"}
                found["controllers"] = {"replicas": 3, "nodeIdRange": ids, "storage": disk}
                found["deletionPolicy"] = {"volumes": "Delete"}
            case "combined":
                ids = {"start": 0, "end": 9}
                nodes = {"role": "Combined", "replicas": int(value), "nodeIdRange": ids, "storage": {"size": "1Gi"}}
                found |= {"controllers": nodes, "brokerPools": []}
            case "newest-version":
                found["metadataVersion"] = {"policy": "FollowVersionAfterSoak"}
            case "owned":
                found["deletionPolicy"] = {"volumes": "Delete"}
            case "clusterID":
                found["clusterID"] = value
            case _:
                raise AssertionError(word)
    return found


@cache
def _settled(begin: str) -> World:
    first, *later = begin.split("|")
    world = World(**changes(first.split()))
    world.settle(80)
    for each in later:
        world.edit(**changes(each.split()))
        world.settle(80)
    world.plan()
    return world


def settled(begin: str) -> World:
    return copy.deepcopy(_settled(begin))


def answer(text: str) -> str:
    """The plan for what these lines say."""
    lines = [line.split() for line in text.splitlines()]
    begin = " ".join(lines.pop(0)[1:]) if lines and lines[0][0] == "begin" else ""
    world = settled(begin)
    pair = Pair(world)
    for words in lines:
        pair.line(words)
    return "\n".join(pair.told()) or "nothing is to be done"


class Pair:
    def __init__(self, world: World) -> None:
        self.world = world
        self.looks: list[Look] = []
        self.waited: dict[str, float] = {}
        self.overdue: set[int] = set()
        self.brake = Brake()
        self.approved = self.way = False

    def line(self, words: list[str]) -> None:
        match words:
            case ["spec", *what]:
                self.world.edit(**changes(what))
            case ["new"]:
                self.world = World()
            case ["forming"]:
                self.world = forming()
            case ["forming", "begun"]:
                self.world = forming()
                self.world.reconcile()
            case ["brake", limit, *begun]:
                # At noon; the n-th of those that were begun before is n minutes old.
                others = (
                    Begun(f"uid-of-{each}", f"n/{each}", 0, "id", 43200.0 - 60 * age)
                    for age, each in enumerate(begun, 1)
                    if each != "this"
                )
                mine = self.world.voters[1]
                this = (Begun(self.world.cluster.uid, "n/c", 1, mine, 43199.0) for each in begun if each == "this")
                self.brake = Brake(int(limit), (*others, *this), 43200.0)
            case ["for-long"]:
                self.waited = Ages()
            case ["approve"]:
                self.approved = True
            case ["way"]:
                self.way = True
            case ["restart", stamp]:
                self.world.cluster = replace(self.world.cluster, restart=stamp)
            case ["ledger", *what]:
                self.ledger(what)
            case ["pod", node, "stuck" | "overdue" as how]:
                self.overdue.add(int(node))
                nudges = 20 if how == "stuck" else 0
                told = partial(replace, nudges=nudges, grant_nonce="granted")
                self.looks.append(lambda seen: of_pod(seen, int(node), told))
            case _:
                self.looks.append(look(words, self.world))

    def ledger(self, what: list[str]) -> None:
        world, ledger = self.world, self.world.ledger
        assert ledger is not None
        match what:
            case ["lost"]:
                world.ledger_data = None
                return
            case ["forgets", node]:
                entry = ledger.entry(int(node))
                assert entry is not None
                ledger = ledger.with_entry(replace(entry, directory_id=None, grant=None, grant_used=False))
            case ["gives-up", node]:
                entry = ledger.entry(int(node))
                assert entry is not None
                assert entry.directory_id is not None
                gone = WrittenOff(entry.node_id, entry.directory_id, entry.pvc_uid, entry.nonce)
                fresh = replace(
                    entry, directory_id=None, pvc_uid=None, grant=None, grant_used=False, replaces=entry.directory_id
                )
                ledger = replace(ledger.with_entry(fresh), written_off=(*ledger.written_off, gone))
            case ["unproven", node]:
                claim = next(each.uid for name, each in world.claims.items() if f"-{node}-" in name)
                ledger = replace(ledger, unproven_claims=(claim,))
            case ["reached", node, epoch, offset]:
                entry = ledger.entry(int(node))
                assert entry is not None
                ledger = ledger.with_entry(replace(entry, min_epoch=int(epoch), min_offset=int(offset)))
            case ["asks-for", node]:
                entry = ledger.entry(int(node))
                directory = entry.directory_id if entry is not None else None
                world.ask("r", "ReplaceVoter", int(node))
                running = RunningOperation("op-r", "r", "ReplaceVoter", int(node), directory)
                ledger = replace(ledger, operation=running)
            case ["writes-off", node, directory]:
                ledger = replace(ledger, written_off=(*ledger.written_off, WrittenOff(int(node), directory)))
            case _:
                raise AssertionError(what)
        world.ledger_data = render(ledger)

    def seen(self) -> Observed:
        seen = self.world.observed()
        for each in self.looks:
            seen = each(seen)
        return seen

    def decide(self) -> Decision:
        world, seen = self.world, self.seen()
        overdue = frozenset(pod.uid for pod in seen.pods if pod.node_id in self.overdue)
        cluster = world.cluster

        def decision(published: Outline) -> Decision:
            return plan(
                Situation(
                    cluster, seen, world.ledger, world.fence, world.draw, IMAGES, waited=self.waited, overdue=overdue,
                    published=published,
                    brake=self.brake,
                )
            )  # fmt: skip

        found = decision(world.published)
        if self.approved:
            cluster = replace(cluster, approve=found.outline.hash)
            found = decision(found.outline)
        return found

    def told(self) -> Iterator[str]:
        decision = self.decide()
        names: dict[str, str] = {}
        for line in (*acted(decision), *found(decision), *(outlined(decision.outline) if self.way else ())):
            yield readable(line, names)


def forming() -> World:
    world = World()
    for _ in range(3):
        world.reconcile(stop_after=None if world.ledger is None else 0)
        world.kubelet()
    return world


# looks


def look(words: list[str], world: World) -> Look:
    match words:
        case ["quorum", state]:
            return lambda seen: replace(seen, quorum=of_quorum(seen, state))
        case ["leader", node]:
            return lambda seen: replace(seen, quorum=replace(seen.quorum, leader_id=int(node)))
        case ["voter", node, "at", host, port]:
            return lambda seen: replace(seen, quorum=moved(seen, int(node), host, int(port)))
        case ["voter", node, state]:
            return lambda seen: replace(seen, quorum=of_voter(seen, int(node), state))
        case ["observer", node, state]:
            return lambda seen: of_observer(seen, int(node), state, world.ledger)
        case ["pod", node, *about]:
            return lambda seen: pod_look(seen, int(node), about)
        case ["claim", node, fate]:
            return lambda seen: claim_look(seen, int(node), fate)
        case ["volume", node, "remains"]:
            return lambda seen: replace(seen, volumes=seen.volumes | {volume_of(seen, int(node), world.ledger)})
        case ["node-of", node, "lost"]:
            return lambda seen: replace(
                seen, stranded={**seen.stranded, volume_of(seen, int(node), world.ledger): "k2"}
            )
        case ["node-of", node, "silent"]:
            return lambda seen: replace(seen, unready={**seen.unready, volume_of(seen, int(node), world.ledger): "k2"})
        case ["broker" | "brokers", *about]:
            return lambda seen: broker_look(seen, about)
        case ["child", name, fate]:
            return lambda seen: child_look(seen, name, fate)
        case ["set", node, "gone"]:
            return lambda seen: replace(seen, sets=tuple(each for each in seen.sets if each.node_id != int(node)))
        case ["zones", *zones]:
            return lambda seen: replace(seen, zones=dict(enumerate("" if each == "none" else each for each in zones)))
        case ["rack", node, zone]:
            return lambda seen: replace(seen, racks={**seen.racks, int(node): zone})
        case ["owners", *uids]:
            return lambda seen: replace(seen, ledger_owners=tuple(uids))
        case _:
            raise AssertionError(words)


def of_quorum(seen: Observed, how: str) -> Quorum:
    quorum = seen.quorum
    match how:
        case "unknown":
            return Quorum(QuorumState.UNKNOWN, "1 of 3 answered")
        case "unavailable":
            return Quorum(QuorumState.UNAVAILABLE, "2 answered and name no leader")
        case "unproven":
            return replace(quorum, proven=False, settled=False, advanced=False)
        case "unsettled":
            return replace(quorum, settled=False)
        case "idle":
            return replace(quorum, advanced=False)
        case _:
            raise AssertionError(how)


def of_voter(seen: Observed, node_id: int, state: str) -> Quorum:
    others = tuple(each for each in seen.quorum.voters if each.node_id != node_id)
    if state == "gone":
        return replace(seen.quorum, voters=others)
    voter = seen.quorum.voter(node_id)
    assert voter is not None
    if state == "stranger":
        return replace(seen.quorum, voters=(*others, replace(voter, directory_id="stranger")))
    changed = replace(voter, state=VoterState(state))
    return replace(seen.quorum, voters=tuple(sorted((*others, changed), key=lambda each: each.node_id)))


def moved(seen: Observed, node_id: int, host: str, port: int) -> Quorum:
    """The metadata log knows it by this endpoint, and by a second one of another listener."""
    endpoints = (("CONTROLLER", host, port), ("SECOND", "s", 9099))
    voters = [replace(each, endpoints=endpoints) if each.node_id == node_id else each for each in seen.quorum.voters]
    return replace(seen.quorum, voters=tuple(voters))


def of_observer(seen: Observed, node_id: int, state: str, ledger: Ledger | None) -> Observed:
    """The node under the ledger's directory, or (`removed-one`) under one that the leader still lists after its
    removal.
    """
    entry = ledger.entry(node_id) if ledger else None
    assert entry is not None
    assert entry.directory_id is not None
    directory = "a-removed-one" if state == "removed-one" else entry.directory_id
    observer = Observer(node_id, directory, caught_up=state != "behind")
    return replace(seen, quorum=replace(seen.quorum, observers=(*seen.quorum.observers, observer)))


def of_pod(seen: Observed, node_id: int, change: Callable[[Pod], Pod]) -> Observed:
    return replace(seen, pods=tuple(change(pod) if pod.node_id == node_id else pod for pod in seen.pods))


def pod_look(seen: Observed, node_id: int, how: list[str]) -> Observed:
    away: Any = {"ready": False, "main_started": False, "seal": None, "gate_passed": False}
    match how:
        case ["gone"]:
            return replace(seen, pods=tuple(pod for pod in seen.pods if pod.node_id != node_id))
        case ["terminating"]:
            return of_pod(seen, node_id, lambda pod: replace(pod, terminating=True, ready=False))
        case ["unready"]:
            return of_pod(seen, node_id, lambda pod: replace(pod, ready=False))
        case ["pending"]:
            return of_pod(
                seen, node_id, lambda pod: replace(pod, **away, uid="a-new-pod", inspect=None, grant_nonce=None)
            )
        case ["old"]:
            return of_pod(seen, node_id, lambda pod: replace(pod, revision="older"))
        case ["trouble", reason]:
            trouble = Trouble(reason, "as the kubelet says", "main")
            return of_pod(seen, node_id, lambda pod: replace(pod, ready=False, main_started=False, trouble=trouble))
        case ["disk", verdict, "same-pod"]:
            return of_pod(
                seen, node_id, lambda pod: replace(pod, **away, gate_waits=True, inspect=report(pod, verdict))
            )
        case ["disk", verdict, *of]:
            return of_pod(seen, node_id, lambda pod: replace(restarted(pod, report(pod, verdict, *of)), **away))
        case _:
            raise AssertionError(how)


def restarted(pod: Pod, seen: Report) -> Pod:
    return replace(pod, uid="a-new-pod", gate_waits=True, grant_nonce=None, inspect=replace(seen, pod_uid="a-new-pod"))


def report(pod: Pod, verdict: str, *of: str) -> Report:
    """What `inspect` would say; `ran` beside Empty: its marker tells that a node ran on it."""
    disk = DiskVerdict(verdict)
    known = pod.seal or pod.inspect
    same = known is not None and disk is not DiskVerdict.EMPTY
    directory = of[0] if of and of[0] not in ("ran", "behind") else (known.directory_id if known and same else None)
    return Report(
        GuardStep.INSPECT, disk, "Found", f"found {verdict}", pod.uid, pod.node_id,
        known.cluster_id if known and same else None, pod.node_id if same else None, directory,
        1 if same else None, (0 if "behind" in of else 1000) if same else None,
        "a-nonce" if "ran" in of else known.nonce if known and same else None,
    )  # fmt: skip


def claim_look(seen: Observed, node_id: int, how: str) -> Observed:
    others = tuple(each for each in seen.claims if each.node_id != node_id)
    mine = next(each for each in seen.claims if each.node_id == node_id)
    match how:
        case "gone":
            return replace(seen, claims=others)
        case "new":
            mine = replace(mine, uid="uid-of-a-new-claim", volume="new-volume", identity={})
        case "classless":
            mine = replace(mine, uid="uid-of-a-new-claim", volume="", identity={}, storage_class="fats")
            seen = replace(seen, missing_classes=frozenset({"fats"}))
        case "terminating":
            mine = replace(mine, terminating=True)
        case "unmarked":
            mine = replace(mine, identity={})
        case "foreign":
            mine = replace(mine, identity={**mine.identity, "cluster-id": "another-cluster"})
        case "swapped":
            mine = replace(mine, identity={**mine.identity, "node-id": "7"})
        case "from-elsewhere":
            mine = replace(
                mine, identity={**mine.identity, "endpoint": "d-controller-0-0.d-nodes.m.svc.cluster.local:9093"}
            )
        case "copied":
            mine = replace(mine, identity={**mine.identity, "pvc-uid": "another-claim"})
        case _:
            raise AssertionError(how)
    return replace(seen, claims=tuple(sorted((*others, mine), key=lambda each: each.node_id)))


def volume_of(seen: Observed, node_id: int, ledger: Ledger | None) -> str:
    entry = ledger.entry(node_id) if ledger else None
    claim = next((each.volume for each in seen.claims if each.node_id == node_id), "")
    return (entry.pv_name if entry else None) or claim


def broker_look(seen: Observed, how: list[str]) -> Observed:
    brokers = seen.brokers
    match how:
        case ["unknown"]:
            return replace(seen, brokers=type(brokers)())
        case [node, "fenced"]:
            changed = replace(brokers, fenced=(brokers.fenced or frozenset()) | {int(node)})
        case [node, "unregistered"]:
            changed = replace(brokers, registered=(brokers.registered or frozenset()) - {int(node)})
        case [node, "holds", topic]:
            changed = replace(brokers, replicas={**(brokers.replicas or {}), int(node): (topic,)})
        case [node, "risks", partition]:
            changed = replace(brokers, at_risk={**(brokers.at_risk or {}), int(node): (partition,)})
        case _:
            raise AssertionError(how)
    return replace(seen, brokers=changed)


def child_look(seen: Observed, name: str, how: str) -> Observed:
    kind, _, called = name.partition("/")
    others = tuple(each for each in seen.children if (each.kind, each.name) != (kind, called))
    if how == "stray":
        live = {"metadata": {"name": called, "labels": {}}}
        return replace(seen, children=(*others, Child("v1", kind, called, "uid", live)))
    mine = next(each for each in seen.children if (each.kind, each.name) == (kind, called))
    if how == "edited":
        live = copy.deepcopy(dict(mine.live))
        part = "data" if kind == "ConfigMap" else "spec"
        live[part] = {**live[part], next(iter(live[part])): "somebody's"}
        others = (*others, replace(mine, live=live))
    return replace(seen, children=others)


# words


def acted(decision: Decision) -> Iterator[str]:
    """Actions in order; ConfigMaps and missing children are counted."""
    counted = {"missing children": 0, "ConfigMaps of nodes": 0}
    for action in decision.actions:
        what = _counted(action)
        if what is not None:
            counted[what] += 1
            continue
        yield _action(action)
    yield from (f"apply {count} {what}" for what, count in counted.items() if count)


def _counted(action: Action) -> str | None:
    if not isinstance(action, ApplyChild):
        return None
    if action.reason == "it is missing":
        return "missing children"
    return "ConfigMaps of nodes" if action.manifest["kind"] == "ConfigMap" else None


def _action(action: Action) -> str:
    match action:
        case WriteLedger(ledger):
            journal = " ".join(f"{step.kind.value}({step.node_id})" for step in ledger.journal)
            return f"ledger: {ledger.formation.value}, journal: {journal or 'empty'}"
        case DeleteChild():
            return f"delete {target(action)}: {action.reason}"
        case _:
            return f"{type(action).__name__} {target(action)}: {action.reason}"


def found(decision: Decision) -> Iterator[str]:
    for each in decision.findings:
        yield f"! {each.topic.value} {each.reason}{' (stalled)' if each.stalled else ''}: {each.message}"


def outlined(outline: Outline) -> Iterator[str]:
    yield f"way: {outline.hash or 'none'} {outline.approved.value}"
    for each in outline.steps:
        marks = [each.lemma, "" if each.risk.value == "None" else f"risk {each.risk.value}"]
        yield " ".join(filter(None, (f"  {each.state.value} {each.action} {each.target}", *marks)))


def readable(line: str, names: dict[str, str]) -> str:
    """Random ids by the order of their appearance in this pair."""

    def name(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"id{len(names) + 1}")

    line = re.sub(r"\bA{15}[A-Za-z0-9_-]{7}(?![A-Za-z0-9_-])", name, line)
    line = re.sub(r"\b[0-9a-f]{6}-[0-9a-f]{8}\b", lambda _: "PLAN", line)
    return re.sub(
        r"\b(pvc|pod|pv)-\d+\b", lambda match: names.setdefault(match.group(), f"{match[1]}{len(names) + 1}"), line
    )
