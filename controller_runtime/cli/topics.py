"""`kafka-topics`: create, delete, list and describe topics.

What the cluster refuses is said on standard output as `Error while executing topic command : ...`, exit code 1, as
Kafka's tool does.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient, AdminError, ApiError, NotSupported
from controller_runtime.admin.results import (
    ConfigEntry,
    ConfigResource,
    NewTopic,
    PartitionDescription,
    TopicDescription,
)
from controller_runtime.cli.bootstrap import BadCommand, choose
from controller_runtime.cli.topics_options import Options, parse
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS
from controller_runtime.protocol.errors import ErrorCode

_TOPIC: Final = 2
_KAFKAS_DEFAULT: Final = 5
_COLLISION: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)

Configs = Mapping[str, tuple[ConfigEntry, ...]]


class Failed(Exception):
    """Reported on standard output, exit code 1."""


def main(argv: Sequence[str]) -> int:
    options = parse(argv)
    try:
        asyncio.run(_run(options))
    except BadCommand as error:
        print(error, file=sys.stderr)
        return 1
    except ApiError as error:
        return _failed(error.message)
    except (Failed, AdminError) as error:
        return _failed(str(error))
    return 0


def _failed(why: str) -> int:
    print(f"Error while executing topic command : {why}")
    return 1


async def _run(options: Options) -> None:
    bootstrap = choose(options.value("bootstrap-server"), None, options.value("command-config"))
    async with bootstrap.admin() as admin:
        match options.action:
            case "create":
                await _create(admin, options)
            case "delete":
                await _delete(admin, options)
            case "list":
                print("\n".join(await _matching(admin, options)))
            case "describe":
                await _describe(admin, options)
            case action:
                raise Failed(f"--{action} is not supported yet")


# create, delete


async def _create(admin: AdminClient, options: Options) -> None:
    topic = new_topic(options)
    if "." in topic.name or "_" in topic.name:
        print(_COLLISION)
    found = (await admin.create_topics([topic]))[topic.name]
    if not isinstance(found, ApiError):
        print(f"Created topic {topic.name}.")
    elif found.code is not ErrorCode.TOPIC_ALREADY_EXISTS or not options.has("if-not-exists"):
        raise found


def new_topic(options: Options) -> NewTopic:
    partitions, factor = options.value("partitions"), options.value("replication-factor")
    if partitions is not None and int(partitions) < 1:
        raise Failed("The partitions must be greater than 0")
    if factor is not None and not 1 <= int(factor) <= 32767:
        raise Failed("The replication factor must be between 1 and 32767 inclusive")
    assignment = options.value("replica-assignment")
    return NewTopic(
        name=options.value("topic") or "",
        num_partitions=int(partitions or -1),
        replication_factor=int(factor or -1),
        replicas=_assignment(assignment) if assignment is not None else {},
        configs=_configs(options.values.get("config", ())),
    )


def _assignment(text: str) -> Mapping[int, tuple[int, ...]]:
    partitions: dict[int, tuple[int, ...]] = {}
    for index, brokers in enumerate(text.split(",")):
        try:
            replicas = tuple(int(broker.strip()) for broker in brokers.split(":"))
        except ValueError as error:
            raise Failed(f'For input string: "{brokers}"') from error
        if len(set(replicas)) != len(replicas):
            repeated = sorted({one for one in replicas if replicas.count(one) > 1})
            raise Failed(f"Partition replica lists may not contain duplicate entries: {','.join(map(str, repeated))}")
        if partitions and len(replicas) != len(partitions[0]):
            raise Failed(f"Partition {index} has different replication factor: {brokers}")
        partitions[index] = replicas
    return partitions


def _configs(pairs: Sequence[str]) -> Mapping[str, str]:
    configs: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise Failed(
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        if name.strip() not in TOPIC_CONFIGS:
            raise Failed(f"Unknown topic config name: {name.strip()}")
        configs[name.strip()] = value.strip()
    return configs


async def _delete(admin: AdminClient, options: Options) -> None:
    names = await _matching(admin, options)
    _require_match(names, options)
    if names:
        found = await admin.delete_topics(names)
        for error in found.values():
            if error is not None:
                raise error


# list, describe


async def _matching(admin: AdminClient, options: Options) -> list[str]:
    names = await admin.list_topics(include_internal=not options.has("exclude-internal"))
    wanted = options.value("topic")
    if wanted is None:
        return list(names)
    try:
        pattern = re.compile(wanted.strip().replace(",", "|").replace(" ", "").strip("\"'"))
    except re.error as error:
        raise Failed(f"{wanted} is an invalid regex.") from error
    return [name for name in names if pattern.fullmatch(name)]


def _require_match(names: Sequence[str], options: Options) -> None:
    if not names and not options.has("if-exists"):
        raise Failed(f"Topic '{options.value('topic')}' does not exist as expected")


async def _describe(admin: AdminClient, options: Options) -> None:
    names = await _matching(admin, options)
    if options.has("topic"):
        _require_match(names, options)
    if not names:
        return
    topics = await admin.describe_topics(names)
    described = [topic for topic in topics.values() if isinstance(topic, TopicDescription)]
    if options.has("topic-id") and (wanted := options.value("topic-id")) != "AAAAAAAAAAAAAAAAAAAAAA":
        described = [topic for topic in described if str(topic.topic_id) == wanted]
        if not described and not options.has("if-exists"):
            raise Failed(f"TopicId '{wanted}' does not exist as expected")
    configs = await _configs_of(admin, [topic.name for topic in described])
    for line in (line for topic in described for line in describe(topic, configs.get(topic.name, ()), options.reports)):
        print(line)


async def _configs_of(admin: AdminClient, names: Sequence[str]) -> Configs:
    """Configs by topic; empty where the broker does not tell them."""
    try:
        found = await admin.describe_configs([ConfigResource(_TOPIC, name) for name in names])
    except NotSupported:
        return {}
    return {resource.name: entries for resource, entries in found.items() if not isinstance(entries, ApiError)}


def describe(topic: TopicDescription, configs: Sequence[ConfigEntry], reports: Sequence[str] = ()) -> Iterator[str]:
    """The topic's line and its partitions' lines; with a report only the lines it asks for."""
    overridden = [f"{one.name}={one.value}" for one in configs if one.source != _KAFKAS_DEFAULT]
    if not reports or (reports == ("topics-with-overrides",) and overridden):
        factor = len(topic.partitions[0].replicas) if topic.partitions else 0
        yield (
            f"Topic: {topic.name}\tTopicId: {topic.topic_id}\tPartitionCount: {len(topic.partitions)}"
            f"\tReplicationFactor: {factor}\tConfigs: {','.join(overridden)}"
        )
    if "topics-with-overrides" not in reports:
        least = next((int(one.value or 1) for one in configs if one.name == "min.insync.replicas"), 1)
        for partition in topic.partitions:
            if all(_REPORTED[report](partition, least) for report in reports):
                yield _partition_line(topic.name, partition)


_REPORTED: Final[Mapping[str, Callable[[PartitionDescription, int], bool]]] = {
    "under-replicated-partitions": lambda one, _: len(one.isr) < len(one.replicas),
    "unavailable-partitions": lambda one, _: one.leader < 0,
    "under-min-isr-partitions": lambda one, least: len(one.isr) < least,
    "at-min-isr-partitions": lambda one, least: len(one.isr) == least,
}


def _partition_line(name: str, one: PartitionDescription) -> str:
    leader = "none" if one.leader < 0 else str(one.leader)
    return (
        f"\tTopic: {name}\tPartition: {one.index}\tLeader: {leader}\tReplicas: {_ids(one.replicas)}\tIsr: {_ids(one.isr)}"
        f"\tElr: {_ids(one.elr)}\tLastKnownElr: {_ids(one.last_known_elr)}"
    )


def _ids(brokers: Sequence[int] | None) -> str:
    return "N/A" if brokers is None else ",".join(map(str, brokers))
