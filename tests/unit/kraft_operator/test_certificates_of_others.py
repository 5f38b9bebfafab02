"""Certificates that somebody else issues: out of Secrets of a user's, or of cert-manager, which the test plays. The
real reconciler over the model of Kubernetes; certificates are real ones.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from kraft_operator.credentials import Subject
from kraft_operator.security.certificates import Issuer, Pair, all_facts, facts
from support.operator_model.secure_runs import SecureRun, data, later, properties, secure, told

pytestmark = pytest.mark.unit

SHARED = {"trustedSecret": "corp-ca", "nodeSecret": "corp-nodes", "operatorSecret": "corp-operator"}
EACH = {**SHARED, "nodeSecret": "corp-$(NODE_ID)"}
NODES = (0, 1, 2, 100, 101)
HOSTS = ("*.c-nodes.n.svc.cluster.local", "c-bootstrap.n.svc.cluster.local")
OPERATOR = Subject("c-operator", "n", "c")
ALL_NODES = Subject("c-node", "n", "c")


def provided(fields: dict[str, str] = SHARED, waits: str = "0s", **changes: Any) -> dict[str, Any]:
    tls = {"mode": "Required", "issuer": "Provided", "provided": fields, "rotation": {"waitForClients": waits}}
    return {"security": {"tls": tls, **changes}}


class Corporation:
    """Somebody who issues certificates, and puts them into Secrets."""

    def __init__(self, run: SecureRun, name: str = "Corp") -> None:
        self.run, self.issuer = run, Issuer(run.calendar.now)
        self.authority = self.issuer.authority(Subject(name, "pki", "corp"))

    @property
    def fingerprint(self) -> str:
        return facts(self.authority.certificate).fingerprint

    def trust(self, *others: str) -> None:
        self.put("corp-ca", {"ca.crt": self.authority.certificate + "".join(others)})

    def issue(self, secret: str, subject: Subject, hosts: Iterable[str] = (), days: float = 90.0) -> Pair:
        made = self.issuer.issue(self.authority, subject, hosts, days * 86400)
        self.put(secret, {"tls.crt": made.certificate, "tls.key": made.key})
        return made

    def issue_all(self) -> None:
        self.issue("corp-operator", OPERATOR)
        self.issue("corp-nodes", ALL_NODES, HOSTS)

    def put(self, name: str, texts: dict[str, str]) -> None:
        body = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
        meta = {"name": name, "namespace": "n"}
        self.run.api._store_secret({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": body})


def begun(**changes: Any) -> tuple[SecureRun, Corporation]:
    run = secure(**{**provided(), **changes})
    corp = Corporation(run)
    corp.trust()
    return run, corp


def running() -> tuple[SecureRun, Corporation]:
    run, corp = begun()
    corp.issue_all()
    run.settle()
    assert run.condition("Ready")["status"] == "True", run.condition("Ready")
    return run, corp


def condition(run: SecureRun) -> tuple[str, str, str]:
    found = run.condition("CertificatesValid")
    return found["status"], found["reason"], found["message"]


def trusted_by(run: SecureRun, name: str) -> set[str]:
    return {each.fingerprint for each in all_facts(data(run, name, "ca.crt"))}


def test_a_cluster_forms_with_one_certificate_of_its_owners_for_all_nodes() -> None:
    run, corp = running()
    assert "c-ca" not in run.world.secrets
    assert condition(run)[:2] == ("True", "Valid")
    for node in NODES:
        name = f"c-{node}-tls"
        assert data(run, name, "tls.crt") == data(run, "corp-nodes", "tls.crt")
        assert data(run, name, "keystore.pem") == data(run, name, "tls.key") + data(run, name, "tls.crt")
        assert trusted_by(run, name) == {corp.fingerprint}
    assert data(run, "c-ca-cert", "ca.crt") == corp.authority.certificate
    found = properties(run, "c-b-100")
    assert found["super.users"].startswith("User:CN=c-node,OU=n,O=c;")


def test_each_node_gets_its_own_certificate_where_the_name_has_its_id() -> None:
    run, corp = begun(**provided(EACH))
    corp.issue("corp-operator", OPERATOR)
    for node in NODES:
        pod = f"c-{'b' if node >= 100 else 'controller'}-{node}-0.c-nodes.n.svc.cluster.local"
        corp.issue(f"corp-{node}", Subject(f"c-node-{node}", "n", "c"), (pod, HOSTS[1]))
    run.settle()
    assert run.condition("Ready")["status"] == "True"
    assert {told(run, f"c-{node}-tls").subject for node in NODES} == {f"CN=c-node-{node},OU=n,O=c" for node in NODES}


def encrypted(corp: Corporation) -> None:
    made = corp.issue("corp-nodes", ALL_NODES, HOSTS)
    key = load_pem_private_key(made.key.encode(), None)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    corp.put("corp-nodes", {"tls.crt": made.certificate, "tls.key": text.decode()})


def of_another_key(corp: Corporation) -> None:
    one, two = (corp.issue("corp-nodes", ALL_NODES, HOSTS) for _ in range(2))
    corp.put("corp-nodes", {"tls.crt": one.certificate, "tls.key": two.key})


def short(corp: Corporation) -> None:
    made = corp.issue("corp-nodes", ALL_NODES, HOSTS)
    key = rsa.generate_private_key(65537, 1024)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    corp.put("corp-nodes", {"tls.crt": made.certificate, "tls.key": text.decode()})


BAD: dict[str, tuple[Callable[[Corporation], object], str]] = {
    "missing": (lambda corp: None, "make the Secret corp-nodes: it is to hold tls.crt and tls.key"),
    "no key": (lambda corp: corp.put("corp-nodes", {"tls.crt": "x"}), "corp-nodes: it has no tls.key"),
    "no PEM": (lambda corp: corp.put("corp-nodes", {"tls.crt": "x", "tls.key": "y"}), "it holds no certificate in PEM"),
    "an encrypted key": (encrypted, "correct the Secret corp-nodes: its key is encrypted"),
    "the key of another": (of_another_key, "correct the Secret corp-nodes: the key is of another certificate"),
    "a short key": (short, "its key of 1024 bits is too short"),
    "a stranger's": (
        lambda corp: Corporation(corp.run, "Stranger").issue("corp-nodes", ALL_NODES, HOSTS),
        "name the authority of corp-nodes too: none of those that are trusted has signed it",
    ),
    "another subject": (
        lambda corp: corp.issue("corp-nodes", Subject("ann", "n", "c"), HOSTS),
        "add User:CN=ann,OU=n,O=c to authorization.superUsers",
    ),
    "the operator's subject": (
        lambda corp: corp.issue("corp-nodes", OPERATOR, HOSTS), "issue corp-nodes for CN=c-node-0,OU=n,O=c",
    ),
    "no bootstrap": (
        lambda corp: corp.issue("corp-nodes", ALL_NODES, HOSTS[:1]),
        "issue corp-nodes for c-bootstrap.n.svc.cluster.local too",
    ),
    "no pods": (
        lambda corp: corp.issue("corp-nodes", ALL_NODES, HOSTS[1:]),
        "issue corp-nodes for c-controller-0-0.c-nodes.n.svc.cluster.local too",
    ),
    "a wildcard of two labels": (
        lambda corp: corp.issue("corp-nodes", ALL_NODES, ("*.n.svc.cluster.local", HOSTS[1])),
        "issue corp-nodes for c-controller-0-0.c-nodes.n.svc.cluster.local too",
    ),
    "ended": (
        lambda corp: corp.issue("corp-nodes", ALL_NODES, HOSTS, days=0), "renew corp-nodes: its certificate has ended",
    ),
    "a bundle of nothing": (
        lambda corp: corp.put("corp-ca", {"ca.crt": ""}), "correct the Secret corp-ca: it holds no certificate in PEM",
    ),
    "no bundle": (
        lambda corp: corp.run.world.secrets.pop("corp-ca"), "make the Secret corp-ca: its ca.crt is to hold",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_used_is_said_with_its_remedy_and_nothing_is_copied(what: str) -> None:
    run, corp = begun()
    corp.issue("corp-operator", OPERATOR)
    spoil, message = BAD[what]
    spoil(corp)
    for _ in range(4):
        run.tick()
    status, reason, text = condition(run)
    assert (status, reason) == ("False", "CertificateRefused")
    assert message in text
    assert not {"c-100-tls", "c-101-tls"} & set(run.world.secrets)
    corp.trust()
    corp.issue_all()
    later(run, timedelta(0))
    assert run.condition("Ready")["status"] == "True", run.condition("CertificatesValid")


def test_a_renewed_certificate_is_copied_without_a_restart_and_a_bad_one_touches_nothing() -> None:
    run, corp = running()
    pods = {node: pod.uid for node, pod in run.world.pods.items()}
    before = data(run, "c-0-tls", "tls.crt")
    later(run, timedelta(days=61))
    assert condition(run)[:2] == ("False", "CertificateEndsSoon")
    corp.issue("corp-nodes", ALL_NODES, HOSTS[1:])
    later(run, timedelta(0))
    assert "as before" in condition(run)[2] or "too" in condition(run)[2]
    assert data(run, "c-0-tls", "tls.crt") == before
    corp.issue_all()
    later(run, timedelta(0))
    assert data(run, "c-0-tls", "tls.crt") == data(run, "corp-nodes", "tls.crt") != before
    assert condition(run)[:2] == ("True", "Valid")
    assert {node: pod.uid for node, pod in run.world.pods.items()} == pods


def test_another_authority_is_trusted_by_all_before_anybody_shows_a_certificate_of_it() -> None:
    """C1 and C2, whatever its owner does in which order: here all at once."""
    run, corp = running()
    pods = {node: pod.uid for node, pod in run.world.pods.items()}
    new = Corporation(run, "New")
    before = data(run, "c-0-tls", "tls.crt")
    run.api.mute = {1}
    new.trust()
    new.issue_all()
    later(run, timedelta(0))
    for node in NODES:
        assert trusted_by(run, f"c-{node}-tls") == {corp.fingerprint, new.fingerprint}
        assert data(run, f"c-{node}-tls", "tls.crt") == before
    status, reason, text = condition(run)
    assert (status, reason) == ("True", "AuthorityRotates")
    assert "nodes 1 were not seen to trust it yet" in text
    run.api.mute = set()
    later(run, timedelta(0))
    assert condition(run)[:2] == ("True", "Valid")
    for node in NODES:
        assert trusted_by(run, f"c-{node}-tls") == {new.fingerprint}
        assert data(run, f"c-{node}-tls", "tls.crt") == data(run, "corp-nodes", "tls.crt")
    assert {node: pod.uid for node, pod in run.world.pods.items()} == pods


def renewed(waits: str) -> tuple[SecureRun, str]:
    """A cluster whose owner has issued everything by another authority, and what node 0 showed before."""
    run, old = begun(**provided(waits=waits))
    old.issue_all()
    run.settle()
    later(run, timedelta(days=9))
    new = Corporation(run, "New")
    new.trust()
    new.issue_all()
    before = data(run, "c-0-tls", "tls.crt")
    later(run, timedelta(0))
    return run, before


def test_clients_have_time_to_read_whom_to_trust_before_anybody_shows_a_certificate_of_another_authority() -> None:
    run, before = renewed("168h")
    assert len(trusted_by(run, "c-ca-cert")) == 2, "clients may read it from now on"
    later(run, timedelta(hours=167))
    assert data(run, "c-0-tls", "tls.crt") == before
    status, reason, text = condition(run)
    assert (status, reason) == ("True", "AuthorityRotates")
    assert "clients have 168 h to read c-ca-cert again (spec.security.tls.rotation.waitForClients)" in text
    run._process = None  # what is waited for is not in the memory of a process
    later(run, timedelta(hours=2))
    assert data(run, "c-0-tls", "tls.crt") == data(run, "corp-nodes", "tls.crt") != before
    assert len(trusted_by(run, "c-ca-cert")) == 1
    assert condition(run)[:2] == ("True", "Valid")


def test_nobody_waits_for_clients_until_a_certificate_ends() -> None:
    run, before = renewed("8760h")
    later(run, timedelta(days=71))
    assert data(run, "c-0-tls", "tls.crt") == before
    later(run, timedelta(days=2))
    assert data(run, "c-0-tls", "tls.crt") != before, "a tenth of its life is left"


def test_a_broker_more_gets_its_certificate_of_another_authority_at_once() -> None:
    run, _ = renewed("168h")
    run.api.edit(brokerPools=[{**run.api.resource["spec"]["brokerPools"][0], "replicas": 3}])
    later(run, timedelta(0))
    assert data(run, "c-102-tls", "tls.crt") == data(run, "corp-nodes", "tls.crt")


def test_a_cluster_of_the_operators_own_authority_gets_certificates_of_its_owners() -> None:
    run = secure()
    run.settle()
    old = trusted_by(run, "c-0-tls")
    corp = Corporation(run)
    corp.trust()
    corp.issue("corp-operator", OPERATOR)
    for node in NODES:
        corp.issue(f"corp-{node}", Subject(f"c-node-{node}", "n", "c"), told(run, f"c-{node}-tls").hosts)
    run.api.edit(**provided(EACH))
    later(run, timedelta(0))
    later(run, timedelta(0))
    assert condition(run)[:2] == ("True", "Valid")
    assert trusted_by(run, "c-0-tls") == {corp.fingerprint} != old
    run.api.edit(security={"tls": {"mode": "Required"}})
    later(run, timedelta(0))
    assert condition(run)[:2] == ("False", "IssuerIsKept")
    assert trusted_by(run, "c-0-tls") == {corp.fingerprint}


AT_ONCE = {"rotation": {"waitForClients": "0s"}}
ISSUED = {"security": {"tls": {"mode": "Required", "issuer": "CertManager", "issuerRef": {"name": "corp"}, **AT_ONCE}}}


class CertManager(Corporation):
    """Its controller: it fills the Secret of each Certificate that asks this issuer."""

    def attend(self) -> None:
        for name, each in (self.run.api.certificates or {}).items():
            spec = each["spec"]
            subject = spec["subject"]
            whom = Subject(spec["commonName"], subject["organizationalUnits"][0], subject["organizations"][0])
            hosts = (*spec.get("dnsNames", ()), *spec.get("ipAddresses", ()))
            days = float(spec["duration"].removesuffix("s")) / 86400
            made = self.issuer.issue(self.authority, whom, hosts, days)
            texts = {"tls.crt": made.certificate, "tls.key": made.key, "ca.crt": self.authority.certificate}
            self.put(spec["secretName"], texts)
            each["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
            assert name == spec["secretName"]


def test_cert_manager_is_asked_for_a_certificate_of_each_node_and_waited_for() -> None:
    run = secure(**ISSUED)
    run.api.certificates = {}
    for _ in range(4):
        run.tick()
    asked = run.api.certificates
    assert set(asked) == {"c-operator-issued", *(f"c-{node}-issued" for node in NODES)}
    spec = asked["c-100-issued"]["spec"]
    assert spec["issuerRef"] == {"name": "corp", "kind": "Issuer", "group": "cert-manager.io"}
    assert spec["privateKey"]["rotationPolicy"] == "Always"
    assert {"server auth", "client auth"} <= set(spec["usages"])
    assert {"c-b-100-0.c-nodes.n.svc.cluster.local", "c-bootstrap.n.svc"} <= set(spec["dnsNames"])
    asked["c-0-issued"]["status"] = {"conditions": [{"type": "Ready", "status": "False", "message": "no such issuer"}]}
    later(run, timedelta(0))
    status, reason, text = condition(run)
    assert (status, reason) == ("False", "CertificatesAwaited")
    assert "see to the Certificate c-0-issued: it is not Ready: no such issuer" in text
    manager = CertManager(run)
    manager.attend()
    later(run, timedelta(0))
    assert run.condition("Ready")["status"] == "True"
    assert condition(run)[:2] == ("True", "Valid")
    assert told(run, "c-100-tls").subject == "CN=c-node-100,OU=n,O=c"
    assert trusted_by(run, "c-100-tls") == {manager.fingerprint}


def test_without_cert_manager_nothing_is_asked_for_and_the_remedy_is_told() -> None:
    run = secure(**ISSUED)
    for _ in range(4):
        run.tick()
    assert condition(run)[:2] == ("False", "CertificateRefused")
    assert "install cert-manager, or set security.tls.issuer otherwise" in condition(run)[2]


def test_an_issuer_of_cert_manager_that_changes_its_authority_breaks_no_connection() -> None:
    """Certificates of the new one come one by one: each is shown when everybody trusts it."""
    run = secure(**ISSUED)
    run.api.certificates = {}
    for _ in range(4):
        run.tick()
    old, new = CertManager(run, "Old"), CertManager(run, "New")
    old.attend()
    run.settle()
    whole, some = run.api.certificates, ("c-100-issued", "c-operator-issued")
    run.api.certificates = {name: each for name, each in whole.items() if name in some}
    new.attend()
    run.api.certificates = whole
    later(run, timedelta(0))
    later(run, timedelta(0))
    assert trusted_by(run, "c-0-tls") == {old.fingerprint, new.fingerprint}
    assert data(run, "c-100-tls", "tls.crt") == data(run, "c-100-issued", "tls.crt")
    new.attend()
    later(run, timedelta(0))
    later(run, timedelta(0))
    assert trusted_by(run, "c-0-tls") == {new.fingerprint}
    assert condition(run)[:2] == ("True", "Valid")


def test_the_certificate_of_somebody_else_is_neither_changed_nor_used() -> None:
    run = secure(**ISSUED)
    run.api.certificates = {"c-0-issued": {"metadata": {"name": "c-0-issued"}, "spec": {"secretName": "x"}}}
    for _ in range(4):
        run.tick()
    assert run.api.certificates["c-0-issued"]["spec"] == {"secretName": "x"}
    assert "delete the Certificate c-0-issued" in condition(run)[2]
