"""Mistakes in every field of a KRaftCluster, one table: what was asked for, what the operator says to it, and what it
was corrected to.

`docs/operations/mistakes.md` names each; `tests/unit/kraft_operator/test_mistakes.py` makes each, from the beginning
and on a cluster that runs, corrects the resource and nothing else, and waits for Ready. `says` is a reason that the
operator gives meanwhile, or the path of the field that it refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from support.operator_model.world import World, pool

Spec = dict[str, Any]
BASE: Final[Spec] = {
    "image": {"repository": "kafka", "tag": "1"},
    "rollout": {"readyTimeout": "12s"},
    "controllers": {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}},
    "brokerPools": [pool("b", 2, 100)],
}


def controllers(**changes: Any) -> Spec:
    return {"controllers": {**BASE["controllers"], **changes}}


def brokers(count: int = 2, **changes: Any) -> Spec:
    return {"brokerPools": [{**pool("b", count, 100), **changes}]}


def everyone(**changes: Any) -> Spec:
    return {**controllers(**changes), **brokers(**changes)}


def pods(**changes: Any) -> Spec:
    return everyone(pod=changes)


def image(**changes: Any) -> Spec:
    return {"image": {"repository": "kafka", **changes}}


def placed(world: World) -> None:
    """A topic with one replica on each broker."""
    world.place("t", 100)
    world.place("t", 101)


def disk_lost(world: World) -> None:
    placed(world)
    world.settle(80)
    world.delete_claim(1)


def node_lost(world: World) -> None:
    world.delete_node(1)


def private(world: World) -> None:
    world.private.add("kafka:7")


def of_no_class(replicas: int) -> Spec:
    storage = {"size": "1Gi", "storageClassName": "fats"}
    return {"brokerPools": [*BASE["brokerPools"], {**pool("c", replicas, 200), "storage": storage}]}


def no_class(world: World) -> None:
    world.missing_classes.add("fats")


def nothing(world: World) -> None:
    """Kubernetes is as it always is."""


def broken(tag: int) -> Callable[[World], None]:
    return lambda world: world.break_image(tag)


def sick(tag: int) -> Callable[[World], None]:
    return lambda world: world.sicken(tag)


@dataclass(frozen=True, slots=True)
class Mistake:
    name: str
    """As the document has it."""
    wrong: Spec
    says: str
    """Of several (`|`) one. Empty: nothing is wrong with it for the operator, only for its owner."""
    right: Spec = field(default_factory=dict)
    around: Callable[[World], None] = nothing
    """What makes it a mistake, beside the resource."""
    new: bool = True
    """It can be made when the cluster is made, too."""


NOWHERE: Final = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "nowhere", "operator": "Exists"}]}]}
AFFINITY: Final = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": NOWHERE}}
ONE_EACH: Final = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "one-each"}]}}
SPREAD: Final = [{"maxSkew": 1, "topologyKey": "nowhere", "whenUnsatisfiable": "DoNotSchedule"}]
OUTSIDE: Final = {"name": "OUTSIDE", "port": 9094, "exposure": "LoadBalancer"}
TUNER: Final = {"name": "tuner", "image": "busybox", "securityContext": {"capabilities": {"add": ["SYS_NICE"]}}}
PLAIN: Final = {"name": "PLAINTEXT", "port": 9092}

MISTAKES: Final = (
    # what runs
    Mistake("image.tag that does not exist", image(tag="9"), "ImagePullBackOff", image(tag="2"), broken(9)),
    Mistake("image.tag that does not exist, taken back", image(tag="9"), "ImagePullBackOff", around=broken(9)),
    Mistake("image.tag of an image that ends at once", image(tag="9"), "CrashLoopBackOff", image(tag="2"), sick(9)),
    Mistake("image without tag and digest", image(), "spec.image"),
    Mistake("image.digest that is none", image(digest="sha256:12"), "spec.image.digest"),
    Mistake("image.reference beside image.repository", {"image": {"reference": "a:1", "repository": "a", "tag": "1"}},
        "spec.image"),
    Mistake("image.pullSecrets that miss the registry's", image(tag="7"), "ImagePullBackOff",
        image(tag="7", pullSecrets=[{"name": "registry"}]), private),
    Mistake("image.pullPolicy Never for an image that no node has", image(tag="1", pullPolicy="Never"),
        "ErrImageNeverPull"),
    Mistake("image.pullPolicy that is none", image(tag="1", pullPolicy="Sometimes"), "spec.image.pullPolicy"),
    Mistake("controllers.image.tag that does not exist", controllers(image={"repository": "kafka", "tag": "9"}),
        "ImagePullBackOff", controllers(image={"repository": "kafka", "tag": "2"}), broken(9)),
    Mistake("controllers.image.tag of an image that ends at once, taken back",
        controllers(image={"repository": "kafka", "tag": "9"}), "CrashLoopBackOff", around=sick(9)),
    Mistake("controllers.image without tag and digest", controllers(image={"repository": "kafka"}),
        "spec.controllers.image"),
    Mistake("controllers.probes that are none", controllers(probes="Exec"), "spec.controllers.probes"),
    Mistake("probes that are none", {"probes": "Exec"}, "spec.probes"),
    Mistake("probes of another runtime", {"probes": "TCP"}, ""),
    # where it runs
    Mistake("resources.requests that no machine has", everyone(resources={"requests": {"cpu": "1000"}}),
        "Unschedulable"),
    Mistake("resources.limits.memory that is too little", everyone(resources={"limits": {"memory": "16Mi"}}),
        "CrashLoopBackOff"),
    Mistake("pod.nodeSelector that no node has", pods(nodeSelector={"nowhere": "yes"}), "Unschedulable"),
    Mistake("pod.affinity that no node satisfies", pods(affinity=AFFINITY), "Unschedulable"),
    Mistake("pod.topologySpreadConstraints that cannot hold", pods(topologySpreadConstraints=SPREAD), "Unschedulable"),
    Mistake("pod.priorityClassName that does not exist", pods(priorityClassName="absent"), "PriorityClassMissing"),
    Mistake("pod.runtimeClassName that does not exist", pods(runtimeClassName="absent"), "RuntimeClassMissing"),
    Mistake("pod.serviceAccountName that does not exist", pods(serviceAccountName="absent"), "ServiceAccountMissing"),
    Mistake("pod.sidecars that Pod Security refuses", pods(sidecars=[TUNER]), "PodSecurityViolated"),
    Mistake("pod.labels that an admission policy refuses", pods(labels={"team": "nobody"}), "PodRefused"),
    Mistake("pod.labels of the operator", pods(labels={"app.kubernetes.io/name": "x"}),
        "spec.controllers.pod.labels[app.kubernetes.io/name]"),
    Mistake("pod.annotations of the operator", pods(annotations={"kraft.quorate.dev/grant": "{}"}),
        "spec.controllers.pod.annotations[kraft.quorate.dev/grant]"),
    Mistake("pod.terminationGracePeriodSeconds that is no number", pods(terminationGracePeriodSeconds="long"),
        "spec.controllers.pod.terminationGracePeriodSeconds"),
    Mistake("rack.fromNodeLabel that no node has", brokers(rack={"fromNodeLabel": "nowhere/at-all"}), ""),
    Mistake("failureDomains.key that no node has", controllers(failureDomains={"key": "nowhere/at-all"}),
        "DomainUnknown", new=False),
    Mistake("failureDomains.policy Require with one controller",
        controllers(replicas=1, failureDomains={"policy": "Require"}), "spec.controllers.failureDomains.policy"),
    # disks
    Mistake("storage.size that is too small", everyone(storage={"size": "1Mi"}), "spec.controllers.storage.size"),
    Mistake("storage.size that is no quantity", everyone(storage={"size": "much"}), "spec.controllers.storage.size"),
    Mistake("storage.storageClassName that is no text", everyone(storage={"size": "1Gi", "storageClassName": 7}),
        "spec.controllers.storage.storageClassName"),
    Mistake("storage.storageClassName of a new pool that does not exist", of_no_class(2), "VolumeClassMissing",
        of_no_class(0), no_class),
    Mistake("storage.overrides of a node that is not in the range", controllers(storage={"size": "1Gi",
        "overrides": [{"nodeID": 10, "size": "2Gi"}]}), "spec.controllers.storage.overrides[0].nodeID"),
    Mistake("storage.overrides that name a node twice", controllers(storage={"size": "1Gi",
        "overrides": [{"nodeID": 1, "size": "2Gi"}, {"nodeID": 1, "size": "3Gi"}]}),
        "spec.controllers.storage.overrides[1].nodeID"),
    Mistake("storage.overrides that say nothing", controllers(storage={"size": "1Gi", "overrides": [{"nodeID": 1}]}),
        "spec.controllers.storage.overrides[0]"),
    Mistake("storage.selector that is none", everyone(storage={"size": "1Gi", "selector": {"labels": {"a": "b"}}}),
        "spec.controllers.storage.selector"),
    Mistake("storage.volumes of controllers", controllers(storage={"size": "1Gi",
        "volumes": [{"name": "more", "size": "1Gi"}]}), "spec.controllers.storage.volumes"),
    Mistake("storage.volumes with a name that is none", brokers(storage={"size": "1Gi",
        "volumes": [{"name": "data", "size": "1Gi"}]}), "spec.brokerPools[0].storage.volumes[0].name"),
    Mistake("storage.volumes with a name twice", brokers(storage={"size": "1Gi",
        "volumes": [{"name": "a", "size": "1Gi"}, {"name": "a", "size": "2Gi"}]}),
        "spec.brokerPools[0].storage.volumes[1].name"),
    Mistake("storage.volumes without a size", brokers(storage={"size": "1Gi", "volumes": [{"name": "a"}]}),
        "spec.brokerPools[0].storage.volumes[0].size"),
    Mistake("storage.volumes over a volume of the pod", brokers(storage={"size": "1Gi",
        "volumes": [{"name": "a", "size": "1Gi"}]}, pod={"volumes": [{"name": "data-a", "emptyDir": {}}]}),
        "spec.brokerPools[0].pod.volumes"),
    # listeners and ports
    Mistake("endpoints.broker with a port twice", {"endpoints": {"broker": [PLAIN, {"name": "CLIENTS", "port": 9092}]}},
        "spec.endpoints.broker"),
    Mistake("endpoints.broker with a name twice",
        {"endpoints": {"broker": [PLAIN, {"name": "PLAINTEXT", "port": 9094}]}}, "spec.endpoints.broker"),
    Mistake("endpoints.broker with a port below 1024", {"endpoints": {"broker": [{"name": "PLAINTEXT", "port": 80}]}},
        "spec.endpoints.broker[0].port"),
    Mistake("endpoints.broker with a name in small letters",
        {"endpoints": {"broker": [{"name": "plain", "port": 9092}]}}, "spec.endpoints.broker[0].name"),
    Mistake("endpoints.broker that is empty", {"endpoints": {"broker": []}}, "spec.endpoints.broker"),
    Mistake("endpoints.broker with another first port",
        {"endpoints": {"broker": [{"name": "PLAINTEXT", "port": 19092}]}}, ""),
    Mistake("endpoints.broker whose first listener is exposed", {"endpoints": {"broker": [OUTSIDE, PLAIN]}},
        "spec.endpoints.broker"),
    Mistake("exposure LoadBalancer where nothing balances", {"endpoints": {"broker": [PLAIN, OUTSIDE]}},
        "AddressPending"),
    # configuration
    Mistake("config.common with a name that ends the process", {"config": {"common": {"explode": "yes"}}},
        "CrashLoopBackOff"),
    Mistake("config.controller with a name that ends the process", {"config": {"controller": {"explode": "yes"}}},
        "CrashLoopBackOff"),
    Mistake("config.broker with a name that ends the process", {"config": {"broker": {"explode": "yes"}}},
        "CrashLoopBackOff"),
    Mistake("brokerPools[].config with a name that ends the process", brokers(config={"explode": "yes"}),
        "CrashLoopBackOff"),
    Mistake("config with a name of the operator", {"config": {"common": {"node.id": "7"}}},
        "spec.config.common[node.id]"),
    Mistake("config with a value of two lines", {"config": {"broker": {"a": "b\nc"}}}, "spec.config.broker[a]"),
    Mistake("config with a name that is none", {"config": {"broker": {"a b": "c"}}}, "spec.config.broker[a b]"),
    # versions
    Mistake("metadataVersion.value that does not exist", {"metadataVersion": {"value": "9.9"}},
        "spec.metadataVersion.value"),
    Mistake("metadataVersion.value that no node supports", {"metadataVersion": {"value": "4.3"}}, "VersionBlocked"),
    Mistake("metadataVersion.value below the final one", {"metadataVersion": {"value": "3.7"}}, "DowngradeRefused"),
    Mistake("metadataVersion.value beside FollowVersionAfterSoak",
        {"metadataVersion": {"policy": "FollowVersionAfterSoak", "value": "4.3"}}, "spec.metadataVersion.value"),
    Mistake("metadataVersion.soak that is no duration",
        {"metadataVersion": {"policy": "FollowVersionAfterSoak", "soak": "long"}}, "spec.metadataVersion.soak"),
    # nodes
    Mistake("controllers.replicas that is even", controllers(replicas=2), "spec.controllers.replicas"),
    Mistake("controllers.replicas for which there is no room", controllers(replicas=7, pod={"affinity": ONE_EACH}),
        "Unschedulable"),
    Mistake("controllers.replicas 1 instead of 3", controllers(replicas=1), ""),
    Mistake("brokerPools[].replicas 0 instead of 2", brokers(0), ""),
    Mistake("brokerPools[].replicas 9 instead of 2", brokers(9), ""),
    Mistake("brokerPools[].replicas lower than the replicas of a topic", brokers(1), "ScaleDownBlocked", around=placed,
        new=False),
    Mistake("brokerPools[].nodeIdRange with too few ids", brokers(2, nodeIdRange={"start": 100, "end": 100}),
        "spec.brokerPools[0].nodeIdRange"),
    Mistake("brokerPools[].nodeIdRange that overlaps the controllers'", brokers(2, nodeIdRange={"start": 5, "end": 20}),
        "spec.brokerPools[0].nodeIdRange"),
    Mistake("brokerPools[].nodeIdRange whose ids were another pool's", {"brokerPools": [pool("d", 2, 100)]},
        "NodeIDTaken", new=False),
    Mistake("brokerPools[].name that is none", {"brokerPools": [pool("A-B", 2, 100)]}, "spec.brokerPools[0].name"),
    Mistake("brokerPools[].excludedNodeIds outside of the range", brokers(2, excludedNodeIds=[7]),
        "spec.brokerPools[0].excludedNodeIds"),
    Mistake("brokerPools[].excludedNodeIds of the wrong broker", brokers(2, excludedNodeIds=[100]), ""),
    Mistake("a pool that is left out", {"brokerPools": []}, "PoolRemoved", new=False),
    Mistake("scaleDown.timeout that is no duration", brokers(2, scaleDown={"timeout": "soon"}),
        "spec.brokerPools[0].scaleDown.timeout"),
    # life
    Mistake("deletionPolicy.volumes that is none", {"deletionPolicy": {"volumes": "Keep"}},
        "spec.deletionPolicy.volumes"),
    Mistake("deletionPolicy.volumes Delete instead of Retain", {"deletionPolicy": {"volumes": "Delete"}}, ""),
    Mistake("recoveryPolicy.debounce that is no duration", {"recoveryPolicy": {"debounce": "ten"}},
        "spec.recoveryPolicy.debounce"),
    Mistake("recoveryPolicy.lostDisk Report while a disk is lost", {"recoveryPolicy": {"lostDisk": "Report"}},
        "DiskLost", around=disk_lost, new=False),
    Mistake("recoveryPolicy.nodeGone Wait while a machine is gone", {"recoveryPolicy": {"nodeGone": "Wait"}},
        "DiskSuspect", {"recoveryPolicy": {"nodeGone": "TreatAsLost"}}, node_lost, new=False),
    Mistake("rollout.strategy OnDelete", {"rollout": {"strategy": "OnDelete"}, **image(tag="2")}, "RestartPending",
        image(tag="2"), new=False),
    Mistake("rollout.readyTimeout that is no duration", {"rollout": {"readyTimeout": "-1s"}},
        "spec.rollout.readyTimeout"),
    Mistake("rollout.onBadRevision Halt with a bad image",
        {"rollout": {"readyTimeout": "12s", "onBadRevision": "Halt"}, **image(tag="9")}, "ImagePullBackOff",
    image(tag="2"), broken(9)),
    Mistake("rollout.readyTimeout that is shorter than a start", {"rollout": {"readyTimeout": "1s"}, **image(tag="2")},
        "", image(tag="2"), new=False),
    Mistake("changePolicy.mode Plan that nobody approves", {"changePolicy": {"mode": "Plan"}, **image(tag="2")},
        "PlanPendingApproval", image(tag="2")),
    Mistake("lifecycle.state Hibernated", {"lifecycle": {"state": "Hibernated"}}, ""),
    Mistake("lifecycle.state Suspended", {"lifecycle": {"state": "Suspended"}}, ""),
    Mistake("lifecycle.state that is none", {"lifecycle": {"state": "Asleep"}}, "spec.lifecycle.state"),
    Mistake("bootstrap.policy AdoptOnly with nothing to adopt", {"bootstrap": {"policy": "AdoptOnly"}}, ""),
    Mistake("clusterID of another cluster", {"clusterID": "4L6g3nShT-eMCtK--X86sw"}, "ClusterIDMismatch", new=False),
    Mistake("clusterID that is none", {"clusterID": "short"}, "spec.clusterID"),
)  # fmt: skip
