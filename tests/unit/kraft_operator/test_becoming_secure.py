"""A plaintext cluster that runs becomes a secure one, stage by stage, without a pause; as far as there is a way back it
goes back; and an operator may die at any write. The real reconciler over the model of Kubernetes, with invariants that
are judged by the files of the nodes at every tick.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from kraft_operator.api.security import Stage
from kraft_operator.api.stages import Formed, formed
from support.operator_model import migrations
from support.operator_model.migrations import (
    STAGES,
    WAITS,
    listeners,
    plaintext,
    security,
    stage,
    tick,
    violations,
    walked,
    watched,
)
from support.operator_model.secure_runs import SecureRun, properties
from support.operator_model.world_api import Died, Faults

pytestmark = pytest.mark.unit

T = TypeVar("T")
SINGLE = {"controllers": {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}}


@dataclass(slots=True)
class Deaths(Faults):
    """The operator dies now and then, right before a write or right after it."""

    chance: random.Random
    met: int = 0

    def write(self, what: str, call: Callable[[], T]) -> T:
        drawn = self.chance.random()
        if drawn > 0.12:
            return call()
        self.met += 1
        if drawn > 0.06:
            call()
        raise Died(what)


def steps(run: SecureRun) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in run.api.resource["status"]["plan"].get("steps") or ()}


def files(run: SecureRun) -> dict[int, dict[str, str]]:
    return {node: run.world.file(node) for node in run.world.pods}


def test_a_plaintext_cluster_becomes_secure_stage_by_stage() -> None:
    """OPS-07, OPS-10: I1 and I2 hold at every tick, the clients' listener stays, and the way was published."""
    run = plaintext()
    run.api.edit(security=security("Required", "Enforced"))
    published: dict[str, dict[str, Any]] = {}
    reached = []
    for each in watched(run):
        reached.append(each)
        published |= steps(run)
    assert tuple(reached) == STAGES
    lemmas = {name: each.get("lemma") for name, each in published.items() if name.startswith("secure/")}
    assert {"secure/turned": "G1", "secure/closed": "G2"}.items() <= lemmas.items()
    assert published["secure/closed"]["risk"] == "Availability"
    assert {f"restart/{node}/{each}" for node in (0, 1, 2) for each in ("listening", "turned", "closed")} <= set(
        published
    )
    controller, broker = properties(run, "c-controller-0"), properties(run, "c-b-100")
    assert listeners(controller) == {"CONTROLLERTLS"}
    assert broker["listeners"] == "REPLICATION://:9091,PLAINTEXT://:9092"
    assert broker["listener.security.protocol.map"] == "CONTROLLERTLS:SSL,REPLICATION:SSL,PLAINTEXT:PLAINTEXT"
    assert controller["super.users"] == "User:CN=c-node,OU=n,O=c;User:CN=c-operator,OU=n,O=c"
    assert "allow.everyone.if.no.acl.found" not in controller
    assert run.condition("Ready")["status"] == "True"
    assert run.condition("Secure")["reason"] == "PlaintextListener"
    clients = {"name": "CLIENTS", "port": 9094, "authentication": {"type": "Scram"}}
    run.api.edit(endpoints={"controller": [{"name": "CONTROLLER", "port": 9093}], "broker": [clients]})
    list(watched(run))
    assert run.condition("Secure")["status"] == "True"
    assert listeners(properties(run, "c-b-100")) == {"REPLICATION", "CLIENTS"}


def test_it_stops_where_there_is_a_way_back_and_goes_back() -> None:
    """OPS-08: Migrating waits before the point of no return; Disabled goes the same way in reverse."""
    run, before = walked(WAITS), plaintext()
    assert tuple(migrations._walk()) == (*STAGES[: STAGES.index("Closed")], WAITS)
    assert list(watched(run)) == []
    assert "Required" in run.condition("CertificatesValid")["message"]
    assert run.api.resource["status"]["tlsMigration"]["stage"] == "Replicating"
    run.api.edit(security=security("Disabled"))
    back = [each.partition("/")[0] for each in watched(run)]
    assert back == ["Followed", "Turned", "Listening", "Prepared", ""]
    assert files(run) == files(before)
    assert run.condition("Secure")["reason"] == "Disabled"


@pytest.mark.parametrize("where", ["Listening", "Turned", "Followed"])
def test_it_turns_round_in_the_middle_of_a_roll(where: str) -> None:
    """OPS-08: some nodes have the new stage and some the old one; no third layout ever meets them."""
    run = walked(where)
    for _ in range(6):
        tick(run)
    run.api.edit(security=security("Disabled"))
    assert [each.partition("/")[0] for each in watched(run)][-1] == ""
    assert run.condition("Ready")["status"] == "True"


def test_from_closed_on_there_is_no_way_back() -> None:
    run = walked(WAITS)
    run.api.edit(security=security("Required"))
    for each in watched(run):
        if each == "Closed":
            run.api.edit(security=security("Migrating"))
            break
    list(watched(run))
    assert stage(run) == "Closed"
    assert run.condition("Stalled")["reason"] == "SecurityModeIsKept"
    run.api.edit(security=security("Required"))
    assert list(watched(run)) == ["Authorized"]
    assert "KRaftUser" in run.condition("CertificatesValid")["message"]


def test_a_voter_that_the_log_does_not_know_by_both_listeners_keeps_every_default_as_it_is() -> None:
    """OPS-09: G1 is closed; the step that would end the flipped node never starts."""
    run = walked("Prepared")
    run.world.silent.add(2)
    run.world.drifted[2] = (run.world.cluster.voter_host(2), 9093)
    run.world.frozen.add(2)
    for _ in range(40):
        tick(run)
        assert stage(run) in ("Prepared", "Listening")
        assert not list(violations(run))
    run.world.frozen.discard(2)
    run.world.drifted.clear()
    run.world.silent.clear()
    assert any(each == "Turned" for each in watched(run))


def test_a_node_that_shows_no_certificate_of_ours_keeps_the_next_stage() -> None:
    """G1: what a voter serves is proven, not only what the log says of it."""
    run = walked("Prepared")
    run.api.mute.add(1)
    for each in watched(run):
        assert each == "Listening"
    assert stage(run) == "Listening"
    assert "node 1 was not seen" in run.condition("CertificatesValid")["message"]
    run.api.mute.clear()
    assert next(watched(run)) == "Turned"


def test_an_operator_may_die_at_any_write() -> None:
    """OPS-08."""
    run = plaintext()
    deaths = run.api.faults = Deaths(random.Random(7))
    run.api.edit(security=security("Required", "Enforced"))
    assert tuple(dict.fromkeys(watched(run, 900))) == STAGES
    assert deaths.met > 10
    run.api.faults = Faults()
    list(watched(run))
    assert run.condition("Ready")["status"] == "True"


def test_a_lost_ledger_does_not_forget_the_stage() -> None:
    """The controllers' claims remember it: nodes of no other layout are ever made."""
    run = walked("Followed")
    run.api.edit(security=security("Required"))
    run.world.lose_ledger()
    run.tick()
    run.tick()
    run.api.misunderstood.clear()  # who has lost the ledger asks as the resource says, once
    list(watched(run))
    assert stage(run) == "Authorized"


def test_what_cannot_become_secure_is_refused_with_the_reason() -> None:
    run = plaintext()
    run.world.finalized["kraft.version"] = 0
    run.api.edit(security=security("Required"))
    list(watched(run))
    found = run.condition("Stalled")
    assert (found["reason"], stage(run)) == ("SecurityRefused", "")
    assert "quorumFeature" in found["message"]
    run.world.finalized["kraft.version"] = 1
    run.world.apis.discard(82)
    list(watched(run))
    assert "UpdateRaftVoter" in run.condition("Stalled")["message"]
    run.world.apis.add(82)
    taken = {"broker": [{"name": "PLAINTEXT", "port": 9092}, {"name": "OTHER", "port": 9091}]}
    run.api.edit(endpoints=taken)
    list(watched(run))
    assert "REPLICATION at 9091" in run.condition("Stalled")["message"]
    assert run.condition("Secure")["reason"] == "Disabled"


def test_a_single_controller_corrects_its_entry_when_it_is_elected_again() -> None:
    """OPS-07, with one voter, and with nodes that read their files when they start only."""
    run = plaintext(probes="TCP", **SINGLE)
    run.api.edit(security=security("Required"))
    assert tuple(watched(run)) == STAGES[:-1]
    assert run.condition("Ready")["status"] == "True"


def test_five_controllers_become_secure_one_after_the_other() -> None:
    """OPS-07, with five voters: I1 and I2 at every tick, and back from where there is a way back."""
    five = {"controllers": {**SINGLE["controllers"], "replicas": 5}}
    run = plaintext(**five)
    run.api.edit(security=security("Migrating"))
    assert tuple(watched(run)) == STAGES[: STAGES.index("Replicating") + 1]
    assert len(run.world.voters) == 5
    run.api.edit(security=security("Disabled"))
    assert list(watched(run))[-1] == ""
    run.api.edit(security=security("Required"))
    assert tuple(watched(run)) == STAGES[:-1]
    assert run.condition("Ready")["status"] == "True"


def test_the_controllers_stay_as_many_as_they_are_meanwhile() -> None:
    """The voters are frozen: one that came between two stages would be known by one listener only."""
    run = plaintext()
    run.api.edit(security=security("Migrating"), controllers={**SINGLE["controllers"], "replicas": 5})
    for _ in range(60):
        tick(run)
    assert len(run.world.voters) == 5, "who is not on the way yet becomes what the resource asks for first"
    assert stage(run), "it is on its way"
    run.api.edit(controllers={**SINGLE["controllers"], "replicas": 3})
    list(watched(run))
    assert len(run.world.voters) == 5


def test_what_a_ledger_says_of_the_stage_is_read_back() -> None:
    for each in (Formed(), Formed(Stage.ENFORCED), Formed(Stage.TURNED, migrated=True, back=True)):
        assert formed(each.text) == each
    with pytest.raises(ValueError, match="is not known to this operator"):
        formed("Secured/Sealed")


def test_somebody_on_the_plaintext_listener_keeps_it_open() -> None:
    """G2: a broker that still came by it would be fenced."""
    run = walked(WAITS)
    run.api.plaintext[1] = 1
    run.api.edit(security=security("Required"))
    list(watched(run))
    assert stage(run) == "Replicating"
    assert "controller 1 (G2)" in run.condition("CertificatesValid")["message"]
    run.api.plaintext.clear()
    assert next(watched(run)) == "Closed"
