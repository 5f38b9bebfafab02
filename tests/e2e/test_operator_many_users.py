"""A thousand KRaftUsers of one secure cluster on a real Kubernetes: all of them are made, and at rest they are no load:
nothing is written, and a Secret is read once in some minutes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft_operator.kube import USER
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool
from support.kubernetes.secure_clients import Client, of_user

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(2400)]

USERS = 1_000
REST_S = 180.0
NAMES = tuple(f"user-{number:04}" for number in range(USERS))


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-many-users") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images) as process:
        story.apply(
            security={"tls": {"mode": "Required"}},
            controllers={"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}},
            brokerPools=[pool(1)],
            endpoints={"broker": [{"name": "REPLICATION", "port": 9091}, {"name": "CLIENTS", "port": 9092}]},
        )
        story.await_ready()
        yield process


def manifest(story: Story, name: str) -> dict[str, object]:
    acl = {"resource": {"type": "Topic", "name": f"of-{name}"}, "operations": ["Describe"]}
    return {
        "apiVersion": USER.api,
        "kind": USER.kind,
        "metadata": {"name": name, "namespace": story.namespace},
        "spec": {"clusterName": story.name, "authentication": {"type": "Scram"}, "acls": [acl]},
    }


def ready(story: Story) -> int:
    said = story.kubernetes.kubectl("-n", story.namespace, "get", "kraftusers", "-o", "json")
    found = [each.get("status", {}).get("conditions") or () for each in json.loads(said)["items"]]
    return sum(any((one["type"], one["status"]) == ("Ready", "True") for one in each) for each in found)


def test_a_thousand_users_are_made_and_cost_nothing_at_rest(
    story: Story, running: OperatorProcess, tmp_path: Path
) -> None:
    items = [manifest(story, name) for name in NAMES]
    (tmp_path / "users.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    begun = time.monotonic()
    story.kubernetes.kubectl("-n", story.namespace, "create", "-f", str(tmp_path / "users.json"))
    created = time.monotonic() - begun
    eventually("all are ready", lambda: ready(story) == USERS, 900)
    made = time.monotonic() - begun
    client = Client(story, tmp_path)
    client.run("topics", client.as_operator(), *client.own, "--create", "--topic", f"of-{NAMES[-1]}")
    assert client.run("topics", of_user(story, NAMES[-1]), *client.clients, "--list").split() == [f"of-{NAMES[-1]}"]

    time.sleep(60.0)  # the last of what their making has set off
    reads, writes, cpu = running.reads(), running.writes(), running.cpu_seconds()
    time.sleep(REST_S)
    reads, writes, cpu = running.reads() - reads, running.writes() - writes, running.cpu_seconds() - cpu
    print(f"{USERS} users: created {created:.0f} s, ready {made:.0f} s; at rest {reads / REST_S:.1f} reads/s, "
          f"{writes} writes, {cpu / REST_S:.1%} of a processor")  # fmt: skip
    assert writes == 0
    assert reads < 10 * REST_S, "each Secret once in minutes"
