"""The metadata pipeline: rates of decoding, dumping and planning, each beside its peer on the same files in the same
run.

    python -m benchmarks.pipeline [--records NUMBER] [--only decode dump options memory small ingest scale added]

Every measurement is a process of its own. Decoding is given in records per CPU second (one core); `dump` to Parquet and
Apache Kafka's `kafka-dump-log` to /dev/null in wall seconds, start of Python and of the JVM included, the runs
interleaved. Peak memory is the resident set of the process that decodes. `added` grows one log and one lake, by a
million records at a time, to `--records`, and prints what a million more cost.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.pipeline_logs import Pool, write_directory
from benchmarks.report import Figure, table
from metadata_pipeline.allocator import keep_freed_memory

ROOT: Final = Path(__file__).parent.parent
GROUPS: Final = ("decode", "dump", "options", "memory", "small", "ingest", "scale", "added")
SMALL_FILES: Final = 3000
SMALL_BYTES: Final = 200_000
AREA: Final = "pipeline"
ADDED: Final = 1_000_000
INGESTED_SEGMENTS: Final = 8
WARMING: Final = 200_000
"""Records of the ingest that warms a session."""
RECORDS: Final = {"ingest": 16_000_000}
"""Records of a log where `--records` does not say, for groups that need another number than the usual one: a minute of
work for one core.
"""
USUAL_RECORDS: Final = 2_000_000
SHOWN: Final = (3, 10, 30, 100)
"""Millions of records of the log at which `added` prints a line."""


def child(job: str, *arguments: str) -> dict[str, Any]:
    """Run one measurement in a fresh process; returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pipeline", "--child", job, *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{job} {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def read_job(path: str, level: str, given: str) -> dict[str, float]:
    """Decode everything below a path; rows, CPU seconds, wall seconds and peak memory in MB."""
    from metadata_pipeline.sources.options import parse_options
    from metadata_pipeline.sources.packing import pack
    from metadata_pipeline.sources.reading import chosen, read_ranges
    from metadata_pipeline.sources.segments import list_segments

    options = parse_options({"level": level} | json.loads(given))
    cpu, wall = time.process_time(), time.perf_counter()
    rows = 0
    listing = list_segments(path, kinds=options.kinds)
    for task in pack(chosen(listing, options)):
        for batch in read_ranges(level, task, options):  # type: ignore[arg-type]
            rows += batch.num_rows
    used = time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": rows, "cpu": used, "wall": time.perf_counter() - wall, "peak": peak}


def read(path: Path, level: str = "records", **options: str) -> dict[str, Any]:
    return child("read", str(path), level, json.dumps(options))


def per_second(found: dict[str, Any]) -> float:
    return float(found["rows"] / found["cpu"] / 1e6)


def logs(root: Path, kind: str, records: int, segment_records: int = 1_000_000) -> tuple[Path, int, int]:
    """A node's log of several segments; returns its directory, records and bytes."""
    directory = root / f"{kind}-{records}"
    partition = write_directory(directory)
    pool = Pool(kind)
    written = size = 0
    while written < records:
        count, more = pool.write(
            partition / f"{written:020d}.log", records=min(segment_records, records - written), base_offset=written
        )
        written, size = written + count, size + more
    return directory, written, size


def decode(root: Path, records: int, runs: int) -> Iterator[Figure]:
    for kind, share in (("busy", 1), ("idle", 4)):
        directory, _, _ = logs(root, kind, records // share)
        rate = median(per_second(read(directory)) for _ in range(runs))
        scalar = child("scalar", str(directory))
        yield Figure(
            AREA,
            f"decode, {kind} log, one core",
            "M records/s",
            ours=rate,
            peer=per_second(scalar),
            peer_name="record by record",
            larger_is_better=True,
        )


def scalar_job(path: str) -> dict[str, float]:
    """The peer of decoding: the same codec, one record at a time, into dictionaries."""
    from controller_runtime.metadata.records import decode_record
    from controller_runtime.protocol.json_form import to_json
    from controller_runtime.protocol.record_batch import decode_batches

    file = min(Path(path).rglob("*.log"))
    data = file.read_bytes()[: 8 << 20]
    cpu = time.process_time()
    rows = 0
    for batch in decode_batches(data, partial_tail=True):
        for record in batch.records:
            to_json(*decode_record(record.value or b""))
            rows += 1
    return {"rows": rows, "cpu": time.process_time() - cpu}


def dump(root: Path, records: int, runs: int) -> Iterator[Figure]:
    sys.path.insert(0, str(ROOT / "tests"))
    from support.apache_kafka.java_kafka import JavaUnavailable, class_path

    try:
        jars = class_path()
    except JavaUnavailable as missing:
        print(f"dump: {missing}", file=sys.stderr)
        return
    for kind, share in (("busy", 1), ("idle", 4)):
        directory, _, _ = logs(root / "dump", kind, records // share, records)
        file = next(directory.rglob("*.log"))
        ours, theirs = [], []
        for _ in range(runs):
            ours.append(
                _wall(
                    [
                        sys.executable,
                        "-m",
                        "metadata_pipeline.dump",
                        str(file),
                        "--format",
                        "parquet",
                        "--output",
                        str(root / "out.parquet"),
                    ]
                )
            )
            theirs.append(
                _wall(
                    [
                        "java",
                        "-Xmx1g",
                        "-cp",
                        jars,
                        "org.apache.kafka.tools.DumpLogSegments",
                        "--cluster-metadata-decoder",
                        "--files",
                        str(file),
                    ]
                )
            )
        yield Figure(
            AREA,
            f"dump to Parquet, {kind} log",
            "s",
            ours=median(ours),
            peer=median(theirs),
            peer_name="kafka-dump-log to /dev/null",
        )


def _wall(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def options(root: Path, records: int, runs: int) -> Iterator[Figure]:
    """What each way of leaving out saves: CPU seconds of the whole against CPU seconds of the part."""
    directory, written, _ = logs(root / "options", "busy", records)
    whole = median(read(directory)["cpu"] for _ in range(runs))
    narrower: dict[str, tuple[str, dict[str, str]]] = {
        "columns=offset,type": ("records", {"columns": "offset,type"}),
        "types=TopicRecord": ("records", {"types": "TopicRecord"}),
        "from_offset: the last tenth": ("records", {"from_offset": str(written * 9 // 10)}),
        "level=batches": ("batches", {}),
        "kinds=snapshot": ("records", {"kinds": "snapshot"}),
    }
    for name, (level, given) in narrower.items():
        if name.startswith("kinds"):
            continue
        part = median(read(directory, level, **given)["cpu"] for _ in range(runs))
        yield Figure(AREA, f"CPU with {name}", "s", ours=part, peer=whole, peer_name="everything")


def memory(root: Path, records: int, runs: int) -> Iterator[Figure]:
    del runs
    small, _, _ = logs(root / "memory", "busy", records // 8, records)
    large, _, size = logs(root / "memory", "busy", records, records)
    for name, jobs in (("decode", read), ("ingest, one worker", partial(alone, lake=root / "lake"))):
        peaks = jobs(small)["peak"], jobs(large)["peak"]
        yield Figure(
            AREA,
            f"peak memory, {name}, one file of {size >> 20} MB",
            "MB",
            ours=peaks[1],
            peer=512,
            peer_name="the bound",
        )
        yield Figure(
            AREA,
            f"peak memory, {name}, a file 8 times as large",
            "MB",
            ours=peaks[1],
            peer=peaks[0],
            peer_name="the smaller file",
        )


def small(root: Path, records: int, runs: int) -> Iterator[Figure]:
    """3,000 files of 200 KB beside one file of the same bytes."""
    del records
    pool = Pool("busy")
    in_file = int(SMALL_BYTES / (pool.bytes / pool.records))
    for node in range(SMALL_FILES):
        partition = write_directory(root / "small" / f"n{node}", node=node)
        pool.write(partition / f"{0:020d}.log", records=in_file)
    total = sum(file.stat().st_size for file in (root / "small").rglob("*.log"))
    partition = write_directory(root / "one")
    pool.write(partition / f"{0:020d}.log", records=int(total / (pool.bytes / pool.records)))
    many = median(read(root / "small")["cpu"] for _ in range(runs))
    one = median(read(root / "one")["cpu"] for _ in range(runs))
    name = f"{SMALL_FILES} files of {SMALL_BYTES // 1000} KB"
    yield Figure(AREA, f"decode {name}", "s CPU", ours=many, peer=one, peer_name="one file of the same total")
    many, one = (alone(root / path, root / "lake")["cpu"] for path in ("small", "one"))
    yield Figure(AREA, f"ingest {name}", "s CPU", ours=many, peer=one, peer_name="one file of the same total")


def ingest(root: Path, records: int, runs: int) -> Iterator[Figure]:
    """The whole job on one core and on two, each pair one after the other. Spark's start is not counted, nor that of
    its Python workers.
    """
    directory, _, _ = logs(root / "ingest", "busy", records, max(1, records // INGESTED_SEGMENTS))
    few, _, _ = logs(root / "few", "busy", WARMING, WARMING // INGESTED_SEGMENTS)
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(runs):
        for cores, seconds in found.items():
            with tempfile.TemporaryDirectory(dir=root, prefix="lake-") as lake:
                seconds.append(child("ingest", str(directory), str(few), lake, str(cores))["wall"])
    yield Figure(AREA, "ingest on two cores", "s", ours=median(found[2]), peer=median(found[1]), peer_name="one core")
    ratios = [one / two for one, two in zip(found[1], found[2], strict=True)]
    print(f"ingest: one core beside two, pair by pair: {', '.join(f'{it:.2f}' for it in ratios)}", file=sys.stderr)


def alone(path: Path, lake: Path) -> dict[str, Any]:
    """An ingest in one process, without Spark: what a worker does."""
    return child("alone", str(path), str(lake / path.name))


def alone_job(path: str, lake: str) -> dict[str, float]:
    from metadata_pipeline.jobs.ingest import ingest as run

    cpu, wall = time.process_time(), time.perf_counter()
    rows = run([path], lake).rows["records"]
    used = time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": rows, "cpu": used, "wall": time.perf_counter() - wall, "peak": peak}


def ingest_job(path: str, few: str, lakes: str, cores: str) -> dict[str, float]:
    """The first ingest of a session starts the workers and warms the JVM; the second is the one that is timed."""
    from metadata_pipeline.jobs.ingest import ingest as run
    from metadata_pipeline.session import open_session

    spark = open_session(f"local[{cores}]")
    run([few], f"{lakes}/few", spark=spark, pack_bytes=1)
    started = time.perf_counter()
    run([path], f"{lakes}/all", spark=spark)
    return {"wall": time.perf_counter() - started}


def scale(root: Path, records: int, runs: int) -> Iterator[Figure]:
    """Cost of a record as the log grows: CPU microseconds at the full size against a tenth of it."""
    costs = []
    for count in (records // 10, records):
        directory, written, _ = logs(root / "scale", "busy", count)
        costs.append(median(read(directory)["cpu"] for _ in range(runs)) / written * 1e6)
    yield Figure(
        AREA, f"CPU per record at {records:,}", "us", ours=costs[1], peer=costs[0], peer_name=f"at {records // 10:,}"
    )


def added(root: Path, records: int, runs: int) -> Iterator[Figure]:
    """One log grows, and every ingest reads what is new: the cost of a record when the lake has few, and when it has
    many.
    """
    del runs
    pool, partition = Pool("busy"), write_directory(root / "added")
    costs: list[tuple[int, float, float]] = []
    total = 0
    while total < records:
        count, _ = pool.write(partition / f"{total:020d}.log", records=ADDED, base_offset=total)
        total += count
        found = alone(root / "added", root / "lake")
        assert found["rows"] == count, "every ingest reads what is new, and nothing else"
        costs.append((total, found["cpu"] / count * 1e6, found["peak"]))
    shown = [costs[0], *(it for it in costs if it[0] // ADDED in SHOWN), costs[-1]]
    lines = [
        "| records in the log | CPU microseconds for each of the last million | peak memory, MB |",
        "|---|---|---|",
    ]
    lines += [f"| {total:,} | {cost:.2f} | {peak:.0f} |" for total, cost, peak in dict.fromkeys(shown)]
    print("\n".join(lines))
    yield Figure(
        AREA,
        f"CPU per record added at {total:,}",
        "us",
        ours=costs[-1][1],
        peer=costs[0][1],
        peer_name=f"at {costs[0][0]:,}",
    )


JOBS: Final[dict[str, Callable[..., dict[str, float]]]] = {
    "read": read_job, "scalar": scalar_job, "ingest": ingest_job, "alone": alone_job,
}  # fmt: skip
MEASURES: Final[dict[str, Callable[[Path, int, int], Iterator[Figure]]]] = {
    "decode": decode, "dump": dump, "options": options, "memory": memory, "small": small, "ingest": ingest,
    "scale": scale,
    "added": added,
}  # fmt: skip


def measure(
    say: Callable[[str], None], records: int | None = None, runs: int = 3, groups: tuple[str, ...] = GROUPS
) -> list[Figure]:
    """All figures; logs are written to a temporary directory and removed."""
    figures: list[Figure] = []
    for group in groups:
        count = records or RECORDS.get(group, USUAL_RECORDS)
        with tempfile.TemporaryDirectory(prefix="pipeline-bench-") as root:
            for figure in MEASURES[group](Path(root), count, runs):
                say(
                    f"{figure.name}: {figure.ours:.3g} {figure.unit} beside {figure.peer:.3g} "
                    f"({figure.peer_name}): {figure.ratio:.2f}"
                )
                figures.append(figure)
    return figures


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        keep_freed_memory()
        print(json.dumps(JOBS[sys.argv[2]](*sys.argv[3:])))
        return 0
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description=__doc__)
    parser.add_argument("--records", type=int, help="of every log; else what each group needs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS)
    asked = parser.parse_args()
    figures = measure(
        lambda text: print(text, file=sys.stderr, flush=True), asked.records, asked.runs, tuple(asked.only)
    )
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
