"""The tools that change a quorum, against our own processes: through controllers, and through a broker that
forwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.identifiers import DirectoryId, NodeId, Uuid
from controller_runtime.protocol.api_errors import DuplicateVoter, RequestTimedOut, VoterNotFound
from support.apache_kafka.mixed_quorum import MixedQuorum

pytestmark = pytest.mark.integration

STRANGER = DirectoryId(Uuid.of(7, 7))


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedQuorum]:
    """Three voters, an observer with id 4, and broker 11. All but the last test leave it so."""
    with MixedQuorum(tmp_path_factory.mktemp("voters"), "OOO", spares="O", brokers=1) as running:
        running.start([1, 2, 3, 4, 11])
        running.cluster.wait_until_unfenced()
        yield running


@pytest.mark.timeout(300)
def test_what_the_quorum_refuses_is_said_as_kafka_says_it(quorum: MixedQuorum) -> None:
    quorum.wait_until_following([1, 2, 3, 4])
    for via in ("controller", "server"):
        unknown = quorum.remove(2, str(STRANGER), via=via)
        voter = f"ReplicaKey(id=2, directoryId={STRANGER})"
        words = (
            "org.apache.kafka.common.errors.VoterNotFoundException: Cannot remove "
            f"voter {voter} from the set of voters ["
        )
        assert (unknown.rc, unknown.out, unknown.err.startswith(words)) == (1, "", True), unknown.err
        twice = quorum.add(3, via=via)
        words = "org.apache.kafka.common.errors.DuplicateVoterException: The voter id for ReplicaKey(id=3, "
        assert (twice.rc, twice.out, twice.err.startswith(words)) == (1, "", True), twice.err
    assert quorum.voters() == {1, 2, 3}


@pytest.mark.timeout(300)
def test_features_are_described_raised_and_refused_through_both_doors(quorum: MixedQuorum) -> None:
    by_controller, by_broker = quorum.features("describe"), quorum.features("describe", via="server")
    assert by_controller.rc == by_broker.rc == 0
    names = [line.split()[1] for line in by_controller.out.splitlines()]
    assert names == sorted(names)
    assert {"metadata.version", "kraft.version"} <= set(names)
    said = [[line.split("Epoch")[0] for line in each.out.splitlines()] for each in (by_broker, by_controller)]
    assert said[0] == said[1], "our brokers replicate"
    for via in ("controller", "server"):
        down = quorum.features("downgrade", "--feature", "transaction.version=1", via=via)
        assert down == (0, "transaction.version was downgraded to 1.\n", "")
        dry = quorum.features("upgrade", "--feature", "transaction.version=2", "--dry-run", via=via)
        assert dry == (0, "transaction.version can be upgraded to 2.\n", "")
        up = quorum.features("upgrade", "--feature", "transaction.version=2", via=via)
        assert up == (0, "transaction.version was upgraded to 2.\n", "")
        refused = quorum.features("upgrade", "--feature", "kraft.version=2", via=via)
        assert (refused.rc, refused.err) == (1, "1 out of 1 operation(s) failed.\n")
        assert "Invalid update version 2 for feature kraft.version." in refused.out


@pytest.mark.timeout(300)
def test_the_admin_client_changes_voters_and_raises_what_the_leader_refuses(quorum: MixedQuorum) -> None:
    quorum.wait_until_following([1, 2, 3, 4])
    directory = DirectoryId(Uuid.parse(quorum.directory_id(4)))
    listeners = {"CONTROLLER": quorum.node(4).endpoint}

    async def change() -> None:
        async with AdminClient(bootstrap_controllers=quorum.bootstrap, timeout_seconds=60) as admin:
            await admin.add_voter(NodeId(4), directory, listeners)
            with pytest.raises(DuplicateVoter):
                await admin.add_voter(NodeId(4), directory, listeners)
            with pytest.raises(VoterNotFound):
                await admin.remove_voter(NodeId(4), STRANGER)
            await admin.remove_voter(NodeId(4), directory)
            with pytest.raises(RequestTimedOut):
                await admin.add_voter(NodeId(9), STRANGER, {"CONTROLLER": quorum.node(11).endpoint}, timeout_seconds=20)

    asyncio.run(change())
    assert quorum.voters() == {1, 2, 3}


@pytest.mark.timeout(300)
def test_a_controller_is_added_and_the_leader_removed_through_a_broker(quorum: MixedQuorum) -> None:
    quorum.wait_until_following([1, 2, 3, 4])
    directory, where = quorum.directory_id(4), f"CONTROLLER://{quorum.node(4).endpoint}"
    added = quorum.add(4, via="server")
    assert added == (0, f"Added controller 4 with directory id {directory} and endpoints: {where}\n", "")
    assert quorum.voters() == {1, 2, 3, 4}
    leader = quorum.leader()
    gone = quorum.remove(leader, via="server")
    assert gone == (0, f"Removed  KRaft controller {leader} with directory id {quorum.directory_id(leader)}\n", "")
    quorum.wait_for_voters({1, 2, 3, 4} - {leader})
    assert quorum.leader(other_than=leader) != leader
