"""IBM/sarama's own functional tests, at five brokers of ours behind a toxiproxy, which they cut off, stop and start.

Not among them: those that start Java's clients in the containers of brokers, which the suite itself skips at a cluster
that it did not start.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest

from support.clients.compose_stand_in import compose_stand_in
from support.clients.go_suites import suite_of_sarama, toxiproxy
from support.clients.own_network import own_network
from support.clients.suite_clusters import cluster_of_sarama
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(2400)]

OURS: Final = "^Test(Func|Consumer|VersionMatrix|ReadOnly|Interceptors|AsyncProducerRemoteBroker)"
"""Its other tests need no broker."""
SKIPPED: Final = {"TestFuncJavaInteropCooperativeRebalance", "TestReadOnlyAndAllCommittedMessages"}
FEWEST: Final = 60


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The environment of a suite whose brokers are there."""
    folder = tmp_path_factory.mktemp("sarama")
    with own_network(), cluster_of_sarama(folder / "cluster") as cluster:
        cluster.start()
        cluster.wait_until_unfenced(240.0)
        services = {f"kafka-{node.node_id}": node for node in cluster.broker_nodes}
        with proxies(folder) as address, compose_stand_in(folder, services) as programs:
            yield {
                "TOXIPROXY_ADDR": address,
                "KAFKA_VERSION": "4.3.1",
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            }


@contextmanager
def proxies(folder: Path) -> Iterator[str]:
    configured = folder / "toxiproxy.json"
    ways = [(f"kafka{number}", f"127.0.0.1:{29090 + number}", f"127.0.0.1:{39090 + number}") for number in range(1, 6)]
    configured.write_text(
        json.dumps([{"name": name, "listen": here, "upstream": there, "enabled": True} for name, here, there in ways])
    )
    with (folder / "toxiproxy.log").open("wb") as log:
        proxy = subprocess.Popen((str(toxiproxy()), "-config", str(configured)), stdout=log, stderr=log)
    try:
        eventually("toxiproxy answers", lambda: bool(urlopen("http://127.0.0.1:8474/version", timeout=5).read()))
        yield "http://127.0.0.1:8474"
    finally:
        proxy.kill()
        proxy.wait(20)


def test_all_of_saramas_functional_tests_pass(settings: Mapping[str, str]) -> None:
    """In one run, as there: it makes its topics anew at the beginning, and tests count on brokers that know them."""
    suite = suite_of_sarama()
    done = subprocess.run(
        (str(suite.program), "-test.v", f"-test.run={OURS}", "-test.timeout=30m"),
        env={**os.environ, **settings}, capture_output=True, text=True, timeout=2000, check=False, cwd=suite.folder,
    )  # fmt: skip
    told = done.stdout + done.stderr
    ended = {verdict: set(re.findall(rf"(?m)^--- {verdict}: (\S+)", told)) for verdict in ("PASS", "FAIL", "SKIP")}
    assert not ended["FAIL"], told[-6000:]
    assert done.returncode == 0, told[-6000:]
    assert ended["SKIP"] == SKIPPED
    assert len(ended["PASS"]) >= FEWEST, f"they were not run to their end: {told[-2000:]}"
