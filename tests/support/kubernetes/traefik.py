"""Traefik, an ingress controller that passes TLS on: of Ingresses by the words of ingress-nginx, and of TLSRoutes.

It is built from its Go module, once, into the cache outside of the repository. Two things are not as upstream builds
it: a folder that its module leaves out (a Go module of its own, of three empty types) is written here, and it has no
DNS providers for certificates of ACME, which are most of its code and nothing that is asked for here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from kraft_operator.kube import Kind
from support.kubernetes.cluster import CUSTOM_RESOURCE, Kubernetes
from support.kubernetes.operator_process import DEVCLUSTER, eventually

TRAEFIK: Final = ("github.com/traefik/traefik/v3", "v3.7.5", "h1:hWj4lXVj8avem926gXkTN8WAOzQ1Fkfqg0zbh3vSxEE=")
GATEWAY_API: Final = ("sigs.k8s.io/gateway-api", "v1.5.1", "h1:RqVRIlkhLhUO8wOHKTLnTJA6o/1un4po4/6M1nRzdd0=")
"""Module, version and sum."""
EXTENSION: Final = """package ext

type HTTP struct{}

type Router struct{}

type RouterIng struct{}

func (RouterIng) ToRouter() Router { return Router{} }
"""
ACME: Final = "pkg/provider/acme/provider.go"
WITHOUT_DNS: Final = {
    '\t"github.com/go-acme/lego/v4/providers/dns"\n': "",
    "dns.NewDNSChallengeProviderByName(p.DNSChallenge.Provider)": 'nil, errors.New("built without DNS providers")',
}
GATEWAY_CLASS: Final = Kind("GatewayClass", "gateway.networking.k8s.io/v1", "gatewayclasses", namespaced=False)
GATEWAY: Final = Kind("Gateway", "gateway.networking.k8s.io/v1", "gateways")
INGRESS_CLASS: Final = Kind("IngressClass", "networking.k8s.io/v1", "ingressclasses", namespaced=False)
CLASS: Final = "passing"
PORT: Final = 18443


def module(name: str, version: str, wanted: str) -> Path:
    """Its folder in the cache of Go."""
    done = subprocess.run(
        ("go", "mod", "download", "-json", f"{name}@{version}"), check=True, capture_output=True, text=True, cwd="/"
    )
    found = json.loads(done.stdout)
    assert found["Sum"] == wanted, f"{name}: {found['Sum']} is not the sum that is known"
    return Path(found["Dir"])


def program() -> Path:
    """Built if it is not there: that takes a quarter of an hour of processor."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quorate" / "traefik"
    made = cache / f"traefik-{TRAEFIK[1]}"
    if not made.exists():
        work = cache / f".build.{os.getpid()}"
        shutil.copytree(module(*TRAEFIK), work)
        subprocess.run(("chmod", "-R", "u+w", str(work)), check=True)
        try:
            _build(work)
            (work / "traefik").rename(made)
        finally:
            shutil.rmtree(work)
    return made


def _build(work: Path) -> None:
    extension = work / "pkg/config/dynamic/ext"
    extension.mkdir()
    (extension / "go.mod").write_text("module github.com/traefik/traefik/dynamic/ext\n\ngo 1.24.0\n")
    (extension / "ext.go").write_text(EXTENSION)
    text = (work / ACME).read_text()
    for part, other in WITHOUT_DNS.items():
        assert text.count(part) == 1, f"{ACME} is not what it was: {part}"
        text = text.replace(part, other)
    (work / ACME).write_text(text)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    command = ("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "traefik", "./cmd/traefik")
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


@contextmanager
def gateway_api(kubernetes: Kubernetes) -> Iterator[None]:
    """Its definitions, and classes for Traefik."""
    folder = module(*GATEWAY_API) / "config/crd/standard"
    read = [yaml.safe_load(each.read_text()) for each in sorted(folder.glob("*.yaml")) if "vap_" not in each.name]
    made: list[tuple[Kind, dict[str, Any]]] = []
    try:
        made += [(CUSTOM_RESOURCE, kubernetes.gateway.create(CUSTOM_RESOURCE, None, each)) for each in read]
        classes = {GATEWAY_CLASS: "traefik.io/gateway-controller", INGRESS_CLASS: "k8s.io/ingress-nginx"}
        for kind, controller in classes.items():
            name = "controllerName" if kind is GATEWAY_CLASS else "controller"
            body = {"apiVersion": kind.api, "kind": kind.kind, "metadata": {"name": CLASS}, "spec": {name: controller}}
            made.append((kind, eventually(f"{kind.kind} is served", lambda: _created(kubernetes, kind, body), 60)))  # noqa: B023
        yield
    finally:
        for kind, each in reversed(made):
            kubernetes.gateway.delete(kind, "", each["metadata"]["name"], uid=each["metadata"]["uid"])


def _created(kubernetes: Kubernetes, kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    return kubernetes.gateway.create(kind, None, body)


def gateway(kubernetes: Kubernetes, namespace: str, name: str) -> None:
    """One that passes TLS on, to clusters of this namespace."""
    listener = {"name": "tls", "protocol": "TLS", "port": PORT, "tls": {"mode": "Passthrough"}}
    spec = {"gatewayClassName": CLASS, "listeners": [listener]}
    body = {"apiVersion": GATEWAY.api, "kind": GATEWAY.kind, "metadata": {"name": name}, "spec": spec}
    kubernetes.gateway.create(GATEWAY, namespace, body)


@contextmanager
def traefik(namespace: str, log: Path) -> Iterator[None]:
    """Listens at PORT of loopback, in the network of the pods."""
    ingresses, routes = "--providers.kubernetesingressnginx", "--providers.kubernetesgateway"
    command = [
        *DEVCLUSTER, "in", str(program()), f"--entrypoints.tls.address=127.0.0.1:{PORT}", "--log.level=DEBUG",
        ingresses, f"{ingresses}.watchnamespace={namespace}", f"{ingresses}.ingressclass={CLASS}",
        f"{ingresses}.httpsentrypoint=tls",
        routes, f"{routes}.namespaces={namespace}",
        "--global.checknewversion=false", "--global.sendanonymoususage=false",
    ]  # fmt: skip
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            yield
        finally:
            _end(process.pid)
            process.wait(30)
            print(log.read_text()[-6000:])


def _end(pid: int) -> None:
    """SIGTERM to the end of the chain of wrappers."""
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    subprocess.run(["kill", str(pid)], check=False)
