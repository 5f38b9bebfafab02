"""Topics that set nothing themselves are described once, whatever their number, and their answer is written once."""

from __future__ import annotations

import pytest

from controller_runtime.answers.describe_configs import describe_configs
from controller_runtime.configuration.settings import RULES
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.metadata.configs import TOPIC
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResult
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.values import replace
from support.nodes.controller_world import uuid

pytestmark = pytest.mark.unit

NAMES = ("plain", "like-it", "its-own", "plain-too")


def described(*wanted: tuple[str, tuple[str, ...] | None]) -> tuple[DescribeConfigsResult, ...]:
    builder = MetadataImage.empty().builder()
    for number, name in enumerate(NAMES):
        replay(builder, TopicRecord(name=name, topic_id=uuid("topic", number + 1)))
    replay(builder, ConfigRecord(resource_type=TOPIC, resource_name="its-own", name="retention.ms", value="7"))
    resources = tuple(
        DescribeConfigsResource(resource_type=TOPIC, resource_name=name, configuration_keys=keys)
        for name, keys in wanted
    )
    request = DescribeConfigsRequest(resources=resources, include_synonyms=True, include_documentation=True)
    answer = whole(describe_configs(builder.freeze(), request, OwnConfigs(NodeId(1), {}, RULES)))
    plain = replace(answer, results=tuple(replace(each, configs=tuple(each.configs)) for each in answer.results))
    assert encode(answer, 4) == encode(plain, 4) == encode(answer, 4)
    return answer.results


def test_topics_that_set_nothing_share_their_description() -> None:
    plain, alike, own, too = described(*((name, None) for name in NAMES))
    assert plain.configs is alike.configs is too.configs
    values = [{one.name: one.value for one in each.configs}["retention.ms"] for each in (plain, own)]
    assert values == ["604800000", "7"]


def test_what_is_asked_of_each_is_told_apart() -> None:
    one, other, every = described(("plain", ("retention.ms",)), ("like-it", ("segment.ms",)), ("plain-too", None))
    assert [each.name for each in (*one.configs, *other.configs)] == ["retention.ms", "segment.ms"]
    assert len(every.configs) > 20


def test_a_topic_that_is_not_there_is_not_alike() -> None:
    plain, absent = described(("plain", None), ("absent", None))
    assert plain.configs
    assert (absent.error_code, absent.configs) == (3, ())
