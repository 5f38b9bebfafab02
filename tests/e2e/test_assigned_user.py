"""`pod.runAs: Assigned` where the platform gives each namespace its own user: Apache Kafka's image and ours.

A mutating policy of the API server does here what OpenShift's restricted SCC does: a pod that asks for no user gets a
user id and an fsGroup that no image knows. A pod that asks for one is left alone, so that nodes which are Fixed would
be seen here as 65532.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import POD, STATEFUL_SET, Kind
from support.clients.steady_load import SteadyLoad, steady_load
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, Story, default_spec, eventually, operator, pool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

API = "admissionregistration.k8s.io/v1"
POLICY = Kind("MutatingAdmissionPolicy", API, "mutatingadmissionpolicies", namespaced=False)
BINDING = Kind("MutatingAdmissionPolicyBinding", API, "mutatingadmissionpolicybindings", namespaced=False)
USER = 1000660000
"""Of a range as OpenShift's; its group is the same number, and /etc/passwd of no image has it."""
GIVEN = f"Object.spec.securityContext{{runAsUser: {USER}, fsGroup: {USER}}}"
ASKS_FOR_NONE = "!object.spec.?securityContext.?runAsUser.hasValue()"
PYTHON = "/usr/bin/python3.11"
DATA = "/var/lib/kafka/data"
BROKER = "c-b-100-0"
PODS = ("c-controller-0-0", BROKER)
ASSIGNED = {"runAs": "Assigned"}
CONFIG = {"broker": {"offsets.topic.replication.factor": "1", "initial.broker.registration.timeout.ms": "240000"}}


@contextmanager
def users_are_assigned(kubernetes: Kubernetes, namespace: str) -> Iterator[None]:
    name, made = f"{namespace}-users", {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"]}
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [{**made, "resources": ["pods"]}]},
        "matchConditions": [{"name": "asks-for-no-user", "expression": ASKS_FOR_NONE}],
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": f"Object{{spec: Object.spec{{securityContext: {GIVEN}}}}}"},
            }
        ],
    }
    place = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    for kind, spec in ((POLICY, policy), (BINDING, {"policyName": name, "matchResources": place})):
        body: dict[str, Any] = {"apiVersion": API, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}
        kubernetes.gateway.create(kind, None, body)
    try:
        eventually("the policy is in force", lambda: user_of_a_pod(kubernetes, namespace) == USER, 60)
        yield
    finally:
        kubernetes.kubectl("delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", name)


def user_of_a_pod(kubernetes: Kubernetes, namespace: str) -> int | None:
    """That asks for none."""
    restricted = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True}
    container = {"name": "probe", "image": "localhost/none", "securityContext": restricted}
    spec = {"containers": [container], "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}}
    stored = kubernetes.dry_run(POD, namespace, {"metadata": {"name": "probe"}, "spec": spec})
    found: int | None = stored["spec"]["securityContext"].get("runAsUser")
    return found


@pytest.fixture(scope="module", params=["runtime", "apache-kafka"])
def story(
    request: pytest.FixtureRequest,
    kubernetes: Kubernetes,
    resource_definition: None,
    images: Images,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    folder = Path(tmp_path_factory.mktemp("operator"))
    with (
        kubernetes.namespace("assigned-user") as namespace,
        users_are_assigned(kubernetes, namespace),
        operator(namespace, folder, images, port=19655),
    ):
        story = Story(kubernetes, namespace, images(request.param))
        alone = {**default_spec(story.image)["controllers"], "replicas": 1, "pod": ASSIGNED}
        story.apply(controllers=alone, brokerPools=[{**pool(1), "pod": ASSIGNED}], config=CONFIG)
        story.await_ready()
        yield story


@pytest.fixture(scope="module")
def load(story: Story, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    with steady_load(story, tmp_path_factory.mktemp("load"), "100", ("b-100",)) as found:
        yield found


def inside(story: Story, pod: str, code: str) -> str:
    arguments = ("-n", story.namespace, "exec", pod, "-c", "kafka", "--", PYTHON, "-c", code)
    return story.kubernetes.kubectl(*arguments).strip()


def users_of_processes(story: Story, pod: str) -> str:
    """Real, effective, saved and of the file system, of every process in the container."""
    lines = "line for path in glob.glob('/proc/[0-9]*/status') for line in open(path) if line.startswith('Uid:')"
    return inside(story, pod, f"import glob; print(*{{each for line in [{lines}] for each in line.split()[1:]}})")


def owners_of_files(story: Story, pod: str) -> str:
    """User and group of all that init containers and the node have written on the disk."""
    paths = f"os.path.join(base, name) for base, *names in os.walk({DATA!r}) for each in names for name in each"
    code = f"import os; print(*{{f'{{s.st_uid}}:{{s.st_gid}}' for s in map(os.lstat, [{paths}])}})"
    return inside(story, pod, code)


def test_pods_name_no_user_and_every_process_runs_as_the_one_that_the_platform_assigned(story: Story) -> None:
    for name in PODS:
        node = story.kubernetes.gateway.get(STATEFUL_SET, story.namespace, name.removesuffix("-0"))
        asked = node["spec"]["template"]["spec"]["securityContext"]
        assert asked.keys() & {"runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"} == set()
        assert users_of_processes(story, name) == f"{USER}"
        assert f"{USER}" in inside(story, name, "import os; print(*os.getgroups())").split()


def test_a_disk_is_formatted_sealed_and_written_as_that_user_and_its_group(story: Story) -> None:
    # A file may go between the listing and the look at it: then it is looked at again.
    found = eventually("owners of all files", lambda: {name: owners_of_files(story, name) for name in PODS}, 60)
    assert found == dict.fromkeys(PODS, f"{USER}:{USER}")


def test_a_broker_that_is_restarted_opens_its_disk_again_and_no_record_is_lost(story: Story, load: SteadyLoad) -> None:
    before = story.directories()
    gone = story.delete_pod(BROKER)
    story.await_pod(BROKER, other_than=gone)
    load.goes_on()
    story.await_ready()
    assert story.directories() == before
    assert users_of_processes(story, BROKER) == f"{USER}"
    load.stop()
    acknowledged = load.acknowledged()
    assert len(acknowledged) > 20
    assert acknowledged <= load.read_back()
