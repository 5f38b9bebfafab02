"""The pipeline as Spark applications on a real Kubernetes: driver and executors are pods, logs and lake lie on a
volume, the tables are those of a laptop.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from deploy.images import build, spec
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.session import find_java
from metadata_pipeline.spark_classes import QUICK, SparkClasses
from support.disks.log_fleet import History, disks, topic
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.spark_on_kubernetes import SparkNamespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

NODE = "node1"
CLUSTERS = 4
TABLES = ("topics", "leadership", "provisional")
JAVA = f"{QUICK} -Dlog4j2.configurationFile=file:{spec.LIBRARY}/metadata_pipeline/log4j2.properties"
SMALL = {
    "spark.driver.memory": "640m", "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": JAVA, "spark.executor.extraJavaOptions": JAVA,
}  # fmt: skip


@pytest.fixture(scope="module")
def namespace(
    kubernetes: Kubernetes, images: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkNamespace]:
    """The image is large, so of our own Kubernetes one node gets it, and every pod is of that node."""
    node = NODE if kubernetes.context is None else None
    if node and os.environ.get("QUORATE_E2E_IMAGES") != "loaded":
        archive = build.build("spark", tmp_path_factory.mktemp("image"))
        command = [sys.executable, str(ROOT / "deploy" / "devcluster"), "load", "--node", node, str(archive)]
        subprocess.run(command, check=True, capture_output=True)
        archive.unlink()
    image = build.reference("spark") if node else images("spark")
    with kubernetes.namespace("spark") as name:
        made = SparkNamespace(kubernetes, name, image, node)
        made.prepare()
        yield made


def fleet(root: Path) -> Path:
    """Clusters of three nodes with topics and two leaders each; of one cluster the last record is on one node alone."""
    for number in range(CLUSTERS):
        log = History(f"fleet-{number}")
        log.lead(1)
        log.append(*(topic(100 * number + each) for each in range(20)))
        log.idle(50)
        log.lead(2)
        log.append(topic(100 * number + 50, "late"))
        for node, disk in disks(root, log.cluster).items():
            disk.write(log, end=log.end - 1 if number == 0 and node != 1 else None, segments=(30,))
    return root


def rows(lake: Path, table: str) -> list[tuple[Any, ...]]:
    """Every row of a table that the lake's commits name; where a file lay when it was read does not count."""
    files = [lake / live.file.path for live in lake_state(lake).of(table)]
    found = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    return sorted(
        (tuple((name, str(value)) for name, value in row.items() if name != "file") for row in found), key=repr
    )


def test_jobs_on_pods_make_the_tables_that_a_laptop_makes(namespace: SparkNamespace, tmp_path: Path) -> None:
    logs, here, there = fleet(tmp_path / "logs"), tmp_path / "here", tmp_path / "there"
    namespace.copy_in(logs, "/lake/logs")
    namespace.submit("ingest", ["ingest", "/lake/logs", "--output", "/lake/tables"], SMALL, tmp_path)
    local = ingest(str(logs), here)
    ingested = namespace.ended("ingest")
    assert (ingested.phase, len(ingested.executors)) == ("Succeeded", 2), ingested
    assert f"commit 0 of /lake/tables: {local.rows['records']} records" in ingested.log
    only = ["--only", ",".join(TABLES[:-1])]
    alone = {**SMALL, "spark.executor.instances": "1"}
    namespace.submit("tables", ["tables", "--output", "/lake/tables", *only], alone, tmp_path)
    laptop = [
        sys.executable,
        "-m",
        "metadata_pipeline.cli",
        "tables",
        "--output",
        str(here),
        "--master",
        "local[1]",
        "--conf",
        f"spark.driver.extraJavaOptions={SparkClasses('driver', find_java()[0]).of_others}",
        *only,
    ]
    subprocess.run(laptop, check=True, capture_output=True)
    built = namespace.ended("tables")
    assert built.phase == "Succeeded", built
    namespace.copy_out("/lake/tables", there)
    for table in ("batches", "records", *TABLES):
        expected = rows(here, table)
        assert expected
        assert rows(there, table) == expected, table
    names = {dict(row)["name"] for row in rows(there, "topics")}
    assert names >= {"late", "topic-0", f"topic-{100 * CLUSTERS - 81}"}
    namespace.await_no_executors()


def test_a_job_that_fails_ends_its_pod_as_failed_and_says_what_to_do(namespace: SparkNamespace, tmp_path: Path) -> None:
    command = ["ingest", "/lake/nowhere", "--output", "/lake/other", "--master", "none"]
    namespace.submit("wrong", command, SMALL, tmp_path)
    ended = namespace.ended("wrong")
    assert ended.phase == "Failed"
    assert "next: name a directory that holds __cluster_metadata-0" in ended.log
