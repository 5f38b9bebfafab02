"""Kafka's own tools for ACLs, quotas, SCRAM credentials and tokens say of ours what they say of Kafka's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controller_runtime.protocol.api_keys import ListenerType
from support.apache_kafka.differential import Pair, Side
from support.apache_kafka.java_kafka import run_tool

pytestmark = [pytest.mark.interop, pytest.mark.slow]

PREFIX = ("--topic", "tool-", "--resource-pattern-type", "prefixed")
TOOL = ("--entity-type", "users", "--entity-name", "tool")
CLIENTS = ("--entity-type", "clients", "--entity-default")
ADDRESS = ("--entity-type", "ips", "--entity-name", "10.9.8.7")
STORY = (
    ("kafka-acls", "--add", "--allow-principal", "User:tool", "--operation", "Read", *PREFIX),
    ("kafka-acls", "--list", "--topic", "tool-1", "--resource-pattern-type", "match"),
    ("kafka-acls", "--remove", "--force", "--allow-principal", "User:tool", *PREFIX),
    ("kafka-configs", "--alter", *TOOL, "--add-config", "SCRAM-SHA-256=[iterations=8192,password=p]"),
    ("kafka-configs", "--describe", *TOOL),
    ("kafka-configs", "--alter", *CLIENTS, "--add-config", "controller_mutation_rate=77.5"),
    ("kafka-configs", "--describe", *CLIENTS),
    ("kafka-configs", "--alter", *ADDRESS, "--add-config", "connection_creation_rate=3"),
    ("kafka-delegation-tokens", "--create", "--max-life-time-period", "-1"),
)


def _told(side: Side, words: tuple[str, ...], file: Path) -> tuple[int, str, str]:
    """What is said, without the stack traces of Java's clients."""
    where = ("--bootstrap-server", f"127.0.0.1:{side.ports[ListenerType.BROKER]}", "--command-config", str(file))
    said = run_tool(words[0], *where, *words[1:], timeout_s=180.0)
    return said.rc, said.out.partition("\tat ")[0], said.err.partition("\n")[0]


def test_kafka_s_tools_say_the_same_of_ours(guarded_pair: Pair, tmp_path: Path) -> None:
    """INT-05: quotas, with the tools that administrators have."""
    file = tmp_path / "client.properties"
    file.write_text("")
    with ThreadPoolExecutor(2) as both:
        for words in STORY:
            java, ours = both.map(lambda side, words=words: _told(side, words, file), guarded_pair.sides)
            assert ours == java, words
            assert ours[0] == (words[0] == "kafka-delegation-tokens"), words
            said_nothing = "--remove" in words
            assert bool(ours[1].strip()) != said_nothing, words
