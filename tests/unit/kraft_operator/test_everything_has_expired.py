"""OPS-12: the operator was away until every certificate had ended, and nobody understands anybody. That is no loss of
disks: no voter is replaced and no claim touched; certificates are made anew, and with them the quorum is there again.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from kraft_operator.security.certificates import Pair, all_facts, read
from support.operator_model.secure_runs import SecureRun, data, formed, later, told

pytestmark = pytest.mark.unit

NODES = (0, 1, 2, 100, 101)
LEAFS = (*(f"c-{node}-tls" for node in NODES), "c-operator-tls")


def nobody_understands_anybody(passed: timedelta) -> SecureRun:
    run = formed()
    run.world.frozen |= set(NODES)
    run.calendar.date += passed
    run.now += 3600.0
    for _ in range(30):
        run.tick()
    return run


def understood(run: SecureRun) -> bool:
    """By what their Secrets hold now, on this date: each of them would take the certificate of each other."""
    date = run.calendar.date.timestamp()
    for one in LEAFS:
        pair = Pair(data(run, one, "tls.key"), data(run, one, "tls.crt"))
        for other in LEAFS:
            trusted = data(run, other, "ca.crt")
            signer = read(pair, trusted)[1]
            valid = {each.fingerprint for each in all_facts(trusted) if each.begins <= date < each.ends}
            if signer not in valid or not told(run, one).begins <= date < told(run, one).ends:
                return False
    return True


def disks(run: SecureRun) -> dict[str, str]:
    return {name: claim.uid for name, claim in run.world.claims.items()}


@pytest.mark.parametrize("away", [timedelta(days=100), timedelta(days=6 * 365)], ids=["nodes", "authority"])
def test_when_every_certificate_has_ended_they_are_made_anew_and_no_disk_is_given_up(away: timedelta) -> None:
    before = formed()
    run = nobody_understands_anybody(away)
    assert understood(run), run.condition("CertificatesValid")
    assert run.condition("QuorumAvailable")["status"] != "True", "nobody is believed to be gone or there"
    assert (disks(run), run.world.voters) == (disks(before), before.world.voters)

    run.world.frozen.clear()
    later(run, timedelta(days=8))
    assert run.condition("Ready")["status"] == "True", run.condition("Ready")
    assert run.condition("CertificatesValid")["reason"] == "Valid", "nothing is left of the old authority"
    assert (disks(run), run.world.voters) == (disks(before), before.world.voters)
    assert not run.world.broken


def test_an_authority_that_is_near_its_end_waits_for_the_quorum_as_ever() -> None:
    run = nobody_understands_anybody(timedelta(days=4 * 365))
    told_of = run.condition("CertificatesValid")
    assert (told_of["status"], told_of["reason"]) == ("True", "AuthorityRotates")
    assert told_of["message"].endswith("the quorum has to be available first")
    assert set(run.world.secrets["c-ca"]["data"]) == {"tls.crt", "tls.key"}


def test_a_clock_of_the_operators_that_is_years_ahead_alone_makes_no_step_that_is_not_proven() -> None:
    """The quorum is there, so its nodes take certificates of the authority still."""
    run = formed()
    run.api.read_by(1)
    run.api.stale.add(1)
    run.calendar.date += timedelta(days=6 * 365)
    run.now += 3600.0
    for _ in range(30):
        run.tick()
    assert "nodes 1 were not seen to trust it yet" in run.condition("CertificatesValid")["message"]
    assert "next.crt" in run.world.secrets["c-ca"]["data"], "the old one signs"
