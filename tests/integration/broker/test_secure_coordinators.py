"""What coordinators ask of other brokers is said as brokers speak with each other, not as they speak with controllers:
these are plaintext here, and the brokers' own listener takes nobody who does not show who he is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages.fetch_request import FetchPartition as ReadPartition
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_request import FetchTopic as ReadTopic
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.share_fetch_request import FetchPartition, FetchTopic, ShareFetchRequest
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from support.nodes.processes import Cluster, NodeProcess, eventually, free_ports
from support.nodes.strangers import ask, metrics
from support.security.authority import Authority, tls_properties
from support.security.sasl_cluster import BROKER, BROKER_SECRET, added_users, scram

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(180)]

COORDINATES, LEADS = 11, 12
TOPIC, GROUP = "orders", "workers"
MEMBER = str(Uuid(bytes(15) + b"\1"))
COORDINATORS: Final = {
    "__transaction_state": COORDINATES,
    "__share_group_state": COORDINATES,
    "__consumer_offsets": LEADS,
}
"""Who has their only partition: whatever is coordinated for the leader of TOPIC is at the other broker."""
FEW: Final = {
    f"{name}.{what}": "1"
    for name in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    for what in ("num.partitions", "replication.factor", "min.isr")
    if (name, what) != ("offsets.topic", "min.isr")
}


def made(directory: Path, protocol: str) -> Cluster:
    """Clients and controllers are plaintext; brokers speak with each other by `protocol`."""
    found, authority = Cluster(directory, controllers=1, brokers=2, extra=FEW), Authority("cluster-ca")
    trusted = authority.write(directory)
    for node, port in zip(found.broker_nodes, free_ports(2), strict=True):
        own = authority.issue(f"node-{node.node_id}").write(node.directory)
        node.properties["listeners"] += f",REPLICATION://127.0.0.1:{port}"
        node.properties["listener.security.protocol.map"] += f",REPLICATION:{protocol}"
        node.properties["inter.broker.listener.name"] = "REPLICATION"
        node.properties |= tls_properties(own, trusted) | {"listener.name.replication.ssl.client.auth": "required"}
        if protocol == "SASL_SSL":
            node.properties |= {
                "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
                "listener.name.replication.sasl.enabled.mechanisms": "SCRAM-SHA-512",
                "listener.name.replication.scram-sha-512.sasl.jaas.config": scram(BROKER, BROKER_SECRET),
            }
    return found


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_what_coordinators_ask_of_other_brokers_is_secured_as_brokers_speak(tmp_path: Path, protocol: str) -> None:
    with made(tmp_path, protocol) as cluster:
        cluster.format(*added_users())
        for node in cluster.nodes.values():
            node.start()
        cluster.wait_until_unfenced(60)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        placed = {**COORDINATORS, TOPIC: LEADS}
        topics = [NewTopic(name, 1, replica_assignment=[[broker]]) for name, broker in placed.items()]
        for each in admin.create_topics(topics).values():
            each.result(60)
        leader, coordinator = cluster.nodes[LEADS], cluster.nodes[COORDINATES]
        commit(cluster)
        assert asked(coordinator, "AddPartitionsToTxn", 4) > 0, "the leader has the transaction verified"
        eventually("the marker is written", lambda: stable_offset(leader) == 2, 60)
        share(leader)


def commit(cluster: Cluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "t"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(TOPIC, b"committed")
    producer.commit_transaction(60)


def stable_offset(broker: NodeProcess) -> int:
    """How far committed records and markers may be read."""
    place = ReadPartition(partition=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(max_bytes=1 << 20, isolation_level=1, topics=(ReadTopic(topic=TOPIC, partitions=(place,)),))
    answer: Any = ask(broker, fetch, 11)
    return int(answer.responses[0].partitions[0].last_stable_offset)


def share(broker: NodeProcess) -> None:
    """A member of a share group is given the record: the group's coordinator has had its state made, and the
    partition's leader has read it, both at the other broker.
    """
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(resource_type=32, resource_name=GROUP, configs=(config,))
    ask(broker, IncrementalAlterConfigsRequest(resources=(resource,)), 1)
    found: Any = ask(broker, MetadataRequest(topics=(MetadataRequestTopic(name=TOPIC),)), 12)
    topic_id = found.topics[0].topic_id
    joins = ShareGroupHeartbeatRequest(group_id=GROUP, member_id=MEMBER, subscribed_topic_names=(TOPIC,))
    place = FetchPartition(partition_index=0)
    fetch = ShareFetchRequest(
        group_id=GROUP, member_id=MEMBER, max_wait_ms=500, max_bytes=1 << 20, max_records=10, batch_size=10,
        topics=(FetchTopic(topic_id=topic_id, partitions=(place,)),),
    )  # fmt: skip

    def is_given() -> bool:
        ask(broker, joins, 1)
        answer: Any = ask(broker, fetch, 1)
        return answer.error_code == 0 and any(
            each.acquired_records for topic in answer.responses for each in topic.partitions
        )

    eventually("a share group is given the record", is_given, 60)


def asked(broker: NodeProcess, api: str, since: int = 0) -> float:
    """How often, in versions from `since` on."""
    name = f'kafka_network_requestmetrics_requestspersec_count{{request="{api}",version="'
    found = {key.removeprefix(name).partition('"')[0]: count for key, count in metrics(broker).items() if name in key}
    return sum(count for version, count in found.items() if int(version) >= since)
