"""The demo's Kafka client: kafka-python creates a topic, writes records, reads every one of them back as a consumer
group and counts.

It runs alone in its image and imports nothing of ours. The topic has as many replicas as the cluster keeps by default.
Records are written in rounds, each confirmed by all replicas in sync before the next, with a pause between, so that
whoever watches has the time to take a controller away meanwhile. The last line is the count; the exit status is 0 only
when every record came back, once, with its own content, and the group has committed that it read them. `--login` names
a folder with the Secret of a KRaftUser. `--stranger` comes without one, in every way that it knows, and ends with 0
only if it is refused each time.
"""

import argparse
import socket
import sys
import time
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError, RequestTimedOutError, TopicAlreadyExistsError

PARTITIONS = 3
ROUNDS = 10
PAUSE_SECONDS = 0.5
TIMEOUT_MS = 60_000
ATTEMPTS = 3
BOOTSTRAP_TIMEOUT_MS = 120_000
STRANGER_TIMEOUT_MS = 5_000
AS_THE_CLUSTER_KEEPS = -1

Login = dict[str, Any]


def say(line: str) -> None:
    print(line, flush=True)


def value(number: int) -> bytes:
    return f"record {number} of the demo".encode()


def login_of(folder: Path) -> Login:
    return by_password((folder / "username").read_text(), (folder / "password").read_text(), folder / "ca.crt")


def by_password(name: str, password: str, authority: Path) -> Login:
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": name,
        "sasl_plain_password": password,
        "ssl_cafile": str(authority),
    }


def admin_client(servers: str, login: Login) -> KafkaAdminClient:
    return KafkaAdminClient(
        bootstrap_servers=servers, request_timeout_ms=TIMEOUT_MS, bootstrap_timeout_ms=BOOTSTRAP_TIMEOUT_MS, **login
    )


def create_topic(servers: str, topic: str, login: Login) -> None:
    admin = admin_client(servers, login)
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


def copies(servers: str, topic: str, login: Login) -> int:
    """Of the partition that has the fewest."""
    admin = admin_client(servers, login)
    (described,) = admin.describe_topics([topic])
    admin.close()
    return min(len(each["replica_nodes"]) for each in described["partitions"])


def write(servers: str, topic: str, count: int, login: Login) -> None:
    producer = KafkaProducer(
        bootstrap_servers=servers, acks="all", max_block_ms=TIMEOUT_MS, bootstrap_timeout_ms=BOOTSTRAP_TIMEOUT_MS,
        **login,
    )  # fmt: skip
    for start in range(0, count, count // ROUNDS):
        stop = min(start + count // ROUNDS, count)
        sent = [producer.send(topic, key=str(number).encode(), value=value(number)) for number in range(start, stop)]
        for future in sent:
            future.get(timeout=TIMEOUT_MS / 1000)
        say(f"wrote {stop:,} of {count:,} records, each acknowledged")
        time.sleep(PAUSE_SECONDS)
    producer.close()


def read(servers: str, topic: str, count: int, login: Login, patience_seconds: float = 60) -> int:
    """How many of the records came back, each exactly once and with its own value."""
    group = f"{topic}-readers"
    consumer = KafkaConsumer(
        topic, bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False,
        **login,
    )  # fmt: skip
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


def is_refused(servers: str, how: str, login: Login) -> bool:
    """Whether nothing of the cluster is told to who comes so."""
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=servers, request_timeout_ms=STRANGER_TIMEOUT_MS, bootstrap_timeout_ms=STRANGER_TIMEOUT_MS,
            **login,
        )  # fmt: skip
        topics = admin.list_topics()
        admin.close()
    except KafkaError as error:
        say(f"{how}: refused ({type(error).__name__})")
        return True
    say(f"{how}: let in, and told of {len(topics)} topics")
    return False


def stranger(servers: str, authority: Path) -> int:
    """Who has everything that everybody may have, and no login. That nobody answers at all would be no refusal."""
    host, _, port = servers.partition(":")
    socket.create_connection((host, int(port)), STRANGER_TIMEOUT_MS / 1000).close()
    ways: tuple[tuple[str, Login], ...] = (
        ("in plaintext", {"security_protocol": "PLAINTEXT"}),
        ("by TLS without a login", {"security_protocol": "SSL", "ssl_cafile": str(authority)}),
        ("as the user, with a password that is guessed", by_password("demo", "guessed-by-a-stranger", authority)),
    )
    refused = [is_refused(servers, how, login) for how, login in ways]
    say(f"refused in {sum(refused)} of {len(ways)} ways")
    return 0 if all(refused) else 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("servers")
    parser.add_argument("--login", type=Path)
    parser.add_argument("--stranger", type=Path, metavar="CA")
    parser.add_argument("--topic", default="demo")
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    if options.stranger:
        return stranger(options.servers, options.stranger)
    login = login_of(options.login) if options.login else {}
    try:
        create_topic(options.servers, options.topic, login)
        write(options.servers, options.topic, options.count, login)
        say(f"every partition has {copies(options.servers, options.topic, login)} replicas")
        create_topic(options.servers, f"{options.topic}-after", login)
        found = read(options.servers, options.topic, options.count, login)
    except KafkaError as error:
        say(f"the client failed: {error!r}")
        return 1
    say(f"{found:,} of {options.count:,}")
    return 0 if found == options.count else 1


if __name__ == "__main__":
    sys.exit(main())
