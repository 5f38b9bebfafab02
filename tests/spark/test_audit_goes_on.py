"""An audit that looks at what is new reads it alone, and notices what breaks there: each promise, broken by the first
record that the last audit did not see.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from metadata_pipeline.audit.history import RULES
from metadata_pipeline.audit.job import audit
from metadata_pipeline.audit.looking import look_of
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.tables.build import build_tables
from metadata_pipeline.tables.committed import clusters
from metadata_pipeline.tables.views import Views
from support.pipeline.promises import PROMISES, Broken

pytestmark = pytest.mark.timeout(1200)


def batches(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(position, base offset, epoch)."""
    at = 0
    while at < len(data):
        base, size, epoch = struct.unpack_from(">qii", data, at)
        yield at, base, epoch
        at += 12 + size


class Cut:
    """One disk's log that ends before an offset, until it is made whole."""

    def __init__(self, log: Path, offset: int) -> None:
        self.log, self.data = log, log.read_bytes()
        at, before = 0, 0
        for position, base, epoch in batches(self.data):
            if base >= offset:
                at = position
                break
            before = epoch
        log.write_bytes(self.data[:at])
        self.state = log.parent / "quorum-state"
        self.said = self.state.read_text()
        self.state.write_text(re.sub(r'"leaderEpoch":\s*\d+', f'"leaderEpoch":{before}', self.said))

    def restore(self) -> None:
        self.log.write_bytes(self.data)
        self.state.write_text(self.said)


def test_what_the_first_new_record_breaks_is_noticed_and_little_else_is_read(
    spark: Any, tmp_path: Path, run_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metadata_pipeline.tables.views.FEW_ROWS", 0)
    home, lake = tmp_path / "fleet", tmp_path / "lake"
    broken: list[Broken] = []
    cut: list[Cut] = []
    for number, (promise, inject) in enumerate(PROMISES.items()):
        root = home / str(number)
        broken.append(inject(root, f"promise-{number}", Random(run_seed + number)))
        assert broken[-1].promise == promise
        cut += [Cut(log, broken[-1].offset) for log in sorted(root.rglob("*.log"))]
    ingest(str(home), lake)
    build_tables(lake, spark)
    assert [it for it in audit(lake, spark).findings if it.severity != "note"] == []
    for disk in cut:
        disk.restore()
    ingest(str(home), lake)
    build_tables(lake, spark)
    state = lake_state(lake)
    look = look_of(state, clusters(state))
    assert set(look.scope.further) == {it.cluster for it in broken}, f"seed {run_seed}"

    views = Views(spark, lake)
    views.prepare(state, look.scope)
    read = {(row[0], row[1]) for row in spark.table("lake_records").select("cluster_id", "offset").collect()}
    for it in broken:
        offsets = sorted(offset for cluster, offset in read if cluster == it.cluster)
        assert offsets[0] == it.offset - 1, f"seed {run_seed}: {it}: the record before the first new one, and no other"

    found = audit(lake, spark).findings
    assert {it.promise for it in broken if it.kind == "broken promise"} == set(RULES)
    for it in broken:
        told = [(each.kind, each.offset) for each in found if each.cluster == it.cluster
                and each.detail.startswith(it.promise)]  # fmt: skip
        assert (it.kind, it.offset) in told, f"seed {run_seed}: {it}"
    assert audit(lake, spark, anew=True).findings == found
