"""What one new topic costs the active controller: `python -m benchmarks.created`.

The requests of 64 connections come together, as under load, to a production controller that is the only voter, on a
disk in memory: frames in, frames out, its own log written. Followers are left out. Calls are those of Python functions,
which do not depend on the machine; microseconds are of one processor, the best of many rounds.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.schema import Message
from support.disks.memory_disk import MemoryFile
from support.nodes.controller_world import World
from support.nodes.frame_hosts import Line, Town, frame
from support.nodes.lone_controller import CLUSTER_ID

CONNECTIONS = 64
BROKERS = 3


class Creating:
    """A controller, brokers that are only registered, and connections that ask for topics."""

    def __init__(self, replicas: int) -> None:
        self.town = Town("controller")
        self.host = self.town.controller
        self.replicas = replicas
        self._without_copies()
        self.town.run(2)
        self.lines = [Line(self.host, "CONTROLLER") for _ in range(CONNECTIONS)]
        self.made = 0
        self.epochs = {broker: self._register(broker) for broker in range(101, 101 + BROKERS)}

    def _without_copies(self) -> None:
        """A disk in memory copies a file when it is synced, in case that the test pulls the plug: ours does not."""
        MemoryFile.fdatasync = lambda _: None  # type: ignore[assignment,method-assign]

    def _ask(self, body: Message, key: ApiKey, version: int) -> object:
        line = self.lines[0]
        line.send(frame(body, version))
        self.town.settle()
        self.town.run(0.02)
        return decode_response(line.replies.pop(), key, version).body

    def _register(self, broker: int) -> int:
        request = World().registration(broker, broker, cluster_id=CLUSTER_ID)
        answer = self._ask(request, ApiKey.BROKER_REGISTRATION, 4)
        assert isinstance(answer, BrokerRegistrationResponse)
        assert not answer.error_code, answer
        return answer.broker_epoch

    def beat(self) -> None:
        for broker, epoch in self.epochs.items():
            body = BrokerHeartbeatRequest(broker_id=broker, broker_epoch=epoch, current_metadata_offset=1 << 40)
            self._ask(body, ApiKey.BROKER_HEARTBEAT, 1)

    def frames(self, rounds: int) -> list[list[bytes]]:
        made = []
        for _ in range(rounds):
            names = range(self.made, self.made + CONNECTIONS)
            self.made += CONNECTIONS
            made.append([self._request(f"{name:016d}") for name in names])
        return made

    def _request(self, name: str) -> bytes:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=self.replicas)
        return frame(CreateTopicsRequest(topics=(topic,), timeout_ms=50_000), 7)

    def round(self, frames: list[bytes]) -> None:
        """Each connection asks once, and all are answered."""
        for line, request in zip(self.lines, frames, strict=True):
            line.send(request)
        self.town.settle()

    def judge(self) -> None:
        for line in self.lines:
            for reply in line.replies:
                answer = decode_response(reply, ApiKey.CREATE_TOPICS, 7).body
                assert isinstance(answer, CreateTopicsResponse)
                assert [topic.error_code for topic in answer.topics] == [0], answer
            line.replies.clear()


def measure(rounds: int, replicas: int, lines: int) -> dict[str, float]:
    creating = Creating(replicas)
    creating.beat()
    for frames in creating.frames(20):
        creating.round(frames)
    creating.judge()
    times = []
    gc.collect()
    for frames in creating.frames(rounds):
        began = time.process_time()
        creating.round(frames)
        times.append((time.process_time() - began) / CONNECTIONS * 1e6)
    creating.judge()
    creating.beat()
    profile, watched = cProfile.Profile(), creating.frames(20)
    profile.enable()
    for frames in watched:
        creating.round(frames)
    profile.disable()
    creating.judge()
    seen: Any = pstats.Stats(profile, stream=sys.stderr)
    if lines:
        seen.sort_stats("tottime").print_stats(lines)
    topics = 20 * CONNECTIONS
    python = sum(calls for (file, *_), (_, calls, *_) in seen.stats.items() if file != "~")
    return {
        "replicas": replicas,
        "calls of Python functions": round(python / topics, 1),
        "calls, built-in ones too": round(seen.total_calls / topics, 1),
        "us, best": round(min(times), 1),
        "us, median": round(sorted(times)[len(times) // 2], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--lines", type=int, default=0, help="of the profile")
    options = parser.parse_args()
    print(json.dumps(measure(options.rounds, options.replicas, options.lines)))


if __name__ == "__main__":
    main()
