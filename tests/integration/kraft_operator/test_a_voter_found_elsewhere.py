"""A voter that the metadata log knows by another endpoint, with real controllers: seen by the operator's probe,
corrected by its request.

The endpoint that somebody gives the leader of itself reaches it (localhost instead of 127.0.0.1), so nothing fails and
nobody corrects it: a leader does not look at its own entry. Should another one be elected meanwhile, it is the next
leader's turn. Only the bundled runtime bears this request about its leader, and the operator never sends it; what it
says of a leader instead, that a restart mends it, is the second test.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from controller_runtime.identifiers import Endpoint
from kraft_operator.observed import Quorum, QuorumState, QuorumVoter
from kraft_operator.pools import Pools
from kraft_operator.quorum import Addresses, AdminFailed, KafkaChanges, KafkaProbe
from support.nodes.processes import Cluster, eventually

POOLS = Pools()
pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

LISTENER = "CONTROLLER"


class Asking:
    def __init__(self, cluster: Cluster) -> None:
        self.at = {int(node.node_id): node.endpoint for node in cluster.controller_nodes}
        self.changes = KafkaChanges(tuple(self.at.values()), POOLS)

    def look(self) -> Quorum | None:
        with KafkaProbe() as probe:
            seen, _ = probe.look(Addresses(self.at, dict.fromkeys(self.at)))
        return seen if seen.state is QuorumState.AVAILABLE else None

    def told(self, voter: QuorumVoter, host: str, epoch: int) -> Quorum | None:
        """The quorum once the leader has written this host for the voter."""
        endpoint = Endpoint(host, self.at[voter.node_id].port)
        with suppress(AdminFailed):  # another change is not committed yet, or another leader was elected
            self.changes.update(voter.node_id, voter.directory_id, {LISTENER: endpoint}, epoch, 10)
        seen = self.look()
        return seen if seen is not None and (LISTENER, host, endpoint.port) in known(seen, voter.node_id) else None

    def mislead(self) -> QuorumVoter | None:
        """Tell the leader of itself that it is elsewhere."""
        seen = self.look()
        leader = seen.voter(seen.leader_id) if seen is not None else None
        return leader if seen is not None and leader and self.told(leader, "localhost", seen.epoch) else None

    def correct(self, voter: QuorumVoter) -> Quorum | None:
        seen = self.look()
        return self.told(voter, "127.0.0.1", seen.epoch) if seen is not None else None


def known(seen: Quorum, node_id: int) -> tuple[tuple[str, str, int], ...]:
    voter = seen.voter(node_id)
    return voter.endpoints if voter is not None else ()


def test_a_wrong_entry_is_seen_and_corrected_by_request(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        asking = Asking(cluster)
        before = eventually("a quorum", asking.look)
        started = {((LISTENER, "127.0.0.1", at.port),) for at in asking.at.values()}
        assert {known(before, each) for each in asking.at} == started
        voter = eventually("a leader that is found elsewhere", asking.mislead)
        with pytest.raises(AdminFailed, match="was not updated"):
            asking.changes.update(voter.node_id, voter.directory_id, {LISTENER: asking.at[voter.node_id]}, 0, 10)
        after = eventually("it is found where it is", lambda: asking.correct(voter))
        assert sorted(each.key for each in after.voters) == sorted(each.key for each in before.voters)


def test_a_leader_that_is_found_elsewhere_corrects_itself_once_another_one_leads(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        asking = Asking(cluster)
        voter = eventually("a leader that is found elsewhere", asking.mislead)
        node = cluster.nodes[voter.node_id]
        node.kill()
        node.start()

        def right() -> bool:
            seen = asking.look()
            return seen is not None and known(seen, voter.node_id) == ((LISTENER, "127.0.0.1", node.port),)

        eventually("it is found where it is", right)
