"""KRaftUsers that show a certificate of the cluster's own authority, or what somebody else has given them."""

from __future__ import annotations

from base64 import b64decode
from datetime import timedelta
from typing import Any

import pytest

from controller_runtime.configuration.client_security import client_security
from controller_runtime.configuration.properties import parse_properties
from kraft_operator.api.formed import formed_with
from kraft_operator.api.parse import read_cluster
from kraft_operator.plan.users import judged
from kraft_operator.security.certificates import Facts, Pair, facts, read
from kraft_operator.users import Acl, User, UserAuthentication
from support.operator_model.secure_runs import SecureRun, data, formed, later, properties, told
from support.operator_model.world import resource

pytestmark = pytest.mark.unit

READ = Acl(2, "orders", 3, "*", 3, 3)
READS = {"resource": {"type": "Topic", "name": "orders"}, "operations": ["Read"]}
LISTENERS = {"broker": [
    {"name": "REPLICATION", "port": 9091}, {"name": "CLIENTS", "port": 9092},
    {"name": "CERTS", "port": 9094, "authentication": {"type": "Tls"}},
]}  # fmt: skip


def with_sue(by: str = "Tls", *, listeners: bool = True) -> SecureRun:
    run = formed(**({"endpoints": LISTENERS} if listeners else {}))
    ask(run, by)
    return run


def ask(run: SecureRun, by: str) -> None:
    meta = {"name": "sue", "namespace": "n", "uid": "user-sue", "generation": 1}
    spec = {"clusterName": "c", "authentication": {"type": by}, "acls": [READS]}
    known = run.world.users.get("sue", {})
    run.world.users["sue"] = {
        "apiVersion": "kraft.quorate.dev/v1alpha1", "kind": "KRaftUser", "metadata": meta, "spec": spec,
        "status": known.get("status", {}),
    }  # fmt: skip
    later(run, timedelta(0))


def shown(run: SecureRun) -> Facts:
    return facts(data(run, "sue-credentials", "tls.crt"))


def condition(run: SecureRun) -> dict[str, Any]:
    return dict(run.world.users["sue"]["status"]["conditions"][0])


def test_a_user_gets_a_certificate_and_its_rights_and_no_password() -> None:
    run = with_sue()
    assert condition(run)["status"] == "True"
    assert shown(run).subject == "CN=sue,OU=KRaftUser,O=c"
    assert "password" not in run.world.secrets["sue-credentials"]["data"]
    assert "sue" not in run.world.logins
    assert run.world.acls["sue"] == {READ}
    file = data(run, "sue-credentials", "client.properties")
    settings = {each.name: each.value for each in parse_properties(file, "a file").values()}
    assert settings["bootstrap.servers"] == "c-bootstrap.n.svc.cluster.local:9094"
    found = client_security(settings, "a file")
    assert found.tls is not None
    assert found.tls.keystore is not None
    assert found.tls.keystore.chain is not None
    assert found.tls.keystore.chain.strip() == data(run, "sue-credentials", "tls.crt").strip()


def test_the_listener_for_clients_knows_users_by_name_and_the_brokers_own_does_not() -> None:
    """A user called as a node is no node: only the listener for clients reads users' certificates."""
    broker = properties(with_sue(), "c-b-100")
    rule = "RULE:^CN=([a-z0-9.-]+),OU=KRaftUser,O=c$/$1/"
    assert broker["listener.name.certs.ssl.principal.mapping.rules"] == f"{rule},DEFAULT"
    assert "KRaftUser" not in broker["listener.name.replication.ssl.principal.mapping.rules"]
    assert broker["listener.name.certs.ssl.client.auth"] == "required"


def test_a_certificate_is_renewed_at_two_thirds_of_its_life_and_not_before() -> None:
    run = with_sue()
    first = shown(run).fingerprint
    later(run, timedelta(days=59))
    assert shown(run).fingerprint == first
    later(run, timedelta(days=2))
    assert shown(run).fingerprint != first


def test_another_authority_signs_users_anew_before_the_old_one_is_forgotten() -> None:
    run = with_sue()
    old = told(run, "c-ca").fingerprint
    run.api.resource["metadata"].setdefault("annotations", {})["kraft.quorate.dev/rotate"] = "once"
    run.world.cluster = read_cluster(run.api.resource)
    for _ in range(4):
        later(run, timedelta(days=8))
    authority = told(run, "c-ca").fingerprint
    assert authority != old
    assert facts(data(run, "sue-credentials", "ca.crt")).fingerprint == authority
    pair = Pair(data(run, "sue-credentials", "tls.key"), data(run, "sue-credentials", "tls.crt"))
    assert read(pair, data(run, "c-ca-cert", "ca.crt"))[1] == authority


def test_who_goes_over_to_a_certificate_has_no_password_any_more() -> None:
    run = with_sue("Scram")
    assert "sue" in run.world.logins
    ask(run, "Tls")
    assert "sue" not in run.world.logins
    assert shown(run).subject == "CN=sue,OU=KRaftUser,O=c"
    ask(run, "Scram")
    assert "sue" in run.world.logins
    assert len(b64decode(run.world.secrets["sue-credentials"]["data"]["password"])) == 32


def test_a_user_of_somebody_else_gets_its_rights_and_no_secret() -> None:
    run = with_sue("External", listeners=False)
    assert run.world.acls["sue"] == {READ}
    assert "sue-credentials" not in run.world.secrets
    assert ("sue" in run.world.logins, condition(run)["status"]) == (False, "True")
    del run.world.users["sue"]
    later(run, timedelta(0))
    assert "sue" not in run.world.acls


def test_no_certificate_is_made_where_somebody_else_issues() -> None:
    tls = {"mode": "Required", "issuer": "CertManager", "issuerRef": {"name": "corp"}}
    of = formed_with(read_cluster(resource(security={"tls": tls})), "Required")
    assert "write External" in judged(User("sue", "u", 1, by=UserAuthentication.TLS), of).fault
    assert not judged(User("sue", "u", 1), of).fault
