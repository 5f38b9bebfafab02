"""The Secret of a user, ready for clients: name and password, whom to trust, where to begin, and all of it once more as
the properties file of a Kafka client.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.security import Authentication
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.context import labels
from kraft_operator.manifests.security import SCRAM, SCRAM_MODULE
from kraft_operator.security.certificates import BadCertificate
from kraft_operator.security.secret_objects import text_of
from kraft_operator.users import UserSecret

ANNOTATION_ROTATED: Final = f"{names.GROUP}/rotated"
ANNOTATION_SETTINGS: Final = f"{names.GROUP}/settings"
PASSWORD: Final = "password"  # noqa: S105  the key of a Secret
MIN_PASSWORD: Final = 16


def bootstrap_servers(cluster: KRaftCluster) -> str:
    """Of the first listener where users log in; empty without one."""
    ports = [each.port for each in cluster.spec.broker_listeners if each.authentication is Authentication.SCRAM]
    host = f"{names.bootstrap_service(cluster.name)}.{cluster.namespace}.svc.{cluster.spec.cluster_domain}"
    return f"{host}:{ports[0]}" if ports else ""


def settings_of(cluster: KRaftCluster, trusted: str) -> str:
    """Names what a Secret says besides its password."""
    return sha256(f"{bootstrap_servers(cluster)}\n{trusted}".encode()).hexdigest()[:16]


def user_secret(
    cluster: KRaftCluster, user: str, user_uid: str, *, password: str, trusted: str, rotated: str
) -> dict[str, Any]:
    login = f'{SCRAM_MODULE} required username="{user}" password="{password}";'
    servers = bootstrap_servers(cluster)
    properties = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": SCRAM,
        "sasl.jaas.config": login,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": trusted.strip().replace("\n", "\\n"),
    }
    data = {
        "username": user,
        PASSWORD: password,
        "sasl.jaas.config": login,
        "bootstrap.servers": servers,
        "ca.crt": trusted,
        "client.properties": "".join(f"{key}={value}\n" for key, value in properties.items()),
    }
    owner = {"apiVersion": names.API_VERSION, "kind": names.USER_KIND, "name": user, "uid": user_uid}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {
            "name": names.user_secret(user),
            "namespace": cluster.namespace,
            "labels": labels(cluster),
            "annotations": {ANNOTATION_ROTATED: rotated, ANNOTATION_SETTINGS: settings_of(cluster, trusted)},
            "ownerReferences": [owner],
        },
        "data": {key: b64encode(value.encode()).decode() for key, value in data.items()},
    }


def password_of(secret: Mapping[str, Any]) -> str:
    """Raises BadCertificate."""
    password = text_of(secret, PASSWORD)
    if len(password) < MIN_PASSWORD or not password.isprintable() or '"' in password or "\\" in password:
        raise BadCertificate(f"its {PASSWORD} has less than {MIN_PASSWORD} characters, or quotes")
    return password


def user_secret_seen(secret: Mapping[str, Any]) -> UserSecret:
    meta = secret["metadata"]
    owner = next((each["uid"] for each in meta.get("ownerReferences") or () if each["kind"] == names.USER_KIND), "")
    marks, fault = meta.get("annotations") or {}, ""
    try:
        password_of(secret)
    except BadCertificate as error:
        fault = str(error)
    rotated, settings = marks.get(ANNOTATION_ROTATED, ""), marks.get(ANNOTATION_SETTINGS, "")
    version = f"{meta['uid']}.{meta.get('resourceVersion', '')}"
    return UserSecret(meta["uid"], version, owner, rotated, settings=settings, fault=fault)
