"""Every field of a KRaftCluster does what it says, on a real Kubernetes: one small cluster that uses them all, told in
order.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import CLAIM, CONFIG_MAP, NODE, POD, STATEFUL_SET
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Story, eventually, operator

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

BIN = "/opt/kafka/bin"
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
ZONE = "topology.kubernetes.io/zone"
FROM_ENVIRONMENT = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "num.partitions": "${env:PARTITIONS}",
}
"""The tool that formats reads the same file, and so needs the same environment."""
CONTROLLER, BROKER = "f-controller-10-0", "f-hot-100-0"


def group(image: str, **changes: Any) -> dict[str, Any]:
    return {
        "replicas": 1,
        "storage": {"size": "256Mi", "storageClassName": "standard"},
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
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
            "env": [{"name": "PARTITIONS", "value": "3"}],
            "envFrom": [{"configMapRef": {"name": "site"}}],
            "volumes": [
                {"name": "site", "configMap": {"name": "site"}},
                {"name": "identity", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
                {"name": "shared", "emptyDir": {}},
            ],
            "volumeMounts": [{"name": "site", "mountPath": "/opt/site", "readOnly": True}],
            "initContainers": [
                {
                    "name": "prepare",
                    "image": image,
                    "imagePullPolicy": "Never",
                    "command": ["python3.11", "-c", "open('/shared/begun', 'w').write('by the init container')"],
                    "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
                }
            ],
            "sidecars": [
                {
                    "name": "agent",
                    "image": image,
                    "imagePullPolicy": "Never",
                    "command": ["python3.11", "-c", "import time; time.sleep(1e6)"],
                    "ports": [{"name": "agent", "containerPort": 9999}],
                    "volumeMounts": [
                        {"name": "shared", "mountPath": "/shared"},
                        {"name": "identity", "mountPath": "/identity"},
                    ],
                }
            ],
            "serviceAccountName": "kafka",
            "securityContext": {"runAsUser": 10001, "runAsGroup": 10002, "fsGroup": 10003},
            "hostAliases": [{"ip": "192.0.2.7", "hostnames": ["ldap.example.com"]}],
            "probes": {"startup": {"failureThreshold": 1200}, "liveness": {"timeoutSeconds": 9}},
            "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
        },
        **changes,
    }


def spec(image: str) -> dict[str, Any]:
    repository, _, tag = image.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never", "pullSecrets": [{"name": "registry"}]},
        "clusterID": CLUSTER_ID,
        "security": {"tls": {"mode": "Disabled"}},
        "deletionPolicy": {"volumes": "Delete"},
        "probes": "HTTP",
        "endpoints": {
            "controller": [{"name": "CONTROLLER", "port": 9093}, {"name": "NEXT", "port": 9094}],
            "broker": [{"name": "INTERNAL", "port": 9092}, {"name": "CLIENTS", "port": 19092}],
        },
        "config": {"common": {"num.partitions": 2}, "controller": {"log.retention.hours": 5}},
        "controllers": group(image, nodeIdRange={"start": 10, "end": 19}, config=FROM_ENVIRONMENT),
        "brokerPools": [
            group(
                image,
                name="hot",
                nodeIdRange={"start": 100, "end": 109},
                rack={"fromNodeLabel": ZONE},
                config={"log.retention.hours": 7},
            )
        ],
    }


@pytest.fixture(scope="module")
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    with kubernetes.namespace("crd-fields") as namespace:
        story = Story(kubernetes, namespace, images("runtime"), "f", spec(images("runtime")))
        kubernetes.kubectl("-n", namespace, "create", "serviceaccount", "kafka")
        kubernetes.kubectl("-n", namespace, "create", "configmap", "site", "--from-literal=REGION=north")
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


@pytest.mark.parametrize("name", [CONTROLLER, BROKER])
def test_a_pod_is_scheduled_and_decorated_as_asked(story: Story, name: str) -> None:
    found = pod(story, name)
    wanted = group(story.image)["pod"]
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


@pytest.mark.parametrize("name", [CONTROLLER, BROKER])
def test_image_and_resources_are_those_that_were_asked_for(story: Story, name: str) -> None:
    kafka = pod(story, name)["spec"]["containers"][0]
    assert (kafka["image"], kafka["imagePullPolicy"]) == (story.image, "Never")
    assert kafka["resources"] == group(story.image)["resources"]
    assert kafka["readinessProbe"]["httpGet"]["path"] == "/readyz"


def inside(story: Story, pod_name: str, container: str, code: str) -> str:
    arguments = ("-n", story.namespace, "exec", pod_name, "-c", container, "--", "python3.11", "-c", code)
    return story.kubernetes.kubectl(*arguments).strip()


@pytest.mark.parametrize("name", [CONTROLLER, BROKER])
def test_the_node_has_the_environment_the_volumes_and_the_user_that_were_asked_for(story: Story, name: str) -> None:
    code = "import os; print(os.environ['REGION'], os.environ['PARTITIONS'], os.getuid(), os.getgid())"
    assert inside(story, name, "kafka", code) == "north 3 10001 10002"
    assert inside(story, name, "kafka", "print(open('/opt/site/REGION').read())") == "north"
    code = "import os; print(os.stat('/var/lib/kafka/data/log/meta.properties').st_gid)"
    assert inside(story, name, "kafka", code) == "10003"
    assert "192.0.2.7\tldap.example.com" in inside(story, name, "kafka", "print(open('/etc/hosts').read())")


@pytest.mark.parametrize("name", [CONTROLLER, BROKER])
def test_what_was_added_runs_beside_the_node_and_sees_its_own_volumes(story: Story, name: str) -> None:
    assert inside(story, name, "agent", "print(open('/shared/begun').read())") == "by the init container"
    claims = inside(story, name, "agent", "print(open('/identity/token').read())").split(".")[1]
    said = json.loads(base64.urlsafe_b64decode(f"{claims}=="))
    assert said["sub"] == f"system:serviceaccount:{story.namespace}:kafka"
    assert inside(story, name, "agent", "import os; print(os.path.exists('/var/lib/kafka/data'))") == "False"
    assert inside(story, name, "kafka", "import os; print(os.path.exists('/var/run/secrets/kubernetes.io'))") == "False"
    order = [each["name"] for each in pod(story, name)["spec"]["initContainers"]]
    assert order == ["inspect", "gate", "format", "seal", "prepare"]


@pytest.mark.parametrize("name", [CONTROLLER, BROKER])
def test_probes_and_hooks_are_those_that_were_asked_for(story: Story, name: str) -> None:
    kafka = pod(story, name)["spec"]["containers"][0]
    assert (kafka["startupProbe"]["failureThreshold"], kafka["startupProbe"]["periodSeconds"]) == (1200, 1)
    assert kafka["livenessProbe"]["timeoutSeconds"] == 9
    assert kafka["lifecycle"] == {"preStop": {"sleep": {"seconds": 1}}}


@pytest.mark.parametrize("name", [CONTROLLER, BROKER])
def test_a_volume_has_the_size_and_the_class_that_were_asked_for(story: Story, name: str) -> None:
    claim = story.kubernetes.gateway.get(CLAIM, story.namespace, f"data-{name}")
    assert claim["spec"]["storageClassName"] == "standard"
    assert claim["spec"]["resources"]["requests"]["storage"] == "256Mi"


def test_probes_by_tcp_are_a_new_revision_that_a_new_pod_takes(story: Story) -> None:
    story.apply(probes="TCP")

    def by_tcp() -> bool:
        found = story.kubernetes.gateway.get(STATEFUL_SET, story.namespace, "f-hot-100")
        return "tcpSocket" in found["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]

    eventually("the template has another probe", by_tcp)
    assert "httpGet" in pod(story, BROKER)["spec"]["containers"][0]["readinessProbe"]
    gone = story.delete_pod(BROKER)
    story.await_pod(BROKER, other_than=gone)

    def ready_by_tcp() -> bool:
        found = pod(story, BROKER)
        conditions = found["status"].get("conditions", ())
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        return ready and found["spec"]["containers"][0]["readinessProbe"]["tcpSocket"]["port"] == "internal"

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
