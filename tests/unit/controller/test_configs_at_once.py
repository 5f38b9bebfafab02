"""CFG-02: AlterConfigs says all that a resource is to have. What it does not name goes, what is as it was is not
written again, but for a broker, which reads files again then. `tests/interop/test_differential_config_apis.py` compares
answers with Apache Kafka's, and the records were seen in its log.
"""

from __future__ import annotations

import pytest

from controller_runtime.answers.config_changes import changes_of
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.identifiers import Offset, WallClock
from controller_runtime.metadata.configs import BROKER, TOPIC
from controller_runtime.protocol.messages.alter_configs_request import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from controller_runtime.protocol.messages.alter_configs_response import AlterConfigsResponse
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from support.configs.world import ConfigWorld
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

THERE = "there"
LEAST = "min.insync.replicas"


def to_have(kind: int, name: str, **values: str | None) -> AlterConfigsResource:
    """Names with underscores instead of dots."""
    configs = tuple(AlterableConfig(name=key.replace("_", "."), value=value) for key, value in values.items())
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def decided(world: World, *resources: AlterConfigsResource, only: bool = False) -> Decision:
    request = AlterConfigsRequest(resources=resources, validate_only=only)
    context = RequestContext(2, Offset(world.offset), WallClock(0))
    decision = world.service.handle(world.image, request, context, world.now)
    world.append(decision.records)
    return decision


def written(decision: Decision) -> list[tuple[str, str | None]]:
    return [(record.name, record.value) for record, _ in decision.records if isinstance(record, ConfigRecord)]


def codes(decision: Decision) -> list[int]:
    assert isinstance(decision.response, AlterConfigsResponse)
    return [each.error_code for each in decision.response.responses]


def test_what_is_not_named_goes_and_what_is_as_it_was_is_not_written() -> None:
    world = ConfigWorld().world
    first = decided(world, to_have(TOPIC, THERE, retention_ms="5", cleanup_policy="compact"))
    assert written(first) == [("retention.ms", "5"), ("cleanup.policy", "compact")]
    second = decided(world, to_have(TOPIC, THERE, retention_ms="5", max_message_bytes="9"))
    assert written(second) == [("max.message.bytes", "9"), ("cleanup.policy", None)]
    assert dict(world.image.configs.of(TOPIC, THERE)) == {"retention.ms": "5", "max.message.bytes": "9"}
    assert written(decided(world, to_have(TOPIC, THERE))) == [("retention.ms", None), ("max.message.bytes", None)]
    assert not world.image.configs.of(TOPIC, THERE)


def test_a_broker_s_value_is_written_again() -> None:
    world = ConfigWorld().world
    for _ in range(2):
        assert written(decided(world, to_have(BROKER, "1", num_io_threads="9"))) == [("num.io.threads", "9")]
    assert written(decided(world, to_have(BROKER, "1", num_io_threads=None))) == [("num.io.threads", None)]


def test_what_is_only_looked_at_and_what_is_refused_is_not_written() -> None:
    """CFG-03: nor is what belongs to the resource that was refused; the others are changed."""
    world = ConfigWorld().world
    assert written(decided(world, to_have(TOPIC, THERE, retention_ms="5"), only=True)) == []
    found = decided(
        world,
        to_have(TOPIC, THERE, retention_ms="7"),
        to_have(TOPIC, "nope"),
        to_have(TOPIC, "nope", cleanup_policy="x"),
    )
    assert (codes(found), written(found)) == ([0, 42], [("retention.ms", "7")])
    found = decided(world, to_have(TOPIC, THERE, cleanup_policy="compact", retention_ms="x"))
    assert (codes(found), written(found)) == ([40], [])
    assert dict(world.image.configs.of(TOPIC, THERE)) == {"retention.ms": "7"}


@pytest.mark.parametrize("broker", ["", "1"])
def test_min_insync_replicas_of_all_may_not_go_and_of_one_may_not_be_set_while_there_are_eligible_replicas(
    broker: str,
) -> None:
    """CFG-04: also where it would go for not being named."""
    world = ConfigWorld().world
    given = {LEAST.replace(".", "_"): "1"} if broker else {"num_io_threads": "9"}
    found = decided(world, to_have(BROKER, broker, **given))
    assert (codes(found), written(found)) == ([40], [])


def test_a_changed_or_lost_min_insync_replicas_of_a_topic_forgets_eligible_replicas() -> None:
    """CFG-04."""
    world = ConfigWorld().world
    for values in ({"min_insync_replicas": "2"}, {}):
        found = decided(world, to_have(TOPIC, THERE, **values))
        assert [record for record, _ in found.records if isinstance(record, ClearElrRecord)] == [
            ClearElrRecord(topic_name=THERE)
        ]


def test_of_a_name_that_is_given_twice_the_last_counts() -> None:
    twice = (AlterableConfig(name="a", value="1"), AlterableConfig(name="a", value="2"))
    found = changes_of(
        AlterConfigsResource(resource_type=TOPIC, resource_name=THERE, configs=twice), {"a": "0", "b": "0"}
    )
    assert [(one.name, one.value, one.config_operation) for one in found] == [("a", "2", 0), ("b", "", 1)]
