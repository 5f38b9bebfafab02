"""The operator's process as it is started, and a hundred clusters that wait: once it knows them, it asks the API server
for nothing but its Lease.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from kraft_operator.index import WATCHED
from kraft_operator.kube import CLUSTER, Kind
from support.kubernetes.api_server import ApiServer
from support.nodes.processes import free_ports
from support.operator_model.world import resource

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

NAMESPACE = Kind("Namespace", "v1", "namespaces", namespaced=False)
DEFINITION = Kind("CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False)
CLUSTERS = 100
LOOKS = 4


def looks(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.search(r'^kraft_operator_reconcile_total\{result="success"\} (\S+)', text, re.MULTILINE)
    return int(float(found[1])) if found else 0


async def until(what: Callable[[], object], seconds: float = 120.0) -> None:
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(what):
            await asyncio.sleep(0.2)


async def test_a_hundred_quiet_clusters_cost_the_api_server_nothing_but_the_lease(
    tmp_path: Path, sampled: Callable[[str], None]
) -> None:
    server, port = ApiServer((NAMESPACE, DEFINITION, *WATCHED)), free_ports(1)[0]
    spec = resource(changePolicy={"mode": "Plan"})["spec"]
    for number in range(CLUSTERS):
        server.put(CLUSTER, f"k{number}", spec=spec, metadata={"generation": 1})
    async with server.running():
        (tmp_path / "kubeconfig").write_text(server.kubeconfig())
        options = ["--lease-namespace", "n", "--http-port", str(port), "--probe-seconds", "1"]
        with (tmp_path / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "kraft_operator", *options, stdout=log, stderr=log,
                env={**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")},
            )  # fmt: skip
        try:
            # What was said first comes back as an event; the glance after that begins the rest.
            await until(lambda: server.asked["PATCH kraftclusters/status"] == CLUSTERS)
            began = await asyncio.to_thread(looks, port)
            await until(lambda: looks(port) > began + 4 * CLUSTERS)
            asked, began = dict(server.asked), await asyncio.to_thread(looks, port)
            await until(lambda: looks(port) > began + LOOKS * CLUSTERS)
            assert dict(server.asked) == asked
            sampled(f"{CLUSTERS} quiet clusters, {LOOKS} looks at each: no read, no write; before that {asked}")
        finally:
            process.terminate()
            status = await asyncio.wait_for(process.wait(), 60)
            print((tmp_path / "log").read_text()[-3000:])
        assert status == 0
