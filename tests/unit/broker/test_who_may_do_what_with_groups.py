"""A broker with an authorizer, asked about groups: members need Read, who looks Describe, who deletes Delete; topics of
offsets are judged one by one.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.protocol.authorized_operations import NOT_ASKED, Operation
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.create_acls_response import CreateAclsResponse
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_groups_response import DeleteGroupsResponse
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.describe_groups_response import DescribeGroupsResponse
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from controller_runtime.protocol.messages.heartbeat_request import HeartbeatRequest
from controller_runtime.protocol.messages.heartbeat_response import HeartbeatResponse
from controller_runtime.protocol.messages.join_group_response import JoinGroupResponse
from controller_runtime.protocol.messages.leave_group_request import LeaveGroupRequest
from controller_runtime.protocol.messages.leave_group_response import LeaveGroupResponse
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.list_groups_response import ListGroupsResponse
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.offset_commit_response import OffsetCommitResponse
from controller_runtime.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from controller_runtime.protocol.messages.offset_delete_response import OffsetDeleteResponse
from controller_runtime.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from controller_runtime.protocol.messages.offset_fetch_response import OffsetFetchResponse
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest
from controller_runtime.protocol.messages.sync_group_response import SyncGroupResponse
from support.groups.coordinated import join
from support.nodes.broker_world import BrokerWorld
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

TOPIC, GROUP = 2, 3
TOPIC_DENIED, GROUP_DENIED, TRANSACTION_DENIED = 29, 30, 53
NO_SUCH_GROUP = 69
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}


def acl(kind: int, name: str, operation: Operation) -> AclCreation:
    return AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=3,
        principal="User:ANONYMOUS",
        host="*",
        operation=operation,
        permission_type=3,
    )


EVERYTHING = (
    *(acl(GROUP, "*", operation) for operation in (Operation.READ, Operation.DESCRIBE, Operation.DELETE)),
    *(acl(TOPIC, "*", operation) for operation in (Operation.READ, Operation.DESCRIBE)),
)


def guarded(*acls: AclCreation) -> BrokerWorld:
    """A broker that coordinates groups, and holds everybody to these ACLs."""
    controller = World(security=SecurityRules(keeps_acls=True))
    security = SecurityRules(authorizer=AuthorizerRules())
    world = BrokerWorld(controller=controller, security=security, node_configs=SETTINGS)
    world.start()
    for name in ("mine", "theirs"):
        controller.create(name)
    controller.create("__consumer_offsets", partitions=2)
    made = controller.ask(CreateAclsRequest(creations=acls), CreateAclsResponse)
    assert not any(each.error_code for each in made.results)
    world.settle()
    world.wait(0.5)
    return world


def commit(group_id: str, *topics: str) -> OffsetCommitRequest:
    part = (OffsetCommitRequestPartition(partition_index=0, committed_offset=5),)
    named = tuple(OffsetCommitRequestTopic(name=name, partitions=part) for name in topics)
    return OffsetCommitRequest(group_id=group_id, topics=named)


def fetch(group_id: str, *topics: str) -> OffsetFetchRequestGroup:
    named = tuple(OffsetFetchRequestTopics(name=name, partition_indexes=(0,)) for name in topics)
    return OffsetFetchRequestGroup(group_id=group_id, topics=named or None)


def codes(topics: Any) -> dict[str, int]:
    return {topic.name: each.error_code for topic in topics for each in topic.partitions}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (join(), JoinGroupResponse),
        (SyncGroupRequest(group_id="g", protocol_type="c", protocol_name="r"), SyncGroupResponse),
        (HeartbeatRequest(group_id="g"), HeartbeatResponse),
        (LeaveGroupRequest(group_id="g"), LeaveGroupResponse),
    ],
)
def test_a_member_needs_read_on_its_group(request_: Any, answer: Any) -> None:
    """ACL-20"""
    assert guarded(acl(GROUP, "g", Operation.DESCRIBE)).ask(request_, answer).error_code == GROUP_DENIED
    assert guarded(acl(GROUP, "g", Operation.READ)).ask(request_, answer).error_code != GROUP_DENIED


def test_who_commits_needs_read_on_the_group_and_on_each_topic() -> None:
    """ACL-21: topics that exist and that do not are refused alike; what is allowed is committed."""
    world = guarded(acl(GROUP, "g", Operation.READ), acl(TOPIC, "mine", Operation.READ))
    refused = world.ask(commit("other", "mine", "theirs"), OffsetCommitResponse, 9)
    assert codes(refused.topics) == {"mine": GROUP_DENIED, "theirs": GROUP_DENIED}
    answer = world.ask(commit("g", "mine", "theirs", "nobodys"), OffsetCommitResponse, 9)
    assert codes(answer.topics) == {"mine": 0, "theirs": TOPIC_DENIED, "nobodys": TOPIC_DENIED}


def test_offsets_are_shown_of_topics_that_may_be_described() -> None:
    """ACL-22: of all offsets the others are left out; of those that are named each is answered."""
    world = guarded(*EVERYTHING)
    world.ask(commit("g", "mine", "theirs"), OffsetCommitResponse, 9)
    # From here on only one of them may be described.
    narrow = guarded(
        acl(GROUP, "g", Operation.READ),
        acl(GROUP, "g", Operation.DESCRIBE),
        acl(TOPIC, "mine", Operation.DESCRIBE),
        acl(TOPIC, "mine", Operation.READ),
        acl(TOPIC, "theirs", Operation.WRITE),
    )
    narrow.ask(commit("g", "mine"), OffsetCommitResponse, 9)
    named = narrow.ask(OffsetFetchRequest(groups=(fetch("g", "mine", "nobodys"),)), OffsetFetchResponse, 9)
    assert codes(named.groups[0].topics) == {"mine": 0, "nobodys": TOPIC_DENIED}
    every = narrow.ask(OffsetFetchRequest(groups=(fetch("g"), fetch("other"))), OffsetFetchResponse, 9)
    assert {each.group_id: each.error_code for each in every.groups} == {"g": 0, "other": GROUP_DENIED}
    assert codes(every.groups[0].topics) == {"mine": 0}
    seen = world.ask(OffsetFetchRequest(groups=(fetch("g"),)), OffsetFetchResponse, 9)
    assert codes(seen.groups[0].topics) == {"mine": 0, "theirs": 0}


def test_who_looks_needs_describe() -> None:
    """ATK-12 (CVE-2026-41115): members are shown to whom the group may be described, and to nobody else."""
    """ACL-23: groups, one by one; all of them are listed to who may describe the cluster."""
    world = guarded(
        acl(GROUP, "g", Operation.DESCRIBE), acl(GROUP, "h", Operation.READ), acl(TOPIC, "*", Operation.READ)
    )
    for group_id in ("h",):
        world.ask(commit(group_id, "mine"), OffsetCommitResponse, 9)
    described = world.ask(DescribeGroupsRequest(groups=("g", "x")), DescribeGroupsResponse, 5)
    assert {each.group_id: each.error_code for each in described.groups} == {"g": 0, "x": GROUP_DENIED}
    listed = world.ask(ListGroupsRequest(), ListGroupsResponse)
    assert [each.group_id for each in listed.groups] == ["h"], "Read implies Describe"
    found = world.ask(FindCoordinatorRequest(coordinator_keys=("g", "x")), FindCoordinatorResponse)
    assert {each.key: each.error_code for each in found.coordinators} == {"g": 0, "x": GROUP_DENIED}
    old = world.ask(FindCoordinatorRequest(key="x"), FindCoordinatorResponse, 3)
    assert (old.error_code, old.error_message, old.node_id) == (GROUP_DENIED, "Group authorization failed.", -1)
    of_transaction = FindCoordinatorRequest(key_type=1, coordinator_keys=("t",))
    assert world.ask(of_transaction, FindCoordinatorResponse).coordinators[0].error_code == TRANSACTION_DENIED


def test_the_rights_of_who_asks_are_told() -> None:
    """KIP-430. Not beside an error: version 6 says that there is no such group, older ones that it is dead."""
    world = guarded(acl(GROUP, "g", Operation.READ))
    asked = DescribeGroupsRequest(groups=("g",), include_authorized_operations=True)
    bits = {
        version: world.ask(asked, DescribeGroupsResponse, version).groups[0].authorized_operations for version in (5, 6)
    }
    assert bits == {5: 1 << Operation.READ | 1 << Operation.DESCRIBE, 6: NOT_ASKED}


def test_who_deletes_needs_delete() -> None:
    """ACL-24: on the group; and Read on topics whose offsets go."""
    world = guarded(
        acl(GROUP, "g", Operation.READ), acl(GROUP, "h", Operation.DELETE), acl(GROUP, "h", Operation.READ),
        acl(TOPIC, "mine", Operation.READ),
    )  # fmt: skip
    for group_id in ("g", "h"):
        world.ask(commit(group_id, "mine"), OffsetCommitResponse, 9)
    part = (OffsetDeleteRequestPartition(partition_index=0),)
    topics = tuple(OffsetDeleteRequestTopic(name=name, partitions=part) for name in ("mine", "theirs"))
    refused = world.ask(OffsetDeleteRequest(group_id="g", topics=topics), OffsetDeleteResponse)
    assert (refused.error_code, refused.topics) == (GROUP_DENIED, ())
    deleted = world.ask(OffsetDeleteRequest(group_id="h", topics=topics), OffsetDeleteResponse)
    assert codes(deleted.topics) == {"mine": 0, "theirs": TOPIC_DENIED}
    others = world.ask(OffsetDeleteRequest(group_id="h", topics=topics[1:]), OffsetDeleteResponse)
    assert (others.error_code, codes(others.topics)) == (0, {"theirs": TOPIC_DENIED})
    gone = world.ask(DeleteGroupsRequest(groups_names=("g", "h")), DeleteGroupsResponse)
    assert {each.group_id: each.error_code for each in gone.results} == {"g": GROUP_DENIED, "h": 0}
    nothing = world.ask(OffsetDeleteRequest(group_id="h", topics=topics[1:]), OffsetDeleteResponse)
    assert (nothing.error_code, nothing.topics) == (NO_SUCH_GROUP, ())
