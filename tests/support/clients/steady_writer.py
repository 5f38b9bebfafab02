"""A producer that never pauses, and a reader that wants everything back: run inside the network of a cluster's pods.

`write BOOTSTRAP TOPIC FILE` sends numbers in order with acks=all until its standard input ends, and writes every number
that was acknowledged to FILE, one a line. `read BOOTSTRAP TOPIC` prints every number that the topic holds.
STEADY_CLIENT may name a file of JSON with further settings of the client, as for TLS.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

PAUSE_S = 0.01


def further() -> dict[str, str]:
    path = os.environ.get("STEADY_CLIENT")
    return dict(json.loads(Path(path).read_text())) if path else {}


def write(bootstrap: str, topic: str, file: Path) -> int:
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    producer = Producer({
        **further(), "bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 5,
        "delivery.timeout.ms": 240_000, "message.timeout.ms": 240_000, "socket.timeout.ms": 10_000,
    })  # fmt: skip
    number, failed = 0, 0
    with file.open("w", buffering=1) as acknowledged:

        def told(error: KafkaError | None, message: Message) -> None:
            nonlocal failed
            if error is None:
                acknowledged.write(f"{(message.value() or b'').decode()}\n")
            else:
                failed += 1

        while not ended.wait(PAUSE_S):
            producer.produce(topic, str(number).encode(), on_delivery=told)
            number += 1
            producer.poll(0)
        left = producer.flush(240)
    print(f"sent {number}, failed {failed}, left {left}")
    return 0


def read(bootstrap: str, topic: str) -> int:
    reader = Consumer({**further(), "bootstrap.servers": bootstrap, "group.id": "all", "enable.auto.commit": False})
    partitions = [TopicPartition(topic, each) for each in reader.list_topics(topic, 30).topics[topic].partitions]
    ends = {each.partition: reader.get_watermark_offsets(each, 30)[1] for each in partitions}
    reader.assign([TopicPartition(topic, each.partition, 0) for each in partitions])
    missing = {partition for partition, end in ends.items() if end > 0}
    while missing:
        message = reader.poll(30)
        if message is None or message.error():
            print(f"no more records, but {missing} are not at {ends}", file=sys.stderr)
            return 1
        print((message.value() or b"").decode())
        if (message.offset() or 0) + 1 >= ends[message.partition() or 0]:
            missing.discard(message.partition() or 0)
    reader.close()
    return 0


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["write", bootstrap, topic, file]:
            return write(bootstrap, topic, Path(file))
        case ["read", bootstrap, topic]:
            return read(bootstrap, topic)
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
