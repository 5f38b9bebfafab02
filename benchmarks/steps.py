"""The longest step of an active controller and of a broker, whatever is asked of them:
`python -m benchmarks.steps --partitions 100000 --of-broker 10000`.

One production controller is the only voter, on a disk in memory, so that a step's time is its decisions' alone. For
every kind of work that touches many partitions: how many steps it took, the longest of them, and all of them together,
in milliseconds of processor. Between two steps the node serves votes, fetches and heartbeats; while one lasts it serves
nothing, so the longest is what decides whether a quorum elects without a fault. On a node with both roles those of the
broker count as well; its disk answers at once and is empty.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from collections.abc import Sequence

from controller_runtime.identifiers import Instant, NodeId, WallClock
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.quorum import effects
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived, TimePassed
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.server.shell.process import _GC_THRESHOLDS
from controller_runtime.storage.log.config import LogConfig
from support.nodes.busy_broker import BusyBroker
from support.nodes.controller_world import World
from support.nodes.lone_controller import CLUSTER_ID, LoneController

BROKER = 101
PARTITIONS_PER_TOPIC = 100
TOPICS_PER_REQUEST = 50


class Steps:
    """A controller whose steps are timed."""

    def __init__(self) -> None:
        self.controller = LoneController(log_config=LogConfig(segment_bytes=1 << 30, tail_bytes=1 << 20))
        self.times: list[float] = []
        self._number = 0
        self._step = self.controller.node.step
        self.controller.node.step = self._timed  # type: ignore[method-assign]
        self.controller.run(1)
        self.epoch = -1

    def _timed(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> list[NodeEffect]:
        began = time.process_time()
        try:
            return self._step(events, now, wall)
        finally:
            self.times.append((time.process_time() - began) * 1000)

    def ask(self, body: Message, key: ApiKey, version: int) -> Message:
        self._number += 1
        number = RequestId(self._number)
        connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
        self.controller.seen.clear()
        self.controller.feed(
            RequestReceived(number, connection, key, api_version=version, client_id="client", body=body)
        )
        for _ in range(100_000):
            for effect in self.controller.seen:
                if isinstance(effect, effects.Respond) and effect.request_id == number:
                    return effect.body
            self.turn()
        raise AssertionError("no answer")

    def turn(self) -> None:
        """The timer that the node asked for."""
        self.controller.now = max(self.controller.now, self.controller.node.next_deadline() or self.controller.now)
        self.controller.feed(TimePassed())

    def register(self, incarnation: int) -> None:
        request = World().registration(BROKER, incarnation, cluster_id=CLUSTER_ID)
        answer = self.ask(request, ApiKey.BROKER_REGISTRATION, 4)
        assert isinstance(answer, BrokerRegistrationResponse)
        assert not answer.error_code, answer
        self.epoch = answer.broker_epoch

    def beat(self, *, shut_down: bool = False) -> None:
        body = BrokerHeartbeatRequest(
            broker_id=BROKER, broker_epoch=self.epoch, current_metadata_offset=1 << 40, want_shut_down=shut_down
        )
        self.ask(body, ApiKey.BROKER_HEARTBEAT, 1)

    def leaderless(self) -> int:
        return sum(p.leader < 0 for topic in self.controller.node.image.topics for _, p in topic.partitions())

    def create(self, partitions: int) -> None:
        for request in range(partitions // PARTITIONS_PER_TOPIC // TOPICS_PER_REQUEST):
            topics = tuple(
                CreatableTopic(name=f"t-{request}-{n}", num_partitions=PARTITIONS_PER_TOPIC, replication_factor=1)
                for n in range(TOPICS_PER_REQUEST)
            )
            self.made(CreateTopicsRequest(topics=topics))
            self.beat()

    def made(self, request: CreateTopicsRequest) -> None:
        answer = self.ask(request, ApiKey.CREATE_TOPICS, 7)
        assert isinstance(answer, CreateTopicsResponse)
        assert not any(topic.error_code for topic in answer.topics), answer.topics[0]

    def fence(self, partitions: int) -> None:
        """Its session ends."""
        self.controller.now = Instant(self.controller.now + 10)
        for _ in range(100_000):
            self.turn()
            if self.controller.node.image.cluster.brokers[NodeId(BROKER)].fenced:
                break
        assert self.leaderless() == partitions, f"{self.leaderless()} of {partitions}"

    def unfence(self, partitions: int) -> None:
        self.beat()
        assert not self.leaderless(), "every partition has its leader again"

    def shut_down(self, partitions: int) -> None:
        self.beat(shut_down=True)
        assert self.leaderless() == partitions, f"{self.leaderless()} of {partitions}"

    def delete(self, topics: int) -> None:
        names = tuple(DeleteTopicState(name=f"t-0-{n}") for n in range(topics))
        self.ask(DeleteTopicsRequest(topics=names, timeout_ms=1000), ApiKey.DELETE_TOPICS, 6)
        assert self.controller.node.image.topics.named("t-0-0") is None

    def big_topic(self, partitions: int) -> None:
        topic = CreatableTopic(name="t-big", num_partitions=partitions, replication_factor=1)
        self.made(CreateTopicsRequest(topics=(topic,)))

    def delete_big(self) -> None:
        state = DeleteTopicState(name="t-big")
        self.ask(DeleteTopicsRequest(topics=(state,), timeout_ms=1000), ApiKey.DELETE_TOPICS, 6)

    def unregister(self, partitions: int) -> None:
        self.ask(UnregisterBrokerRequest(broker_id=BROKER), ApiKey.UNREGISTER_BROKER, 0)
        assert self.leaderless() == partitions, f"{self.leaderless()} of {partitions}"


def measure(partitions: int, report: Callable[[str, int, float, float], None]) -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)  # as the process does it
    steps = Steps()
    steps.register(1)
    steps.beat()

    def timed(kind: str, work: Callable[[], None]) -> None:
        gc.collect()
        steps.times.clear()
        work()
        report(kind, len(steps.times), max(steps.times), sum(steps.times))

    timed("create topics, 5,000 partitions each", lambda: steps.create(partitions))
    timed("session ends: fenced", lambda: steps.fence(partitions))
    timed("comes back: unfenced", lambda: steps.unfence(partitions))
    steps.controller.now = Instant(steps.controller.now + 10)
    timed("registers anew, its session over but not seen", lambda: steps.register(2))
    timed("unfenced after a crash", lambda: steps.unfence(partitions))
    timed("controlled shutdown", lambda: steps.shut_down(partitions))
    steps.beat(shut_down=True)
    steps.register(3)
    steps.unfence(partitions)
    timed("create a topic of 9,000 partitions", lambda: steps.big_topic(9_000))
    timed("delete it", steps.delete_big)
    timed("delete 50 topics of 100", lambda: steps.delete(TOPICS_PER_REQUEST))
    timed("unregistered", lambda: steps.unregister(partitions - TOPICS_PER_REQUEST * PARTITIONS_PER_TOPIC))


def measure_broker(partitions: int, report: Callable[[str, int, float, float], None]) -> None:
    def measured(work: Callable[[], None]) -> float:
        began = time.thread_time()
        work()
        return (time.thread_time() - began) * 1000

    gc.collect()
    gc.freeze()
    for kind in BusyBroker(partitions, measured).run():
        report(f"broker: {kind.name}", len(kind.costs), max(kind.costs), sum(kind.costs))
        gc.collect()
        gc.freeze()  # as a node's process does: no step pays for what was there before it


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--of-broker", type=int, default=10_000, help="partitions that the broker leads")
    options = parser.parse_args(arguments)
    found: dict[str, dict[str, float]] = {}

    def report(kind: str, steps: int, longest: float, total: float) -> None:
        found[kind] = {"steps": steps, "longest_ms": round(longest, 2), "total_ms": round(total, 1)}
        print(f"{kind:48} {steps:6} steps, longest {longest:8.1f} ms, all {total:9.1f} ms", file=sys.stderr, flush=True)

    if options.partitions:
        measure(options.partitions, report)
    if options.of_broker:
        measure_broker(options.of_broker, report)
    print(json.dumps({"partitions": options.partitions, "of_broker": options.of_broker, "steps": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
