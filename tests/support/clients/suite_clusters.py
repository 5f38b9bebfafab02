"""Clusters as clients' own tests want them, at the addresses that are written into those tests.

Only in a network of one's own (`own_network`): the addresses are fixed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from support.nodes.processes import Cluster

_MODULES: Final = "org.apache.kafka.common.security"
_SCRAM: Final = f"{_MODULES}.scram.ScramLoginModule required;"


def cluster_of_segmentio(directory: Path) -> Cluster:
    """As in its docker-compose-400.yml: one node in both roles, clients at localhost:9092, with SASL at 9093."""
    cluster = Cluster(directory, controllers=1)
    (node,) = cluster.nodes.values()
    node.properties |= {
        "process.roles": "broker,controller",
        "listeners": f"CONTROLLER://127.0.0.1:{node.port},PLAIN://127.0.0.1:9092,SASL://127.0.0.1:9093",
        "advertised.listeners": "PLAIN://localhost:9092,SASL://localhost:9093",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAIN",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:adminscram256;User:adminscram512;User:adminplain",
        "message.max.bytes": "200000000",
        "auto.create.topics.enable": "true",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl.plain.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required "
        'user_adminplain="admin-secret";',
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": _SCRAM,
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": _SCRAM,
    }
    return cluster


USERS_OF_SEGMENTIO: Final = (
    "--add-scram", "SCRAM-SHA-256=[name=adminscram256,password=admin-secret-256]",
    "--add-scram", "SCRAM-SHA-512=[name=adminscram512,password=admin-secret-512]",
)  # fmt: skip
"""For who formats."""


def cluster_of_sarama(directory: Path) -> Cluster:
    """As in its docker-compose.yml: brokers 1 to 5, each in a rack of its own; clients come through a proxy before
    each, at localhost:29091 and so on, which leads to port 39091 and so on.
    """
    cluster = Cluster(directory, controllers=1, brokers=5)
    (controller,) = cluster.controller_nodes
    controller.node_id = 100
    controller.properties["node.id"] = "100"
    for number, node in enumerate(cluster.broker_nodes, 1):
        node.node_id = number
        node.properties |= {
            "node.id": str(number),
            "broker.rack": str(number),
            "listeners": f"INTERNAL://127.0.0.1:{node.port},LOCAL://127.0.0.1:{39090 + number}",
            "advertised.listeners": f"INTERNAL://127.0.0.1:{node.port},LOCAL://localhost:{29090 + number}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,LOCAL:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
            "default.replication.factor": "2",
            "offsets.topic.replication.factor": "2",
            "transaction.state.log.replication.factor": "2",
            "transaction.state.log.min.isr": "1",
            "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
            "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": "0",
        }
    return cluster
