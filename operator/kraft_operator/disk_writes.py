"""Writes about disks: grants, claims, volumes. Each reads its objects once more and names them by UID."""

from __future__ import annotations

from dataclasses import dataclass

from kraft_operator.actions import (
    DeliverGrant,
    DiscardClaim,
    GrowClaim,
    MakeClaim,
    Remember,
    RetainVolume,
)
from kraft_operator.api import names
from kraft_operator.claim_memory import KEY
from kraft_operator.ephemeral import is_ephemeral
from kraft_operator.fence import Holder, Stale, still_holds
from kraft_operator.kube import (
    CLAIM,
    POD,
    VOLUME,
    Conflict,
    Gateway,
    NotFound,
    Object,
)
from kraft_operator.settings import Failpoints
from kraft_operator.without_namespace import volume_is_of
from storage_guard.formats import FORMAT_MODE_ANNOTATION, GRANT_ANNOTATION, of_volume


@dataclass(frozen=True, slots=True)
class DiskWrites:
    namespace: str
    kube: Gateway
    holder: Holder
    failpoints: Failpoints
    call_timeout: float

    def deliver(self, action: DeliverGrant) -> None:
        """Read pod, claim and volume once more: the grant is for these three and no others."""
        grant, namespace = action.grant, self.namespace
        pod = self.kube.get(POD, namespace, action.pod)
        facts = {"pod": (pod["metadata"]["uid"], grant.pod_uid), **self._disk_now(action, pod)}
        for what, (found, granted) in facts.items():
            if found != granted:
                raise Stale(f"{action.pod}: the {what} is {found}, the grant is for {granted}")
        marks = {of_volume(GRANT_ANNOTATION, action.volume): grant.to_json()}
        if action.format_argument is not None:
            marks[FORMAT_MODE_ANNOTATION] = action.format_argument
        still_holds(self.holder, action.step, self.call_timeout)
        self.failpoints.hit("before_call.grant")
        version = pod["metadata"]["resourceVersion"]
        self.kube.annotate(
            POD, namespace, action.pod, marks, uid=grant.pod_uid, resource_version=version, timeout=self.call_timeout
        )

    def _disk_now(self, action: DeliverGrant, pod: Object) -> dict[str, tuple[str | None, str]]:
        """What there is, and what was granted. A disk that goes with its pod has no other name than the pod's UID."""
        grant = action.grant
        if is_ephemeral(action.claim):
            volumes = pod["spec"].get("volumes") or ()
            goes_with_it = any(each["name"] == "data" and "emptyDir" in each for each in volumes)
            return {"disk": (pod["metadata"]["uid"] if goes_with_it else None, grant.pvc_uid)}
        claim = self.kube.get(CLAIM, self.namespace, action.claim)
        return {
            "claim": (claim["metadata"]["uid"], grant.pvc_uid),
            "volume": (claim["spec"].get("volumeName"), grant.pv_name),
            "volume's claim": (volume_is_of(self.kube, grant.pv_name, grant.pvc_uid), grant.pvc_uid),
        }

    def grow(self, action: GrowClaim) -> None:
        request = {"resources": {"requests": {"storage": action.size}}}
        body = {"metadata": {"uid": action.uid}, "spec": request}
        self.kube.patch(CLAIM, self.namespace, action.claim, body, timeout=self.call_timeout)

    def retain(self, action: RetainVolume) -> None:
        volume = self.kube.get(VOLUME, None, action.volume)
        bound = (volume["spec"].get("claimRef") or {}).get("uid")
        if bound != action.claim_uid:
            raise Stale(f"volume {action.volume} is bound to claim {bound}, not to {action.claim} {action.claim_uid}")
        self.holder.require(self.call_timeout)
        change = {"metadata": {"uid": volume["metadata"]["uid"]}, "spec": {"persistentVolumeReclaimPolicy": "Retain"}}
        self.kube.patch(VOLUME, "", action.volume, change, timeout=self.call_timeout)

    def make_claim(self, action: MakeClaim) -> None:
        """The volume is freed for exactly this name, then the claim is made for exactly this volume."""
        namespace = self.namespace
        volume = self.kube.get(VOLUME, None, action.volume)
        spec, reference = volume["spec"], volume["spec"].get("claimRef") or {}
        ours = (reference.get("namespace", namespace), reference.get("name", action.claim)) == (namespace, action.claim)
        if not ours or reference.get("uid", action.old_uid) != action.old_uid:
            raise Stale(f"volume {action.volume} is bound to {reference}, not to the claim that node had")
        self.holder.require(self.call_timeout)
        self.failpoints.hit("before_call.make_claim")
        if reference.get("uid"):
            meta = {"uid": volume["metadata"]["uid"], "resourceVersion": volume["metadata"]["resourceVersion"]}
            free = {"claimRef": {"uid": None, "resourceVersion": None}}
            self.kube.patch(VOLUME, "", action.volume, {"metadata": meta, "spec": free}, timeout=self.call_timeout)
        self.failpoints.hit("between_calls.make_claim")
        wanted = {key: spec[key] for key in ("accessModes", "volumeMode") if key in spec}
        wanted |= {"volumeName": action.volume, "storageClassName": spec.get("storageClassName", "")}
        wanted |= {"resources": {"requests": {"storage": spec["capacity"]["storage"]}}}
        body: Object = {"apiVersion": CLAIM.api, "kind": CLAIM.kind, "spec": wanted}
        body["metadata"] = {"name": action.claim, "namespace": namespace, "labels": dict(action.labels)}
        try:
            self.kube.create(CLAIM, namespace, body, timeout=self.call_timeout)
        except Conflict as error:
            raise Stale(f"claim {action.claim} is there again") from error

    def remember(self, action: Remember) -> None:
        """A claim that went meanwhile cannot remember; one that was changed may have been written by a successor."""
        self.failpoints.hit("after_journal.remember")
        marks = {f"{names.GROUP}/{KEY}": action.memory}
        for name, uid, version in action.claims:
            self.holder.require(self.call_timeout)
            try:
                self.kube.annotate(
                    CLAIM,
                    self.namespace,
                    name,
                    marks,
                    uid=uid,
                    resource_version=version,
                    timeout=self.call_timeout,
                )
            except NotFound:
                continue
            except Conflict as error:
                raise Stale(f"claim {name} has changed since it was read: {error.message}") from error
            self.failpoints.hit("between_calls.remember")
        self.failpoints.hit("after_call.remember")

    def discard(self, action: DiscardClaim) -> None:
        """The claim first: it stays until no pod uses it, and the next pod must not find it."""
        namespace = self.namespace
        still_holds(self.holder, action.step, self.call_timeout)
        self.failpoints.hit("before_call.discard")
        self.kube.delete(CLAIM, namespace, action.claim, uid=action.claim_uid, timeout=self.call_timeout)
        self.failpoints.hit("between_calls.discard")
        grace = 0 if action.node_is_lost else None
        self.kube.delete(POD, namespace, action.pod, uid=action.pod_uid, timeout=self.call_timeout, grace_seconds=grace)
