"""From a resource to values: defaults, joined image references, and errors that name the path."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api import names
from kraft_operator.api.network import ListenerSpec
from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec, quantity
from kraft_operator.api.roles import BROKER
from kraft_operator.api.security import Authentication
from kraft_operator.api.spec import (
    KRaftCluster,
    LostDisk,
    NodeIdRange,
    Probes,
    PullPolicy,
    RolloutStrategy,
    VolumePolicy,
)

pytestmark = pytest.mark.unit

POOL = {"name": "main", "nodeIdRange": {"start": 100, "end": 199}}


def parse(name: str = "demo", **spec: Any) -> KRaftCluster:
    metadata = {"name": name, "namespace": "kafka", "uid": "u", "generation": 3}
    return parse_cluster({"metadata": metadata, "spec": {"image": {"reference": "a:1"}, **spec}})


def test_an_image_alone_is_a_whole_cluster_by_default() -> None:
    cluster = parse()
    spec = cluster.spec
    assert (cluster.namespace, cluster.name, cluster.uid, cluster.generation) == ("kafka", "demo", "u", 3)
    assert (spec.image.reference, spec.image.pull_policy, spec.probes) == (
        "a:1",
        PullPolicy.IF_NOT_PRESENT,
        Probes.HTTP,
    )
    assert spec.controllers.node_ids == (0, 1, 2)
    assert spec.controllers.node_id_range == NodeIdRange(0, 99)
    assert spec.controllers.storage.size == "10Gi"
    assert spec.controllers.pod.topology_spread_constraints is None
    assert spec.broker_pools == ()
    own, login = Authentication.TLS, Authentication.SCRAM
    assert spec.controller_listeners == (ListenerSpec("CONTROLLER", 9093, authentication=own, tls=True),)
    brokers, clients = spec.broker_listeners
    assert brokers == ListenerSpec("REPLICATION", 9091, authentication=own, tls=True, own=True)
    assert clients == ListenerSpec("CLIENTS", 9092, authentication=login, tls=True)
    plain = parse(security={"tls": {"mode": "Disabled"}}).spec
    assert plain.controller_listeners == (ListenerSpec("CONTROLLER", 9093),)
    assert plain.broker_listeners == (ListenerSpec("PLAINTEXT", 9092),)
    assert (spec.cluster_id, spec.volume_policy) == (None, VolumePolicy.RETAIN)


def test_controllers_may_run_another_image_than_brokers_do() -> None:
    spec = parse(
        controllers={"image": {"repository": "b", "tag": "2"}, "probes": "TCP"}, brokerPools=[{**POOL, "replicas": 1}]
    ).spec
    assert [spec.image_of(group).reference for group in spec.groups] == ["b:2", "a:1"]
    assert [spec.probes_of(group) for group in spec.groups] == [Probes.TCP, Probes.HTTP]
    usual = parse(controllers={"replicas": 1}, probes="TCP").spec
    assert (usual.image_of(usual.controllers).reference, usual.probes_of(usual.controllers)) == ("a:1", Probes.TCP)
    with pytest.raises(InvalidSpec, match=r"spec\.controllers\.image: exactly one"):
        parse(controllers={"image": {}})


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ({"reference": "r.example.com/a@sha256:" + "0" * 64}, "r.example.com/a@sha256:" + "0" * 64),
        ({"repository": "a", "tag": "1"}, "a:1"),
        ({"repository": "a", "digest": "sha256:" + "1" * 64}, "a@sha256:" + "1" * 64),
        ({"repository": "a", "tag": "1", "digest": "sha256:" + "1" * 64}, "a:1@sha256:" + "1" * 64),
    ],
)
def test_an_image_is_joined_to_what_a_kubelet_pulls(image: dict[str, str], reference: str) -> None:
    assert parse(image=image).spec.image.reference == reference


def test_a_pool_is_a_group_like_the_controllers() -> None:
    pool = parse(brokerPools=[{**POOL, "replicas": 2, "rack": {"fromNodeLabel": "zone"}}]).spec.broker_pools[0]
    assert (pool.roles, pool.name, pool.node_ids, pool.rack_node_label) == (BROKER, "main", (100, 101), "zone")


def test_values_of_config_are_text_however_yaml_spelled_them() -> None:
    config = parse(config={"broker": {"num.partitions": 3, "auto.create.topics.enable": False, "a": "b"}}).spec.config
    assert config.broker == {"num.partitions": "3", "auto.create.topics.enable": "false", "a": "b"}


def test_an_empty_list_of_spread_constraints_is_not_the_default() -> None:
    assert (
        parse(controllers={"pod": {"topologySpreadConstraints": []}}).spec.controllers.pod.topology_spread_constraints
        == ()
    )


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"image": {}}, "spec.image"),
        ({"image": {"reference": 7}}, "spec.image.reference"),
        ({"controllers": {"replicas": 4}}, "spec.controllers.replicas"),
        ({"controllers": {"replicas": "3"}}, "spec.controllers.replicas"),
        ({"controllers": {"replicas": True}}, "spec.controllers.replicas"),
        ({"controllers": []}, "spec.controllers"),
        ({"brokerPools": [7]}, "spec.brokerPools[0]"),
        ({"brokerPools": [{"name": "main"}]}, "spec.brokerPools[0].nodeIdRange.start"),
        ({"brokerPools": [POOL, {**POOL, "name": "b"}]}, "spec.brokerPools[1].nodeIdRange"),
        ({"brokerPools": [{**POOL, "excludedNodeIds": [99]}]}, "spec.brokerPools[0].excludedNodeIds"),
        ({"brokerPools": [{**POOL, "excludedNodeIds": [100, 100]}]}, "spec.brokerPools[0].excludedNodeIds"),
        ({"brokerPools": [{**POOL, "excludedNodeIds": ["100"]}]}, "spec.brokerPools[0].excludedNodeIds"),
        ({"brokerPools": [{**POOL, "excludedNodeIds": 100}]}, "spec.brokerPools[0].excludedNodeIds"),
        ({"brokerPools": [{**POOL, "excludedNodeIds": list(range(100, 199))}]}, "spec.brokerPools[0].nodeIdRange"),
        ({"brokerPools": [POOL, {"name": "main", "nodeIdRange": {"start": 200, "end": 300}}]}, "spec.brokerPools[1]"),
        ({"brokerPools": [{**POOL, "storage": {"size": "1Mi"}}]}, "spec.brokerPools[0].storage.size"),
        ({"brokerPools": [{**POOL, "config": {"a": []}}]}, "spec.brokerPools[0].config[a]"),
        ({"config": {"common": {"log.dirs": "/x"}}}, "spec.config.common[log.dirs]"),
        ({"endpoints": {"broker": [{"name": "CONTROLLER", "port": 9000}]}}, "spec.endpoints.broker"),
        ({"endpoints": {"broker": [{"name": "A"}]}}, "spec.endpoints.broker[0].port"),
        ({"clusterID": "!" * 22}, "spec.clusterID"),
        ({"controllers": {"pod": {"labels": {"app.kubernetes.io/x": "y"}}}},
            "spec.controllers.pod.labels[app.kubernetes.io/x]"),
        ({"lifecycle": {"state": "Asleep"}}, "spec.lifecycle.state"),
    ],
)  # fmt: skip
def test_an_error_names_the_path(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidSpec) as refused:
        parse(**spec)
    assert refused.value.path == path
    assert str(refused.value) == f"{path}: {refused.value.problem}"


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("1k", 1000), ("1Ki", 1024), ("0.5Gi", 2**29), ("1e3", 1000), ("1E3", 1000), ("1E", 10**18),
        ("500m", 0.5)],
)  # fmt: skip
def test_a_quantity_is_read_as_kubernetes_reads_it(text: str, number: float) -> None:
    assert quantity(text, "here") == number


@pytest.mark.parametrize("text", ["", "Gi", "1GB", "-", "1 Gi", "-1Gi", "0x10"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidSpec, match="here"):
        quantity(text, "here")


def test_the_longest_names_leave_room_for_a_revision_label() -> None:
    longest = names.node_name("c" * names.MAX_CLUSTER_NAME_LENGTH, names.CONTROLLER_ROLE, names.MAX_NODE_ID)
    assert len(f"{longest}-{2**32 - 1}") <= 63
    assert len(names.CONTROLLER_ROLE) == 10, "as long as a pool's name may be"


def test_names_are_those_that_the_metadata_log_will_hold_for_ever() -> None:
    cluster = parse(clusterDomain="kube.example.org")
    assert cluster.voter_host(2) == "demo-controller-2-0.demo-nodes.kafka.svc.kube.example.org"
    assert names.claim_name("demo", "main", 100) == "data-demo-main-100-0"
    assert (names.bootstrap_service("demo"), names.ledger_name("demo")) == ("demo-bootstrap", "demo-ledger")


def test_a_restart_is_asked_for_by_an_annotation_and_a_loss_is_dealt_with_by_policy() -> None:
    policy = {"recoveryPolicy": {"lostDisk": "Report", "debounce": "1m30s"}, "rollout": {"strategy": "OnDelete"}}
    annotations = {"kraft.quorate.dev/restart": "2026-11-21"}
    metadata = {"name": "demo", "namespace": "kafka", "uid": "u", "generation": 3, "annotations": annotations}
    found = parse_cluster({"metadata": metadata, "spec": {"image": {"reference": "a:1"}, **policy}})
    assert found.restart == "2026-11-21"
    assert (found.spec.recovery.lost_disk, found.spec.recovery.debounce_seconds) == (LostDisk.REPORT, 90.0)
    assert found.spec.rollout.strategy is RolloutStrategy.ON_DELETE
    with pytest.raises(InvalidSpec, match="debounce"):
        parse(recoveryPolicy={"debounce": "soon"})


def test_what_is_said_of_versions_rollouts_and_drains_is_read() -> None:
    found = parse(
        rollout={"readyTimeout": "90s", "onBadRevision": "Halt"},
        metadataVersion={"value": "4.2"},
        quorumFeature={"policy": "Latest"},
    ).spec
    assert (found.rollout.ready_timeout_seconds, found.rollout.on_bad_revision.value) == (90.0, "Halt")
    assert (found.versions.level, found.versions.quorum_feature.value, found.versions.wants_anything) == (
        29,
        "Latest",
        True,
    )
    assert not parse().spec.versions.wants_anything
    followed = parse(metadataVersion={"policy": "FollowVersionAfterSoak", "soak": "30m"}).spec.versions
    assert (followed.policy.value, followed.soak_seconds, followed.level) == ("FollowVersionAfterSoak", 1800.0, None)
    with pytest.raises(InvalidSpec, match=r"such as 4\.3-IV0"):
        parse(metadataVersion={"value": "9.9"})
    with pytest.raises(InvalidSpec, match="belongs to the policy Pinned"):
        parse(metadataVersion={"policy": "FollowVersionAfterSoak", "value": "4.3"})


def test_single_nodes_may_have_another_volume_and_what_they_do_not_say_is_as_for_all() -> None:
    selector = {"matchLabels": {"disk": "fast"}}
    storage = {
        "size": "1Gi",
        "storageClassName": "slow",
        "overrides": [
            {"nodeID": 1, "size": "5Gi"},
            {"nodeID": 2, "storageClassName": "fast"},
            {"nodeID": 3, "selector": selector},
        ],
    }
    group = parse(controllers={"replicas": 5, "storage": storage}).spec.controllers
    found = [(each.size, *each.kind) for each in map(group.storage_of, range(4))]
    asked = '{"matchLabels": {"disk": "fast"}}'
    assert found == [
        ("1Gi", "slow", ""), ("5Gi", "slow", ""), ("1Gi", "fast", ""), ("1Gi", "slow", asked)
    ]  # fmt: skip
