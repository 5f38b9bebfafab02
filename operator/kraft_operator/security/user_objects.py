"""The Secret of a user, ready for clients: name and password, or key and certificate, whom to trust, where to begin,
and all of it once more as the properties file of a Kafka client.
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
from kraft_operator.security.certificates import BadCertificate, Pair, read
from kraft_operator.security.secret_objects import CERTIFICATE, KEY, KEY_STORE, TRUSTED, pair_of, text_of
from kraft_operator.users import UserAuthentication, UserSecret

ANNOTATION_ROTATED: Final = f"{names.GROUP}/rotated"
ANNOTATION_SETTINGS: Final = f"{names.GROUP}/settings"
ANNOTATION_BY: Final = f"{names.GROUP}/authentication"
_LISTENERS: Final = {
    UserAuthentication.SCRAM: Authentication.SCRAM,
    UserAuthentication.TLS: Authentication.TLS,
}
PASSWORD: Final = "password"  # noqa: S105  the key of a Secret
MIN_PASSWORD: Final = 16


def bootstrap_servers(cluster: KRaftCluster, by: UserAuthentication = UserAuthentication.SCRAM) -> str:
    """Of the first listener where users come so; empty without one."""
    how = _LISTENERS[by]
    ports = [each.port for each in cluster.spec.broker_listeners if each.authentication is how and not each.own]
    host = f"{names.bootstrap_service(cluster.name)}.{cluster.namespace}.svc.{cluster.spec.cluster_domain}"
    return f"{host}:{ports[0]}" if ports else ""


def settings_of(cluster: KRaftCluster, trusted: str, by: UserAuthentication = UserAuthentication.SCRAM) -> str:
    """Names what a Secret says besides its password or key. The first of the trusted ones has signed what it has."""
    return sha256(f"{bootstrap_servers(cluster, by)}\n{trusted}".encode()).hexdigest()[:16]


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
        "ssl.truststore.certificates": _on_one_line(trusted),
    }
    data = {
        "username": user,
        PASSWORD: password,
        "sasl.jaas.config": login,
        "bootstrap.servers": servers,
        "ca.crt": trusted,
        "client.properties": "".join(f"{key}={value}\n" for key, value in properties.items()),
    }
    marks = {ANNOTATION_ROTATED: rotated, ANNOTATION_SETTINGS: settings_of(cluster, trusted)}
    return _secret(cluster, user, user_uid, data=data, marks=marks)


def certificate_secret(
    cluster: KRaftCluster, user: str, user_uid: str, *, pair: Pair, trusted: str, rotated: str
) -> dict[str, Any]:
    servers = bootstrap_servers(cluster, UserAuthentication.TLS)
    properties = {
        "bootstrap.servers": servers,
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": _on_one_line(pair.key),
        "ssl.keystore.certificate.chain": _on_one_line(pair.certificate),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": _on_one_line(trusted),
    }
    data = {
        "username": user,
        CERTIFICATE: pair.certificate,
        KEY: pair.key,
        KEY_STORE: pair.key + pair.certificate,
        "bootstrap.servers": servers,
        TRUSTED: trusted,
        "client.properties": "".join(f"{key}={value}\n" for key, value in properties.items()),
    }
    settings = settings_of(cluster, trusted, UserAuthentication.TLS)
    marks = {ANNOTATION_ROTATED: rotated, ANNOTATION_SETTINGS: settings, ANNOTATION_BY: UserAuthentication.TLS.value}
    return _secret(cluster, user, user_uid, data=data, marks=marks)


def _on_one_line(text: str) -> str:
    return text.strip().replace("\n", "\\n")


def _secret(
    cluster: KRaftCluster, user: str, user_uid: str, *, data: Mapping[str, str], marks: dict[str, str]
) -> dict[str, Any]:
    owner = {"apiVersion": names.API_VERSION, "kind": names.USER_KIND, "name": user, "uid": user_uid}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {
            "name": names.user_secret(user),
            "namespace": cluster.namespace,
            "labels": labels(cluster),
            "annotations": marks,
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
    certified, begins, ends = marks.get(ANNOTATION_BY) == UserAuthentication.TLS, 0.0, 0.0
    try:
        if certified:
            found = read(pair_of(secret), text_of(secret, TRUSTED))[0]
            begins, ends = found.begins, found.ends
        else:
            password_of(secret)
    except BadCertificate as error:
        fault = str(error)
    rotated, settings = marks.get(ANNOTATION_ROTATED, ""), marks.get(ANNOTATION_SETTINGS, "")
    version = f"{meta['uid']}.{meta.get('resourceVersion', '')}"
    by = UserAuthentication.TLS if certified else UserAuthentication.SCRAM
    return UserSecret(
        meta["uid"], version, owner, rotated, settings=settings, fault=fault, by=by, begins=begins, ends=ends
    )
