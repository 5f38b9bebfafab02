"""Faults of a leader, and how long nothing is committed: killed, frozen, cut off. One request is in flight on every
member all the time.

A fault is measured at the others only: from the moment it is done to the first answered commit that was asked for after
it.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks import load
from benchmarks.clusters import Kind, Member, Quorum
from benchmarks.network import Network

SETTLE_S: Final = {"quorate": 1.5, "etcd": 1.5, "apache-kafka": 3.0}
"""After a member is back: until it has caught up, and the others have forgotten the fault."""
QUICK: Final = {
    "quorate": {"controller.quorum.fetch.timeout.ms": "500", "controller.quorum.election.timeout.ms": "250"},
    "apache-kafka": {"controller.quorum.fetch.timeout.ms": "500", "controller.quorum.election.timeout.ms": "250"},
    "etcd": {"heartbeat-interval": "50", "election-timeout": "500"},
}
"""Patience of half a second, for all."""

Fault = Callable[[load.Watch, Quorum, Member], float]
Samples = dict[str, list[float]]


def _repeated(quorum: Quorum, times: int, fault: Fault) -> list[float]:
    quorum.format()
    quorum.start()
    try:
        load.prepare(quorum)
        time.sleep(SETTLE_S[quorum.kind])
        gaps = []
        with load.Watch(quorum) as watch:
            for _ in range(times):
                leader = load.leader(quorum)
                gaps.append(fault(watch, quorum, leader))
                quorum.wait_until_answering(leader)
                time.sleep(SETTLE_S[quorum.kind])
        return gaps
    finally:
        quorum.stop()


def _kill(watch: load.Watch, quorum: Quorum, leader: Member) -> float:
    gap = watch.tell(f"kill {leader.pid} {int(signal.SIGKILL)} {leader.address}")
    assert leader.process is not None
    leader.process.wait(10)
    quorum.start_one(leader)
    return gap


def _freeze(watch: load.Watch, quorum: Quorum, leader: Member) -> float:
    del quorum
    try:
        return watch.tell(f"kill {leader.pid} {int(signal.SIGSTOP)} {leader.address}")
    finally:
        leader.signal(signal.SIGCONT)


def killed(kind: Kind, directory: Path, times: int) -> Samples:
    return {"kill -9 of the leader to the next commit": _repeated(Quorum(kind, directory), times, _kill)}


def frozen(kind: Kind, directory: Path, times: int) -> Samples:
    quick = Quorum(kind, directory / "quick", settings=QUICK[kind])
    return {
        "leader frozen (SIGSTOP) to the next commit": _repeated(Quorum(kind, directory / "default"), times, _freeze),
        "leader frozen, patience of 0.5 s, to the next commit": _repeated(quick, times, _freeze),
    }


def cut(kind: Kind, directory: Path, times: int) -> Samples:
    with Network(3) as network:

        def pull(watch: load.Watch, quorum: Quorum, leader: Member) -> float:
            del quorum
            try:
                return watch.tell(f"run {leader.address} {' '.join(network.pull(leader.node_id))}")
            finally:
                subprocess.run(network.plug(leader.node_id), check=True)

        default = Quorum(kind, directory / "default", network=network)
        quick = Quorum(kind, directory / "quick", settings=QUICK[kind], network=network)
        return {
            "leader's network cut to the next commit": _repeated(default, times, pull),
            "leader's network cut, patience of 0.5 s, to the next commit": _repeated(quick, times, pull),
        }
