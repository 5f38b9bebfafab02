"""A plaintext cluster that runs becomes a secure one under a producer with acks=all, on a real Kubernetes: with the
bundled runtime, with Apache Kafka's own image, and the short way of a runtime with one controller.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.operator_process import (
    DEVCLUSTER,
    Images,
    OperatorProcess,
    Story,
    default_spec,
    eventually,
    operator,
    pool,
)
from support.kubernetes.producing import producing

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(2400)]

BIN: Final = "/opt/kafka/bin"
LONGEST_MS: Final = 20_000
"""Between two acknowledgements: a roll of a broker that leads, on a machine that is busy. It is the producer's own
deadline, so a longer pause fails it anyway.
"""


ONE_CONTROLLER: Final = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}


@pytest.fixture(scope="module", params=["runtime", "apache-kafka", "one-controller"])
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, request: pytest.FixtureRequest
) -> Iterator[Story]:
    with kubernetes.namespace("op-becomes") as namespace:
        found = Story(kubernetes, namespace, images(request.param.replace("one-controller", "runtime")))
        if request.param == "one-controller":
            found.spec = {**default_spec(found.image), "controllers": ONE_CONTROLLER}
        yield found


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19660) as process:
        story.apply(brokerPools=[pool(2)])
        story.await_ready()
        yield process


def host(story: Story, node: str) -> str:
    return f"{story.name}-{node}-0.{story.name}-nodes.{story.namespace}.svc"


def asked(mode: str, authorization: str = "Transition") -> dict[str, Any]:
    return {"tls": {"mode": mode, "migration": {"quiet": "5s"}}, "authorization": {"mode": authorization}}


def reached(story: Story, stage: str) -> bool:
    told = story.resource()["status"].get("tlsMigration") or {}
    assert told.get("stage") == stage, told
    return True


def serves(place: str, port: int) -> bool:
    """Whether somebody listens there."""
    code = f"import socket; socket.create_connection(('{place}', {port}), 3)"
    command = [*DEVCLUSTER, "in", sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, check=False, cwd=ROOT, timeout=60).returncode == 0


def test_a_plaintext_cluster_becomes_secure_below_a_producer(
    story: Story, running: OperatorProcess, tmp_path: Path
) -> None:
    """OPS-07, with Apache Kafka's image OPS-13: what was acknowledged is read back, nothing pauses longer than for a
    roll, the plaintext listener of the controllers is gone in the end, the clients' one is its owner's.
    """
    servers = ",".join(f"{host(story, f'b-{node}')}:9092" for node in (100, 101))
    story.kubernetes.kubectl(
        "-n", story.namespace, "exec", f"{story.name}-b-100-0", "-c", "kafka", "--", f"{BIN}/kafka-topics.sh",
        "--bootstrap-server", "localhost:9092", "--create", "--topic", "steady", "--partitions", "1",
        "--replication-factor", "2",
    )  # fmt: skip
    before = story.directories()
    with producing(tmp_path, {"security.protocol": "PLAINTEXT"}, servers) as ended:
        story.apply(security=asked("Required"))
        eventually("every node asks the authorizer", lambda: reached(story, "Authorized"), 1500)
        story.await_ready()
        written, longest, read = ended()
    print(f"{written} records, at most {longest} ms between two of them")
    assert written == read > 0
    assert longest < LONGEST_MS
    assert story.directories() == before
    assert serves(host(story, "controller-0"), 9095)
    assert not serves(host(story, "controller-0"), 9093)
    assert serves(host(story, "b-100"), 9092)
    assert story.condition("Secure")["reason"] == "PlaintextListener"
    entered = [each["note"] for each in story.events("StageEntered")]
    assert len(entered) >= 7, entered
