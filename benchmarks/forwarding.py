"""What a broker costs a request that only the controller can decide: `python -m benchmarks.forwarding --topics 5000`.

A controller and a broker in two processes. A client asks for topics that are only validated, so that every run finds
the same cluster: through the broker, and of the controller itself. In milliseconds a request: how long it took, and the
processor of either process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks.wire_client import Connection, frame
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from support.nodes.processes import Cluster, NodeProcess

VERSION: Final = 7
WARM_UP: Final = 3


def processor(node: NodeProcess) -> Callable[[], float]:
    """Milliseconds of processor that its threads have used."""
    tasks = Path(f"/proc/{node.pid}/task")
    return lambda: sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e6


def measure(port: int, topics: int, runs: int, used: dict[str, Callable[[], float]]) -> dict[str, float]:
    wanted = tuple(CreatableTopic(name=f"topic-{n}", num_partitions=1, replication_factor=1) for n in range(topics))
    request = frame(ApiKey.CREATE_TOPICS, VERSION, CreateTopicsRequest(topics=wanted, validate_only=True))
    took: dict[str, list[float]] = {name: [] for name in ("elapsed", *used)}
    with Connection(port, timeout_s=60) as connection:
        for run in range(WARM_UP + runs):
            before = {name: read() for name, read in used.items()}
            began = time.perf_counter()
            answer = connection.exchange(request)
            elapsed = (time.perf_counter() - began) * 1000
            if run < WARM_UP:
                _check(answer, topics)
                continue
            time.sleep(0.02)  # what was put off until the answer had left
            took["elapsed"].append(elapsed)
            for name, read in used.items():
                took[name].append(read() - before[name])
    return {name: median(times) for name, times in took.items()}


def _check(answer: bytes, topics: int) -> None:
    body = decode_response(answer, ApiKey.CREATE_TOPICS, VERSION).body
    assert isinstance(body, CreateTopicsResponse)
    assert len(body.topics) == topics
    assert not any(topic.error_code for topic in body.topics), body.topics[0]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--topics", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as home, Cluster(Path(home), controllers=1, brokers=1) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120)
        (controller,) = cluster.controller_nodes
        (broker,) = cluster.broker_nodes
        used = {"broker": processor(broker), "controller": processor(controller)}
        for name, node in (("through a broker", broker), ("of the controller", controller)):
            found = measure(node.port, options.topics, options.runs, used)
            print(f"{options.topics} topics, {name}: " + ", ".join(f"{key} {ms:.1f} ms" for key, ms in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
