"""What a real API server says about right and wrong KRaftClusters: rules, defaults, transitions, default conditions.

Every rule of the CRD must be hit by a case here (the last test counts), and what the API server refuses the operator's
own parser must refuse as well, unless the rule compares old and new.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.kube import CLUSTER
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.wrong_fields import WRONG_FIELDS

pytestmark = pytest.mark.e2e

Object = dict[str, Any]

FROM = {"claimName": "archive-old-archive-0", "clusterID": "4L6g3nShT-eMCtK--X86sw"}

STORE = {"url": "s3://backups/kafka/demo", "region": "r-1", "credentialsSecret": "s3"}

BASE: Object = {
    "apiVersion": "kraft.quorate.dev/v1alpha1",
    "kind": "KRaftCluster",
    "metadata": {"name": "demo"},
    "spec": {
        "image": {"reference": "localhost/quorate/runtime:dev"},
        "clusterID": "4L6g3nShT-eMCtK--X86sw",
        "lifecycle": {"state": "Suspended"},
        "bootstrap": {"fromArchive": FROM},
        "controllers": {
            "replicas": 3,
            "nodeIdRange": {"start": 0, "end": 9},
            "storage": {
                "size": "1Gi",
                "storageClassName": "standard",
                "selector": {"matchLabels": {"disk": "slow"}},
                "overrides": [{"nodeID": 1, "size": "2Gi"}],
            },
        },
        "brokerPools": [
            {
                "name": "main",
                "replicas": 3,
                "nodeIdRange": {"start": 100, "end": 199},
                "storage": {"volumes": [{"name": "one", "size": "2Gi", "storageClassName": "standard"}]},
            }
        ],
        "archive": {
            "storage": {"size": "1Gi", "storageClassName": "standard"},
            "retention": "24h",
            "beginning": 1,
            "audit": {"schedule": "17 3 * * *", "image": "localhost/quorate/spark:dev"},
            "objectStore": STORE,
        },
    },
}
BOTH: Object = {"role": "Combined", "replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
BESIDE: Object = {"sidecars": [{"name": "a", "image": "a:1", "ports": [{"containerPort": 9092}]}]}
FEWER = "combined nodes become more, not fewer"
VOLUMES = "spec.brokerPools.0.storage.volumes"
EPHEMERAL: Object = {"type": "Ephemeral", "size": "1Gi"}
ASLEEP = {
    "lifecycle": {"state": "Hibernated"},
    "brokerPools": [{"name": "main", "nodeIdRange": {"start": 100, "end": 199}, "storage": EPHEMERAL}],
}
ONE = {"name": "one", "size": "2Gi", "storageClassName": "standard"}
OWNED = [
    "process.roles", "node.id", "broker.id", "listeners", "advertised.listeners", "listener.security.protocol.map",
    "inter.broker.listener.name", "security.inter.broker.protocol", "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers", "controller.quorum.auto.join.enable", "log.dir", "log.dirs",
    "metadata.log.dir", "broker.rack",
]  # fmt: skip

PROVIDED = {"trustedSecret": "ca", "nodeSecret": "node-$(NODE_ID)", "operatorSecret": "own"}
ISSUER_TAKEN_BACK = "security.tls.issuer does not go back to OperatorCA"
TAKEN_BACK = "security.tls.mode Required is not taken back in one update"
LOAD_BALANCER_CLASS = "loadBalancerClass cannot change: Kubernetes keeps it for ever"
CRON = "schedule must be as a CronJob has it"
UNKNOWN_FIELD = "spec.nonsense"  # never reaches the operator

# (where, new value, what the API server says)
WRONG: list[tuple[str, Any, str]] = [
    ("metadata.name", "a" * 37, "metadata.name must be at most 36 characters"),
    ("metadata.name", "1abc", "metadata.name must begin with a letter"),
    ("metadata.name", "a.b", "metadata.name must begin with a letter"),
    ("spec.image", {}, "exactly one of image.reference and image.repository is needed"),
    ("spec.image", {"reference": "a:1", "repository": "a", "tag": "1"}, "exactly one of image.reference"),
    ("spec.image", {"reference": "a:1", "tag": "2"}, "image.reference already holds its tag and digest"),
    ("spec.image", {"repository": "a"}, "image.repository needs a tag or a digest"),
    ("spec.image", {"repository": "a", "digest": "sha256:12"}, "spec.image.digest in body should match"),
    ("spec.controllers.image", {}, "exactly one of image.reference and image.repository is needed"),
    ("spec.controllers.image", {"repository": "a"}, "image.repository needs a tag or a digest"),
    ("spec.controllers.probes", "Exec", "spec.controllers.probes: Unsupported value"),
    ("spec.image.pullPolicy", "Sometimes", "Unsupported value"),
    ("spec.clusterID", "short", "spec.clusterID in body should match"),
    ("spec.controllers.replicas", 2, "controllers.replicas must be 1, 3, 5 or 7"),
    ("spec.controllers.replicas", 9, "spec.controllers.replicas in body should be less than or equal to 7"),
    ("spec.controllers.nodeIdRange", {"start": 5, "end": 4}, "nodeIdRange.start must not exceed nodeIdRange.end"),
    ("spec.controllers.nodeIdRange", {"start": 0, "end": 1}, "nodeIdRange has fewer ids than replicas"),
    ("spec.controllers.nodeIdRange", {"start": 0, "end": 10000}, "should be less than or equal to 9999"),
    ("spec.controllers.nodeIdRange", {"start": 50, "end": 150}, "a pool overlaps the controllers"),
    ("spec.brokerPools.0.excludedNodeIds", [99], "excludedNodeIds must lie in nodeIdRange"),
    ("spec.brokerPools.0.excludedNodeIds", [100, 100], "Duplicate value"),
    ("spec.brokerPools.0.excludedNodeIds", ["100"], "must be of type integer"),
    (
        "spec.brokerPools",
        [{"name": "main", "replicas": 3, "nodeIdRange": {"start": 100, "end": 102}, "excludedNodeIds": [101]}],
        "nodeIdRange has fewer ids than replicas, or too many of them are excluded",
    ),
    ("spec.controllers.failureDomains", {"policy": "Strictly"}, "Unsupported value"),
    ("spec.security", {"tls": {"issuer": "Nobody"}}, "Unsupported value"),
    ("spec.security", {"tls": {"issuer": "CertManager"}}, "issuerRef goes with issuer CertManager, which needs it"),
    ("spec.security", {"tls": {"issuerRef": {"name": "a"}}}, "issuerRef goes with issuer CertManager"),
    ("spec.security", {"tls": {"issuer": "Provided"}}, "provided goes with issuer Provided, which needs it"),
    (
        "spec.security",
        {"tls": {"issuer": "Provided", "provided": {**PROVIDED, "nodeSecret": "a-$(NODE)"}}},
        "security.tls.provided.nodeSecret in body should match",
    ),
    (
        "spec.controllers",
        {"replicas": 1, "failureDomains": {"policy": "Require"}},
        "failureDomains.policy Require needs three controllers at least",
    ),
    ("spec.controllers.role", "Both", "Unsupported value"),
    ("spec.controllers", {**BOTH, "replicas": 5}, "must be 1 or 3 where controllers.role is Combined"),
    ("spec.controllers", BOTH, "take the pools out: where controllers.role is Combined"),
    ("spec.controllers", BOTH, "take fromArchive out: only controllers of their own are formed from an archive"),
    ("spec.controllers", {**BOTH, "pod": BESIDE}, "a sidecar of the combined nodes has the port of a broker listener"),
    ("spec.controllers.rack", {"fromNodeLabel": "zone"}, "racks are the brokers': take controllers.rack out"),
    ("spec.controllers.storage.size", "50Mi", "storage.size must be at least 100Mi"),
    ("spec.controllers.storage.size", "much", "storage.size in body should match"),
    ("spec.controllers.storage.overrides", [{"nodeID": 5000, "size": "2Gi"}], "must name nodes of nodeIdRange"),
    ("spec.brokerPools.0.storage.overrides", [{"nodeID": 0, "size": "2Gi"}], "must name nodes of nodeIdRange"),
    ("spec.controllers.storage.overrides", [{"nodeID": 1}], "says nothing: give size, storageClassName or selector"),
    ("spec.controllers.storage.overrides", [{"nodeID": 1, "size": "1Mi"}], "size must be at least 100Mi"),
    ("spec.controllers.storage.overrides", [{"nodeID": 1, "size": 1}, {"nodeID": 1, "size": 2}], "Duplicate value"),
    ("spec.controllers.storage.type", "Sometimes", "Unsupported value"),
    ("spec.controllers.storage", {**EPHEMERAL, "storageClassName": "a"}, "Ephemeral storage has no claims"),
    ("spec.controllers.storage", EPHEMERAL, "storage.type Ephemeral needs deletionPolicy.volumes Delete"),
    ("spec.controllers.storage", EPHEMERAL, "are three at least, and are not formed from an archive"),
    ("spec.brokerPools.0.storage.type", "Ephemeral", "Ephemeral storage has no claims: take storage.volumes out"),
    ("spec", {**BASE["spec"], **ASLEEP}, "lifecycle.state must not be Hibernated: Ephemeral disks go with their pods"),
    (VOLUMES, [{"name": "data", "size": "1Gi"}], "data is the first volume: give it another name"),
    (VOLUMES, [{"name": "One", "size": "1Gi"}], "should match"),
    (VOLUMES, [{"name": "one", "size": "1Mi"}], "size must be at least 100Mi"),
    (VOLUMES, [{"name": "one"}], "Required value"),
    (VOLUMES, [{"name": "one", "size": 1}, {"name": "one", "size": 2}], "Duplicate value"),
    (VOLUMES, [{"name": f"v{each}", "size": "1Gi"} for each in range(8)], "must have at most 7 items"),
    ("spec.brokerPools.0.pod.volumes", [{"name": "data-one", "emptyDir": {}}], "is that of storage.volumes"),
    ("spec.controllers.storage.selector", {"matchExpressions": [{"key": "a", "operator": "Is"}]}, "Unsupported value"),
    ("spec.controllers.pod.labels", {"app.kubernetes.io/name": "x"}, "belong to the operator"),
    ("spec.controllers.pod.annotations", {"kraft.quorate.dev/grant": "{}"}, "belong to the operator"),
    (
        "spec.metadataVersion",
        {"policy": "FollowVersionAfterSoak", "value": "4.3"},
        "metadataVersion.value belongs to the policy Pinned",
    ),
    ("spec.metadataVersion", {"value": "newest"}, "spec.metadataVersion.value in body should match"),
    ("spec.brokerPools.0.name", "controller", "a pool cannot be named controller"),
    ("spec.brokerPools.0.name", "a-b", "spec.brokerPools[0].name in body should match"),
    ("spec.brokerPools.0.replicas", 101, "nodeIdRange has fewer ids than replicas"),
    ("spec.brokerPools.0.nodeIdRange", {"start": 7, "end": 6}, "nodeIdRange.start must not exceed nodeIdRange.end"),
    (
        "spec.brokerPools",
        [
            {"name": "a", "replicas": 1, "nodeIdRange": {"start": 100, "end": 110}},
            {"name": "b", "replicas": 1, "nodeIdRange": {"start": 110, "end": 120}},
        ],
        "two pools overlap",
    ),
    (
        "spec.brokerPools",
        [
            {"name": "a", "replicas": 251, "nodeIdRange": {"start": 1000, "end": 1999}},
            {"name": "b", "replicas": 250, "nodeIdRange": {"start": 2000, "end": 2999}},
        ],
        "a cluster has at most 500 brokers",
    ),
    ("spec.endpoints.controller", [{"name": "CONTROLLER", "port": 9092}], "ports of endpoints must be unique"),
    ("spec.endpoints.broker", [{"name": "A", "port": 9000}, {"name": "B", "port": 9000}], "ports of endpoints must be"),
    ("spec.endpoints.broker", [{"name": "CONTROLLER", "port": 9000}], "names of endpoints must be unique"),
    ("spec.endpoints.broker", [{"name": "HTTP", "port": 9000}], "HTTP is the name of the probes' port"),
    ("spec.endpoints.broker", [{"name": "PLAIN-9092-1", "port": 9092}], "should match"),
    ("spec.endpoints.broker", [{"name": "PLAINTEXT", "port": 9404}], "port 9404 is that of probes and metrics"),
    (
        "spec.endpoints.broker",
        [{"name": "PLAINTEXT", "port": 9092, "exposure": "NodePort"}],
        "the first broker listener is the brokers' own",
    ),
    ("spec.endpoints.broker", [{"name": "PLAINTEXT", "port": 80}], "should be greater than or equal to 1024"),
    ("spec.endpoints.broker", [], "spec.endpoints.broker in body should have at least 1 items"),
    ("spec.config.common", {"a b": "c"}, "a key of config consists of"),
    ("spec.config.broker", {"num.partitions": "1\nnode.id=7"}, "a value of config is one line"),
    ("spec.probes", "Guess", "Unsupported value"),
    ("spec.lifecycle.state", "Paused", "Unsupported value"),
    ("spec.bootstrap.policy", "Always", "Unsupported value"),
    ("spec.deletionPolicy.volumes", "Keep", "Unsupported value"),
    (UNKNOWN_FIELD, 1, 'unknown field "spec.nonsense"'),
    *((f"spec.config.{part}", {key: "1"}, f"{key} belongs to the operator") for part in ("common",) for key in OWNED),
    ("spec.config.controller", {"node.id": "1"}, "node.id belongs to the operator"),
    ("spec.config.broker", {"log.dirs": "/x"}, "log.dirs belongs to the operator"),
    ("spec.controllers.config", {"listeners": "X"}, "listeners belongs to the operator"),
    ("spec.brokerPools.0.config", {"broker.rack": "r"}, "broker.rack belongs to the operator"),
    ("spec.archive.storage.size", "50Mi", "size must be at least 100Mi"),
    ("spec.archive.retention", "59m", "retention must be at least 1h"),
    ("spec.archive.retention", "a day", "spec.archive.retention in body should match"),
    ("spec.archive.beginning", -1, "should be greater than or equal to 0"),
    ("spec.archive.audit.schedule", "every day", CRON),
    ("spec.archive.audit.schedule", "17 3 * *", CRON),
    ("spec.archive.audit.schedule", "60 3 * * *", CRON),
    ("spec.archive.audit.schedule", "0 24 * * *", CRON),
    ("spec.archive.audit.schedule", "0 0 0 * *", CRON),
    ("spec.archive.audit.schedule", "0 0 * 13 *", CRON),
    ("spec.archive.audit.schedule", "0 0 * * 7", CRON),
    ("spec.archive.audit.schedule", "*/0 * * * *", CRON),
    ("spec.archive.audit.schedule", "TZ=UTC 0 0 * * *", CRON),
    ("spec.archive.audit.timeZone", "Local", "timeZone must be a name such as Europe/Berlin, not Local"),
    ("spec.archive.audit.timeZone", "a b", "spec.archive.audit.timeZone in body should match"),
    ("spec.archive.audit", {"schedule": "@daily"}, "spec.archive.audit.image: Required value"),
    ("spec.archive.audit", {"image": "a:1"}, "spec.archive.audit.schedule: Required value"),
    ("spec.archive.audit.lake", {}, "spec.archive.audit.lake.claimName: Required value"),
    ("spec.archive.objectStore.url", "gs://backups", "spec.archive.objectStore.url in body should match"),
    ("spec.archive.objectStore.url", None, "spec.archive.objectStore.url: Required value"),
    ("spec.archive.objectStore.credentialsSecret", None, "spec.archive.objectStore.credentialsSecret: Required value"),
    ("spec.archive.objectStore.region", None, "objectStore needs a region, or the endpoint"),
    ("spec.archive.objectStore.endpoint", "https://me:word@minio", "objectStore.endpoint in body should match"),
    ("spec.archive.objectStore.endpoint", "http://minio:9000", "an endpoint without TLS needs an encryptionSecret"),
    ("spec.archive.objectStore", {**STORE, "caSecret": "a", "caConfigMap": "b"}, "takes caSecret or caConfigMap"),
    ("spec.archive.audit.suspend", "no", "must be of type boolean"),
    ("spec.bootstrap", {"fromArchive": {**FROM, "offset": 1, "time": "2026-11-24T19:40:11Z"}}, "an offset or a time"),
    ("spec.bootstrap", {"fromArchive": {"claimName": "a"}}, "Required value"),
    *WRONG_FIELDS,
]

# (where, new value, what the API server says); the old object is BASE.
WRONG_EDITS: list[tuple[str, Any, str]] = [
    ("spec.clusterID", "5L6g3nShT-eMCtK--X86sw", "clusterID is immutable"),
    ("spec.clusterID", None, "clusterID cannot be removed once set"),
    ("spec.clusterDomain", "other.local", "clusterDomain is immutable"),
    ("spec.archive.storage.size", "2Gi", "the archive's storage is immutable"),
    ("spec.archive.beginning", 0, "beginning only rises"),
    ("spec.bootstrap.fromArchive.offset", 7, "bootstrap.fromArchive is immutable"),
    ("spec.bootstrap.fromArchive", None, "bootstrap.fromArchive is neither added nor taken away later"),
    ("spec.controllers.replicas", 4, "controllers.replicas must be 1, 3, 5 or 7"),
    ("spec.controllers.role", "Combined", "controllers.role is immutable"),
    ("spec.controllers.nodeIdRange", {"start": 1, "end": 9}, "nodeIdRange.start is immutable"),
    ("spec.controllers.nodeIdRange", {"start": 0, "end": 8}, "nodeIdRange.end can only grow"),
    ("spec.brokerPools.0.nodeIdRange", {"start": 101, "end": 199}, "nodeIdRange.start is immutable"),
    ("spec.controllers.storage.size", "500Mi", "storage.size cannot shrink"),
    ("spec.controllers.storage.type", "Ephemeral", "storage.type is immutable"),
    ("spec.controllers.storage.storageClassName", "fast", "storageClassName is immutable"),
    ("spec.controllers.storage.selector", {"matchLabels": {"disk": "fast"}}, "selector is immutable"),
    ("spec.controllers.storage.selector", None, "selector is immutable: it can be neither added nor removed"),
    ("spec.controllers.storage.overrides", [{"nodeID": 1, "size": "1Gi"}], "size cannot shrink"),
    ("spec.controllers.storage.storageClassName", None, "storageClassName is immutable: it can be neither added"),
    ("spec.brokerPools.0.storage.storageClassName", "fast", "storageClassName is immutable: it can be neither added"),
    (VOLUMES, [{**ONE, "size": "1Gi"}], "size cannot shrink"),
    (VOLUMES, [{**ONE, "storageClassName": "fast"}], "storageClassName is immutable"),
    (VOLUMES, [{"name": "one", "size": "2Gi"}], "storageClassName is immutable: it can be neither added nor removed"),
    (VOLUMES, [{**ONE, "selector": {"matchLabels": {"a": "b"}}}], "selector is immutable: it can be neither added"),
    ("spec.brokerPools", [], "a pool can be removed (or renamed) only after its replicas were lowered to 0"),
    ("spec.brokerPools.0.name", "other", "a pool can be removed (or renamed) only after"),
    (
        "spec.endpoints.controller",
        [{"name": "CONTROLLER", "port": 9095}],
        "a controller listener can be added, but not",
    ),
    ("spec.endpoints.controller", [{"name": "OTHER", "port": 9093}], "a controller listener can be added, but not"),
    (
        "spec.endpoints.controller",
        [{"name": "TLS", "port": 9094}, {"name": "CONTROLLER", "port": 9093}],
        "the first controller listener must stay the first",
    ),
]

RIGHT_EDITS: list[tuple[str, Any]] = [
    ("spec.archive", None),
    ("spec.archive.beginning", 2),
    ("spec.archive.audit", None),
    ("spec.archive.objectStore", None),
    ("spec.archive.objectStore.url", "s3://other"),
    ("spec.archive.objectStore", {**STORE, "endpoint": "http://[fd00::1]:9000", "encryptionSecret": "keys"}),
    ("spec.archive.audit.schedule", "*/15,7 0-6/2 1,15 JAN-mar mon-FRI"),
    ("spec.archive.audit.schedule", "@hourly"),
    ("spec.archive.audit", {"schedule": "0 0 ? * 0", "image": "a", "timeZone": "Etc/UTC", "lake": {"claimName": "a"}}),
    ("spec.archive.retention", None),
    ("spec.endpoints.broker", [{"name": "REPLICATION-9091", "port": 9091}, {"name": "PLAIN-9092", "port": 9092}]),
    ("spec.controllers.storage.size", "2Gi"),
    ("spec.controllers.storage.overrides", [{"nodeID": 1, "storageClassName": "fast", "size": "5Gi"}]),
    ("spec.brokerPools.0.storage.overrides", [{"nodeID": 150, "selector": {"matchLabels": {"disk": "fast"}}}]),
    (VOLUMES, [ONE, {"name": "two", "size": "1Gi"}]),
    (VOLUMES, [{**ONE, "size": "3Gi"}]),
    (VOLUMES, None),
    ("spec.image.reference", "localhost/quorate/runtime:other"),
    ("spec.controllers.nodeIdRange.end", 50),
    ("spec.controllers.failureDomains", {"policy": "Require"}),
    ("spec.controllers.storage.size", "1024Mi"),
    ("spec.controllers.resources", {"requests": {"cpu": 1, "memory": "1Gi"}}),
    ("spec.controllers.pod", {"tolerations": [{"operator": "Exists"}], "labels": {"team": "a"}}),
    ("spec.controllers.pod.affinity", {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}),
    ("spec.brokerPools.0.replicas", 0),
    ("spec.brokerPools.0.nodeIdRange.end", 300),
    ("spec.brokerPools.0.rack", {"fromNodeLabel": "topology.kubernetes.io/zone"}),
    ("spec.endpoints.controller", [{"name": "CONTROLLER", "port": 9093}, {"name": "TLS", "port": 9094}]),
    ("spec.endpoints.broker", [{"name": "CLIENTS", "port": 19092}]),
    ("spec.config.broker", {"num.partitions": 3, "log.retention.hours": "24"}),
    ("spec.lifecycle.state", "Running"),
    ("spec.probes", "TCP"),
    ("spec.controllers.pod.env", [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]),
    ("spec.networkPolicy", {"mode": "Off"}),
    ("spec.brokerPools.0.disruptionBudget", {"maxUnavailable": 2}),
    ("spec.rollout.maintenanceWindows", [{"days": ["Sunday"], "start": "02:30", "duration": "4h"}]),
    ("spec.controllers.pod", {"runAs": "Assigned", "probes": {"startup": {"failureThreshold": 3600}}}),
    ("spec.deletionPolicy.volumes", "Delete"),
    ("spec.bootstrap.policy", "AdoptOnly"),
]


def edited(base: Object, where: str, value: Any) -> Object:
    """A copy of `base` with another value there; None removes."""
    result = copy.deepcopy(base)
    target: Any = result
    *steps, last = where.split(".")
    for step in steps:
        target = target[int(step)] if isinstance(target, list) else target.setdefault(step, {})
    if value is None:
        del target[last]
    else:
        target[last] = value
    return result


def case(where: str, value: Any) -> str:
    return f"{where}={value!r}"[:70]


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes, resource_definition: None) -> Iterator[str]:
    with kubernetes.namespace("crd") as name:
        yield name


@pytest.fixture(scope="module")
def stored(kubernetes: Kubernetes, namespace: str) -> Object:
    """BASE as the API server keeps it. Suspended: an operator that watches this namespace changes nothing."""
    return kubernetes.gateway.create(CLUSTER, namespace, copy.deepcopy(BASE))


@pytest.mark.parametrize(("where", "value", "message"), WRONG, ids=[case(*each[:2]) for each in WRONG])
def test_a_wrong_resource_is_refused_with_a_message_that_names_the_culprit(
    kubernetes: Kubernetes, namespace: str, where: str, value: Any, message: str
) -> None:
    wrong = edited(BASE, where, value)
    assert message in kubernetes.refusal(CLUSTER, namespace, wrong)


@pytest.mark.parametrize(
    ("where", "value"),
    [each[:2] for each in WRONG if each[0] != UNKNOWN_FIELD],
    ids=[case(*each[:2]) for each in WRONG if each[0] != UNKNOWN_FIELD],
)
def test_the_operator_itself_refuses_what_the_rules_refuse(where: str, value: Any) -> None:
    wrong = edited(BASE, where, value)
    wrong["metadata"].update(namespace="any", uid="u", generation=1)
    with pytest.raises(InvalidSpec):
        parse_cluster(wrong)


@pytest.mark.parametrize(("where", "value", "message"), WRONG_EDITS, ids=[case(*each[:2]) for each in WRONG_EDITS])
def test_an_edit_of_what_never_changes_is_refused(
    kubernetes: Kubernetes, namespace: str, stored: Object, where: str, value: Any, message: str
) -> None:
    assert message in kubernetes.refusal(CLUSTER, namespace, edited(stored, where, value), "PUT")


@pytest.mark.parametrize(("where", "value"), RIGHT_EDITS, ids=[case(*each) for each in RIGHT_EDITS])
def test_a_right_edit_is_accepted_and_understood(
    kubernetes: Kubernetes, namespace: str, stored: Object, where: str, value: Any
) -> None:
    accepted = kubernetes.dry_run(CLUSTER, namespace, edited(stored, where, value), "PUT")
    assert parse_cluster(accepted).name == "demo"


def test_the_class_of_load_balancers_cannot_be_changed(kubernetes: Kubernetes, resource_definition: None) -> None:
    def listeners(cls: str) -> list[Object]:
        outside = {"name": "OUTSIDE", "port": 9094, "exposure": "LoadBalancer", "service": {"loadBalancerClass": cls}}
        return [{"name": "PLAINTEXT", "port": 9092, "exposure": "ClusterInternal"}, outside]

    one = edited({**BASE, "metadata": {"name": "balanced"}}, "spec.endpoints.broker", listeners("a.example/lb"))
    with kubernetes.namespace("crd-balanced") as namespace:
        kept = kubernetes.gateway.create(CLUSTER, namespace, one)
        other = edited(kept, "spec.endpoints.broker", listeners("b.example/lb"))
        assert LOAD_BALANCER_CLASS in kubernetes.refusal(CLUSTER, namespace, other, "PUT")


def test_a_resource_with_an_image_only_gets_every_default(kubernetes: Kubernetes, namespace: str) -> None:
    least = {**BASE, "metadata": {"name": "least"}, "spec": {"image": {"reference": "a:1"}}}
    filled = kubernetes.dry_run(CLUSTER, namespace, least)
    assert filled["spec"] == {
        "image": {"reference": "a:1", "pullPolicy": "IfNotPresent"},
        "clusterDomain": "cluster.local",
        "bootstrap": {"policy": "NewOrAdopt"},
        "deletionPolicy": {"volumes": "Retain"},
        "lifecycle": {"state": "Running"},
        "recoveryPolicy": {"lostDisk": "Replace", "nodeGone": "Wait", "quorumLoss": "Manual", "debounce": "10s"},
        "rollout": {"strategy": "QuorumAware", "readyTimeout": "5m", "onBadRevision": "Rollback"},
        "changePolicy": {"mode": "Apply"},
        "metadataVersion": {"policy": "Pinned", "soak": "1h"},
        "quorumFeature": {"policy": "Pinned"},
        "probes": "HTTP",
        "endpoints": {
            "controller": [{"name": "CONTROLLER", "port": 9093}],
            "broker": [{"name": "PLAINTEXT", "port": 9092, "exposure": "ClusterInternal"}],
        },
        "config": {},
        "controllers": {
            "role": "Controller",
            "replicas": 3,
            "nodeIdRange": {"start": 0, "end": 99},
            "storage": {"size": "10Gi"},
            "pod": {"terminationGracePeriodSeconds": 90},
        },
        "brokerPools": [],
    }


def test_the_operators_defaults_are_those_of_the_schema(kubernetes: Kubernetes, namespace: str) -> None:
    least = {
        **BASE,
        "metadata": {"name": "least"},
        "spec": {
            "image": {"reference": "a:1"},
            "brokerPools": [{"name": "main", "nodeIdRange": {"start": 100, "end": 199}}],
        },
    }
    filled = kubernetes.dry_run(CLUSTER, namespace, least)
    least["metadata"]["namespace"] = namespace
    assert parse_cluster(filled).spec == parse_cluster(least).spec


def test_a_new_resource_is_not_healthy_before_an_operator_looked_at_it(stored: Object) -> None:
    status = stored["status"]
    assert status["observedGeneration"] != stored["metadata"]["generation"]
    assert [(each["type"], each["status"], each["reason"]) for each in status["conditions"]] == [
        ("Ready", "Unknown", "NotReconciled")
    ]


def test_combined_nodes_become_more_and_not_fewer(kubernetes: Kubernetes, resource_definition: None) -> None:
    spec = {"image": {"reference": "a:1"}, "lifecycle": {"state": "Suspended"}, "controllers": BOTH}
    with kubernetes.namespace("crd-combined") as namespace:
        small = {**BASE, "metadata": {"name": "small"}, "spec": {**spec, "controllers": {**BOTH, "replicas": 1}}}
        assert kubernetes.dry_run(CLUSTER, namespace, small)
        kept = kubernetes.gateway.create(CLUSTER, namespace, {**BASE, "metadata": {"name": "both"}, "spec": spec})
        fewer = edited(kept, "spec.controllers.replicas", 1)
        assert FEWER in kubernetes.refusal(CLUSTER, namespace, fewer, "PUT")
        rack = edited(kept, "spec.controllers.rack", {"fromNodeLabel": "zone"})
        assert kubernetes.dry_run(CLUSTER, namespace, rack, "PUT")


def test_a_secure_cluster_is_not_made_plaintext_in_one_update(
    kubernetes: Kubernetes, resource_definition: None
) -> None:
    one = edited({**BASE, "metadata": {"name": "secured"}}, "spec.security", {"tls": {"mode": "Required"}})
    with kubernetes.namespace("crd-secured") as namespace:
        kept = kubernetes.gateway.create(CLUSTER, namespace, one)
        for value in (None, {"tls": {"mode": "Disabled"}}):
            assert TAKEN_BACK in kubernetes.refusal(CLUSTER, namespace, edited(kept, "spec.security", value), "PUT")
        on_its_way = edited(kept, "spec.security", {"tls": {"mode": "Migrating"}})
        assert kubernetes.dry_run(CLUSTER, namespace, on_its_way, "PUT")


def test_a_cluster_with_certificates_of_others_does_not_get_an_authority_of_its_own(
    kubernetes: Kubernetes, resource_definition: None
) -> None:
    theirs = {"tls": {"mode": "Required", "issuer": "CertManager", "issuerRef": {"name": "corp"}}}
    one = edited({**BASE, "metadata": {"name": "issued"}}, "spec.security", theirs)
    with kubernetes.namespace("crd-issued") as namespace:
        kept = kubernetes.gateway.create(CLUSTER, namespace, one)
        for tls in ({}, {"issuer": "OperatorCA"}):
            back = edited(kept, "spec.security", {"tls": {"mode": "Required", **tls}})
            assert ISSUER_TAKEN_BACK in kubernetes.refusal(CLUSTER, namespace, back, "PUT")
        provided = {"tls": {"mode": "Required", "issuer": "Provided", "provided": PROVIDED}}
        assert kubernetes.dry_run(CLUSTER, namespace, edited(kept, "spec.security", provided), "PUT")


def test_the_short_name_and_the_columns_are_served(kubernetes: Kubernetes, namespace: str, stored: Object) -> None:
    header, row = kubernetes.kubectl("get", "krc", "--namespace", namespace).splitlines()
    columns = ["NAME", "READY", "PHASE", "CONTROLLERS", "BROKERS", "HEADROOM", "RISK", "WAITS", "FOR", "AGE"]
    assert header.split() == columns
    assert row.split()[:2] == ["demo", "Unknown"]
    assert "demo" in kubernetes.kubectl("get", "kraft", "--namespace", namespace)


def test_no_rule_is_without_a_case_that_breaks_it() -> None:
    definition = yaml.safe_load((ROOT / "crds" / "kraftclusters.yaml").read_text())
    messages = {rule["message"] for rule in rules(definition)}
    assert len(messages) >= 40
    hit = [*(message for _, _, message in WRONG + WRONG_EDITS)]
    hit += [LOAD_BALANCER_CLASS, TAKEN_BACK, ISSUER_TAKEN_BACK, FEWER]
    assert [message for message in sorted(messages) if not any(part in message for part in hit)] == []


def rules(part: Any) -> Iterator[Object]:
    if isinstance(part, dict):
        yield from part.get("x-kubernetes-validations", [])
        for value in part.values():
            yield from rules(value)
    elif isinstance(part, list):
        for value in part:
            yield from rules(value)
