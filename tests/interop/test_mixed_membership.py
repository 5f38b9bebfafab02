"""Voters come and go in mixed quorums, by Kafka's tools and ours, asked of leaders of both kinds (KIP-853); and by
themselves (KIP-1186).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.apache_kafka.mixed_quorum import JAVA, OURS, MixedQuorum
from support.apache_kafka.mixed_story import SOAK, assert_nothing_is_lost, chosen
from support.clients.config_load import ConfigLoad
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

AUTO_JOIN = {"controller.quorum.auto.join.enable": "true"}


@pytest.mark.timeout(1200)
def test_voters_are_added_and_removed_by_both_tools_whoever_leads(
    tmp_path: Path, sampled: Callable[[str], None]
) -> None:
    """RCF-01..10 beside Java: an observer of each kind is added, voters and the leader itself are removed,
    under load.
    """
    with MixedQuorum(tmp_path, "OJO", spares="JO") as quorum:
        quorum.start([1, 2, 3, 4, 5])
        with ConfigLoad(quorum.bootstrap) as load:
            load.wait_for(10)
            quorum.lead_by(OURS)
            quorum.wait_until_following([1, 2, 3, 4, 5])
            changed(quorum.add(4, tool=JAVA), quorum)
            assert quorum.voters() == {1, 2, 3, 4}
            refused = quorum.add(4)
            assert (refused.rc, "DuplicateVoterException: The voter id for ReplicaKey(id=4" in refused.err) == (1, True)
            changed(quorum.remove(3), quorum)
            assert quorum.voters() == {1, 2, 4}
            quorum.make_lead(2)
            quorum.wait_until_following([5])
            changed(quorum.add(5), quorum)
            assert quorum.voters() == {1, 2, 4, 5}
            load.wait_for(10)
            changed(quorum.remove(2, tool=JAVA), quorum)
            quorum.leader(other_than=2)
            quorum.wait_for_voters({1, 4, 5})
            quorum.make_lead(1)
            changed(quorum.remove(1), quorum)
            quorum.leader(other_than=1)
            quorum.wait_for_voters({4, 5})
            load.wait_for(10)
            quorum.wait_until_following([2, 4, 5])
            changed(quorum.add(2, tool=JAVA), quorum)
            quorum.wait_for_voters({2, 4, 5})
            load.wait_for(10)
        compared = assert_nothing_is_lost(quorum, load)
        sampled(f"OJO+JO: seven changes of voters, {len(load.names)} changes, {compared} batches alike")


def changed(said: object, quorum: MixedQuorum) -> None:
    assert isinstance(said, tuple)
    assert said[0] == 0, f"{said}\n{''.join(quorum.tail(n) for n in quorum.kinds)}"


@pytest.mark.timeout(1200)
def test_a_controller_joins_by_itself_whatever_its_kind_and_the_leaders(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """KIP-1186: ours joins a Java leader, Java's joins ours; and a new disk takes the place of the lost one without any
    tool.
    """
    for kind in chosen(run_seed, (OURS, JAVA), 1):
        with MixedQuorum(tmp_path / kind, "OJO", spares="JO", extra=AUTO_JOIN) as quorum:
            quorum.start()
            with ConfigLoad(quorum.bootstrap) as load:
                load.wait_for(10)
                quorum.lead_by(kind)
                quorum.boot(4)
                quorum.boot(5)
                quorum.wait_for_voters({1, 2, 3, 4, 5})
                load.wait_for(10)
                lost = 4 if kind == OURS else 5
                quorum.lose_disk(lost)
                load.wait_for(10)
                quorum.format_anew(lost)
                new = quorum.directory_id(lost)
                quorum.boot(lost)
                wait_for_directory(quorum, lost, new)
                load.wait_for(10)
            compared = assert_nothing_is_lost(quorum, load)
            sampled(f"auto join, {kind} leads: {len(load.names)} changes, {compared} batches alike")


def wait_for_directory(quorum: MixedQuorum, node_id: int, directory_id: str) -> None:
    def there() -> bool:
        return any(
            one.replica_id == node_id and str(one.directory_id) == directory_id for one in quorum.quorum().voters
        )

    eventually(f"the new directory of node {node_id} votes", there)


@pytest.mark.timeout(1200)
def test_a_static_quorum_becomes_dynamic_by_the_features_tool(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """kraft.version 0 to 1 while records are written, with a leader of each kind; then voters can be
    removed and added.
    """
    for kind in chosen(run_seed, (OURS, JAVA), 1):
        with MixedQuorum(tmp_path / kind, "OJO", static=True) as quorum:
            quorum.start()
            with ConfigLoad(quorum.bootstrap) as load:
                load.wait_for(10)
                leader = quorum.lead_by(kind)
                assert level(quorum) == 0
                refused = quorum.remove(3)
                assert (refused.rc, "UnsupportedVersionException" in refused.err) == (1, True), refused
                upgrade(quorum, tool=OURS if kind == JAVA else JAVA)
                assert level(quorum) == 1
                assert {str(one.directory_id) for one in quorum.quorum().voters} == {
                    quorum.directory_id(n) for n in (1, 2, 3)
                }
                again = quorum.features("downgrade", "--feature", "kraft.version=0")
                assert (again.rc, "Can't downgrade the version of this feature." in again.out) == (1, True)
                changed(quorum.remove(3), quorum)
                load.wait_for(5)
                quorum.wait_until_following([3])
                changed(quorum.add(3), quorum)
                quorum.wait_for_voters({1, 2, 3})
                for node_id in (1, 2, 3) if SOAK else (leader,):
                    quorum.kill(node_id)
                    load.wait_for(5)
                    quorum.boot(node_id)
                    quorum.wait_until_following()
                assert level(quorum) == 1
            compared = assert_nothing_is_lost(quorum, load)
            sampled(f"kraft.version 0 to 1, {kind} leads: {len(load.names)} changes, {compared} batches alike")


def upgrade(quorum: MixedQuorum, tool: str) -> None:
    """Refused until every voter has told this leader what it supports, which each does within a fetch timeout."""

    def granted() -> bool:
        said = quorum.features("upgrade", "--feature", "kraft.version=1", tool=tool)
        if said.rc:
            assert "because not all of the voters support it" in said.out, said
            return False
        assert said == (0, "kraft.version was upgraded to 1.\n", "")
        return True

    eventually("kraft.version 1", granted)


def level(quorum: MixedQuorum) -> int:
    said = quorum.features("describe")
    assert said.rc == 0, said.err
    return next(int(line.split()[7]) for line in said.out.splitlines() if line.split()[1] == "kraft.version")
