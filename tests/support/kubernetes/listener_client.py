"""A client in the network of the pods, librdkafka: writes records to partition 0 and reads them back, or says what it
is told first when it is not let in.

    python listener_client.py settings.json TOPIC COUNT
    python listener_client.py settings.json refusal

`token` among librdkafka's settings is the token that it shows. Its last line is JSON: what became of each record that
was written, and how many were read; or the name of the first error.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

SECONDS = 60.0
PATIENCE = {"socket.timeout.ms": 20_000, "message.timeout.ms": 60_000}


def settings_of(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(path).read_text())
    if (token := found.pop("token", None)) is not None:
        found["oauth_cb"] = lambda _: (token, time.time() + 3000)
    return found


def written_and_read(settings: dict[str, Any], topic: str, count: int) -> dict[str, Any]:
    outcomes: list[str] = []
    producer = Producer({**settings, **PATIENCE})
    for number in range(count):
        producer.produce(
            topic, str(number), partition=0,
            callback=lambda error, _: outcomes.append("written" if error is None else error.name()),
        )  # fmt: skip
    producer.flush(2 * SECONDS)
    if set(outcomes) != {"written"}:
        return {"outcomes": sorted(set(outcomes)), "read": 0}
    consumer = Consumer({**settings, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    read, deadline = 0, time.monotonic() + SECONDS
    while read < count and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        read += message is not None and message.error() is None
    consumer.close()
    return {"outcomes": sorted(set(outcomes)), "read": read}


def refusal(settings: dict[str, Any]) -> dict[str, Any]:
    told: list[str] = []
    producer = Producer({**settings, "error_cb": lambda error: told.append(error.name())})
    deadline = time.monotonic() + SECONDS
    while not told and time.monotonic() < deadline:
        producer.poll(0.2)
    return {"refused": told[0] if told else None}


if __name__ == "__main__":
    given = settings_of(sys.argv[1])
    print(
        json.dumps(
            refusal(given) if sys.argv[2:] == ["refusal"] else written_and_read(given, sys.argv[2], int(sys.argv[3]))
        )
    )
