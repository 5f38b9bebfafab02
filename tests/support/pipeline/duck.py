"""DuckDB with its Iceberg reader, both from PyPI: an engine that knows nothing of ours."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb


def rows_of(warehouse: Path, namespace: str, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    """All rows of the newest snapshot of an Iceberg table."""
    (folder,) = (Path(next(iter(import_module("duckdb_ext").__path__))) / "extensions").glob(f"v{duckdb.__version__}/*")
    metadata = max((warehouse / namespace / table / "metadata").glob("*.metadata.json"), key=lambda file: file.name)
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        for name in ("avro", "iceberg"):
            connection.execute(f"LOAD '{folder / name}.duckdb_extension'")
        connection.execute("SET TimeZone = 'UTC'")
        found: list[tuple[Any, ...]] = connection.execute(
            f"SELECT {columns} FROM iceberg_scan('{metadata}')"
        ).fetchall()
    return found
