"""Two controllers with one node id: who a voter is, its directory says, so the second one never counts for
the first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.admin.results import QuorumDescription
from support.nodes.processes import Cluster, eventually

pytestmark = pytest.mark.integration


def identities(quorum: QuorumDescription) -> dict[int, str]:
    return {one.replica_id: str(one.directory_id) for one in quorum.voters}


def test_a_second_node_with_the_id_of_a_voter_follows_as_an_observer(tmp_path: Path) -> None:
    with Cluster(tmp_path / "quorum", controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        before = cluster.quorum()
        first = next(node for node in cluster.controller_nodes if node is not leader)
        twin = Cluster(tmp_path / "twin", controllers=3).nodes[first.node_id]
        twin.properties["controller.quorum.bootstrap.servers"] = cluster.bootstrap_controllers
        twin.format("--no-initial-controllers")
        twin.start()
        try:
            eventually("the twin follows", lambda: twin.http("/readyz")[0] == 200)
            eventually(
                "it is an observer", lambda: [one.replica_id for one in cluster.quorum().observers] == [first.node_id]
            )
            after = cluster.quorum()
            assert identities(after) == identities(before)
            assert str(after.observers[0].directory_id) not in identities(after).values()
            eventually("commits go on", lambda: cluster.quorum().high_watermark > after.high_watermark)
            eventually("the first is ready", lambda: first.http("/readyz")[0] == 200)
        finally:
            twin.kill()
