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
