"""What a secure node's file says, with Apache Kafka's names only, and where its certificate is.

Every node shows the certificate of its Secret, mounted whole, so that the kubelet puts a renewed one in its place.
Between nodes, and for the operator, both ends show one; all nodes are one principal, whichever of them comes, so that
a node more or less changes no other node's file. What is not allowed is denied.
"""

from __future__ import annotations

from typing import Final

from kraft_operator.api import names
from kraft_operator.api.network import ListenerSpec
from kraft_operator.api.roles import Roles
from kraft_operator.api.security import Authentication, CertificateSource
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.context import Manifest
from kraft_operator.manifests.tokens import oauth_properties

TLS_PATH: Final = "/etc/kafka/tls"
VOLUME: Final = "tls"
AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
USERS_UNIT: Final = "KRaftUser"
"""Of the subjects of users' certificates."""
MAX_REAUTH: Final = "connections.max.reauth.ms"
SCRAM: Final = "SCRAM-SHA-512"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


def protocol_of(listener: ListenerSpec) -> str:
    if not listener.tls:
        return "PLAINTEXT"
    return "SASL_SSL" if listener.authentication is not None and listener.authentication.by_sasl else "SSL"


def nodes_principal(cluster: KRaftCluster) -> str:
    return f"CN={cluster.name}-node,OU={cluster.namespace},O={cluster.name}"


def operator_principal(cluster: KRaftCluster) -> str:
    return f"CN={names.operator_identity(cluster.name)},OU={cluster.namespace},O={cluster.name}"


def acknowledged(cluster: KRaftCluster, roles: Roles) -> list[Manifest]:
    """What the environment of a controller says that serves a plaintext listener: Quorate's image does not start
    without it, others do not read it. It is no part of a revision: it comes with the next pod, and restarts none.
    """
    plain = roles.controls and not all(each.tls for each in cluster.spec.controller_listeners)
    return [{"name": "QUORATE_INSECURE", "value": "true"}] if plain else []


def security_properties(cluster: KRaftCluster, roles: Roles) -> dict[str, str]:
    """Empty for nodes without certificates."""
    spec = cluster.spec
    if not spec.uses_certificates(roles):
        return {}
    found = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{TLS_PATH}/keystore.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{TLS_PATH}/ca.crt",
    }
    if spec.security.authorized:
        found |= {"authorizer.class.name": AUTHORIZER, "super.users": ";".join(_super_users(cluster))}
        found |= {} if spec.security.enforced else {"allow.everyone.if.no.acl.found": "true"}
    controllers = spec.controller_listeners if roles.controls else spec.known_controllers
    own = (*controllers, *(spec.broker_listeners if roles.serves else ()))
    for listener in (each for each in own if each.authentication is Authentication.TLS):
        prefix = f"listener.name.{listener.name.lower()}."
        found[f"{prefix}ssl.client.auth"] = "required"
        of_nodes = listener.own or listener in controllers
        found[f"{prefix}ssl.principal.mapping.rules"] = (
            _one_principal(cluster) if of_nodes else clients_principals(cluster, listener)
        )
    for listener in spec.broker_listeners if roles.serves else ():
        prefix = f"listener.name.{listener.name.lower()}."
        if listener.authentication is Authentication.SCRAM:
            found[f"{prefix}sasl.enabled.mechanisms"] = SCRAM
            found[f"{prefix}{SCRAM.lower()}.sasl.jaas.config"] = f"{SCRAM_MODULE} required;"
        if listener.oauth is not None:
            found |= {f"{prefix}{name}": text for name, text in oauth_properties(listener.oauth).items()}
        if listener.session_seconds is not None:
            found[f"{prefix}{MAX_REAUTH}"] = str(round(listener.session_seconds * 1000))
    return found


def clients_principals(cluster: KRaftCluster, listener: ListenerSpec) -> str:
    """The owner's rules come after that of KRaftUsers, which stands where nobody else issues certificates."""
    own = cluster.spec.security.source is CertificateSource.OPERATOR
    users = [f"RULE:^CN=([a-z0-9.-]+),OU={USERS_UNIT},O={cluster.name}$/$1/"] if own else []
    return ",".join([*users, *(listener.mapping_rules or ("DEFAULT",))])


def tls_volumes(cluster: KRaftCluster, roles: Roles, node_id: int) -> list[Manifest]:
    if not cluster.spec.uses_certificates(roles):
        return []
    return [{"name": VOLUME, "secret": {"secretName": names.node_tls(cluster.name, node_id), "defaultMode": 0o440}}]


def tls_mounts(cluster: KRaftCluster, roles: Roles) -> list[Manifest]:
    """Never a subPath: a file that is mounted by one is never renewed."""
    return [{"name": VOLUME, "mountPath": TLS_PATH, "readOnly": True}] if cluster.spec.uses_certificates(roles) else []


def _super_users(cluster: KRaftCluster) -> list[str]:
    own = [f"User:{nodes_principal(cluster)}", f"User:{operator_principal(cluster)}"]
    return [*own, *cluster.spec.security.super_users]


def _one_principal(cluster: KRaftCluster) -> str:
    node = names.node_identity(cluster.name, "[0-9]+")
    return f"RULE:^CN={node},OU={cluster.namespace},O={cluster.name}$/{nodes_principal(cluster)}/,DEFAULT"
