"""kopf itself, against an API server that counts: what is there and what changes comes into the index, by lists at the
start and watches from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import kopf
import pytest

from kraft_operator.handlers import children, clusters, operations, process, routes, users
from kraft_operator.handlers.memo import Memo
from kraft_operator.index import OF_CLUSTERS, WATCHED, Index
from kraft_operator.keys import CLUSTER_LABEL, Key
from kraft_operator.kube import CLUSTER, OPERATION, POD, TLS_ROUTES, USER, Gateway, Kind
from kraft_operator.metrics import Metrics
from kraft_operator.work_queue import WorkQueue
from support.kubernetes.api_server import ApiServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

HANDLERS = (clusters, children, operations, process, users)
NAMESPACE = Kind("Namespace", "v1", "namespaces", namespaced=False)
DEFINITION = Kind("CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False)
OF_C = {"labels": {CLUSTER_LABEL: "c"}}


async def until(what: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not what():
            await asyncio.sleep(0.05)


async def test_what_kopf_brings_is_in_the_index_and_no_list_is_asked_for_again() -> None:
    server = ApiServer((NAMESPACE, DEFINITION, *WATCHED, TLS_ROUTES[0]))
    server.put(CLUSTER, "c", spec={"replicas": 3})
    server.put(OPERATION, "o", spec={"clusterName": "c"})
    server.put(USER, "u", spec={"clusterName": "c"})
    for kind in OF_CLUSTERS:
        server.put(kind, f"a-{kind.plural}", metadata=OF_C)
    queue = WorkQueue(lambda: 0.0, lambda: 0.5, Metrics())
    nobody: Gateway = None  # type: ignore[assignment]
    index = Index(nobody, lambda: 0.0)
    memo = Memo(queue, index)
    routes.watch(TLS_ROUTES[0], memo)
    registry = kopf.get_default_registry()

    def found(kind: Kind) -> list[str]:
        selector = f"{CLUSTER_LABEL}=c" if kind in OF_CLUSTERS else ""
        return [each["metadata"]["name"] for each in index.list(kind, "n", selector)]

    async with server.running() as address:

        def login(**_: object) -> kopf.ConnectionInfo:
            return kopf.ConnectionInfo(server=address)

        kopf.on.login(id="test", registry=registry)(login)
        stop = asyncio.Event()
        watching = kopf.operator(standalone=True, clusterwide=True, memo=memo, registry=registry, stop_flag=stop)
        running = asyncio.create_task(watching)
        try:
            await until(lambda: all(found(kind) for kind in WATCHED))
            assert queue.take() == Key("n", "c")
            await until(lambda: all(server.asked[f"watch {kind.plural}"] for kind in WATCHED))
            listed = {name: count for name, count in server.asked.items() if name.startswith("list")}
            await until(lambda: server.asked["watch tlsroutes"])
            server.put(TLS_ROUTES[0], "of-nobody")
            for count in (1, 2):
                server.put(TLS_ROUTES[0], "r", metadata=OF_C, spec={"count": count})
                await until(lambda: index.route_changes(Key("n", "c")) == count)  # noqa: B023
            server.drop(TLS_ROUTES[0], "r")
            await until(lambda: index.route_changes(Key("n", "c")) == 3)
            before = index.changes(Key("n", "c"))
            for kind in OF_CLUSTERS:
                server.put(kind, "b", metadata=OF_C)
                server.drop(kind, f"a-{kind.plural}")
            server.put(CLUSTER, "c", spec={"replicas": 5})
            await until(lambda: all(found(kind) == ["b"] for kind in OF_CLUSTERS))
            await until(lambda: (index.find(CLUSTER, "n", "c") or {})["spec"] == {"replicas": 5})
            assert index.changes(Key("n", "c")) > before
            assert {name: count for name, count in server.asked.items() if name.startswith("list")} == listed
            assert found(POD) == ["b"]
        finally:
            stop.set()
            await running
