"""A broker whose log directories are cordoned by the tool takes no new replicas, also after a restart (KIP-1066)."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from controller_runtime.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from kraft_operator import cluster_queries
from support.nodes.processes import Cluster, eventually, kraft
from support.nodes.strangers import ask

pytestmark = pytest.mark.integration

OPEN, CORDONED = 11, 12


def leaders(cluster: Cluster, topic: str) -> set[int]:
    where = ("--bootstrap-server", str(cluster.nodes[OPEN].endpoint))
    made = kraft("topics", *where, "--create", "--topic", topic, "--partitions", "6", "--replication-factor", "1")
    assert made.returncode == 0, made.stderr
    said = kraft("topics", *where, "--describe", "--topic", topic).stdout
    return {int(each) for each in re.findall(r"Replicas: (\d+)", said)}


def alter(cluster: Cluster, *words: str) -> None:
    where = ("--bootstrap-server", str(cluster.nodes[CORDONED].endpoint))
    done = kraft("configs", *where, "--alter", "--entity-type", "brokers", "--entity-name", str(CORDONED), *words)
    assert done.returncode == 0, done.stderr


def is_cordoned(cluster: Cluster) -> bool:
    """As the cluster knows it."""
    said = ask(cluster.nodes[CORDONED], DescribeLogDirsRequest(topics=None), 5)
    assert isinstance(said, DescribeLogDirsResponse)
    return all(one.is_cordoned for one in said.results)


def seen_by_the_operator(cluster: Cluster) -> bool | None:
    async def look() -> bool | None:
        async with AdminClient(bootstrap_servers=str(cluster.nodes[CORDONED].endpoint)) as admin:
            return (await cluster_queries.cordoned({CORDONED: admin}))[CORDONED]

    return asyncio.run(look())


def await_told(cluster: Cluster, *, closed: bool) -> None:
    eventually("the cluster knows it", lambda: is_cordoned(cluster) is closed)
    eventually("the operator sees it", lambda: seen_by_the_operator(cluster) is closed)


def test_nothing_new_is_placed_on_a_broker_that_is_cordoned_until_it_is_opened_again(tmp_path: Path) -> None:
    """DIR-11."""
    with Cluster(tmp_path, controllers=1, brokers=2) as cluster:
        broker = cluster.nodes[CORDONED]
        disks = [f"{broker.directory}/disk{number}" for number in range(2)]
        broker.properties["log.dirs"] = ",".join(disks)
        cluster.start()
        cluster.wait_until_unfenced()
        assert leaders(cluster, "before") == {OPEN, CORDONED}
        for value, all_of_it in ((disks[0], False), (f"[{','.join(disks)}]", True), ("*", True)):
            alter(cluster, "--add-config", f"cordoned.log.dirs={value}")
            await_told(cluster, closed=all_of_it)
        assert leaders(cluster, "meanwhile") == {OPEN}
        assert broker.stop() == 0
        broker.start()
        cluster.wait_until_unfenced()
        eventually("it is known again", lambda: is_cordoned(cluster))
        assert leaders(cluster, "restarted") == {OPEN}
        alter(cluster, "--delete-config", "cordoned.log.dirs")
        await_told(cluster, closed=False)
        assert leaders(cluster, "afterwards") == {OPEN, CORDONED}
