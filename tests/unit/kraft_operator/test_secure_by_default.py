"""A cluster whose resource says nothing of security is secure when it is formed now, and stays what it was when it was
formed by an earlier operator: the ledger tells, never the resource's default. The real reconciler over the model of
Kubernetes.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.api.formed import formed_with
from kraft_operator.api.parse import parse_cluster, read_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.api.security import TlsMode
from support.operator_model.migrations import plaintext, security, stage, walked, watched
from support.operator_model.secure_runs import Calendar, SecureRun, formed, properties
from support.operator_model.world import World, resource
from support.operator_model.world_api import WorldApi

pytestmark = pytest.mark.unit

AS_BEFORE: dict[str, Any] = {"endpoints": {"broker": [
    {"name": "PLAINTEXT", "port": 9092}, {"name": "OTHER", "port": 9091},
    {"name": "OUTSIDE", "port": 9094, "exposure": "NodePort"},
]}}  # fmt: skip
"""What makes no sense in a secure cluster: an encrypted PLAINTEXT, a port that it needs, a NodePort without a host."""

ITS_PORT: dict[str, Any] = {"endpoints": {"controller": [{"name": "CONTROLLER", "port": 9091}]}}
"""Where brokers of a secure cluster speak to each other: read as that of one, it is no cluster at all."""


def saying_nothing(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = resource(**changes)
    del found["spec"]["security"]
    return found


def forming(**changes: Any) -> SecureRun:
    """Of a resource that says nothing of security."""
    api = WorldApi(World(**changes))
    api.world.cluster = read_cluster(saying_nothing(**changes))
    api.resource = {**api.resource, **saying_nothing(**changes)}
    run = SecureRun(api)
    run.calendar = Calendar()
    return run


def say_nothing(run: SecureRun) -> None:
    """As a resource that was written for an earlier operator, to a new process."""
    spec = run.api.resource["spec"]
    run.api.resource = {**run.api.resource, "spec": {key: spec[key] for key in spec if key != "security"}}
    run.world.cluster = read_cluster(run.api.resource)
    run._process = None


def pods(run: SecureRun) -> dict[int, str]:
    return {node: pod.uid for node, pod in run.world.pods.items()}


def test_a_cluster_that_is_formed_now_is_secure() -> None:
    """OPS-01: and the ledger has it, so that what a later operator takes for the default changes nothing."""
    run = forming()
    run.settle()
    assert run.world.ledger is not None
    assert run.world.ledger.security == "Required"
    assert run.condition("Secure")["status"] == "True"
    assert run.condition("Ready")["status"] == "True"
    broker = properties(run, "c-b-100")
    assert broker["listener.security.protocol.map"] == "CONTROLLER:SSL,REPLICATION:SSL,CLIENTS:SASL_SSL"
    assert "allow.everyone.if.no.acl.found" not in broker
    before = pods(run)
    run.api.edit(security={"tls": {"mode": "Required"}})
    run.settle()
    assert pods(run) == before, "to say what it is restarts nobody"


@pytest.mark.parametrize("spec", [AS_BEFORE, ITS_PORT], ids=["listeners", "port"])
def test_a_plaintext_cluster_of_an_earlier_operator_stays_what_it_is(spec: dict[str, Any]) -> None:
    """Nobody is secured by surprise, whatever the resource has: no pod restarts, no Secret is made."""
    run = plaintext(**spec)
    before = pods(run)
    say_nothing(run)
    run.api.misunderstood.clear()
    run.settle()
    assert (pods(run), run.world.secrets, stage(run)) == (before, {}, "")
    assert (run.condition("Secure")["status"], run.condition("Secure")["reason"]) == ("False", "Disabled")
    assert "spec.security.tls.mode to Required" in run.condition("Secure")["message"]
    assert run.condition("Ready")["status"] == "True"
    assert not run.api.misunderstood, "it is asked as it is"


@pytest.mark.parametrize("memory", [True, False], ids=["with its memory", "by its identities alone"])
def test_a_lost_ledger_makes_no_plaintext_cluster_secure_nor_the_other_way_round(memory: bool) -> None:
    for run, security_of_it in ((plaintext(), ""), (formed(), "Required")):
        say_nothing(run)
        run.settle()
        before = pods(run)
        for claim in () if memory else run.world.claims.values():
            claim.marks.pop("memory", None)
        run.world.lose_ledger()
        run.settle()
        assert run.world.ledger is not None
        assert (run.world.ledger.security, pods(run)) == (security_of_it, before)


def test_what_makes_no_sense_in_a_secure_cluster_is_refused_and_says_how_to_have_another_one() -> None:
    run = forming(**AS_BEFORE)
    run.settle()
    found = run.condition("Stalled")
    assert (found["reason"], run.world.ledger, run.world.pods) == ("SpecInvalid", None, {})
    assert "set spec.security.tls.mode to Disabled" in found["message"]
    with pytest.raises(InvalidSpec, match=r"spec\.security\.tls\.mode to Disabled"):
        parse_cluster(saying_nothing(**AS_BEFORE))
    run.api.edit(security={"tls": {"mode": "Disabled"}})
    run.settle()
    assert (run.condition("Ready")["status"], run.condition("Secure")["reason"]) == ("True", "Disabled")


def test_a_secure_cluster_is_not_made_plaintext_by_saying_so_later() -> None:
    run = forming()
    run.settle()
    before = pods(run)
    run.api.edit(security={"tls": {"mode": "Disabled"}})
    run.settle()
    assert run.condition("Stalled")["reason"] == "SecurityModeIsKept"
    assert pods(run) == before


def test_who_says_nothing_any_more_on_the_way_goes_back_and_at_its_end_stays() -> None:
    """Migrating may be taken out of the resource; it is as if it had never been asked for."""
    for text, mode in (("Secured/Turned", TlsMode.DISABLED), ("Secured/Enforced", TlsMode.REQUIRED),
                       ("Required", TlsMode.REQUIRED), ("", TlsMode.DISABLED)):  # fmt: skip
        found = formed_with(read_cluster(saying_nothing()), text)
        assert (found.spec.security.mode, found.kept_mode, found.formed) == (mode, "", text)


def test_a_bad_revision_in_the_middle_of_the_way_goes_back_to_the_layout_of_its_stage() -> None:
    """I1 and I2 hold while a group goes back: its inputs know how secure the cluster was then."""
    run = walked("Followed")
    run.world.break_image(9)
    image, rollout = {"repository": "kafka", "tag": "9"}, {"readyTimeout": "24s"}
    run.api.edit(security=security("Required"), image=image, rollout=rollout)
    for _ in watched(run):
        pass
    assert run.condition("Stalled")["reason"] == "BadRevision"
    assert all(pod.runs for pod in run.world.pods.values())
    run.api.edit(image={"repository": "kafka", "tag": "1"})
    assert next(watched(run)) == "Replicating"
