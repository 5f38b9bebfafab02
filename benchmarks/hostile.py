"""What one stranger costs the others: p99 of another client while it sends, and the memory that stays.

    python -m benchmarks hostile                     ours, both roles
    python -m benchmarks hostile --kinds quorate apache-kafka

The other client asks every 5 ms, and a pause is counted for everyone whom it would have met meanwhile. Requests are
made beforehand; a case is sent again and again, on a connection each, for two seconds. Apache Kafka runs both roles in
one process.
"""

from __future__ import annotations

import socket
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.hostile_frames import CASES, Case
from benchmarks.report import Row, aligned
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest

SECONDS: Final = 2.0
PERIOD_S: Final = 0.005
SETTLE_S: Final = 3.0
"""How long a process may take to give memory back."""
_QUIET: Final = encode_request(ApiVersionsRequest(client_software_name="q", client_software_version="1"), 3, 7, "quiet")


@dataclass(frozen=True, slots=True)
class Target:
    """A node, as one role of it is met."""

    kind: str
    role: str
    port: int
    pid: int
    cluster_id: str

    def rss(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


@dataclass(frozen=True, slots=True)
class Cost:
    case: str
    target: Target
    p99: float
    worst: float
    peak: int
    stays: int
    """Bytes of memory that were not there before."""
    outcome: str


def _connect(port: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), 60)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _read(connection: socket.socket) -> int:
    """The size of an answer, which is thrown away."""
    head = connection.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise ConnectionError("closed")
    left = size = struct.unpack(">i", head)[0]
    bucket = bytearray(1 << 18)
    while left:
        got = connection.recv_into(bucket, min(left, len(bucket)))
        if not got:
            raise ConnectionError("cut")
        left -= got
    return int(size)


def latencies(port: int, seconds: float) -> list[float]:
    """Of a client that asks every 5 ms, one after another; who would have asked meanwhile would have waited for the
    rest.
    """
    found = []
    with _connect(port) as connection:
        end = time.monotonic() + seconds
        while (asked := time.monotonic()) < end:
            connection.sendall(_QUIET)
            _read(connection)
            took = time.monotonic() - asked
            found += [took - missed * PERIOD_S for missed in range(int(took / PERIOD_S) + 1)]
            time.sleep(max(0.0, PERIOD_S - took))
    return sorted(found)


def p99(values: Sequence[float]) -> float:
    return values[int(len(values) * 0.99)]


class _Stranger(threading.Thread):
    """Sends one frame again and again until told to stop."""

    def __init__(self, port: int, frame: bytes) -> None:
        super().__init__(daemon=True)
        self.port, self.frame = port, frame
        self.over = False
        self.outcomes: Counter[str] = Counter()

    def run(self) -> None:
        while not self.over:
            try:
                with _connect(self.port) as connection:
                    connection.sendall(self.frame)
                    size = _read(connection)
                    self.outcomes[f"answered, {size / 1e6:.1f} MB" if size > 1e5 else f"answered, {size} bytes"] += 1
            except OSError:
                self.outcomes["closed"] += 1


def measure(case: Case, target: Target) -> Cost:
    before = target.rss()
    peaks = [before]
    stranger = _Stranger(target.port, case.make(target.cluster_id))
    watching = threading.Event()

    def watch() -> None:
        while not watching.wait(0.02):
            peaks.append(target.rss())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    stranger.start()
    found = latencies(target.port, SECONDS)
    stranger.over = True
    stranger.join(120)
    time.sleep(SETTLE_S)
    watching.set()
    watcher.join()
    outcome = ", ".join(f"{count}x {words}" for words, count in stranger.outcomes.most_common(2))
    return Cost(
        case.name,
        target,
        p99(found),
        worst=found[-1],
        peak=max(peaks) - before,
        stays=target.rss() - before,
        outcome=outcome,
    )


def run(say: Callable[[str], None], kinds: Sequence[str], only: Sequence[str] = ()) -> list[Row]:
    costs: list[Cost] = []
    for kind in kinds:
        with tempfile.TemporaryDirectory() as directory, targets(kind, Path(directory)) as found:
            for target in found:
                quiet = latencies(target.port, SECONDS)
                say(f"{kind}, {target.role}: quiet p99 {p99(quiet) * 1e3:.2f} ms, {target.rss() >> 20} MiB")
                for case in CASES:
                    if case.role in ("both", target.role) and (not only or any(word in case.name for word in only)):
                        costs.append(measure(case, target))
                        say(_line(costs[-1]))
    print(_table(costs))
    return [row for cost in costs for row in _rows(cost)]


def _line(cost: Cost) -> str:
    return "  ".join(_cells(cost))


def _cells(cost: Cost) -> tuple[str, ...]:
    megabytes = (f"{value / 1e6:+.0f} MB" for value in (cost.peak, cost.stays))
    where = f"{cost.target.kind} {cost.target.role}"
    return (where, cost.case, f"{cost.p99 * 1e3:.1f} ms", f"{cost.worst * 1e3:.0f} ms", *megabytes, cost.outcome)


def _table(costs: Sequence[Cost]) -> str:
    head = ("node", "what a stranger sends", "p99 of others", "worst", "RSS at most", "RSS that stays", "outcome")
    return aligned([head, *map(_cells, costs)])


def _rows(cost: Cost) -> Iterator[Row]:
    name = "Quorate" if cost.target.kind == "quorate" else "Apache Kafka"
    for what, unit, value in (("p99 of others", "s", cost.p99), ("RSS that stays", "B", float(cost.stays))):
        yield Row("hostile", f"{cost.target.role}: {cost.case}, {what}", unit, {name: value}, {name: 1})


@contextmanager
def targets(kind: str, directory: Path) -> Iterator[list[Target]]:
    """A broker and a controller of one kind."""
    from support.nodes.processes import Cluster

    with Cluster(directory, controllers=1, brokers=1) as cluster:
        if kind == "quorate":
            cluster.start()
            cluster.wait_for_leader()
            cluster.wait_until_unfenced()
            pids = {node.node_id: node.pid for node in cluster.nodes.values()}
            yield [_target(kind, cluster.nodes[11], pids[11]), _target(kind, cluster.nodes[1], pids[1])]
            return
        from support.apache_kafka.java_kafka import JavaNode

        cluster.format()
        running = []
        try:
            for node in cluster.nodes.values():
                node.properties.pop("quorate.http.listener")
                node.properties["offsets.topic.replication.factor"] = "1"
                node.write_properties()
                running.append(JavaNode(node.properties_file, node.directory / "java.txt"))
            for one in running:
                one.wait_for_log("Kafka Server started", 240)
            found = zip(cluster.nodes.values(), running, strict=True)
            yield [_target(kind, node, one.process.pid) for node, one in found][::-1]
        finally:
            for one in running:
                one.kill()


def _target(kind: str, node: object, pid: int) -> Target:
    from support.nodes.processes import CLUSTER_ID, NodeProcess

    assert isinstance(node, NodeProcess)
    role = node.properties["process.roles"]
    return Target(kind, role, node.port, pid, CLUSTER_ID)
