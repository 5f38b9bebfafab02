"""A client outside, kafka-python: every name that ends in .passed.test leads to this machine, and nothing else is known
of the cluster.

    python client_by_name.py settings.json TOPIC PARTITIONS COUNT

It writes COUNT records to each partition and reads them back. Its last line is JSON: how many of its own it has read,
and which names it has asked for.
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
import time
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

SECONDS = 60.0


def names_lead_here() -> set[str]:
    """Returns those that are asked for, from now on."""
    asked: set[str] = set()
    found = socket.getaddrinfo

    def looked_up(host: Any, *rest: Any, **more: Any) -> Any:
        if str(host).endswith(".passed.test"):
            asked.add(str(host))
            return found("127.0.0.1", *rest, **more)
        return found(host, *rest, **more)

    socket.getaddrinfo = looked_up
    return asked


def main(settings: dict[str, Any], topic: str, partitions: int, count: int) -> int:
    """How many have come back."""
    places = [TopicPartition(topic, each) for each in range(partitions)]
    mine = {f"{secrets.token_hex(8)}-{number}".encode() for number in range(partitions * count)}
    producer = KafkaProducer(acks="all", **settings)
    sent = [producer.send(topic, value, partition=number % partitions) for number, value in enumerate(sorted(mine))]
    for each in sent:
        each.get(SECONDS)
    producer.close()
    consumer = KafkaConsumer(enable_auto_commit=False, **settings)
    consumer.assign(places)
    consumer.seek_to_beginning()
    read: set[bytes] = set()
    deadline = time.monotonic() + SECONDS
    while not mine <= read and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=1000).values():
            read |= {record.value for record in records}
    consumer.close()
    return len(mine & read)


if __name__ == "__main__":
    asked_for = names_lead_here()
    came_back = main(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    print(json.dumps({"read": came_back, "asked": sorted(asked_for)}))
