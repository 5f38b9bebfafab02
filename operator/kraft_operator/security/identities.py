"""Which certificates a secure cluster needs, and for which hosts.

A node's certificate serves both directions, as a node shows the same one to who connects and where it connects. Its
subject never changes, because a node refuses to reload a certificate of another name; its hosts only grow while it
lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.security import CertificateSource
from kraft_operator.api.spec import Group, KRaftCluster
from kraft_operator.credentials import Subject, Wanted
from kraft_operator.manifests.context import NodePlan
from kraft_operator.manifests.security import USERS_UNIT, nodes_principal
from storage_guard.formats import HOST_IP

LOCALHOST: Final = "localhost"


def node_subject(cluster: KRaftCluster, node_id: int) -> Subject:
    return Subject(names.node_identity(cluster.name, node_id), cluster.namespace, cluster.name)


def operator_subject(cluster: KRaftCluster) -> Subject:
    return Subject(names.operator_identity(cluster.name), cluster.namespace, cluster.name)


def archive_subject(cluster: KRaftCluster) -> Subject:
    return Subject(names.archive_identity(cluster.name), cluster.namespace, cluster.name)


def user_subject(cluster: KRaftCluster, user: str) -> Subject:
    """No node, operator or archive is ever called so: no namespace has capitals."""
    return Subject(user, USERS_UNIT, cluster.name)


def authority_subject(cluster: KRaftCluster) -> Subject:
    return Subject(names.authority_key(cluster.name), cluster.namespace, cluster.name)


def wanted(cluster: KRaftCluster, nodes: Iterable[NodePlan], owners: Mapping[str, str]) -> Iterator[Wanted]:
    """The operator's, the archive's, then each node's. `owners`: UIDs of the nodes' ConfigMaps by name; a node that has
    none yet gets its certificate once it has.
    """
    seconds = cluster.spec.security.validity_seconds
    own = (names.API_VERSION, names.KIND, cluster.name, cluster.uid)
    secret = names.operator_tls(cluster.name)
    yield Wanted(secret, operator_subject(cluster), (), seconds, own, origin=origin_of(cluster, secret))
    if cluster.spec.archive is not None:
        secret = names.archive_tls(cluster.name)
        yield Wanted(secret, archive_subject(cluster), (), seconds, own, origin=origin_of(cluster, secret))
    for node in nodes:
        group = cluster.spec.group(node.group)
        name = names.node_name(cluster.name, node.group, node.node_id)
        if group is not None and name in owners:
            owner = ("v1", "ConfigMap", name, owners[name])
            secret, subject = names.node_tls(cluster.name, node.node_id), node_subject(cluster, node.node_id)
            yield Wanted(
                secret, subject, hosts_of(cluster, group, node), seconds, owner, needed=needed_by(cluster, group, node),
                origin=origin_of(cluster, secret, node.node_id), also=(nodes_principal(cluster),),
            )  # fmt: skip


def origin_of(cluster: KRaftCluster, secret: str, node_id: int = -1) -> str:
    """The Secret of somebody else of which this one gets a copy; empty where the operator issues."""
    security = cluster.spec.security
    if security.source is CertificateSource.CERT_MANAGER:
        return names.issued_secret(secret)
    if security.provided is None:
        return ""
    if secret == names.operator_tls(cluster.name):
        return security.provided.operator
    return security.provided.node_secret(node_id) if node_id >= 0 else security.provided.archive


def needed_by(cluster: KRaftCluster, group: Group, node: NodePlan) -> tuple[str, ...]:
    """Those by which nodes, operator and clients connect."""
    return tuple(dict.fromkeys(_hosts(cluster, group, node, lambda *asked: _service_names(*asked)[-1:])))


def hosts_of(cluster: KRaftCluster, group: Group, node: NodePlan) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*_hosts(cluster, group, node, _service_names), LOCALHOST)))


def _hosts(
    cluster: KRaftCluster, group: Group, node: NodePlan, forms: Callable[[KRaftCluster, str], list[str]]
) -> list[str]:
    pod = names.pod_name(cluster.name, group.name, node.node_id)
    found = forms(cluster, f"{pod}.{names.nodes_service(cluster.name)}")
    if group.roles.serves:
        found += forms(cluster, names.bootstrap_service(cluster.name))
        for listener in (each for each in cluster.spec.broker_listeners if each.exposed):
            found += forms(cluster, names.exposed_bootstrap(cluster.name, listener.name))
            begin = listener.passthrough.bootstrap_host if listener.passthrough is not None else None
            own = (begin, listener.advertised_host, listener.host_of(node.node_id))
            found += [host for host in own if host]
        found += [host for _, host, _ in node.addresses if host != HOST_IP]
    return found


def _service_names(cluster: KRaftCluster, name: str) -> list[str]:
    """From short to long, as the resolver of a pod completes them."""
    local = f"{name}.{cluster.namespace}"
    return [name, local, f"{local}.svc", f"{local}.svc.{cluster.spec.cluster_domain}"]
