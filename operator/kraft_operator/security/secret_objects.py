"""Secrets that hold certificates: as they are written, and what is read of them.

`tls.key` (PKCS#8) and `tls.crt` as Kubernetes names them, `ca.crt` whom their owner trusts, and `keystore.pem`, key and
chain in one file as Kafka's PEM key store wants them.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster, VolumePolicy
from kraft_operator.credentials import Issued, Wanted
from kraft_operator.manifests.context import labels, owner_reference
from kraft_operator.security.certificates import BadCertificate, Pair, all_facts, read

KEY: Final = "tls.key"
CERTIFICATE: Final = "tls.crt"
TRUSTED: Final = "ca.crt"
KEY_STORE: Final = "keystore.pem"
ANNOTATION_ORIGIN: Final = f"{names.GROUP}/copy-of"
ANNOTATION_SINCE: Final = f"{names.GROUP}/trusted-since"

Secret = dict[str, Any]


def public_secret(cluster: KRaftCluster, name: str, certificates: str, since: float | None = None) -> Secret:
    """`since`: when clients could read first that these are trusted."""
    made = secret_object(cluster, name, {TRUSTED: certificates}, with_volumes(cluster))
    if since is not None:
        made["metadata"]["annotations"] = {ANNOTATION_SINCE: f"{since:.0f}"}
    return made


def published_since(public: Mapping[str, Any] | None) -> float:
    """0 where nobody has said it."""
    marks = ((public or {}).get("metadata") or {}).get("annotations") or {}
    text = str(marks.get(ANNOTATION_SINCE, ""))
    return float(text) if text.isdigit() and len(text) < 12 else 0.0


def leaf_secret(cluster: KRaftCluster, wanted: Wanted, pair: Pair, trusted: str) -> Secret:
    api, kind, name, uid = wanted.owner
    owner = {"apiVersion": api, "kind": kind, "name": name, "uid": uid}
    data = {
        CERTIFICATE: pair.certificate,
        KEY: pair.key,
        KEY_STORE: pair.key + pair.certificate,
        TRUSTED: trusted,
    }
    made = secret_object(cluster, wanted.secret, data, [owner])
    if wanted.origin:
        made["metadata"]["annotations"] = {ANNOTATION_ORIGIN: wanted.origin}
    return made


def text_of(secret: Mapping[str, Any], key: str) -> str:
    """Raises BadCertificate."""
    try:
        return b64decode((secret.get("data") or {})[key], validate=True).decode("ascii")
    except KeyError as error:
        raise BadCertificate(f"it has no {key}") from error
    except (binascii.Error, ValueError, TypeError) as error:
        raise BadCertificate(f"its {key} is no text") from error


def pair_of(secret: Mapping[str, Any]) -> Pair:
    """Raises BadCertificate."""
    return Pair(text_of(secret, KEY), text_of(secret, CERTIFICATE))


def published_by(secret: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Fingerprints; none for what cannot be read."""
    try:
        return tuple(each.fingerprint for each in all_facts(text_of(secret or {}, TRUSTED)))
    except BadCertificate:
        return ()


def issued_in(secret: Mapping[str, Any]) -> Issued:
    meta = secret["metadata"]
    uid, version = meta["uid"], meta.get("resourceVersion", "")
    origin = (meta.get("annotations") or {}).get(ANNOTATION_ORIGIN, "")
    try:
        pair = pair_of(secret)
        found, issuer, trusts = read(pair, text_of(secret, TRUSTED))
        if text_of(secret, KEY_STORE) != pair.key + pair.certificate:
            raise BadCertificate(f"its {KEY_STORE} is not its key and certificate")
    except BadCertificate as error:
        return Issued(uid, version, fault=str(error), origin=origin)
    return Issued(
        uid, version, found.subject, hosts=found.hosts, begins=found.begins, ends=found.ends, issuer=issuer,
        trusts=trusts, fingerprint=found.fingerprint, origin=origin,
    )  # fmt: skip


def with_volumes(cluster: KRaftCluster) -> list[Secret]:
    """Owners of what goes with the volumes. None as long as these outlive the resource: whoever comes back to them
    needs it.
    """
    return [owner_reference(cluster)] if cluster.spec.volume_policy is VolumePolicy.DELETE else []


def secret_object(cluster: KRaftCluster, name: str, data: Mapping[str, str], owners: list[Secret]) -> Secret:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {
            "name": name,
            "namespace": cluster.namespace,
            "labels": labels(cluster),
            "ownerReferences": owners,
        },
        "data": {key: b64encode(value.encode()).decode() for key, value in data.items()},
    }
