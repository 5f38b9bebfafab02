"""A controller with an authorizer is asked about thousands of names: no step is long, and the answers are as ever.

A step is measured by the calls that it makes (`processor`), so the result is the same in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Final

import pytest

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.parts import pieces
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived, TimePassed
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_configs_request import AlterConfigsRequest
from controller_runtime.protocol.messages.alter_configs_request import AlterConfigsResource as WholeResource
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResponse
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.nodes.lone_controller import ME, LoneController, own_config
from support.simulation.processor import Processor

pytestmark = pytest.mark.unit

ADMIN, ANN = "User:admin", "User:ann"
MANY: Final = 2_000
LONGEST_S: Final = 0.004
"""Of 250 names; 2,000 that are judged in one step take 0.007 s at least."""
NAMES: Final = tuple(f"t-{n}" for n in range(MANY))


class Judging:
    """A quorum of one, whose steps are measured; Ann may describe and delete what begins with `t-1`."""

    def __init__(self) -> None:
        config = own_config(ME, Uuid(Random(7).randbytes(16)), SnapshotConfig(), dynamic=True)
        part = config.controller
        assert part is not None
        security = SecurityRules(authorizer=AuthorizerRules(frozenset({ADMIN, "User:ANONYMOUS"})))
        decisions = replace(part.decisions, security=security)
        self.lone = LoneController(config=replace(config, controller=replace(part, decisions=decisions)))
        self.longest_s = 0.0
        self._processor = Processor()
        self._step = self.lone.node.step
        self.lone.node.step = self._measured  # type: ignore[method-assign, assignment]
        self._numbers = count(1)
        self.lone.run(5.0)
        allowed = tuple(_prefixed("t-1", operation) for operation in (Operation.DESCRIBE, Operation.DELETE))
        self.ask(CreateAclsRequest(creations=allowed), ADMIN)

    def _measured(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> Sequence[NodeEffect]:
        effects, seconds = self._processor.measured(lambda: self._step(events, now, wall))
        self.longest_s = max(self.longest_s, seconds)
        return effects

    def send(self, body: Message, principal: str = ANN) -> RequestId:
        number = RequestId(next(self._numbers))
        who = ConnectionInfo(ConnectionId(number), "CONTROLLER", principal=principal)
        assert body.KEY is not None
        self.lone.feed(RequestReceived(number, who, body.KEY, body.VERSIONS.highest, "client", body))
        return number

    def answer(self, number: RequestId) -> Message | None:
        found = [each.body for each in self.lone.seen if isinstance(each, Respond) and each.request_id == number]
        return found[0] if found else None

    def ask(self, body: Message, principal: str = ANN) -> Message:
        number = self.send(body, principal)
        for _ in range(1_000):
            if (found := self.answer(number)) is not None:
                return found
            self.lone.feed(TimePassed())
        raise AssertionError("no answer")


def _prefixed(prefix: str, operation: Operation) -> AclCreation:
    return AclCreation(
        resource_type=2,
        resource_name=prefix,
        resource_pattern_type=4,
        principal=ANN,
        host="*",
        operation=operation,
        permission_type=3,
    )


REQUESTS: Final[dict[str, Message]] = {
    "CreateTopics": CreateTopicsRequest(
        topics=tuple(CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in NAMES)
    ),
    "CreatePartitions": CreatePartitionsRequest(
        topics=tuple(CreatePartitionsTopic(name=name, count=2) for name in NAMES), timeout_ms=1000
    ),
    "DeleteTopics": DeleteTopicsRequest(topics=tuple(DeleteTopicState(name=name) for name in NAMES), timeout_ms=1000),
    "DescribeConfigs": DescribeConfigsRequest(
        resources=tuple(DescribeConfigsResource(resource_type=2, resource_name=name) for name in NAMES)
    ),
    "AlterConfigs": AlterConfigsRequest(
        resources=tuple(WholeResource(resource_type=2, resource_name=name) for name in NAMES)
    ),
    "IncrementalAlterConfigs": IncrementalAlterConfigsRequest(
        resources=tuple(AlterConfigsResource(resource_type=2, resource_name=name) for name in NAMES)
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_no_step_in_which_many_names_are_judged_is_long(name: str) -> None:
    """Everything is refused but to delete a quarter of the topics, which are not there."""
    world = Judging()
    world.longest_s = 0.0
    request = REQUESTS[name]
    answer = world.ask(request)
    results = next(value for each in answer.FIELDS if isinstance(value := getattr(answer, each.name), tuple))
    assert len(results) == MANY
    allowed = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name == "DeleteTopics" else None
    codes = {each.error_code for each in results}
    assert codes == {ErrorCode.TOPIC_AUTHORIZATION_FAILED} | ({allowed} if allowed else set())
    assert world.longest_s < LONGEST_S


def test_no_step_in_which_a_controller_describes_configurations_is_long() -> None:
    world = Judging()
    groups = tuple(DescribeConfigsResource(resource_type=32, resource_name=name) for name in NAMES[:500])
    number = world.send(DescribeConfigsRequest(resources=groups), ADMIN)
    assert world.answer(number) is None
    world.longest_s = 0.0
    while (answer := world.answer(number)) is None:
        world.lone.feed(TimePassed())
    assert isinstance(answer, DescribeConfigsResponse)
    assert all(each.configs for each in answer.results)
    assert world.longest_s < LONGEST_S


def test_others_are_answered_while_many_names_are_judged() -> None:
    world = Judging()
    long = world.send(REQUESTS["CreateTopics"])
    short = world.send(DescribeQuorumRequest(topics=()), ADMIN)
    assert world.answer(long) is None
    assert world.answer(short) is not None
    while world.answer(long) is None:
        world.lone.feed(TimePassed())


def test_what_is_allowed_while_it_is_judged_is_no_longer_refused_by_half() -> None:
    """One request is judged by the ACLs that it was begun with: of two topics alike, none is made alone."""
    world = Judging()
    long = world.send(REQUESTS["CreateTopics"])
    world.ask(CreateAclsRequest(creations=(_prefixed("t-", Operation.CREATE),)), ADMIN)
    while (answer := world.answer(long)) is None:
        world.lone.feed(TimePassed())
    assert isinstance(answer, CreateTopicsResponse)
    assert {each.error_code for each in answer.topics} == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}


def test_who_was_judged_before_this_node_led_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was acknowledged by the leaders before it, it may not have known when it began to judge."""
    world = Judging()
    lone = world.lone
    monkeypatch.setattr(pieces, "PIECE_UNITS", 10)
    lone.holds_flushes = True
    lone.perform(lone.node.meta.resign(lone.node.meta.replica.epoch, lone.now, lone.wall))
    asked = world.send(REQUESTS["DeleteTopics"])
    assert not lone.controller.is_active
    lone.now = Instant(lone.now + 5)
    lone.holds_flushes = False
    lone.finish_flush()
    while not lone.controller.is_active:
        lone.feed(TimePassed())
    assert world.answer(asked) is None, "it is judged still"
    while (answer := world.answer(asked)) is None:
        lone.feed(TimePassed())
    assert isinstance(answer, DeleteTopicsResponse)
    codes = {each.error_code for each in answer.responses}
    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION not in codes, "nothing is decided"
    assert ErrorCode.NOT_CONTROLLER in codes
