"""The operator corrects where a voter is found (UpdateRaftVoter) beside Apache Kafka: its followers and ours, whoever
of the two leads.

A follower corrects its own entry by itself, when its fetch timeout has passed: so these get one of ten minutes, and a
wrong entry stays until the operator's request comes. Never the leader's own: Apache Kafka's ends when it is asked for
that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller_runtime.identifiers import Endpoint
from kraft_operator.observed import Quorum, QuorumState, QuorumVoter
from kraft_operator.pools import Pools
from kraft_operator.quorum import Addresses, AdminFailed, KafkaChanges, KafkaProbe
from support.apache_kafka.mixed_quorum import JAVA, OURS, MixedQuorum
from support.apache_kafka.mixed_story import chosen
from support.nodes.processes import eventually

POOLS = Pools()
pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

LISTENER = "CONTROLLER"
RIGHT, WRONG = "127.0.0.1", "localhost"
"""Both lead there: a wrong entry that leads nowhere would cost more than is asked here."""


@dataclass(frozen=True, slots=True)
class Operator:
    at: dict[int, Endpoint]

    @property
    def changes(self) -> KafkaChanges:
        return KafkaChanges(tuple(self.at.values()), POOLS)

    def look(self) -> Quorum | None:
        with KafkaProbe() as probe:
            seen, _ = probe.look(Addresses(self.at, dict.fromkeys(self.at)))
        return seen if seen.state is QuorumState.AVAILABLE else None

    def voter(self, node_id: int) -> QuorumVoter | None:
        seen = self.look()
        return seen.voter(node_id) if seen is not None else None

    def tell(self, node_id: int, host: str) -> bool:
        """Ask the leader to write this host, unless it is there; whether it is."""
        if self.is_found_at(node_id, host):
            return True
        seen = self.look()
        voter = seen.voter(node_id) if seen is not None else None
        if seen is None or voter is None:
            return False
        endpoint = Endpoint(host, self.at[node_id].port)
        with suppress(AdminFailed):  # the change before it is not committed yet
            self.changes.update(node_id, voter.directory_id, {LISTENER: endpoint}, seen.epoch, 10)
        return False

    def is_found_at(self, node_id: int, host: str) -> bool:
        voter = self.voter(node_id)
        return voter is not None and voter.endpoints == ((LISTENER, host, self.at[node_id].port),)


@pytest.mark.timeout(600)
def test_a_follower_that_the_log_knows_elsewhere_is_corrected_whoever_it_is_and_whoever_leads(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    for kind in chosen(run_seed, (JAVA, OURS), 1):
        with MixedQuorum(tmp_path / kind, "OJJ") as quorum:
            quorum.start()
            leader = quorum.lead_by(kind)
            quorum.wait_until_following()
            operator = Operator({node_id: quorum.node(node_id).endpoint for node_id in quorum.kinds})
            before = eventually("a quorum", operator.look)
            others = [each for each in quorum.kinds if each != leader]
            for follower in others if kind == JAVA else others[:1]:
                restarted_with_patience(quorum, follower)
                corrected(operator, follower)
            after = eventually("a quorum", operator.look)
            assert (after.leader_id, after.epoch) == (before.leader_id, before.epoch) == (leader, before.epoch)
            assert [each.key for each in after.voters] == [each.key for each in before.voters]
            assert quorum.java_faults() == []
            sampled(f"voters' endpoints corrected, {kind} leads")


def restarted_with_patience(quorum: MixedQuorum, follower: int) -> None:
    quorum.stop(follower)
    quorum.node(follower).properties["controller.quorum.fetch.timeout.ms"] = "600000"
    quorum.boot(follower)
    quorum.wait_until_following()


def corrected(operator: Operator, follower: int) -> None:
    eventually("somebody misleads the leader", lambda: operator.tell(follower, WRONG))
    voter = operator.voter(follower)
    assert voter is not None
    with pytest.raises(AdminFailed, match="was not updated"):  # by a leader of long ago
        operator.changes.update(follower, voter.directory_id, {LISTENER: operator.at[follower]}, 0, 10)
    assert operator.is_found_at(follower, WRONG)
    eventually("the operator corrects it", lambda: operator.tell(follower, RIGHT))
