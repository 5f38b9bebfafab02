"""Bad weather between an operator and a real API server: a proxy that refuses, delays, forgets to answer, shows old
states and cuts watches.

It runs as a process of its own in the network of the single-machine Kubernetes, with the credentials of a kubeconfig;
whoever comes through it needs none. The weather is bad while FOLDER/bad exists; what it did is in FOLDER/faults, a line
each. Kinds of faults come from a shuffled deck, so that every kind has its turn: what a run does differs by its seed,
that it does each of them does not.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import ssl
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

import aiohttp
import yaml
from aiohttp import web

from support.kubernetes.cluster import ROOT
from support.kubernetes.operator_process import DEVCLUSTER, eventually
from support.kubernetes.outside import last_child

READS: Final = ("too many", "error", "dropped", "slow", "old answer")
WRITES: Final = ("conflict", "too many", "error", "dropped", "slow", "answer lost")
CHANCE: Final = {"GET": 0.02}
CHANCE_OF_WRITES: Final = 0.1
SLOW_S: Final = (1.0, 6.0)
"""The longest are longer than the operator waits for a write: it takes effect, and its answer is not heard."""
WATCH_S: Final = (2.0, 15.0)
"""How long a watch lasts in bad weather."""
REFUSALS: Final = {
    "conflict": (409, "Conflict", "the object has been modified"),
    "too many": (429, "TooManyRequests", "too many requests, please try again later"),
    "error": (500, "InternalError", "etcdserver: request timed out"),
}
HOP_BY_HOP: Final = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "host",
    "authorization"}  # fmt: skip


@dataclass(slots=True)
class Deck:
    """Each kind once, in any order, then again."""

    chance: random.Random
    kinds: tuple[str, ...]
    left: list[str] = field(default_factory=list)

    def draw(self) -> str:
        self.left = self.left or self.chance.sample(self.kinds, len(self.kinds))
        return self.left.pop()


class Proxy:
    def __init__(self, server: str, upstream: aiohttp.ClientSession, folder: Path, seed: int) -> None:
        self._server, self._upstream, self._bad = server, upstream, folder / "bad"
        self._chance = random.Random(seed)
        self._reads, self._writes = Deck(self._chance, READS), Deck(self._chance, WRITES)
        self._told: TextIO = (folder / "faults").open("a", buffering=1)
        self._before: dict[str, tuple[int, bytes, str]] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        watch = request.query.get("watch") in ("true", "1")
        fault = self._fault(request)
        if fault in REFUSALS:
            return refusal(*REFUSALS[fault])
        if fault == "dropped":
            return cut(request)
        if fault == "slow":
            await asyncio.sleep(self._chance.uniform(*SLOW_S))
        if fault == "old answer" and (old := self._before.get(request.path_qs)) is not None:
            return web.Response(status=old[0], body=old[1], content_type=old[2])
        headers = {key: value for key, value in request.headers.items() if key.lower() not in HOP_BY_HOP}
        sent = self._upstream.request(
            request.method, f"{self._server}{request.path_qs}", headers=headers, data=await request.read() or None
        )
        async with sent as answer:
            if watch:
                return await self._stream(request, answer)
            body = await answer.read()
            if fault == "answer lost":
                return cut(request)
            if request.method == "GET" and answer.status == 200:
                self._before[request.path_qs] = (answer.status, body, answer.content_type)
            return web.Response(status=answer.status, body=body, content_type=answer.content_type)

    def _fault(self, request: web.Request) -> str:
        chance = CHANCE.get(request.method, CHANCE_OF_WRITES)
        if not self._bad.exists() or self._chance.random() >= chance:
            return ""
        fault = (self._reads if request.method == "GET" else self._writes).draw()
        self._tell(fault, request)
        return fault

    async def _stream(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """A watch, which ends early in bad weather: at once when it comes up, in the middle of whatever it says."""
        passed = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
        await passed.prepare(request)
        ends = asyncio.get_running_loop().time() + self._chance.uniform(*WATCH_S)
        while True:
            try:
                async with asyncio.timeout(0.5):
                    chunk = await answer.content.readany()
            except TimeoutError:
                chunk = None
            if chunk:
                await passed.write(chunk)
            if chunk == b"":
                return passed
            if asyncio.get_running_loop().time() > ends and self._bad.exists():
                self._tell("watch cut", request)
                assert request.transport is not None
                request.transport.abort()
                return passed

    def _tell(self, fault: str, request: web.Request) -> None:
        self._told.write(f"{fault}: {request.method} {request.path}\n")


def refusal(code: int, reason: str, message: str) -> web.Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": message}  # fmt: skip
    return web.json_response(status, status=code, headers={"Retry-After": "1"} if code == 429 else {})


def cut(request: web.Request) -> web.Response:
    """No answer: the connection ends."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def serve(kubeconfig: Path, port_file: Path, folder: Path, seed: int) -> None:
    config: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    trust = ssl.create_default_context(cafile=cluster["certificate-authority"])
    trust.load_cert_chain(user["client-certificate"], user["client-key"])
    connector = aiohttp.TCPConnector(ssl=trust, limit=200)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=True) as upstream:
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", Proxy(cluster["server"], upstream, folder, seed).handle)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        port_file.write_text(str(port))
        ended = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        await ended.wait()
        await runner.cleanup()


@dataclass(frozen=True, slots=True)
class Weather:
    folder: Path
    kubeconfig: Path
    """Of the way through the proxy."""

    def turn_bad(self) -> None:
        (self.folder / "bad").touch()

    def clear(self) -> None:
        (self.folder / "bad").unlink(missing_ok=True)

    def faults(self) -> Counter[str]:
        return Counter(line.partition(":")[0] for line in (self.folder / "faults").read_text().splitlines())


@contextmanager
def weather(seed: int) -> Iterator[Weather]:
    """Fair at first."""
    with tempfile.TemporaryDirectory(prefix="weather-") as name:
        folder = Path(name)
        command = [*DEVCLUSTER, "in", sys.executable, "-m", "support.kubernetes.api_weather", str(folder), str(seed)]
        path = f"{ROOT}:{ROOT / 'operator'}:{ROOT / 'tests'}:{os.environ.get('PYTHONPATH', '')}"
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}
            )
        try:
            port_file, kubeconfig = folder / "port", folder / "kubeconfig"
            port = eventually("the proxy serves", lambda: port_file.read_text() if port_file.exists() else None, 60)
            kubeconfig.write_text(json.dumps(way_through(int(port))))
            yield Weather(folder, kubeconfig)
        finally:
            os.kill(last_child(process.pid), signal.SIGTERM)  # the wrappers end with what they started
            process.wait(30)
            print((folder / "log").read_text()[-2000:])


def way_through(port: int) -> dict[str, Any]:
    name = "weather"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


if __name__ == "__main__":
    here, number = Path(sys.argv[1]), int(sys.argv[2])
    asyncio.run(serve(Path(os.environ["KUBECONFIG"]), here / "port", here, number))
