"""franz-go's own tests of its client, at brokers of ours: those of its Go module that talk to a cluster.

Not among them: what needs listeners of its own (SCRAM, tokens), and `Test848RegexBrokerResolves`, which counts records
of `__consumer_offsets` as one of its topics and so ends too early wherever that topic has some.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from support.clients.client_story import running_cluster
from support.clients.programs import suite_of_franz_go
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1800)]

SHORT: Final = (
    "TestUnknownGroupOffsetFetchPinned",
    "TestPing",
    "TestIssue1034",
    "TestIssue325",
    "TestIssue337",
    "TestIssue434",
    "TestIssue648",
    "TestIssue769",
    "TestIssue810",
    "TestIssue831",
    "TestIssue865",
    "TestConsumeTopicRetrieval",
    "TestConsumeTopicRetrieval_Many",
    "TestConsumeRegex",
    "TestConsumeRegexShareSkipsInternal",
    "TestConsumeMaxDecompressBatchBytes",
    "TestDirectPartitionPurge",
    "TestAddRemovePartitions",
    "TestPooling",
    "TestGroupSimple",
    "TestHookPollStart",
    "TestPollWaitStateNoUnderflow",
    "TestLookbackMilli",
    "TestClient_ProduceLargeMessages",
)
LONG: Final = (
    "TestIssue523",
    "TestClient_Produce",
    "TestPauseIssue489",
    "TestPauseIssueOct2023",
    "TestGroupETL",
    "TestTxnEtl",
    "TestShareGroup",
    "TestShareGroupAckOnClose",
    "TestShareGroupETL",
    "TestShareGroupOffsetsAdmin",
)
"""Tens of thousands of records, members that come and go under every balancer: minutes each. And those whose deadline
is short for a machine that is busy while the first topic of share groups is made.
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    internal = {
        f"{name}.{setting}": value
        for name in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
        for setting, value in (("num.partitions", "4"), ("replication.factor", "2"))
    }
    yield from running_cluster(
        tmp_path_factory.mktemp("franz"), **internal, **{"group.initial.rebalance.delay.ms": "0"}
    )


@pytest.fixture(scope="module")
def suite() -> Path:
    return suite_of_franz_go()


@pytest.mark.parametrize("name", SHORT)
def test_a_test_of_its_own_passes(cluster: Cluster, suite: Path, name: str) -> None:
    passes(cluster, suite, name, 300)


@pytest.mark.parametrize("name", LONG)
def test_a_long_test_of_its_own_passes(cluster: Cluster, suite: Path, name: str) -> None:
    passes(cluster, suite, name, 1700)


def passes(cluster: Cluster, suite: Path, name: str, seconds: float) -> None:
    settings = {
        "KGO_SEEDS": cluster.bootstrap_servers, "KGO_TEST_RF": "2", "KGO_TEST_RECORDS": "5000", "KGO_LOG_LEVEL": "none",
    }  # fmt: skip
    done = subprocess.run(
        (str(suite), "-test.v", f"-test.run=^{name}$"),
        env=os.environ | settings, capture_output=True, text=True, timeout=seconds, check=False, cwd=suite.parent,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-2000:]}"
    assert f"--- PASS: {name} " in done.stdout, f"it was not run to its end: {done.stdout[-2000:]}"
