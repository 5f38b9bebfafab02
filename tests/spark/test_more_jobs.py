"""What the jobs do beside the great fleet: provisional records, copies that disagree, killed workers, the report,
differences, the command line.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from metadata_pipeline import cli
from metadata_pipeline.audit.batches import compare
from metadata_pipeline.canon.model import Copy, Piece
from metadata_pipeline.copies import CopyKey, Run
from metadata_pipeline.diff import Point, diff
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.lake.reading import read_level
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.report.data import BUCKETS
from metadata_pipeline.report.job import Reported, report
from metadata_pipeline.schemas import columns_of, spark_ddl
from metadata_pipeline.tables.as_of import open_views
from metadata_pipeline.tables.build import build_tables
from support.disks.log_fleet import History, disks, topic
from support.pipeline.canaries import OPEN, canaries_below, canaries_in
from support.pipeline.everything import GOLDEN_CLUSTER, SECRETS, Everything

pytestmark = pytest.mark.timeout(3600)
"""The first test that needs the lake waits for four jobs, in a soak of 1,600 clusters."""


def standings(spark: Any, lake: Path) -> list[tuple[Any, ...]]:
    rows = spark.read.parquet(*[str(lake / live.file.path) for live in lake_state(lake).of("provisional")]).collect()
    return sorted((row["from_offset"], row["to_offset"], row["epoch"], row["nodes"], row["status"]) for row in rows)


def topics(spark: Any, lake: Path) -> list[str]:
    rows = spark.read.parquet(*[str(lake / live.file.path) for live in lake_state(lake).of("topics")]).collect()
    return sorted(row["name"] for row in rows)


def test_provisional_records_are_in_no_table_until_they_are_proven_and_retracted_when_they_are_refuted(
    spark: Any, tmp_path: Path
) -> None:
    """One copy; then two voters that disagree; then a majority. A truncated suffix had been ingested."""
    lake, root = tmp_path / "lake", tmp_path / "fleet"
    log = History("fleet-a")
    log.lead(1)
    log.append(topic(1, "common"))
    common = log.end
    other = log.fork(common)
    log.append(topic(2, "lost"))
    other.lead(2)
    other.append(topic(3, "kept"))
    fleet = disks(root, "fleet-a")
    fleet[1].write(log)
    ingest(str(root / "fleet-a" / "node-1"), lake, spark)
    build_tables(lake, spark, ["topics"])
    assert topics(spark, lake) == []
    assert standings(spark, lake) == [(0, log.end, 1, [1], "provisional")]
    for node in (2, 3):
        fleet[node].write(other)
    fleet[1].write(other)
    ingest(str(root), lake, spark)
    build_tables(lake, spark, ["topics"])
    assert topics(spark, lake) == ["common", "kept"]
    assert standings(spark, lake) == [(0, common, 1, [1], "confirmed"), (common, log.end, 1, [1], "retracted")]


def test_a_lake_that_an_older_release_began_has_nulls_in_the_columns_that_came_later(
    spark: Any, tmp_path: Path
) -> None:
    lake, log = tmp_path / "lake", History("fleet-a")
    log.lead(1)
    log.append(topic(1, "old"))
    first, second = disks(tmp_path / "fleet", "fleet-a", (1, 2)).values()
    first.write(log)
    ingest(str(first.home), lake)
    (path,) = (lake / live.file.path for live in lake_state(lake).of("records"))
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["type_id", "log_dirs"]), path)
    second.write(log)
    ingest(str(second.home), lake)
    records = read_level(spark, lake, lake_state(lake), "records")
    assert records.columns == [column.name for column in columns_of("records")]
    told = {(row.node_id, row.type_id is None) for row in records.select("node_id", "type_id").collect()}
    assert told == {(1, True), (2, False)}


def test_a_log_that_is_wrong_throughout_hides_no_other_clusters_findings(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_pipeline.audit.findings.MOST", 3)
    columns = [column.name for column in columns_of("batches")]
    healthy = {"kind": "log", "epoch": 1, "crc": 7, "crc_ok": True, "directory_id": "d", "file": "f"}
    rows = [
        {**healthy, "cluster_id": cluster, "node_id": node, "position": 90 * n, "base_offset": n, "last_offset": n,
            **changes}
        for cluster, count, node, changes in (
            ("wrong", 9, 1, {"fault": "crc"}), ("other", 1, 1, {"fault": "crc"}), ("forked", 9, 1, {}),
            ("forked", 9, 2, {"crc": 8}), ("doubted", 1, 1, {}),
        )
        for n in range(count)
    ]  # fmt: skip
    frame = spark.createDataFrame([tuple(row.get(name) for name in columns) for row in rows], spark_ddl("batches"))
    believed = [
        Copy(CopyKey(cluster, node, "d"), (Piece((Run(0, 9, 1),)),))
        for cluster, node in (("wrong", 1), ("other", 1), ("forked", 1), ("forked", 2))
    ]
    found = [(it.cluster, it.kind, it.node, it.offset) for it in compare(spark, frame, believed)]
    assert sorted(found) == [
        ("doubted", "damaged epoch", 1, 0),
        *(("forked", "divergence", node, n) for node in (1, 2) for n in range(3)), ("other", "bit rot", 1, 0),
        *(("wrong", "bit rot", 1, n) for n in range(3)),
    ]  # fmt: skip


def workers(spark: Any) -> list[int]:
    """Python workers of this session's own JVM: forked from its daemon."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    java = spark._sc._gateway.proc.pid
    daemons = {pid for pid, parent in parents.items() if parent == java and "pyspark" in _command(pid)}
    return [pid for pid, parent in parents.items() if parent in daemons]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_killed_workers_commit_nothing_and_the_next_run_reads_everything_once(spark: Any, tmp_path: Path) -> None:
    """kill -9 for every worker that shows itself, until the ingest gives up."""
    lake, root = tmp_path / "lake", tmp_path / "fleet"
    log = History("fleet-a")
    log.lead(1)
    log.idle(20)
    for disk in disks(root, "fleet-a").values():
        disk.write(log)
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.01):
            for pid in workers(spark):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        with pytest.raises(PipelineError, match="nothing was committed"):
            ingest(str(root), lake, spark)
    finally:
        over.set()
        thread.join()
    assert killed
    assert list(read_commits(lake)) == []
    done = ingest(str(root), lake, spark)
    assert done.rows["records"] == 3 * log.end
    assert list((lake / "_plans").iterdir()) == []


@pytest.fixture(scope="module")
def reported(everything: Everything, tmp_path_factory: pytest.TempPathFactory) -> Reported:
    return report(everything.lake, everything.spark, tmp_path_factory.mktemp("report") / "report.html")


def test_the_report_names_every_cluster_and_needs_no_network(everything: Everything, reported: Reported) -> None:
    page, numbers = reported.page.read_text(), json.loads(reported.numbers.read_text())
    assert set(numbers["clusters"]) == set(everything.built.committed) - {
        c for c, end in everything.built.committed.items() if end == 0
    }
    assert f"Cluster {GOLDEN_CLUSTER}" in page
    assert numbers["severities"]["error"] == everything.audited.errors
    golden = numbers["clusters"][GOLDEN_CLUSTER]
    assert golden["leaders_in_all"] == 5
    assert golden["span"]["last"] == 1265
    assert golden["growth"][-1]["topics"] == len(
        [it for it in everything.rows[GOLDEN_CLUSTER]["topics"] if it["valid_to"] is None]
    )
    assert "http" not in page.replace("http-equiv", "")


def test_the_reports_numbers_are_those_of_the_records(everything: Everything, reported: Reported) -> None:
    told = json.loads(reported.numbers.read_text())["clusters"]
    open_views(everything.spark, everything.lake)
    records: dict[str, list[Any]] = {}
    for row in everything.spark.sql(
        "SELECT cluster_id, offset, type, unix_millis(timestamp) AS ms FROM committed"
    ).collect():
        records.setdefault(row["cluster_id"], []).append(row)
    assert set(told) == set(records)
    for cluster, rows in records.items():
        offsets, times = [row["offset"] for row in rows], [row["ms"] for row in rows]
        span = {
            "first": min(offsets), "last": max(offsets), "records": len(rows), "begin": min(times), "end": max(times),
        }  # fmt: skip
        assert told[cluster]["span"] == span
        assert {it["type"]: it["records"] for it in told[cluster]["types"]} == Counter(row["type"] for row in rows)
        buckets = Counter((ms - span["begin"]) * BUCKETS // (span["end"] - span["begin"] + 1) for ms in times)
        assert {it["bucket"]: it["records"] for it in told[cluster]["churn"]} == buckets
        still = {
            (it["stretch"], it["topic_id"], it["partition_id"])
            for it in everything.rows[cluster]["partitions"] if it["valid_to"] is None
        }  # fmt: skip
        assert (told[cluster]["growth"] or [{"partitions": 0}])[-1]["partitions"] == len(still), cluster


def test_differences_of_two_points_name_what_was_added_and_removed(everything: Everything) -> None:
    found = diff(everything.lake, everything.spark, Point(GOLDEN_CLUSTER, 300), Point(GOLDEN_CLUSTER, 700))
    rows = everything.rows[GOLDEN_CLUSTER]["topics"]
    then, now = (
        {it["name"] for it in rows if it["valid_from"] <= at and (it["valid_to"] is None or it["valid_to"] > at)}
        for at in (300, 700)
    )
    assert {it.key[0] for it in found if it.table == "topics" and it.change == "added"} == now - then
    assert {it.key[0] for it in found if it.table == "topics" and it.change == "removed"} == then - now
    assert diff(everything.lake, everything.spark, Point(GOLDEN_CLUSTER, 700), Point(GOLDEN_CLUSTER, 700)) == []


def test_the_command_line_answers_a_question(
    everything: Everything, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Kept:
        """The session of the tests, which the command must not stop."""

        def __getattr__(self, name: str) -> Any:
            return (lambda: None) if name == "stop" else getattr(everything.spark, name)

    monkeypatch.setattr("metadata_pipeline.session.open_session", lambda *_, **__: Kept())
    lake = ["--output", str(everything.lake)]
    assert cli.main(["sql", f"SELECT count(*) AS n FROM leadership WHERE cluster_id = '{GOLDEN_CLUSTER}'", *lake]) == 0
    assert capsys.readouterr().out.splitlines()[-1].strip() == "5"
    assert cli.main(["sql", "SELECT nonsense FROM nowhere", *lake]) == 2
    assert "next:" in capsys.readouterr().err
    assert cli.main(["as-of", "features", f"{GOLDEN_CLUSTER}@700", *lake]) == 0
    assert '"name": "metadata.version"' in capsys.readouterr().out
    assert cli.main(["as-of", "pictures", f"{GOLDEN_CLUSTER}@700", *lake]) == 2


def test_no_secret_is_in_anything_that_jobs_write_or_say(
    everything: Everything, reported: Reported, capfd: pytest.CaptureFixture[str]
) -> None:
    """Canaries in every field that may hold a secret: in a healthy cluster, whose records come into tables, and in one
    full of faults.
    """
    rows = everything.rows[SECRETS]
    assert [it["value"] for it in rows["configs"] if it["name"] == "retention.ms"] == [OPEN]
    assert sum(it["value"].startswith("redacted:") for it in rows["configs"]) == 5
    assert len(rows["scram"]) == len(rows["delegation_tokens"]) == 1
    found = diff(everything.lake, everything.spark, Point(SECRETS, 1), Point(SECRETS))
    assert {it.table for it in found} >= {"configs", "scram"}
    said = capfd.readouterr()
    texts = repr(
        (found, everything.audited, everything.built, everything.ingested, said.out, said.err, everything.rows)
    )
    assert canaries_in(texts.encode()) == []
    assert canaries_below(reported.page.parent) == canaries_below(everything.lake) == []
    assert [it for it in everything.audited.findings if it.cluster == "broken-secrets"], "its faults were read"


def test_tables_of_an_empty_lake_say_what_to_do(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="kraft-pipeline ingest"):
        build_tables(tmp_path, spark)
