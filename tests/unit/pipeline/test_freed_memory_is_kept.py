"""Where we decode, memory that was freed is used again instead of being paged in anew. Counted in page faults, which no load changes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.pipeline_logs import Pool, write_directory

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "kafka-4.3.1" / "cluster"
RECORDS = 400_000
IMPORTED = "import pyspark_kraft, metadata_pipeline.cli, metadata_pipeline.dump, metadata_pipeline.jobs.ingest_source"
SOURCE = """
from pyspark_kraft.batch import LogReader
reader = LogReader({"path": GOLDEN})
assert all(list(reader.read(partition)) for partition in reader.partitions())
"""
INGEST = """
import json
from pathlib import Path
from metadata_pipeline.jobs.ingest import lake_key
from metadata_pipeline.jobs.ingest_source import IngestReader
from metadata_pipeline.jobs.ingest_task import part_to_json
from metadata_pipeline.jobs.plan import new_parts, packs, sources_of
from metadata_pipeline.sources.segments import list_segments
key = lake_key(Path(LAKE))
planned = packs(new_parts(sources_of(list_segments([GOLDEN])), {}))
plan = Path(LAKE, "plan.json")
plan.write_text(json.dumps([[part_to_json(part) for part in pack] for pack in planned]))
reader = IngestReader(LAKE, str(plan), key)
assert all(list(reader.read(partition)) for partition in reader.partitions())
"""
DUMP = """
from metadata_pipeline.cli import main
assert main(["dump", GOLDEN, "--format", "parquet", "--output", LAKE + ".parquet"]) == 0
"""
COMMAND = """
from metadata_pipeline.cli import main
assert main(["ingest", GOLDEN, "--output", LAKE, "--master", "none"]) == 0
"""
COUNTED = """
import resource
from metadata_pipeline.sources.reading import read_records
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert sum(rows.num_rows for rows in read_records(LOG))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(min([faults() for _ in range(6)][2:]))
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("log") / "node"
    Pool("busy").write(write_directory(root) / f"{0:020d}.log", records=RECORDS)
    return root


@pytest.fixture(scope="module")
def imported_only(log: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    return faults_of_later_passes(IMPORTED, log, tmp_path_factory.mktemp("none") / "lake")


def faults_of_later_passes(before: str, log: Path, lake: Path) -> int:
    """Of decoding a log again and again, in a process that did something else before: the setting is a process's."""
    named = f"LOG, LAKE, GOLDEN = {str(log)!r}, {str(lake)!r}, {str(GOLDEN)!r}"
    done = subprocess.run(
        [sys.executable, "-c", f"{named}\n{before}\n{COUNTED}"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
@pytest.mark.parametrize(
    "ours",
    [SOURCE, INGEST, DUMP, COMMAND],
    ids=["a worker that reads", "a worker that ingests", "dump", "an ingest without Spark"],
)
def test_our_processes_page_in_far_less_than_one_that_only_imports_us(
    ours: str, log: Path, imported_only: int, tmp_path: Path
) -> None:
    assert faults_of_later_passes(ours, log, tmp_path / "lake") * 2 < imported_only
