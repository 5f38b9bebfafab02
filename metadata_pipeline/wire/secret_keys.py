"""One key of a Secret of Kubernetes, read by a pod with its own account: `get` on that Secret is all that it needs.

Nothing is listed, watched or kept: the Secret is asked for whenever a quorum is, so a password that was changed is the
next one that is used. No message has anything of what the Secret holds.
"""

from __future__ import annotations

import json
import os
import ssl
from base64 import b64decode
from binascii import Error as NotBase64
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import quote

from metadata_pipeline.problems import PipelineError

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes puts what a pod's account is known by."""
KEY: Final = "client.properties"
TIMEOUT_SECONDS: Final = 10.0
MOST_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class SecretKey:
    """`namespace`: None is that of the pod."""

    name: str
    namespace: str | None = None
    key: str = KEY

    def __str__(self) -> str:
        return f"key {self.key} of the Secret {self.namespace or '(own namespace)'}/{self.name}"


def read_secret(wanted: SecretKey) -> str:
    """Its text. Raises PipelineError."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not ACCOUNT.is_dir():
        raise PipelineError(
            f"{wanted}: this is no pod of Kubernetes, or it has no account",
            "run it in a pod with automountServiceAccountToken, or name a file with `properties`",
        )
    try:
        namespace = wanted.namespace or (ACCOUNT / "namespace").read_text().strip()
        status, body = _get(host, int(port), f"/api/v1/namespaces/{quote(namespace)}/secrets/{quote(wanted.name)}")
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise PipelineError(
            f"{wanted}: the API server was not asked: {why}", "see the pod's network and account"
        ) from (None)
    if status != 200:
        raise PipelineError(f"{wanted}: the API server says {status}", _remedy(status, namespace, wanted))
    return _text(body, wanted)


def _get(host: str, port: int, path: str) -> tuple[int, bytes]:
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    token = (ACCOUNT / "token").read_text().strip()
    with closing(HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=trust)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read(MOST_BYTES)


def _remedy(status: int, namespace: str, wanted: SecretKey) -> str:
    if status == 404:
        return f"make it, or mend its name: kubectl -n {namespace} get secret {wanted.name}"
    if status in (401, 403):
        return f"let the pod's account get secrets/{wanted.name} in {namespace}: a Role with resourceNames"
    return "run the same command again"


def _text(body: bytes, wanted: SecretKey) -> str:
    try:
        held = json.loads(body).get("data") or {}
        found = held.get(wanted.key)
        if found is not None:
            return b64decode(found, validate=True).decode()
    except (ValueError, AttributeError, TypeError, NotBase64):
        raise PipelineError(f"{wanted} is no text", "write Kafka's client properties into it") from None
    keys = ", ".join(sorted(held)) or "none at all"
    raise PipelineError(f"{wanted} is not there", f"the Secret's keys are {keys}; name one with `secret-key`")
