"""Metadata changes as load: one commit is one IncrementalAlterConfigs of one topic with a value of 256 bytes, answered after commit.

A stand-in broker registers by the wire, so that a topic can be created without one that serves data. Each connection has one
request in flight, because Apache Kafka serves one request per connection at a time.
"""

from __future__ import annotations

import selectors
import struct
import time
from dataclasses import dataclass
from typing import Final

from benchmarks.clusters import CLUSTER_ID, BenchmarkError, Quorum
from benchmarks.wire_client import Connection, frame
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.codec import decode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse

TOPIC: Final = "load"
BROKER_ID: Final = 101
CONFIG: Final = "follower.replication.throttled.replicas"
NOT_CONTROLLER: Final = 41
VALUES: Final = tuple(",".join(f"{p}:{b}" for p in range(64))[:255].rpartition(",")[0] for b in (1, 2))
FEATURES: Final = (("metadata.version", 7, 30), ("kraft.version", 0, 1), ("group.version", 0, 1), ("transaction.version", 0, 2),
                   ("eligible.leader.replicas.version", 0, 1), ("share.version", 0, 1), ("streams.version", 0, 1))  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What `seconds` of load gave; latencies in seconds, sorted."""

    commits: int
    seconds: float
    latencies: tuple[float, ...]
    client_cpu_s: float

    @property
    def per_second(self) -> float:
        return self.commits / self.seconds

    def quantile(self, q: float) -> float:
        return self.latencies[min(len(self.latencies) - 1, int(q * len(self.latencies)))]


def change(number: int) -> bytes:
    config = AlterableConfig(name=CONFIG, config_operation=0, value=VALUES[number % 2])
    resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=(config,))
    return frame(44, 1, IncrementalAlterConfigsRequest(resources=(resource,)))


def error_of(answer: bytes) -> int:
    return decode(IncrementalAlterConfigsResponse, answer[5:], 1).responses[0].error_code


def first_commit(quorum: Quorum, *, timeout_s: float = 60.0, step_s: float = 0.002) -> int:
    """The port of the controller that first commits a change; tries every living one in turn."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for controller in quorum.controllers:
            if controller.process is None or controller.process.poll() is not None:
                continue
            try:
                with Connection(controller.port, timeout_s=1.0) as connection:
                    if error_of(connection.exchange(change(time.monotonic_ns()))) == 0:
                        return controller.port
            except OSError:
                continue
        time.sleep(step_s)
    raise BenchmarkError(f"{quorum.kind}: nothing was committed in {timeout_s} s")


def prepare_topic(quorum: Quorum, *, timeout_s: float = 60.0) -> None:
    """Register and unfence the stand-in broker, create the topic."""
    deadline = time.monotonic() + timeout_s
    last = "no controller answered"
    while time.monotonic() < deadline:
        for controller in quorum.controllers:
            try:
                with Connection(controller.port, timeout_s=5.0) as connection:
                    last = _create(connection)
                    if not last:
                        return
            except OSError as error:
                last = str(error)
        time.sleep(0.05)
    raise BenchmarkError(f"{quorum.kind}: the topic could not be created: {last}")


def _create(connection: Connection) -> str:
    directory = Uuid(bytes(15) + b"\xff")
    features = tuple(
        Feature(name=n, min_supported_version=low, max_supported_version=high) for n, low, high in FEATURES
    )
    registration = BrokerRegistrationRequest(
        broker_id=BROKER_ID, cluster_id=CLUSTER_ID, incarnation_id=Uuid(time.time_ns().to_bytes(16, "big")),
        listeners=(Listener(name="PLAINTEXT", host="127.0.0.1", port=1, security_protocol=0),), features=features,
        rack=None, is_migrating_zk_broker=False, log_dirs=(directory,), previous_broker_epoch=-1)  # fmt: skip
    registered = connection.ask(62, 4, registration, BrokerRegistrationResponse)
    if registered.error_code not in {0, 101}:
        return f"registration: error {registered.error_code}"
    for _ in range(100):
        beat = BrokerHeartbeatRequest(
            broker_id=BROKER_ID, broker_epoch=registered.broker_epoch, current_metadata_offset=2**40, want_fence=False,
            want_shut_down=False)  # fmt: skip
        answer = connection.ask(63, 1, beat, BrokerHeartbeatResponse)
        if answer.error_code == 0 and not answer.is_fenced:
            break
        time.sleep(0.01)
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, assignments=(), configs=())
    created = connection.ask(19, 7, CreateTopicsRequest(topics=(topic,), timeout_ms=5000), CreateTopicsResponse)
    code = created.topics[0].error_code
    return "" if code in {0, 36} else f"create topic: error {code} {created.topics[0].error_message}"


def one_in_flight(port: int, seconds: float) -> LoadResult:
    """Commit after commit on one connection."""
    requests = (change(0), change(1))
    latencies: list[float] = []
    with Connection(port) as connection:
        cpu, started = time.process_time(), time.perf_counter()
        end = started + seconds
        while (before := time.perf_counter()) < end:
            answer = connection.exchange(requests[len(latencies) % 2])
            latencies.append(time.perf_counter() - before)
            if (code := error_of(answer)) != 0:
                raise BenchmarkError(f"a change was refused with error {code}")
        took = time.perf_counter() - started
    return LoadResult(len(latencies), took, tuple(sorted(latencies)), time.process_time() - cpu)


def many_in_flight(port: int, seconds: float, connections: int = 64) -> LoadResult:
    """`connections` connections, each sends its next change when the last is answered."""
    requests = (change(0), change(1))
    selector = selectors.DefaultSelector()
    opened = [Connection(port) for _ in range(connections)]
    sent: dict[int, float] = {}
    latencies: list[float] = []
    cpu, started = time.process_time(), time.perf_counter()
    end = started + seconds
    for connection in opened:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.socket.sendall(requests[0])
        sent[connection.socket.fileno()] = time.perf_counter()
    try:
        while (now := time.perf_counter()) < end:
            for key, _ in selector.select(1.0):
                answer = key.data.socket.recv(4096)
                if len(answer) < 4 or struct.unpack_from(">i", answer)[0] != len(answer) - 4:
                    raise BenchmarkError("an answer came in pieces or the connection ended")
                now = time.perf_counter()
                latencies.append(now - sent[key.fd])
                if len(latencies) % 100 == 0 and (code := error_of(answer[4:])) != 0:
                    raise BenchmarkError(f"a change was refused with error {code}")
                key.data.socket.sendall(requests[len(latencies) % 2])
                sent[key.fd] = now
        took = time.perf_counter() - started
    finally:
        for connection in opened:
            connection.socket.close()
    return LoadResult(len(latencies), took, tuple(sorted(latencies)), time.process_time() - cpu)
