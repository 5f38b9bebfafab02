"""A voter loses its disk while clients write, and is replaced by the tools alone: removed, formatted anew, caught up,
added (KIP-853).

Ours and Java's stand in each of the three places: the one that is lost, the leader, the follower that remains. The
longest time without a commit is printed beside that of one failover of the same quorum; nothing is asserted about a
clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.apache_kafka.mixed_quorum import OURS, MixedQuorum
from support.apache_kafka.mixed_story import assert_nothing_is_lost, chosen
from support.clients.config_load import ConfigLoad, now

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]


@dataclass(frozen=True)
class Case:
    """The kinds of the leader and of the two followers; the first follower is lost, or the leader."""

    kinds: str
    leader_is_lost: bool

    def __str__(self) -> str:
        who = "the leader" if self.leader_is_lost else "a follower"
        return f"{self.kinds} loses {who}, {self.kinds[0 if self.leader_is_lost else 1]}"


CASES = tuple(
    Case(kinds, lost) for kinds in ("OOO", "JOO", "OJO", "OOJ", "JJO", "OJJ", "JOJ") for lost in (True, False)
)


@pytest.mark.timeout(3600)
def test_a_lost_disk_is_replaced_by_the_tools_and_nothing_acknowledged_is_lost(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """RCF: remove and add under load; commits go on meanwhile."""
    alone = [case for case in CASES if case.kinds == "OOO"]
    mixed = [case for case in CASES if case.kinds != "OOO"]
    for case in (*chosen(run_seed, alone, 1), *chosen(run_seed, mixed, 1)):
        directory = tmp_path / f"{case.kinds}-{case.leader_is_lost}"
        sampled(f"{case}: {replace_disk(directory, case)}")


def replace_disk(directory: Path, case: Case) -> str:
    with MixedQuorum(directory, case.kinds) as quorum:
        quorum.start()
        leader = quorum.lead_by(case.kinds[0])
        quorum.wait_until_following()  # a JVM that still starts would make a lost voter two
        followers = [n for n in (1, 2, 3) if n != leader]
        lost = leader if case.leader_is_lost else next(n for n in followers if quorum.kinds[n] == case.kinds[1])
        with ConfigLoad(quorum.bootstrap) as load:
            load.wait_for(30)
            started, epoch = now(), quorum.quorum().leader_epoch
            old = quorum.directory_id(lost)
            quorum.lose_disk(lost)
            load.wait_for(5)
            removing = now()
            said = quorum.remove(lost, old)
            assert said == (0, f"Removed  KRaft controller {lost} with directory id {old}\n", ""), quorum.tail(
                quorum.leader()
            )
            assert quorum.voters() == {1, 2, 3} - {lost}
            new = bring_back(quorum, lost)
            load.wait_for(10)
            elections = quorum.quorum().leader_epoch - epoch
            pauses = load.longest_pause_s(started, removing), load.longest_pause_s(removing, now())
            assert {str(one.directory_id) for one in quorum.quorum().voters if one.replica_id == lost} == {new}
            failover = pause_of_one_failover(quorum, load)
        assert new != old
        assert_nothing_is_lost(quorum, load)
        longest = f"longest pause {pauses[0]:.2f} s at the loss, {pauses[1]:.2f} s while it was replaced"
        waited, for_what = load.longest_in_vain
        in_vain = f"; a client waited in vain {waited:.2f} s ({for_what})" if waited > 1 else ""
        return f"{len(load.names)} changes, {elections} elections, {longest}; one failover {failover:.2f} s{in_vain}"


def bring_back(quorum: MixedQuorum, lost: int) -> str:
    """Format, start as an observer, wait until it has caught up, add; the new directory id."""
    quorum.format_anew(lost)
    new = quorum.directory_id(lost)
    quorum.boot(lost)
    quorum.wait_until_following([lost])
    said = quorum.add(lost, tool=OURS)
    where = f"CONTROLLER://{quorum.node(lost).endpoint}"
    told = f"Added controller {lost} with directory id {new} and endpoints: {where}\n"
    assert said == (0, told, ""), quorum.tail(quorum.leader())
    quorum.wait_for_voters({1, 2, 3})
    return new


def pause_of_one_failover(quorum: MixedQuorum, load: ConfigLoad) -> float:
    leader, started = quorum.leader(), now()
    quorum.kill(leader)
    load.wait_for(10)
    pause = load.longest_pause_s(started, now())
    quorum.boot(leader)
    load.wait_for(10)
    return pause
