"""An authority that somebody puts into the Secret of the cluster's own before the resource is made, as where a running
cluster of Strimzi's is taken over: it issues what ours show, it is never overwritten, and what is no authority is
refused with the remedy before anything is issued. Certificates are real ones, laid out as Strimzi's.
"""

from __future__ import annotations

import copy
import ssl
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kraft_operator.security.certificates import Pair, all_facts, facts, read
from support.operator_model.secure_runs import BEGIN, Calendar, SecureRun, data, formed, later, properties, secure
from support.security import strimzi_certificates

pytestmark = pytest.mark.unit

LEAFS = ("c-0-tls", "c-1-tls", "c-2-tls", "c-100-tls", "c-101-tls", "c-operator-tls")
EC = ec.generate_private_key(ec.SECP256R1())


def authority(*, begins: datetime = BEGIN, **changes: Any) -> Pair:
    return strimzi_certificates.authority(begins=begins, **changes)


def understood(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> bool:
    """A handshake without sockets; raises SSLError for a certificate that the client does not believe."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(back, there, server_hostname=name), server.wrap_bio(there, back, server_side=True)]
    for _ in range(4):
        for each in tuple(ends):
            try:
                each.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(each)
    return not ends


def given(run: SecureRun, pair: Pair, *without: str) -> dict[str, Any]:
    """By a person, who knows nothing of labels."""
    texts = {"tls.key": pair.key, "tls.crt": pair.certificate}
    held = {key: b64encode(text.encode()).decode() for key, text in texts.items() if key not in without}
    meta = {"name": "c-ca", "namespace": "n", "uid": "by-hand", "resourceVersion": "7"}
    run.world.secrets["c-ca"] = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": held}
    return copy.deepcopy(run.world.secrets["c-ca"])


def test_an_authority_that_is_there_issues_what_nodes_show_and_is_never_written() -> None:
    run, pair = secure(), authority()
    kept = given(run, pair)
    run.settle()
    assert run.condition("Ready")["status"] == "True"
    assert run.condition("CertificatesValid")["reason"] == "Valid"
    assert run.world.secrets["c-ca"] == kept
    fingerprint = facts(pair.certificate).fingerprint
    assert data(run, "c-ca-cert", "ca.crt") == pair.certificate
    for name in LEAFS:
        leaf = Pair(data(run, name, "tls.key"), data(run, name, "tls.crt"))
        assert read(leaf, data(run, name, "ca.crt"))[1:] == (fingerprint, (fingerprint,))


def test_what_it_issues_names_its_key_as_its_own_certificate_does(tmp_path: Path) -> None:
    """Else OpenSSL and Java find no way from the one to the other; its signature alone is not what they look for."""
    run, today = secure(), datetime.now(UTC)
    run.calendar.date = today
    given(run, authority(begins=today))
    run.settle()
    for name in ("ca.crt", "keystore.pem"):
        (tmp_path / name).write_text(data(run, "c-100-tls", name))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "keystore.pem")
    assert understood(ssl.create_default_context(cafile=str(tmp_path / "ca.crt")), server, "c-b-100-0.c-nodes.n.svc")


REFUSED = {
    "no key": (authority(), ("tls.key",), "it has no tls.key"),
    "no certificate": (authority(), ("tls.crt",), "it has no tls.crt"),
    "another key": (replace(authority(), key=authority(key=EC).key), (), "the key is of another certificate"),
    "no authority": (authority(ca=False), (), "it may not sign others"),
    "may not sign": (authority(signs=False), (), "it may not sign others"),
    "has ended": (authority(begins=BEGIN - timedelta(days=400)), (), "its certificate has ended"),
    "not begun": (authority(begins=BEGIN + timedelta(days=40)), (), "its certificate has not begun yet"),
    "several": (replace(authority(), certificate=authority().certificate * 2), (), "it holds several certificates"),
    "short key": (authority(key=rsa.generate_private_key(65537, 1024)), (), "too short"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_authority_is_refused_before_anything_is_issued_until_it_is_mended(what: str) -> None:
    pair, without, why = REFUSED[what]
    run = secure()
    kept = given(run, pair, *without)
    run.settle()
    found = run.condition("CertificatesValid")
    assert (found["status"], found["reason"]) == ("False", "AuthorityRefused")
    assert found["message"].startswith("put key and certificate of one valid authority into the Secret c-ca")
    assert why in found["message"]
    assert "PRIVATE" not in str(run.api.resource["status"]) + str(run.api.events)
    assert run.world.secrets == {"c-ca": kept}
    assert not any(each.main_started for each in run.world.observed().pods)
    given(run, authority())
    later(run, timedelta(hours=1))
    assert run.condition("Ready")["status"] == "True"


COMBINED = {
    "controllers": {"role": "Combined", "replicas": 3, "nodeIdRange": {"start": 0, "end": 9}},
    "brokerPools": [],
}


def laid_out_by_another(layout: Any = None, **changes: object) -> tuple[SecureRun, str]:
    """A secure cluster that runs with an authority of its own, whose disks bear nothing of ours."""
    before = formed(**(layout or {}))
    run = SecureRun(before.api)
    run.calendar = Calendar()
    world = run.world
    assert world.ledger is not None
    cluster_id, directory = world.ledger.cluster_id, next(iter(world.ledger.entries)).directory_id
    world.ledger_data = None
    for forgotten in (world.pods, world.sets, world.children, world.formats, world.secrets):
        forgotten.clear()
    for claim in world.claims.values():
        claim.marks.clear()
        claim.unbound = True
        disk = world.disks[claim.volume]
        disk.facts = replace(disk.facts, marker=None)
    first = {"cluster-id": cluster_id, "node-id": "0", "directory-id": str(directory)}
    world.claims["data-c-controller-0-0"].marks.update(first)
    adopt = {"bootstrap": {"policy": "AdoptOnly"}, "recoveryPolicy": {"lostDisk": "Report"}}
    run.api.edit(clusterID=cluster_id, **adopt, **changes)
    return run, cluster_id


def bind(run: SecureRun, node_id: int) -> None:
    run.world.claims[f"data-c-{'controller' if node_id < 100 else 'b'}-{node_id}-0"].unbound = False
    if node_id in run.world.pods:
        run.world.pods[node_id].hindrance = None
    passes(run)


def passes(run: SecureRun) -> None:
    """What waits for its claim never settles."""
    for _ in range(20):
        run.tick()


def test_a_cluster_that_is_taken_over_gets_no_authority_that_its_nodes_do_not_trust() -> None:
    run, _ = laid_out_by_another()
    passes(run)
    found = run.condition("CertificatesValid")
    assert (found["status"], found["reason"]) == ("False", "AuthorityAwaited")
    assert "nodes 1, 2, 100 and 101 may trust another authority" in found["message"]
    assert run.world.secrets == {}
    given(run, authority())
    passes(run)
    assert set(run.world.secrets) == {"c-ca", "c-ca-cert", *LEAFS}


def test_no_other_authority_takes_its_place_before_every_node_is_taken_over() -> None:
    """C0: nobody can see whom nodes trust that are not ours; two thirds of its life may be over when it is given."""
    run, _ = laid_out_by_another()
    kept = given(run, authority(begins=BEGIN - timedelta(days=300)))
    run.api.annotate_resource(rotate="once")
    for node_id in (0, 1, 100, 101):
        bind(run, node_id)
        assert run.world.secrets["c-ca"] == kept
        found = run.condition("CertificatesValid")
        assert (found["status"], found["reason"]) == ("True", "AuthorityRotates")
    assert run.condition("CertificatesValid")["message"].endswith("node 2 has to be taken over first (C0)")
    assert run.world.formats == []
    bind(run, 2)
    assert run.world.ledger is not None
    assert run.world.ledger.doubted == ()
    assert run.world.formats == []
    passes(run)
    trusted = all_facts(data(run, "c-0-tls", "ca.crt"))
    assert "next.crt" in run.world.secrets["c-ca"]["data"]
    assert len(trusted) == 2
    run.calendar.date += timedelta(days=7, hours=1)
    run.now += 3600.0
    passes(run)
    assert data(run, "c-ca", "previous.crt") == data_of(kept, "tls.crt")


def data_of(secret: dict[str, Any], key: str) -> str:
    return b64decode(secret["data"][key]).decode()


OLD = "User:CN=old-kafka,O=io.strimzi"
"""As whom Strimzi's nodes come."""


def authorization(mode: str | None) -> dict[str, object]:
    asked = {"superUsers": [OLD], **({"mode": mode} if mode else {})}
    return {"security": {"tls": {"mode": "Required"}, "authorization": asked}}


@pytest.mark.parametrize(("mode", "says"), [("Transition", "Required/Authorized"), (None, "Required")])
def test_a_cluster_that_is_taken_over_denies_what_no_acl_allows_unless_it_asks_for_a_transition(
    mode: str | None, says: str
) -> None:
    """Its clients may have no ACLs, and its old nodes come under the names that they had."""
    run, _ = laid_out_by_another(**authorization(mode))
    given(run, authority())
    for node_id in (0, 1, 100, 101, 2):
        bind(run, node_id)
        assert run.world.ledger is not None
        assert run.world.ledger.security == says
    for name in ("c-controller-0", "c-b-100"):
        found = properties(run, name)
        assert found["super.users"].split(";")[-1] == OLD
        assert found["authorizer.class.name"].endswith("StandardAuthorizer")
        assert ("allow.everyone.if.no.acl.found" in found) is (mode == "Transition")
    assert run.condition("Secure")["status"] == ("False" if mode else "True")
    assert run.world.formats == []


@pytest.mark.parametrize(
    ("layout", "order"), [({}, (0, 1, 100, 101, 2)), (COMBINED, (0, 1, 2))], ids=["apart", "combined"]
)
def test_a_transition_ends_when_its_resource_says_so_and_every_node_is_taken_over(
    layout: dict[str, object], order: tuple[int, ...]
) -> None:
    run, _ = laid_out_by_another(layout, **authorization("Transition"))
    given(run, authority())
    for node_id in order[:-2]:
        bind(run, node_id)
    run.api.edit(**authorization("Enforced"))
    passes(run)
    assert run.world.ledger is not None
    assert run.world.ledger.security == "Required/Authorized", "old nodes run still"
    for node_id in order[-2:]:
        bind(run, node_id)
    for _ in range(6):
        passes(run)
    assert run.world.ledger.security == "Required"
    assert "allow.everyone.if.no.acl.found" not in properties(run, "c-controller-0")
    assert run.condition("Secure")["status"] == "True"
    run.api.edit(**authorization("Transition"))
    passes(run)
    assert run.world.ledger.security == "Required", "there is no way back"
    assert run.world.formats == []


@pytest.mark.parametrize("policy", ["NewOrAdopt", "AdoptOnly"])
def test_what_was_formed_secure_is_enforced_whatever_it_asks_for(policy: str) -> None:
    """Also when its ledger is lost: there is nobody to be taken over."""
    run = formed(**authorization("Transition"))
    assert run.world.ledger is not None
    cluster_id = run.world.ledger.cluster_id
    run.api.edit(clusterID=cluster_id, bootstrap={"policy": policy}, **authorization("Transition"))
    for claim in run.world.claims.values():
        claim.marks.pop("memory", None)
    run.world.lose_ledger()
    passes(run)
    assert run.world.ledger is not None
    assert run.world.ledger.security == "Required"
