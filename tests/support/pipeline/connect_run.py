"""A notebook's session against a Spark Connect server: a server of Spark's own in a process, a client without a JVM in
another, and what both said.

It runs in a thread, so that other tests go on meanwhile: a session plans on one processor.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random

from metadata_pipeline.session import find_java
from metadata_pipeline.spark_classes import SparkClasses
from support.disks.log_fleet import History, disks, topic
from support.pipeline.everything import secrets
from support.pipeline.faults import FAULTS, Fault

NOTEBOOK = Path(__file__).with_name("connect_notebook.py")
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = re.compile(r"Spark Connect server started at: .*:(\d+)")
START_S = 400
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


@dataclass(frozen=True, slots=True)
class ConnectRun:
    """What was there to find, and what client and server said."""

    logs: Path
    lake: Path
    log: History
    fault: Fault
    status: int
    out: str
    err: str
    server: str


class Running:
    """A run that was begun. Raises PipelineError where there is no Java."""

    def __init__(self, folder: Path) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._processes: list[subprocess.Popen[str]] = []
        self._kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
        self._future: Future[ConnectRun] = self._pool.submit(self._run, folder)

    def result(self) -> ConnectRun:
        return self._future.result()

    def close(self) -> None:
        """End what still runs, when nobody waited for it."""
        while not self._future.done():
            for process in self._processes:
                process.kill()
            time.sleep(0.05)
        self._pool.shutdown()

    def _run(self, folder: Path) -> ConnectRun:
        logs, log, fault = fleet(folder / "logs")
        java, _ = find_java(self._kept)
        classes = SparkClasses("connect", java)
        said = folder / "server.log"
        environment = self._kept | {"JAVA_HOME": str(java), "PYSPARK_PYTHON": sys.executable}
        with self._server(folder, said, environment, classes.options) as address:
            command = [sys.executable, str(NOTEBOOK), address, str(logs), str(folder / "lake")]
            client = self._begin(command, self._kept | {"JAVA_HOME": "/nowhere"}, subprocess.PIPE, subprocess.PIPE)
            out, err = client.communicate()
        classes.keep()
        return ConnectRun(logs, folder / "lake", log, fault, client.returncode, out, err, said.read_text())

    def _begin(self, command: list[str], env: dict[str, str], out: object, err: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(command, env=env, text=True, stdout=out, stderr=err)  # type: ignore[call-overload]
        self._processes.append(process)
        return process  # type: ignore[no-any-return]

    @contextmanager
    def _server(self, folder: Path, said: Path, env: dict[str, str], java_options: str) -> Iterator[str]:
        """Started as `start-connect-server.sh` starts it, on an ephemeral port of the loopback."""
        (folder / "log4j2.properties").write_text(LOGGING)
        conf = {
            "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0",
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.driver.extraJavaOptions":
                f"-Dlog4j2.configurationFile=file:{folder}/log4j2.properties {java_options}",
        }  # fmt: skip
        submit = Path(str(find_spec("pyspark").origin)).parent / "bin" / "spark-submit"  # type: ignore[union-attr]
        settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
        with said.open("w") as out:
            process = self._begin([str(submit), "--master", "local[2]", "--class", SERVER, *settings], env, out, out)
        try:
            deadline = time.monotonic() + START_S
            while not (started := STARTED.search(said.read_text())):
                assert process.poll() is None, said.read_text()
                assert time.monotonic() < deadline, said.read_text()
                time.sleep(0.1)
            yield f"sc://127.0.0.1:{started[1]}"
        finally:
            process.terminate()
            process.wait(START_S)


def fleet(root: Path) -> tuple[Path, History, Fault]:
    """A healthy cluster, one with a damaged disk, and one with a secret in every place that may hold one."""
    log = History("fleet-a")
    log.lead(1)
    log.append(topic(1, "common"))
    log.idle(1)
    log.append(topic(2, "late"))
    log.lead(2)
    for disk in disks(root, "fleet-a").values():
        disk.write(log)
    secrets(root)
    return root, log, FAULTS["epoch"](root, "broken", Random(1))
