"""Promises of the manifests that a golden file shows but does not explain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from controller_runtime.configuration.config import from_properties
from controller_runtime.configuration.properties import parse_properties
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.cluster import initial_controllers
from kraft_operator.manifests.context import NodePlan
from kraft_operator.manifests.properties import LOG_PATH, escape
from storage_guard.formats import FORMAT_MODE_ANNOTATION, config_hash, identity_key
from storage_guard.pod import Environment
from support.kubernetes.rendering import CLUSTER_ID, GOLDEN, IMAGES, cluster_objects, desired_nodes

pytestmark = pytest.mark.unit

Manifest = dict[str, Any]


def cluster(**changes: Any) -> KRaftCluster:
    resource = yaml.safe_load((GOLDEN / "everything" / "spec.yaml").read_text())
    resource["metadata"].update(namespace="kafka", uid="u", generation=1)
    resource["spec"].update({"security": {"tls": {"mode": "Disabled"}}, **changes})
    return parse_cluster(resource)


def render(found: KRaftCluster, nodes: list[NodePlan] | None = None) -> list[Manifest]:
    return cluster_objects(found, CLUSTER_ID, desired_nodes(found) if nodes is None else nodes, IMAGES)


def of_kind(objects: list[Manifest], kind: str) -> list[Manifest]:
    found = [each for each in objects if each["kind"] == kind]
    assert found, f"nothing of kind {kind}"
    return found


def pod_of(stateful_set: Manifest) -> Manifest:
    return dict(stateful_set["spec"]["template"]["spec"])


def properties_of(objects: list[Manifest], name: str) -> str:
    found = next(each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] == name)
    return str(found["data"]["server.properties"])


def test_a_held_node_keeps_its_template_and_has_no_pod() -> None:
    found = cluster()
    usual, held = (
        of_kind(render(found, [NodePlan(100, "hot", held=held)]), "StatefulSet")[0]["spec"] for held in (False, True)
    )
    assert (usual["replicas"], held["replicas"]) == (1, 0)
    assert usual["template"] == held["template"]


def test_controllers_are_spread_over_the_domains_that_the_resource_names_softly_or_not() -> None:
    def constraints(**domains: str) -> list[tuple[str, str]]:
        asked = cluster(controllers={"replicas": 3, "failureDomains": domains})
        sets = of_kind(render(asked), "StatefulSet")
        pod = pod_of(
            next(each for each in sets if each["metadata"]["labels"]["kraft.quorate.dev/role"] == "controller")
        )
        return [(each["topologyKey"], each["whenUnsatisfiable"]) for each in pod["topologySpreadConstraints"]]

    hosts = ("kubernetes.io/hostname", "ScheduleAnyway")
    assert constraints() == [("topology.kubernetes.io/zone", "ScheduleAnyway"), hosts]
    assert constraints(key="row", policy="Require") == [("row", "DoNotSchedule"), hosts]


def test_the_template_never_asks_for_initial_controllers() -> None:
    """What a pod is made with by a kubelet alone must be harmless: only the operator writes the other mode on a pod."""
    for each in of_kind(render(cluster()), "StatefulSet"):
        annotations = each["spec"]["template"]["metadata"]["annotations"]
        is_controller = each["metadata"]["labels"]["kraft.quorate.dev/role"] == "controller"
        assert annotations.get(FORMAT_MODE_ANNOTATION) == ("--no-initial-controllers" if is_controller else None)
        assert "initial-controllers=" not in str(each)


def test_format_is_exactly_apache_kafkas_tool_and_takes_the_mode_from_the_pod() -> None:
    sets = {each["metadata"]["name"]: pod_of(each) for each in of_kind(render(cluster()), "StatefulSet")}
    for name, mode in (("everything-controller-10", ["$(FORMAT_MODE)"]), ("everything-hot-100", [])):
        found = next(each for each in sets[name]["initContainers"] if each["name"] == "format")
        assert found["command"] == ["/opt/kafka/bin/kafka-storage.sh"]
        config = "/etc/kafka/node/server.properties"
        base = ["format", "--ignore-formatted", "--cluster-id", CLUSTER_ID, "--config", config]
        assert found["args"] == base + mode


def test_the_users_image_is_trusted_with_the_tools_of_apache_kafka_only() -> None:
    image = cluster().spec.image.reference
    for each in of_kind(render(cluster()), "StatefulSet"):
        pod = pod_of(each)
        for container in (*pod["initContainers"], *pod["containers"]):
            if container["image"] == image:
                assert container["command"][0].startswith("/opt/kafka/bin/kafka-")
            else:
                assert (container["image"], container["command"][0]) == (IMAGES.operator, "storage-guard")


def test_controllers_with_an_image_of_their_own_leave_the_brokers_as_they_are() -> None:
    """The image runs, formats, is pulled with its own secrets and probed as it can be; everything else stays."""
    own = {"reference": "other:2", "pullPolicy": "Always", "pullSecrets": [{"name": "others"}]}
    asked = yaml.safe_load((GOLDEN / "everything" / "spec.yaml").read_text())["spec"]["controllers"]
    before, after = cluster(), cluster(controllers={**asked, "image": own, "probes": "TCP"})

    def sets(found: KRaftCluster, role: str) -> list[Manifest]:
        every = of_kind(render(found), "StatefulSet")
        return [each for each in every if each["metadata"]["labels"]["kraft.quorate.dev/role"] == role]

    assert sets(after, "broker") == sets(before, "broker")
    image = before.spec.image.reference
    for old, new in zip(sets(before, "controller"), sets(after, "controller"), strict=True):
        assert old["spec"]["volumeClaimTemplates"] == new["spec"]["volumeClaimTemplates"]
        pod, was = pod_of(new), pod_of(old)
        assert pod["imagePullSecrets"] == [{"name": "others"}]
        containers = [*pod["initContainers"], *pod["containers"]]
        assert [each["image"] for each in containers] == [
            "other:2" if each["image"] == image else each["image"]
            for each in (*was["initContainers"], *was["containers"])
        ]
        assert {each["imagePullPolicy"] for each in containers if each["image"] == "other:2"} == {"Always"}
        kafka = pod["containers"][0]
        assert all("tcpSocket" in kafka[f"{name}Probe"] for name in ("startup", "readiness", "liveness"))
        assert not any(each["name"] == "QUORATE_HTTP_LISTENER" for each in kafka["env"])


def test_no_pod_holds_a_token_or_a_right() -> None:
    for each in of_kind(render(cluster()), "StatefulSet"):
        pod = pod_of(each)
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in (*pod["initContainers"], *pod["containers"]):
            security = container["securityContext"]
            assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (True, False)
            assert security["capabilities"] == {"drop": ["ALL"]}


def test_inspect_cannot_write_to_the_volume_and_seal_cannot_write_the_configuration() -> None:
    pod = pod_of(of_kind(render(cluster()), "StatefulSet")[0])
    mounts = {
        container["name"]: {each["name"]: each.get("readOnly", False) for each in container["volumeMounts"]}
        for container in pod["initContainers"]
    }
    assert mounts["inspect"]["data"] is True
    assert mounts["seal"] == {"data": False, "pod": True, "journal": False}
    assert "journal" not in mounts["format"]


def test_the_guard_understands_the_environment_that_it_is_given() -> None:
    for each in of_kind(render(cluster()), "StatefulSet"):
        node_id = int(each["metadata"]["labels"]["kraft.quorate.dev/node-id"])
        for container in pod_of(each)["initContainers"]:
            if container["name"] == "format":
                continue
            read = Environment.read({each["name"]: each["value"] for each in container["env"]})
            assert (read.node_id, read.cluster_id) == (node_id, CLUSTER_ID)
            assert read.rack_required == (node_id == 100)
            mounted = [mount["mountPath"] for mount in container["volumeMounts"]]
            assert any(read.log_directory.startswith(path) for path in mounted)


def test_the_guard_sees_its_nodes_line_of_the_ledger_only_and_starts_without_one() -> None:
    for each in of_kind(render(cluster()), "StatefulSet"):
        node_id = int(each["metadata"]["labels"]["kraft.quorate.dev/node-id"])
        ledger = next(volume for volume in pod_of(each)["volumes"] if volume["name"] == "ledger")["configMap"]
        assert (ledger["name"], ledger["optional"]) == ("everything-ledger", True)
        assert ledger["items"] == [{"key": identity_key(node_id), "path": "identity.json"}]


def test_a_pod_waits_for_its_configuration_and_not_for_a_newer_list_of_controllers() -> None:
    servers = "controller.quorum.bootstrap.servers"
    assert config_hash(f"a=1\n{servers}=c:1\n") == config_hash(f"a=1\n{servers}=c:1,d:1\n") != config_hash("a=2\n")
    objects = render(cluster())
    for each in of_kind(objects, "StatefulSet"):
        text = properties_of(objects, each["metadata"]["name"])
        assert each["spec"]["template"]["metadata"]["annotations"]["kraft.quorate.dev/config-hash"] == config_hash(text)


def test_a_groups_config_wins_over_its_roles_and_that_over_the_common_one() -> None:
    objects = render(cluster())
    assert "log.retention.hours=1\n" in properties_of(objects, "everything-hot-100")
    assert "log.retention.hours=48\n" in properties_of(objects, "everything-cold-150")
    controller = properties_of(objects, "everything-controller-10")
    assert "log.retention.hours=24\n" in controller
    assert "metadata.log.max.snapshot.interval.ms=300000\n" in controller


def test_our_own_runtime_accepts_every_rendered_configuration() -> None:
    objects = render(cluster(config={}))
    for found in of_kind(objects, "ConfigMap"):
        text = found["data"]["server.properties"]
        config = from_properties(parse_properties(text, "server.properties"), "server.properties")
        assert f"-{config.node_id}" in found["metadata"]["name"]
        assert config.log_dirs == (LOG_PATH,)
        assert config.is_controller == ("controller" in found["metadata"]["name"])
        assert config.controller_listener_names == ("CONTROLLER", "NEXT")
        assert [str(each) for each in config.bootstrap_servers] == [
            "everything-controller-10-0.everything-nodes.kafka.svc.kube.example.org:9093"
        ]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("plain", "plain"),
        (r"back\slash", r"back\\slash"),
        (" leading", r"\ leading"),
        ("tab\there", r"tab\there"),
        ("ä", r"\u00e4"),
        ("𝕂", r"\ud835\udd42"),
    ],
)
def test_a_value_is_written_as_java_reads_it(value: str, line: str) -> None:
    assert escape(value) == line


def test_a_single_controller_has_no_budget_and_several_keep_their_majority() -> None:
    def controllers(count: int) -> list[Manifest]:
        found = cluster(controllers={"replicas": count})
        return [
            each
            for each in of_kind(render(found), "PodDisruptionBudget")
            if each["metadata"]["name"].endswith("controller")
        ]

    assert controllers(1) == []
    assert [each["spec"]["minAvailable"] for count in (3, 5, 7) for each in controllers(count)] == [2, 3, 4]


def test_only_the_clusters_pods_and_the_operator_reach_a_controller_listener() -> None:
    policy = next(
        each for each in of_kind(render(cluster()), "NetworkPolicy") if each["metadata"]["name"].endswith("controllers")
    )
    listener, metrics = policy["spec"]["ingress"]
    assert [each["port"] for each in listener["ports"]] == [9093, 9094]
    assert listener["from"] == [
        {
            "podSelector": {
                "matchLabels": {"app.kubernetes.io/name": "kraft", "app.kubernetes.io/instance": "everything"}
            }
        },
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kraft-operator"}}},
    ]
    assert [each["port"] for each in metrics["ports"]] == [9404]


def test_selectors_stay_the_same_whatever_changes() -> None:
    first = cluster()
    later = replace(first, spec=replace(first.spec, image=replace(first.spec.image, reference="other:2")))
    for old, new in zip(of_kind(render(first), "StatefulSet"), of_kind(render(later), "StatefulSet"), strict=True):
        assert old["spec"]["selector"] == new["spec"]["selector"]
        assert old["spec"]["volumeClaimTemplates"] == new["spec"]["volumeClaimTemplates"]
        chosen = old["spec"]["selector"]["matchLabels"]
        assert chosen.items() <= old["spec"]["template"]["metadata"]["labels"].items()


def test_labels_of_users_never_replace_ours() -> None:
    found = cluster()
    assert found.spec.controllers.pod.labels == {"team": "platform"}
    labels = of_kind(render(found), "StatefulSet")[0]["spec"]["template"]["metadata"]["labels"]
    assert labels["team"] == "platform"
    assert labels["app.kubernetes.io/name"] == "kraft"


def test_initial_controllers_are_named_by_the_default_listener() -> None:
    assert initial_controllers(cluster(), {10: "D10", 9: "D9"}) == ",".join(
        f"{node}@everything-controller-{node}-0.everything-nodes.kafka.svc.kube.example.org:9093:D{node}"
        for node in (9, 10)
    )


@pytest.mark.parametrize("mode", ["Disabled", "Required"])
def test_controllers_of_a_plaintext_cluster_may_be_so_and_others_may_not(mode: str) -> None:
    """`quorate.insecure` comes with the next pod, before an image that needs it; test_upgrade_rolls_nothing has the
    names of revisions from before it existed.
    """
    said = {}
    for each in of_kind(render(cluster(security={"tls": {"mode": mode}})), "StatefulSet"):
        role = each["metadata"]["labels"]["kraft.quorate.dev/role"]
        said[role] = [one["value"] for one in pod_of(each)["containers"][0]["env"] if one["name"] == "QUORATE_INSECURE"]
    assert said == {"controller": ["true"] if mode == "Disabled" else [], "broker": []}
