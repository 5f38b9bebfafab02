"""Nodes that move to another storage class under clients, and a roll that waits for its maintenance window.

One cluster on the class of the devcluster, and a second class beside it. An override names the node; an operation has
its disk replaced: the new one is of the new class, under a new directory id, and what was acknowledged is all there.
The broker moves first: the topics that are made while the voter moves have one replica each, and no whole broker's disk
is replaced that has the only one.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import CLAIM, OPERATION, STATEFUL_SET, STORAGE_CLASS, VOLUME
from support.clients.steady_load import topics
from support.clients.topic_client import nothing_is_lost, topic_client
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, OperatorProcess, Story, default_spec, eventually, operator
from support.kubernetes.producing import producing

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

Object = dict[str, Any]
BROKER = 101
AHEAD = timedelta(seconds=160)
"""When the window opens, counted from the edit that needs it; it opens on a full minute, so up to one earlier."""


@pytest.fixture(scope="module")
def other_class(kubernetes: Kubernetes) -> Iterator[str]:
    """As the default class is, under another name."""
    found = kubernetes.gateway.list(STORAGE_CLASS, None)
    default = next(each for each in found if "is-default-class" in str(each["metadata"].get("annotations")))
    marks = default["metadata"]["annotations"].items()
    kept = {key: each for key, each in marks if "is-default-class" not in key and "last-applied" not in key}
    name = f"other-{os.getpid()}"
    copied = ("provisioner", "reclaimPolicy", "volumeBindingMode", "parameters", "allowVolumeExpansion")
    body: Object = {key: default[key] for key in copied if key in default}
    meta = {"name": name, "annotations": kept}
    made = kubernetes.gateway.create(STORAGE_CLASS, None, {**body, "metadata": meta})
    yield name
    kubernetes.gateway.delete(STORAGE_CLASS, "", name, uid=made["metadata"]["uid"])


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-class") as namespace:
        found = Story(kubernetes, namespace, images("runtime"))
        found.spec = default_spec(found.image)
        yield found


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19598) as process:
        story.apply()
        story.await_ready()
        yield process


@dataclass(frozen=True, slots=True)
class Disks:
    """What every node has at one moment."""

    directories: dict[int, str]
    claims: dict[str, Object]
    pods: dict[str, str]

    @classmethod
    def of(cls, story: Story) -> Disks:
        claims = story.kubernetes.gateway.list(CLAIM, story.namespace, f"kraft.quorate.dev/cluster={story.name}")
        pods = {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}
        return cls(story.directories(), {each["metadata"]["name"]: each for each in claims}, pods)

    def class_of(self, claim: str) -> str:
        return str(self.claims[claim]["spec"]["storageClassName"])

    def without(self, set_name: str, node_id: int) -> tuple[dict[int, str], dict[str, str], dict[str, str]]:
        """The other nodes: who has which directory, which claim, which pod."""
        return (
            {each: directory for each, directory in self.directories.items() if each != node_id},
            {name: each["metadata"]["uid"] for name, each in self.claims.items() if name != f"data-{set_name}-0"},
            {name: uid for name, uid in self.pods.items() if name != f"{set_name}-0"},
        )


def operated(story: Story, kind: str, node_id: int, look: Callable[[], object]) -> None:
    """Have this node's disk replaced; `look` is asked all the while."""
    gateway, name = story.kubernetes.gateway, f"move-{node_id}"
    body = {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": {"name": name}}
    body["spec"] = {"clusterName": story.name, "type": kind, "nodeID": node_id}
    gateway.create(OPERATION, story.namespace, body)

    def done() -> Object | None:
        look()
        status: Object = gateway.get(OPERATION, story.namespace, name).get("status") or {}
        return status if status.get("phase") in ("Succeeded", "Failed", "Rejected", "Cancelled") else None

    ended = eventually(f"{kind} {node_id} has ended", done)
    assert ended["phase"] == "Succeeded", ended


def awaits_another_class(story: Story, before: Disks, claim: str, kind: str, node_id: int) -> None:
    """The override alone changes nothing but the condition, which tells what to do."""
    told = story.await_condition("StorageHealthy", "False", "VolumeOfAnotherClass")
    assert claim in told["message"]
    assert f"KRaftOperation {kind} of node {node_id}" in told["message"]
    now = Disks.of(story)
    assert (now.directories, now.pods) == (before.directories, before.pods)
    assert now.class_of(claim) == before.class_of(claim)


def has_moved(story: Story, before: Disks, set_name: str, node_id: int, wanted: str) -> None:
    """A new directory on a new claim of the class, the old claim and its volume gone, and the other nodes untouched."""
    story.await_condition("StorageHealthy", "True")
    story.await_ready()
    now, claim = Disks.of(story), f"data-{set_name}-0"
    assert now.directories[node_id] not in ("", before.directories[node_id])
    assert (node_id, before.directories[node_id]) in {
        (each["nodeID"], each["directoryID"]) for each in story.ledger()["writtenOff"]
    }
    assert now.class_of(claim) == wanted != before.class_of(claim)
    assert now.claims[claim]["metadata"]["uid"] != before.claims[claim]["metadata"]["uid"]
    assert now.without(set_name, node_id) == before.without(set_name, node_id)
    template = story.kubernetes.gateway.get(STATEFUL_SET, story.namespace, set_name)["spec"]["volumeClaimTemplates"][0]
    assert template["spec"]["storageClassName"] == wanted
    old = before.claims[claim]["spec"]["volumeName"]
    there = story.kubernetes.gateway.list
    eventually("the old volume is gone", lambda: old not in {each["metadata"]["name"] for each in there(VOLUME, None)})


def on_class(each: Object, node_id: int, storage_class: str) -> Object:
    overrides = [{"nodeID": node_id, "storageClassName": storage_class}]
    return {**each, "storage": {**each["storage"], "overrides": overrides}}


def test_a_broker_moves_to_another_class_under_a_producer(
    story: Story, running: OperatorProcess, other_class: str, tmp_path: Path, sampled: Callable[[str], None]
) -> None:
    set_name = f"{story.name}-b-{BROKER}"
    topics(story, "--create", "--topic", "steady", "--replica-assignment", f"{BROKER}:100")
    domain = f"{story.name}-nodes.{story.namespace}.svc.cluster.local:9092"
    servers = ",".join(f"{story.name}-b-{node}-0.{domain}" for node in (100, BROKER))
    before, began = Disks.of(story), time.monotonic()
    with producing(tmp_path, {"security.protocol": "PLAINTEXT"}, servers) as ended:
        story.apply(brokerPools=[on_class(each, BROKER, other_class) for each in story.spec["brokerPools"]])
        awaits_another_class(story, before, f"data-{set_name}-0", "ReplaceBroker", BROKER)
        operated(story, "ReplaceBroker", BROKER, lambda: None)
        has_moved(story, before, set_name, BROKER, other_class)
        written, longest, read = ended()
    took = time.monotonic() - began
    sampled(f"broker {BROKER} moved in {took:.0f} s: {written} records, at most {longest} ms between two, {read} read")
    assert written == read > 100
    told = topics(story, "--describe", "--topic", "steady")
    assert set(told.partition("Isr: ")[2].split()[0].split(",")) == {"100", str(BROKER)}, told


def test_a_voter_moves_to_another_class_and_a_majority_is_live_all_the_while(
    story: Story, running: OperatorProcess, other_class: str, tmp_path: Path, sampled: Callable[[str], None]
) -> None:
    leader = story.resource()["status"]["quorum"]["leaderID"]
    node_id = max(each for each in story.voters() if each != leader)
    set_name, seen = f"{story.name}-controller-{node_id}", set[tuple[int, int]]()

    def look() -> None:
        """How many voters there are and how many of them are live, as far as the status says it."""
        quorum = story.resource()["status"]["quorum"]
        if quorum.get("voters") and "live" in quorum:
            seen.add((len(quorum["voters"]), quorum["live"]))

    before, began = Disks.of(story), time.monotonic()
    with topic_client(story, "moved", tmp_path) as names:
        story.apply(controllers=on_class(story.spec["controllers"], node_id, other_class))
        awaits_another_class(story, before, f"data-{set_name}-0", "ReplaceVoter", node_id)
        count = len(names)
        operated(story, "ReplaceVoter", node_id, look)
        assert len(names) > count + 3, "nothing was acknowledged while the voter moved"
        has_moved(story, before, set_name, node_id, other_class)
        nothing_is_lost(story, names, len(names))
    sampled(f"voter {node_id} moved in {time.monotonic() - began:.0f} s: {len(names)} topics, (voters, live) {seen}")
    assert story.voters()[node_id] == (story.directories()[node_id], "Live")
    assert [state for _, state in story.voters().values()] == ["Live"] * 3
    assert (2, 2) in seen, f"the voter was never out of the set: {seen}"
    assert all(live >= voters // 2 + 1 for voters, live in seen), seen


def test_a_roll_waits_for_its_maintenance_window_says_so_and_goes_on_when_it_opens(
    story: Story, running: OperatorProcess, sampled: Callable[[str], None]
) -> None:
    before = Disks.of(story).pods
    opens = (datetime.now(UTC) + AHEAD).replace(second=0, microsecond=0)
    windows = [{"start": f"{opens:%H:%M}", "duration": "30m"}]
    story.apply(rollout={"maintenanceWindows": windows}, config={"common": {"num.io.threads": "4"}})
    said = f"a maintenance window opens at {opens:%Y-%m-%dT%H:%M:%SZ}"
    eventually("it is said", lambda: said in story.condition("RolloutComplete")["message"], 30)
    told = story.await_condition("RolloutComplete", "False", "RestartDeferred", 85)  # once it has waited for a minute
    assert said in told["message"], told
    assert set(before) == set(re.findall(r"\S+-0(?=[,\s])", told["message"])), told
    waited = 0
    while datetime.now(UTC) < opens - timedelta(seconds=1):
        assert Disks.of(story).pods == before, "a pod was restarted before its window opened"
        waited += 1
        time.sleep(1)
    assert waited > 3, "there was no time left in which it had to wait"
    last = story.condition("RolloutComplete")
    assert (last["status"], last["reason"]) == ("False", "RestartDeferred")
    eventually("every pod is another one", lambda: not set(before.values()) & set(Disks.of(story).pods.values()))
    story.await_condition("RolloutComplete", "True")
    story.await_ready()
    first = min(datetime.fromisoformat(each["metadata"]["creationTimestamp"]) for each in story.pods().values())
    sampled(f"the first pod was made anew {(first - opens).total_seconds():.0f} s after its window opened")
    assert first >= opens
