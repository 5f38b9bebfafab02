"""Another authority in the place of the old one, in three steps (OPS-04): what is proven before each, that every two
nodes understand each other at every moment, and that an operator may die at any of them. Certificates are real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from kraft_operator.security.certificates import BadCertificate, Pair, all_facts, read
from support.operator_model.secure_runs import SecureRun, data, formed, later, told
from support.operator_model.world_api import Died, Faults

pytestmark = pytest.mark.unit

T = TypeVar("T")

NODES = (0, 1, 2, 100, 101)
LEAFS = (*(f"c-{node}-tls" for node in NODES), "c-operator-tls")
WEEK = timedelta(days=7, minutes=1)


def trusted(run: SecureRun, secret: str) -> set[str]:
    return {each.fingerprint for each in all_facts(data(run, secret, "ca.crt"))}


def signer(run: SecureRun, secret: str) -> str:
    """Of a node's certificate, among those that it trusts."""
    pair = Pair(data(run, secret, "tls.key"), data(run, secret, "tls.crt"))
    return read(pair, data(run, secret, "ca.crt"))[1]


def asked(**changes: object) -> SecureRun:
    run = formed(**changes)
    run.api.annotate_resource(rotate="once")
    run.api.writes.clear()
    return run


def plan(run: SecureRun) -> list[str]:
    return [each["id"].rpartition("/")[2] for each in (run.api.resource["status"].get("plan") or {}).get("steps") or ()
            if each["id"].startswith("rotate-authority")]  # fmt: skip


def understood(run: SecureRun) -> Iterator[str]:
    """Pairs of nodes that would refuse each other, by what each of them has read."""
    own = {node: run.api.read_by(node)["data"] for node in NODES}
    text = {node: {key: _text(value) for key, value in found.items()} for node, found in own.items()}
    for one in NODES:
        for other in NODES:
            pair = Pair(text[one]["tls.key"], text[one]["tls.crt"])
            if not read(pair, text[other]["ca.crt"])[1]:
                yield f"{other} does not trust {one}"


def ticks(run: SecureRun, most: int) -> Iterator[None]:
    """Until nobody is on the way any more."""
    for _ in range(most):
        run.tick()
        yield
        known = run.world.secrets["c-ca"]
        turns = known["metadata"]["annotations"]["kraft.quorate.dev/authority-turns"]
        if turns == "3" and run.condition("CertificatesValid")["reason"] == "Valid":
            return


def _text(value: str) -> str:
    from base64 import b64decode

    return b64decode(value).decode()


def test_another_authority_is_trusted_before_it_signs_and_the_old_one_forgotten_after_all_show_the_new_one() -> None:
    run = asked()
    old, pods = told(run, "c-ca").fingerprint, {node: pod.uid for node, pod in run.world.pods.items()}
    run.settle()
    new = all_facts(data(run, "c-ca", "next.crt"))[0].fingerprint
    for name in LEAFS:
        assert (trusted(run, name), signer(run, name)) == ({old, new}, old)
    assert trusted(run, "c-ca-cert") == {old, new}
    later(run, WEEK)
    for name in LEAFS:
        assert (trusted(run, name), signer(run, name)) == ({old, new}, new)
    assert told(run, "c-ca").fingerprint == new
    assert "next.key" not in run.world.secrets["c-ca"]["data"]
    later(run, WEEK)
    for name in LEAFS:
        assert (trusted(run, name), signer(run, name)) == ({new}, new)
    assert trusted(run, "c-ca-cert") == {new}
    assert set(run.world.secrets["c-ca"]["data"]) == {"tls.crt", "tls.key"}
    assert {node: pod.uid for node, pod in run.world.pods.items()} == pods
    run.api.writes.clear()
    later(run, WEEK)
    assert run.api.writes == []
    assert run.condition("CertificatesValid")["reason"] == "Valid"


@pytest.mark.parametrize("step", [1, 2])
def test_a_node_that_has_not_read_its_secret_yet_keeps_the_next_step(step: int) -> None:
    """C1, C2: the others have, and every pair understands each other all the while."""
    run = asked(security={"tls": {"mode": "Required", "rotation": {"waitForClients": "0s"}}})
    if step == 1:
        run.api.read_by(1)
        run.api.stale.add(1)
    for _ in range(12):
        run.tick()
        assert not list(understood(run))
        if step == 2 and "previous.crt" in run.world.secrets["c-ca"]["data"] and 1 not in run.api.stale:
            run.api.stale.add(1)
    assert ("next.crt" if step == 1 else "previous.crt") in run.world.secrets["c-ca"]["data"]
    found = run.condition("CertificatesValid")
    assert (found["status"], found["reason"]) == ("True", "AuthorityRotates")
    assert "nodes 1 were not seen to" in found["message"]
    assert run.condition("Ready")["status"] == "True"
    run.api.stale.clear()
    for _ in ticks(run, 60):
        assert not list(understood(run))
    assert set(run.world.secrets["c-ca"]["data"]) == {"tls.crt", "tls.key"}


def test_clients_have_the_time_that_the_resource_gives_them() -> None:
    run = asked()
    run.settle()
    later(run, timedelta(days=6, hours=23))
    assert "next.crt" in run.world.secrets["c-ca"]["data"]
    assert "waitForClients" in run.condition("CertificatesValid")["message"]
    later(run, timedelta(hours=2))
    assert "previous.crt" in run.world.secrets["c-ca"]["data"]


def test_a_quorum_that_is_not_available_keeps_the_next_step() -> None:
    run = asked()
    run.world.frozen |= {0, 1}
    for _ in range(20):
        run.tick()
    assert set(run.world.secrets["c-ca"]["data"]) == {"tls.crt", "tls.key"}


def test_an_authority_is_replaced_by_itself_at_two_thirds_of_its_life() -> None:
    run = formed()
    old = told(run, "c-ca").fingerprint
    later(run, timedelta(days=5 * 365 * 2 // 3 - 30))
    assert "next.crt" not in run.world.secrets["c-ca"]["data"]
    later(run, timedelta(days=40))
    assert "next.crt" in run.world.secrets["c-ca"]["data"]
    later(run, WEEK)
    later(run, WEEK)
    assert told(run, "c-ca").fingerprint != old
    assert trusted(run, "c-0-tls") == {told(run, "c-ca").fingerprint}


def test_a_plan_names_the_steps_and_nothing_is_done_before_it_is_approved() -> None:
    run = formed()
    run.api.edit(changePolicy={"mode": "Plan"})
    run.settle()
    run.api.annotate_resource(rotate="once")
    run.settle()
    assert plan(run) == ["trust", "issue", "forget"]
    assert set(run.world.secrets["c-ca"]["data"]) == {"tls.crt", "tls.key"}
    lemmas = [each.get("lemma", "") for each in run.api.resource["status"]["plan"]["steps"]]
    assert lemmas == ["", "C1", "C2"]
    run.api.annotate_resource(approve=run.api.resource["status"]["plan"]["hash"])
    run.settle()
    assert "next.crt" in run.world.secrets["c-ca"]["data"]
    later(run, WEEK)
    later(run, WEEK)
    assert set(run.world.secrets["c-ca"]["data"]) == {"tls.crt", "tls.key"}


@dataclass(slots=True)
class DeathAtEachTurn(Faults):
    """The operator dies at every write of the authority's Secret, before it and, the next time, after it."""

    after: bool
    met: set[int] = field(default_factory=set)
    number: int = 0

    def write(self, what: str, call: Callable[[], T]) -> T:
        if what != "replace Secret/c-ca":
            return call()
        self.number += 1
        if self.number % 2 == 0:
            return call()
        if self.after:
            call()
        raise Died(what)


@pytest.mark.parametrize("after", [False, True])
def test_an_operator_that_dies_at_a_step_leaves_what_the_next_one_finishes(after: bool) -> None:
    """OPS-04."""
    run = asked(security={"tls": {"mode": "Required", "rotation": {"waitForClients": "0s"}}})
    old = told(run, "c-ca").fingerprint
    run.api.faults = faults = DeathAtEachTurn(after)
    for _ in ticks(run, 80):
        assert not list(understood(run))
    assert run.deaths >= (2 if after else 3)
    assert faults.number >= 3
    new = told(run, "c-ca").fingerprint
    assert new != old
    assert {signer(run, name) for name in LEAFS} == {new}
    assert set(run.world.secrets["c-ca"]["data"]) == {"tls.crt", "tls.key"}


@pytest.mark.parametrize("key", ["next.crt", "next.key", "probe.crt"])
def test_a_successor_that_is_damaged_stops_all_that_would_follow(key: str) -> None:
    run = asked()
    run.settle()
    secret: dict[str, Any] = run.world.secrets["c-ca"]
    secret["data"][key] = secret["data"]["tls.crt"]
    later(run, WEEK)
    assert run.condition("CertificatesValid")["reason"] == "AuthorityUnreadable"
    assert "previous.crt" not in run.world.secrets["c-ca"]["data"]


def test_nodes_that_read_their_files_at_start_only_are_restarted_once_a_step() -> None:
    """OPS-03: one at a time, by the rules of any roll."""
    run = asked(probes="TCP", security={"tls": {"mode": "Required", "rotation": {"waitForClients": "0s"}}})
    run.api.reads_at_start = True
    made: dict[int, set[str]] = {node: {pod.uid} for node, pod in run.world.pods.items()}
    assert not list(understood(run))
    for _ in ticks(run, 150):
        for node, pod in run.world.pods.items():
            made[node].add(pod.uid)
    run.settle()
    made = {node: uids | {run.world.pods[node].uid} for node, uids in made.items()}
    assert {len(uids) for uids in made.values()} == {4}
    assert set(run.world.secrets["c-ca"]["data"]) == {"tls.crt", "tls.key"}


def test_nobody_else_ever_has_a_key_of_an_authority() -> None:
    """OPS-14, also on the way."""
    run = asked()
    run.settle()
    keys = [data(run, "c-ca", name).splitlines()[1] for name in ("tls.key", "next.key", "probe.key")]
    others = [
        _text(value) for name, each in run.world.secrets.items() if name != "c-ca" for value in each["data"].values()
    ]
    said = repr((run.api.resource, run.api.events, run.world.ledger_data, run._process))
    assert not [key for key in keys if key in said or any(key in text for text in others)]
    with pytest.raises(BadCertificate):
        read(Pair(data(run, "c-ca", "next.key"), data(run, "c-ca", "tls.crt")), data(run, "c-ca", "tls.crt"))
