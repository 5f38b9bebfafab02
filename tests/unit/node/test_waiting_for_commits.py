"""A configuration that is changed is there for others when it is committed, not before, and so is its answer."""

from __future__ import annotations

import pytest

from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.schema import Message
from support.nodes.lone_controller import FOLLOWER, LoneController

pytestmark = pytest.mark.unit

NAME = "log.cleaner.threads"


def ask(controller: LoneController, key: ApiKey, version: int, body: Message) -> None:
    connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
    controller.feed(RequestReceived(RequestId(key), connection, key, version, "client", body))


def change(controller: LoneController) -> None:
    config = AlterableConfig(name=NAME, value="2")
    resource = AlterConfigsResource(resource_type=4, resource_name="", configs=(config,))
    ask(controller, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, IncrementalAlterConfigsRequest(resources=(resource,)))


def answers(controller: LoneController, kind: type) -> list[Message]:
    return [each.body for each in controller.outgoing if isinstance(each, Respond) and isinstance(each.body, kind)]


def described(controller: LoneController) -> set[str]:
    """The names of what all nodes have."""
    controller.outgoing.clear()
    resource = DescribeConfigsResource(resource_type=4, resource_name="")
    ask(controller, ApiKey.DESCRIBE_CONFIGS, 4, DescribeConfigsRequest(resources=(resource,)))
    (answer,) = answers(controller, DescribeConfigsResponse)
    assert isinstance(answer, DescribeConfigsResponse)
    return {each.name for each in answer.results[0].configs}


def test_a_change_is_seen_and_answered_when_it_is_committed() -> None:
    """QC-14, QC-02: the disk is slow, so nothing is committed for a while."""
    controller = LoneController()
    controller.run(2)
    controller.holds_flushes = True
    change(controller)
    controller.run(0.3)
    assert answers(controller, IncrementalAlterConfigsResponse) == []
    assert NAME not in described(controller)
    controller.holds_flushes = False
    controller.finish_flush()
    controller.run(0.3)
    (answer,) = answers(controller, IncrementalAlterConfigsResponse)
    assert isinstance(answer, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 0
    assert NAME in described(controller)


def test_what_is_asked_before_there_is_a_leader_is_refused_at_once() -> None:
    """QC-14, QC-01: nothing waits for an election."""
    controller = LoneController(me=FOLLOWER)
    change(controller)
    (answer,) = answers(controller, IncrementalAlterConfigsResponse)
    assert isinstance(answer, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 41
