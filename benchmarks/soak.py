"""Full load for an hour, and no election without a fault: the epoch at the end is the epoch at the beginning.

    python -m benchmarks soak --minutes 60

64 connections change one topic's configuration as fast as three of our voters commit; the leader's epoch is read every
second from all three.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

from benchmarks import load
from benchmarks.clusters import Member, Quorum, free_ports

EPOCH = "kafka_server_raftmetrics_current_epoch"


def run(say: Callable[[str], None], minutes: float) -> int:
    """Exit code 1 if there was an election."""
    work = Path(tempfile.mkdtemp(prefix="quorate-soak-"))
    quorum = Quorum("quorate", work)
    quorum.format()
    ports = free_ports(3)
    for member, port in zip(quorum.members, ports, strict=True):
        member.properties.write_text(member.properties.read_text() + f"quorate.http.listener=127.0.0.1:{port}\n")
    quorum.start()
    try:
        leader = load.prepare(quorum)
        time.sleep(2)
        first = {port: epoch(port) for port in ports}
        outcome: list[load.LoadResult | Exception] = []
        loading = threading.Thread(target=lambda: outcome.append(_load(quorum, leader, minutes * 60)))
        loading.start()
        elections = _observe(say, ports, first, loading)
        say(f"{minutes:g} minutes of load: {outcome[0]}; elections: {elections or 'none'}")
        failed = bool(elections) or isinstance(outcome[0], Exception)
        if failed:
            say("\n".join(f"--- {member.node_id}\n{member.log.read_text()[-1500:]}" for member in quorum.members))
        return int(failed)
    finally:
        quorum.stop()
        shutil.rmtree(work, ignore_errors=True)


def _load(quorum: Quorum, leader: Member, seconds: float) -> load.LoadResult | Exception:
    try:
        return load.run(quorum, leader, seconds)
    except Exception as error:
        return error


def _observe(
    say: Callable[[str], None], ports: list[int], first: dict[int, int], loading: threading.Thread
) -> list[str]:
    started, known, elections = time.monotonic(), dict(first), []
    going_on = True
    while going_on:
        going_on = loading.is_alive()
        if not going_on:
            time.sleep(5)  # who ended the load may still be electing
        for port in ports:
            if (now := epoch(port)) != known[port]:
                elections.append(f"after {time.monotonic() - started:.0f} s: epoch {known[port]} became {now}")
                say(elections[-1])
                known[port] = now
        loading.join(1.0)
    return elections


def epoch(port: int) -> int:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(f"{EPOCH} "):
                return int(float(line.split()[-1]))
    raise LookupError(f"no {EPOCH} on port {port}")
