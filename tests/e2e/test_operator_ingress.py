"""Listeners with one address for all brokers behind an ingress controller that nobody here wrote (Traefik): it passes
TLS on by the Ingresses and by the TLSRoutes that the operator made, and clients write to and read from every broker.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import TLS_ROUTES
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.operator_process import DEVCLUSTER, Images, Story, eventually, operator, pool
from support.kubernetes.secure_clients import Client, is_ready, secret, user
from support.kubernetes.traefik import CLASS, PORT, gateway, gateway_api, program, traefik

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3600)]

COUNT = 10


def listener(name: str, port: int, exposure: str, **more: Any) -> dict[str, Any]:
    hosts = {"bootstrapHost": begin(name), "brokerHost": f"broker-{{nodeID}}.{name.lower()}.passed.test"}
    return {"name": name, "port": port, "exposure": exposure, "passthrough": {**hosts, "port": PORT, **more}}


def begin(name: str) -> str:
    return f"kafka.{name.lower()}.passed.test"


@pytest.fixture(scope="module")
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    program()
    folder = Path(tmp_path_factory.mktemp("ingress"))
    with kubernetes.namespace("op-ingress") as namespace, gateway_api(kubernetes):
        gateway(kubernetes, namespace, "edge")
        found = Story(kubernetes, namespace, images("runtime"))
        listeners = [
            {"name": "REPLICATION", "port": 9091},
            listener("EDGE", 9094, "Ingress", ingressClassName=CLASS),
            listener("ROUTED", 9095, "Gateway", parentRef={"name": "edge"}),
        ]
        controllers = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
        with operator(namespace, folder, images), traefik(namespace, folder / "traefik.log"):
            found.apply(
                security={"tls": {"mode": "Required"}}, controllers=controllers, brokerPools=[pool(2)],
                endpoints={"broker": listeners},
            )  # fmt: skip
            found.await_ready()
            yield found


@pytest.fixture
def client(story: Story, tmp_path: Path) -> Client:
    return Client(story, tmp_path)


@pytest.mark.parametrize("way", ["EDGE", "ROUTED"], ids=["Ingress", "Gateway"])
def test_clients_reach_every_broker_by_its_name(story: Story, client: Client, way: str) -> None:
    topic, name = f"by-{way.lower()}", f"ann-{way.lower()}"
    assigned = ("--replica-assignment", "100:101,101:100")
    client.run("topics", client.as_operator(), *client.own, "--create", "--topic", topic, *assigned)
    rights: list[dict[str, object]] = [
        {"resource": {"type": "Topic", "name": topic}, "operations": ["Read", "Write", "Describe"]}
    ]
    user(story, name, rights)
    eventually(f"{name} is ready", lambda: is_ready(story, name), 120)
    trusted = client.folder / "trusted.crt"
    trusted.write_text(secret(story, f"{name}-credentials", "ca.crt"))
    settings = {
        "bootstrap_servers": f"{begin(way)}:{PORT}", "security_protocol": "SASL_SSL", "ssl_cafile": str(trusted),
        "sasl_mechanism": "SCRAM-SHA-512", "sasl_plain_username": name,
        "sasl_plain_password": secret(story, f"{name}-credentials", "password"),
    }  # fmt: skip
    brokers = [f"broker-{each}.{way.lower()}.passed.test" for each in (100, 101)]
    told = eventually("all records come back", lambda: through(client.folder, settings, topic), 300)
    assert told == {"read": 2 * COUNT, "asked": sorted([begin(way), *brokers])}


def through(folder: Path, settings: dict[str, str], topic: str) -> dict[str, Any]:
    """Raises CalledProcessError as long as the controller, or a right of the user, has not come."""
    path = folder / "settings.json"
    path.write_text(json.dumps(settings))
    script = str(ROOT / "tests/support/kubernetes/client_by_name.py")
    command = [*DEVCLUSTER, "in", sys.executable, script, str(path), topic, "2", str(COUNT)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, timeout=300)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_a_route_that_somebody_deletes_is_made_again(story: Story) -> None:
    """Its controller has taken it: that is in its status."""
    kube, name = story.kubernetes.gateway, f"{story.name}-b-101-routed"
    before = kube.get(TLS_ROUTES[0], story.namespace, name)
    (parent,) = before["status"]["parents"]
    assert parent["controllerName"] == "traefik.io/gateway-controller"
    assert {each["type"]: each["status"] for each in parent["conditions"]}["Accepted"] == "True"
    kube.delete(TLS_ROUTES[0], story.namespace, name, uid=before["metadata"]["uid"])

    def again() -> bool:
        return bool(kube.get(TLS_ROUTES[0], story.namespace, name)["metadata"]["uid"] != before["metadata"]["uid"])

    eventually("it is there again", again, 120)
    story.await_ready()
