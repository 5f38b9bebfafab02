"""Certificates that somebody else issues: what is in their Secrets, and how cert-manager is asked for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from ipaddress import ip_address
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.credentials import Issued, Request, RequestCertificate, Wanted
from kraft_operator.manifests.context import labels
from kraft_operator.security.certificates import BadCertificate, check_usable, read
from kraft_operator.security.secret_objects import pair_of

ANNOTATION_ASKED: Final = f"{names.GROUP}/asked"
CERTIFICATES: Final = "cert-manager.io/v1"


def sourced_in(secret: Mapping[str, Any], trusted: str) -> Issued:
    """What somebody else has put into a Secret, as it looks to who trusts these authorities (in PEM)."""
    meta = secret["metadata"]
    uid, version = meta["uid"], meta.get("resourceVersion", "")
    try:
        pair = pair_of(secret)
        found, issuer, trusts = read(pair, trusted)
        check_usable(pair)
    except BadCertificate as error:
        return Issued(uid, version, fault=str(error))
    return Issued(
        uid, version, found.subject, hosts=found.hosts, begins=found.begins, ends=found.ends, issuer=issuer,
        trusts=trusts, fingerprint=found.fingerprint,
    )  # fmt: skip


def requested(cluster: KRaftCluster, wanted: Wanted, reason: str) -> RequestCertificate:
    """The key is drawn anew for each certificate, and never leaves Kubernetes' Secrets."""
    ref = cluster.spec.security.issuer
    assert ref is not None
    addresses = [host for host in wanted.hosts if _is_address(host)]
    spec: dict[str, Any] = {
        "secretName": wanted.origin,
        "commonName": wanted.subject.common_name,
        "subject": {"organizationalUnits": [wanted.subject.namespace], "organizations": [wanted.subject.cluster]},
        "duration": f"{wanted.seconds:.0f}s",
        "renewBefore": f"{wanted.seconds / 3:.0f}s",
        "privateKey": {"algorithm": "ECDSA", "size": 256, "encoding": "PKCS8", "rotationPolicy": "Always"},
        "usages": ["digital signature", "server auth", "client auth"],
        "issuerRef": {"name": ref.name, "kind": ref.kind, "group": ref.group},
    }
    if named := [host for host in wanted.hosts if host not in addresses]:
        spec["dnsNames"] = named
    if addresses:
        spec["ipAddresses"] = addresses
    api, kind, name, uid = wanted.owner
    digest = digest_of(spec)
    manifest = {
        "apiVersion": CERTIFICATES,
        "kind": "Certificate",
        "metadata": {
            "name": wanted.origin,
            "namespace": cluster.namespace,
            "labels": labels(cluster),
            "annotations": {ANNOTATION_ASKED: digest},
            "ownerReferences": [{"apiVersion": api, "kind": kind, "name": name, "uid": uid}],
        },
        "spec": spec,
    }
    return RequestCertificate(wanted, manifest, digest, reason)


def digest_of(spec: Mapping[str, Any]) -> str:
    return sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def request_seen(cluster: KRaftCluster, found: Mapping[str, Any]) -> Request:
    meta = found["metadata"]
    owned = (meta.get("labels") or {}).get(names.LABEL_CLUSTER) == cluster.name
    status = found.get("status") or {}
    ready: Mapping[str, Any] = next(
        (each for each in status.get("conditions") or () if each.get("type") == "Ready"), {}
    )
    waits = "" if ready.get("status") == "True" else str(ready.get("message") or "nobody has attended to it yet")
    return Request((meta.get("annotations") or {}).get(ANNOTATION_ASKED, ""), waits, owned)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
