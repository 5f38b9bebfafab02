"""A broker of ours and one of Apache Kafka copy from each other where each has to show who it is, and may: by
certificates, and by SCRAM inside TLS, with the authorizer on both. Either is killed while the other leads; nothing that
was acknowledged is lost, and both logs are the same, record by record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata

from support.apache_kafka.java_kafka import JavaNode, require_java
from support.clients.acknowledged_writer import TOPIC, Writer, everything
from support.nodes.processes import Cluster, eventually
from support.nodes.replica_logs import wait_until_same
from support.security.authority import Authority
from support.security.sasl_cluster import added_users
from support.security.secure_brokers import SCRAM, WAYS, ClientSettings, librdkafka_settings, secure_nodes

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(600)]

OURS, JAVAS = 11, 12
SECONDS = 240.0
STARTED = "Transition from STARTING to STARTED"


@dataclass
class Mixed:
    cluster: Cluster
    settings: ClientSettings
    java: JavaNode | None = None
    starts: int = 0

    def start(self, broker: int) -> None:
        node = self.cluster.nodes[broker]
        if broker == OURS:
            node.start()
            eventually("ours is ready", lambda: node.http("/readyz")[0] == 200, SECONDS)
            return
        self.starts += 1
        self.java = JavaNode(node.properties_file, node.directory / f"java-{self.starts}.txt")
        self.java.wait_for_log(STARTED, timeout_s=SECONDS)

    def kill(self, broker: int) -> None:
        if broker == OURS:
            self.cluster.nodes[broker].kill()
        elif self.java is not None:
            self.java.kill()

    def seen(self) -> PartitionMetadata:
        def asked() -> PartitionMetadata | None:
            looking = AdminClient({**self.settings, "client.id": "looks"})
            return looking.list_topics(TOPIC, 10).topics[TOPIC].partitions.get(0)

        return eventually("the partition is known", asked)

    def led_by(self, broker: int) -> None:
        eventually(f"broker {broker} leads", lambda: self.seen().leader == broker, SECONDS)

    def in_sync(self) -> None:
        eventually("both are in sync", lambda: set(self.seen().isrs) == {OURS, JAVAS}, SECONDS)


@pytest.fixture(params=WAYS)
def mixed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mixed]:
    require_java()
    way, authority = str(request.param), Authority("mixed-ca")
    with Cluster(tmp_path, controllers=1, brokers=2) as made:
        made.nodes[1].properties["broker.session.timeout.ms"] = "4000"
        for broker in made.broker_nodes:
            broker.properties |= {"replica.lag.time.max.ms": "3000", "inter.broker.listener.name": "PLAINTEXT"}
        made.nodes[JAVAS].properties.pop("quorate.http.listener")
        secure_nodes(made, tmp_path, authority, way)
        made.format(*(added_users() if way == SCRAM else ()))
        made.nodes[1].start()
        found = Mixed(made, librdkafka_settings(tmp_path, authority, way, made.bootstrap_servers))
        try:
            found.start(OURS)
            found.start(JAVAS)
            yield found
        finally:
            found.kill(JAVAS)


def test_ours_and_javas_copy_from_each_other_and_lose_nothing(mixed: Mixed) -> None:
    """SSL-26, SAS-44 among brokers, FLW-01 and ISR-04 beside Java."""
    servers = mixed.cluster.bootstrap_servers
    admin = AdminClient(mixed.settings)
    admin.create_topics([NewTopic(TOPIC, 1, replica_assignment=[[OURS, JAVAS]])])[TOPIC].result(60)
    writer = Writer(servers, mixed.settings)
    try:
        mixed.in_sync()
        for falls, leads in ((OURS, JAVAS), (JAVAS, OURS)):
            writer.wait_for_more(20)
            mixed.kill(falls)
            mixed.led_by(leads)
            writer.wait_for_more(20)
            mixed.start(falls)
            mixed.in_sync()
    finally:
        acknowledged = writer.stop()
    assert set(acknowledged) - everything(servers, len(acknowledged), mixed.settings) == set()
    wait_until_same(mixed.cluster.broker_nodes, TOPIC)
