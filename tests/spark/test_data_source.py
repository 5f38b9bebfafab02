"""`spark.read.format("kraftlog")`: the same rows as without Spark, selected by options and by queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metadata_pipeline.schemas import columns_of
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.reading import read
from support.golden import GOLDEN
from support.pipeline.canaries import canaries_in, canary_log
from support.pipeline.logs import log_directory

CLUSTER = str(GOLDEN / "cluster")
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def load(spark: Any, path: str = CLUSTER, **options: str) -> Any:
    return spark.read.format("kraftlog").options(**options).load(path)


def without_spark(level: Any, options: ReadOptions | None = None) -> list[tuple[Any, ...]]:
    return sorted(
        (tuple(row.values()) for batch in read(level, CLUSTER, options) for row in batch.to_pylist()), key=repr
    )


def collected(frame: Any) -> list[tuple[Any, ...]]:
    import pyarrow as pa

    table: pa.Table = frame.toArrow()
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@pytest.mark.parametrize("level", ["records", "batches"])
def test_spark_reads_what_python_reads(spark: Any, level: str) -> None:
    frame = load(spark, level=level)
    assert frame.columns == [column.name for column in columns_of(level)]  # type: ignore[arg-type]
    assert collected(frame) == without_spark(level)


def test_several_paths_and_uris_may_be_given(spark: Any) -> None:
    both = load(spark, f"file://{CLUSTER}/controller-1, {CLUSTER}/controller-2", columns="node_id")
    assert {row.node_id for row in both.distinct().collect()} == {1, 2}


def test_options_choose_as_without_spark(spark: Any) -> None:
    given = {
        "columns": "node_id,offset,type,name",
        "from_offset": "300",
        "to_offset": "900",
        "types": "TopicRecord,RemoveTopicRecord",
        "kinds": "log",
    }
    options = ReadOptions(
        columns=("node_id", "offset", "type", "name"), from_offset=300, to_offset=900,
        types=frozenset(["TopicRecord", "RemoveTopicRecord"]), kinds=frozenset(["log"]),
    )  # fmt: skip
    rows = collected(load(spark, **given))
    assert rows
    assert rows == without_spark("records", options)


QUERIES = [
    (
        "offset >= 300 AND offset < 900 AND type IN ('TopicRecord', 'NoOpRecord') "
        "AND cluster_id = 'b7XFcyEkSgSBsv7c2XVvyg'"
    ),
    "kind = 'snapshot' AND offset < 100 AND timestamp >= TIMESTAMP '2026-11-21 00:17:00'",
    "timestamp_ms > 1795220262000 OR type = 'NoSuchRecord'",
]
COLUMNS = "cluster_id,node_id,kind,offset,type,timestamp,timestamp_ms"


def test_a_query_gives_the_same_rows_with_filters_pushed_and_without(spark: Any) -> None:
    """Spark refuses a reader that takes filters unless its configuration allows it; ours is chosen accordingly."""
    found: dict[str, list[Any]] = {}
    try:
        for allowed in ("false", "true"):
            spark.conf.set(PUSHDOWN, allowed)
            frames = [load(spark, columns=COLUMNS, push_filters="true").where(query) for query in QUERIES]
            found[allowed] = [collected(frame) for frame in frames]
    finally:
        spark.conf.set(PUSHDOWN, "false")
    assert found["true"] == found["false"]
    assert [bool(rows) for rows in found["true"]] == [True] * 3


def test_a_frame_used_twice_is_right_with_pushdown_switched_on(spark: Any) -> None:
    """Spark 4.3 keeps a query's pushed filters for the frame's next query; so nothing is pushed that was
    not asked for.
    """
    try:
        spark.conf.set(PUSHDOWN, "true")
        frame = load(spark, columns="offset")
        few, everything = frame.where("offset >= 1200").count(), frame.count()
        assert 0 < few < everything == 6973
        pushed = load(spark, columns="offset", push_filters="true")
        assert pushed.where("offset >= 1200").count() == few
        assert pushed.count() == few, "Spark forgets filters now: `push_filters` can become the default"
    finally:
        spark.conf.set(PUSHDOWN, "false")


def test_pushed_filters_spare_decoding() -> None:
    """What the reader is told of a query, seen without a session."""
    from pyspark.sql import datasource

    from metadata_pipeline.spark_source.pushdown import FilteredLogReader

    reader = FilteredLogReader({"path": CLUSTER, "columns": "offset"})
    filters = [
        datasource.GreaterThanOrEqual(("offset",), 1200),
        datasource.EqualTo(("kind",), "log"),
        datasource.IsNotNull(("offset",)),
    ]
    assert list(reader.pushFilters(filters)) == filters, "Spark applies all of them again"
    rows = sum(batch.num_rows for task in reader.partitions() for batch in reader.read(task))
    assert 0 < rows < len(without_spark("records", ReadOptions(columns=("offset",)))) / 2


def test_thousands_of_small_files_become_few_tasks(spark: Any, tmp_path: Path) -> None:
    data = (GOLDEN / "static-voters/controller-1/__cluster_metadata-0").glob("*.checkpoint").__next__().read_bytes()
    for node in range(300):
        log_directory(tmp_path / f"n{node}", data, name="00000000000000000044-0000000001.checkpoint", node=node)
    frame = load(spark, str(tmp_path), columns="node_id")
    assert frame.rdd.getNumPartitions() <= 8
    assert frame.distinct().count() == 300


def test_faults_are_rows_and_the_fleet_is_read(spark: Any, tmp_path: Path) -> None:
    good = (GOLDEN / "static-voters/controller-1/__cluster_metadata-0").glob("*.checkpoint").__next__().read_bytes()
    log_directory(tmp_path / "a", good, name="00000000000000000044-0000000001.checkpoint")
    log_directory(tmp_path / "b", good[:-5], name="00000000000000000044-0000000001.checkpoint", node=2)
    log_directory(tmp_path / "c", b"", node=3)
    frame = load(spark, f"{tmp_path},{tmp_path}/nowhere")
    assert {(row.node_id, row.fault) for row in frame.where("fault IS NOT NULL").collect()} == {
        (2, "torn"),
        (3, "empty"),
        (None, "unreadable"),
    }
    assert frame.where("fault IS NULL").select("node_id").distinct().count() == 2


def test_no_canary_reaches_spark(spark: Any, tmp_path: Path) -> None:
    log_directory(tmp_path / "n", canary_log())
    for level in ("records", "batches"):
        rows = load(spark, str(tmp_path), level=level, include_secrets="true").collect()
        assert rows
        assert canaries_in(repr(rows).encode()) == []


def test_a_path_without_a_log_is_an_error_that_names_it(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="nothing below it is a metadata log"):
        load(spark, str(tmp_path)).count()


def test_the_module_registers_itself_in_a_plain_session(spark: Any) -> None:
    """No `register`, no configuration of ours: Spark finds `pyspark_kraft` because of its name. What one session
    registers, another does not have.
    """
    plain = spark.newSession()
    assert plain.read.format("kraftlog").option("level", "batches").load(CLUSTER).count() == 1900


def test_a_source_that_is_registered_in_one_session_is_unknown_in_another(spark: Any) -> None:
    """So what a plain session knows it has found by itself."""
    from pyspark_kraft import DefaultSource

    class Renamed(DefaultSource):
        @classmethod
        def name(cls) -> str:
            return "kraftlog_of_a_test"

    spark.dataSource.register(Renamed)
    assert spark.read.format("kraftlog_of_a_test").option("level", "batches").load(CLUSTER).count() == 1900
    with pytest.raises(Exception, match="kraftlog_of_a_test"):
        spark.newSession().read.format("kraftlog_of_a_test").load(CLUSTER)
