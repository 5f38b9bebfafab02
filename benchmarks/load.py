"""Metadata changes as load: one commit is one IncrementalAlterConfigs of one topic with a value of 256 bytes, answered
after commit.

For etcd it is one Put of a value of 256 bytes. Stand-in brokers register by the wire, so that topics can be created
without one that serves data. The load itself comes from one generator for all peers (`go/load`), with one request in
flight on each connection, because Apache Kafka serves one request per connection at a time.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from benchmarks import etcd_gateway, programs
from benchmarks.clusters import CLUSTER_ID, BenchmarkError, Member, Quorum
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
VALUE_BYTES: Final = 256
MARKED: Final = "0" * 16
"""The generator puts a number of its own into each request that has it."""
VALUE: Final = ",".join((f"{MARKED}:1", *(f"{p}:1" for p in range(100))))[:VALUE_BYTES].rpartition(",")[0]
FEATURES: Final = (
    ("metadata.version", 7, 30), ("kraft.version", 0, 1), ("group.version", 0, 1), ("transaction.version", 0, 2),
    ("eligible.leader.replicas.version", 0, 1), ("share.version", 0, 1), ("streams.version", 0, 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What `seconds` of load gave; seconds everywhere."""

    commits: int
    seconds: float
    p50: float
    p99: float
    max: float
    cpu: float
    """Of the load generator."""

    @property
    def per_second(self) -> float:
        return self.commits / self.seconds


def change(number: int = 0) -> bytes:
    """To a value that differs from all others: what is set again as it is would be answered without a record."""
    value = VALUE.replace(MARKED, f"{number % 10**16:016d}")
    config = AlterableConfig(name=CONFIG, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=(config,))
    return frame(44, 1, IncrementalAlterConfigsRequest(resources=(resource,)))


TOPIC_ERROR_AT: Final = 4 + 1 + 4 + 1 + 1 + len(MARKED) + 16
"""In the answer to `new_topic`: correlation id, tags, throttle time, length of the array, name, topic id."""


def new_topic() -> bytes:
    topic = CreatableTopic(name=MARKED, num_partitions=1, replication_factor=1)
    return frame(19, 7, CreateTopicsRequest(topics=(topic,), timeout_ms=50_000))


def error_of(answer: bytes) -> int:
    return decode(IncrementalAlterConfigsResponse, answer[5:], 1).responses[0].error_code


# The generator.


def _generator(quorum: Quorum, addresses: list[str], *more: str) -> list[str]:
    requests = quorum.directory / f"{quorum.kind}-requests"
    if not requests.exists():
        requests.parent.mkdir(parents=True, exist_ok=True)
        requests.write_bytes(change())
    target = "etcd" if quorum.kind == "etcd" else "kafka"
    return [str(programs.go_program("load")), "-target", target, "-addresses", ",".join(addresses), "-request",
            str(requests), "-value-bytes", str(VALUE_BYTES), *more]  # fmt: skip


def run(quorum: Quorum, member: Member, seconds: float, connections: int = 64, *, topics: bool = False) -> LoadResult:
    """`connections` connections to one member, each asks again when it is answered; `topics`: each time for one more,
    of one partition.
    """
    command = _generator(quorum, [member.address], "-connections", str(connections), "-seconds", str(seconds))
    if topics:
        requests = quorum.directory / f"{quorum.kind}-new-topics"
        requests.write_bytes(new_topic())
        command += ["-request", str(requests), "-error-at", str(TOPIC_ERROR_AT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 60)
    if done.returncode != 0:
        raise BenchmarkError(f"{quorum.kind}: the load ended: {done.stderr}")
    return LoadResult(**json.loads(done.stdout))


class Watch:
    """Commits on every member all the time, one in flight on each, and tells how long an interruption lasts."""

    def __init__(self, quorum: Quorum) -> None:
        self.quorum = quorum
        command = _generator(quorum, [member.address for member in quorum.members], "-watch")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        self.tell("wait")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def tell(self, words: str) -> float:
        """`kill PID SIGNAL VICTIM`, `run VICTIM COMMAND...` or `wait`: seconds to the next commit at another member
        than the victim.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "gap" not in answer:
            raise BenchmarkError(f"{self.quorum.kind}: {answer.get('error')}")
        return float(answer["gap"])


# One thing after another.


def _in_turn(
    quorum: Quorum, what: str, attempt: Callable[[Member], str], *, timeout_s: float = 60.0, pause_s: float = 0.002
) -> Member:
    """Try every running member until one succeeds; `attempt` returns "" or what went wrong."""
    deadline = time.monotonic() + timeout_s
    last = "nobody answered"
    while time.monotonic() < deadline:
        for member in quorum.running:
            try:
                last = attempt(member)
            except (OSError, TimeoutError) as error:
                last = str(error)
            if not last:
                return member
        time.sleep(pause_s)
    logs = "".join(member.log.read_text()[-1000:] for member in quorum.members)
    raise BenchmarkError(f"{quorum.kind}: {what} did not succeed in {timeout_s:g} s: {last}\n{logs}")


def first_commit(quorum: Quorum) -> Member:
    """The first thing that a fresh quorum commits: a broker's registration, a Put."""
    if quorum.kind == "etcd":
        return _in_turn(quorum, "a first Put", _put)
    return _in_turn(quorum, "a first registration", lambda member: _register(member, BROKER_ID))


def _put(member: Member) -> str:
    etcd_gateway.put(member.address, "first", "a" * VALUE_BYTES)
    return ""


def prepare(quorum: Quorum) -> Member:
    """What the load needs (a topic); returns the leader."""
    if quorum.kind != "etcd":
        first_commit(quorum)
        _in_turn(quorum, "the topic", lambda member: create_topics(member, [(TOPIC, 1)]), pause_s=0.05)
    return leader(quorum)


def leader(quorum: Quorum) -> Member:
    if quorum.kind == "etcd":
        return _in_turn(quorum, "a leader", lambda m: "" if etcd_gateway.is_leader(m.address) else "no leader")
    return _in_turn(quorum, "a change", _change)


def _change(member: Member) -> str:
    with Connection(member.port, host=member.host, timeout_s=1.0) as connection:
        code = error_of(connection.exchange(change(time.monotonic_ns())))
    return f"error {code}" if code else ""


# Brokers that are only registered, and topics.


def _register(member: Member, broker_id: int) -> str:
    with Connection(member.port, host=member.host, timeout_s=5.0) as connection:
        directory = Uuid(bytes(14) + broker_id.to_bytes(2, "big"))
        features = tuple(
            Feature(name=n, min_supported_version=low, max_supported_version=high) for n, low, high in FEATURES
        )
        registration = BrokerRegistrationRequest(
            broker_id=broker_id, cluster_id=CLUSTER_ID, incarnation_id=directory,
            listeners=(Listener(name="PLAINTEXT", host="127.0.0.1", port=1, security_protocol=0),), features=features,
            rack=None, is_migrating_zk_broker=False, log_dirs=(directory,), previous_broker_epoch=-1)  # fmt: skip
        answer = connection.ask(62, 4, registration, BrokerRegistrationResponse)
        if answer.error_code == 0:
            _epochs[(member.port, broker_id)] = answer.broker_epoch
        return f"registration: error {answer.error_code}" if answer.error_code else ""


_epochs: dict[tuple[int, int], int] = {}
_beating: dict[tuple[int, int], Connection] = {}
_beating_lock = threading.Lock()
"""Broker epochs by the leader's port and the broker's id."""


def heartbeat(member: Member, broker_id: int) -> bool:
    """True when the broker is unfenced. It keeps its connection, as brokers do: whose is lost has little time."""
    key = (member.port, broker_id)
    beat = BrokerHeartbeatRequest(
        broker_id=broker_id, broker_epoch=_epochs[key], current_metadata_offset=2**40,
        want_fence=False, want_shut_down=False)  # fmt: skip
    with _beating_lock:
        connection = _beating.pop(key, None) or Connection(member.port, host=member.host, timeout_s=30.0)
        try:
            answer = connection.ask(63, 1, beat, BrokerHeartbeatResponse)
        except OSError:
            connection.socket.close()
            raise
        _beating[key] = connection
    return answer.error_code == 0 and not answer.is_fenced


def unfence(member: Member, broker_id: int) -> str:
    """Registers it first if need be. Returns what went wrong."""
    if (member.port, broker_id) not in _epochs and (problem := _register(member, broker_id)):
        return problem
    for _ in range(500):
        if heartbeat(member, broker_id):
            return ""
        time.sleep(0.01)
    return f"broker {broker_id} stays fenced"


@contextmanager
def alive(member: Member) -> Iterator[None]:
    """The stand-in broker sends heartbeats, so that new topics find it longer than its session lasts."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(1.0):
            heartbeat(member, BROKER_ID)

    thread = threading.Thread(target=beat, daemon=True)
    if problem := unfence(member, BROKER_ID):
        raise BenchmarkError(problem)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def create_topics(member: Member, topics: list[tuple[str, int]], replication: int = 1) -> str:
    """Names and partitions. Brokers are registered as needed. Returns what went wrong."""
    for broker_id in range(BROKER_ID, BROKER_ID + replication):
        if problem := unfence(member, broker_id):
            return problem
    wanted = tuple(
        CreatableTopic(name=name, num_partitions=partitions, replication_factor=replication, assignments=(), configs=())
        for name, partitions in topics
    )
    with Connection(member.port, host=member.host, timeout_s=60.0) as connection:
        created = connection.ask(19, 7, CreateTopicsRequest(topics=wanted, timeout_ms=50_000), CreateTopicsResponse)
    wrong = [topic for topic in created.topics if topic.error_code not in {0, 36}]
    return f"create topic: error {wrong[0].error_code} {wrong[0].error_message}" if wrong else ""
