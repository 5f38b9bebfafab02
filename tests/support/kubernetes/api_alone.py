"""A real API server of Kubernetes with its etcd and RBAC, and nothing else of a cluster: no node, no pod, no namespaces
of its own. Its program is that of `deploy/devcluster`; where that was not built, a test is skipped.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from deploy.devcluster.instance import cache_home
from support.nodes.processes import free_ports
from support.security.authority import Authority


@dataclass(frozen=True, slots=True)
class ApiAlone:
    port: int
    authority: Path
    token: str
    """Of an administrator."""

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer; fails for any that is not 2xx."""
        trust = ssl.create_default_context(cafile=str(self.authority))
        connection = HTTPSConnection("127.0.0.1", self.port, timeout=20, context=trust)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status < 300, f"{method} {path}: {answer.status} {text[:300]!r}"
        return dict(json.loads(text))

    def put_secret(self, namespace: str, name: str, data: Mapping[str, bytes]) -> None:
        """A Secret, instead of one that was there."""
        path = f"/api/v1/namespaces/{namespace}/secrets"
        self.ask("DELETE", f"{path}?fieldSelector=metadata.name%3D{name}")
        held = {key: base64.b64encode(value).decode() for key, value in data.items()}
        self.ask("POST", path, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": held})

    def account(self, folder: Path, namespace: str, name: str) -> None:
        """What Kubernetes puts into the pods of a ServiceAccount."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        made = self.ask("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        folder.mkdir()
        (folder / "token").write_text(made["status"]["token"])
        (folder / "ca.crt").write_text(self.authority.read_text())
        (folder / "namespace").write_text(namespace)


@contextmanager
def api_server(folder: Path) -> Iterator[ApiAlone]:
    programs = sorted(cache_home().glob("*/kube"), key=os.path.getmtime)
    if not programs:
        pytest.skip("no API server was built: python deploy/devcluster build")
    kube, (port, etcd, peer) = str(programs[-1]), free_ports(3)
    folder.mkdir()
    authority = Authority("ca of kubernetes")
    ca, pair = authority.write(folder), authority.issue("api")
    (folder / "api.crt").write_text(pair.chain_pem)
    (folder / "api.key").write_text(pair.key_pem())
    signing = rsa.generate_private_key(65537, 2048)
    (folder / "sa.key").write_bytes(
        signing.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
    (folder / "sa.pub").write_bytes(signing.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f'{token},admin,1,"system:masters"\n')
    (folder / "tokens.csv").chmod(0o600)
    clients = f"http://127.0.0.1:{etcd}"
    commands = (
        (kube, "etcd", f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}", "--unsafe-no-fsync",
         f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--data-dir={folder}/etcd", "--log-level=warn"),
        (kube, "kube-apiserver", f"--etcd-servers={clients}", "--bind-address=127.0.0.1", f"--secure-port={port}",
         "--authorization-mode=RBAC", f"--tls-cert-file={folder}/api.crt", f"--tls-private-key-file={folder}/api.key",
         f"--token-auth-file={folder}/tokens.csv", "--service-cluster-ip-range=10.200.0.0/24",
         "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={folder}/sa.pub",
         f"--service-account-signing-key-file={folder}/sa.key", "--endpoint-reconciler-type=none", "--profiling=false"),
    )  # fmt: skip
    running = []
    with (folder / "log").open("wb") as log:
        try:
            running = [subprocess.Popen(each, stdout=log, stderr=log, cwd=folder) for each in commands]
            api = ApiAlone(port, ca, token)
            _wait(api, running, folder / "log")
            yield api
        finally:
            for process in reversed(running):
                process.kill()
                process.wait()


def _wait(api: ApiAlone, running: list[subprocess.Popen[bytes]], log: Path) -> None:
    deadline = time.monotonic() + 120
    while not _answers(api):
        told = log.read_text(errors="replace")[-2000:]
        assert all(process.poll() is None for process in running), told
        assert time.monotonic() < deadline, told
        time.sleep(0.3)


def _answers(api: ApiAlone) -> bool:
    try:
        api.ask("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin")
    except (OSError, AssertionError):
        return False
    return True
