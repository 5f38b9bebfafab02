"""An API server made of values, over HTTP: discovery, lists and watches of what it was given, a Lease, statuses; every
request is counted.

Enough for the operator to lead, to watch and to say what it waits for; what Kubernetes does with objects is no part of
it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kraft_operator.kube import Kind, Object


@dataclass(slots=True)
class ApiServer:
    kinds: tuple[Kind, ...]
    objects: dict[tuple[str, str], Object] = field(default_factory=dict)
    """By plural and name."""
    asked: Counter[str] = field(default_factory=Counter)
    """list PLURAL, watch PLURAL, get PLURAL, and METHOD PLURAL of a write; the Lease apart."""
    lease: Object | None = None
    version: int = 1
    port: int = 0
    _happened: list[tuple[int, str, bytes]] = field(default_factory=list)
    """Version, plural and line of each event: a watch begins where its list ended."""
    _watches: list[tuple[str, asyncio.Queue[bytes]]] = field(default_factory=list)

    def put(self, kind: Kind, name: str, namespace: str = "n", **content: Any) -> None:
        known = (kind.plural, name) in self.objects
        self.version += 1
        meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": str(self.version)}
        item = {
            "apiVersion": kind.api,
            "kind": kind.kind,
            **content,
            "metadata": {**content.get("metadata", {}), **meta},
        }
        self.objects[kind.plural, name] = item
        self._tell(kind, "MODIFIED" if known else "ADDED", item)

    def kubeconfig(self) -> str:
        named = {"name": "x", "context": {"cluster": "x", "user": "x"}}
        cluster = {"name": "x", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}
        users = [{"name": "x", "user": {}}]
        return json.dumps({"current-context": "x", "contexts": [named], "clusters": [cluster], "users": users})

    def drop(self, kind: Kind, name: str) -> None:
        self.version += 1
        self._tell(kind, "DELETED", self.objects.pop((kind.plural, name)))

    def _tell(self, kind: Kind, type_: str, item: Object) -> None:
        line = json.dumps({"type": type_, "object": item}).encode() + b"\n"
        self._happened.append((self.version, kind.plural, line))
        for plural, queue in self._watches:
            if plural == kind.plural:
                queue.put_nowait(line)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Its address, as long as it runs."""
        app = web.Application()
        app.add_routes([web.get("/{path:.*}", self._answer), web.route("*", "/{path:.*}", self._write)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server: Any = site._server
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{self.port}"
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.strip("/")
        before, _, plural = path.rpartition("/")
        if before.endswith("/leases"):
            return _found(self.lease)
        if any(kind.plural == before.rpartition("/")[2] for kind in self.kinds):
            self.asked[f"get {before.rpartition('/')[2]}"] += 1
            return _found(self.objects.get((before.rpartition("/")[2], plural)))
        if any(kind.plural == plural for kind in self.kinds):
            return await (self._watch(request, plural) if "watch" in request.query else self._list(plural))
        return web.json_response(self._discovered(path))

    async def _write(self, request: web.Request) -> web.Response:
        """The Lease and statuses are kept; of anything else it is only counted that it was written."""
        parts, body = request.path.strip("/").split("/"), json.loads(await request.read())
        self.version += 1
        if "leases" in parts:
            self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
            return _found(self.lease)
        if parts[-1] != "status":
            self.asked[f"{request.method} {parts[-1]}"] += 1
            return _found(body)
        kind = next(each for each in self.kinds if each.plural == parts[-3])
        item = self.objects[kind.plural, parts[-2]]
        item["status"], item["metadata"]["resourceVersion"] = body["status"], str(self.version)
        self.asked[f"{request.method} {kind.plural}/status"] += 1
        self._tell(kind, "MODIFIED", item)
        return _found(item)

    def _discovered(self, path: str) -> Object:
        groups = sorted({kind.api for kind in self.kinds if "/" in kind.api})
        named = [(each.partition("/")[0], {"groupVersion": each, "version": each.partition("/")[2]}) for each in groups]
        match path:
            case "api":
                return {"versions": ["v1"]}
            case "apis":
                return {"groups": [{"name": name, "versions": [of], "preferredVersion": of} for name, of in named]}
            case _:
                served = [kind for kind in self.kinds if f"{'apis' if '/' in kind.api else 'api'}/{kind.api}" == path]
                return {"resources": [
                    {"name": kind.plural, "kind": kind.kind, "singularName": kind.kind.lower(),
                        "namespaced": kind.namespaced,
                     "verbs": ["get", "list", "watch"]} for kind in served
                ]}  # fmt: skip

    async def _list(self, plural: str) -> web.Response:
        self.asked[f"list {plural}"] += 1
        items = [item for (kind, _), item in self.objects.items() if kind == plural]
        return web.json_response({"metadata": {"resourceVersion": str(self.version)}, "items": items})

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        self.asked[f"watch {plural}"] += 1
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        since = int(request.query.get("resourceVersion") or self.version)
        for version, of, line in self._happened:
            if of == plural and version > since:
                queue.put_nowait(line)
        self._watches.append((plural, queue))
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(await queue.get())


def _found(item: Object | None) -> web.Response:
    return web.json_response(item) if item is not None else web.json_response({"message": "not found"}, status=404)
