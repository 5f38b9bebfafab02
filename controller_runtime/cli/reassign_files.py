"""The JSON of `kafka-reassign-partitions`: what shall move where, read with Kafka's complaints, and written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from controller_runtime.cli import json_files
from controller_runtime.cli.admin_tools import Failed
from controller_runtime.values import dataclass, field

TopicPartition = tuple[str, int]
Replica = tuple[int, str, int]
"""Broker, topic, partition: the order in which replicas are told."""
ANY: Final = "any"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The replicas of each partition, in the order of the file, and the directories that are named."""

    partitions: tuple[tuple[TopicPartition, tuple[int, ...]], ...]
    directories: Mapping[Replica, str] = field(default_factory=dict)

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(topic for (topic, _), _ in self.partitions))

    @property
    def by_partition(self) -> dict[TopicPartition, tuple[int, ...]]:
        return dict(self.partitions)


def name_of(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"


def replica_name(replica: Replica) -> str:
    broker, topic, index = replica
    return f"{topic}-{index}-{broker}"


def parse_proposal(text: str) -> Proposal:
    """Raises Failed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Failed(f"Unexpected end-of-input, or no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Failed(f"Expected JSON object, received {json.dumps(found)[:100]}")
    json_files.version_of(found)
    partitions: list[tuple[TopicPartition, tuple[int, ...]]] = []
    directories: dict[Replica, str] = {}
    for one in json_files.array(found.get("partitions", [])):
        partition = (json_files.text(one, "topic"), json_files.number(one, "partition"))
        replicas = _list_of(one, "replicas", int)
        named = _list_of(one, "log_dirs", str) if "log_dirs" in one else [ANY] * len(replicas)
        if len(replicas) != len(named):
            sizes = f"Size of replicas list {replicas} is different from size of log dirs list [{', '.join(named)}]"
            raise Failed(f"{sizes} for partition {name_of(partition)}")
        partitions.append((partition, tuple(replicas)))
        directories |= {(who, *partition): where for who, where in zip(replicas, named, strict=True) if where != ANY}
    return Proposal(tuple(partitions), directories)


def check_to_execute(proposal: Proposal) -> None:
    """Raises Failed."""
    if not proposal.partitions:
        raise Failed("Partition reassignment list cannot be empty")
    if not all(replicas for _, replicas in proposal.partitions):
        raise Failed("Partition replica list cannot be empty")
    twice = _repeated(partition for partition, _ in proposal.partitions)
    if twice:
        named = ",".join(map(name_of, twice))
        raise Failed(f"Partition reassignment contains duplicate topic partitions: {named}")
    faults = [
        f"{name_of(partition)} contains multiple entries for {','.join(map(str, more))}"
        for partition, replicas in proposal.partitions
        if (more := _repeated(replicas))
    ]
    if faults:
        raise Failed(f"Partition replica lists may not contain duplicate entries: {'. '.join(faults)}")


def read_topics(path: str, brokers: str) -> tuple[list[int], list[str]]:
    """The brokers and the topics of --generate. Raises Failed."""
    text = json_files.read_text(path)
    try:
        ids = [int(one) for one in brokers.split(",")]
    except ValueError as error:
        raise Failed(f'For input string: "{error.args[0].rpartition(": ")[2][1:-1]}"') from error
    if twice := _repeated(ids):
        raise Failed(f"Broker list contains duplicate entries: {list(twice)}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Failed("The input string is not a valid JSON") from error
    if not isinstance(found, dict):
        raise Failed("Expected JSON object")
    json_files.version_of(found)
    topics = [json_files.text(one, "topic") for one in json_files.array(found.get("topics", []))]
    if again := _repeated(topics):
        raise Failed(f"List of topics to reassign contains duplicate entries: [{', '.join(again)}]")
    return ids, topics


def as_json(assigned: Mapping[TopicPartition, Sequence[int]], directories: Mapping[Replica, str]) -> str:
    partitions = [
        {
            "topic": topic,
            "partition": index,
            "replicas": list(assigned[topic, index]),
            "log_dirs": [directories.get((who, topic, index), ANY) for who in assigned[topic, index]],
        }
        for topic, index in sorted(assigned)
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"), ensure_ascii=False)


def _list_of(one: Any, name: str, kind: type[Any]) -> list[Any]:
    if name not in one:
        raise Failed(f"No such field exists: `{name}`")
    found = json_files.array(one[name])
    if not all(isinstance(each, kind) and not isinstance(each, bool) for each in found):
        raise Failed(f"Expected `{'Integer' if kind is int else 'String'}` values in `{name}`")
    return found


def _repeated(values: Iterable[Any]) -> list[Any]:
    return [one for one, count in Counter(values).items() if count > 1]
