"""Certificates for one cluster, by the openssl command: a CA, one certificate per identity, the service accounts' key.

A certificate's subject is its identity for Kubernetes: the common name is the user, an organization a group.
They are valid for a year and live as long as the cluster, whose `up` makes them anew.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from deploy.devcluster.instance import DOMAIN, KUBERNETES_SERVICE, Instance

DAYS = "365"


@dataclass(frozen=True, slots=True)
class Identity:
    name: str
    subject: str
    alternative_names: tuple[str, ...] = ()


def identities(instance: Instance) -> tuple[Identity, ...]:
    """Who takes part in a cluster: the components, the administrator, a kubelet per node."""
    service = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", f"kubernetes.default.svc.{DOMAIN}")
    api_names = (
        *(f"DNS:{name}" for name in ("localhost", *service)),
        *(f"IP:{address}" for address in ("127.0.0.1", instance.first.address, KUBERNETES_SERVICE)),
    )
    return (
        Identity("apiserver", "/CN=kube-apiserver", api_names),
        Identity("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client"),
        Identity("admin", "/O=system:masters/CN=admin"),
        Identity("controller-manager", "/CN=system:kube-controller-manager"),
        Identity("scheduler", "/CN=system:kube-scheduler"),
        Identity("proxy", "/CN=system:kube-proxy"),
        Identity("coredns", "/O=system:masters/CN=coredns"),
        *(
            Identity(
                node.name,
                f"/O=system:nodes/CN=system:node:{node.name}",
                (f"DNS:{node.name}", f"IP:{node.address}"),
            )
            for node in instance.nodes
        ),
    )


def extensions(identity: Identity) -> str:
    lines = ["keyUsage=digitalSignature", "extendedKeyUsage=clientAuth,serverAuth"]
    if identity.alternative_names:
        lines.append("subjectAltName=" + ",".join(identity.alternative_names))
    return "\n".join(lines) + "\n"


def create(instance: Instance) -> None:
    folder = instance.pki
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _create_authority(folder)
    for identity in identities(instance):
        _create_certificate(folder, identity)
    _openssl(folder, "genrsa", "-out", "sa.key", "2048")
    _openssl(folder, "rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")


def _create_authority(folder: Path) -> None:
    _create_key(folder, "ca")
    _openssl(
        folder, "req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=devcluster", "-days", DAYS, "-out", "ca.crt",
        "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
    )  # fmt: skip


def _create_certificate(folder: Path, identity: Identity) -> None:
    name = identity.name
    _create_key(folder, name)
    (folder / f"{name}.ext").write_text(extensions(identity))
    _openssl(folder, "req", "-new", "-key", f"{name}.key", "-subj", identity.subject, "-out", f"{name}.csr")
    _openssl(
        folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
        "-days", DAYS, "-extfile", f"{name}.ext", "-out", f"{name}.crt",
    )  # fmt: skip
    for suffix in ("csr", "ext"):
        (folder / f"{name}.{suffix}").unlink()


def _create_key(folder: Path, name: str) -> None:
    _openssl(folder, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(("openssl", *arguments), cwd=folder, check=True, capture_output=True)
