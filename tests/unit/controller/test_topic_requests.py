"""REP-01, REP-03, REP-05 at their edges: how many, how soon, which names. The answers are those of Apache Kafka 4.3.1
to the same requests.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.controller.topics import MAX_DRAWS, MAX_SHOWN, MAX_SHOWN_BYTES, ShownConfigs, TopicIds
from controller_runtime.identifiers import NodeId, Offset, Uuid, WallClock
from controller_runtime.metadata.configs import ConfigsImage
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS, ConfigSource
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_partitions_response import CreatePartitionsResponse
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
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from support.nodes.controller_world import World, uuid

pytestmark = pytest.mark.unit

TOO_MANY = (44, "Excessively large number of partitions per request.")
TOO_LARGE = (44, "Unable to perform excessively large batch operation.")
NO_COUNT = (37, "Number of partitions was set to an invalid non-positive value.")
NO_FACTOR = (38, "Replication factor must be larger than 0, or -1 to use the default value.")
CREATED = (0, None)


def world_with_broker(**config: object) -> World:
    world = World(**config)  # type: ignore[arg-type]
    world.start_broker(1)
    return world


def asked(
    world: World, *topics: tuple[str, int], factor: int = 1, timeout_ms: int = 1000
) -> list[tuple[int, str | None]]:
    """Code and words for each topic, validated only."""
    wanted = tuple(CreatableTopic(name=name, num_partitions=count, replication_factor=factor) for name, count in topics)
    request = CreateTopicsRequest(topics=wanted, timeout_ms=timeout_ms, validate_only=True)
    return [(it.error_code, it.error_message) for it in world.ask(request, CreateTopicsResponse).topics]


@pytest.mark.parametrize(
    "cases",
    [
        {(("a", 9999),): [CREATED], (("a", 10_000),): [TOO_LARGE], (("a", 10_001),): [TOO_MANY]},
        {(("a", 5001), ("b", 5001)): [TOO_MANY] * 2},
        {(("a", 9999), ("b", 1)): [TOO_LARGE] * 2},
        {(("a", 9999), ("b", 0)): [CREATED, NO_COUNT]},
        {(("a", 10_001), ("b", -2)): [TOO_MANY] * 2},
        {(("a", 9000), ("x/", 6000)): [TOO_MANY] * 2},
        {(("a", 9000), ("b", 6000), ("b", 6000)): [CREATED, (42, "Duplicate topic name.")]},
        {(("a", -1), ("b", -1)): [TOO_MANY] * 2},
        {(("a", 4999), ("b", -1)): [TOO_LARGE] * 2, (("a", 5000), ("b", -1)): [TOO_MANY] * 2},
    ],
)
def test_a_request_makes_10_000_records_at_most(
    cases: dict[tuple[tuple[str, int], ...], list[tuple[int, str | None]]],
) -> None:
    """REP-01: partitions are counted first, with `num.partitions`, which is 5001 here, for -1."""
    world = world_with_broker(num_partitions=5001)
    for topics, answers in cases.items():
        assert asked(world, *topics) == answers


@pytest.mark.parametrize(
    ("count", "factor", "answer"),
    [(-2, 1, NO_COUNT), (0, 1, NO_COUNT), (-1, 1, CREATED), (1, -2, NO_FACTOR), (1, 0, NO_FACTOR), (1, -1, CREATED)],
)
def test_counts_are_positive_or_left_to_the_controller(count: int, factor: int, answer: tuple[int, str | None]) -> None:
    """REP-01."""
    assert asked(world_with_broker(), ("a", count), factor=factor) == [answer]


def test_what_is_left_open_is_as_the_file_says() -> None:
    world = world_with_broker(num_partitions=3)
    found = world.create("stock", -1, -1)
    assert (found.num_partitions, found.replication_factor) == (3, 1)
    two = World(default_replication_factor=2)
    two.start_broker(1)
    assert "Unable to replicate the partition 2 time(s)" in str(two.create("stock", 1, -1).error_message)


@pytest.mark.parametrize(
    ("topics", "timeout_ms", "codes"),
    [((("a", 1),), 0, [7]), ((("a", 1),), 1, [0]), ((("a", 1), ("a", 1)), 0, [42]), ((), 0, [])],
)
def test_a_request_whose_time_is_over_creates_nothing(
    topics: tuple[tuple[str, int], ...], timeout_ms: int, codes: list[int]
) -> None:
    """REP-01: unless what it says is wrong anyway."""
    assert [code for code, _ in asked(world_with_broker(), *topics, timeout_ms=timeout_ms)] == codes


@pytest.mark.parametrize("names", [("a.b", "a_b"), ("a_b", "a.b"), ("a.b_c", "a_b.c")])
def test_names_that_differ_in_dots_and_underscores_collide(names: tuple[str, str]) -> None:
    """REP-03: metrics write both as '_'."""
    first, second = names
    world = world_with_broker()
    assert world.create(first).error_code == 0
    assert asked(world, (second, 1)) == [(17, f"Topic '{second}' collides with existing topic: {first}")]


def test_names_of_many_parts_collide_no_more_and_no_less() -> None:
    """REP-03."""
    world = world_with_broker()
    there = "a.b.c.d.e.f.g.h.i.j.k.l"
    for name in ("plain", "b.c", there):
        assert world.create(name).error_code == 0
    collides = f"collides with existing topic: {there}"
    for name, answer in (
        ("a_b_c_d_e_f_g_h_i_j_k_l", (17, f"Topic 'a_b_c_d_e_f_g_h_i_j_k_l' {collides}")),
        ("a_b_c_d.e.f.g.h.i.j.k.l", (17, f"Topic 'a_b_c_d.e.f.g.h.i.j.k.l' {collides}")),
        ("a_b_c_d.e.f.g.h.i.j.k.lx", CREATED),
        ("abcdefghijkl", CREATED),
        (there, (36, f"Topic '{there}' already exists.")),
    ):
        assert asked(world, (name, 1)) == [answer]


@pytest.mark.parametrize(("length", "code"), [(249, 0), (250, 17)])
def test_a_name_has_249_characters_at_most(length: int, code: int) -> None:
    """REP-03."""
    assert [found for found, _ in asked(world_with_broker(), ("x" * length, 1))] == [code]


def test_values_of_new_topics_are_never_nothing() -> None:
    nothing = tuple(CreatableTopicConfig(name=name, value=None) for name in ("retention.ms", "segment.ms"))
    found = world_with_broker().create("stock", configs=nothing)
    assert (found.error_code, found.error_message) == (
        40,
        "Null value not supported for topic configs: retention.ms,segment.ms",
    )


def test_one_active_replica_is_enough_for_a_partition_that_is_placed_by_hand() -> None:
    """REP-02: it leads, and the fenced one is out of sync."""
    world = world_with_broker()
    world.register(2)
    for number, (replicas, code) in enumerate((((1, 2), 0), ((2, 1), 0), ((2,), 39))):
        there = (CreatableReplicaAssignment(partition_index=0, broker_ids=replicas),)
        assert world.create(f"stock-{number}", -1, -1, assignments=there).error_code == code
    for number in (0, 1):
        topic = world.image.topics.named(f"stock-{number}")
        assert topic is not None
        partition = topic.partition(0)
        assert partition is not None
        assert (partition.leader, partition.isr, len(partition.replicas)) == (1, (1,), 2)


def placed(*indexes: int) -> tuple[CreatableReplicaAssignment, ...]:
    return tuple(CreatableReplicaAssignment(partition_index=index, broker_ids=(1,)) for index in indexes)


@pytest.mark.parametrize(
    ("indexes", "why"),
    [
        ((0, 1, 0), "Found multiple manual partition assignments for partition 0"),
        ((1, 2), "partitions should be a consecutive 0-based integer sequence"),
        ((0, 2), "partitions should be a consecutive 0-based integer sequence"),
        ((1, 0), None),
    ],
)
def test_partitions_that_are_placed_by_hand_are_each_there_once(indexes: tuple[int, ...], why: str | None) -> None:
    """REP-01."""
    found = world_with_broker().create("stock", -1, -1, assignments=placed(*indexes))
    assert (found.error_code, found.error_message) == ((0, None) if why is None else (39, why))


def test_a_new_topic_is_its_name_then_its_values_as_they_were_asked_then_its_partitions() -> None:
    """REP-01: the order of the records."""
    world = world_with_broker()
    before = len(world.log)
    values = tuple(
        CreatableTopicConfig(name=name, value=value) for name, value in (("segment.ms", "9"), ("retention.ms", "7"))
    )
    assert world.create("stock", partitions=2, configs=values).error_code == 0
    records = [record for record, _ in world.log[before:]]
    assert [type(record).__name__ for record in records] == [
        "TopicRecord", "ConfigRecord", "ConfigRecord", "PartitionRecord", "PartitionRecord"
    ]  # fmt: skip
    assert [record.name for record in records if isinstance(record, ConfigRecord)] == ["segment.ms", "retention.ms"]
    assert [record.partition_id for record in records if isinstance(record, PartitionRecord)] == [0, 1]


@pytest.mark.parametrize(("replicas", "code"), [((1,), 0), ((2,), 39), (None, 0)])
def test_more_partitions_need_somebody_active_each(replicas: tuple[int, ...] | None, code: int) -> None:
    """REP-02: broker 2 is fenced."""
    world = world_with_broker()
    world.register(2)
    assert world.create("stock").error_code == 0
    there = None if replicas is None else (CreatePartitionsAssignment(broker_ids=replicas),)
    more = CreatePartitionsTopic(name="stock", count=2, assignments=there)
    answer = world.ask(CreatePartitionsRequest(topics=(more,), timeout_ms=9000), CreatePartitionsResponse)
    assert [each.error_code for each in answer.results] == [code]


def test_nobody_active_is_no_place_for_more_partitions_or_topics() -> None:
    """REP-02: with and without assignments, 39 and 38."""
    world = world_with_broker()
    assert world.create("stock").error_code == 0
    world.heartbeat(1, want_fence=True)
    for assignments, code in ((None, 38), ((CreatePartitionsAssignment(broker_ids=(1,)),), 39)):
        more = CreatePartitionsTopic(name="stock", count=2, assignments=assignments)
        answer = world.ask(CreatePartitionsRequest(topics=(more,), timeout_ms=9000), CreatePartitionsResponse)
        assert [each.error_code for each in answer.results] == [code]
    assert world.create("other").error_code == 38
    assert world.create("other", -1, -1, assignments=placed(0)).error_code == 39


def test_a_request_for_many_partitions_takes_long() -> None:
    """Whoever asks for them, by number, by hand, or by `num.partitions`."""
    world, wide = World(), World(num_partitions=10_000)
    one, unsaid = (CreateTopicsRequest(topics=(CreatableTopic(name="a", num_partitions=n),)) for n in (1, -1))
    by_hand = tuple(CreatableReplicaAssignment(partition_index=i, broker_ids=(1,)) for i in range(10_000))
    many = (
        CreateTopicsRequest(topics=(CreatableTopic(name="a", num_partitions=10_000),)),
        CreateTopicsRequest(topics=(CreatableTopic(name="a", num_partitions=-1, assignments=by_hand),)),
        CreateTopicsRequest(
            topics=(CreatableTopic(name="a", num_partitions=10_000), CreatableTopic(name="b", num_partitions=-10_000))
        ),
    )
    assert all(map(world.service.comes_in_pieces, many))
    assert not any(map(world.service.comes_in_pieces, (one, unsaid, DeleteTopicsRequest())))
    assert [wide.service.comes_in_pieces(one), wide.service.comes_in_pieces(unsaid)] == [False, True]


def test_the_bounds_of_a_request_may_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Kafka: so many partitions, and so many records (those of topics and configs included), are not too many."""
    world = World()
    world.start_broker(1)

    def code(topic: str, partitions: int) -> ErrorCode:
        one = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
        return ErrorCode(world.ask(CreateTopicsRequest(topics=(one,)), CreateTopicsResponse, 7).topics[0].error_code)

    monkeypatch.setattr("controller_runtime.controller.topics.MAX_PARTITIONS_PER_REQUEST", 5)
    assert [code("five", 5), code("six", 6)] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]
    monkeypatch.setattr("controller_runtime.controller.topics.MAX_RECORDS_PER_REQUEST", 4)
    assert [code("three", 3), code("four", 4)] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]


def test_an_id_is_drawn_a_hundred_times_and_no_more() -> None:
    drawn: list[Uuid] = []

    def always() -> Uuid:
        drawn.append(Uuid.of(0, 5))
        return drawn[-1]

    with pytest.raises(AssertionError, match="cannot be used"):
        TopicIds(World().image, always).next()
    assert len(drawn) == MAX_DRAWS


# Deleting.


def by(*keys: str | Uuid) -> tuple[DeleteTopicState, ...]:
    return tuple(
        DeleteTopicState(name=key) if isinstance(key, str) else DeleteTopicState(name=None, topic_id=key)
        for key in keys
    )


UNKNOWN = uuid("nope", 1)


@pytest.mark.parametrize(
    ("states", "timeout_ms", "answers"),
    [
        (by("nope"), 0, [("nope", 7)]),
        (by(UNKNOWN), 0, [(None, 7)]),
        (by("nope", UNKNOWN), -1, [("nope", 7), (None, 7)]),
        (by("nope"), 1, [("nope", 3)]),
        (by(UNKNOWN), 1, [(None, 100)]),
        (by("nope", "nope"), 0, [("nope", 42)]),
        (by(UNKNOWN, UNKNOWN), 0, [(None, 42)]),
        ((), 0, []),
    ],
)
def test_a_request_whose_time_is_over_deletes_nothing(
    states: tuple[DeleteTopicState, ...], timeout_ms: int, answers: list[tuple[str | None, int]]
) -> None:
    """REP-05: unless what it says is wrong anyway."""
    answer = World().ask(DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms), DeleteTopicsResponse)
    assert [(it.name, it.error_code) for it in answer.responses] == answers


def test_an_id_that_is_given_more_than_once_is_refused() -> None:
    """REP-05."""
    world = world_with_broker()
    topic = world.create("stock").topic_id
    for times in (2, 3):
        answer = world.ask(DeleteTopicsRequest(topics=by(*[topic] * times), timeout_ms=1000), DeleteTopicsResponse)
        found = [(it.name, it.topic_id, it.error_code, it.error_message) for it in answer.responses]
        assert found == [(None, topic, 42, "Duplicate topic id.")]
    assert world.image.topics.named("stock") is not None


@pytest.mark.parametrize(("version", "code"), [(1, 42), (2, 42), (3, 73), (6, 73)])
def test_that_nothing_can_be_deleted_is_told_to_who_knows_the_code(version: int, code: int) -> None:
    """REP-05."""
    world = World(delete_topic_enable=False)
    context = RequestContext(version, Offset(world.offset), WallClock(0))
    request = DeleteTopicsRequest(topics=by("stock"), topic_names=("stock",), timeout_ms=1000)
    decision: Decision = world.service.handle(world.image, request, context, world.now)
    assert isinstance(decision.response, DeleteTopicsResponse)
    assert [it.error_code for it in decision.response.responses] == [code]


def test_the_answer_of_a_new_topic_shows_what_holds_for_it_now() -> None:
    """REP-01: what all brokers, this node and the topic itself set, each as soon as it is set, and no longer."""
    world = World(node_configs={"log.retention.bytes": "77"})
    world.start_broker(1)

    def shown(name: str, **own: str) -> dict[str, tuple[str | None, int]]:
        configs = tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in own.items())
        found = world.create(name, configs=configs).configs or ()
        assert [each.name for each in found] == sorted(TOPIC_CONFIGS)
        return {each.name: (each.value, each.config_source) for each in found}

    def set_for(resource: str, value: str | None) -> None:
        record = ConfigRecord(resource_type=4, resource_name=resource, name="log.retention.bytes", value=value)
        world.append([(record, 0)])

    assert shown("first")["retention.bytes"] == ("77", ConfigSource.STATIC_BROKER)
    assert shown("own", retention_bytes="5")["retention.bytes"] == ("5", ConfigSource.TOPIC)
    set_for("", "88")
    assert shown("second")["retention.bytes"] == ("88", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    set_for("1", "99")
    assert shown("third")["retention.bytes"] == ("99", ConfigSource.DYNAMIC_BROKER)
    assert shown("own-again", retention_bytes="5")["segment.bytes"] == ("1073741824", ConfigSource.DEFAULT)
    set_for("1", None)
    set_for("", None)
    assert shown("fourth")["retention.bytes"] == ("77", ConfigSource.STATIC_BROKER)


def test_topics_that_set_the_same_are_answered_with_the_same_bytes() -> None:
    """REP-01: made once for each version, whatever came before; of many sets, only the last are kept."""
    shown, nothing = ShownConfigs(NodeId(1), {}), ConfigsImage()
    sets: list[dict[str, str]] = [{}, *({"retention.ms": str(number)} for number in range(MAX_SHOWN))]
    answers = [shown.of(nothing, own) for own in sets]
    assert all(shown.of(nothing, dict(own)) is answer for own, answer in zip(sets, answers, strict=True))
    for configs in answers[:2]:
        for version in (5, 6, 7):
            wanted = encode(_answer(tuple(configs)), version)
            assert encode(_answer(configs), version) == wanted == encode(_answer(configs), version)
        assert set(configs.written) == {5, 6, 7}
    shown.of(nothing, {"retention.ms": "-1"})
    assert shown.of(nothing, sets[1]) is not answers[1]
    assert shown.of(nothing, {}) is answers[0]
    shown.of(nothing, {"follower.replication.throttled.replicas": "1:1," * MAX_SHOWN_BYTES})
    assert len(shown._with) == 1, "a large set is kept alone"


def _answer(configs: tuple[CreatableTopicConfigs, ...]) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=(CreatableTopicResult(name="stock", configs=configs),))
