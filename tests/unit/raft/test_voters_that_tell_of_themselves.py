"""UpdateRaftVoter: at kraft.version 0 static voters tell each leader who they are, which the upgrade writes; at 1 they
correct their entries.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.identifiers import NO_DIRECTORY, NodeId
from controller_runtime.raft import effects as e
from controller_runtime.raft import messages as m
from controller_runtime.raft.events import UpgradeKRaftVersion
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.roles import Resigned
from controller_runtime.raft.voter_set import Listeners, VoterSet
from support.nodes.one_replica import One, batch, fetch, listeners, voter

pytestmark = pytest.mark.unit


def leading(*, static: bool) -> One:
    one = One(static=static)
    one.become_leader()
    for node in (2, 3):
        one.ask(fetch(node, one.epoch, one.end))
    assert one.replica.high_watermark == one.end
    return one


def tells(one: One, node: int, at: Listeners = (), levels: tuple[int, int] = (0, 1)) -> RaftError:
    low, high = levels
    entry = replace(voter(node), listeners=at or listeners(node), min_kraft_version=low, max_kraft_version=high)
    said = one.ask(m.UpdateVoterRequest(one.epoch, entry))
    assert isinstance(said, m.UpdateVoterResponse)
    return said.error


def described(one: One) -> dict[int, Listeners]:
    seen = one.replica.describe(one.now)
    assert seen is not None
    return {each.key.node_id: each.listeners for each in seen.voters}


def test_at_version_0_a_voter_is_described_as_it_told_and_nobody_else_can_tell_anything() -> None:
    one = leading(static=True)
    elsewhere = (*listeners(2), *listeners(9))
    assert tells(one, 2, elsewhere) is RaftError.NONE
    assert tells(one, 1) is RaftError.NONE
    assert tells(one, 9) is RaftError.VOTER_NOT_FOUND
    assert described(one) == {1: listeners(1), 2: elsewhere, 3: listeners(3)}
    assert [found.key.directory_id for found in one.replica.voters.voters] == [NO_DIRECTORY] * 3, "only in memory"


@pytest.mark.parametrize("static", [True, False])
def test_who_tells_of_itself_is_alive(static: bool) -> None:
    """Kafka counts Fetch, FetchSnapshot and UpdateRaftVoter of a majority; of the leader itself it needs none."""
    one = leading(static=static)
    for _ in range(4):
        one.elapse(1400)
        assert tells(one, 2) is RaftError.NONE
        assert tells(one, 1) is RaftError.NONE
    assert one.replica.is_leader
    one.elapse(2999)
    assert one.replica.is_leader
    one.elapse(1)
    assert isinstance(one.role, Resigned)


def test_an_entry_is_corrected_only_when_the_voters_before_are_committed() -> None:
    one = leading(static=False)
    assert tells(one, 2, listeners(8)) is RaftError.NONE
    assert one.replica.high_watermark == one.end - 1
    assert tells(one, 3, listeners(9)) is RaftError.REQUEST_TIMED_OUT
    one.ask(fetch(3, one.epoch, one.end))
    assert tells(one, 3, listeners(9)) is RaftError.NONE
    assert described(one) == {1: listeners(1), 2: listeners(8), 3: listeners(9)}


def test_the_upgrade_needs_every_voter_to_understand_it_and_writes_what_they_told() -> None:
    one = leading(static=True)
    refusal = "Invalid upgrade of kraft.version to KRAFT_VERSION_1 because not all of the voters support it"
    assert tells(one, 2) is RaftError.NONE
    assert one.replica.upgrade_fault(1) == refusal, "nothing is known of node 3"
    assert tells(one, 3, levels=(0, 0)) is RaftError.NONE
    assert one.replica.upgrade_fault(1) == refusal, "node 3 is too old"
    assert tells(one, 3) is RaftError.NONE
    assert one.replica.upgrade_fault(1) is None
    one.step(UpgradeKRaftVersion(one.epoch, 1))
    told = VoterSet.of([voter(1), voter(2), voter(3)])
    assert one.seen(e.AppendControl)[-1].records == (m.KRaftVersion(1), told)
    assert one.replica.voters == told


# The voter.


def test_a_voter_tells_again_when_a_fetch_timeout_has_passed_without_an_answer() -> None:
    one = One(static=True)
    one.follow(2, 3)
    one.fetched(batch(0, 1, 3), hw=1)
    (asked,) = one.asked(m.UpdateVoterRequest)
    assert asked.request == m.UpdateVoterRequest(one.epoch, voter(1))
    one.elapse(10)
    one.fail(asked)
    for elapsed in (1000, 989):
        one.elapse(elapsed)
        assert not one.asked(m.UpdateVoterRequest)
        one.fetched(hw=1)
    one.elapse(1)
    (again,) = one.asked(m.UpdateVoterRequest)
    assert (again.to, again.request) == (NodeId(2), asked.request)
