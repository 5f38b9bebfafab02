"""Every field of a KRaftCluster that both images take does what it says, on a real Kubernetes: one small cluster that
uses them all, told in order, with our image and with Apache Kafka's.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import CLAIM, CONFIG_MAP, NODE, POD, Kind
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Story, eventually, operator

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

RUNTIME_CLASS = Kind("RuntimeClass", "node.k8s.io/v1", "runtimeclasses", namespaced=False)
BIN = "/opt/kafka/bin"
PYTHON = "/usr/bin/python3.11"
"""Of both images, and not in the search path of both."""
UNTIL_ENDED = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {15}); signal.sigwait({15})"
"""Process 1 of a container is not ended by a signal that it does not wait for."""
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
ZONE = "topology.kubernetes.io/zone"
FROM_ENVIRONMENT = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "num.partitions": "${env:PARTITIONS}",
}
"""The tool that formats reads the same file, and so needs the same environment."""
LABELS = {"fieldPath": "metadata.labels"}
SCRATCH = {
    "accessModes": ["ReadWriteOnce"], "storageClassName": "standard", "resources": {"requests": {"storage": "300Mi"}},
}  # fmt: skip
CONTROLLER, BROKER = PODS = "f-controller-10-0", "f-hot-100-0"
OVERHEAD = {"cpu": "3m", "memory": "5Mi"}
"""Of the RuntimeClass, named as the namespace: what a pod has of it shows that Kubernetes took the class."""


def group(image: str, namespace: str, **changes: Any) -> dict[str, Any]:
    return {
        "replicas": 1,
        "storage": {"size": "256Mi", "storageClassName": "standard"},
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
        "pod": {
            "labels": {"team": "a"},
            "annotations": {"example.com/note": "b"},
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "affinity": {
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-1"]}]},
                        }
                    ]
                }
            },
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "kafka", "effect": "NoSchedule"}],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"kraft.quorate.dev/cluster": "f"}},
                }
            ],
            "priorityClassName": "system-cluster-critical",
            "terminationGracePeriodSeconds": 20,
            "env": [
                {"name": "PARTITIONS", "value": "3"},
                {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            ],
            "envFrom": [
                {"configMapRef": {"name": "site"}},
                {"prefix": "HIDDEN_", "secretRef": {"name": "keys"}},
                {"configMapRef": {"name": "made-by-nobody", "optional": True}},
            ],
            "volumes": [
                {"name": "site", "configMap": {"name": "site"}},
                {"name": "keys", "secret": {"secretName": "keys"}},
                {"name": "identity", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
                {"name": "shared", "emptyDir": {}},
                {"name": "facts", "downwardAPI": {"items": [{"path": "labels", "fieldRef": LABELS}]}},
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": SCRATCH}}},
            ],
            "volumeMounts": [
                {"name": "site", "mountPath": "/opt/site", "readOnly": True},
                {"name": "keys", "mountPath": "/opt/keys", "readOnly": True},
                {"name": "shared", "mountPath": "/opt/shared"},
                {"name": "facts", "mountPath": "/opt/facts", "readOnly": True},
                {"name": "scratch", "mountPath": "/opt/scratch"},
            ],
            "initContainers": [
                {
                    "name": "prepare",
                    "image": image,
                    "imagePullPolicy": "Never",
                    "command": [PYTHON, "-c", "open('/shared/begun', 'w').write('by the init container')"],
                    "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
                },
                {
                    "name": "beside",
                    "image": image,
                    "imagePullPolicy": "Never",
                    "restartPolicy": "Always",
                    "command": [PYTHON, "-c", UNTIL_ENDED],
                    "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
                },
            ],
            "sidecars": [
                {
                    "name": "agent",
                    "image": image,
                    "imagePullPolicy": "Never",
                    "command": [PYTHON, "-c", UNTIL_ENDED],
                    "ports": [{"name": "agent", "containerPort": 9999}],
                    "volumeMounts": [
                        {"name": "shared", "mountPath": "/shared"},
                        {"name": "identity", "mountPath": "/identity"},
                    ],
                }
            ],
            "serviceAccountName": "kafka",
            "securityContext": {
                "runAsUser": 10001,
                "runAsGroup": 10002,
                "fsGroup": 10003,
                "fsGroupChangePolicy": "Always",
                "supplementalGroups": [10004],
                "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "1000"}],
            },
            "runtimeClassName": namespace,
            "hostAliases": [{"ip": "192.0.2.7", "hostnames": ["ldap.example.com"]}],
            "probes": {
                "startup": {"failureThreshold": 1200},
                "readiness": {"failureThreshold": 7},
                "liveness": {"timeoutSeconds": 9},
            },
            "lifecycle": {
                "postStart": {
                    "exec": {"command": [PYTHON, "-c", "open('/opt/shared/hooked', 'w').write('by a hook')"]}
                },
                "preStop": {"sleep": {"seconds": 2}},
            },
        },
        **changes,
    }


def spec(image: str, namespace: str) -> dict[str, Any]:
    repository, _, tag = image.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never", "pullSecrets": [{"name": "registry"}]},
        "clusterID": CLUSTER_ID,
        "security": {"tls": {"mode": "Disabled"}},
        "deletionPolicy": {"volumes": "Delete"},
        "probes": "TCP" if "apache-kafka" in repository else "HTTP",
        "endpoints": {
            "controller": [{"name": "CONTROLLER", "port": 9093}, {"name": "NEXT", "port": 9094}],
            "broker": [{"name": "INTERNAL", "port": 9092}, {"name": "CLIENTS", "port": 19092}],
        },
        "config": {"common": {"num.partitions": 2}, "controller": {"log.retention.hours": 5}},
        "controllers": group(image, namespace, nodeIdRange={"start": 10, "end": 19}, config=FROM_ENVIRONMENT),
        "brokerPools": [
            group(
                image,
                namespace,
                name="hot",
                nodeIdRange={"start": 100, "end": 109},
                rack={"fromNodeLabel": ZONE},
                config={"log.retention.hours": 7},
            )
        ],
    }


@contextmanager
def runtime_class(kubernetes: Kubernetes, name: str) -> Iterator[None]:
    """containerd's own handler by another name."""
    meta = {"apiVersion": RUNTIME_CLASS.api, "kind": RUNTIME_CLASS.kind, "metadata": {"name": name}}
    kubernetes.gateway.create(RUNTIME_CLASS, None, {**meta, "handler": "runc", "overhead": {"podFixed": OVERHEAD}})
    try:
        yield
    finally:
        kubernetes.kubectl("delete", "runtimeclass", name)


@pytest.fixture(scope="module", params=["runtime", "apache-kafka"])
def story(
    request: pytest.FixtureRequest,
    kubernetes: Kubernetes,
    resource_definition: None,
    images: Images,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Story]:
    image = images(request.param)
    with kubernetes.namespace("crd-fields") as namespace, runtime_class(kubernetes, namespace):
        story = Story(kubernetes, namespace, image, "f", spec(image, namespace))
        kubernetes.kubectl("-n", namespace, "create", "serviceaccount", "kafka")
        kubernetes.kubectl("-n", namespace, "create", "configmap", "site", "--from-literal=REGION=north")
        kubernetes.kubectl("-n", namespace, "create", "secret", "generic", "keys", "--from-literal=WORD=sesame")
        with operator(namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19545):
            story.apply()
            story.await_ready()
            yield story


def pod(story: Story, name: str) -> dict[str, Any]:
    return story.kubernetes.gateway.get(POD, story.namespace, name)


def tool(story: Story, *command: str) -> str:
    arguments = ("-n", story.namespace, "exec", CONTROLLER, "-c", "kafka", "--", f"{BIN}/{command[0]}", *command[1:])
    return story.kubernetes.kubectl(*arguments)


def host(pod_name: str, port: int) -> str:
    return f"{pod_name}.f-nodes:{port}"


def config_of(story: Story, name: str) -> list[str]:
    found = story.kubernetes.gateway.get(CONFIG_MAP, story.namespace, name)
    return str(found["data"]["server.properties"]).splitlines()


def test_cluster_id_and_node_ids_are_those_that_were_asked_for(story: Story) -> None:
    described = tool(
        story, "kafka-metadata-quorum.sh", "--bootstrap-controller", host(CONTROLLER, 9093), "describe", "--status"
    )
    assert f"ClusterId:              {CLUSTER_ID}" in described
    assert "LeaderId:               10" in described


def test_every_listener_of_controllers_and_brokers_answers(story: Story) -> None:
    for port in (9093, 9094):
        assert CLUSTER_ID in tool(
            story, "kafka-cluster.sh", "cluster-id", "--bootstrap-controller", host(CONTROLLER, port)
        )
    for address in (host(BROKER, 9092), host(BROKER, 19092), "f-bootstrap:9092", "f-bootstrap:19092"):
        assert CLUSTER_ID in tool(story, "kafka-cluster.sh", "cluster-id", "--bootstrap-server", address)


def test_the_rack_of_a_broker_is_the_label_of_its_node(story: Story) -> None:
    node = story.kubernetes.gateway.get(NODE, None, pod(story, BROKER)["spec"]["nodeName"])
    endpoints = tool(story, "kafka-cluster.sh", "list-endpoints", "--bootstrap-server", "f-bootstrap:9092")
    row = next(line.split() for line in endpoints.splitlines() if line.startswith("100"))
    assert row[3] == node["metadata"]["labels"][ZONE]


def test_a_groups_configuration_wins_and_takes_effect(story: Story) -> None:
    # The active controller's num.partitions counts for a topic that is created without a number.
    tool(story, "kafka-topics.sh", "--bootstrap-server", "f-bootstrap:9092", "--create", "--topic", "by-default")
    described = tool(
        story, "kafka-topics.sh", "--bootstrap-server", "f-bootstrap:9092", "--describe", "--topic", "by-default"
    )
    assert "PartitionCount: 3" in described
    controller, broker = config_of(story, "f-controller-10"), config_of(story, "f-hot-100")
    assert {"num.partitions=${env:PARTITIONS}", "log.retention.hours=5"} <= set(controller)
    assert {"num.partitions=2", "log.retention.hours=7"} <= set(broker)


def test_pods_are_scheduled_and_decorated_as_asked(story: Story) -> None:
    wanted = group(story.image, story.namespace)["pod"]
    for name in PODS:
        found = pod(story, name)
        assert wanted["labels"].items() <= found["metadata"]["labels"].items()
        assert wanted["annotations"].items() <= found["metadata"]["annotations"].items()
        assert found["spec"]["nodeSelector"] == wanted["nodeSelector"]
        assert found["spec"]["affinity"] == wanted["affinity"]
        assert wanted["tolerations"][0] in found["spec"]["tolerations"]
        assert found["spec"]["topologySpreadConstraints"] == wanted["topologySpreadConstraints"]
        assert found["spec"]["priorityClassName"] == wanted["priorityClassName"]
        assert found["spec"]["priority"] > 0
        assert found["spec"]["terminationGracePeriodSeconds"] == 20
        assert found["spec"]["imagePullSecrets"] == [{"name": "registry"}]
        assert (found["spec"]["runtimeClassName"], found["spec"]["overhead"]) == (story.namespace, OVERHEAD)


def test_image_and_resources_are_those_that_were_asked_for(story: Story) -> None:
    for name in PODS:
        kafka = pod(story, name)["spec"]["containers"][0]
        assert (kafka["image"], kafka["imagePullPolicy"]) == (story.image, "Never")
        assert kafka["resources"] == group(story.image, story.namespace)["resources"]
        by = "tcpSocket" if story.spec["probes"] == "TCP" else "httpGet"
        assert {"tcpSocket", "httpGet"} & kafka["readinessProbe"].keys() == {by}


def inside(story: Story, pod_name: str, container: str, code: str) -> str:
    arguments = ("-n", story.namespace, "exec", pod_name, "-c", container, "--", PYTHON, "-c", code)
    return story.kubernetes.kubectl(*arguments).strip()


def test_a_node_has_the_environment_and_the_volumes_that_were_asked_for(story: Story) -> None:
    code = "import os; print(*(os.environ[each] for each in ('REGION', 'PARTITIONS', 'HIDDEN_WORD', 'WHERE')))"
    read = "print(*(open(each).read().strip() for each in ('/opt/site/REGION', '/opt/keys/WORD')))"
    for name in PODS:
        where = pod(story, name)["spec"]["nodeName"]
        assert inside(story, name, "kafka", code) == f"north 3 sesame {where}"
        assert inside(story, name, "kafka", read) == "north sesame"
        assert "192.0.2.7\tldap.example.com" in inside(story, name, "kafka", "print(open('/etc/hosts').read())")


def test_a_node_is_told_of_its_pod_and_has_a_claim_that_goes_with_it(story: Story) -> None:
    """downwardAPI and ephemeral: what the operator takes for disks of nodes is not among them."""
    write = "open('/opt/scratch/note', 'w').write('a'); import os; print(os.stat('/opt/scratch/note').st_gid)"
    for name in PODS:
        labels = inside(story, name, "kafka", "print(open('/opt/facts/labels').read())").splitlines()
        assert {'team="a"', 'kraft.quorate.dev/cluster="f"'} <= set(labels)
        assert inside(story, name, "kafka", write) == "10003"
        claim = story.kubernetes.gateway.get(CLAIM, story.namespace, f"{name}-scratch")
        assert claim["spec"]["resources"] == SCRATCH["resources"]
        (owner,) = claim["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Pod", pod(story, name)["metadata"]["uid"])
    known = {each["nodeID"] for each in story.ledger()["nodes"]}
    assert known == {10, 100}
    assert story.condition("StorageHealthy")["status"] == "True"


def test_a_node_runs_as_the_user_and_in_the_groups_that_were_asked_for(story: Story) -> None:
    code = "print(*(line for line in open('/proc/1/status') if line.startswith(('Uid', 'Gid', 'Groups'))), sep='')"
    files = "'/var/lib/kafka/data/log/meta.properties', '/opt/shared/begun'"
    for name in PODS:
        lines = [line.partition(":\t") for line in inside(story, name, "kafka", code).splitlines()]
        said = {key: value for key, _, value in lines}
        assert (said["Uid"], said["Gid"]) == ("\t".join(["10001"] * 4), "\t".join(["10002"] * 4))
        assert {"10003", "10004"} <= set(said["Groups"].split())
        owners = f"import os; print(*((s.st_uid, s.st_gid) for s in map(os.stat, [{files}])))"
        assert inside(story, name, "kafka", owners) == "(10001, 10003) (10001, 10003)"
        assert pod(story, name)["spec"]["securityContext"]["fsGroupChangePolicy"] == "Always"


def test_what_is_laid_over_restricted_leaves_it_restricted(story: Story) -> None:
    """And a kernel parameter of the pod is set."""
    code = (
        "print(*(line.strip() for line in open('/proc/1/status') if line.startswith(('CapEff', 'NoNew', 'Seccomp:'))))"
    )
    port = "print(open('/proc/sys/net/ipv4/ip_unprivileged_port_start').read())"
    for name in PODS:
        for container in ("kafka", "agent", "beside"):
            said = inside(story, name, container, code).replace("\t", "")
            assert said == "CapEff:0000000000000000 NoNewPrivs:1 Seccomp:2", (container, said)
        assert inside(story, name, "kafka", port) == "1000"


def test_what_was_added_runs_beside_the_node_and_sees_its_own_volumes(story: Story) -> None:
    for name in PODS:
        for container in ("agent", "beside"):
            assert inside(story, name, container, "print(open('/shared/begun').read())") == "by the init container"
            assert inside(story, name, container, "import os; print(os.path.exists('/var/lib/kafka/data'))") == "False"
        claims = inside(story, name, "agent", "print(open('/identity/token').read())").split(".")[1]
        said = json.loads(base64.urlsafe_b64decode(f"{claims}=="))
        assert said["sub"] == f"system:serviceaccount:{story.namespace}:kafka"
        hidden = "import os; print(os.path.exists('/var/run/secrets/kubernetes.io'))"
        assert inside(story, name, "kafka", hidden) == "False"
        order = [each["name"] for each in pod(story, name)["spec"]["initContainers"]]
        assert order == ["inspect", "gate", "format", "seal", "prepare", "beside"]


def test_probes_and_hooks_are_those_that_were_asked_for(story: Story) -> None:
    for name in PODS:
        kafka = pod(story, name)["spec"]["containers"][0]
        assert (kafka["startupProbe"]["failureThreshold"], kafka["startupProbe"]["periodSeconds"]) == (1200, 1)
        assert (kafka["readinessProbe"]["failureThreshold"], kafka["readinessProbe"]["periodSeconds"]) == (7, 2)
        assert kafka["livenessProbe"]["timeoutSeconds"] == 9
        assert kafka["lifecycle"] == group(story.image, story.namespace)["pod"]["lifecycle"]
        assert inside(story, name, "agent", "print(open('/shared/hooked').read())") == "by a hook"


def test_a_volume_has_the_size_and_the_class_that_were_asked_for(story: Story) -> None:
    for name in PODS:
        claim = story.kubernetes.gateway.get(CLAIM, story.namespace, f"data-{name}")
        assert claim["spec"]["storageClassName"] == "standard"
        assert claim["spec"]["resources"]["requests"]["storage"] == "256Mi"


def test_probes_by_tcp_with_another_pause_are_a_new_revision_that_a_new_pod_takes(story: Story) -> None:
    """The pod that goes has the time that was asked for."""
    (hot,) = story.spec["brokerPools"]
    probes = {**hot["pod"]["probes"], "readiness": {"periodSeconds": 3}}
    before = pod(story, BROKER)["metadata"]["uid"]
    story.apply(probes="TCP", brokerPools=[{**hot, "pod": {**hot["pod"], "probes": probes}}])

    def time_to_go() -> int:
        found = pod(story, BROKER)["metadata"]
        assert found["uid"] == before
        return int(found["deletionGracePeriodSeconds"])

    assert eventually("the old pod goes", time_to_go) == 20

    def ready_by_tcp() -> bool:
        found = pod(story, BROKER)
        conditions = found["status"].get("conditions", ())
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        probe = found["spec"]["containers"][0]["readinessProbe"]
        return ready and (probe["periodSeconds"], probe.get("tcpSocket")) == (3, {"port": "internal"})

    eventually("the broker is ready by TCP", ready_by_tcp)


def test_a_policy_of_delete_takes_volumes_and_ledger_along(story: Story) -> None:
    assert story.ledger()["clusterID"] == CLUSTER_ID
    story.delete()
    kubectl = story.kubernetes.kubectl

    def all_gone() -> bool:
        left = json.loads(
            kubectl("-n", story.namespace, "get", "pvc,cm", "-l", "kraft.quorate.dev/cluster=f", "-o", "json")
        )
        return not left["items"]

    eventually("claims and ledger are gone", all_gone)
