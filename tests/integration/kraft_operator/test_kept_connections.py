"""The operator's probe keeps its connections from look to look, over real nodes: also through a restart, and not beyond
its own end.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kraft_operator.observed import Brokers, Quorum, QuorumState
from kraft_operator.quorum import Addresses, KafkaProbe
from support.nodes.processes import Cluster, eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def connections(ports: set[int]) -> set[int]:
    """This process's ends of what is open to these ports."""
    own = {os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1][-4:], 16) for row in rows if int(row[2][-4:], 16) in ports and f"socket:[{row[9]}]" in own}


def test_looks_share_connections_until_a_node_is_started_anew(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3, brokers=1) as cluster, KafkaProbe() as probe:
        cluster.start()
        cluster.wait_for_leader()
        cluster.wait_until_unfenced()
        controllers = {int(node.node_id): node.endpoint for node in cluster.controller_nodes}
        brokers = {int(node.node_id): node.endpoint for node in cluster.broker_nodes}
        asked = Addresses(controllers, dict.fromkeys(controllers), brokers, with_replicas=True)
        ports = {each.port for each in (*controllers.values(), *brokers.values())}

        def look() -> tuple[Quorum, Brokers] | None:
            quorum, seen = probe.look(asked)
            whole = quorum.state is QuorumState.AVAILABLE and seen.registered == frozenset(brokers)
            return (quorum, seen) if whole and seen.replicas is not None else None

        eventually("a whole answer", look)
        kept = connections(ports)
        for _ in range(5):
            assert look()
        assert kept
        assert connections(ports) == kept
        node = cluster.controller_nodes[0]
        node.kill()
        node.start()
        eventually("a whole answer after a restart", look)
        probe.close()
        assert connections(ports) == set()
