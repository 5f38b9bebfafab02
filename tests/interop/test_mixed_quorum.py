"""INT-02: controllers of Apache Kafka 4.3.1 and ours in one quorum: they elect each other, follow each other, and hold the same log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.java_kafka import JavaNode, require_java
from support.processes import Cluster, eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

JAVA = 3
OURS = (1, 2)
SECONDS = 120.0
ATTEMPTS = 12


class Mixed:
    """Nodes 1 and 2 are ours, node 3 is Java's; all three were formatted by our `kafka-storage`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.java: JavaNode | None = None

    def start(self) -> None:
        self.cluster.format()
        for node_id in (*OURS, JAVA):
            self.boot(node_id)

    def boot(self, node_id: int) -> None:
        node = self.cluster.nodes[node_id]
        if node_id == JAVA:
            self.java = JavaNode(node.properties_file, node.directory / "java.log")
        else:
            node.start()

    def kill(self, node_id: int) -> None:
        if node_id == JAVA:
            assert self.java is not None
            self.java.kill()
        else:
            self.cluster.nodes[node_id].kill()

    def leader(self, other_than: int = -1) -> int:
        return self.cluster.wait_for_leader(other_than=other_than, seconds=SECONDS).node_id

    def wait_until_all_follow(self) -> None:
        """Every voter holds what is committed, and more is committed all the time."""
        before = self.cluster.quorum().high_watermark

        def there() -> bool:
            seen = self.cluster.quorum()
            return seen.high_watermark > before + 2 and all(one.log_end_offset > before for one in seen.voters)

        eventually("all voters follow", there, SECONDS)

    def make_lead(self, wanted: tuple[int, ...]) -> int:
        """Kill leaders until one of these leads."""
        leader = self.leader()
        for _ in range(ATTEMPTS):
            if leader in wanted:
                return leader
            self.kill(leader)
            next_leader = self.leader(other_than=leader)
            self.boot(leader)
            leader = next_leader
            self.wait_until_all_follow()
        raise AssertionError(f"none of {wanted} ever led")


@pytest.fixture(params=["dynamic", "static"])
def mixed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mixed]:
    require_java()
    with Cluster(tmp_path, controllers=3, static_voters=request.param == "static") as cluster:
        quorum = Mixed(cluster)
        try:
            quorum.start()
            yield quorum
        finally:
            if quorum.java is not None:
                quorum.java.kill()


@pytest.mark.timeout(900)
def test_leadership_passes_from_ours_to_java_and_back(mixed: Mixed) -> None:
    mixed.leader()
    mixed.wait_until_all_follow()

    assert mixed.make_lead((JAVA,)) == JAVA
    mixed.wait_until_all_follow()

    mixed.kill(JAVA)
    assert mixed.leader(other_than=JAVA) in OURS
    mixed.boot(JAVA)
    mixed.wait_until_all_follow()

    logs = [mixed.cluster.nodes[n].directory / "data" / "__cluster_metadata-0" / f"{0:020}.log" for n in (*OURS, JAVA)]
    committed = min(len(log.read_bytes()) for log in logs)
    assert committed > 2000
    assert len({log.read_bytes()[: committed - 4000] for log in logs}) == 1, "the logs differ"
    assert mixed.java is not None
    said = mixed.java.log.read_text(errors="replace")
    assert not re.findall(r"(?:ERROR|FATAL) .*(?:[Ff]atal|IllegalState).*", said)
