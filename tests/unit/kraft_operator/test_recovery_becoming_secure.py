"""A quorum that is lost while its cluster becomes secure is recovered at the stage at which it was, and goes on: at no
moment is anybody's default listener one that a voter does not serve or that the log does not name.
"""

from __future__ import annotations

import pytest

from kraft_operator.api.formed import formed_with
from kraft_operator.api.parse import read_cluster
from kraft_operator.operations.operation import Phase, parse_operation
from kraft_operator.plan.securing import BECOMES
from support.operator_model.migrations import STAGES, security, stage, tick, violations, walked, watched
from support.operator_model.secure_runs import SecureRun
from support.sampling import SOAK

pytestmark = pytest.mark.unit

ENDS_AT = STAGES[STAGES.index("Replicating")]
ALL = {0, 1, 2}


def recovered(run: SecureRun, survivor: int) -> None:
    """Its owner approves what is found; the operator's passes and the kubelet's moves, until it has succeeded. The way
    waits meanwhile, and says for what.
    """
    world = run.world
    for node_id in ALL - {survivor}:
        world.delete_claim(node_id)
    world.ask("r", "RecoverQuorum")
    for _ in range(80):
        assert world.ledger is not None
        world.cluster = formed_with(read_cluster(run.api.resource), world.ledger.security)
        told = [each.message for each in world.reconcile().findings if each.reason == BECOMES]
        world.kubelet()
        assert not world.broken, world.broken
        assert not (found := list(violations(run))), (stage(run), found)
        seen = parse_operation(world.operations["r"])
        if seen.phase is Phase.WAITING_APPROVAL:
            assert [each.partition(": ")[2] for each in told] == ["KRaftOperation r is carried out first"]
            world.trust("r", str(seen.status["verdict"]["hash"]))
        if seen.phase is Phase.SUCCEEDED and set(world.running_voters()) == ALL:
            return
    raise AssertionError(f"not recovered at {stage(run)}")


PLACES = [(where, passes) for where in ("Listening", "Turned", "Followed", "Replicating") for passes in (0, 6)]
"""Before the roll, and in the middle of it."""


@pytest.mark.parametrize(("where", "passes"), PLACES if SOAK else PLACES[2::3])
def test_a_quorum_that_is_lost_between_two_stages_is_recovered_and_goes_on(where: str, passes: int) -> None:
    run = walked(where)
    for _ in range(passes):
        tick(run)
    recovered(run, survivor=2 if passes else 0)
    del run.world.operations["r"]
    list(watched(run))
    assert stage(run) == ENDS_AT
    assert run.condition("Ready")["status"] == "True", run.condition("Ready")


@pytest.mark.parametrize("where", ["Turned", "Followed"] if SOAK else ["Turned"])
def test_it_may_turn_round_while_the_quorum_is_recovered(where: str) -> None:
    run = walked(where)
    run.api.edit(security=security("Disabled"))
    recovered(run, survivor=1)
    del run.world.operations["r"]
    assert [each.partition("/")[0] for each in watched(run)][-1] == ""
    assert run.condition("Ready")["status"] == "True", run.condition("Ready")
