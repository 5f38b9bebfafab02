"""`kafka-topics`: create, delete, list and describe topics.

What the cluster refuses is said on standard output as `Error while executing topic command : ...`, exit code 1, as
Kafka's tool does.
"""

from __future__ import annotations

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
    Reassignment,
    TopicDescription,
)
from controller_runtime.cli import progress
from controller_runtime.cli.bootstrap import BadCommand, Bootstrap, choose
from controller_runtime.cli.java_errors import parse_uuid
from controller_runtime.cli.options import BadOption
from controller_runtime.cli.topics_options import OVERRIDES, Options, parse
from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.metadata.config_values import InvalidConfig
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS, check_value, check_values
from controller_runtime.protocol.errors import ErrorCode

_TOPIC: Final = 2
_KAFKAS_DEFAULT: Final = 5
_REMOTE: Final = "remote.storage.enable"
_COLLISION: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)

Configs = Mapping[str, tuple[ConfigEntry, ...]]
Moves = Mapping[tuple[str, int], Reassignment]
NO_MOVES: Final[Moves] = {}


class Failed(Exception):
    """Reported on standard output, exit code 1."""


def main(argv: Sequence[str]) -> int:
    options = parse(argv)
    try:
        bootstrap = choose(options.value("bootstrap-server"), None, options.value("command-config"))
    except (BadCommand, BadOption) as error:
        print(error, file=sys.stderr)
        return 1
    try:
        progress.run(_run(bootstrap, options))
    except BadCommand as error:
        print(error, file=sys.stderr)
        return 1
    except ApiError as error:
        return _failed(error.message)
    except (Failed, AdminError, BadOption) as error:
        return _failed(str(error))
    return 0


def _failed(why: str) -> int:
    print(f"Error while executing topic command : {why}")
    return 1


async def _run(bootstrap: Bootstrap, options: Options) -> None:
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
            case _:
                await _alter(admin, options)


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
    partitions, factor = options.given.number("partitions", -1), options.given.number("replication-factor", -1)
    if options.has("partitions") and partitions < 1:
        raise Failed("The partitions must be greater than 0")
    if options.has("replication-factor") and not 1 <= factor <= 32767:
        raise Failed("The replication factor must be between 1 and 32767 inclusive")
    assignment = options.value("replica-assignment")
    return NewTopic(
        name=options.value("topic") or "",
        num_partitions=partitions,
        replication_factor=factor,
        replicas=_assignment(assignment) if assignment is not None else {},
        configs=_configs(options.given.all("config")),
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
            raise Failed(f"Partition {index} has different replication factor: [{', '.join(map(str, replicas))}]")
        partitions[index] = replicas
    return partitions


def _configs(pairs: Sequence[str]) -> Mapping[str, str]:
    configs: dict[str, str] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not value or "=" in value:
            raise Failed(
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        configs[name.strip()] = value.strip()
    if unknown := next((name for name in configs if name not in TOPIC_CONFIGS), None):
        raise Failed(f"Unknown topic config name: {unknown}")
    try:
        check_value(_REMOTE, configs.get(_REMOTE, "false"))
        check_values({name: value for name, value in configs.items() if name != _REMOTE})  # the broker knows its own
    except InvalidConfig as error:
        raise Failed(str(error)) from error
    return configs


async def _alter(admin: AdminClient, options: Options) -> None:
    """More partitions for every topic that the name matches, placed by hand or not."""
    names = await _matching(admin, options)
    _require_match(names, options)
    if names:
        assignment, count = options.value("replica-assignment"), options.given.number("partitions", 0)
        described = await admin.describe_topics(names)
        wanted: dict[str, tuple[int, list[tuple[int, ...]] | None]] = {}
        for name, topic in described.items():
            if isinstance(topic, ApiError):
                raise topic
            wanted[name] = (count, None if assignment is None else _new_replicas(assignment, len(topic.partitions)))
        for error in (await admin.create_partitions(wanted)).values():
            if error is not None:
                raise error


def _new_replicas(assignment: str, existing: int) -> list[tuple[int, ...]]:
    """The lists are those of all partitions: the first ones are there already."""
    return list(_assignment(assignment).values())[existing:]


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
    topics = await _described(admin, options)
    configs = await _configs_of(admin, [topic.name for topic in topics])
    moves = await _moves(admin) if topics else {}
    for topic in topics:
        for line in describe(topic, configs.get(topic.name, ()), options.reports, moves):
            print(line)


async def _described(admin: AdminClient, options: Options) -> list[TopicDescription]:
    """By the id, whatever the name is, unless it is none; else by the names."""
    wanted = options.value("topic-id")
    topic_id = ZERO_UUID if wanted is None else _uuid(wanted)
    if topic_id != ZERO_UUID:
        known = await admin.listed_topics(include_internal=not options.has("exclude-internal"))
        found = [topic for topic in known if topic.topic_id == topic_id]
        if not found and not options.has("if-exists"):
            raise Failed(f"TopicId '{topic_id}' does not exist as expected")
        return found
    names = await _matching(admin, options)
    if options.has("topic"):
        _require_match(names, options)
    limit = options.given.number("partition-size-limit-per-response", 2000)
    topics = await admin.describe_topics(names, partitions_at_once=limit) if names else {}
    return [topic for topic in topics.values() if isinstance(topic, TopicDescription)]


def _uuid(text: str) -> Uuid:
    try:
        return parse_uuid(text)
    except ValueError as error:
        raise Failed(str(error)) from error


async def _moves(admin: AdminClient) -> Moves:
    try:
        return {(one.topic, one.partition): one for one in await admin.list_partition_reassignments()}
    except NotSupported:
        return {}
    except ApiError as error:
        if error.code is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        return {}


async def _configs_of(admin: AdminClient, names: Sequence[str]) -> Configs:
    """Configs by topic; empty where the broker does not tell them."""
    try:
        found = await admin.describe_configs([ConfigResource(_TOPIC, name) for name in names])
    except NotSupported:
        return {}
    return {resource.name: entries for resource, entries in found.items() if not isinstance(entries, ApiError)}


def describe(
    topic: TopicDescription, configs: Sequence[ConfigEntry], reports: Sequence[str] = (), moves: Moves = NO_MOVES
) -> Iterator[str]:
    """The topic's line and its partitions' lines; with reports only the lines that one of them asks for."""
    overridden = [f"{one.name}={one.value}" for one in configs if one.source != _KAFKAS_DEFAULT]
    if not reports or (reports == (OVERRIDES,) and overridden):
        first = topic.partitions[0] if topic.partitions else None
        factor = 0 if first is None else _factor(first, moves.get((topic.name, first.index)))
        yield (
            f"Topic: {topic.name}\tTopicId: {topic.topic_id}\tPartitionCount: {len(topic.partitions)}"
            f"\tReplicationFactor: {factor}\tConfigs: {','.join(overridden)}"
        )
    if OVERRIDES not in reports:
        least = next((int(one.value or 1) for one in configs if one.name == "min.insync.replicas"), 1)
        for partition in topic.partitions:
            move = moves.get((topic.name, partition.index))
            if not reports or any(_REPORTED[report](partition, move, least) for report in reports):
                yield _partition_line(topic.name, partition, move)


def _factor(one: PartitionDescription, move: Reassignment | None) -> int:
    """Without those that a move adds, while the partition is on it."""
    return len(one.replicas) if move is None else len(move.replicas) - len(move.adding)


_REPORTED: Final[Mapping[str, Callable[[PartitionDescription, Reassignment | None, int], bool]]] = {
    "under-replicated-partitions": lambda one, move, _: len(one.isr) < _factor(one, move),
    "unavailable-partitions": lambda one, _move, _: one.leader < 0,
    "under-min-isr-partitions": lambda one, _, least: len(one.isr) < least,
    "at-min-isr-partitions": lambda one, _, least: len(one.isr) == least,
}


def _partition_line(name: str, one: PartitionDescription, move: Reassignment | None) -> str:
    leader = "none" if one.leader < 0 else str(one.leader)
    moving = "" if move is None else f"\tAdding Replicas: {_ids(move.adding)}\tRemoving Replicas: {_ids(move.removing)}"
    return (
        f"\tTopic: {name}\tPartition: {one.index}\tLeader: {leader}\tReplicas: {_ids(one.replicas)}\tIsr: "
        f"{_ids(one.isr)}{moving}\tElr: {_ids(one.elr)}\tLastKnownElr: {_ids(one.last_known_elr)}"
    )


def _ids(brokers: Sequence[int] | None) -> str:
    return "N/A" if brokers is None else ",".join(map(str, brokers))
