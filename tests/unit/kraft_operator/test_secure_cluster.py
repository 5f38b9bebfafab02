"""A cluster that is secure from its first pass on: its authority and certificates, how the operator gets in, and what
nobody ever sees. The real reconciler over the model of Kubernetes; certificates are real ones.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from controller_runtime.configuration.config import load
from controller_runtime.security.listener_security import PLAINTEXT
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.tls_settings import ClientAuth
from kraft_operator.security.certificates import facts
from support.operator_model.secure_runs import (
    Calendar,
    SecureRun,
    data,
    formed,
    later,
    properties,
    secure,
    told,
)
from support.operator_model.world import World
from support.operator_model.world_api import Died, Faults, WorldApi

pytestmark = pytest.mark.unit

T = TypeVar("T")

NODES = ("c-0-tls", "c-1-tls", "c-2-tls", "c-100-tls", "c-101-tls")
LEAFS = (*NODES, "c-operator-tls")


@dataclass(slots=True)
class DeathAtCall(Faults):
    """The operator dies at the first such write: right before it, or right after it happened."""

    what: str
    after: bool
    met: bool = False

    def write(self, what: str, call: Callable[[], T]) -> T:
        if what != self.what or self.met:
            return call()
        self.met = True
        if self.after:
            call()
        raise Died(what)


def test_a_secure_cluster_forms_with_an_authority_and_a_certificate_for_each_node() -> None:
    run = formed()
    assert set(run.world.secrets) == {"c-ca", "c-ca-cert", *LEAFS}
    authority = told(run, "c-ca").fingerprint
    assert facts(data(run, "c-ca-cert", "ca.crt")).fingerprint == authority
    for name in LEAFS:
        assert facts(data(run, name, "ca.crt")).fingerprint == authority
    assert told(run, "c-100-tls").subject == "CN=c-node-100,OU=n,O=c"
    assert {"c-b-100-0.c-nodes.n.svc.cluster.local", "c-bootstrap.n.svc", "localhost"} <= told(run, "c-100-tls").hosts
    assert "c-bootstrap.n.svc" not in told(run, "c-0-tls").hosts
    assert told(run, "c-operator-tls").hosts == frozenset()


def test_nobody_but_the_authoritys_own_secret_has_its_key() -> None:
    run = formed()
    key = data(run, "c-ca", "tls.key")
    others = [b64decode(text).decode() for name, each in run.world.secrets.items() if name != "c-ca"
              for text in each["data"].values()]  # fmt: skip
    assert not [text for text in others if key in text]
    assert set(run.world.secrets["c-ca-cert"]["data"]) == {"ca.crt"}


def test_the_operator_shows_its_own_certificate_and_asks_nobody_before_it_has_one() -> None:
    run = secure()
    run.tick()
    assert run.api.asked is not None
    assert (run.api.asked.security, set(run.api.asked.controllers.values())) == (PLAINTEXT, set())
    run.settle()
    assert run.api.asked.security.protocol is SecurityProtocol.SSL
    tls = run.api.asked.security.tls
    assert tls is not None
    assert tls.keystore is not None
    assert tls.keystore.chain == data(run, "c-operator-tls", "tls.crt")


def test_pods_mount_their_own_certificate_and_nothing_else_of_the_cluster() -> None:
    run = formed()
    for node, name in ((0, "c-controller-0"), (100, "c-b-100")):
        spec = run.world.children["StatefulSet", name].live["spec"]["template"]["spec"]
        secrets = [each["secret"]["secretName"] for each in spec["volumes"] if "secret" in each]
        assert secrets == [f"c-{node}-tls"]
        with_it = [each["name"] for each in (*spec["initContainers"], *spec["containers"])
                   if "tls" in [mount["name"] for mount in each["volumeMounts"]]]  # fmt: skip
        assert with_it == ["kafka"]


def test_a_secure_cluster_without_listeners_of_its_own_gets_one_for_itself_and_one_for_clients() -> None:
    found = properties(formed(), "c-b-100")
    assert found["listeners"] == "REPLICATION://:9091,CLIENTS://:9092"
    assert found["listener.security.protocol.map"] == "CONTROLLER:SSL,REPLICATION:SSL,CLIENTS:SASL_SSL"
    assert found["listener.name.replication.ssl.client.auth"] == "required"
    assert found["super.users"] == "User:CN=c-node,OU=n,O=c;User:CN=c-operator,OU=n,O=c"
    assert "allow.everyone.if.no.acl.found" not in found


def test_a_node_more_restarts_no_other_node() -> None:
    """All nodes are one principal: who may do everything does not depend on how many they are."""
    run = formed()
    before = {node: pod.uid for node, pod in run.world.pods.items()}
    run.api.edit(brokerPools=[{**run.api.resource["spec"]["brokerPools"][0], "replicas": 3}])
    run.settle()
    assert {node: run.world.pods[node].uid for node in before} == before
    assert "c-102-tls" in run.world.secrets


def test_certificates_are_renewed_at_two_thirds_of_their_life_without_a_restart() -> None:
    """OPS-02: the files are replaced below running nodes."""
    run = formed()
    pods = {node: pod.uid for node, pod in run.world.pods.items()}
    before = {name: told(run, name) for name in LEAFS}
    later(run, timedelta(days=59))
    assert {name: told(run, name) for name in LEAFS} == before
    later(run, timedelta(days=2))
    for name in LEAFS:
        assert told(run, name).fingerprint != before[name].fingerprint, name
        assert (told(run, name).subject, told(run, name).hosts) == (before[name].subject, before[name].hosts)
    assert {node: pod.uid for node, pod in run.world.pods.items()} == pods
    assert run.condition("Ready")["status"] == "True"
    assert run.api.asked is not None
    assert run.api.asked.security.tls is not None
    assert run.api.asked.security.tls.keystore is not None
    assert run.api.asked.security.tls.keystore.chain == data(run, "c-operator-tls", "tls.crt")


@pytest.mark.parametrize("damage", ["deleted", "garbage", "half"])
def test_a_secret_that_is_deleted_or_damaged_is_made_again(damage: str) -> None:
    """OPS-11: nodes go on with what they have."""
    run = formed()
    pods = {node: pod.uid for node, pod in run.world.pods.items()}
    secret = run.world.secrets["c-1-tls"]
    match damage:
        case "deleted":
            del run.world.secrets["c-1-tls"]
        case "garbage":
            secret["data"]["tls.crt"] = b64encode(b"\xff\x00 no certificate").decode()
        case _:
            secret["data"]["tls.key"] = run.world.secrets["c-0-tls"]["data"]["tls.key"]
    later(run, timedelta(0))
    assert told(run, "c-1-tls").subject == "CN=c-node-1,OU=n,O=c"
    assert {node: pod.uid for node, pod in run.world.pods.items()} == pods


@pytest.mark.parametrize("damage", ["deleted", "garbage"])
def test_a_lost_authority_is_never_replaced_unasked(damage: str) -> None:
    """Running nodes trust the old one: another would cut every node that restarts off from the others."""
    run = formed()
    kept = run.world.secrets["c-ca"]
    if damage == "deleted":
        del run.world.secrets["c-ca"]
    else:
        run.world.secrets["c-ca"] = {**kept, "data": {**kept["data"], "tls.key": b64encode(b"nothing").decode()}}
    before = {name: told(run, name) for name in LEAFS}
    later(run, timedelta(days=61))
    assert {name: told(run, name) for name in LEAFS} == before
    found = run.condition("CertificatesValid")
    assert (found["status"], found["reason"]) == (
        "False",
        "AuthorityLost" if damage == "deleted" else "AuthorityUnreadable",
    )
    assert "c-ca" in found["message"]
    run.world.secrets["c-ca"] = kept
    later(run, timedelta(0))
    assert told(run, "c-0-tls").fingerprint != before["c-0-tls"].fingerprint
    assert run.condition("CertificatesValid")["status"] == "True"


def test_a_new_address_is_in_the_certificate_before_a_listener_uses_it() -> None:
    """OPS-05."""
    listeners = [{"name": "REPLICATION", "port": 9091}, {"name": "CLIENTS", "port": 9092}]
    run = formed(endpoints={"broker": listeners})
    outside = {"name": "OUTSIDE", "port": 9094, "exposure": "LoadBalancer", "advertisedHost": "kafka.example.com"}
    run.world.balancers = True
    run.api.writes.clear()
    run.api.edit(endpoints={"broker": [*listeners, outside]})
    run.settle()
    assert "kafka.example.com" in told(run, "c-100-tls").hosts
    assert "kafka.example.com" not in told(run, "c-0-tls").hosts
    writes = run.api.writes
    assert writes.index("replace Secret/c-100-tls") < writes.index("apply StatefulSet/c-b-100")
    assert properties(run, "c-b-100")["listener.security.protocol.map"].endswith("OUTSIDE:SASL_SSL")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("what", ["create Secret/c-ca", "apply Secret/c-ca-cert", "create Secret/c-1-tls"])
def test_an_operator_that_dies_at_a_secret_leaves_what_the_next_one_finishes(what: str, after: bool) -> None:
    run = secure()
    run.api.faults = death = DeathAtCall(what, after)
    run.settle()
    assert (run.deaths, death.met) == (1, True)
    assert set(run.world.secrets) == {"c-ca", "c-ca-cert", *LEAFS}
    authority = told(run, "c-ca").fingerprint
    leafs = set(run.world.secrets) - {"c-ca"}
    assert {facts(data(run, name, "ca.crt")).fingerprint for name in leafs} == {authority}
    assert run.condition("Ready")["status"] == "True"


def test_no_key_is_told_anywhere() -> None:
    """OPS-14: in no status, Event, ledger, claim, child or text of a value."""
    run = formed()
    later(run, timedelta(days=61))
    keys = [data(run, name, "tls.key").splitlines()[1] for name in ("c-ca", *LEAFS)]
    world: list[object] = [
        run.api.resource,
        run.api.events,
        run.world.ledger_data,
        [each.marks for each in run.world.claims.values()],
    ]
    world += [child.live for child in run.world.children.values()]
    text = json.dumps(world, default=str) + repr(run.api.asked) + repr(run._process)
    assert run.api.events
    assert not [key for key in keys if key in text]
    assert "PRIVATE KEY" not in text


def test_security_is_decided_when_the_cluster_is_formed() -> None:
    run = formed()
    assert run.world.ledger is not None
    assert run.world.ledger.security == "Required"
    pods = {node: pod.uid for node, pod in run.world.pods.items()}
    run.api.edit(security={"tls": {"mode": "Disabled"}})
    run.settle()
    assert run.condition("Stalled")["reason"] == "SecurityModeIsKept"
    assert "Required" in run.condition("Stalled")["message"]
    assert run.condition("Secure")["status"] == "True"
    assert {node: pod.uid for node, pod in run.world.pods.items()} == pods
    assert "CONTROLLER:SSL" in properties(run, "c-controller-0")["listener.security.protocol.map"]


def test_a_plaintext_cluster_stays_one_and_says_so() -> None:
    run = SecureRun(WorldApi(World()))
    run.calendar = Calendar()
    run.settle()
    assert run.world.secrets == {}
    assert (run.condition("Secure")["status"], run.condition("Secure")["reason"]) == ("False", "Disabled")
    assert run.condition("Ready")["status"] == "True"
    assert "CONTROLLER:PLAINTEXT" in properties(run, "c-controller-0")["listener.security.protocol.map"]


def test_a_ledger_that_is_made_again_from_claims_keeps_the_security() -> None:
    run = formed()
    pods = {node: pod.uid for node, pod in run.world.pods.items()}
    run.world.ledger_data = None
    run.api.edit(security={"tls": {"mode": "Disabled"}})
    run.settle()
    assert run.world.ledger is not None
    assert (run.world.ledger.origin.value, run.world.ledger.security) == ("Rebuilt", "Required")
    assert {node: pod.uid for node, pod in run.world.pods.items()} == pods


def test_when_nothing_changes_nothing_is_written() -> None:
    run = formed()
    run.api.writes.clear()
    for _ in range(5):
        run.tick()
    assert run.api.writes == []


def test_secrets_are_read_by_name_and_seldom() -> None:
    run = formed()
    run.api.reads = 0
    for _ in range(5):
        run.tick()
    assert run.api.reads < 5 * len(LEAFS)


def test_a_node_reads_the_file_that_is_written_for_it(tmp_path: Path) -> None:
    """SEC-01: every listener of a secure cluster is TLS by the node's own reading, and its own principal passes."""
    run = formed()
    brokers = {"REPLICATION": True, "CLIENTS": False}
    for name, listeners in (("c-controller-0", {"CONTROLLER": True}), ("c-b-100", brokers)):
        path = tmp_path / f"{name}.properties"
        path.write_text(run.world.children["ConfigMap", name].live["data"]["server.properties"])
        config = load(str(path))
        for listener, mutual in listeners.items():
            security = config.listener_security[listener]
            assert security.tls is not None
            assert (security.tls.client_auth is ClientAuth.REQUIRED) == mutual
        first = config.listener_security[next(iter(listeners))]
        assert first.tls is not None
        mapped = {first.tls.rules.principal_name(told(run, each).subject) for each in NODES}
        assert mapped == {"CN=c-node,OU=n,O=c"}
        assert first.tls.rules.principal_name("CN=c-node-1,OU=n,O=d") == "CN=c-node-1,OU=n,O=d"
        assert config.security.authorizer is not None
        operator = first.tls.rules.principal_name(told(run, "c-operator-tls").subject)
        assert config.security.authorizer.super_users == {f"User:{each}" for each in (*mapped, operator)}
