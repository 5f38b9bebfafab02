"""What the operator says, gathered from situations that the planner was led into: every pair of `testdata/pairs`, and
stories of the world.

A condition's text is taken from the status that follows from the decision, an Event's from the change of two statuses
and what was done. Ids are replaced by names. Two texts that differ in numbers only are one: the first one is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kraft_operator import reconcile
from kraft_operator.actions import ApplyChild
from kraft_operator.api.formed import formed_with
from kraft_operator.api.security import Stage
from kraft_operator.api.spec import BootstrapPolicy
from kraft_operator.api.stages import Formed
from kraft_operator.archives import STORE_STANDINGS, ArchiveSeen, StoreSeen
from kraft_operator.audits import AuditSeen, Summary
from kraft_operator.credentials import Authority, Credentials, EnterStage, Issued, Request, Sourced, Succession
from kraft_operator.events import notes
from kraft_operator.kube import Forbidden
from kraft_operator.ledger import MAX_NODES, Ledger
from kraft_operator.observed import Child, Observed, QuorumState, Routes, Trouble, VoterState
from kraft_operator.plan.archive import keep_archive
from kraft_operator.plan.archive_copy import tell_archive_copy
from kraft_operator.plan.audit import tell_audit
from kraft_operator.plan.nodes.health import REMEDIES
from kraft_operator.plan.rules import plan
from kraft_operator.plan.securing import WORDS
from kraft_operator.plan.security import wanted_certificates
from kraft_operator.plan.situation import Decision, Situation
from kraft_operator.plugin.view import screen
from kraft_operator.routes_seen import NO_RIGHTS, NOT_SERVED
from kraft_operator.status import hindered, refused, status
from support.datadriven import parse
from support.operator_model.drills import ASKED, Drill
from support.operator_model.full_ledgers import remove_brokers, write_off
from support.operator_model.pairs import Pair, settled
from support.operator_model.world import CORDONS, IMAGES, World, pool, resource

Status = dict[str, Any]
QUIET = 4
"""Passes in which nothing moves before a story has ended."""
TIME = "2026-11-22T03:00:00Z"


@dataclass(slots=True)
class Said:
    """Texts by condition and (status, reason), and Events by (type, reason)."""

    conditions: dict[str, dict[tuple[str, str], list[str]]] = field(default_factory=dict)
    events: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def status(self, found: Status) -> None:
        for each in found["conditions"]:
            key = each["status"], each["reason"]
            if self._is_new(each["type"], *key, each["message"]):
                self.conditions.setdefault(each["type"], {}).setdefault(key, []).append(each["message"])

    def change(
        self, old: Status, new: Status, before: Ledger | None, after: Ledger | None, done: tuple[Any, ...] = ()
    ) -> None:
        self.status(new)
        for note in notes(old, new, before, after, done):
            if self._is_new("Event", note.type, note.reason, note.text):
                self.events.setdefault((note.type, note.reason), []).append(note.text)

    def _is_new(self, *parts: str) -> bool:
        *kind, text = parts
        said = text.partition(":")[0] if kind[-1] == "PlanPublished" else text
        key = (*kind, re.sub(r"\d+", "N", readable(said)))
        fresh = key not in self._seen
        self._seen.add(key)
        return fresh


def readable(text: str) -> str:
    """Without what was drawn: directory ids, revisions, hashes and UIDs."""
    text = re.sub(r"\bA{15}[A-Za-z0-9_-]{7}(?![A-Za-z0-9_-])", "a-directory-id-of-some", text)
    text = re.sub(r"\b[0-9a-f]{6}-[0-9a-f]{8}\b", "PLAN", text)
    text = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{12}\b", "HASH", text)
    return re.sub(r"\b(pvc|pod|pv)-\d+\b", r"\1-UID", text)


def gathered(pairs: Path) -> Said:
    said = Said()
    for path in sorted(pairs.glob("*.txt")):
        for turn in parse(path.read_text()):
            _pair(said, turn.command)
    for story in STORIES.values():
        story(said)
    return said


def _pair(said: Said, text: str) -> None:
    lines = [line.split() for line in text.splitlines()]
    begin = " ".join(lines.pop(0)[1:]) if lines and lines[0][0] == "begin" else ""
    pair = Pair(settled(begin))
    old = written(pair.world, pair.world.observed(), Decision(ledger=pair.world.ledger), {})
    for words in lines:
        pair.line(words)
    before = pair.world.ledger
    decision = pair.decide()
    seen = pair.seen()
    said.change(old, written(pair.world, seen, decision, old), before, decision.ledger, decision.actions)


def written(world: World, seen: Observed, decision: Decision, old: Mapping[str, Any]) -> Status:
    return status(world.cluster, seen, decision, old, TIME)


# stories


def formed(**changes: object) -> World:
    world = World(**changes)
    world.settle(80)
    return world


def told(said: Said, world: World, rounds: int = 30) -> Status:
    """Pass after pass until nothing moves, with everything that is said on the way."""
    old: Status = {}
    quiet = 0
    for _ in range(rounds):
        before = world.ledger
        decision = world.reconcile()
        new = written(world, world.observed(), replace(decision, ledger=world.ledger), old)
        said.change(old, new, before, world.ledger, decision.actions)
        moves = world.kubelet() or new != old or bool(decision.actions) or world.waiting(decision)
        quiet, old = 0 if moves else quiet + 1, new
        if quiet == QUIET:
            break
    return old


def a_life(said: Said) -> None:
    """From nothing to Ready, to another image, to sleep, and awake again."""
    world = World()
    told(said, world)
    world.edit(image={"repository": "kafka", "tag": "2"})
    told(said, world, 40)
    for state in ("Hibernated", "Running", "Suspended"):
        world.edit(image={"repository": "kafka", "tag": "2"}, lifecycle={"state": state})
        told(said, world, 20)


def repairs(said: Said) -> None:
    for fault in (World.delete_claim, World.wipe):
        world = formed()
        fault(world, 1)
        told(said, world)


def scaling(said: Said) -> None:
    controllers = {"nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
    world = formed()
    for count in (5, 3, 1):
        world.edit(controllers={**controllers, "replicas": count})
        told(said, world, 40)
    world = formed()
    world.edit(brokerPools=[pool("b", 1, 100)])
    told(said, world)


def a_bad_revision(said: Said) -> None:
    for policy in ("Rollback", "Halt"):
        world = formed()
        world.break_image(9)
        rollout = {"readyTimeout": "12s", "onBadRevision": policy}
        world.edit(image={"repository": "kafka", "tag": "9"}, rollout=rollout)
        told(said, world, 20)


def a_lost_quorum(said: Said) -> None:
    world = formed()
    _without_two(world, said)
    world.ask("r", "RecoverQuorum")
    told(said, world, 20)
    recovery = world.operations["r"]["status"]
    assert isinstance(recovery, dict)
    world.trust("r", recovery["verdict"]["hash"])
    told(said, world, 60)


def _without_two(world: World, said: Said) -> None:
    world.write_metadata()
    world.write_metadata()
    for node_id in (0, 1):
        world.delete_claim(node_id)
    told(said, world, 20)


def leaving_brokers(said: Said) -> None:
    world = formed(brokerPools=[pool("b", 3, 100)])
    world.serve_reassignment()
    world.place("payments", 100, 102)
    world.edit(brokerPools=[pool("b", 2, 100)])
    told(said, world, 30)
    world = formed(brokerPools=[pool("b", 3, 100)])
    world.place("payments", 102)
    world.edit(brokerPools=[pool("b", 2, 100) | {"scaleDown": {"drain": "Force", "timeout": "12s"}}])
    told(said, world, 30)
    world = formed(brokerPools=[pool("b", 3, 100)], image={"repository": "kafka", "tag": "2"})
    world.serve_reassignment()
    world.finalized["metadata.version"] = CORDONS
    world.edit(brokerPools=[pool("b", 2, 100)], image={"repository": "kafka", "tag": "2"})
    told(said, world, 30)


def full_ledgers(said: Said) -> None:
    world = formed()
    write_off(world, 4000)
    told(said, world, 4)
    world = formed()
    remove_brokers(world, MAX_NODES - 5)
    world.edit(brokerPools=[pool("b", 3, 100)])
    told(said, world, 8)


def ghosts(said: Said) -> None:
    world = formed()
    world.ghost(150)
    world.ghost_controller(7, 29)
    told(said, world)


def drift(said: Said) -> None:
    world = formed()
    world.drift(1)
    told(said, world)


def versions(said: Said) -> None:
    world = formed(
        metadataVersion={"policy": "FollowVersionAfterSoak", "soak": "12s"}, quorumFeature={"policy": "Latest"}
    )
    world.finalized = {"metadata.version": 25, "kraft.version": 0}
    told(said, world)


def approvals(said: Said) -> None:
    world = formed()
    world.edit(changePolicy={"mode": "Plan"}, image={"repository": "kafka", "tag": "2"})
    told(said, world, 3)
    world.approve()
    told(said, world, 3)
    world.edit(changePolicy={"mode": "Plan"}, image={"repository": "kafka", "tag": "3"})
    told(said, world, 3)

    world.approve("000000-00000000")
    told(said, world, 2)


def volumes(said: Said) -> None:
    sizes = {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "2Gi"}}
    for expands in (True, False):
        world = formed()
        world.expands = expands
        world.edit(controllers=sizes)
        told(said, world, 3)
    world = formed()
    overrides = [{"nodeID": 2, "storageClassName": "fast"}]
    world.edit(controllers={**sizes, "storage": {"size": "1Gi", "overrides": overrides}})
    told(said, world)
    world = formed()
    world.terminate(1)
    told(said, world, 2)
    world.give_up(1)
    told(said, world, 2)
    image = {"repository": "kafka", "tag": "2"}
    storage = {"size": "1Gi", "volumes": [{"name": "one", "size": "1Gi"}]}
    world = formed(image=image, brokerPools=[{**pool("b", 2, 100), "storage": storage}])
    world.place("t", 100, 101)
    world.lie(101, "t", 0, "one")
    world.edit(image=image, brokerPools=[pool("b", 2, 100)])
    told(said, world, 2)
    world.finalized["metadata.version"] = CORDONS
    told(said, world, 20)


def lost_ledgers(said: Said) -> None:
    """Deleted, put back from an older time, and rebuilt from claims that remember nothing."""
    world = formed()
    older = dict(world.ledger_data or {})
    world.lose_ledger()
    told(said, world, 4)
    world.wipe(2)
    told(said, world)
    world.ledger_data = older
    told(said, world, 4)
    world = formed()
    world.delete_claim(100)
    for claim in world.claims.values():
        claim.marks.pop("memory", None)
    world.lose_ledger()
    told(said, world, 12)


def static_voters(said: Said) -> None:
    """A cluster that another operator laid out, whose voters are in its nodes' files."""
    world = formed()
    assert world.ledger is not None
    cluster_id, first = world.ledger.cluster_id, world.ledger.entry(0)
    assert first is not None
    world.ledger_data = None
    for forgotten in (world.pods, world.sets, world.children):
        forgotten.clear()
    for claim in world.claims.values():
        claim.marks.clear()
        disk = world.disks[claim.volume]
        disk.facts = replace(disk.facts, marker=None, static_voters=True)
    marks = {"cluster-id": cluster_id, "node-id": "0", "directory-id": str(first.directory_id)}
    world.claims["data-c-controller-0-0"].marks.update(marks)
    world.edit(clusterID=cluster_id, bootstrap={"policy": "AdoptOnly"})
    told(said, world, 20)


def claims_made_anew(said: Said) -> None:
    world = formed()
    world.terminate(1)
    world.ask("p", "ProtectClaims")
    told(said, world, 12)


def backups(said: Said) -> None:
    world = formed()
    world.write_metadata()
    world.restore_everything(0, 1)
    told(said, world, 8)
    world.ask("r", "Restore")
    told(said, world, 12)


def clients_outside(said: Said) -> None:
    outside = {"name": "OUTSIDE", "port": 9094, "exposure": "LoadBalancer"}
    world = formed()
    world.edit(endpoints={"broker": [{"name": "PLAINTEXT", "port": 9092}, outside]})
    told(said, world, 3)
    world.balancer_says["c-b-100-outside"] = "Error syncing load balancer: unknown scheme intranet"
    told(said, world, 3)


def blocked_versions(said: Said) -> None:
    world = formed()
    world.edit(metadataVersion={"value": "3.9"})
    told(said, world, 2)
    world = formed()
    world.finalized = {"metadata.version": 25, "kraft.version": 1}
    world.ghost_controller(7, 25)
    world.stranger(150)
    world.edit(metadataVersion={"value": "4.3"})
    told(said, world, 8)
    world.edit(metadataVersion={"value": "4.3"}, image={"repository": "kafka", "tag": "2"})
    told(said, world, 3)


def archives(said: Said) -> None:
    """Whatever an archive can be."""
    world = formed(archive={})
    date = datetime(2026, 11, 22, tzinfo=UTC)
    here = ArchiveSeen("Following", "why it is so", end=7, caught_up=date.timestamp())
    standings = ("Following", "Starting", "Away", "Forked", "AnotherCluster", "Damaged", "Truncated")
    for seen in (None, replace(here, why=""), *(replace(here, standing=each, caught_up=0.0) for each in standings)):
        observed = replace(world.observed(), archive=seen)
        now = Situation(world.cluster, observed, world.ledger, world.fence, world.draw, IMAGES, date=date)
        verdict = keep_archive(now)
        said.change({}, written(world, observed, replace(world.plan(), findings=verdict.findings), {}), None, None)


def archive_copies(said: Said) -> None:
    """Whatever the archive's copy in an object store can be."""
    store = {"url": "s3://bucket/c", "region": "r", "credentialsSecret": "s", "encryptionSecret": "k"}
    world = formed(archive={"objectStore": store})
    date = datetime(2026, 11, 22, tzinfo=UTC)
    well = StoreSeen("Shipping", end=7, lag=0, contact=date.timestamp(), encrypted=True, keys=("k1",))
    copies = (
        well,
        *(replace(well, standing=each, why="why it is so", contact=0.0) for each in sorted(STORE_STANDINGS)),
    )
    for copy in (None, *copies):
        here = ArchiveSeen("Following", end=7, caught_up=date.timestamp(), store=copy)
        for seen in (here,) if copy is not None else (None, here):
            observed = replace(world.observed(), archive=seen)
            now = Situation(world.cluster, observed, world.ledger, world.fence, world.draw, IMAGES, date=date)
            verdict = tell_archive_copy(now)
            said.change({}, written(world, observed, replace(world.plan(), findings=verdict.findings), {}), None, None)


def audits(said: Said) -> None:
    """Whatever an audit of the archive can be, and find."""
    world = formed(archive={"audit": {"schedule": "@daily", "image": "a:1", "lake": {"claimName": "lakes"}}})
    cluster = str(world.ledger and world.ledger.cluster_id)
    gap = {"name": "a", "severity": "error", "kind": "gap", "node": -1, "file": "0.log", "offset": 9, "detail": "why"}
    counts = {"error": 1, "warning": 0, "note": 0}
    done = Summary("2026-11-22T03:00:00Z", {cluster: 40}, counts, ("a", "b"), 0, (gap,))
    seen = (
        AuditSeen(done), AuditSeen(Summary("2026-11-22T04:00:00Z", {cluster: 50}, {**counts, "error": 0})),
        AuditSeen(failed="exit code 2: why it is so"), AuditSeen(waits="Unschedulable: why it is so"),
    )  # fmt: skip
    old: Status = {}
    for each in (*(replace(world.observed(), audit=one) for one in seen), replace(world.observed(), lake_missing=True)):
        now = Situation(world.cluster, each, world.ledger, world.fence, world.draw, IMAGES)
        new = written(world, each, replace(world.plan(), findings=tell_audit(now).findings), old)
        said.change(old, new, None, None)
        old = new


def from_archives(said: Said) -> None:
    """A cluster that is formed from an archive, and whatever keeps it from that."""
    told(said, Drill(), 40)
    missing, refused, before = Drill(), Drill(), formed()
    missing.bound = ""
    told(said, missing, 3)
    refused.refusal = "restore the volume of the archive: it is damaged"
    told(said, refused, 6)
    before.edit(bootstrap={"fromArchive": ASKED})
    told(said, before, 3)


def a_refusal(said: Said) -> None:
    """The API server refuses a child."""
    world = formed()
    world.edit(image={"repository": "kafka", "tag": "2"})
    decision = world.plan()
    child = next(each for each in decision.actions if isinstance(each, ApplyChild))
    refusal = reconcile._refusal(child, "StatefulSet.apps is invalid: spec.template is too long")
    found = replace(decision, findings=(*decision.findings, refusal))
    said.change({}, written(world, world.observed(), found, {}), None, None)


def waits_of_pods(said: Said) -> None:
    for reason in sorted(REMEDIES):
        world = formed()
        world.pods[100].stage = "inspect"
        world.pods[100].trouble = Trouble(reason, "as the kubelet says", "kafka")
        said.status(written(world, world.observed(), world.plan(), {}))


def pods_that_are_refused(said: Said) -> None:
    """For each reason; the API server's words are those of the model."""
    tuner = {"name": "tuner", "image": "busybox", "securityContext": {"capabilities": {"add": ["SYS_NICE"]}}}
    for wrong in (
        {"priorityClassName": "absent"},
        {"runtimeClassName": "absent"},
        {"serviceAccountName": "absent"},
        {"sidecars": [tuner]},
        {"labels": {"team": "nobody"}},
    ):
        world = formed()
        world.edit(brokerPools=[{**pool("b", 2, 100), "pod": wrong}])
        told(said, world, 6)


def quorums(said: Said) -> None:
    """Looks that no fault of the world leads to."""
    world = formed()
    seen = world.observed()
    sound = written(world, seen, Decision(ledger=world.ledger), {})
    quorum = seen.quorum
    dead = tuple(replace(each, state=VoterState.DEAD) if each.node_id == 1 else each for each in quorum.voters)
    for other in (
        replace(quorum, voters=dead),
        replace(quorum, voters=quorum.voters[:2]),
        replace(quorum, voters=quorum.voters[:1]),
        replace(quorum, state=QuorumState.UNAVAILABLE, detail="1 of 3 voters follow leader 0 in epoch 1"),
        replace(
            quorum, state=QuorumState.UNAVAILABLE, leader_id=-1, detail="controllers 0, 1 answer and know no leader"
        ),
        replace(quorum, state=QuorumState.UNKNOWN, leader_id=-1, detail="no answer from controllers 1, 2"),
    ):
        said.change(
            sound, written(world, replace(seen, quorum=other), Decision(ledger=world.ledger), sound), None, None
        )
    for brokers in (replace(seen.brokers, registered=frozenset({100})), replace(seen.brokers, fenced=frozenset({101}))):
        said.change(
            sound, written(world, replace(seen, brokers=brokers), Decision(ledger=world.ledger), sound), None, None
        )
    assert world.ledger is not None
    young = Decision(ledger=replace(world.ledger, good=()))
    said.change(sound, written(world, seen, young, sound), None, None)


def outside_the_plan(said: Said) -> None:
    """What the shell says when there is no plan."""
    for reason, problem in (
        ("SpecInvalid", "spec.controllers.replicas: must be odd"),
        ("LedgerCorrupt", f"{reconcile.LEDGER_REMEDY}: c-ledger cannot be read: cluster-id is missing"),
    ):
        said.change({}, refused(2, reason, problem, {}, TIME), None, None)
    for error in (
        Forbidden(403, 'pods is forbidden: User "kraft-operator" cannot list resource "pods"'),
        ZeroDivisionError("division by zero"),
    ):
        found = reconcile.hindrance(error)
        assert found is not None
        said.change({}, hindered(2, *found, {}, TIME), None, None)


def secure_clusters(said: Said) -> None:
    """One without certificates, with good ones, without its authority; and those that are asked to be another."""
    world = formed()
    world.edit(security={"tls": {"mode": "Required"}})
    assert world.ledger is not None
    now, good = world.situation(), Authority("f" * 64)
    secure = replace(now, ledger=replace(world.ledger, security="Required"))
    published = Credentials(published=(good.fingerprint,))
    fault = replace(published, fault="it has no tls.key")
    for seen in (Credentials(), Credentials(good), published, fault):
        _decided(said, replace(secure, observed=replace(now.observed, credentials=seen)))
    whole = replace(now.observed, credentials=None)
    _decided(said, replace(secure, observed=whole))
    _decided(said, replace(secure, observed=whole, cluster=replace(now.cluster, kept_mode="Disabled")))
    _decided(said, replace(now, observed=whole))
    for seen in _on_the_way(secure, good):
        _decided(said, replace(secure, observed=replace(now.observed, credentials=seen)))
    resting = replace(secure, observed=replace(now.observed, credentials=_issued(secure, Credentials(good))))
    _decided(said, replace(resting, cluster=replace(now.cluster, rotate="once")))
    _decided(said, replace(secure, observed=replace(now.observed, credentials=Credentials(fault="it has no tls.key"))))
    known = tuple(each for each in world.ledger.entries if each.node_id not in (1, 2))
    taken = replace(world.ledger, entries=known, doubted=(1, 2), security="Required")
    adopting = replace(now.cluster.spec, bootstrap_policy=BootstrapPolicy.ADOPT_ONLY)
    awaited = replace(secure, ledger=taken, cluster=replace(now.cluster, spec=adopting))
    _decided(said, replace(awaited, observed=replace(now.observed, credentials=Credentials())))
    _decided(said, replace(resting, ledger=taken, cluster=replace(now.cluster, rotate="once")))


def gateways(said: Said) -> None:
    """Clients outside by the Gateway API: without it, and with a Gateway that refuses."""
    world = formed()
    names = {"bootstrapHost": "kafka.example.com", "brokerHost": "broker-{nodeID}.example.com"}
    outside = {"exposure": "Gateway", "passthrough": {**names, "parentRef": {"name": "edge"}}}
    listeners = [{"name": "REPLICATION", "port": 9091}, {"name": "OUTSIDE", "port": 9094, **outside}]
    world.edit(security={"tls": {"mode": "Required"}}, endpoints={"broker": listeners})
    assert world.ledger is not None
    now = world.situation()
    secure = replace(now, ledger=replace(world.ledger, security="Required"))
    condition = {"type": "Accepted", "status": "False", "message": "NoMatchingListenerHostname"}
    status = {"parents": [{"parentRef": {"name": "edge"}, "conditions": [condition]}]}
    name, served = "c-bootstrap-outside", "gateway.networking.k8s.io/v1"
    route = Child(served, "TLSRoute", name, "uid", {"metadata": {"name": name}, "status": status})
    for seen in (Routes(missing=NOT_SERVED), Routes(missing=NO_RIGHTS), Routes(served, (route,))):
        _decided(said, replace(secure, observed=replace(now.observed, routes=seen)))


def becoming_secure(said: Said) -> None:
    """A plaintext cluster that is asked to be secure: why it cannot, each stage and what the next one waits for."""
    world = formed()
    world.edit(security={"tls": {"mode": "Required"}})
    asked, ledger = formed_with(world.cluster, ""), world.ledger
    assert ledger is not None
    now = replace(world.situation(), cluster=asked)
    registry = now.observed.brokers.registry
    for known in (replace(registry, finalized={"kraft.version": 0}), replace(registry, apis=frozenset())):
        brokers = replace(now.observed.brokers, registry=known)
        _decided(said, replace(now, observed=replace(now.observed, brokers=brokers)))
    _decided(
        said, replace(now, cluster=replace(asked, hindrance="spec.endpoints: give A at 9091 another name and port"))
    )
    good = Authority("f" * 64)
    for stage in Stage:
        text = Formed(stage, migrated=stage > Stage.PLAIN).text
        here = replace(now, cluster=formed_with(world.cluster, text), ledger=replace(ledger, security=text))
        _decided(said, here)
        seen = replace(here.observed, credentials=_issued(here, Credentials(good)))
        _decided(said, replace(here, observed=seen))
        entered = EnterStage(stage.name.capitalize(), f"the stage before stands: {WORDS[stage]}", back=not stage)
        said.change({}, written(world, world.observed(), world.plan(), {}), None, None, (entered,))


def certificates_of_others(said: Said) -> None:
    """Out of Secrets of a user's, or of cert-manager: what is wrong with them, what is waited for, what ends soon."""
    world = formed()
    provided = {"trustedSecret": "corp-ca", "nodeSecret": "corp-nodes", "operatorSecret": "corp-operator"}
    theirs: dict[str, Any] = {"issuer": "Provided", "provided": provided}
    managers: dict[str, Any] = {"issuer": "CertManager", "issuerRef": {"name": "corp"}}
    for tls in (theirs, managers):
        world.edit(security={"tls": {"mode": "Required", **tls}})
        assert world.ledger is not None
        now = replace(world.situation(), ledger=replace(world.ledger, security="Required"))
        good = Issued(subject="CN=c-node,OU=n,O=c", issuer="f" * 64, begins=0.0, ends=90.0, hosts=frozenset())
        wanted = list(wanted_certificates(now))
        sources = {each.origin: replace(good, subject=each.subject.text if each.also == () else good.subject,
            hosts=frozenset(host for one in wanted for host in one.needed)) for each in wanted}  # fmt: skip
        whole = Sourced(("f" * 64,), sources, {"f" * 64: "an authority"})
        waits = replace(whole, sources={}, requests={each.origin: Request("", "no such issuer") for each in wanted})
        for seen in (whole, waits, replace(whole, fault="make the Secret corp-ca: it is missing")):
            observed = replace(now.observed, credentials=Credentials(sourced=seen))
            _decided(said, replace(now, observed=observed, date=datetime.fromtimestamp(70.0, UTC)))
    copied = Credentials(issued={"c-0-tls": Issued(origin="corp-nodes")})
    world.edit(security={"tls": {"mode": "Required"}})
    assert world.ledger is not None
    now = replace(world.situation(), ledger=replace(world.ledger, security="Required"))
    _decided(said, replace(now, observed=replace(now.observed, credentials=copied)))


def _on_the_way(now: Situation, good: Authority) -> Iterator[Credentials]:
    """To another authority: written, proven."""
    for known in (Succession(successor="e" * 64), Succession(predecessor="e" * 64)):
        written = _issued(now, Credentials(good, known))
        yield written
        yield replace(written, proven=frozenset(each.node_id for each in now.observed.pods))


def _issued(now: Situation, seen: Credentials) -> Credentials:
    found = {}
    for each in wanted_certificates(now):
        hosts, trusts = frozenset(each.hosts), seen.trusted
        found[each.secret] = Issued(subject=each.subject.text, hosts=hosts, issuer=trusts[0], trusts=trusts)
    return replace(seen, issued=found, published=seen.trusted)


def _decided(said: Said, now: Situation) -> None:
    said.status(status(now.cluster, now.observed, plan(now), {}, TIME))


STORIES: dict[str, Callable[[Said], None]] = {
    each.__name__: each
    for each in (
        a_life, repairs, scaling, a_bad_revision, a_lost_quorum, leaving_brokers,
        full_ledgers, ghosts, drift, versions, approvals,
        volumes, lost_ledgers, static_voters, claims_made_anew, backups, clients_outside,
        blocked_versions, archives, archive_copies, audits, from_archives, a_refusal, waits_of_pods,
        pods_that_are_refused, quorums,
        outside_the_plan,
        secure_clusters, gateways, becoming_secure, certificates_of_others,
    )
}  # fmt: skip


# screens


def screens() -> Iterator[tuple[str, str]]:
    """Name and text of `kubectl kraft status` in the situations that people open it for."""
    for name, situation in SCREENS.items():
        found = situation()
        shown: dict[str, Any] = resource()
        shown["metadata"] = {**shown["metadata"], "generation": found.get("observedGeneration", 1)}
        yield name, readable(screen({**shown, "status": found}))


def _after(act: Callable[[World], object], rounds: int = 12, **changes: object) -> Status:
    """The status some passes after something happened to a sound cluster."""
    world = formed(**changes)
    act(world)
    return told(Said(), world, rounds)


def _wiped(world: World) -> None:
    """A broker's disk, with the only replica of a partition."""
    world.place("payments", 100)
    world.observed()
    world.wipe(100)


def _lost(world: World) -> None:
    world.wipe(1)
    world.wipe(2)


def _recovering(world: World) -> None:
    _without_two(world, Said())
    world.ask("r", "RecoverQuorum")


def _edit(**changes: object) -> Callable[[World], None]:
    return lambda world: world.edit(**changes)


def _break(world: World) -> None:
    world.break_image(9)
    world.edit(image={"repository": "kafka", "tag": "9"}, rollout={"readyTimeout": "12s"})


def _leave(world: World) -> None:
    world.replicas = {101: ("payments",)}
    world.edit(brokerPools=[pool("b", 1, 100)])


IMAGE = {"image": {"repository": "kafka", "tag": "2"}}
SCREENS: dict[str, Callable[[], Status]] = {
    "not-looked-at": dict,
    "forming": lambda: told(Said(), World(), 3),
    "sound": lambda: _after(lambda world: None),
    "rolling": lambda: _after(_edit(**IMAGE), 3),
    "waits-for-approval": lambda: _after(_edit(changePolicy={"mode": "Plan"}, **IMAGE), 3),
    "bad-revision": lambda: _after(_break),
    "voter-lost": lambda: _after(lambda world: world.delete_claim(1), 4),
    "voter-replaced": lambda: _after(lambda world: world.delete_claim(1), 8),
    "quorum-lost": lambda: _after(_lost),
    "recovery-waits": lambda: _after(_recovering),
    "disk-emptied": lambda: _after(_wiped),
    "disks-swapped": lambda: _after(lambda world: world.swap(1, 2)),
    "brokers-swapped": lambda: _after(lambda world: world.swap(100, 101)),
    "claim-deleted": lambda: _after(lambda world: world.terminate(1), 3),
    "broker-cannot-leave": lambda: _after(_leave),
    "node-silent": lambda: _after(lambda world: world.cut_power(1)),
    "node-gone": lambda: _after(lambda world: world.delete_node(1)),
    "suspended": lambda: _after(_edit(lifecycle={"state": "Suspended"}), 2),
    "falling-asleep": lambda: _after(_edit(lifecycle={"state": "Hibernated"}), 1),
    "hibernated": lambda: _after(_edit(lifecycle={"state": "Hibernated"})),
    "invalid": lambda: refused(
        1, "SpecInvalid", "spec.controllers.replicas: must be odd", _after(lambda world: None), TIME
    ),
}
