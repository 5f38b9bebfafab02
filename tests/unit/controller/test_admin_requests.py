"""Requests of administrators: features, deletion by id, descriptions, refusals of a whole request."""

from __future__ import annotations

import pytest

from controller_runtime.answers.refused import Refused
from controller_runtime.configuration.settings import RULES
from controller_runtime.controller.activation import activation_records
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.controller.service import SERVED, SERVED_BY_ACTIVE
from controller_runtime.controller.topics import TopicIds
from controller_runtime.identifiers import NodeId, Offset, Uuid, WallClock
from controller_runtime.metadata.features import bootstrap_records
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.api_keys import api, request_class, response_class
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.error_responses import not_controller_message, refusal
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import DescribeClusterResponse
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResponse
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from controller_runtime.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
)
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.register_controller_record import (
    ControllerEndpoint,
    RegisterControllerRecord,
)
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse
from support.nodes.controller_world import ALL_FEATURES, CLUSTER_ID, World, directory_of, uuid

pytestmark = pytest.mark.unit

UPGRADE, SAFE, UNSAFE = 1, 2, 3


def update(
    world: World, *changes: tuple[str, int, int], version: int = 2, validate_only: bool = False
) -> UpdateFeaturesResponse:
    keys = tuple(FeatureUpdateKey(feature=f, max_version_level=level, upgrade_type=kind) for f, level, kind in changes)
    return world.ask(
        UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only), UpdateFeaturesResponse, version
    )


def test_features_go_up_and_down_together_or_not_at_all() -> None:
    world = World(level=25)
    assert update(world, ("metadata.version", 30, UPGRADE), ("share.version", 1, UPGRADE)).error_code == 0
    assert (world.image.features.metadata_version, world.image.features.level("share.version")) == (30, 1)
    before = world.image
    assert update(world, ("share.version", 0, SAFE), ("group.version", 9, UPGRADE)).error_code == 95
    assert world.image == before
    assert update(world, ("share.version", 0, SAFE)).error_code == 0
    assert "share.version" not in world.image.features.levels


def test_a_validation_changes_nothing() -> None:
    world = World(level=25)
    before = world.image
    assert update(world, ("metadata.version", 30, UPGRADE), validate_only=True).error_code == 0
    assert world.image == before


REFUSED_UPDATES = {
    "down without saying so": (("transaction.version", 1, UPGRADE), "without setting the upgrade type"),
    "up with a downgrade": (("metadata.version", 30, SAFE), "Can't downgrade to a newer version."),
    "a record would be lost": (("metadata.version", 16, SAFE), "Refusing to perform the requested downgrade"),
    "unsafe": (("metadata.version", 16, UNSAFE), "Unsafe metadata downgrade is not supported in this version."),
    "below zero": (("group.version", -1, SAFE), "A feature version cannot be less than 0."),
    "above what we know": (("metadata.version", 31, UPGRADE), "Local controller 1 only supports versions 7-30"),
    "no such feature": (("no.such", 1, UPGRADE), "Local controller 1 does not support this feature."),
    "no upgrade type": (("group.version", 1, 0), "does not support the given upgrade type"),
    "a dependency": (("eligible.leader.replicas.version", 1, UPGRADE), "depends on metadata.version level 23"),
}


@pytest.mark.parametrize("case", REFUSED_UPDATES)
def test_a_feature_update_is_refused(case: str) -> None:
    change, words = REFUSED_UPDATES[case]
    world = World(level=20 if case == "a dependency" else 29)
    answer = update(world, change)
    assert answer.error_code == 95
    assert words in str(answer.error_message)


def test_a_broker_that_does_not_support_a_level_blocks_it() -> None:
    world = World(level=25)
    old = tuple(f for f in ALL_FEATURES if f.name != "share.version")
    world.start_broker(1, features=old)
    assert "Broker 1 does not support this feature" in str(update(world, ("share.version", 1, UPGRADE)).error_message)


def test_old_versions_get_a_result_per_feature() -> None:
    """FEA-05."""
    world = World(level=25)
    assert [result.feature for result in update(world, ("share.version", 1, UPGRADE), version=1).results] == [
        "share.version"
    ]
    assert update(world, ("share.version", 1, UPGRADE), version=2).results == ()


def lower_share_version(allow_downgrade: bool, upgrade_type: int, version: int) -> tuple[int, int]:
    """The error, and the level afterwards, of a request that asks for share.version 0 where it is 1."""
    world = World(level=30)
    assert update(world, ("share.version", 1, UPGRADE)).error_code == 0
    key = FeatureUpdateKey(
        feature="share.version", max_version_level=0, allow_downgrade=allow_downgrade, upgrade_type=upgrade_type
    )
    answer = world.ask(UpdateFeaturesRequest(feature_updates=(key,)), UpdateFeaturesResponse, version)
    return answer.error_code, world.image.features.level("share.version")


def test_version_0_lowers_a_level_only_where_a_downgrade_is_allowed() -> None:
    """FEA-05: its `allow_downgrade` is a safe downgrade; the upgrade type, which it does not have, says
    nothing there.
    """
    assert lower_share_version(True, UPGRADE, 0) == (0, 0)
    assert lower_share_version(False, UPGRADE, 0) == (95, 1)
    assert lower_share_version(False, SAFE, 0) == (95, 1)


@pytest.mark.parametrize("version", [1, 2])
def test_later_versions_lower_a_level_only_by_the_upgrade_type(version: int) -> None:
    """FEA-05."""
    assert lower_share_version(False, SAFE, version) == (0, 0)
    assert lower_share_version(True, UPGRADE, version) == (95, 1)


def test_a_downgrade_that_version_0_allows_is_a_safe_one() -> None:
    """FEA-05: nothing that the log holds may be lost by it."""
    world = World(level=20)
    key = FeatureUpdateKey(feature="metadata.version", max_version_level=16, allow_downgrade=True)
    answer = world.ask(UpdateFeaturesRequest(feature_updates=(key,)), UpdateFeaturesResponse, 0)
    assert answer.error_code == 95
    assert "Refusing to perform the requested downgrade" in str(answer.error_message)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_one_update_that_fails_fails_all_and_is_named(version: int) -> None:
    """FEA-05: all or nothing, whichever comes first; the answer has no results then."""
    for order in (1, -1):
        world = World(level=25)
        before = world.image
        changes = (("share.version", 1, UPGRADE), ("group.version", 9, UPGRADE))[::order]
        answer = update(world, *changes, version=version)
        assert (answer.error_code, answer.results) == (95, ())
        assert "The update failed for all features since the following feature had an error: " in str(
            answer.error_message
        )
        assert "Invalid update version 9 for feature group.version" in str(answer.error_message)
        assert world.image == before


@pytest.mark.parametrize(("version", "results"), [(0, 2), (1, 2), (2, 0)])
def test_the_answer_has_results_before_version_2_and_a_validation_has_no_records(version: int, results: int) -> None:
    """FEA-05: reply shape v0/v1 against v2; validate-only (from version 1 on) judges as the real request does and
    writes nothing.
    """
    changes = (("share.version", 1, UPGRADE), ("group.version", 1, UPGRADE))
    for validate_only in (True, False):
        world = World(level=25)
        before = world.image
        answer = update(world, *changes, version=version, validate_only=validate_only)
        assert (answer.error_code, [it.feature for it in answer.results]) == (
            0,
            ["share.version", "group.version"][:results],
        )
        assert (world.image == before) is validate_only
    refused = update(World(level=25), ("group.version", 9, UPGRADE), version=version, validate_only=True)
    assert refused.error_code == 95


def test_kraft_version_is_left_to_raft() -> None:
    assert update(World(), ("kraft.version", 1, UPGRADE)).error_code == 0
    assert "Can't downgrade the version of this feature." in str(
        update(World(), ("kraft.version", 0, SAFE)).error_message
    )


UPGRADE_KRAFT = FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=UPGRADE)


def upgrade_kraft(fault: str | None, validate_only: bool = False) -> Decision:
    world = World()
    context = RequestContext(2, Offset(world.offset), WallClock(0), kraft_version=0, kraft_upgrade_fault=fault)
    request = UpdateFeaturesRequest(feature_updates=(UPGRADE_KRAFT,), validate_only=validate_only)
    return world.service.handle(world.image, request, context, world.now)


def test_consensus_raises_kraft_version_and_a_no_op_gives_the_reply_its_offset() -> None:
    """RCF-10."""
    decision = upgrade_kraft(fault=None)
    assert (decision.kraft_version, decision.records) == (1, ((NoOpRecord(), 0),))
    assert upgrade_kraft(fault=None, validate_only=True).kraft_version is None


def test_what_consensus_cannot_do_is_refused_with_its_words() -> None:
    """RCF-10."""
    decision = upgrade_kraft(fault="not all of the voters support it")
    assert decision.response == UpdateFeaturesResponse(error_code=95, error_message="not all of the voters support it")
    assert (decision.kraft_version, decision.records) == (None, ())


def delete(world: World, *states: DeleteTopicState, version: int = 6) -> list[tuple[str | None, int]]:
    answer = world.ask(DeleteTopicsRequest(topics=states, timeout_ms=1000), DeleteTopicsResponse, version)
    return [(result.name, result.error_code) for result in answer.responses]


def world_with_topic(**config: object) -> tuple[World, Uuid]:
    world = World(**config)  # type: ignore[arg-type]
    world.start_broker(1)
    return world, world.create("stock").topic_id


def test_topics_are_deleted_by_name_or_id_but_not_both() -> None:
    """REP-05."""
    world, topic_id = world_with_topic()
    assert delete(world, DeleteTopicState(name="stock", topic_id=topic_id)) == [("stock", 42)]
    assert delete(world, DeleteTopicState(name=None)) == [(None, 42)]
    assert delete(world, DeleteTopicState(name=None, topic_id=uuid("nope", 1))) == [(None, 100)]
    assert delete(world, DeleteTopicState(name="stock"), DeleteTopicState(name="stock")) == [("stock", 42)]
    assert delete(world, DeleteTopicState(name="stock"), DeleteTopicState(name=None, topic_id=topic_id)) == [
        ("stock", 42)
    ]
    assert world.image.topics.named("stock") is not None
    _, other = world_with_topic()
    world.create("again")
    assert delete(world, DeleteTopicState(name=None, topic_id=uuid("topic", 2))) == [("again", 0)]
    assert other == topic_id


def test_old_requests_name_topics_plainly() -> None:
    world, _ = world_with_topic()
    answer = world.ask(DeleteTopicsRequest(topic_names=("stock", "nope"), timeout_ms=1000), DeleteTopicsResponse, 4)
    assert [(result.name, result.error_code) for result in answer.responses] == [("stock", 0), ("nope", 3)]


def test_deletion_can_be_disabled() -> None:
    world, _ = world_with_topic(delete_topic_enable=False)
    assert delete(world, DeleteTopicState(name="stock")) == [("stock", 73)]
    answer = world.ask(DeleteTopicsRequest(topic_names=("stock",), timeout_ms=1000), DeleteTopicsResponse, 2)
    assert [result.error_code for result in answer.responses] == [42]


def test_one_bad_topic_does_not_hold_back_the_others() -> None:
    world = World()
    world.start_broker(1)
    topics = tuple(
        CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("one", "a/b", "two", "two")
    )
    answer = world.ask(CreateTopicsRequest(topics=topics), CreateTopicsResponse)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("one", 0), ("a/b", 17), ("two", 42)]
    assert list(world.image.topics.ids) == ["one"]


def test_a_topic_id_is_never_reserved_repeated_or_in_use() -> None:
    world, taken = world_with_topic()
    dash = Uuid(b"\xfb" * 16)
    assert str(dash).startswith("-")
    drawn = iter([Uuid.of(0, 5), dash, taken, uuid("new", 1), uuid("new", 1), uuid("new", 2)])
    ids = TopicIds(world.image, lambda: next(drawn))
    assert [ids.next(), ids.next()] == [uuid("new", 1), uuid("new", 2)]


def test_partitions_of_a_manual_assignment_are_counted_from_zero() -> None:
    world = World()
    world.start_broker(1)
    gap = tuple(CreatableReplicaAssignment(partition_index=i, broker_ids=(1,)) for i in (0, 2))
    assert world.create("gap", -1, -1, assignments=gap).error_code == 39
    twice = tuple(CreatableReplicaAssignment(partition_index=0, broker_ids=(1,)) for _ in range(2))
    assert world.create("twice", -1, -1, assignments=twice).error_code == 39
    empty = (CreatableReplicaAssignment(partition_index=0, broker_ids=()),)
    assert world.create("empty", -1, -1, assignments=empty).error_code == 39


def test_an_answer_to_creation_tells_the_effective_configs() -> None:
    world = World(node_configs={"log.segment.bytes": "2097152"})
    world.start_broker(1)
    configs = {found.name: (found.value, found.config_source) for found in world.create("stock").configs or ()}
    assert len(configs) == 33
    assert configs["segment.bytes"] == ("2097152", 4)
    assert configs["retention.ms"] == ("604800000", 5)
    assert configs["min.insync.replicas"] == ("1", 3)  # the bootstrap record of a cluster with ELR


def describe(world: World, kind: int, name: str, *keys: str) -> tuple[int, dict[str, str | None]]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys or None)
    answer = world.ask(DescribeConfigsRequest(resources=(resource,), include_synonyms=True), DescribeConfigsResponse)
    result = answer.results[0]
    return result.error_code, {found.name: found.value for found in result.configs}


def test_configs_are_described() -> None:
    world, _ = world_with_topic(node_configs={"ssl.key.password": "hidden", "num.partitions": "3"}, rules=RULES)
    change = AlterConfigsResource(
        resource_type=2, resource_name="stock", configs=(AlterableConfig(name="retention.ms", value="5"),)
    )
    world.decide(IncrementalAlterConfigsRequest(resources=(change,)))
    assert describe(world, 2, "stock", "retention.ms") == (0, {"retention.ms": "5"})
    assert describe(world, 2, "nope") == (3, {})
    assert describe(world, 2, "a/b") == (17, {})
    assert describe(world, 4, "2") == (42, {})
    assert describe(world, 16, "x", "interval.ms") == (0, {"interval.ms": "300000"})
    assert describe(world, 32, "x", "share.isolation.level") == (0, {"share.isolation.level": "read_uncommitted"})
    assert describe(world, 9, "x") == (42, {})
    told = {"min.insync.replicas": "1", "num.partitions": "3", "ssl.key.password": None, "num.io.threads": "8"}
    assert describe(world, 4, "1", *told) == (0, told)


def test_each_resource_may_be_altered_once_per_request() -> None:
    world, _ = world_with_topic()
    change = AlterConfigsResource(
        resource_type=2, resource_name="stock", configs=(AlterableConfig(name="retention.ms", value="5"),)
    )
    unknown = AlterConfigsResource(resource_type=9, resource_name="x")
    request = IncrementalAlterConfigsRequest(resources=(change, change, unknown))
    answer = world.ask(request, IncrementalAlterConfigsResponse)
    assert [response.error_code for response in answer.responses] == [42, 35]
    only_checked = world.decide(IncrementalAlterConfigsRequest(resources=(change,), validate_only=True))
    assert only_checked.records == ()
    huge = AlterableConfig(name="follower.replication.throttled.replicas", value="1:1," * 10_000)
    refused = world.ask(
        IncrementalAlterConfigsRequest(
            resources=(AlterConfigsResource(resource_type=2, resource_name="stock", configs=(huge,)),)
        ),
        IncrementalAlterConfigsResponse,
    )
    assert "32767" in str(refused.responses[0].error_message)


def test_reassignments_under_way_are_listed() -> None:
    """REP-17: of all topics, or of the named partitions; what does not exist is left out."""
    world, _ = world_with_topic()
    world.create("mail", 2)
    homes = (directory_of(1), directory_of(2), directory_of(3))
    change = PartitionChangeRecord(
        topic_id=uuid("topic", 2),
        partition_id=1,
        replicas=(1, 2, 3),
        adding_replicas=(2,),
        removing_replicas=(3,),
        directories=homes,
    )
    world.append([(change, 2)])

    def listed(*named: tuple[str, tuple[int, ...]]) -> list[tuple[str, OngoingPartitionReassignment]]:
        topics = tuple(ListPartitionReassignmentsTopics(name=n, partition_indexes=i) for n, i in named) or None
        request = ListPartitionReassignmentsRequest(topics=topics)
        answer = world.ask(request, ListPartitionReassignmentsResponse)
        return [(t.name, p) for t in answer.topics for p in t.partitions]

    moving = OngoingPartitionReassignment(
        partition_index=1, replicas=(1, 2, 3), adding_replicas=(2,), removing_replicas=(3,)
    )
    assert listed() == [("mail", moving)]
    assert listed(("mail", (0,)), ("stock", (0,)), ("nope", (0,))) == []
    assert listed(("mail", (0, 1))) == [("mail", moving)]


def test_controllers_are_described_by_the_listener_that_was_asked() -> None:
    """API-05."""
    answer = World().ask(DescribeClusterRequest(endpoint_type=2), DescribeClusterResponse)
    assert (answer.error_code, answer.controller_id, answer.endpoint_type) == (0, 1, 2)
    assert World().ask(DescribeClusterRequest(endpoint_type=1), DescribeClusterResponse).error_code == 114
    assert World().ask(DescribeClusterRequest(endpoint_type=7), DescribeClusterResponse).error_code == 115
    assert World(level=14).ask(DescribeClusterRequest(endpoint_type=2), DescribeClusterResponse).error_code == 35


def with_controllers() -> World:
    """Two controllers; both have CONTROLLER, the second one alone has INTERNAL."""
    world = World()
    for number, listeners in ((1, ("CONTROLLER",)), (2, ("CONTROLLER", "INTERNAL"))):
        endpoints = tuple(
            ControllerEndpoint(name=name, host=f"{name.lower()}-{number}", port=9000 + number) for name in listeners
        )
        record = RegisterControllerRecord(
            controller_id=number, incarnation_id=uuid("start", number), end_points=endpoints
        )
        world.append([(record, 0)])
    return world


@pytest.mark.parametrize(
    ("listener", "told"),
    [
        ("CONTROLLER", [(1, "controller-1", 9001), (2, "controller-2", 9002)]),
        ("INTERNAL", [(2, "internal-2", 9002)]),
        ("OTHER", []),
    ],
)
def test_controllers_are_told_at_the_listener_on_which_they_were_asked_for(
    listener: str, told: list[tuple[int, str, int]]
) -> None:
    """API-05: controller endpoints for the listener used, and the raft leader as the controller."""
    world = with_controllers()
    world.start_broker(7)
    context = RequestContext(2, Offset(world.offset), WallClock(0), listener=listener, leader_id=NodeId(2))
    answer = world.service.handle(world.image, DescribeClusterRequest(endpoint_type=2), context, world.now).response
    assert isinstance(answer, DescribeClusterResponse)
    assert [(it.broker_id, it.host, it.port) for it in answer.brokers] == told
    assert (answer.error_code, answer.controller_id, answer.cluster_id) == (0, 2, CLUSTER_ID)


def test_the_lowest_level_at_which_controllers_describe_themselves_is_that_of_their_registration() -> None:
    """API-05: too old a metadata.version is 35; brokers asked of a controller are 114, an unknown kind 115."""
    for level, kind, error in ((14, 2, 35), (15, 2, 0), (15, 1, 114), (15, 0, 115), (15, 3, 115), (14, 1, 114)):
        answer = World(level=level).ask(DescribeClusterRequest(endpoint_type=kind), DescribeClusterResponse)
        assert answer.error_code == error, (level, kind)


@pytest.mark.parametrize("key", sorted(SERVED))
def test_every_request_can_be_refused_at_every_version(key: int) -> None:
    """QC-01: 41 with a hint, in a response that every version can carry."""
    request = request_class(key)()
    for version in api(key).versions:
        answer = refusal(request, 41, not_controller_message(2))
        assert isinstance(answer, response_class(key))
        encode(answer, version)


def test_a_refusal_says_its_error_for_every_part_of_the_request() -> None:
    request = CreateTopicsRequest(topics=(CreatableTopic(name="x"), CreatableTopic(name="y")))
    shown = to_json(refusal(request, 41, not_controller_message(-1)), 7)
    assert [(topic["name"], topic["errorCode"], topic["errorMessage"]) for topic in shown["topics"]] == [
        ("x", 41, "No controller appears to be active."),
        ("y", 41, "No controller appears to be active."),
    ]


def test_an_inactive_controller_does_nothing_by_itself() -> None:
    """QC-12."""
    world = World()
    world.service.deactivate()
    assert world.service.periodic(world.now) == ()
    assert world.service.next_deadline() is None
    assert len(SERVED_BY_ACTIVE) > 15


def test_no_op_records_follow_the_idle_interval() -> None:
    """QC-09."""
    world = World()
    start = len(world.log)
    world.wait(5.0)
    assert [type(record).__name__ for record, _ in world.log[start:]] == ["NoOpRecord"] * 10


def test_a_transaction_in_flight_is_aborted_by_the_next_leader() -> None:
    """QC-08."""
    bootstrap = bootstrap_records("4.3")
    torn = MetadataImage.empty().builder()
    replay(torn, BeginTransactionRecord(name="Bootstrap records"))
    replay(torn, FeatureLevelRecord(name="metadata.version", feature_level=30))
    records = [type(record).__name__ for record, _ in activation_records(torn.freeze(), bootstrap)]
    assert records[:2] == ["AbortTransactionRecord", "BeginTransactionRecord"]
    assert records[-1] == "EndTransactionRecord"
    world = World()
    world.append([(BeginTransactionRecord(name="Create many"), 0)])
    aborted = world.activate()
    assert [type(record).__name__ for record, _ in aborted] == ["AbortTransactionRecord"]
    assert world.image.transaction is None


def test_a_transaction_that_the_metadata_version_does_not_know_is_a_fault() -> None:
    world = World(level=12)
    world.append([(BeginTransactionRecord(name="Create many"), 0)])
    with pytest.raises(Refused, match="does not support transactions"):
        world.activate()
