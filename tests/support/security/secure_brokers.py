"""Clusters whose brokers may not copy from each other unless they show who they are, and may: mutual TLS or SCRAM
inside TLS, with the authorizer; nobody is allowed anything but the nodes and one administrator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from support.nodes.processes import Cluster
from support.security.authority import Authority, secure_properties, tls_properties
from support.security.sasl_cluster import (
    BROKER,
    BROKER_SECRET,
    PASSWORD,
    SCRAM_USER,
    of_brokers,
    of_controllers,
    scram,
)

ADMIN: Final = "admin"
MTLS: Final = "mtls"
SCRAM: Final = "scram"
WAYS: Final = (MTLS, SCRAM)
REAUTH_MS: Final = 2_000
"""How long a broker that came by SCRAM is known before it has to say again who it is."""
ClientSettings = dict[str, str | int | float | bool]


def guard(supers: Iterable[str]) -> dict[str, str]:
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(f"User:{name}" for name in supers),
    }


def secure_nodes(cluster: Cluster, directory: Path, authority: Authority, way: str) -> None:
    """Every listener of every node."""
    trusted = authority.write(directory)
    for node in cluster.nodes.values():
        own = authority.issue(f"node-{node.node_id}").write(node.directory)
        if way == MTLS:
            supers = [f"CN={ADMIN}", *(f"CN=node-{each}" for each in cluster.nodes)]
            node.properties |= secure_properties(own, trusted) | guard(supers)
        else:
            of_role = of_controllers() if node in cluster.controller_nodes else of_brokers() | _among_brokers()
            node.properties |= {**of_role, **tls_properties(own, trusted), **guard(["node", BROKER, SCRAM_USER])}
            node.properties["listener.security.protocol.map"] = "CONTROLLER:SASL_SSL,PLAINTEXT:SASL_SSL"
            for name in [each for each in node.properties if each.startswith("listener.name.clients.")]:
                del node.properties[name]


def _among_brokers() -> dict[str, str]:
    """What brokers say to each other, and ask of each other."""
    return {
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.plaintext.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.plaintext.scram-sha-512.sasl.jaas.config": scram(BROKER, BROKER_SECRET),
        "listener.name.plaintext.scram-sha-512.connections.max.reauth.ms": str(REAUTH_MS),
    }


def librdkafka_settings(
    directory: Path, authority: Authority, way: str, servers: str, user: str = ADMIN
) -> ClientSettings:
    """Of the administrator; with mutual TLS of whoever is named."""
    trusted = authority.write(directory, "client-ca.pem")
    found: ClientSettings = {"bootstrap.servers": servers, "ssl.ca.location": str(trusted)}
    if way == MTLS:
        own = str(authority.issue(user).write(directory, f"{user}.pem"))
        return {
            **found, "security.protocol": "SSL", "ssl.certificate.location": own, "ssl.key.location": own
        }  # fmt: skip
    return {
        **found,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": SCRAM_USER,
        "sasl.password": PASSWORD,
    }


def java_settings(directory: Path, authority: Authority, way: str) -> Mapping[str, str]:
    """Of the administrator, in the names of Apache Kafka's clients."""
    trusted = authority.write(directory, "client-ca.pem")
    if way == MTLS:
        own = authority.issue(ADMIN).write(directory, f"{ADMIN}.pem")
        return {"security.protocol": "SSL", **tls_properties(own, trusted)}
    module = scram(SCRAM_USER, PASSWORD)
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": module,
        **tls_properties(None, trusted),
    }
