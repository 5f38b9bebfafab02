"""The history tables and findings as Apache Iceberg tables, through pyiceberg and an SQL catalog.

A table is replaced by one snapshot, which says in its table's property `quorate.commit` of which commit of the lake it
is; one that is of this commit already is left alone, so an interrupted publishing goes on where it was. The data is
copied: the lake's own files go with the next build. Records and batches are not published: rows of suffixes that nodes
truncated are in their files, and only the lake's commits take them out.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.lake.reading import arrow_table
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.problems import PipelineError, reason

COMMIT: Final = "quorate.commit"
_NOT_PUBLISHED: Final = frozenset(("records", "batches"))


@dataclass(frozen=True, slots=True)
class Published:
    """Rows of each table that was written, and the tables that were of this commit before."""

    rows: Mapping[str, int]
    unchanged: tuple[str, ...]


def publish(lake: str | os.PathLike[str], catalog: str, warehouse: str, namespace: str = "quorate") -> Published:
    """Write every table to the catalog (an SQLAlchemy address, such as sqlite:////srv/catalog.db). Raises
    PipelineError.
    """
    home = Path(lake).absolute()
    state = replay(read_commits(home))
    names = [name for name in state.tables if name not in _NOT_PUBLISHED]
    if "partitions" not in names:
        raise PipelineError(f"{home} has no tables yet", f"kraft-pipeline tables --output {home}")
    opened = _catalog(catalog, warehouse, namespace)
    rows: dict[str, int] = {}
    for name in names:
        commit = max(live.commit for live in state.of(name))
        try:
            data = _read(home, state, name)
            if _replace(opened, (namespace, name), data, str(commit)):
                rows[name] = data.num_rows
        except Exception as error:
            raise PipelineError(
                f"table {namespace}.{name} cannot be published: {reason(error)}",
                "the tables before it are whole; mend the cause, then run the same command again",
            ) from error
    return Published(rows, tuple(name for name in names if name not in rows))


def _catalog(address: str, warehouse: str, namespace: str) -> Any:
    try:
        from pyiceberg.catalog.sql import SqlCatalog
    except ImportError as missing:
        raise PipelineError(
            f"Iceberg tables need pyiceberg ({missing})", "pip install 'quorate[pipeline,iceberg]'"
        ) from missing
    place = warehouse if "://" in warehouse else Path(warehouse).absolute().as_uri()
    try:
        made = SqlCatalog("quorate", uri=address, warehouse=place)
        made.create_namespace_if_not_exists(namespace)
    except Exception as error:
        raise PipelineError(
            f"the catalog {address} cannot be opened: {reason(error)}", "give --catalog as sqlite:////DIRECTORY/FILE"
        ) from error
    return made


def _read(home: Path, state: LakeState, name: str) -> pa.Table:
    parts = [arrow_table(home, live) for live in state.of(name)]
    return pa.concat_tables([part.replace_schema_metadata(None) for part in parts], promote_options="permissive")


def _replace(catalog: Any, name: tuple[str, str], data: pa.Table, commit: str) -> bool:
    """Whether it was of another commit."""
    table = catalog.create_table_if_not_exists(name, schema=data.schema)
    if table.properties.get(COMMIT) == commit:
        return False
    with table.update_schema() as update:
        update.union_by_name(data.schema)
    with table.transaction() as change:
        if table.current_snapshot() is None:
            change.append(data)
        else:
            change.overwrite(data)
        change.set_properties({COMMIT: commit})
    return True


def run(options: argparse.Namespace) -> int:
    done = publish(options.output, options.catalog, options.warehouse, options.namespace)
    for name, count in done.rows.items():
        print(f"{count:>9} {options.namespace}.{name}")
    print(f"{len(done.rows)} tables published, {len(done.unchanged)} were as they are")
    return 0
