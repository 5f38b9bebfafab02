"""A cluster in which everybody says who he is: controllers by PLAIN, brokers to them by SCRAM, clients as they like."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from support.nodes.processes import Cluster, free_ports

_MODULES: Final = "org.apache.kafka.common.security"
PLAIN_MODULE: Final = f"{_MODULES}.plain.PlainLoginModule"
SCRAM_MODULE: Final = f"{_MODULES}.scram.ScramLoginModule"
USER: Final = "ann"
PASSWORD: Final = "c4nary of ann"
SCRAM_USER: Final = "bob"
NODE_SECRET: Final = "c4nary of nodes"
BROKER: Final = "broker"
BROKER_SECRET: Final = "c4nary of brokers"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROTOCOLS: Final = "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT"


def plain(user: str, password: str, more: str = "") -> str:
    return f'{PLAIN_MODULE} required username="{user}" password="{password}" {more};'


def scram(user: str, password: str) -> str:
    return f'{SCRAM_MODULE} required username="{user}" password="{password}";'


def of_controllers() -> dict[str, str]:
    """What a controller has: it is `node` to others, and knows brokers and an administrator too."""
    return {
        "listener.security.protocol.map": PROTOCOLS,
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.controller.plain.sasl.jaas.config": plain(
            "node", NODE_SECRET, f'user_node="{NODE_SECRET}" user_{USER}="{PASSWORD}"'
        ),
        "listener.name.controller.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    }


def of_brokers() -> dict[str, str]:
    """What a broker has that comes to controllers by SCRAM, and asks its clients who they are."""
    return {
        "listener.security.protocol.map": PROTOCOLS,
        "sasl.mechanism.controller.protocol": "SCRAM-SHA-512",
        "listener.name.controller.scram-sha-512.sasl.jaas.config": scram(BROKER, BROKER_SECRET),
        "listener.name.clients.sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "listener.name.clients.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_{USER}="{PASSWORD}";',
        "listener.name.clients.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    }


def added_users() -> list[str]:
    """Words for who formats a node: users that log in by SCRAM, whom the first records of the log know."""
    users = [
        *(f"{each}=[name={SCRAM_USER},password={PASSWORD}]" for each in MECHANISMS[1:]),
        f"SCRAM-SHA-512=[name={BROKER},password={BROKER_SECRET}]",
    ]
    return [word for user in users for word in ("--add-scram", user)]


class SaslCluster(Cluster):
    """`Cluster`, whose brokers have a listener CLIENTS beside PLAINTEXT."""

    def __init__(self, directory: Path, controllers: int = 1, brokers: int = 1, **extra: str) -> None:
        super().__init__(directory, controllers, brokers)
        self._secrets = directory / "secrets"
        self.clients_port = free_ports(1)[0]
        for node in self.nodes.values():
            node.properties["delegation.token.secret.key"] = NODE_SECRET
        for node in self.controller_nodes:
            node.properties |= of_controllers() | extra
        for node in self.broker_nodes:
            node.properties |= of_brokers() | extra
            node.properties["listeners"] += f",CLIENTS://127.0.0.1:{self.clients_port}"
        self._name_secrets()

    def _name_secrets(self) -> None:
        """They lie in files of their own; the nodes' properties name them."""
        self._secrets.mkdir()
        for name, secret in {"node": NODE_SECRET, "broker": BROKER_SECRET, "user": PASSWORD}.items():
            (self._secrets / name).write_text(secret)
            for node in self.nodes.values():
                reference = f"${{dir:{self._secrets}:{name}}}"
                node.properties |= {key: text.replace(secret, reference) for key, text in node.properties.items()}
        for node in self.nodes.values():
            node.properties |= {
                "config.providers": "dir",
                "config.providers.dir.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
                "config.providers.dir.param.allowed.paths": str(self._secrets),
            }

    def format(self, *options: str) -> None:
        super().format(*options, *added_users())

    @property
    def clients(self) -> str:
        """Where clients connect."""
        return f"127.0.0.1:{self.clients_port}"


def client_file(
    path: Path, mechanism: str, user: str, password: str, *, by_token: bool = False, protocol: str = "SASL_PLAINTEXT"
) -> str:
    """The properties file of a tool; `by_token`: user and password are the id and the HMAC of a delegation token."""
    module = plain(user, password) if mechanism == "PLAIN" else scram(user, password)
    module = module.replace(";", 'tokenauth="true";') if by_token else module
    path.write_text(f"security.protocol={protocol}\nsasl.mechanism={mechanism}\nsasl.jaas.config={module}\n")
    return str(path)
