"""From raw objects to facts: absent stays absent, and a message counts only if it is this pod's."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator import pod_facts
from kraft_operator.observe import addresses
from kraft_operator.observed import Trouble
from storage_guard.formats import DiskVerdict, Grant, GrantMode, GuardStep, Report, Seen
from support.operator_model.world import World

pytestmark = pytest.mark.unit

REPORT = Report(GuardStep.INSPECT, DiskVerdict.EMPTY, "NeverFormatted", "the volume is empty", "u1", 0)


def raw(**status: Any) -> dict[str, Any]:
    labels = {
        "kraft.quorate.dev/node-id": "0",
        "kraft.quorate.dev/role": "controller",
        "kraft.quorate.dev/pool": "controller",
    }
    meta = {"name": "c-controller-0-0", "uid": "u1", "labels": {**labels, "controller-revision-hash": "r1"}}
    volumes = [{"name": "tmp"}, {"name": "data", "persistentVolumeClaim": {"claimName": "data-c-controller-0-0"}}]
    return {"metadata": meta, "spec": {"nodeName": "k1", "volumes": volumes}, "status": status}


def ended(name: str, message: str = "", code: int = 0) -> dict[str, Any]:
    return {"name": name, "state": {"terminated": {"exitCode": code, "message": message}}}


def test_a_pod_without_any_status_is_only_named() -> None:
    pod = pod_facts.pod(raw(), 0)
    assert (pod.name, pod.uid, pod.claim, pod.node, pod.revision) == (
        "c-controller-0-0", "u1", "data-c-controller-0-0", "k1", "r1",
    )  # fmt: skip
    assert not (pod.ready or pod.gate_waits or pod.gate_passed or pod.main_started or pod.inspect or pod.trouble)


def test_a_broker_is_asked_at_the_port_of_its_own_pod_whatever_the_resource_says_now() -> None:
    """Editing the first listener's port closed the gate of every roll for ever: nobody answered at the new one."""
    world = World()
    world.settle()
    pods = [pod_facts.pod(_with_ports(world, node_id), node_id) for node_id in (100, 101)]
    world.edit(endpoints={"broker": [{"name": "PLAINTEXT", "port": 19092}]})
    found = addresses(world.cluster, world.ledger, tuple(pods), ())
    assert [endpoint.port for endpoint in found.brokers.values()] == [9092, 9092]


def _with_ports(world: World, node_id: int) -> dict[str, Any]:
    """The pod that Kubernetes makes of the node's own template, running."""
    template = world.children["StatefulSet", f"c-b-{node_id}"].live["spec"]["template"]
    meta = {**template["metadata"], "name": f"c-b-{node_id}-0", "uid": f"u{node_id}"}
    status = {"containerStatuses": [{"name": "kafka", "state": {"running": {}}}]}
    return {"metadata": meta, "spec": template["spec"], "status": status}


def test_a_waiting_gate_and_its_report_are_seen() -> None:
    gate = {"name": "gate", "state": {"running": {}}}
    pod = pod_facts.pod(raw(initContainerStatuses=[ended("inspect", REPORT.to_json()), gate]), 0)
    assert pod.gate_waits
    assert pod.inspect == REPORT


@pytest.mark.parametrize("message", ["", "{}", "not json", REPORT.to_json().replace('"u1"', '"u0"'), '{"version":9}'])
def test_a_message_that_is_broken_or_another_pods_counts_for_nothing(message: str) -> None:
    assert pod_facts.pod(raw(initContainerStatuses=[ended("inspect", message)]), 0).inspect is None


def test_a_failed_inspect_counts_for_nothing() -> None:
    assert pod_facts.pod(raw(initContainerStatuses=[ended("inspect", REPORT.to_json(), 1)]), 0).inspect is None


def test_the_delivered_grant_is_known_by_its_nonce() -> None:
    item = raw()
    grant = Grant("u1", "p1", "v1", 0, "C", GrantMode.BROKER, "N", Seen(DiskVerdict.EMPTY))
    item["metadata"]["annotations"] = {"kraft.quorate.dev/grant": grant.to_json(), "kraft.quorate.dev/nudge": "3"}
    pod = pod_facts.pod(item, 0)
    assert (pod.grant_nonce, pod.nudges) == ("N", 3)
    item["metadata"]["annotations"] = {"kraft.quorate.dev/grant": "tampered", "kraft.quorate.dev/nudge": "x"}
    pod = pod_facts.pod(item, 0)
    assert (pod.grant_nonce, pod.nudges) == ("", 0)


def test_starting_up_is_no_trouble() -> None:
    waiting = {"name": "kafka", "state": {"waiting": {"reason": "PodInitializing"}}}
    assert pod_facts.pod(raw(containerStatuses=[waiting]), 0).trouble is None


def test_a_crash_loop_is_told_without_what_changes_by_itself() -> None:
    def looping(seconds: str) -> dict[str, Any]:
        message = f"back-off {seconds} restarting failed container=kafka pod=c-controller-0-0_n(u1)"
        last = {"terminated": {"exitCode": 137, "finishedAt": seconds}}
        waiting = {"reason": "CrashLoopBackOff", "message": message}
        return {"name": "kafka", "state": {"waiting": waiting}, "lastState": last, "restartCount": 4}

    first, later = (pod_facts.pod(raw(containerStatuses=[looping(each)]), 0) for each in ("10s", "5m0s"))
    assert (
        first.trouble
        == later.trouble
        == Trouble("CrashLoopBackOff", "the container ends again and again (exit code 137)", "kafka")
    )
    assert first.main_started


def test_the_last_words_of_a_container_that_failed_are_kept_without_its_secrets() -> None:
    message = (
        "INFO starting\nERROR cannot open listener SSL: ssl.keystore.password=geheim is wrong\n\tat a.B.c(D.java:7)\n"
    )
    ended = {"terminated": {"exitCode": 1, "message": message}}
    waits = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}}
    for state in (
        {"state": ended},
        {"state": waits, "lastState": ended},
        {"state": {"running": {}}, "lastState": ended},
    ):
        pod = pod_facts.pod(raw(containerStatuses=[{"name": "kafka", **state}]), 0)
        assert pod.last_words == "ERROR cannot open listener SSL: ssl.keystore.password=[hidden] is wrong"
    stopped = {"state": {"running": {}}, "lastState": {"terminated": {"exitCode": 0, "message": message}}}
    assert pod_facts.pod(raw(containerStatuses=[{"name": "kafka", **stopped}]), 0).last_words == ""


def test_a_pod_no_node_takes_is_told_in_the_schedulers_words() -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available",
    }
    assert pod_facts.pod(raw(conditions=[condition]), 0).trouble == Trouble("Unschedulable", "0/3 nodes are available")


def test_a_claim_counts_its_volume_only_when_bound() -> None:
    item = {
        "metadata": {"name": "data-c-b-100-0", "uid": "p1",
            "annotations": {"kraft.quorate.dev/cluster-id": "C", "other": "x"}},
        "spec": {"volumeName": "v1"}, "status": {"phase": "Pending"},
    }  # fmt: skip
    assert pod_facts.claim(item, 100).volume == ""
    item["status"] = {"phase": "Bound"}
    claim = pod_facts.claim(item, 100)
    assert (claim.volume, dict(claim.identity)) == ("v1", {"cluster-id": "C"})


def test_a_revision_counts_only_when_the_sets_controller_has_looked() -> None:
    item = {"metadata": {"name": "s", "uid": "u", "generation": 2}, "spec": {"replicas": 1},
            "status": {"observedGeneration": 1, "updateRevision": "r1"}}  # fmt: skip
    assert pod_facts.node_set(item, 0).revision == ""
    item["status"] = {"observedGeneration": 2, "updateRevision": "r2"}
    assert pod_facts.node_set(item, 0).revision == "r2"


def test_an_object_of_the_whole_cluster_belongs_to_no_node() -> None:
    assert pod_facts.node_id_of({"metadata": {}}) is None
    assert pod_facts.node_id_of({"metadata": {"labels": {"kraft.quorate.dev/node-id": "x1"}}}) is None


def test_class_and_selector_of_a_claim_template_are_seen_as_the_resource_says_them() -> None:
    spec = {"storageClassName": "fast", "selector": {"matchLabels": {"b": "2", "a": "1"}}}
    assert pod_facts.template_kind([{"spec": spec}]) == ("fast", '{"matchLabels": {"a": "1", "b": "2"}}')
    assert pod_facts.template_kind([{"spec": {}}]) == pod_facts.template_kind([]) == ("", "")
