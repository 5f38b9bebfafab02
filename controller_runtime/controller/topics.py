"""Creating topics: checks, placement, records, in Kafka's order and with Kafka's words.

Records of one topic are its TopicRecord, its configs, its partitions; all topics of one request are one atomic batch. A
topic that is refused does not hold back the others. Replication factors above 1 are refused here, after Kafka's own
checks, until replication is built.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import accumulate, chain, product
from typing import TypeVar

from controller_runtime.answers.refused import Refused
from controller_runtime.answers.topic_names import MAX_PARTITIONS_PER_REQUEST, fault_of, may_collide, unified
from controller_runtime.controller.decision import Decision, Pieces
from controller_runtime.controller.mutation_quota import UNLIMITED, MutationQuota
from controller_runtime.controller.partition_changes import is_active
from controller_runtime.controller.patience import check_time
from controller_runtime.controller.placement import Placer, check_replicas, default_directory
from controller_runtime.identifiers import METADATA_TOPIC_NAME, ZERO_UUID, NodeId, Offset, Uuid
from controller_runtime.metadata.cluster import is_reserved
from controller_runtime.metadata.config_values import InvalidConfig
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, TOPIC, ConfigsImage, Values
from controller_runtime.metadata.features import VersionedRecord, record_version
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.snapshot import partition_record
from controller_runtime.metadata.topic_configs import ConfigSource, check_values, effective_configs
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.create_topics_response import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.schema import Shared
from controller_runtime.values import dataclass

_Made = TypeVar("_Made")
Pausing = Generator[tuple[VersionedRecord, ...], Offset, _Made]
"""A part of a decision that lets others go first now and then."""

MAX_RECORDS_PER_REQUEST = 10_000
PIECE = 250
"""So many partitions are planned at once, by a request that has more: a few milliseconds."""
TOPIC_WEIGHT = 8
"""What a topic costs beside its partitions, in partitions."""
MAX_DRAWS = 100
MAX_SHOWN = 64
"""So many sets of configurations that topics had lately are kept with their answers: some 3 KB each."""
MAX_SHOWN_BYTES = 1024
"""Beside values larger than this no others are kept."""
MAX_SEPARATORS_TRIED = 10
"""Up to so many parts all spellings are looked up; beyond, every name is compared."""


Shown = Shared[CreatableTopicConfigs]


class ShownConfigs:
    """The effective configurations in the answer of a new topic. They are the same, with their bytes, for all topics
    that set the same, until this node's values change: an answer would otherwise cost more than its topic.
    """

    def __init__(self, node_id: NodeId, node_configs: Mapping[str, str]) -> None:
        self._node_id = node_id
        self._node_configs = node_configs
        self._made_of: tuple[Values, Values] | None = None
        """The values that the others were made of; kept, so that no others can be taken for them."""
        self._without: Shown = Shared(())
        """Of a topic that sets nothing itself."""
        self._with: dict[tuple[tuple[str, str], ...], Shown] = {}

    def of(self, configs: ConfigsImage, own: Mapping[str, str]) -> Shown:
        """Of a topic that sets these itself."""
        of_node, of_all = configs.of(BROKER, str(self._node_id)), configs.of(BROKER, ALL_BROKERS)
        if self._made_of is None or self._made_of[0] is not of_node or self._made_of[1] is not of_all:
            found = effective_configs(configs, {}, self._node_id, self._node_configs)
            self._without = Shared(
                CreatableTopicConfigs(name=one.config.name, value=one.value, config_source=one.source) for one in found
            )
            self._with.clear()
            self._made_of = of_node, of_all
        return self._of_topic(own) if own else self._without

    def _of_topic(self, own: Mapping[str, str]) -> Shown:
        key = tuple(own.items())
        known = self._with.get(key)
        if known is None:
            if len(self._with) >= MAX_SHOWN or sum(map(len, own.values())) > MAX_SHOWN_BYTES:
                self._with.clear()
            known = self._with[key] = Shared(
                CreatableTopicConfigs(name=one.name, value=own[one.name], config_source=ConfigSource.TOPIC)
                if one.name in own
                else one
                for one in self._without
            )
        return known


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """What a request leaves open, what its answer shows, and the dice."""

    num_partitions: int
    replication_factor: int
    shown: ShownConfigs
    placer: Placer


class TopicIds:
    """New topic ids: never one that is reserved, in use, or given before; none begins with '-', which a command line
    would misread.
    """

    def __init__(self, image: MetadataImage, new_uuid: Callable[[], Uuid]) -> None:
        self._image = image
        self._new_uuid = new_uuid
        self._given: set[Uuid] = set()

    def next(self) -> Uuid:
        for _ in range(MAX_DRAWS):
            candidate = self._new_uuid()
            fit = not is_reserved(candidate) and not candidate.begins_with_dash
            if fit and candidate not in self._given and candidate not in self._image.topics.by_id:
                self._given.add(candidate)
                return candidate
        raise AssertionError(f"{MAX_DRAWS} random ids in a row cannot be used")


def takes_long(request: CreateTopicsRequest, num_partitions: int) -> bool:
    """Whether consensus would be kept waiting for this decision, unless it is made in pieces."""
    return sum(_weight(topic, num_partitions) for topic in request.topics) > 2 * PIECE


def plan_topics(
    image: MetadataImage,
    request: CreateTopicsRequest,
    defaults: TopicDefaults,
    ids: TopicIds,
    quota: MutationQuota = UNLIMITED,
) -> Pieces:
    """In pieces, all of them empty: it is atomic. `image` has to stay the newest until the end."""
    wanted, refused = _split_refused(request.topics)
    default = defaults.num_partitions
    if wanted:
        check_time(request.timeout_ms)
    if max(accumulate([_partition_count(topic, default) for topic in wanted]), default=0) > MAX_PARTITIONS_PER_REQUEST:
        raise Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    results: list[CreatableTopicResult] = []
    records: list[VersionedRecord] = []
    weight = 0
    for topic in wanted:
        weight += _weight(topic, default)
        if weight > PIECE:
            yield ()
            weight = 0
        try:
            _check_name(image, topic.name)
            result, made = yield from _create_topic(image, topic, defaults, ids, quota)
        except Refused as error:
            results.append(_refused(topic.name, error))
        else:
            results.append(result)
            records += made
    if len(records) > MAX_RECORDS_PER_REQUEST:
        raise Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    response = CreateTopicsResponse(topics=(*results, *refused))
    return Decision(response, () if request.validate_only else tuple(records))


def _partition_count(topic: CreatableTopic, default: int) -> int:
    """What is asked for; nonsense is refused later."""
    return len(topic.assignments) or (default if topic.num_partitions == -1 else topic.num_partitions)


def _weight(topic: CreatableTopic, default: int) -> int:
    return TOPIC_WEIGHT + abs(_partition_count(topic, default))


def _split_refused(
    topics: Iterable[CreatableTopic],
) -> tuple[list[CreatableTopic], list[CreatableTopicResult]]:
    """The topics to create, and those refused by name alone."""
    topics = list(topics)
    names = {topic.name for topic in topics}
    if len(names) == len(topics) and METADATA_TOPIC_NAME not in names:
        return topics, []
    count = Counter(topic.name for topic in topics)
    refused = []
    for name, times in count.items():
        if name == METADATA_TOPIC_NAME:
            why = Refused(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
            refused.append(_refused(name, why))
        elif times > 1:
            refused.append(_refused(name, Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")))
    names -= {result.name for result in refused}
    return [topic for topic in topics if topic.name in names], refused


def _refused(name: str, error: Refused) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, topic_id=ZERO_UUID, error_code=error.code, error_message=error.message)


def _check_name(image: MetadataImage, name: str) -> None:
    """Against the topics that exist; two new ones of one request may collide, as in Kafka."""
    fault = fault_of(name)
    if fault is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
    if name in image.topics.ids:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if may_collide(name):
        other = _colliding(image, name)
        if other is not None:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")


def _colliding(image: MetadataImage, name: str) -> str | None:
    """An existing topic whose name differs from this one only in '.' and '_'."""
    parts = unified(name).split("_")
    if len(parts) <= MAX_SEPARATORS_TRIED:
        variants = (
            "".join(chain.from_iterable(zip(parts, separators, strict=False))) + parts[-1]
            for separators in product("._", repeat=len(parts) - 1)
        )
        return next((other for other in variants if other in image.topics.ids), None)
    wanted = unified(name)
    return next((other for other in image.topics.ids if unified(other) == wanted), None)


def _create_topic(
    image: MetadataImage, topic: CreatableTopic, defaults: TopicDefaults, ids: TopicIds, quota: MutationQuota
) -> Pausing[tuple[CreatableTopicResult, list[VersionedRecord]]]:
    configs = _check_configs(topic.configs) if topic.configs else {}
    if topic.assignments:
        assignments = yield from _manual_assignments(image, topic)
    else:
        assignments = _placed_assignments(image, topic, defaults)
    quota.take(len(assignments))
    topic_id = ids.next()
    level = image.features.metadata_version
    version = record_version(PartitionRecord, level)
    records: list[VersionedRecord] = [(TopicRecord(name=topic.name, topic_id=topic_id), 0)]
    for name, value in configs.items():
        record = ConfigRecord(resource_type=TOPIC, resource_name=topic.name, name=name, value=value)
        records.append((record, 0))
    for index, replicas in enumerate(assignments):
        if (index + 1) % PIECE == 0:
            yield ()
        partition = new_partition(image, replicas)
        records.append((partition_record(topic_id, index, partition, level), version))
    return _success(image, topic.name, topic_id, assignments=assignments, configs=configs, defaults=defaults), records


def _check_configs(configs: Iterable[CreatableTopicConfig]) -> dict[str, str]:
    nulls = [config.name for config in configs if config.value is None]
    if nulls:
        names = ",".join(nulls)
        raise Refused(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {names}")
    values = {config.name: config.value for config in configs if config.value is not None}
    try:
        check_values(values)
    except InvalidConfig as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from error
    return values


def _placed_assignments(image: MetadataImage, topic: CreatableTopic, defaults: TopicDefaults) -> list[list[int]]:
    factor, partitions = topic.replication_factor, topic.num_partitions
    if factor < -1 or factor == 0:
        why = "Replication factor must be larger than 0, or -1 to use the default value."
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, why)
    if partitions < -1 or partitions == 0:
        why = "Number of partitions was set to an invalid non-positive value."
        raise Refused(ErrorCode.INVALID_PARTITIONS, why)
    factor = defaults.replication_factor if factor == -1 else factor
    partitions = defaults.num_partitions if partitions == -1 else partitions
    return defaults.placer.place(image.cluster.brokers, partitions, factor)


def _manual_assignments(image: MetadataImage, topic: CreatableTopic) -> Pausing[list[list[int]]]:
    if topic.replication_factor != -1:
        why = "A manual partition assignment was specified, but replication factor was not set to -1."
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    if topic.num_partitions != -1:
        why = "A manual partition assignment was specified, but numPartitions was not set to -1."
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    found: dict[int, list[int]] = {}
    for number, assignment in enumerate(topic.assignments, 1):
        if number % PIECE == 0:
            yield ()
        _check_manual(image, assignment, found)
        found[assignment.partition_index] = list(assignment.broker_ids)
    if sorted(found) != list(range(len(found))):
        why = "partitions should be a consecutive 0-based integer sequence"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    return [found[index] for index in range(len(found))]


def _check_manual(
    image: MetadataImage, assignment: CreatableReplicaAssignment, earlier: Mapping[int, list[int]]
) -> None:
    index, replicas = assignment.partition_index, assignment.broker_ids
    if index in earlier:
        why = f"Found multiple manual partition assignments for partition {index}"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    check_replicas(image, replicas, len(next(iter(earlier.values()), replicas)))
    check_somebody_leads(image, index, replicas)


def check_somebody_leads(image: MetadataImage, index: int, replicas: Sequence[int]) -> None:
    """Raises Refused with INVALID_REPLICA_ASSIGNMENT."""
    if not any(is_active(image, broker) for broker in replicas):
        why = (
            f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
            "controlled shutdown."
        )
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)


def new_partition(image: MetadataImage, replicas: list[int]) -> Partition:
    brokers = image.cluster.brokers
    isr = tuple([broker for broker in replicas if is_active(image, broker)])
    assert isr, f"nobody could lead a partition on {replicas}"
    return Partition(
        replicas=tuple(replicas),
        directories=tuple([default_directory(brokers[NodeId(broker)]) for broker in replicas]),
        isr=isr,
        leader=isr[0],
    )


def _success(
    image: MetadataImage,
    name: str,
    topic_id: Uuid,
    assignments: list[list[int]],
    configs: Mapping[str, str],
    defaults: TopicDefaults,
) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(assignments),
        replication_factor=len(assignments[0]),
        configs=defaults.shown.of(image.configs, configs),
    )
