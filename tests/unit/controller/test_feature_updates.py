"""FEA-01 to FEA-05 where levels begin and end, and what comes with eligible leader replicas. The words are those of
Apache Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.controller.feature_updates import SUPPORTED
from controller_runtime.identifiers import NodeId, Offset, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.protocol.messages.broker_registration_request import Feature
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.register_controller_record import ControllerFeature, RegisterControllerRecord
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse
from support.nodes.controller_world import ALL_FEATURES, World, uuid

pytestmark = pytest.mark.unit

UPGRADE, SAFE = 1, 2
LEAST = "min.insync.replicas"
OF_ALL = tuple(
    ControllerFeature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
    for name, levels in SUPPORTED.items()
)


def decided(
    world: World, *changes: tuple[str, int, int], validate_only: bool = False, kraft_version: int = 1
) -> Decision:
    """The image is left as it is."""
    keys = tuple(FeatureUpdateKey(feature=f, max_version_level=level, upgrade_type=kind) for f, level, kind in changes)
    context = RequestContext(2, Offset(world.offset), WallClock(0), kraft_version=kraft_version)
    request = UpdateFeaturesRequest(feature_updates=keys, validate_only=validate_only)
    return world.service.handle(world.image, request, context, world.now)


def refusal_of(decision: Decision) -> str | None:
    """Kafka's words, without those that every refusal begins with."""
    answer = decision.response
    assert isinstance(answer, UpdateFeaturesResponse)
    assert (answer.error_code == 0) is (answer.error_message is None)
    every = "The update failed for all features since the following feature had an error: "
    return None if answer.error_message is None else answer.error_message.removeprefix(every)


def level_record(feature: str, level: int) -> VersionedRecord:
    return FeatureLevelRecord(name=feature, feature_level=level), 0


def least(broker: str, value: str | None) -> VersionedRecord:
    return ConfigRecord(resource_type=4, resource_name=broker, name=LEAST, value=value), 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([("metadata.version", 30, UPGRADE)], None),
        ([("metadata.version", 30, SAFE)], None),
        ([("group.version", 1, SAFE)], None),
        ([("no.such", 0, SAFE)], "Invalid update version 0 for feature no.such. Feature no.such not found."),
        ([("no.such", 1, UPGRADE)],
            "Invalid update version 1 for feature no.such. Local controller 1 does not support this feature."),
        ([("metadata.version", 0, SAFE)],
            "Invalid update version 0 for feature metadata.version. Local controller 1 only supports versions 7-30"),
        ([("metadata.version", 6, SAFE)],
            "Invalid update version 6 for feature metadata.version. Local controller 1 only supports versions 7-30"),
        ([("group.version", 2, UPGRADE)],
            "Invalid update version 2 for feature group.version. Local controller 1 only supports versions 0-1"),
        ([("metadata.version", 29, SAFE)], (
            "Unsupported metadata.version downgrade from 30 to 29. Refusing to perform the requested downgrade because "
            "it might delete metadata information."
        )),
    ],
)  # fmt: skip
def test_a_level_is_refused_in_kafka_s_words(changes: list[tuple[str, int, int]], words: str | None) -> None:
    """FEA-01."""
    assert refusal_of(decided(World(), *changes)) == words


def test_what_is_asked_for_and_is_there_is_not_recorded_and_the_rest_is_in_the_order_of_the_request() -> None:
    """FEA-05."""
    world = World(level=25)
    found = decided(
        world, ("group.version", 1, UPGRADE), ("transaction.version", 1, SAFE), ("metadata.version", 29, UPGRADE)
    )
    assert found.records == (level_record("transaction.version", 1), level_record("metadata.version", 29))


def test_a_feature_may_be_switched_off_whatever_levels_a_node_wants() -> None:
    """FEA-02, FEA-03: level 0 is none."""
    world = World(level=29)
    only_on = tuple(replace(f, min_supported_version=1) if f.name == "share.version" else f for f in ALL_FEATURES)
    world.start_broker(1, features=only_on)
    assert refusal_of(decided(world, ("share.version", 0, SAFE))) is None


@pytest.mark.parametrize(
    ("level", "features", "words"),
    [
        (14, (), None),
        (15, (), "Controller 2 does not support this feature."),
        (30, (), "Controller 2 does not support this feature."),
        (30, (("share.version", 0, 0),), "Controller 2 only supports versions 0-0"),
        (30, (("share.version", 0, 1),), None),
    ],
)
def test_controllers_have_a_say_from_3_7_on(
    level: int, features: tuple[tuple[str, int, int], ...], words: str | None
) -> None:
    """FEA-02: where they can be registered."""
    world = World(level=level)
    supported = tuple(
        ControllerFeature(name=n, min_supported_version=low, max_supported_version=high) for n, low, high in features
    )
    world.append([(RegisterControllerRecord(controller_id=2, incarnation_id=uuid("start", 2), features=supported), 0)])
    found = refusal_of(decided(world, ("share.version", 1, UPGRADE)))
    assert found == (None if words is None else f"Invalid update version 1 for feature share.version. {words}")


@pytest.mark.parametrize("level", [14, 15, 30])
def test_a_voter_of_a_static_quorum_that_never_registered_blocks_every_change(level: int) -> None:
    """FEA-02: it may be of an older release, and come back. Below 3.7 controllers do not register; the one that decides
    need not. The words are those of a running Kafka of two of three voters.
    """
    world = World(level=level, static_voters=frozenset({NodeId(1), NodeId(2), NodeId(3)}))
    world.append([(RegisterControllerRecord(controller_id=2, incarnation_id=uuid("start", 2), features=OF_ALL), 0)])
    missing = "controller 3 has not registered, and may not support this feature" if level >= 15 else None
    for name, wanted in (("group.version", 1), ("group.version", 0), ("metadata.version", 30)):
        if level == wanted or (level < 15 and name == "group.version"):
            continue
        found = refusal_of(decided(world, (name, wanted, UPGRADE)))
        words = None if missing is None else f"Invalid update version {wanted} for feature {name}. {missing}"
        assert found == words
    world.append([(RegisterControllerRecord(controller_id=3, incarnation_id=uuid("start", 3), features=OF_ALL), 0)])
    assert refusal_of(decided(world, ("metadata.version", 30, UPGRADE))) is None


def test_a_level_of_kraft_version_in_a_record_is_none() -> None:
    """FEA-04: the level is in control records; some Kafka wrote both."""
    world = World()
    before = world.image
    world.append([level_record("kraft.version", 1)])
    assert world.image.features == before.features
    assert world.image.features.level("kraft.version") == 0
    assert refusal_of(decided(world, ("kraft.version", 1, UPGRADE), kraft_version=1)) is None


def test_a_node_that_names_a_feature_at_no_level_that_is_asked_for_does_not_support_it() -> None:
    world = World(level=25)
    world.start_broker(1, features=(*(f for f in ALL_FEATURES if f.name not in {"share.version", "streams.version"}),
                                    Feature(name="share.version", min_supported_version=0,
                                        max_supported_version=0)))  # fmt: skip
    for name, words in (
        ("share.version", "Broker 1 only supports versions 0-0"),
        ("streams.version", "Broker 1 does not support this feature."),
    ):
        assert refusal_of(decided(world, (name, 1, UPGRADE))) == f"Invalid update version 1 for feature {name}. {words}"


# KIP-966: with eligible leader replicas, min.insync.replicas is a matter of the whole cluster. As Apache Kafka 4.3.1
# writes it.


def of_brokers(world: World, values: dict[str, str]) -> None:
    world.append([least(broker, value) for broker, value in values.items()])


ON = ("eligible.leader.replicas.version", 1, UPGRADE)
OFF = ("eligible.leader.replicas.version", 0, SAFE)


@pytest.mark.parametrize(
    ("file", "values", "before"),
    [
        ({}, {}, [least("", "1")]),
        ({LEAST: "3"}, {}, [least("", "3")]),
        ({LEAST: "3"}, {"": "4"}, []),
        ({LEAST: "3"}, {"": "4", "1": "2"}, [least("1", None)]),
        ({}, {"7": "2", "1": "2"}, [least("", "1"), least("1", None), least("7", None)]),
    ],
)
def test_eligible_leader_replicas_come_with_one_least_for_all_brokers(
    file: dict[str, str], values: dict[str, str], before: list[VersionedRecord]
) -> None:
    world = World(level=25, node_configs=file)
    world.append([(ConfigRecord(resource_type=4, resource_name="1", name="num.io.threads", value="9"), 0)])
    of_brokers(world, values)
    assert decided(world, ON).records == (*before, level_record(ON[0], 1))
    assert decided(world, ON, validate_only=True).records == ()


def test_they_go_alone() -> None:
    world = World(level=30)
    of_brokers(world, {"1": "2"})
    assert decided(world, OFF).records == (level_record(OFF[0], 0),)
    assert decided(world, ON).records == ()
