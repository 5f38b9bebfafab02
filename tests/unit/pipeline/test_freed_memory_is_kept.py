"""Where we decode, memory that was freed is used again instead of being paged in anew. Counted in page faults."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "kafka-4.3.1" / "cluster"
SOURCE = """
from metadata_pipeline.spark_source.batch import LogReader
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
import ctypes, resource
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
def faults(size, count):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    places = [libc.malloc(size) for _ in range(count)]
    for place in places:
        ctypes.memset(place, 1, size)
    for place in reversed(places):
        libc.free(place)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults(20 << 20, 1)  # from here on even a library that was told nothing takes what is smaller from its heap
print(min([faults(16 << 20, 3) for _ in range(6)][2:]))
"""
PAGES = 3 * (16 << 20) // resource.getpagesize()


def faults_of_later_rounds(before: str, lake: Path) -> int:
    """Of taking some large pieces, writing to them and giving them back, again and again, in a process that did
    something else before.
    """
    named = f"LAKE, GOLDEN = {str(lake)!r}, {str(GOLDEN)!r}"
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
def test_what_our_processes_freed_is_not_paged_in_anew(ours: str, tmp_path: Path) -> None:
    """A process that was told nothing pages all of it in, every time."""
    assert faults_of_later_rounds(ours, tmp_path / "lake") < PAGES // 10
