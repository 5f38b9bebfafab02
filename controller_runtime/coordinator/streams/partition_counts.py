"""How many partitions the topics have that a streams group makes for itself.

A repartition topic has what its topology says, or as many as the largest topic that its writer reads; topics that are
joined have the same number; a changelog has as many as its subtopology has tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import Final

from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.java_texts import text_order
from controller_runtime.coordinator.streams.java_order import hash_order
from controller_runtime.coordinator.streams.topology import Topology
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.streams_group_topology_value import Subtopology

_INVALID: Final = ErrorCode.STREAMS_INVALID_TOPOLOGY
_UNRESOLVED: Final = (
    "Failed to compute number of partitions for all repartition topics. There may be loops in the topology that cannot "
    "be resolved."
)
_UNWRITTEN: Final = (
    "Failed to compute number of partitions for all repartition topics, because a repartition source topic is never "
    "used as a sink topic."
)


class Status(IntEnum):
    """What a heartbeat is told beside its tasks."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Unready(Exception):
    """Topics are not as the topology needs them; they may become so."""

    def __init__(self, status: Status, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Counts:
    """Of topics that are there, and of those that are to be made."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self.decided: dict[str, int] = {}

    def of(self, name: str) -> int | None:
        topic = self._image.topics.named(name)
        return self.decided.get(name) if topic is None else topic.partition_count

    def known(self, name: str) -> int:
        found = self.of(name)
        if found is None:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        return found


def decide(topology: Topology, image: MetadataImage) -> Counts:
    """Raises Unready, and Refused for a topology that can never be right."""
    joined = {each: _joined(one) for each, one in topology.subtopologies.items()}
    counts = Counts(image)
    _judge_sources(topology, counts)
    counts.decided.update(_repartitions(topology, counts))
    repartitions = [one for each in topology.subtopologies.values() for one in each.repartition_source_topics]
    fixed = {one.name for one in repartitions if one.partitions}
    flexible = {one.name for one in repartitions if not one.partitions}
    for each in hash_order(joined):
        for group in joined[each]:
            counts.decided.update(_same(group, fixed, flexible, counts))
    for subtopology in topology.subtopologies.values():
        sources = sources_of(subtopology)
        most = max(map(counts.known, sources), default=None)
        if most is None:
            raise Refused(_INVALID, f"No source topics found for subtopology {subtopology.subtopology_id}")
        counts.decided.update((one.name, most) for one in subtopology.state_changelog_topics)
    return counts


def sources_of(subtopology: Subtopology) -> list[str]:
    return [*subtopology.source_topics, *(one.name for one in subtopology.repartition_source_topics)]


def _joined(subtopology: Subtopology) -> list[list[str]]:
    """Topics that are to have the same number of partitions."""
    sources, repartitions = subtopology.source_topics, subtopology.repartition_source_topics
    out: list[list[str]] = []
    for each in subtopology.copartition_groups:
        if not _are_in(each.source_topics, len(sources)) or not _are_in(
            each.repartition_source_topics, len(repartitions)
        ):
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        names = [sources[at] for at in each.source_topics]
        names += (repartitions[at].name for at in each.repartition_source_topics)
        out.append(hash_order(names))
    return out


def _are_in(places: Iterable[int], count: int) -> bool:
    return all(0 <= at < count for at in places)


def _judge_sources(topology: Topology, counts: Counts) -> None:
    missing = {
        name for each in topology.subtopologies.values() for name in each.source_topics if counts.of(name) is None
    }
    if missing:
        told = summary(sorted(missing, key=text_order))
        raise Unready(Status.MISSING_SOURCE_TOPICS, f"Source topics {told} are missing.")


def summary(names: Collection[str]) -> str:
    first = ", ".join([*names][:3])
    return first if len(names) <= 3 else f"{first} and {len(names) - 3} additional topics"


def _repartitions(topology: Topology, counts: Counts) -> dict[str, int]:
    subtopologies = topology.subtopologies.values()
    found = {
        one.name: one.partitions for each in subtopologies for one in each.repartition_source_topics if one.partitions
    }
    open_ones = [(each, sink) for each in subtopologies for sink in each.repartition_sink_topics]
    while open_ones:
        left: list[tuple[Subtopology, str]] = []
        before = len(found)
        for each, sink in open_ones:
            if sink in found:
                continue
            most = _most(each, found, counts)
            if most is None:
                left.append((each, sink))
            else:
                found[sink] = most
        if left and len(found) == before:
            raise Refused(_INVALID, _UNRESOLVED)
        open_ones = left
    if any(one.name not in found for each in subtopologies for one in each.repartition_source_topics):
        raise Refused(_INVALID, _UNWRITTEN)
    return found


def _most(subtopology: Subtopology, found: dict[str, int], counts: Counts) -> int | None:
    inner = (found.get(one.name) for one in subtopology.repartition_source_topics)
    outer = map(counts.of, subtopology.source_topics)
    return max((each for each in (*inner, *outer) if each is not None), default=None)


def _same(group: list[str], fixed: set[str], flexible: set[str], counts: Counts) -> dict[str, int]:
    """The partitions of the repartition topics among topics that are joined."""
    if not group:
        return {}
    own = {name: counts.known(name) for name in group if name in fixed or name in flexible}
    others = {name: counts.known(name) for name in group if name not in own}
    if others:
        number = _one_number(others, others)
    elif fixed:
        number = _one_number({name: counts.known(name) for name in fixed}, own)
    else:
        number = max(0, *own.values())
        if not number:
            words = "All topics in the copartition group had undefined partition number: "
            raise Refused(_INVALID, f"{words}[{', '.join(own)}]")
    for name, has in own.items():
        if name in fixed and has != number:
            words = (
                f"Number of partitions [{has}] of repartition topic [{name}] doesn't match number of partitions "
                f"[{number}] of the source topic."
            )
            raise Unready(Status.INCORRECTLY_PARTITIONED_TOPICS, words)
    return dict.fromkeys(own, number)


def _one_number(counted: dict[str, int], told: dict[str, int]) -> int:
    if len(set(counted.values())) > 1:
        pairs = ", ".join(f"{name}={told[name]}" for name in sorted(told, key=text_order))
        words = f"Following topics do not have the same number of partitions: [{{{pairs}}}]"
        raise Unready(Status.INCORRECTLY_PARTITIONED_TOPICS, words)
    return next(iter(counted.values()))
