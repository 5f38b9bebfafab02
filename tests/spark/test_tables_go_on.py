"""Tables that go on from the last build, and an audit that looks at what is new, say what those made whole say: byte
for byte, whatever was ingested, retracted or cut in between.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from metadata_pipeline.audit.job import audit
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.lake.commits import read_commits
from metadata_pipeline.lake.reading import read_table
from metadata_pipeline.tables.build import build_tables
from metadata_pipeline.tables.queries import TABLES
from support.pipeline.growing_fleet import WAYS, growing

pytestmark = pytest.mark.timeout(3600)
SOAK = bool(os.environ.get("QUORATE_SOAK"))
LOOKS = 3 if SOAK else 2
OTHERS = ("forks", "loses", "begins with a snapshot", "rests")
SEEN = ("provisional", "stretches", "findings")


def ways(seed: int) -> tuple[str, ...]:
    """Of the clusters; a soak has each way twice, other runs two that go on, one that is made anew, and a fourth."""
    return WAYS * 2 if SOAK else ("grows", "grows", OTHERS[seed % len(OTHERS)], "is completed")


def answers(spark: Any, lake: Path, tables: tuple[str, ...] = (*TABLES, *SEEN)) -> dict[str, list[str]]:
    state = lake_state(lake)
    return {
        table: sorted(repr(row.asDict()) for row in read_table(spark, lake, state, table).collect()) for table in tables
    }


@settings(
    max_examples=10 if SOAK else 1, deadline=None, database=None, phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
@given(number=st.integers(0, 1 << 30))
def test_a_history_that_goes_on_is_the_history_made_whole(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, run_seed: int, number: int
) -> None:
    seed = run_seed + number
    home = tmp_path_factory.mktemp("growing")
    lake, fleet = home / "lake", growing(home / "fleet", seed, ways(seed), LOOKS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metadata_pipeline.tables.views.FEW_ROWS", 0)
        patch.setattr("metadata_pipeline.tables.history_files.MOST_FILES", 2)
        for look in range(LOOKS):
            for one in fleet:
                one.look(look)
            ingest(str(home / "fleet"), lake)
            build_tables(lake, spark)
            audit(lake, spark)
        told = [commit.rebuilt for commit in read_commits(lake) if commit.rebuilt is not None]
        assert all(len(it.further) > 1 for it in told[1:]), f"seed {seed}: histories went on"
        assert any(it.whole for it in told[1:]), f"seed {seed}: some were made anew"
        whole = home / "whole"
        shutil.copytree(lake, whole)
        build_tables(whole, spark, anew=True)
        audit(whole, spark, anew=True)
        gone_on, made_whole = answers(spark, lake), answers(spark, whole)
    for table, rows in made_whole.items():
        differ = sorted(set(rows) ^ set(gone_on[table]))
        assert gone_on[table] == rows, f"seed {seed}, {table}: {differ[:4]}"
    assert len(made_whole["partitions"]) > 10
