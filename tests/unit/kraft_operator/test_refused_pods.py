"""A pod that Kubernetes would refuse: told with the remedy before any pod that runs is given up for it, and over as
soon as it would be taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kraft_operator import pod_trials
from kraft_operator.kube import Forbidden, Kind, KubeError, Object, Unreachable
from kraft_operator.observed import NodeSet, Pod
from kraft_operator.plan.rollout.refused import reason_of, refused
from kraft_operator.plan.situation import Decision
from support.operator_model.mistakes import BASE, pods
from support.operator_model.world import World

pytestmark = pytest.mark.unit

OF_POD = 'pods "c-b-100-0x7" is forbidden: '
SAID = {
    OF_POD + 'pod rejected: RuntimeClass "gvisor" not found': "RuntimeClassMissing",
    OF_POD + "no PriorityClass with name high was found": "PriorityClassMissing",
    OF_POD + 'error looking up service account m/kafka: serviceaccount "kafka" not found': "ServiceAccountMissing",
    OF_POD + 'violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)': "PodSecurityViolated",
    OF_POD + "unable to validate against any security context constraint: [provider restricted-v2: .spec": (
        "PodSecurityViolated"
    ),
    OF_POD + "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no team": "PodRefused",
    OF_POD + "maximum memory usage per Container is 1Gi, but limit is 2Gi": "PodRefused",
    OF_POD + "failed quota: q: must specify limits.memory for: kafka": "PodRefused",
    'admission webhook "v.example.com" denied the request: image is not signed': "PodRefused",
    'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: Post': "PodRefused",
    # what says nothing against the pod
    OF_POD + "exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5": None,
    'admission webhook "v.example.com" does not support dry run': None,
    'pods is forbidden: User "system:serviceaccount:o:kraft-operator" cannot create resource "pods"': None,
    "the server is currently unable to handle the request": None,
}


@pytest.mark.parametrize("said", SAID, ids=range(len(SAID)))
def test_what_an_answer_to_a_dry_run_means(said: str) -> None:
    assert reason_of(said) == SAID[said]


def told(decision: Decision, reason: str) -> list[tuple[str, bool]]:
    return [(each.message, each.stalled) for each in decision.findings if each.reason == reason]


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("runtimeClassName", "RuntimeClass"),
        ("priorityClassName", "PriorityClass"),
        ("serviceAccountName", "ServiceAccount"),
    ],
)
def test_nobody_is_restarted_before_what_the_pods_name_is_there_and_all_are_afterwards(field: str, kind: str) -> None:
    world = World(**BASE)
    world.settle(80)
    running = {node: pod.uid for node, pod in world.pods.items()}
    world.edit(**{**BASE, **pods(**{field: "absent"})})
    found = world.settle(60)
    assert {node: pod.uid for node, pod in world.pods.items()} == running
    assert not told(found, "BadRevision")
    remedy = f"create {kind} absent (kubectl get {kind.lower()} shows those that are there), or correct pod.{field} of"
    left = "Its pods are left as they are until then"
    assert told(found, f"{kind}Missing") == [(f"{remedy} {group}. {left}", True) for group in ("controller", "b")]
    ((waits, _),) = told(found, "RestartDeferred")
    assert f"Kubernetes would refuse the new pod ({kind}Missing)" in waits
    world.made.add(kind)
    found = world.settle(120)
    assert not told(found, f"{kind}Missing")
    assert not set(running.values()) & {pod.uid for pod in world.pods.values()}
    assert all(pod.runs for pod in world.pods.values())


def test_a_new_pool_is_told_why_it_gets_no_pods() -> None:
    world = World(**BASE)
    world.settle(80)
    more = {**BASE["brokerPools"][0], "name": "n", "nodeIdRange": {"start": 200, "end": 209}}
    world.edit(**{**BASE, "brokerPools": [*BASE["brokerPools"], {**more, "pod": {"labels": {"team": "nobody"}}}]})
    ((message, stalled),) = told(world.settle(40), "PodRefused")
    assert stalled
    assert message == (
        "correct the pod fields of n, or the policy that refuses it: ValidatingAdmissionPolicy 'teams' with binding "
        "'teams' denied request: every pod names a team. It gets no pods until then"
    )
    assert len(world.restarts) == 0


def test_what_was_said_of_another_revision_holds_nobody_back() -> None:
    """As the way ahead sees it, behind an edit that corrects the resource."""
    world = World(**BASE)
    world.settle(80)
    world.edit(**{**BASE, **pods(labels={"team": "a"})})
    world.reconcile()
    said = {("controller", "before"): OF_POD + "no PriorityClass with name high was found"}
    now = replace(world.situation(), observed=replace(world.observed(), refused=said))
    assert refused(now, world.observed().pods[0]) is None
    here = {(each.pool, each.target): next(iter(said.values())) for each in world.observed().sets}
    held = replace(now, observed=replace(now.observed, refused=here))
    assert refused(held, world.observed().pods[0]) == "Kubernetes would refuse the new pod (PriorityClassMissing)"


def test_another_edit_is_tried_without_waiting_for_the_refused_one() -> None:
    """What is refused is one revision: the next one is judged by its own answer."""
    world = World(**BASE)
    world.settle(80)
    world.edit(**{**BASE, **pods(priorityClassName="absent")})
    world.settle(20)
    world.edit(**{**BASE, **pods(labels={"team": "a"})})
    world.settle(120)
    assert len(world.restarts) == len(world.pods)


# the question


class Api:
    def __init__(self, error: KubeError | None = None) -> None:
        self.error, self.asked = error, list[Object]()

    def rehearse(self, kind: Kind, namespace: str, body: Object) -> None:
        self.asked.append(body)
        if self.error is not None:
            raise self.error


def node_set(node_id: int, **changes: Any) -> NodeSet:
    plain: dict[str, Any] = {"role": "broker", "pool": "b", "replicas": 1, "revision": "r2", "target": "t2"}
    return NodeSet(f"c-b-{node_id}", f"u{node_id}", node_id, **{**plain, **changes})


def pod(node_id: int, revision: str) -> Pod:
    return Pod(f"c-b-{node_id}-0", "u", node_id, "broker", "b", "data", ready=True, revision=revision)


def live(each: NodeSet) -> Object:
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"containers": [], "volumes": [{"name": "tmp"}]},
    }
    spec = {"serviceName": "c-nodes", "template": template, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    return {"metadata": {"name": each.name, "namespace": "m"}, "spec": spec}


def asked(kube: Any, sets: list[NodeSet], pods: list[Pod]) -> dict[tuple[str, str], str]:
    return pod_trials.refused(kube, sets, pods, [live(each) for each in sets])


def test_one_pod_of_each_revision_that_is_to_come_is_asked_for_and_none_that_is_there() -> None:
    kube = Api(Forbidden(403, "no"))
    sets = [node_set(100), node_set(101), node_set(102), node_set(103, target="t3")]
    sets.append(node_set(104, target="t4", replicas=0))
    assert asked(kube, sets, [pod(100, "r2"), pod(101, "r1")]) == {("b", "t2"): "no", ("b", "t3"): "no"}
    assert [each["metadata"]["generateName"] for each in kube.asked] == ["c-b-101-", "c-b-103-"]
    quiet = Api()
    assert asked(quiet, [node_set(100)], [pod(100, "r2")]) == {}
    assert quiet.asked == []


def test_it_is_the_pod_that_the_set_would_make() -> None:
    kube = Api()
    assert asked(kube, [node_set(100)], []) == {}
    assert kube.asked == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "generateName": "c-b-100-",
                "namespace": "m",
                "labels": {"a": "b"},
                "annotations": {"c": "d"},
            },
            "spec": {
                "containers": [],
                "subdomain": "c-nodes",
                "volumes": [
                    {"name": "tmp"},
                    {"name": "data", "persistentVolumeClaim": {"claimName": "data-c-b-100-0"}},
                ],
            },
        }
    ]


def test_no_answer_is_no_permission() -> None:
    with pytest.raises(Unreachable):
        asked(Api(Unreachable(0, "timed out")), [node_set(100)], [])
