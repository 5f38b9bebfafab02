"""Nodes and clients that show each other tokens of one identity provider: their settings, ours and Apache Kafka's."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from support.nodes.processes import Cluster, free_ports
from support.security.identity_provider import AUDIENCE, CLIENT, ISSUER, SECRET, IdentityProvider

PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
MODULE: Final = f"{PACKAGE}.OAuthBearerLoginModule"
VALIDATOR: Final = f"{PACKAGE}.OAuthBearerValidatorCallbackHandler"
LOGIN: Final = f"{PACKAGE}.OAuthBearerLoginCallbackHandler"
UNSECURED: Final = f"{PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
NODE: Final = "node"
PROTOCOLS: Final = "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT"


def system_property(*urls: str) -> str:
    """Apache Kafka's allow-list, for `KAFKA_OPTS` or the command line of Java."""
    return f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={','.join(urls)}"


def of_listener(name: str, provider: IdentityProvider, **more: str) -> dict[str, str]:
    """A listener that takes the provider's tokens, and whose node shows one of its own where it connects."""
    prefix = f"listener.name.{name.lower()}"
    mine = f"{prefix}.oauthbearer"
    return {
        f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{mine}.sasl.jaas.config": f"{MODULE} required;",
        f"{mine}.sasl.server.callback.handler.class": VALIDATOR,
        f"{mine}.sasl.login.callback.handler.class": LOGIN,
        f"{mine}.sasl.oauthbearer.jwks.endpoint.url": provider.url("jwks"),
        "sasl.oauthbearer.token.endpoint.url": provider.url("token"),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.client.credentials.client.id": NODE,
        "sasl.oauthbearer.client.credentials.client.secret": SECRET,
        "quorate.oauthbearer.allowed.urls": f"{provider.url('jwks')},{provider.url('token')}",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


class OAuthCluster(Cluster):
    """Controllers and brokers know each other by tokens; brokers have a listener CLIENTS beside PLAINTEXT."""

    def __init__(self, directory: Path, provider: IdentityProvider, controllers: int = 1, **more: str) -> None:
        super().__init__(directory, controllers, brokers=1)
        provider.clients[NODE] = SECRET
        self.clients_port = free_ports(1)[0]
        for node in self.nodes.values():
            node.properties |= {
                "listener.security.protocol.map": PROTOCOLS,
                "sasl.mechanism.controller.protocol": "OAUTHBEARER",
                **of_listener("CONTROLLER", provider),
            }
        for node in self.broker_nodes:
            node.properties |= of_listener("CLIENTS", provider) | more
            node.properties["listeners"] += f",CLIENTS://127.0.0.1:{self.clients_port}"

    @property
    def clients(self) -> str:
        return f"127.0.0.1:{self.clients_port}"


def client_properties(provider: IdentityProvider, client: str = CLIENT, secret: str = SECRET) -> dict[str, str]:
    """Of a client that gets its token by its secret (KIP-768)."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{MODULE} required;",
        "sasl.login.callback.handler.class": LOGIN,
        "sasl.oauthbearer.token.endpoint.url": provider.url("token"),
        "sasl.oauthbearer.client.credentials.client.id": client,
        "sasl.oauthbearer.client.credentials.client.secret": secret,
        "default.api.timeout.ms": "30000",
        "request.timeout.ms": "20000",
    }


def client_file(path: Path, properties: dict[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return str(path)
