"""Every table of a lake as Iceberg tables: DuckDB reads as many rows as there are, and topics as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_pipeline.jobs.ingest import lake_state
from metadata_pipeline.publish.iceberg import publish
from metadata_pipeline.tables.queries import TABLES
from support.pipeline.duck import rows_of
from support.pipeline.everything import GOLDEN_CLUSTER, Everything

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records"),
]


def test_duckdb_reads_every_table_of_a_lake(everything: Everything, tmp_path: Path) -> None:
    done = publish(everything.lake, f"sqlite:///{tmp_path}/catalog.db", str(tmp_path / "warehouse"))
    state = lake_state(everything.lake)
    expected = {name: sum(live.file.rows for live in state.of(name)) for name in (*TABLES, "findings", "stretches")}
    assert {name: done.rows[name] for name in expected} == expected
    read = {name: rows_of(tmp_path / "warehouse", "quorate", name, "count(*)")[0][0] for name in expected}
    assert read == expected
    topics = rows_of(tmp_path / "warehouse", "quorate", "topics", "cluster_id, name, valid_from, valid_to")
    assert sorted(row[1:3] for row in topics if row[0] == GOLDEN_CLUSTER) == sorted(
        (row["name"], row["valid_from"]) for row in everything.rows[GOLDEN_CLUSTER]["topics"]
    )
