"""The world of `operator_world` as an API server and a quorum that answers: what the real reconciler and executor run
against.

Objects are rendered as Kubernetes would show them, writes carry the preconditions that the real server enforces (UID,
resourceVersion), and every write is counted. `Faults` stand in the way of single calls: an answer that is lost, a
refusal, a death right before or right after. What this is not: a proof of how Kubernetes behaves; the end-to-end tests
are.
"""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity
from kraft_operator.actions import AddVoter, RemoveVoter, UpdateVoter
from kraft_operator.api import names
from kraft_operator.api.parse import read_cluster
from kraft_operator.api.reader import quantity
from kraft_operator.api.roles import BROKER
from kraft_operator.kube import (
    CERTIFICATE,
    CLAIM,
    CLUSTER,
    CONFIG_MAP,
    EVENT,
    LEASE,
    NODE,
    POD,
    SECRET,
    STORAGE_CLASS,
    USER,
    VOLUME,
    Conflict,
    Forbidden,
    Kind,
    NotFound,
    Object,
)
from kraft_operator.ledger import JournaledStep, StepKind
from kraft_operator.observed import Brokers, Child, Quorum
from kraft_operator.pod_facts import NUDGE_ANNOTATION
from kraft_operator.proofs import Doubt
from kraft_operator.quorum import Addresses
from kraft_operator.security.certificates import Pair, read
from kraft_operator.security.secret_objects import text_of
from kraft_operator.user_queries import UserChange
from kraft_operator.users import Found
from storage_guard.formats import FORMAT_MODE_ANNOTATION, GRANT_ANNOTATION, RACK_ANNOTATION, Grant
from support.operator_model.hindrances import refused_by_kubernetes
from support.operator_model.world import LiveClaim, LivePod, World, resource

T = TypeVar("T")
Objects = list[Object]
HOSTNAME: Final = "kubernetes.io/hostname"
NO_STEP: Final = JournaledStep(StepKind.RESTART, 0, "", 0)


class Died(BaseException):
    """The operator's process ended here: no `except Exception` of its own may hold this back."""


class Faults:
    """What stands between the operator and its calls. `call` performs; this one lets everything through."""

    def write(self, what: str, call: Callable[[], T]) -> T:
        return call()

    def read(self, what: str, call: Callable[[], T]) -> T:
        return call()


@dataclass(slots=True)
class WorldApi:
    """Quacks as `kube.Gateway`, as `quorum.QuorumProbe`, and as the quorum changes of the latter."""

    world: World
    faults: Faults = field(default_factory=Faults)
    resource: Object = field(default_factory=lambda: {"apiVersion": CLUSTER.api, "kind": CLUSTER.kind, **resource()})
    writes: list[str] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)
    """Names of pods that were deleted by the operator."""
    meta: dict[tuple[str, str], Object] = field(default_factory=dict)
    """Of stored children: uid, resourceVersion, generation."""
    released: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Volumes that outlived their claim, to its name and UID."""
    leaving: set[str] = field(default_factory=set)
    """UIDs of claims that go once no pod uses them."""
    racks: dict[str, str] = field(default_factory=dict)
    hostnames: dict[str, str] = field(default_factory=dict)
    """Of nodes whose label somebody has changed, by volume."""
    node_uids: dict[str, str] = field(default_factory=dict)
    """Of nodes that were registered again, by volume."""
    certificates: dict[str, Object] | None = None
    """Of cert-manager; None where it is not installed."""
    lease: Object = field(
        default_factory=lambda: {"metadata": {"name": "kraft-operator", "resourceVersion": "1"}, "spec": {}}
    )
    """Who acts, and the account that is kept on it."""
    version: int = 1
    reads: int = 0
    """Questions to the API server."""
    looks: int = 0
    """At the quorum."""
    events: Objects = field(default_factory=list)
    """Kubernetes Events that were posted."""
    changed_by: ListenerSecurity = PLAINTEXT
    """How changes of the quorum were asked for last."""
    asked: Addresses | None = None
    """How the quorum was looked at last."""
    files: dict[int, Object] = field(default_factory=dict)
    """Of secure nodes: what each has read of its Secret."""
    stale: set[int] = field(default_factory=set)
    """Nodes that read nothing anew, as one whose kubelet is away."""
    reads_at_start: bool = False
    """Nodes read their files when their pod starts only."""
    misunderstood: list[tuple[int, int]] = field(default_factory=list)
    """(Node, port) where the operator was not understood."""
    mute: set[int] = field(default_factory=set)
    """Nodes that show no certificate to who asks for it."""
    plaintext: dict[int, int] = field(default_factory=dict)
    # Connections on the plaintext listener of controllers.
    started: dict[int, str] = field(default_factory=dict)
    """UID of the pod that read them."""

    def edit(self, **changes: object) -> None:
        """As `kubectl apply` of another spec."""
        self.resource["spec"] = {**copy.deepcopy(self.resource["spec"]), **changes}
        self.resource["metadata"]["generation"] += 1
        self.world.cluster = read_cluster(self.resource)

    def annotate_resource(self, **marks: str) -> None:
        annotations = self.resource["metadata"].setdefault("annotations", {})
        annotations |= {f"{names.GROUP}/{key}": value for key, value in marks.items()}
        self.world.cluster = read_cluster(self.resource)

    # reads

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        found = self.find(kind, namespace, name)
        if found is None:
            raise NotFound(404, f"{kind.kind} {name}")
        return found

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        def look() -> Object | None:
            if kind is NODE:
                return self._node(name)
            if kind is LEASE:
                return copy.deepcopy(self.lease)
            if kind is STORAGE_CLASS:
                there = name not in self.world.missing_classes
                return {"metadata": {"name": name}, "allowVolumeExpansion": self.world.expands} if there else None
            if kind is CERTIFICATE:
                return copy.deepcopy((self.certificates or {}).get(name))
            return next((each for each in self._all(kind) if each["metadata"]["name"] == name), None)

        self.reads += 1
        return self.faults.read(f"find {kind.kind}/{name}", look)

    def discover(self, api: str) -> tuple[Object, ...]:
        if self.certificates is None:
            raise NotFound(404, "404 page not found")
        return ({"kind": CERTIFICATE.kind, "name": CERTIFICATE.plural},)

    def list(self, kind: Kind, namespace: str | None, selector: str = "", fields: str = "") -> tuple[Object, ...]:
        def look() -> tuple[Object, ...]:
            return tuple(self._nodes(selector) if kind is NODE else self._all(kind))

        self.reads += 1
        return self.faults.read(f"list {kind.kind}", look)

    def _all(self, kind: Kind) -> Objects:
        if kind is CLUSTER:
            return [copy.deepcopy(self.resource)]
        if kind is USER:
            return copy.deepcopy(list(self.world.users.values()))
        if kind is SECRET:
            return copy.deepcopy(list(self.world.secrets.values()))
        if kind is POD:
            return [self._pod(node_id, pod) for node_id, pod in self.world.pods.items()]
        if kind is CLAIM:
            return [self._claim(name, claim) for name, claim in self.world.claims.items()]
        if kind is VOLUME:
            return [self._volume(name) for name in self.world.disks]
        found = [self._child(child) for child in self.world.children.values() if child.kind == kind.kind]
        return found + (self._ledger() if kind is CONFIG_MAP else [])

    # writes

    def create(self, kind: Kind, namespace: str | None, body: Object, timeout: float | None = None) -> Object:
        name = body["metadata"]["name"]

        def act() -> Object:
            if kind is EVENT:
                self.events.append(copy.deepcopy(body))
                return copy.deepcopy(body)
            if kind is SECRET:
                if name in self.world.secrets:
                    raise Conflict(409, f"secrets {name} already exists")
                return self._store_secret(body)
            if kind is CLAIM:
                if name in self.world.claims:
                    raise Conflict(409, f"claim {name} exists")
                self.world.make_claim(name, body["spec"]["volumeName"])
                return self.find_silently(kind, name)
            if self.world.ledger_data is not None:
                raise Conflict(409, f"{kind.kind} {name} exists")
            return self._store_ledger(body)

        return self._write(f"create {kind.kind}/{name}", act)

    def rehearse(self, kind: Kind, namespace: str, body: Object) -> None:
        def look() -> None:
            if said := refused_by_kubernetes(body, self.world.made):
                raise Forbidden(403, said)

        self.reads += 1
        self.faults.read(f"rehearse {kind.kind}", look)

    def replace(self, kind: Kind, body: Object, timeout: float | None = None) -> Object:
        def act() -> Object:
            if kind is LEASE:
                return self._replace_lease(body)
            if kind is SECRET:
                there = self.world.secrets.get(body["metadata"]["name"])
                if there is None or there["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
                    raise Conflict(409, "the object has been modified")
                return self._store_secret(body)
            live = next(iter(self._ledger()), None)
            if live is None or live["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
                raise Conflict(409, "the object has been modified")
            return self._store_ledger(body)

        return self._write(f"replace {kind.kind}/{body['metadata']['name']}", act)

    def apply(self, kind: Kind, body: Object, sub: str = "", timeout: float | None = None) -> Object:
        name = body["metadata"]["name"]

        def act() -> Object:
            if kind is SECRET:
                return self._store_secret(body)
            if kind is CERTIFICATE:
                if self.certificates is None:
                    raise NotFound(404, "the server could not find the requested resource")
                self.certificates[name] = {**self.certificates.get(name, {}), **copy.deepcopy(body)}
                return copy.deepcopy(self.certificates[name])
            if kind is USER:
                if name not in self.world.users:
                    raise NotFound(404, f"{kind.kind} {name}")
                self.world.users[name]["status"] = copy.deepcopy(body["status"])
                return copy.deepcopy(self.world.users[name])
            if sub:
                self.resource["status"] = copy.deepcopy(body["status"])
                return copy.deepcopy(self.resource)
            before = self.world.children.get((kind.kind, name))
            if before is None or before.live != body:
                self._touch(kind.kind, name)
                self.world._apply(copy.deepcopy(body))
            return self._child(self.world.children[kind.kind, name])

        return self._write(f"apply {kind.kind}/{name}" + (f"/{sub}" if sub else ""), act)

    def annotate(
        self, kind: Kind, namespace: str, name: str, annotations: dict[str, str | None], *, uid: str,
        resource_version: str | None = None, timeout: float | None = None,
    ) -> Object:  # fmt: skip
        def act() -> Object:
            live = self.find_silently(kind, name)
            version = live["metadata"]["resourceVersion"]
            if live["metadata"]["uid"] != uid or resource_version not in (None, version):
                raise Conflict(409, f"{name} is not the one that was read")
            self._annotated(kind, name, {key: value or "" for key, value in annotations.items()})
            return self.find_silently(kind, name)

        return self._write(f"annotate {kind.kind}/{name}", act)

    def patch(self, kind: Kind, namespace: str, name: str, body: Object, timeout: float | None = None) -> Object:
        def act() -> Object:
            if kind is VOLUME:
                if self.find_silently(kind, name)["metadata"]["uid"] != body["metadata"]["uid"]:
                    raise Conflict(409, f"{name} is another one by now")
                if "claimRef" in body["spec"]:
                    assert body["spec"] == {"claimRef": {"uid": None, "resourceVersion": None}}
                    self.released.pop(name, None)
                else:
                    assert body["spec"] == {"persistentVolumeReclaimPolicy": "Retain"}
                    self.world.retained.add(name)
            if kind is CLAIM:
                claim = self.world.claims[name]
                if claim.uid != body["metadata"]["uid"]:
                    raise Conflict(409, f"{name} is another one by now")
                claim.requested = quantity(body["spec"]["resources"]["requests"]["storage"], "size")
            return copy.deepcopy(body)

        return self._write(f"patch {kind.kind}/{name}", act)

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str, resource_version: str | None = None,
        timeout: float | None = None, grace_seconds: int | None = None, orphan: bool = False,
    ) -> None:  # fmt: skip
        def act() -> None:
            try:
                live = self.find_silently(kind, name)
            except NotFound:
                return
            if live["metadata"]["uid"] != uid:
                raise Conflict(409, f"{name} is another one by now")
            self._deleted(kind, name, orphan=orphan)

        self._write(f"delete {kind.kind}/{name}", act)

    def find_silently(self, kind: Kind, name: str) -> Object:
        for each in self._all(kind):
            if each["metadata"]["name"] == name:
                return each
        raise NotFound(404, f"{kind.kind} {name}")

    def _write(self, what: str, act: Callable[[], T]) -> T:
        if not what.startswith(("create Event", "patch Event")):
            self.writes.append(what)
        return self.faults.write(what, act)

    # the quorum

    def look(self, addresses: Addresses) -> tuple[Quorum, Brokers]:
        def answer() -> tuple[Quorum, Brokers]:
            self.world.before = addresses.before
            self.asked = addresses
            if not self._understood(addresses):
                return Quorum(), Brokers()
            brokers = self.world._brokers()
            if addresses.with_users and addresses.brokers:
                acls = {name: frozenset(some) for name, some in self.world.acls.items()}
                found = Found(frozenset(self.world.logins), acls, copy.deepcopy(self.world.quotas))
                brokers = replace(brokers, users=found)
            return self.world._quorum(), brokers

        self.looks += 1
        return self.faults.read("look at the quorum", answer)

    def _understood(self, addresses: Addresses) -> bool:
        """Whether every node that runs understands the operator where it is asked."""
        plain = addresses.security == PLAINTEXT
        for node_id, endpoint in (*addresses.controllers.items(), *addresses.brokers.items()):
            pod = self.world.pods.get(node_id)
            if endpoint is None or pod is None or not pod.runs:
                continue
            file = self.world.file(node_id)
            protocols = dict(each.split(":") for each in file["listener.security.protocol.map"].split(","))
            served = {int(each.rpartition(":")[2]): protocols[each.partition(":")[0]]
                      for each in file["listeners"].split(",")}  # fmt: skip
            if served.get(endpoint.port) != ("PLAINTEXT" if plain else "SSL"):
                self.misunderstood.append((node_id, endpoint.port))
                return False
        return True

    def prove(self, asked: Collection[Doubt], security: ListenerSecurity) -> frozenset[str]:
        """By the certificates themselves: both ends have to trust each other's."""
        tls = security.tls
        assert tls is not None
        assert tls.keystore is not None
        assert tls.truststore is not None
        found = set()
        for each in asked:
            if each.node_id in self.mute:
                continue
            served = self.world.file(each.node_id)["listeners"]
            if not any(int(one.rpartition(":")[2]) == each.endpoint.port for one in served.split(",")):
                continue
            own = self.read_by(each.node_id)
            mine = Pair(tls.keystore.key or "", tls.keystore.chain or "")
            theirs = Pair(text_of(own, "tls.key"), text_of(own, "tls.crt"))
            if read(mine, text_of(own, "ca.crt"))[1] and read(theirs, tls.truststore.certificates or "")[1]:
                found.add(each.pod_uid)
        return frozenset(found)

    def read_by(self, node_id: int) -> Object:
        """A node's own Secret as it has read it."""
        pod = self.world.pods.get(node_id)
        started, uid = self.started.get(node_id), pod.uid if pod is not None else ""
        if node_id not in self.stale and (not self.reads_at_start or started != uid):
            self.started[node_id] = uid
            self.files[node_id] = copy.deepcopy(self.world.secrets[names.node_tls(self.world.cluster.name, node_id)])
        return self.files[node_id]

    def sessions(self, pages: Mapping[int, str], listeners: Collection[str]) -> dict[int, int]:
        return {node: self.plaintext.get(node, 0) for node in pages}

    def changes(self, controllers: Collection[Endpoint], security: ListenerSecurity) -> WorldApi:
        self.changed_by = security
        return self

    def remove(self, node_id: int, directory_id: str, timeout: float) -> None:
        action = RemoveVoter(node_id, directory_id, NO_STEP, "")
        self._write(f"remove voter {node_id}", lambda: self.world._remove_voter(action))

    def add(self, node_id: int, directory_id: str, endpoints: Mapping[str, Endpoint], timeout: float) -> None:
        listed = tuple((name, at.host, at.port) for name, at in endpoints.items())
        action = AddVoter(node_id, directory_id, listed, NO_STEP, "")
        self._write(f"add voter {node_id}", lambda: self.world._add_voter(action))

    def update(
        self, node_id: int, directory_id: str, endpoints: Mapping[str, Endpoint], epoch: int, timeout: float
    ) -> None:
        listed = tuple((name, at.host, at.port) for name, at in endpoints.items())
        action = UpdateVoter(node_id, directory_id, listed, epoch, NO_STEP, "")
        self._write(f"update voter {node_id}", lambda: self.world._update_voter(action))

    def unregister(self, node_id: int, timeout: float) -> None:
        self._write(f"unregister {node_id}", lambda: self.world.registered.discard(node_id))

    def finalize(self, feature: str, level: int, timeout: float) -> None:
        self._write(f"finalize {feature}", lambda: self.world.finalize(feature, level))

    def move(self, replicas: Mapping[tuple[str, int], tuple[int, ...]], timeout: float) -> None:
        self._write("move replicas", lambda: self.world.move(replicas))

    def cordon(self, node_id: int, endpoint: Endpoint, timeout: float, directories: Sequence[str] = ()) -> None:
        self._write(f"cordon {node_id}", lambda: self.world.cordon(node_id, directories))

    def uncordon(self, node_id: int, timeout: float) -> None:
        self._write(f"uncordon {node_id}", lambda: self.world.uncordon(node_id))

    def relocate(
        self, node_id: int, endpoint: Endpoint, replicas: Mapping[tuple[str, int], str], timeout: float
    ) -> None:
        self._write(f"relocate {node_id}", lambda: self.world.relocate(node_id, replicas))

    def change_user(self, change: UserChange, timeout: float) -> None:
        def act() -> None:
            world, name = self.world, change.user
            if change.login is not None and change.login.salted is None:
                world.logins.pop(name, None)
            elif change.login is not None and change.login.salted is not None:
                world.logins[name] = (change.login.salt + change.login.salted).hex()
            world.acls[name] = (world.acls.get(name, set()) | set(change.add)) - set(change.remove)
            known = {**world.quotas.get(name, {}), **change.quotas}
            world.quotas[name] = {key: value for key, value in known.items() if value is not None}
            for kept in (world.acls, world.quotas):
                if not kept[name]:
                    del kept[name]

        self._write(f"change user {change.user}", act)

    # what is stored

    def _store_secret(self, body: Object) -> Object:
        """Who may list or watch Secrets may read them all: this server gives them by name only."""
        self.version += 1
        name = body["metadata"]["name"]
        uid = self.world.secrets[name]["metadata"]["uid"] if name in self.world.secrets else f"uid-Secret-{name}"
        meta = {**body["metadata"], "uid": uid, "resourceVersion": str(self.version)}
        self.world.secrets[name] = copy.deepcopy({**body, "metadata": meta})
        return copy.deepcopy(self.world.secrets[name])

    def _touch(self, kind: str, name: str) -> None:
        self.version += 1
        before = self.meta.get((kind, name), {"uid": f"uid-{kind}-{name}", "generation": 0})
        version = {"resourceVersion": str(self.version), "generation": before["generation"] + 1}
        self.meta[kind, name] = before | version

    def _child(self, child: Child) -> Object:
        """Readers change nothing of what they get, so the parts are shared."""
        meta = self.meta.get((child.kind, child.name), {"uid": "uid", "resourceVersion": "0", "generation": 1})
        item = {**child.live, "metadata": {**child.live["metadata"], **meta}}
        if child.kind == "StatefulSet" and names.LABEL_NODE_ID in item["metadata"]["labels"]:
            node_id = int(item["metadata"]["labels"][names.LABEL_NODE_ID])
            revision = self.world.sets[node_id].made_of
            item["status"] = {"observedGeneration": item["metadata"]["generation"], "updateRevision": revision}
        return item

    def _ledger(self) -> Objects:
        if self.world.ledger_data is None:
            return []
        name = names.ledger_name(self.world.cluster.name)
        version = str(zlib.crc32(json.dumps(self.world.ledger_data, sort_keys=True).encode()))
        owners = [{"kind": names.KIND, "uid": uid} for uid in self.world.ledger_owners]
        meta: Object = {
            "name": name,
            "namespace": self.world.cluster.namespace,
            "uid": "ledger",
            "resourceVersion": version,
        }
        meta |= {"labels": {names.LABEL_CLUSTER: self.world.cluster.name}, "ownerReferences": owners}
        return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": dict(self.world.ledger_data)}]

    def _replace_lease(self, body: Object) -> Object:
        if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise Conflict(409, "the Lease has been modified")
        self.lease = copy.deepcopy(body)
        return self.hold_lease({})

    def hold_lease(self, record: Object) -> Object:
        """As a renewal, or another holder, writes it; every write is another version."""
        meta = self.lease["metadata"]
        meta["resourceVersion"] = str(int(meta["resourceVersion"]) + 1)
        self.lease["spec"] |= record
        return copy.deepcopy(self.lease)

    def _store_ledger(self, body: Object) -> Object:
        self.world.ledger_data = dict(body["data"])
        owners = body["metadata"].get("ownerReferences") or ()
        self.world.ledger_owners = tuple(each["uid"] for each in owners)
        return self._ledger()[0]

    def _annotated(self, kind: Kind, name: str, marks: dict[str, str]) -> None:
        if kind is CLAIM:
            prefix = f"{names.GROUP}/"
            self.world.claims[name].marks |= {key.removeprefix(prefix): value for key, value in marks.items()}
            return
        pod = next(each for node, each in self.world.pods.items() if f"{self.world.sets[node].name}-0" == name)
        if GRANT_ANNOTATION in marks:
            pod.grant = Grant.from_json(marks[GRANT_ANNOTATION])
        pod.format_mode = marks.get(FORMAT_MODE_ANNOTATION, pod.format_mode)
        pod.nudges = int(marks.get(NUDGE_ANNOTATION, pod.nudges))
        if RACK_ANNOTATION in marks:
            self.racks[pod.uid] = marks[RACK_ANNOTATION]

    def _deleted(self, kind: Kind, name: str, *, orphan: bool) -> None:
        world = self.world
        if kind is POD:
            self.restarted.append(name)
            for node_id in [each for each in world.pods if f"{world.sets[each].name}-0" == name]:
                self.pod_goes(node_id)
        elif kind is CLAIM:
            self.leaving.add(world.claims[name].uid)
            if not any(pod.claim == name for pod in world.pods.values()):
                self.claim_goes(name)
        else:
            world.children.pop((kind.kind, name), None)
            self.meta.pop((kind.kind, name), None)
            if kind.kind == "StatefulSet" and not orphan:
                world.sets = {node: each for node, each in world.sets.items() if each.name != name}
                world.pods = {node: pod for node, pod in world.pods.items() if node in world.sets}

    def pod_goes(self, node_id: int) -> None:
        pod = self.world.pods.pop(node_id)
        claim = self.world.claims.get(pod.claim)
        if claim is not None and claim.uid in self.leaving:
            self.claim_goes(pod.claim)

    def claim_goes(self, name: str) -> None:
        """With its volume, as the class's reclaim policy Delete says."""
        claim = self.world.claims.pop(name)
        if claim.volume in self.world.retained:
            self.released[claim.volume] = name, claim.uid
            return
        disk = self.world.disks.pop(claim.volume)
        self.world.away.pop(claim.volume, None)
        self.world.lost |= disk.ran
        if disk.facts.identity is not None and disk.facts.identity.directory_id in set(self.world.voters.values()):
            self.world.broken.append(f"the disk of voter {disk.facts.identity} was discarded")

    # what is rendered

    def _pod(self, node_id: int, pod: LivePod) -> Object:
        node_set = self.world.sets[node_id]
        stage = ("inspect", "gate", "format", "seal", "running").index(pod.stage)
        ready = pod.runs and node_id not in self.world.frozen
        annotations = {FORMAT_MODE_ANNOTATION: pod.format_mode, NUDGE_ANNOTATION: str(pod.nudges)}
        annotations[names.ANNOTATION_TEMPLATE] = pod.template
        if pod.grant is not None:
            annotations[GRANT_ANNOTATION] = pod.grant.to_json()
        if pod.uid in self.racks:
            annotations[RACK_ANNOTATION] = self.racks[pod.uid]
        reports = {"inspect": pod.report, "seal": pod.sealed}
        init: Objects = []
        for place, step in enumerate(("inspect", "gate", "format", "seal")):
            ended = {"exitCode": 0, "message": report.to_json() if (report := reports.get(step)) else ""}
            state = {"terminated": ended} if place < stage else {"running": {}} if place == stage else {}
            init.append({"name": step, "state": state})
        main: Object = {"running": {}} if stage == 4 else {}
        if pod.trouble is not None:
            main = {"waiting": {"reason": pod.trouble.reason, "message": pod.trouble.message}}
        return self._versioned({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": f"{node_set.name}-0", "namespace": self.world.cluster.namespace, "uid": pod.uid,
                "annotations": annotations,
                "labels": {**self._labels(node_id, node_set.role, node_set.pool),
                    "controller-revision-hash": pod.revision},
            },
            "spec": {
                "nodeName": f"machine-{self.world.claims[pod.claim].volume}",
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": pod.claim}}],
            },
            "status": {
                "conditions": [{"type": "Ready", "status": str(ready)}], "initContainerStatuses": init,
                "containerStatuses": [{"name": "kafka", "state": main, "restartCount": 0}],
            },
        })  # fmt: skip

    def _claim(self, name: str, claim: LiveClaim) -> Object:
        _, group, node = name.removeprefix("data-").removesuffix("-0").rsplit("-", 2)
        role = (self.world.cluster.spec.controllers.roles if group == "controller" else BROKER).label
        meta: Object = {"name": name, "namespace": self.world.cluster.namespace, "uid": claim.uid,
            "labels": self._labels(int(node), role, group)}  # fmt: skip
        meta["annotations"] = {f"{names.GROUP}/{key}": value for key, value in claim.marks.items()}
        if claim.uid in self.leaving or claim.terminating:
            meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        request = {"requests": {"storage": f"{claim.requested:.0f}"}}
        spec = {"volumeName": claim.volume, "storageClassName": claim.storage_class, "resources": request}
        status = {"phase": "Bound", "capacity": {"storage": f"{claim.capacity:.0f}"}}
        return self._versioned({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec,
            "status": status})  # fmt: skip

    def _volume(self, name: str) -> Object:
        terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [self._host(name)]}]}]
        bound = next((each for each in self.world.claims.values() if each.volume == name), None)
        policy = "Retain" if name in self.world.retained else "Delete"
        spec: Object = {
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            "persistentVolumeReclaimPolicy": policy,
            "storageClassName": "standard",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
        }
        if name in self.released:
            spec["claimRef"] = {"namespace": "n", "name": self.released[name][0], "uid": self.released[name][1]}
        if bound is not None:
            spec["claimRef"] = {"uid": bound.uid}
        return self._versioned({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": name},
            "spec": spec})  # fmt: skip

    def _node(self, name: str) -> Object | None:
        """Each volume is on a Kubernetes node of its own, whose name is not its hostname."""
        volume = name.removeprefix("machine-")
        gone = self.world.away.get(volume)
        if gone or volume == name:
            return None
        ready = {"type": "Ready", "status": "True" if gone is None else "Unknown"}
        labels = {HOSTNAME: self.hostnames.get(volume, self._host(volume))}
        meta = {"name": name, "uid": self.node_uids.get(volume, name), "labels": labels}
        return {"metadata": meta, "spec": {}, "status": {"conditions": [ready]}}

    def _nodes(self, selector: str) -> Objects:
        key, _, value = selector.partition("=")
        found = (self._node(f"machine-{volume}") for volume in (*self.world.disks, *self.world.away))
        return [each for each in found if each is not None and each["metadata"]["labels"].get(key) == value]

    def _host(self, volume: str) -> str:
        return f"on-{volume}"

    def _labels(self, node_id: int, role: str, pool: str) -> Object:
        cluster = {names.LABEL_CLUSTER: self.world.cluster.name}
        return cluster | {names.LABEL_NODE_ID: str(node_id), names.LABEL_ROLE: role, names.LABEL_POOL: pool}

    @staticmethod
    def _versioned(item: Object) -> Object:
        item["metadata"]["resourceVersion"] = str(zlib.crc32(json.dumps(item, sort_keys=True).encode()))
        return item
