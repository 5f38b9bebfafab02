"""A node's server.properties, with Apache Kafka's names only, and the ConfigMap that carries it.

The gate in the pod copies the file (adding broker.rack) when the pod starts, so a changed ConfigMap reaches a node only
with a new pod. The hash is an annotation of the pod template: a change makes a new revision, and the gate knows which
file to wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.network import ListenerSpec
from kraft_operator.api.roles import Roles
from kraft_operator.api.spec import ClusterSpec, Group
from kraft_operator.api.stages import REPLICATION
from kraft_operator.manifests import further
from kraft_operator.manifests.context import Context, Manifest, NodePlan, metadata, node_selector
from kraft_operator.manifests.process import LOGGING_FILE, digest, logging_file
from kraft_operator.manifests.replication import OF_THE_USER, replication_properties
from kraft_operator.manifests.security import protocol_of, security_properties

FILE_NAME: Final = "server.properties"
DATA_PATH: Final = "/var/lib/kafka/data"
LOG_PATH: Final = f"{DATA_PATH}/log"


def server_properties(context: Context, node: NodePlan) -> str:
    """The operator's keys first, then the user's in order; the user's never repeat the operator's
    (`api.config_keys`).
    """
    group = context.group(node)
    given = _user_properties(context, group)
    replication = replication_properties(context.replication_factor, given)
    own = _render((_own_properties(context, group, node) | replication).items())
    user = _render(sorted(given.items()))
    logging = logging_file(group.process, java=context.cluster.spec.java_in(group))
    beside = f"# {LOGGING_FILE}: {digest(logging)}\n" if logging else ""
    return f"# Written by kraft-operator for node {node.node_id}.\n{beside}{own}" + (
        f"{OF_THE_USER}\n{user}" if user else ""
    )


def config_map(context: Context, node: NodePlan) -> Manifest:
    cluster, group = context.cluster, context.group(node)
    logging = logging_file(group.process, java=cluster.spec.java_in(group))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(
            cluster,
            names.node_name(cluster.name, group.name, node.node_id),
            node_selector(cluster, group, node.node_id),
        ),
        "data": {FILE_NAME: server_properties(context, node), **({LOGGING_FILE: logging} if logging else {})},
    }


def _own_properties(context: Context, group: Group, node: NodePlan) -> dict[str, str]:
    spec = context.cluster.spec
    listeners = spec.listeners_of(group.roles)
    host, node_id = context.cluster.host(group, node.node_id), node.node_id
    controllers = spec.controller_listeners if group.roles.controls else spec.known_controllers
    default_port = controllers[0].port
    voters = (f"{context.cluster.voter_host(voter)}:{default_port}" for voter in context.controller_ids)
    properties = {
        "process.roles": group.roles.process_roles,
        "node.id": str(node_id),
        "log.dirs": ",".join((LOG_PATH, *map(further.log_directory, sorted(group.volumes)))),
        "listeners": _endpoints(listeners, ""),
        "advertised.listeners": ",".join(_advertised(listener, host, node) for listener in listeners),
        "listener.security.protocol.map": ",".join(
            f"{listener.name}:{protocol_of(listener)}" for listener in (*controllers, *_named_beside(spec, group.roles))
        ),
        "controller.listener.names": ",".join(listener.name for listener in controllers),
        "controller.quorum.bootstrap.servers": ",".join(voters),
        "controller.quorum.auto.join.enable": "false",
    }
    if group.roles.serves:
        properties["inter.broker.listener.name"] = spec.broker_listeners[0].name
    return properties | security_properties(context.cluster, group.roles)


def _named_beside(spec: ClusterSpec, roles: Roles) -> Iterable[ListenerSpec]:
    """The brokers' listeners. Controllers of a cluster that becomes secure do without the brokers' new one: none of
    them restarts for it.
    """
    without = roles.controls and spec.security.migrated
    return (each for each in spec.broker_listeners if not (without and each == REPLICATION))


def _advertised(listener: ListenerSpec, host: str, node: NodePlan) -> str:
    """Pods are told the pod's name; clients outside what the planner has found for this node, which a revision's name
    does not hold.
    """
    if not listener.exposed:
        return f"{listener.name}://{host}:{listener.port}"
    if listener.passthrough is not None:
        own = listener.host_of(node.node_id)
        port = listener.passthrough.port if own else listener.port  # one that leaves has a name no more
        return f"{listener.name}://{own or host}:{port}"
    found = next((each for each in node.addresses if each[0] == listener.name), None)
    outside, port = (found[1], found[2]) if found else (listener.exposure.value.lower(), listener.port)
    return f"{listener.name}://{listener.host_of(node.node_id) or outside}:{port}"


def _user_properties(context: Context, group: Group) -> Mapping[str, str]:
    """A combined node has both roles'; where they differ it is the brokers' that clients feel."""
    config, roles = context.cluster.spec.config, group.roles
    of_roles = {**(config.controller if roles.controls else {}), **(config.broker if roles.serves else {})}
    return {**config.common, **of_roles, **group.config}


def _endpoints(listeners: Iterable[ListenerSpec], host: str) -> str:
    return ",".join(f"{listener.name}://{host}:{listener.port}" for listener in listeners)


def _render(properties: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{key}={escape(value)}\n" for key, value in properties)


def escape(value: str) -> str:
    """As java.util.Properties reads it: Latin-1, backslash escapes, leading blanks would be lost."""
    escaped = value.replace("\\", "\\\\").replace("\t", "\\t").replace("\f", "\\f")
    if escaped.startswith(" "):
        escaped = "\\" + escaped
    if escaped.isascii() and escaped.isprintable():
        return escaped
    return "".join(char if " " <= char <= "~" else _unicode_escape(char) for char in escaped)


def _unicode_escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
