"""KRaftUsers of a secure cluster, over the model of Kubernetes and of what the cluster knows of users (OPS-06)."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from controller_runtime.configuration.client_security import client_security
from controller_runtime.configuration.properties import parse_properties
from kraft_operator.keys import Key
from kraft_operator.kube import Invalid
from kraft_operator.quorum import AdminFailed
from kraft_operator.user_queries import login
from kraft_operator.users import Acl
from support.operator_model.secure_runs import SecureRun, formed, later
from support.operator_model.world_api import Faults
from support.operator_model.world_runs import Run

pytestmark = pytest.mark.unit

T = TypeVar("T")

READ = Acl(2, "orders", 3, "*", 3, 3)
DESCRIBE = Acl(2, "orders", 3, "*", 8, 3)
READS_ORDERS = {"resource": {"type": "Topic", "name": "orders"}, "operations": ["Read", "Describe"]}


def create(run: Run, name: str = "ann", **spec: Any) -> None:
    meta = {"name": name, "namespace": "n", "uid": f"user-{name}", "generation": 1}
    body = {"apiVersion": "kraft.quorate.dev/v1alpha1", "kind": "KRaftUser", "metadata": meta,
        "spec": {"clusterName": "c", **spec}}  # fmt: skip
    run.world.users[name] = body


def with_ann(**spec: Any) -> SecureRun:
    run = formed()
    create(run, **spec)
    settle(run)
    return run


def settle(run: SecureRun) -> None:
    """With a look at everything: the model has no watch of users."""
    later(run, timedelta(0))


def secret(run: Run, key: str, user: str = "ann") -> str:
    return b64decode(run.world.secrets[f"{user}-credentials"]["data"][key]).decode()


def ready(run: Run, user: str = "ann") -> dict[str, Any]:
    return dict(run.world.users[user]["status"]["conditions"][0])


def logs_in(run: Run, password: str, user: str = "ann") -> bool:
    known = bytes.fromhex(run.world.logins.get(user, ""))
    return bool(known) and known[16:] == login(user, password, known[:16]).salted


def test_a_user_gets_a_secret_a_login_its_rights_and_its_quotas() -> None:
    run = with_ann(acls=[READS_ORDERS], quotas={"producerByteRate": 1000})
    assert ready(run)["status"] == "True"
    assert logs_in(run, secret(run, "password"))
    assert len(secret(run, "password")) == 32
    assert run.world.acls["ann"] == {READ, DESCRIBE}
    assert run.world.quotas["ann"] == {"producer_byte_rate": 1000.0}
    assert run.world.users["ann"]["status"]["secret"] == "ann-credentials"
    assert run.condition("Ready")["status"] == "True"


def test_the_secret_is_the_file_of_a_client() -> None:
    run = with_ann()
    settings = {each.name: each.value for each in parse_properties(secret(run, "client.properties"), "a file").values()}
    assert settings["bootstrap.servers"] == "c-bootstrap.n.svc.cluster.local:9092"
    found = client_security(settings, "a file")
    assert found.tls is not None
    assert found.tls.truststore is not None
    assert found.tls.truststore.certificates is not None
    assert found.tls.truststore.certificates.strip() == secret(run, "ca.crt").strip()
    assert found.login is not None
    assert (found.login.user, found.login.password) == ("ann", secret(run, "password"))


def test_another_password_is_drawn_when_it_is_asked_for_and_not_before() -> None:
    run = with_ann()
    before = secret(run, "password")
    settle(run)
    assert secret(run, "password") == before
    run.world.users["ann"]["metadata"]["annotations"] = {"kraft.quorate.dev/rotate": "once"}
    settle(run)
    after = secret(run, "password")
    assert after != before
    assert (logs_in(run, after), logs_in(run, before)) == (True, False)
    settle(run)
    assert secret(run, "password") == after


def test_a_password_that_somebody_writes_into_the_secret_is_taken() -> None:
    run = with_ann()
    chosen = run.world.secrets["ann-credentials"]
    chosen["data"]["password"] = b64encode(b"a long one of my own").decode()
    chosen["metadata"]["resourceVersion"] = "9999"
    settle(run)
    assert logs_in(run, "a long one of my own")


def test_a_user_whose_resource_goes_loses_everything() -> None:
    run = with_ann(acls=[READS_ORDERS], quotas={"consumerByteRate": 5})
    create(run, "bob", acls=[READS_ORDERS])
    settle(run)
    del run.world.users["ann"]
    settle(run)
    assert ("ann" in run.world.logins, "ann" in run.world.acls, "ann" in run.world.quotas) == (False, False, False)
    assert "bob" in run.world.logins
    assert run.world.acls["bob"] == {READ, DESCRIBE}
    assert run.world.ledger is not None
    assert run.world.ledger.users == ("bob",)


def test_what_somebody_took_away_is_given_back_and_what_somebody_gave_is_kept() -> None:
    foreign = Acl(2, "audit", 3, "*", 3, 3)
    run = with_ann(acls=[READS_ORDERS], quotas={"producerByteRate": 1000})
    run.world.acls["ann"] = {foreign, READ}
    run.world.acls["mallory"] = {READ}
    run.world.quotas["ann"] = {"producer_byte_rate": 9e9, "consumer_byte_rate": 1.0}
    del run.world.logins["ann"]
    settle(run)
    assert run.world.acls == {"ann": {foreign, READ, DESCRIBE}, "mallory": {READ}}
    assert run.world.quotas["ann"] == {"producer_byte_rate": 1000.0}
    assert logs_in(run, secret(run, "password"))


def test_a_right_that_is_no_longer_asked_for_is_taken_away() -> None:
    run = with_ann(acls=[READS_ORDERS])
    run.world.users["ann"]["spec"]["acls"] = [{**READS_ORDERS, "operations": ["Describe"]}]
    run.world.users["ann"]["metadata"]["generation"] = 2
    settle(run)
    assert run.world.acls["ann"] == {DESCRIBE}


@pytest.mark.parametrize(
    ("spec", "culprit"),
    [
        ({"acls": [{"resource": {"type": "Topic"}, "operations": ["Read"]}]}, "spec.acls[0].resource.name"),
        ({"acls": [{"resource": {"type": "Planet", "name": "x"}, "operations": ["Read"]}]}, "Planet"),
        ({"acls": [{"resource": {"type": "Topic", "name": "x"}, "operations": ["Fly"]}]}, "Fly"),
        ({"quotas": {"producerByteRate": -1}}, "spec.quotas.producerByteRate"),
        ({"authentication": {"type": "Magic"}}, "Magic"),
        ({"acls": "all of them"}, "spec.acls"),
    ],
)
def test_a_user_that_cannot_be_says_why_and_keeps_nobody_else_waiting(spec: dict[str, Any], culprit: str) -> None:
    run = with_ann(**spec)
    create(run, "bob")
    settle(run)
    assert (ready(run)["status"], ready(run)["reason"]) == ("False", "SpecInvalid")
    assert culprit in ready(run)["message"]
    assert "ann" not in run.world.logins
    assert ready(run, "bob")["status"] == "True"
    assert run.condition("Ready")["status"] == "True"


def test_a_secret_of_somebody_else_is_never_written() -> None:
    run = formed()
    there = {"metadata": {"name": "ann-credentials", "uid": "x", "resourceVersion": "1"}, "data": {"mine": "eA=="}}
    run.world.secrets["ann-credentials"] = there
    create(run)
    settle(run)
    assert run.world.secrets["ann-credentials"] == there
    assert ready(run)["reason"] == "SecretTaken"
    assert "ann" not in run.world.logins


def test_a_secret_that_is_given_away_is_taken_soon() -> None:
    """Also one of an earlier user of that name, which Kubernetes takes away after it."""
    run = formed()
    there = {"metadata": {"name": "ann-credentials", "uid": "x", "resourceVersion": "1"}, "data": {"mine": "eA=="}}
    run.world.secrets["ann-credentials"] = there
    create(run)
    settle(run)
    del run.world.secrets["ann-credentials"]
    for _ in range(3):
        later_by_a_pass(run)
    assert ready(run)["status"] == "True"
    assert logs_in(run, secret(run, "password"))


HOSTILE = ('a"b', "a'; drop", 'x" required\nforged', "a\\b", "*", "\u202e\u0000", "\U0001f980" * 124, '"' * 249)


def test_whatever_a_resource_is_called_is_one_rule_and_is_taken_away_again() -> None:
    asked = [{"resource": {"type": "Topic", "name": name}, "operations": ["Read"], "host": '"\n"'} for name in HOSTILE]
    run = with_ann(acls=asked)
    assert run.world.acls["ann"] == {Acl(2, name, 3, '"\n"', 3, 3) for name in HOSTILE}
    assert max(map(len, run.world.users["ann"]["status"]["acls"])) <= 2048
    run.world.users["ann"]["spec"]["acls"] = []
    settle(run)
    assert "ann" not in run.world.acls


def test_a_name_that_could_be_read_in_two_ways_is_nobodys() -> None:
    """The API server refuses most of them already."""
    run = formed()
    twofold = ['ann"', "ann;bob", "ann,O=c", "Ann", "ann\nbob", "a" * 65, ".ann", "", "bob\n"]
    for name in twofold:
        create(run, name)
    settle(run)
    assert run.world.logins == {}
    assert not [name for name in run.world.secrets if name.endswith("-credentials")]
    assert {"metadata.name" in ready(run, name)["message"] for name in twofold} == {True}


def test_a_user_whose_cluster_is_not_in_its_namespace_is_told_so_and_gets_nothing() -> None:
    """Clusters of other namespaces are out of reach: there is no field that could name one."""
    run = formed()
    create(run)
    run.world.users["ann"]["spec"] = {"clusterName": "d", "clusterNamespace": "n"}
    run.key = Key("n", "d")
    run.step()
    assert (ready(run)["status"], ready(run)["reason"]) == ("False", "ClusterNotFound")
    assert run.world.logins == {}
    assert "ann-credentials" not in run.world.secrets
    run.api.writes.clear()
    run.step()
    assert run.api.writes == []


@dataclass(slots=True)
class RefusesTheStatus(Faults):
    """The API server finds fault with what is said of ann."""

    def write(self, what: str, call: Callable[[], T]) -> T:
        if what == "apply KRaftUser/ann/status":
            raise Invalid(422, "status.acls[0]: Too long")
        return call()


def test_a_status_that_is_refused_keeps_no_other_user_waiting() -> None:
    run = formed()
    run.api.faults = RefusesTheStatus()
    create(run, acls=[READS_ORDERS])
    create(run, "bob", acls=[READS_ORDERS])
    for _ in range(6):
        later_by_a_pass(run)
    assert ready(run, "bob")["status"] == "True"
    assert logs_in(run, secret(run, "password"))


def test_no_password_is_told_anywhere() -> None:
    """OPS-14."""
    run = with_ann(acls=[READS_ORDERS])
    password = secret(run, "password")
    told: list[object] = [run.api.resource, run.api.events, run.world.ledger_data, run.world.users]
    told += [child.live for child in run.world.children.values()]
    assert password not in json.dumps(told, default=str) + repr(run._process) + repr(run.api.asked)


def test_when_nothing_changes_nothing_is_written() -> None:
    run = with_ann(acls=[READS_ORDERS])
    run.api.writes.clear()
    settle(run)
    assert run.api.writes == []


def test_many_users_at_rest_cost_few_reads_and_no_write() -> None:
    """Each Secret is read again once in two and a half to five minutes: a thousand users are four to seven reads a
    second.
    """
    run, users = formed(), 40
    for number in range(users):
        create(run, f"user-{number}", acls=[READS_ORDERS])
    settle(run)
    assert {ready(run, f"user-{number}")["status"] for number in range(users)} == {"True"}
    run.api.writes.clear()
    begun, before = run.now, run.api.reads
    while run.now < begun + 1200:
        run.tick()
    assert run.api.writes == []
    seconds = run.now - begun
    assert run.api.reads - before <= users * seconds / 150 + 0.1 * seconds


def test_a_plaintext_cluster_has_no_users() -> None:
    """Nobody could say who it is: a name would be a promise that is not kept."""
    run = formed(security={"tls": {"mode": "Disabled"}})
    create(run)
    settle(run)
    assert run.world.logins == {}
    assert "is not secure" in ready(run)["message"]


@dataclass(slots=True)
class RefusesAnn(Faults):
    """The cluster refuses what ann asks for."""

    refuses: bool = True

    def write(self, what: str, call: Callable[[], T]) -> T:
        if what == "change user ann" and self.refuses:
            raise AdminFailed("user ann was not changed: INVALID_REQUEST")
        return call()


def test_a_user_that_the_cluster_refuses_keeps_nobody_and_nothing_waiting() -> None:
    run = formed()
    run.api.faults = faults = RefusesAnn()
    create(run, acls=[READS_ORDERS])
    create(run, "bob", acls=[READS_ORDERS])
    run.api.edit(image={"repository": "kafka", "tag": "2"})
    for _ in range(60):
        later_by_a_pass(run)
    assert {pod.image for pod in run.world.pods.values()} == {"kafka:2"}
    assert ready(run, "bob")["status"] == "True"
    assert (ready(run)["status"], ready(run)["reason"]) == ("False", "Refused")
    assert "INVALID_REQUEST" in ready(run)["message"]
    faults.refuses = False
    settle(run)
    assert ready(run)["status"] == "True"
    assert logs_in(run, secret(run, "password"))


def later_by_a_pass(run: SecureRun) -> None:
    run.now += 30.0
    run.tick()
