"""librdkafka's own tests against three brokers of ours, one after another: by `make soak`, and by name. The list beside
this file says which, and why others do not apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.clients.librdkafka_suite import BROKERS, Suite, with_racks
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1200)]

LIST = Path(__file__).with_name("librdkafka_suite.txt")
TOLD = [line.split() for line in LIST.read_text().splitlines() if not line.startswith("#")]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    home = tmp_path_factory.mktemp("librdkafka-suite")
    with with_racks(Cluster(home / "nodes", controllers=1, brokers=3, extra=dict(BROKERS))) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(180.0)
        yield Suite.at(cluster, home / "suite")


@pytest.mark.parametrize(("name", "how"), [(each[0], each[1]) for each in TOLD if each[1] in ("quick", "whole")])
def test_a_test_of_librdkafkas_passes(suite: Suite, name: str, how: str) -> None:
    found = suite.run(name, *(("-Q",) if how == "quick" else ()))
    assert found.state == "PASSED", found.said[-4000:]
