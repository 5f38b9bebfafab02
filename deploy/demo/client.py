"""The demo's Kafka client: kafka-python creates a topic, writes records, reads every one of them back as a consumer
group and counts.

It runs alone in its image and imports nothing of ours. The topic has as many replicas as the cluster keeps by default.
Records are written in rounds, each confirmed by all replicas in sync before the next, with a pause between, so that
whoever watches has the time to take a controller away meanwhile. The last line is the count; the exit status is 0 only
when every record came back, once, with its own content, and the group has committed that it read them.
"""

import argparse
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError, RequestTimedOutError, TopicAlreadyExistsError

PARTITIONS = 3
ROUNDS = 10
PAUSE_SECONDS = 0.5
TIMEOUT_MS = 60_000
ATTEMPTS = 3
BOOTSTRAP_TIMEOUT_MS = 120_000
AS_THE_CLUSTER_KEEPS = -1


def say(line: str) -> None:
    print(line, flush=True)


def value(number: int) -> bytes:
    return f"record {number} of the demo".encode()


def create_topic(servers: str, topic: str) -> None:
    admin = KafkaAdminClient(
        bootstrap_servers=servers, request_timeout_ms=TIMEOUT_MS, bootstrap_timeout_ms=BOOTSTRAP_TIMEOUT_MS
    )
    wanted = NewTopic(name=topic, num_partitions=PARTITIONS, replication_factor=AS_THE_CLUSTER_KEEPS)
    for attempt in range(ATTEMPTS):
        try:
            admin.create_topics([wanted], timeout_ms=TIMEOUT_MS)
            break
        except TopicAlreadyExistsError:
            if not attempt:
                raise
            break  # the attempt that was not answered in time was carried out
        except RequestTimedOutError:
            if attempt == ATTEMPTS - 1:
                raise
            say("no controller decided in time, asking again")
    admin.close()
    say(f"created the topic {topic} with {PARTITIONS} partitions")


def copies(servers: str, topic: str) -> int:
    """Of the partition that has the fewest."""
    admin = KafkaAdminClient(
        bootstrap_servers=servers, request_timeout_ms=TIMEOUT_MS, bootstrap_timeout_ms=BOOTSTRAP_TIMEOUT_MS
    )
    (described,) = admin.describe_topics([topic])
    admin.close()
    return min(len(each["replica_nodes"]) for each in described["partitions"])


def write(servers: str, topic: str, count: int) -> None:
    producer = KafkaProducer(
        bootstrap_servers=servers, acks="all", max_block_ms=TIMEOUT_MS, bootstrap_timeout_ms=BOOTSTRAP_TIMEOUT_MS
    )
    for start in range(0, count, count // ROUNDS):
        stop = min(start + count // ROUNDS, count)
        sent = [producer.send(topic, key=str(number).encode(), value=value(number)) for number in range(start, stop)]
        for future in sent:
            future.get(timeout=TIMEOUT_MS / 1000)
        say(f"wrote {stop:,} of {count:,} records, each acknowledged")
        time.sleep(PAUSE_SECONDS)
    producer.close()


def read(servers: str, topic: str, count: int, patience_seconds: float = 60) -> int:
    """How many of the records came back, each exactly once and with its own value."""
    group = f"{topic}-readers"
    consumer = KafkaConsumer(
        topic, bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False
    )
    seen: set[int] = set()
    total = 0
    deadline = time.monotonic() + patience_seconds
    while total < count and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=500).values():
            for record in records:
                number = int(record.key)
                if record.value != value(number):
                    say(f"record {number} came back changed: {record.value!r}")
                    return len(seen)
                seen.add(number)
                total += 1
    consumer.commit()
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    committed = sum(consumer.committed(partition) or 0 for partition in partitions)
    consumer.close()
    say(f"the group {group} has committed {committed:,} records")
    if committed != total:
        return 0
    if total != len(seen):
        say(f"{total - len(seen)} records came back more than once")
        return 0
    return len(seen)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("servers")
    parser.add_argument("--topic", default="demo")
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    try:
        create_topic(options.servers, options.topic)
        write(options.servers, options.topic, options.count)
        say(f"every partition has {copies(options.servers, options.topic)} replicas")
        create_topic(options.servers, f"{options.topic}-after")
        found = read(options.servers, options.topic, options.count)
    except KafkaError as error:
        say(f"the client failed: {error!r}")
        return 1
    say(f"{found:,} of {options.count:,}")
    return 0 if found == options.count else 1


if __name__ == "__main__":
    sys.exit(main())
