"""The optional admission policy on a real API server: claims that a ledger lists cannot be deleted, and whoever may
delete them still does.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kraft_operator.actions import AnnotateClaim
from kraft_operator.api.names import GROUP
from kraft_operator.kube import CLAIM, Kind
from kraft_operator.ledger import Entry, Formation, Ledger
from kraft_operator.ledger_format import render
from kraft_operator.observed import Claim, Observed
from kraft_operator.plan.disks.identity import annotate_claims
from kraft_operator.plan.situation import Situation
from support.kubernetes.cluster import ROOT, Kubernetes
from support.operator_model.world import IMAGES, World

pytestmark = pytest.mark.e2e

OVERLAY = ROOT / "deploy" / "kustomize" / "overlays" / "protect-claims" / "policy.yaml"
OPERATOR = "system:serviceaccount:kraft-operator:kraft-operator"
ROLE_BINDING = Kind("RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings")
LABEL = {"kraft.quorate.dev/cluster": "demo"}


@pytest.fixture(scope="module")
def policy(kubernetes: Kubernetes) -> Iterator[None]:
    text = OVERLAY.read_text()
    kubernetes.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=text)
    yield
    for each in yaml.safe_load_all(text):
        kubernetes.kubectl("delete", each["kind"], each["metadata"]["name"])


@pytest.fixture
def namespace(kubernetes: Kubernetes, policy: None) -> Iterator[str]:
    with kubernetes.namespace("claim-policy") as name:
        yield name


def claim(kubernetes: Kubernetes, namespace: str, name: str) -> str:
    """Returns its UID; no pod uses it, so a deletion is its end."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}, "storageClassName": "none"}
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": LABEL}, "spec": spec}  # fmt: skip
    return str(kubernetes.gateway.create(CLAIM, namespace, body)["metadata"]["uid"])


def remember(kubernetes: Kubernetes, namespace: str, name: str, uid: str) -> None:
    """As the operator writes it on the claim of a disk that its ledger knows."""
    entry = Entry(0, "controller", "controller", directory_id="AAAAAAAAAAAAAAAAAAAAAA", pvc_name=name, pvc_uid=uid)
    world = World()
    world.ledger_data = render(Ledger("CCCCCCCCCCCCCCCCCCCCCA", formation=Formation.FORMED, entries=(entry,)))
    observed = Observed(claims=(Claim(name, uid, 0, "controller", "controller"),))
    situation = Situation(world.cluster, observed, world.ledger, world.fence, world.draw, IMAGES)
    (action,) = annotate_claims(situation).actions
    assert isinstance(action, AnnotateClaim)
    marks = {f"{GROUP}/{key}": value for key, value in action.annotations.items()}
    kubernetes.gateway.annotate(CLAIM, namespace, name, marks, uid=uid)


def refusal(kubernetes: Kubernetes, namespace: str, name: str, *options: str) -> str:
    """What a deletion is answered; empty when it is allowed."""
    try:
        kubernetes.kubectl("-n", namespace, "delete", "pvc", name, "--wait=false", *options)
    except subprocess.CalledProcessError as error:
        return str(error.stderr)
    return ""


def await_refusal(kubernetes: Kubernetes, namespace: str, name: str) -> str:
    """The API server learns of policies and parameters a moment after they are written."""
    for _ in range(300):
        if told := refusal(kubernetes, namespace, name, "--dry-run=server"):
            return told
        time.sleep(0.2)
    raise AssertionError("the policy never came into force")


def test_a_claim_that_a_ledger_lists_is_not_deleted_and_the_message_has_the_way_out(
    kubernetes: Kubernetes, namespace: str
) -> None:
    uid = claim(kubernetes, namespace, "listed")
    claim(kubernetes, namespace, "other")
    copied = claim(kubernetes, namespace, "copied")
    remember(kubernetes, namespace, "listed", uid)
    kubernetes.kubectl("-n", namespace, "annotate", "pvc", "copied", f"kraft.quorate.dev/pvc-uid={uid}")
    told = await_refusal(kubernetes, namespace, "listed")
    assert "claim listed holds a disk that the ledger of demo lists" in told
    with pytest.raises(subprocess.CalledProcessError):
        kubernetes.kubectl("-n", namespace, "delete", "pvc", "--all", "--wait=false")
    assert kubernetes.gateway.get(CLAIM, namespace, "listed")["metadata"].get("deletionTimestamp") is None
    for name in ("other", "copied"):  # one that no ledger lists, and one that bears another's annotations
        found = kubernetes.gateway.find(CLAIM, namespace, name)
        assert found is None or "deletionTimestamp" in found["metadata"], copied
    kubernetes.kubectl("-n", namespace, "annotate", "pvc", "listed", "kraft.quorate.dev/allow-deletion=another-uid")
    assert "holds a disk" in refusal(kubernetes, namespace, "listed")
    command = told[told.index("kubectl annotate") :].split()
    kubernetes.kubectl(*command[1:], "--overwrite")
    assert refusal(kubernetes, namespace, "listed") == ""


def test_the_operator_still_deletes_claims(kubernetes: Kubernetes, namespace: str) -> None:
    remember(kubernetes, namespace, "listed", claim(kubernetes, namespace, "listed"))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    subject = {"kind": "ServiceAccount", "name": "kraft-operator", "namespace": "kraft-operator"}
    body = {"metadata": {"name": "operator"}, "roleRef": role, "subjects": [subject]}
    kubernetes.gateway.create(
        ROLE_BINDING, namespace, {"apiVersion": ROLE_BINDING.api, "kind": ROLE_BINDING.kind, **body}
    )
    await_refusal(kubernetes, namespace, "listed")
    assert refusal(kubernetes, namespace, "listed", f"--as={OPERATOR}") == ""


def test_a_namespace_is_deleted_with_its_claims(kubernetes: Kubernetes, namespace: str) -> None:
    remember(kubernetes, namespace, "listed", claim(kubernetes, namespace, "listed"))
    await_refusal(kubernetes, namespace, "listed")
    kubernetes.kubectl("delete", "namespace", namespace, "--timeout=120s")
    assert kubernetes.gateway.find(CLAIM, namespace, "listed") is None
