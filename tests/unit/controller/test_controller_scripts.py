"""The stories under testdata: requests to the controller, and the records that it decides on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.schema import Message, Struct
from support.datadriven import check
from support.nodes.controller_world import World, directory_of

pytestmark = pytest.mark.unit

SCRIPTS = sorted((Path(__file__).parent / "testdata").glob("*.txt"))
OPERATIONS = {"=": 0, "+": 2, "-": 3}


class Story:
    """Understands the commands of a script. Options are `key=value`, flags are bare words."""

    def __init__(self) -> None:
        self.world = World()

    def answer(self, line: str) -> str:
        verb, *words = line.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        plain = [word for word in words if "=" not in word]
        found: str = getattr(self, f"do_{verb}")(plain, options)
        return found

    def _decided(self, request: Message) -> str:
        decision = self.world.decide(request)
        return "\n".join([*map(render_record, decision.records), f"-> {render(decision.response)}"])

    def do_format(self, plain: list[str], _: dict[str, str]) -> str:
        self.world = World(level=int(plain[0]))
        return "\n".join(map(render_record, self.world.log))

    def do_register(self, plain: list[str], options: dict[str, str]) -> str:
        broker = int(plain[0])
        directories = tuple(directory_of(broker, n + 1) for n in range(int(options.get("dirs", "1"))))
        return self._decided(
            self.world.registration(
                broker,
                int(options.get("incarnation", "1")),
                rack=options.get("rack"),
                log_dirs=directories,
                previous_broker_epoch=int(options.get("previous", "-1")),
            )
        )

    def do_heartbeat(self, plain: list[str], options: dict[str, str]) -> str:
        broker = int(plain[0])
        failed = tuple(directory_of(broker, int(n)) for n in options.get("failed", "").split(",") if n)
        request = BrokerHeartbeatRequest(
            broker_id=broker,
            broker_epoch=int(options.get("epoch", self.world.epoch(broker))),
            current_metadata_offset=int(options.get("offset", self.world.offset)),
            want_fence="fence" in plain,
            want_shut_down="shutdown" in plain,
            offline_log_dirs=failed,
        )
        return self._decided(request)

    def do_unregister(self, plain: list[str], _: dict[str, str]) -> str:
        return self._decided(UnregisterBrokerRequest(broker_id=int(plain[0])))

    def do_create(self, plain: list[str], options: dict[str, str]) -> str:
        manual = [tuple(map(int, part.split(","))) for part in options.pop("assign", "").split(";") if part]
        topic = CreatableTopic(
            name=plain[0],
            num_partitions=int(options.pop("partitions", "-1")),
            replication_factor=int(options.pop("rf", "-1")),
            assignments=tuple(
                CreatableReplicaAssignment(partition_index=i, broker_ids=b) for i, b in enumerate(manual)
            ),
            configs=tuple(CreatableTopicConfig(name=k, value=v) for k, v in options.items()),
        )
        return self._decided(CreateTopicsRequest(topics=(topic,), validate_only="validate" in plain))

    def do_delete(self, plain: list[str], _: dict[str, str]) -> str:
        return self._decided(
            DeleteTopicsRequest(topics=tuple(DeleteTopicState(name=name) for name in plain), timeout_ms=1000)
        )

    def do_alter(self, plain: list[str], _: dict[str, str]) -> str:
        raise AssertionError("alter is parsed by hand")

    def do_ids(self, plain: list[str], _: dict[str, str]) -> str:
        broker = int(plain[0])
        return self._decided(AllocateProducerIdsRequest(broker_id=broker, broker_epoch=self.world.epoch(broker)))

    def do_wait(self, plain: list[str], _: dict[str, str]) -> str:
        return "\n".join(map(render_record, self.world.wait(float(plain[0])))) or "nothing"

    def do_failover(self, _: list[str], __: dict[str, str]) -> str:
        return "\n".join(map(render_record, self.world.activate())) or "nothing"

    def do_show(self, plain: list[str], _: dict[str, str]) -> str:
        image = self.world.image
        if plain[0] == "brokers":
            return "\n".join(
                f"{b.id} "
                f"epoch={b.epoch}{' fenced' if b.fenced else ''}{' shutting-down' if b.in_controlled_shutdown else ''}"
                for b in image.cluster.brokers.values()
            )
        topic = image.topics.named(plain[0])
        if topic is None:
            return "no such topic"
        return "\n".join(
            f"{i} replicas={list(p.replicas)} leader={p.leader} isr={list(p.isr)} elr={list(p.elr)} "
            f"last={list(p.last_known_elr)} epoch={p.leader_epoch}/{p.partition_epoch} state={p.leader_recovery_state}"
            for i, p in topic.partitions()
        )

    def alter(self, line: str) -> str:
        """alter topic NAME key=value key+=value key-=value !key"""
        _, kind, name, *changes = line.split()
        configs = []
        for change in changes:
            if change.startswith("!"):
                configs.append(AlterableConfig(name=change[1:], config_operation=1, value=None))
                continue
            key, operation, value = re.fullmatch(r"([a-z.]+)([+-]?)=(.*)", change).groups()  # type: ignore[union-attr]
            configs.append(AlterableConfig(name=key, config_operation=OPERATIONS[operation or "="], value=value))
        resource = AlterConfigsResource(
            resource_type={"topic": 2, "broker": 4, "client-metrics": 16, "group": 32}[kind],
            resource_name="" if name == "default" else name,
            configs=tuple(configs),
        )
        return self._decided(IncrementalAlterConfigsRequest(resources=(resource,)))


def render_record(versioned: VersionedRecord) -> str:
    record, version = versioned
    return f"{type(record).__name__.removesuffix('Record')} v{version} {fields(record)}".rstrip()


def render(value: object) -> str:
    match value:
        case Uuid():
            kind = value[:8].rstrip(b"\0").decode("ascii", "replace")
            return f"{kind}-{int.from_bytes(value[8:], 'big')}"
        case Struct():
            return f"{type(value).__name__}({fields(value)})" if isinstance(value, Message) else f"({fields(value)})"
        case tuple():
            return "[" + ", ".join(map(render, value)) + "]"
        case _:
            return str(value)


def fields(value: Struct) -> str:
    """What differs from the defaults, without what would bury the story."""
    noise = {"features", "end_points", "configs", "incarnation_id"}
    shown = [(s.name, getattr(value, s.name)) for s in value.FIELDS if getattr(value, s.name) != s.default]
    return " ".join(f"{name}={render(found)}" for name, found in shown if name not in noise)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_controller_decides_as_the_script_says(script: Path, rewrite: bool) -> None:
    story = Story()
    check(script, lambda line: story.alter(line) if line.startswith("alter ") else story.answer(line), rewrite=rewrite)


def test_every_script_is_run() -> None:
    assert len(SCRIPTS) >= 8


def test_a_broker_that_is_unknown_has_no_epoch() -> None:
    with pytest.raises(KeyError):
        Story().world.epoch(NodeId(7))
