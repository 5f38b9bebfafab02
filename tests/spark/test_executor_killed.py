"""An executor dies in the middle of an ingest: kill -9 for a real executor's JVM while a task of it holds a
half-written file.

Spark's `local-cluster` has a master and a worker that starts executors as processes. The moment is not timed but seen:
a Python worker is stopped, and only when it then holds a `.tmp` of the lake open, its executor is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.record_batch import Record, encode_batch
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.lake.vacuum import vacuum
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.session import find_java
from metadata_pipeline.spark_classes import SparkClasses
from support.disks.log_fleet import NO_OP, History, LogBatch, disks

pytestmark = pytest.mark.timeout(900)

EXECUTOR = "CoarseGrainedExecutorBackend"
BATCHES, IN_A_BATCH = 300, 1000


def long_log(cluster: str) -> History:
    """Long enough that a task is seen at work: one batch of many records again and again, each with its own base
    offset, which no checksum covers.
    """
    log = History(cluster)
    log.lead(1)
    one = encode_batch(
        [Record(n, log.now, None, encode_record(*NO_OP)) for n in range(IN_A_BATCH)], partition_leader_epoch=1
    )
    for _ in range(BATCHES):
        log.batches.append(LogBatch(log.end, log.end + IN_A_BATCH, 1, log.end.to_bytes(8, "big") + one[8:]))
    return log


def children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(word) for thread in threads for word in (thread / "children").read_text().split()]
    except OSError:
        return []


def below(pid: int) -> Iterator[int]:
    for child in children(pid):
        yield child
        yield from below(child)


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def half_written(pid: int, lake: Path) -> bool:
    """Whether the process holds a file open that is not yet one of the lake's."""
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                name = os.readlink(descriptor)
                if name.startswith(str(lake)) and name.endswith(".tmp"):
                    return True
    return False


def caught(driver: int, lake: Path) -> tuple[int, int] | None:
    """An executor and a stopped worker of it with a half-written file."""
    for executor in (pid for pid in below(driver) if EXECUTOR.encode() in command_of(pid)):
        for worker in (pid for daemon in children(executor) for pid in children(daemon)):
            with contextlib.suppress(ProcessLookupError):  # it may end by itself at any moment
                if half_written(worker, lake):
                    os.kill(worker, signal.SIGSTOP)
                    if half_written(worker, lake):
                        return executor, worker
                    os.kill(worker, signal.SIGCONT)
    return None


def spark_home(home: Path) -> Path:
    """Spark as it is installed, with a directory of our own for what executors leave behind."""
    home.mkdir()
    for path in Path(str(find_spec("pyspark").origin)).parent.iterdir():  # type: ignore[union-attr]
        if path.name != "work":
            (home / path.name).symlink_to(path)
    return home


def seen(lake: Path) -> list[dict[str, object]]:
    """What readers of the lake have of each disk: how many offsets, how many different ones, and their sum."""
    told = []
    for table, offset in (("batches", "base_offset"), ("records", "offset")):
        columns = ["cluster_id", "node_id", offset]
        files = [lake / live.file.path for live in lake_state(lake).of(table)]
        rows = pa.concat_tables([pq.read_table(path, columns=columns, partitioning=None) for path in files])
        sums = rows.group_by(columns[:2]).aggregate([(offset, how) for how in ("count", "count_distinct", "sum")])
        told += sums.sort_by([(name, "ascending") for name in columns[:2]]).to_pylist()
    return told


def kill_an_executor(driver: subprocess.Popen[bytes], lake: Path, said: Path) -> None:
    """As soon as one of its workers has a file half written. The worker goes with it, as a pod's processes
    go together.
    """
    deadline = time.monotonic() + 500
    while (found := caught(driver.pid, lake)) is None:
        assert driver.poll() is None, f"no worker was seen at work: {said.read_text()}"
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.002)
    executor, worker = found
    os.kill(executor, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # Spark's daemon may have been quicker
        os.kill(worker, signal.SIGKILL)


def interrupted_ingest(folder: Path, root: Path, lake: Path, failures: int) -> tuple[int, str]:
    """`kraft-pipeline ingest` on an executor that is killed: exit status and what was said."""
    java, _ = find_java()
    conf = {
        "spark.executor.memory": "512m", "spark.driver.memory": "640m", "spark.task.maxFailures": str(failures),
        "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }  # fmt: skip
    command = [
        sys.executable, "-m", "metadata_pipeline.cli", "ingest", str(root), "--output", str(lake), "--master",
        "local-cluster[1,1,512]", *(word for name, value in conf.items() for word in ("--conf", f"{name}={value}")),
    ]  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    places = {"JAVA_HOME": str(java), "SPARK_HOME": str(spark_home(folder / "spark")), "SPARK_LOCAL_IP": "127.0.0.1"}
    kept["JAVA_TOOL_OPTIONS"] = SparkClasses("driver", java).of_others
    said = folder / "said"
    with said.open("w") as out:
        driver = subprocess.Popen(command, env=kept | places, cwd=folder, stdout=out, stderr=out)
    try:
        kill_an_executor(driver, lake, said)
        return driver.wait(500), said.read_text()
    finally:
        for pid in [*below(driver.pid), driver.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        driver.wait()


@pytest.mark.parametrize("failures", [4, 1] if os.environ.get("QUORATE_SOAK") else [4])
def test_an_executor_killed_while_it_writes_costs_a_retry_or_a_clear_error_and_no_row(
    tmp_path: Path, failures: int
) -> None:
    """Spark gives the task to another executor; where it may not, the job says that nothing was committed, and a second
    run does all of it.
    """
    try:
        find_java()
    except PipelineError as missing:
        pytest.skip(str(missing))
    root, lake, calm = tmp_path / "fleet", tmp_path / "lake", tmp_path / "calm"
    log = long_log("fleet-a")
    for disk in disks(root, log.cluster).values():
        disk.write(log)
    status, said = interrupted_ingest(tmp_path, root, lake, failures)
    if failures == 1:
        assert status == 2, said
        assert "a task failed, nothing was committed" in said
        assert "next: mend the cause, then run the same command again" in said
        assert list(read_commits(lake)) == []
        ingest(str(root), lake)
    else:
        assert status == 0, said
        assert "commit 0 of" in said
    ingest(str(root), calm)
    assert seen(lake) == seen(calm)
    assert ingest(str(root), lake).commit is None
    assert any(name.endswith(".tmp") for name in vacuum(lake, 0).removed), "the executor was killed between two files"
    assert seen(lake) == seen(calm)
