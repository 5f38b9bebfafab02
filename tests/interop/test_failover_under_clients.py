"""A Kafka client that nobody here wrote keeps writing while processes are killed; what was acknowledged is there
afterwards.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from support.clients.acknowledged_writer import TOPIC, Writer, everything
from support.nodes.processes import Cluster, NodeProcess

pytestmark = pytest.mark.interop


def create_topic(servers: str, name: str = TOPIC) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(60)


def test_no_acknowledged_record_is_lost_while_controllers_and_the_broker_are_killed(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3, brokers=1) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        create_topic(cluster.bootstrap_servers)
        writer = Writer(cluster.bootstrap_servers)
        try:
            writer.wait_for_more(20)
            old = cluster.wait_for_leader()
            old.kill()
            writer.wait_for_more(20)
            cluster.wait_for_leader(other_than=old.node_id)
            create_topic(cluster.bootstrap_servers, "made-after-the-failover")
            old.start()
            broker: NodeProcess = cluster.nodes[11]
            broker.kill()
            broker.start()
            writer.wait_for_more(20)
        finally:
            acknowledged = writer.stop()
        assert len(acknowledged) >= 60
        assert set(acknowledged) - everything(cluster.bootstrap_servers, len(acknowledged)) == set()
