"""The lake's tables as Apache Iceberg tables, read by DuckDB's own Iceberg reader: each is of one commit, publishing
again changes what is new, and two publishers do not mix.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from metadata_pipeline.cli import main
from metadata_pipeline.lake.commits import read_commits, write_commit
from metadata_pipeline.lake.entries import Commit
from metadata_pipeline.lake.rows import arrow_rows, write_rows
from metadata_pipeline.lake.state import replay
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.publish.iceberg import publish
from support.pipeline.duck import rows_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Delete operation did not match any records"),
]

COLUMNS = "cluster_id string, topic string, leader int, isr array<int>, valid_from bigint, at timestamp, open boolean"
AT = datetime(2026, 11, 1, 3, 0, 0, 123000, tzinfo=UTC)
ROWS: list[tuple[Any, ...]] = [
    ("a", "orders", 1, [1, 2, 3], 17, AT, True),
    ("a", "zażółć 'x'", -1, [], 18, None, False),
    ("b", "t", 2, [2], 0, AT, None),
]


def committed(lake: Path, **tables: list[tuple[Any, ...]]) -> None:
    """A commit that replaces these tables."""
    state = replay(read_commits(lake))
    number = state.version + 1
    files = [
        file for name, rows in tables.items() for file in write_rows(lake, name, f"{number}", arrow_rows(rows, COLUMNS))
    ]
    replaced = tuple(live.file.path for name in tables for live in state.of(name))
    write_commit(lake, Commit(number, "tables", 0, tuple(files), replaced))


def published(lake: Path, root: Path, table: str) -> list[tuple[Any, ...]]:
    return rows_of(root / "warehouse", "quorate", table)


def test_duckdb_reads_what_was_published_and_the_next_commit_replaces_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    committed(lake, partitions=ROWS, topics=ROWS[:1])
    command = ["publish", "--catalog", f"sqlite:///{tmp_path}/catalog.db", "--warehouse", str(tmp_path / "warehouse")]
    assert main([*command, "--output", str(lake)]) == 0
    assert "2 tables published, 0 were as they are" in capsys.readouterr().out
    assert sorted(published(lake, tmp_path, "partitions")) == sorted(ROWS)
    assert published(lake, tmp_path, "topics") == ROWS[:1]
    assert main([*command, "--output", str(lake)]) == 0
    assert "0 tables published, 2 were as they are" in capsys.readouterr().out
    committed(lake, partitions=ROWS[1:])
    assert main([*command, "--output", str(lake)]) == 0
    assert "1 tables published, 1 were as they are" in capsys.readouterr().out
    assert sorted(published(lake, tmp_path, "partitions")) == sorted(ROWS[1:])
    committed(lake, partitions=[])
    publish(lake, f"sqlite:///{tmp_path}/catalog.db", str(tmp_path / "warehouse"))
    assert published(lake, tmp_path, "partitions") == []


def test_what_cannot_be_published_is_told_and_the_tables_before_it_are_whole(tmp_path: Path) -> None:
    lake, catalog = tmp_path / "lake", f"sqlite:///{tmp_path}/catalog.db"
    with pytest.raises(PipelineError, match="has no tables yet"):
        publish(lake, catalog, str(tmp_path / "warehouse"))
    committed(lake, partitions=ROWS, topics=ROWS)
    with pytest.raises(PipelineError, match="cannot be opened"):
        publish(lake, "nonsense", str(tmp_path / "warehouse"))
    (topics,) = replay(read_commits(lake)).of("topics")
    whole = (lake / topics.file.path).read_bytes()
    (lake / topics.file.path).write_bytes(b"damaged")
    with pytest.raises(PipelineError, match=r"table quorate\.topics cannot be published"):
        publish(lake, catalog, str(tmp_path / "warehouse"))
    assert sorted(published(lake, tmp_path, "partitions")) == sorted(ROWS)
    (lake / topics.file.path).write_bytes(whole)
    assert publish(lake, catalog, str(tmp_path / "warehouse")).unchanged == ("partitions",)
    assert sorted(published(lake, tmp_path, "topics")) == sorted(ROWS)
