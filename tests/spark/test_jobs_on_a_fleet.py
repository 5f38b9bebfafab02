"""Ingest, tables and audit of a whole fleet, against what is known of every cluster in it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from metadata_pipeline.audit.history import RULES
from metadata_pipeline.jobs.ingest import ingest, lake_key, lake_state
from metadata_pipeline.lake.reading import read_level
from metadata_pipeline.lake.rows import quoted
from metadata_pipeline.redaction import Redactor, load_key
from metadata_pipeline.tables.as_of import as_of, open_views
from metadata_pipeline.tables.queries import TABLES
from support.pipeline.everything import GOLDEN_CLUSTER as GOLDEN
from support.pipeline.everything import Everything
from support.pipeline.faults import FAULTS
from support.pipeline.histories import facts_of_image, facts_of_rows, valid_at

pytestmark = pytest.mark.timeout(3600)
"""The first test that needs the lake waits for four jobs, in a soak of 1,600 clusters."""


def test_the_tables_equal_the_controllers_image_at_every_offset(everything: Everything) -> None:
    redactor = Redactor(load_key(lake_key(everything.lake)))
    compared = 0
    for cluster, images in everything.images.items():
        tables = everything.rows[cluster]
        ends = [offset for offset, image in images.items() if image.transaction is None]
        for offset in ends:
            if offset < everything.trimmed.get(cluster, 0) - 1:
                continue
            now = facts_of_rows({name: valid_at(rows, offset) for name, rows in tables.items()})
            expected = facts_of_image(images[offset], redactor)
            assert now == expected, (
                f"{cluster} as of {offset}: {sorted(set(now.items()) ^ set(expected.items()), key=repr)[:4]}"
            )
            compared += 1
    assert compared > 500


def test_an_aborted_transaction_appears_in_no_table(everything: Everything) -> None:
    aborted = 0
    for cluster, images in everything.images.items():
        begun: int | None = None
        for offset in sorted(images):
            image = images[offset]
            if image.transaction is not None and begun is None:
                begun = offset
            if begun is not None and image.transaction is None:
                if offset in everything.aborts[cluster] and offset >= everything.trimmed.get(cluster, 0):
                    aborted += 1
                    inside = range(begun, offset + 1)
                    for name, rows in everything.rows[cluster].items():
                        assert not [row for row in rows if row["valid_from"] in inside], f"{cluster} {name}: {inside}"
                begun = None
    assert aborted > 1


def test_as_of_an_offset_asks_the_same_tables(everything: Everything) -> None:
    cluster = "history-0"
    offset = max(everything.images[cluster]) // 2
    for table in ("partitions", "configs"):
        rows = [
            row.asDict()
            for row in as_of(everything.spark, everything.lake, table, cluster=cluster, offset=offset).collect()
        ]
        assert sorted(rows, key=repr) == sorted(valid_at(everything.rows[cluster][table], offset), key=repr)


def test_history_ends_never_before_it_begins_and_never_overlaps(everything: Everything) -> None:
    keys = {
        "topics": ("topic_id",),
        "partitions": ("topic_id", "partition_id"),
        "brokers": ("broker_id",),
        "configs": ("resource_type", "resource_name", "name"),
    }
    for cluster, tables in everything.rows.items():
        for table, key in keys.items():
            ends: dict[Any, int] = {}
            for row in sorted(tables[table], key=lambda it: it["valid_from"]):
                assert row["valid_to"] is None or row["valid_to"] > row["valid_from"] or row["stretch"] is not None
                thing = tuple(row[name] for name in key)
                assert ends.get(thing, -1) <= row["valid_from"], f"{cluster} {table} {thing}"
                ends[thing] = row["valid_to"] if row["valid_to"] is not None else 1 << 60


def test_each_committed_offset_is_there_once(everything: Everything) -> None:
    open_views(everything.spark, everything.lake)
    counted = everything.spark.sql(
        "SELECT cluster_id, count(*) AS n, count(DISTINCT offset) AS d, max(offset) AS "
        "last FROM log_records GROUP BY cluster_id"
    ).collect()
    assert len(counted) > 40
    for row in counted:
        assert row["n"] == row["d"], row["cluster_id"]
        assert row["last"] == everything.built.committed[row["cluster_id"]] - 1


def test_a_real_kafkas_log_is_committed_up_to_what_a_majority_holds(everything: Everything) -> None:
    """Nodes 2 and 4 vote at the end; the record at 1266 is on 3 and 4 alone, and 3 has left the quorum."""
    open_views(everything.spark, everything.lake)
    assert everything.built.committed[GOLDEN] == 1266
    rows = everything.spark.sql(f"SELECT * FROM provisional WHERE cluster_id = {quoted(GOLDEN)}").collect()
    assert [(row["from_offset"], row["to_offset"], row["nodes"], row["status"]) for row in rows] == [
        (1266, 1267, [3, 4], "provisional")
    ]


def test_the_snapshots_of_a_real_kafka_equal_its_log(everything: Everything) -> None:
    found = [it for it in everything.audited.findings if it.cluster == GOLDEN and it.severity != "note"]
    assert found == []


def test_every_injected_fault_is_found_with_node_file_and_position(everything: Everything) -> None:
    assert len(everything.faults) >= len(FAULTS)
    for cluster, fault in everything.faults.items():
        found = [it for it in everything.audited.findings if it.cluster == cluster]
        hit = [
            it
            for it in found
            if it.kind in fault.kinds
            and it.node == fault.node
            and (it.file or "").rpartition("/")[2] in fault.files
            and fault.position in (None, it.position)
        ]
        assert hit, f"{fault} is not among {found}"
        others = [it for it in found if it.severity == "error" and it.node not in (fault.node, None)]
        assert not others, f"{fault}: healthy disks are accused: {others}"
        if fault.kinds == {"damaged epoch"}:
            beside = [it for it in found if it.severity == "error" and it.position != fault.position]
            assert not beside, f"{fault}: healthy batches are accused: {beside}"


def test_every_broken_promise_is_found_where_it_is_broken(everything: Everything) -> None:
    """Sound bytes that all disks agree on, and that no controller would have written."""
    assert {it.promise for it in everything.broken if it.kind == "broken promise"} == set(RULES)
    for broken in everything.broken:
        found = [it for it in everything.audited.findings if it.cluster == broken.cluster and it.severity != "note"]
        told = [(it.kind, it.offset) for it in found if it.detail.startswith(broken.promise)]
        assert (broken.kind, broken.offset) in told, f"{broken}: {found}"


def test_clean_fleets_raise_no_alarm(everything: Everything) -> None:
    clean = set(everything.clean) | set(everything.images)
    alarms = [it for it in everything.audited.findings if it.cluster in clean and it.severity != "note"]
    assert alarms == []


def test_a_second_ingest_of_the_same_fleet_commits_nothing(everything: Everything) -> None:
    paths = lake_state(everything.lake).summaries["ingest"]["paths"]
    assert ingest(paths, everything.lake, everything.spark).commit is None


def test_every_byte_of_every_copy_is_in_the_lake_once(everything: Everything) -> None:
    records = read_level(everything.spark, everything.lake, lake_state(everything.lake), "records")
    doubled = (
        records.where("kind = 'log' AND type IS NOT NULL AND cluster_id LIKE 'clean-%'")
        .groupBy("cluster_id", "node_id", "offset").count().where("count > 1").count()
    )  # fmt: skip
    assert doubled == 0
    assert set(everything.built.rows) >= set(TABLES)
    kinds = Counter(it.kind for it in everything.audited.findings)
    assert kinds["snapshot differs"] >= 2, kinds


@pytest.mark.parametrize("table", ["topics", "partitions", "brokers", "features", "leadership", "voters"])
def test_a_real_kafkas_history_fills_the_table(everything: Everything, table: str) -> None:
    assert everything.rows[GOLDEN][table]
