"""An identity provider in the cluster: a pod that serves its keys over https at a Service, and the key behind them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from kraft_operator.kube import POD, SECRET, SERVICE
from support.kubernetes.cluster import Kubernetes
from support.security.authority import Authority
from support.security.identity_provider import AUDIENCE, ISSUER, SigningKey, claims

NAME: Final = "provider"
PORT: Final = 8443
SERVE: Final = f"""
import http.server, ssl
class Keys(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *given):
        super().__init__(*given, directory="/keys")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/own/tls.pem")
server = http.server.ThreadingHTTPServer(("", {PORT}), Keys)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@dataclass(frozen=True, slots=True)
class KeyServer:
    key: SigningKey
    trusted: str
    url: str

    def listener(self, name: str, port: int, claim: str) -> dict[str, Any]:
        login = {"jwksURL": self.url, "issuer": ISSUER, "audiences": [AUDIENCE], "userClaim": claim}
        oauth = {**login, "trustedCertificates": self.trusted}
        return {"name": name, "port": port, "authentication": {"type": "OAuth", "oauth": oauth}}

    def token(self, subject: str, **changes: Any) -> str:
        return self.key.sign(claims(subject, 3600, **changes))


def key_server(kubernetes: Kubernetes, namespace: str, image: str) -> KeyServer:
    """Made, not waited for: a broker asks again. It goes with its namespace. `image` has our Python."""
    authority, key = Authority("provider-ca"), SigningKey("in-the-cluster")
    host = f"{NAME}.{namespace}.svc"
    files = {"jwks.json": json.dumps({"keys": [key.public]}), "tls.pem": authority.issue(host, [host]).pem()}
    kubernetes.gateway.create(SECRET, namespace, {"metadata": {"name": NAME}, "stringData": files})
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
    mounts = {"keys": "jwks.json", "own": "tls.pem"}
    container = {
        "name": "keys", "image": image, "imagePullPolicy": "IfNotPresent", "securityContext": safe,
        "command": ["python3.11", "-c", SERVE],
        "volumeMounts": [{"name": each, "mountPath": f"/{each}", "readOnly": True} for each in mounts],
        "readinessProbe": {
            "httpGet": {"scheme": "HTTPS", "port": PORT, "path": "/jwks.json"}, "periodSeconds": 1,
        },
    }  # fmt: skip
    volumes = [
        {"name": each, "secret": {"secretName": NAME, "items": [{"key": file, "path": file}]}}
        for each, file in mounts.items()
    ]
    spec = {
        "containers": [container], "volumes": volumes, "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"},
        },
    }  # fmt: skip
    labels = {"app": NAME}
    kubernetes.gateway.create(POD, namespace, {"metadata": {"name": NAME, "labels": labels}, "spec": spec})
    ports = [{"port": 443, "targetPort": PORT}]
    service = {"metadata": {"name": NAME}, "spec": {"selector": labels, "ports": ports}}
    kubernetes.gateway.create(SERVICE, namespace, service)
    return KeyServer(key, authority.pem, f"https://{host}/jwks.json")
