"""What a cloud's controller of load balancers does, where there is no cloud: every Service of type LoadBalancer gets an
address in its status, and what connects to that address and the Service's port is passed on to the Service's node port.

The addresses lie in the network outside (`support.kubernetes.outside`), so only clients there can use them. The program
that passes on runs there, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from kraft_operator.kube import SERVICE
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.outside import LINK, Outside

_FORWARD = """
import asyncio, json, sys
async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
def passing_on(name, host, port):
    async def accepted(reader, writer):
        print(name, flush=True)
        try:
            there, back = await asyncio.open_connection(host, port)
        except OSError:
            return writer.close()
        await asyncio.gather(copy(reader, back), copy(there, writer))
    return accepted
async def main():
    servers = [await asyncio.start_server(passing_on(name, *to), *at) for name, at, to in json.loads(sys.argv[1])]
    print("ready", flush=True)
    await asyncio.gather(*(each.serve_forever() for each in servers))
asyncio.run(main())
"""


@dataclass(slots=True)
class Balancer:
    """Addresses by the names of Services, and which of them were connected to."""

    addresses: Mapping[str, str]
    used: set[str] = field(default_factory=set)


@contextmanager
def balancer(kubernetes: Kubernetes, namespace: str, network: Outside, node: str) -> Iterator[Balancer]:
    """For the Services that are there now; all of it goes through one node's ports."""
    services = [each for each in kubernetes.gateway.list(SERVICE, namespace) if each["spec"]["type"] == "LoadBalancer"]
    addresses = {each["metadata"]["name"]: f"{LINK}.{100 + number}" for number, each in enumerate(services)}
    ways = []
    for service in services:
        name, port = service["metadata"]["name"], service["spec"]["ports"][0]
        network.run("ip", "address", "add", f"{addresses[name]}/32", "dev", "lo")
        ways.append((name, (addresses[name], port["port"]), (node, port["nodePort"])))
    command = ["nsenter", "-t", str(network.pid), "-n", sys.executable, "-c", _FORWARD, json.dumps(ways)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = Balancer(addresses)
    reader = threading.Thread(target=_collect, args=(process.stdout, found.used), daemon=True)
    try:
        assert process.stdout.readline() == "ready\n", "the forwarder did not start"
        reader.start()
        for name, address in addresses.items():
            _tell(kubernetes, namespace, name, address)
        yield found
    finally:
        os.kill(process.pid, signal.SIGKILL)  # nsenter has become the program: it makes no process of its own
        process.wait(10)
        if reader.is_alive():
            reader.join(10)
        process.stdout.close()


def _collect(lines: IO[str], used: set[str]) -> None:
    for line in lines:
        used.add(line.strip())


def _tell(kubernetes: Kubernetes, namespace: str, name: str, address: str) -> None:
    status: dict[str, Any] = {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}}
    path = SERVICE.path(namespace, name, "status")
    kubernetes.gateway._call("PATCH", path, {}, status, content="application/merge-patch+json")
