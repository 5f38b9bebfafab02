"""kill -9 at every step of an ingest that changes the disk, and a disk that is full there: nothing half-written is
visible, the next run makes it whole.

The ingest runs in a forked child in which the system calls that change files count down to SIGKILL (or to ENOSPC);
another child then reads the lake as any reader does, runs the same ingest again, and looks for every record exactly
once. A run samples the steps by its seed, a soak takes them all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from support.disks.log_fleet import History, disks, topic

STEPS: Final = 1000 if os.environ.get("QUORATE_SOAK") else 3
"""Of the 15 to 60 steps of an ingest, how many a run breaks it at."""
HARNESS = r"""
import errno, json, os, random, shutil, signal, sys
from collections import Counter
from pathlib import Path
import pyarrow.parquet as pq
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.problems import PipelineError

root, lake, before, kind, ends = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], json.loads(sys.argv[5])
most, seed = int(sys.argv[6]), int(sys.argv[7])

def rows():
    found = Counter()
    for live in lake_state(lake).of("records"):
        dead = {key.node: offset for key, offset in live.dead_from.items()}
        for row in pq.read_table(lake / live.file.path, partitioning=None).to_pylist():
            if row["kind"] == "log" and row["offset"] < dead.get(row["node_id"], 1 << 60):
                found[row["node_id"], row["offset"]] += 1
    return found

def expected(which):
    return Counter({(int(node), offset): 1 for node, end in ends[which].items() for offset in range(end)})

def child(work):
    pid = os.fork()
    if pid == 0:
        try:
            code = work() or 0
        except BaseException as error:
            print("child:", repr(error), flush=True)
            code = 3
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def break_at(step):
    # Without a step, the ingest lives and says how many it has.
    taken = [0]
    def counted(real):
        def call(*given, **named):
            taken[0] += 1
            if taken[0] - 1 == step:
                if kind == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*given, **named)
        return call
    def work():
        for name in ("replace", "link", "fsync", "unlink", "mkdir") if kind == "kill" else ("replace", "link", "fsync"):
            setattr(os, name, counted(getattr(os, name)))
        pq.ParquetWriter.write = counted(pq.ParquetWriter.write)
        if kind == "full":
            pq.ParquetWriter.__init__ = counted(pq.ParquetWriter.__init__)
        try:
            ingest(root, lake, pack_bytes=400)
        except PipelineError as error:
            assert kind == "full" and "next:" in str(error), error
            return 9
        Path(f"{lake}.steps").write_text(str(taken[0]))
    return work

def look_and_repeat():
    seen = rows()
    assert seen in (expected("before"), expected("after")), "something half-written is visible"
    ingest(root, lake, pack_bytes=400)
    assert rows() == expected("after"), "not exactly once"

def broken_at(step):
    shutil.rmtree(lake, ignore_errors=True)
    shutil.copytree(before, lake)
    return child(break_at(step))

assert broken_at(None) == 0
steps = int(Path(f"{lake}.steps").read_text())
chosen = sorted(random.Random(seed).sample(range(steps), min(most, steps)))
for step in chosen:
    code = broken_at(step)
    assert code == (-9 if kind == "kill" else 9), (step, code)
    again = child(look_and_repeat)
    assert again == 0, (step, again)
print(json.dumps({"steps": steps, "chosen": chosen}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kill", "full"])
def test_an_ingest_that_dies_anywhere_leaves_a_whole_lake_and_is_simply_run_again(
    tmp_path: Path, kind: str, run_seed: int, sampled: Callable[[str], None]
) -> None:
    from metadata_pipeline.jobs.ingest import ingest

    log = History("fleet-a")
    log.lead(1)
    for number in range(6):
        log.append(topic(number))
        log.idle(2)
    other = log.fork(11)
    other.lead(2)
    other.append(topic(99))
    fleet = disks(tmp_path / "fleet", "fleet-a", (1, 2))
    fleet[1].write(log, end=14)
    fleet[2].write(log, end=9)
    ingest(str(tmp_path / "fleet"), tmp_path / "before")
    fleet[1].write(other)
    fleet[2].write(log, segments=(12,))
    ends = {"before": {1: 14, 2: 9}, "after": {1: other.end, 2: log.end}}
    done = subprocess.run(
        [sys.executable, "-c", HARNESS, str(tmp_path / "fleet"), str(tmp_path / "lake"), str(tmp_path / "before"), kind,
            json.dumps(ends), str(STEPS), str(run_seed)],
        capture_output=True, text=True, timeout=600, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["steps"] >= (15 if kind == "kill" else 8)
    sampled(f"an ingest broken ({kind}) at {len(said['chosen'])} of its {said['steps']} steps: {said['chosen']}")
