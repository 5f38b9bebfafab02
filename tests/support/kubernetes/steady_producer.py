"""A producer with acks=all that writes one record after the other until its input ends, as its own process in the
network of the pods: kafka-python, with the client.properties of a KRaftUser, or one
that says security.protocol=PLAINTEXT.

    python steady_producer.py client.properties HOST:PORT,HOST:PORT TOPIC

It says `ready` with its first record. A record that is not acknowledged ends it at once, with the reason. The last line
is how many were, the longest time between two of them in milliseconds, and how many were read back.
"""

from __future__ import annotations

import select
import sys
import time
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

DEADLINE_MS = 20_000


def settings_of(path: str, server: str) -> dict[str, Any]:
    said = dict(line.split("=", 1) for line in Path(path).read_text().splitlines() if line)
    patience = {
        "bootstrap_servers": server.split(","),
        "security_protocol": said["security.protocol"],
        "connections_max_idle_ms": 4_000,  # so that connections are made all the while
        "request_timeout_ms": 3_000,
    }
    if said["security.protocol"] == "PLAINTEXT":
        return patience
    trusted = Path(path).with_suffix(".pem")
    trusted.write_text(said["ssl.truststore.certificates"].replace("\\n", "\n"))
    login = dict(word.split("=", 1) for word in said["sasl.jaas.config"].rstrip(";").split() if "=" in word)
    return {
        **patience,
        "sasl_mechanism": said["sasl.mechanism"],
        "sasl_plain_username": login["username"].strip('"'),
        "sasl_plain_password": login["password"].strip('"'),
        "ssl_cafile": str(trusted),
    }


def main(properties: str, server: str, topic: str) -> None:
    settings = settings_of(properties, server)
    producer = KafkaProducer(acks="all", delivery_timeout_ms=DEADLINE_MS, max_block_ms=DEADLINE_MS, **settings)
    written, longest, last = 0, 0.0, time.monotonic()
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        producer.send(topic, str(written).encode(), partition=0).get(DEADLINE_MS / 1000)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
        written += 1
        if written == 1:
            print("ready", flush=True)
    producer.close()
    consumer = KafkaConsumer(auto_offset_reset="earliest", enable_auto_commit=False, **settings)
    consumer.assign([TopicPartition(topic, 0)])
    read: set[bytes] = set()
    deadline = time.monotonic() + 60
    while len(read) < written and time.monotonic() < deadline:
        read |= {each.value for some in consumer.poll(1000).values() for each in some}
    print(written, int(longest * 1000), len(read), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
