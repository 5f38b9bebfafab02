"""What a leader's clients notice of somebody who follows its log over the wire: `python -m benchmarks.followed`.

Three controllers. Clients change configurations at the leader, one request in flight each, in rounds: alone, and beside
a reader that looks at the quorum every second (`wire.reading.read_on`, as `kraft-pipeline ingest` and streams do), in a
process of its own. Told are the medians of both, and of the ratios of neighbouring rounds: the clients' latency, and
the processor of the leader for each commit.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks import load
from benchmarks.clusters import CLUSTER_ID, Member, Quorum
from metadata_pipeline.wire.fleet import Quorum as Read
from metadata_pipeline.wire.leader import Mark, Part
from metadata_pipeline.wire.reading import read_on

REPOSITORY = Path(__file__).parent.parent


def follow(bootstrap: str, every: float) -> None:
    """What is new, again and again, until the process is ended; then how many bytes there were."""
    mark, size = Mark(), 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(size)))

    def take(part: Part) -> None:
        nonlocal mark, size
        mark, size = part.mark, size + len(part.data)

    while True:
        ended = asyncio.run(read_on(Read("it", bootstrap), CLUSTER_ID, mark, take))
        assert ended.fault is None, ended
        time.sleep(every)


def measured(quorum: Quorum, leader: Member, options: argparse.Namespace, *, followed: bool) -> dict[str, float]:
    reader = None
    if followed:
        bootstrap = ",".join(member.address for member in quorum.members)
        command = [sys.executable, "-m", "benchmarks.followed", "--follow", bootstrap, "--every", str(options.every)]
        reader = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        time.sleep(3)
    before = leader.cpu_s()
    found = load.run(quorum, leader, options.seconds, connections=options.connections)
    used = leader.cpu_s() - before
    if reader is not None:
        reader.terminate()
        print(f"  read {int(reader.communicate(timeout=20)[0]) / 1e6:.1f} MB", file=sys.stderr)
    return {
        "p50, ms": found.p50 * 1000, "p99, ms": found.p99 * 1000, "commits/s": found.per_second,
        "us of the leader's processor for a commit": used / found.commits * 1e6,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kind", default="quorate", choices=("quorate", "apache-kafka"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two looks of the reader")
    parser.add_argument("--follow", metavar="BOOTSTRAP", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.follow:
        follow(options.follow, options.every)
    with tempfile.TemporaryDirectory() as home:
        quorum = Quorum(options.kind, Path(home))
        quorum.format()
        quorum.start()
        try:
            leader = load.prepare(quorum)
            load.run(quorum, leader, 3.0, connections=options.connections)
            rounds = []
            for turn in range(options.rounds):
                order = (False, True) if turn % 2 == 0 else (True, False)
                found = {followed: measured(quorum, leader, options, followed=followed) for followed in order}
                rounds.append(found)
                print(f"round {turn + 1}: {found}", file=sys.stderr)
        finally:
            quorum.stop()
    print(f"{options.kind}, {options.rounds} rounds, {options.connections} clients, load {os.getloadavg()[0]:.0f}")
    for name in rounds[0][False]:
        alone, beside = (median(found[followed][name] for found in rounds) for followed in (False, True))
        ratio = median(found[True][name] / found[False][name] for found in rounds)
        print(f"{name:<45} alone {alone:9.2f}  followed {beside:9.2f}  ratio {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
