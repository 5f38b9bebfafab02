"""Our functions on Spark Connect: a server of Spark's own in a process, a client without a JVM in another, the results of a session in this one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from metadata_pipeline.jobs.ingest import ingest
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.session import find_java
from support import connect_notebook
from support.log_fleet import History, disks, topic

pytestmark = pytest.mark.timeout(900)

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = re.compile(r"Spark Connect server started at: .*:(\d+)")
LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
logger.connect.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.connect.level = info
"""


def environment() -> dict[str, str]:
    try:
        java, _ = find_java()
    except PipelineError as missing:
        pytest.skip(str(missing))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return {**kept, "JAVA_HOME": str(java), "PYSPARK_PYTHON": sys.executable}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Started as `start-connect-server.sh` starts it, on an ephemeral port of the loopback."""
    folder = tmp_path_factory.mktemp("connect")
    (folder / "log4j2.properties").write_text(LOGGING)
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0", "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions":
            f"-Dlog4j2.configurationFile=file:{folder}/log4j2.properties -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }  # fmt: skip
    submit = Path(str(find_spec("pyspark").origin)).parent / "bin" / "spark-submit"  # type: ignore[union-attr]
    settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    log = folder / "server.log"
    with log.open("w") as out:
        command = [str(submit), "--master", "local[2]", "--class", SERVER, *settings]
        process = subprocess.Popen(command, env=environment(), cwd=folder, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + 400
        while not (started := STARTED.search(log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{started[1]}"
    finally:
        process.terminate()
        process.wait(60)


def fleet(root: Path) -> tuple[Path, History]:
    log = History("fleet-a")
    log.lead(1)
    log.append(topic(1, "common"))
    log.idle(1)
    log.append(topic(2, "late"))
    log.lead(2)
    for disk in disks(root, "fleet-a").values():
        disk.write(log)
    return root, log


def test_everything_that_notebooks_use_works_without_a_jvm_beside_them(server: str, tmp_path: Path) -> None:
    logs, log = fleet(tmp_path / "logs")
    command = [sys.executable, connect_notebook.__file__, server, str(logs), str(tmp_path / "lake")]
    no_java = {**environment(), "JAVA_HOME": "/nowhere"}
    done = subprocess.run(command, env=no_java, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    found = json.loads(done.stdout)
    here = ingest(str(logs), tmp_path / "here").rows
    assert found == {
        "by itself": 6,
        "module": "pyspark.sql.connect.session",
        "batches": [[node, len(log.batches)] for node in (1, 2, 3)],
        "streamed": here["records"],
        "ingested": here,
        "again": None,
        "built": {"topics": 2, "leadership": 2, "provisional": 0, "stretches": 1},
        "sql": ["common", "late"],
        "committed": log.end - 1,
        "as of": ["common"],
    }
