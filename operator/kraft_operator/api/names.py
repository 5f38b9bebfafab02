"""Names that are for ever: of the resource, of a cluster's objects, of labels and annotations.

Voters' endpoints are baked into the metadata log, so every name here derives from the cluster's name and the node id
only and never changes. A role is `controller` or the name of a broker pool; pool names hold no hyphen, so `C-R-N` reads
back in one way.
"""

from __future__ import annotations

from typing import Final

GROUP: Final = "kraft.quorate.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "KRaftCluster"
PLURAL: Final = "kraftclusters"
OPERATIONS: Final = "kraftoperations"
OPERATION_KIND: Final = "KRaftOperation"
USERS: Final = "kraftusers"
USER_KIND: Final = "KRaftUser"

FIELD_MANAGER: Final = "kraft-operator"
CONTROLLER_ROLE: Final = "controller"

MAX_CLUSTER_NAME_LENGTH: Final = 36
MAX_NODE_ID: Final = 9999
"""Together these, and pool names of at most ten characters (see `parse`), keep a StatefulSet's name at 52 characters:
its revision label (name, hyphen, ten digits) may have 63.
"""

LABEL_CLUSTER: Final = f"{GROUP}/cluster"
LABEL_ROLE: Final = f"{GROUP}/role"
"""`controller` or `broker`."""
LABEL_POOL: Final = f"{GROUP}/pool"
"""`controller` or the pool's name: the R of `C-R-N`."""
LABEL_NODE_ID: Final = f"{GROUP}/node-id"
LABEL_VOLUME: Final = f"{GROUP}/volume"
"""On the claims of brokers' further volumes: which of them."""

ANNOTATION_CONFIG_HASH: Final = f"{GROUP}/config-hash"
ANNOTATION_RESTART: Final = f"{GROUP}/restart"
"""On the resource, any value: a new one restarts every pod, one at a time."""
ANNOTATION_APPROVE: Final = f"{GROUP}/approve"
"""On the resource: the hash of the plan that may be carried out (spec.changePolicy.mode Plan)."""
ANNOTATION_GIVE_UP: Final = f"{GROUP}/give-up-claims"
"""On the resource: NAME:UID of claims that are being deleted, separated by commas, whose pods may be restarted although
the data goes with them.
"""
ANNOTATION_FORMAT: Final = f"{GROUP}/approve-format"
"""On the resource: NAME:UID of empty claims, separated by commas, that may be formatted although their node may have
had another disk before.
"""
ANNOTATION_ROUTES: Final = f"{GROUP}/routes"
"""Of Services to which TLSRoutes lead: as long as it is there, routes are looked for."""
ANNOTATION_ROTATE: Final = f"{GROUP}/rotate"
"""Any value. On a KRaftUser a new one gives it another password, on a secure KRaftCluster another authority."""
ANNOTATION_REVISION: Final = f"{GROUP}/revision"
ANNOTATION_TEMPLATE: Final = f"{GROUP}/template"
"""On a pod: what of its template asks for a restart when it changes."""
"""On a StatefulSet: the revision of its group that its next pod gets."""

ARCHIVE_NODE: Final = -1
"""In the place of a node's id: the archive's copy of the log (`storage_guard.survey.NO_NODE`)."""

HTTP_PORT: Final = 9404
HTTP_PORT_NAME: Final = "http"


def node_name(cluster: str, role: str, node_id: int) -> str:
    """Of the node's StatefulSet and ConfigMap."""
    return f"{cluster}-{role}-{node_id}"


def pod_name(cluster: str, role: str, node_id: int) -> str:
    return f"{node_name(cluster, role, node_id)}-0"


def claim_name(cluster: str, role: str, node_id: int) -> str:
    return f"data-{pod_name(cluster, role, node_id)}"


def further_claim_name(cluster: str, role: str, node_id: int, volume: str) -> str:
    """Of a further volume of a broker."""
    return f"data-{volume}-{pod_name(cluster, role, node_id)}"


def nodes_service(cluster: str) -> str:
    return f"{cluster}-nodes"


def bootstrap_service(cluster: str) -> str:
    return f"{cluster}-bootstrap"


def exposed_service(cluster: str, role: str, node_id: int, listener: str) -> str:
    """By which clients outside reach one broker's listener."""
    return f"{node_name(cluster, role, node_id)}-{listener.lower()}"


def exposed_bootstrap(cluster: str, listener: str) -> str:
    """By which they begin."""
    return f"{bootstrap_service(cluster)}-{listener.lower()}"


def ledger_name(cluster: str) -> str:
    return f"{cluster}-ledger"


def authority_key(cluster: str) -> str:
    """The Secret with the key of the cluster's certificate authority; also the authority's name."""
    return f"{cluster}-ca"


def authority_certificate(cluster: str) -> str:
    """The Secret with its certificate alone, for whoever shall trust it."""
    return f"{cluster}-ca-cert"


def operator_tls(cluster: str) -> str:
    """The Secret with the operator's own certificate."""
    return f"{cluster}-operator-tls"


def node_tls(cluster: str, node_id: int) -> str:
    return f"{cluster}-{node_id}-tls"


def issued_secret(secret: str) -> str:
    """Where cert-manager puts what this Secret gets a copy of."""
    return f"{secret.removesuffix('-tls')}-issued"


def archive_name(cluster: str) -> str:
    """Of all that runs the archive: set, Service, file, policy."""
    return f"{cluster}-archive"


def audit_name(cluster: str) -> str:
    """Of the CronJob that audits the archive, and of its policy."""
    return f"{cluster}-audit"


def archive_claim(cluster: str) -> str:
    """As its StatefulSet names it."""
    return f"archive-{archive_name(cluster)}-0"


def archive_tls(cluster: str) -> str:
    """The Secret with the certificate of the archive."""
    return f"{cluster}-archive-tls"


def archive_identity(cluster: str) -> str:
    return f"{cluster}-archive"


def archive_host(cluster: str, namespace: str, cluster_domain: str) -> str:
    """Where its pages are."""
    return f"{archive_name(cluster)}.{namespace}.svc.{cluster_domain}"


def operator_identity(cluster: str) -> str:
    return f"{cluster}-operator"


def node_identity(cluster: str, node_id: int | str) -> str:
    return f"{cluster}-node-{node_id}"


def user_secret(user: str) -> str:
    """With its login. No certificate's Secret ends like this one."""
    return f"{user}-credentials"


def node_host(cluster: str, role: str, node_id: int, namespace: str, cluster_domain: str) -> str:
    """The DNS name of a node's pod."""
    return f"{pod_name(cluster, role, node_id)}.{nodes_service(cluster)}.{namespace}.svc.{cluster_domain}"
