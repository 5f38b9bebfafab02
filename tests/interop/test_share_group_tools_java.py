"""Apache Kafka's `kafka-share-groups` at a broker of ours and at one of its own: it says the same of groups, and does
the same to them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.apache_kafka.differential import Side
from support.apache_kafka.java_kafka import run_tool
from support.apache_kafka.node_pairs import NODE_ID, pair_of_nodes
from support.clients.share_members import Shared, ShareMember, join
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow]

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
TOPIC, LIVING, EMPTY, GONE = "work", "living", "empty", "gone"
GROUPS = (LIVING, EMPTY, GONE)
OFFSETS = ("--reset-offsets", "--group", EMPTY, "--topic", TOPIC)
STORY = (
    ("--list",),
    ("--list", "--state"),
    ("--list", "--state", "empty"),
    *(("--describe", "--group", LIVING, *more) for more in (("--members",), ("--members", "--verbose"), ("--state",))),
    *(("--describe", "--group", EMPTY, "--offsets", *more) for more in ((), ("--verbose",))),
    ("--describe", "--group", EMPTY, "--members"),
    ("--describe", "--group", "nobody"),
    ("--reset-offsets", "--group", LIVING, "--topic", TOPIC, "--to-earliest", "--execute"),
    (*OFFSETS, "--to-earliest", "--dry-run"),
    (*OFFSETS, "--to-earliest", "--execute"),
    ("--describe", "--group", EMPTY),
    ("--reset-offsets", "--group", EMPTY, "--all-topics", "--to-latest", "--execute"),
    ("--describe", "--group", EMPTY, "--offsets"),
    ("--delete-offsets", "--group", LIVING, "--topic", TOPIC),
    ("--delete-offsets", "--group", EMPTY, "--topic", TOPIC),
    ("--delete-offsets", "--group", EMPTY, "--topic", "nothing"),
    ("--describe", "--group", EMPTY, "--offsets"),
    ("--delete", "--group", LIVING),
    ("--delete", "--group", GONE, "--group", "nobody"),
    ("--list",),
)


@dataclass(frozen=True)
class At:
    node_id: int
    port: int


class Sharing:
    """One side, with a group that lives, and two that had a member."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.port = side.ports[ListenerType.BROKER]
        topic = CreatableTopic(name=TOPIC, num_partitions=2, replication_factor=1)
        side.call(ListenerType.BROKER, CreateTopicsRequest(topics=(topic,), timeout_ms=30_000), 7)
        eventually("the topic", lambda: TOPIC in side.learn_topics())
        self.members = {group: self._member(group) for group in GROUPS}
        for index in range(2):
            self.members[LIVING].shared.write(index, 10)
        for group, member in self.members.items():
            join([member], 2)
            if group == LIVING:
                continue
            eventually(f"{group} has read", lambda member=member: self._has_read(member))  # type: ignore[misc]
            member.leave()

    def _member(self, group: str) -> ShareMember:
        wanted = {"share.auto.offset.reset": "earliest", "share.session.timeout.ms": "60000"}
        configs = tuple(AlterableConfig(name=name, config_operation=0, value=value) for name, value in wanted.items())
        resource = AlterConfigsResource(resource_type=32, resource_name=group, configs=configs)
        answer = self.side.call(ListenerType.BROKER, IncrementalAlterConfigsRequest(resources=(resource,)), 1)
        assert answer.responses[0].error_code == 0
        nodes = {NODE_ID: At(NODE_ID, self.port)}
        return ShareMember(Shared(nodes, TOPIC, self.side.topic_ids[TOPIC], group), "member-1")

    def _has_read(self, member: ShareMember) -> bool:
        member.accept(member.fetch())
        return member.shared.accepted == {(index, offset) for index in range(2) for offset in range(10)}

    def says(self, words: tuple[str, ...]) -> Any:
        """The code and the lines, without their order: it is that of a hash map."""
        done = run_tool("kafka-share-groups", "--bootstrap-server", f"127.0.0.1:{self.port}", *words, timeout_s=180.0)
        text = f"{done.out}\n{done.err}".replace(str(self.port), "<port>")
        return done.rc, sorted(re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip())


@pytest.fixture(scope="module")
def sharing(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sharing, Sharing]]:
    assert java
    with pair_of_nodes(tmp_path_factory.mktemp("shares"), SETTINGS, SETTINGS) as pair:
        sides = Sharing(pair.java), Sharing(pair.ours)
        over = threading.Event()
        living = [side.members[LIVING] for side in sides]

        def live() -> None:
            while not over.wait(5.0):
                for each in living:
                    each.beat()

        thread = threading.Thread(target=live, daemon=True)
        thread.start()
        try:
            yield sides
        finally:
            over.set()
            thread.join(60)


@pytest.mark.timeout(900)
def test_it_says_and_does_the_same(sharing: tuple[Sharing, Sharing]) -> None:
    """CGP-21"""
    with ThreadPoolExecutor(2) as pool:
        for step, words in enumerate(STORY):
            javas, ours = pool.map(lambda side, words=words: side.says(words), sharing)
            assert javas == ours, f"step {step}: {' '.join(words)}\n java {javas}\n ours {ours}"
