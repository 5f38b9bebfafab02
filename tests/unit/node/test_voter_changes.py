"""Voters added, removed and moved into the log through the requests that clients send, to whole nodes on a virtual
network.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from controller_runtime.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse
from controller_runtime.protocol.schema import Message
from support.apache_kafka.probes import Quorum
from support.simulation.fleet import CLUSTER_ID, LISTENER, Fleet, directory_of, endpoint_of

pytestmark = pytest.mark.unit

Answer = TypeVar("Answer", bound=Message)
THREE = (NodeId(1), NodeId(2), NodeId(3))


def started(*, dynamic: bool = True, observers: tuple[NodeId, ...] = ()) -> Quorum:
    quorum = Quorum(1, Fleet(voters=THREE, observers=observers, dynamic=dynamic))
    for node in quorum.fleet.nodes:
        quorum.boot(node)
    assert quorum.run(20.0, lambda: active(quorum) is not None)
    quorum.run(quorum.time + 5.0)  # everybody follows, is registered, and has told who it is
    return quorum


def active(quorum: Quorum) -> NodeId | None:
    return next((m.id for m in quorum.machines.values() if m.node is not None and m.node.is_active), None)


def leader_of(quorum: Quorum) -> NodeId:
    leader = active(quorum)
    assert leader is not None
    return leader


def ask(quorum: Quorum, node: NodeId, key: ApiKey, version: int, body: Message, kind: type[Answer]) -> Answer:
    answer = quorum.probe(node, key, version, body)
    assert isinstance(answer, kind), answer
    return answer


def addition(node: NodeId) -> AddRaftVoterRequest:
    at = endpoint_of(node)
    return AddRaftVoterRequest(
        cluster_id=None,
        voter_id=node,
        voter_directory_id=directory_of(node),
        listeners=(Listener(name=LISTENER, host=at.host, port=at.port),),
    )


def voters(quorum: Quorum, node: NodeId) -> tuple[int, ...]:
    found = quorum.machines[node].node
    assert found is not None
    return found.meta.replica.voters.ids


def test_a_client_adds_a_voter_and_removes_another() -> None:
    """RCF-04, RCF-07: the leader asks the new node for its versions over the wire; the set is committed when the answer
    comes.
    """
    quorum = started(observers=(NodeId(4),))
    leader = leader_of(quorum)
    added = ask(quorum, leader, ApiKey.ADD_RAFT_VOTER, 1, addition(NodeId(4)), AddRaftVoterResponse)
    assert added == AddRaftVoterResponse(error_code=0, error_message=None)
    other = next(node for node in THREE if node != leader)
    removal = RemoveRaftVoterRequest(cluster_id=None, voter_id=other, voter_directory_id=directory_of(other))
    removed = ask(quorum, leader, ApiKey.REMOVE_RAFT_VOTER, 0, removal, RemoveRaftVoterResponse)
    assert removed == RemoveRaftVoterResponse(error_code=0, error_message=None)
    quorum.run(quorum.time + 1.0)
    left = tuple(node for node in (*THREE, NodeId(4)) if node != other)
    assert {voters(quorum, node) for node in (*THREE, NodeId(4))} == {left}


def test_a_controller_is_removed_and_comes_back() -> None:
    """RCF-15: asked with another cluster's id nothing happens, with the right one or none it does."""
    quorum = started()
    leader = leader_of(quorum)
    other = next(node for node in THREE if node != leader)
    removal = RemoveRaftVoterRequest(cluster_id="other", voter_id=other, voter_directory_id=directory_of(other))
    for cluster, code, left in (("other", 104, THREE), (CLUSTER_ID, 0, tuple(n for n in THREE if n != other))):
        asked = replace(removal, cluster_id=cluster)
        assert ask(quorum, leader, ApiKey.REMOVE_RAFT_VOTER, 0, asked, RemoveRaftVoterResponse).error_code == code
        assert voters(quorum, leader) == left
    quorum.run(quorum.time + 1.0)
    for cluster, code in (("other", 104), (CLUSTER_ID, 0), (CLUSTER_ID, 126)):
        again = replace(addition(other), cluster_id=cluster)
        assert ask(quorum, leader, ApiKey.ADD_RAFT_VOTER, 1, again, AddRaftVoterResponse).error_code == code
    assert voters(quorum, leader) == THREE


def test_a_record_that_is_due_in_the_step_of_a_change_comes_after_it() -> None:
    """Control records of consensus and decisions of the controller take turns in one log."""
    quorum = started()
    leader = leader_of(quorum)
    machine = quorum.machines[leader]
    assert machine.node is not None
    assert machine.node.controller is not None
    due = machine.node.controller._service.next_deadline()
    assert due is not None
    while machine.now <= due:  # the timer is late: the request is what the node hears of first
        quorum.time += 0.001
    other = next(node for node in THREE if node != leader)
    removal = RemoveRaftVoterRequest(cluster_id=None, voter_id=other, voter_directory_id=directory_of(other))
    assert ask(quorum, leader, ApiKey.REMOVE_RAFT_VOTER, 0, removal, RemoveRaftVoterResponse).error_code == 0
    quorum.run(quorum.time + 2.0)
    assert leader_of(quorum) == leader


def test_a_leader_that_removes_itself_answers_before_it_leaves() -> None:
    """RCF-07."""
    quorum = started()
    leader = leader_of(quorum)
    removal = RemoveRaftVoterRequest(cluster_id=None, voter_id=leader, voter_directory_id=directory_of(leader))
    assert ask(quorum, leader, ApiKey.REMOVE_RAFT_VOTER, 0, removal, RemoveRaftVoterResponse).error_code == 0
    assert quorum.run(quorum.time + 10.0, lambda: active(quorum) not in (None, leader))
    quorum.run(quorum.time + 5.0)
    assert leader not in voters(quorum, leader_of(quorum))
    assert voters(quorum, leader) == voters(quorum, leader_of(quorum))


def test_a_broker_hands_on_changes_of_voters_and_looks_for_the_leader_itself() -> None:
    """An envelope at the wrong controller is answered 41, so that the broker asks the right one; inside it the answer
    is Kafka's.
    """
    quorum = started(observers=(NodeId(4),))
    leader = leader_of(quorum)
    follower = next(node for node in THREE if node != leader)
    envelope = EnvelopeRequest(
        request_data=encode_request(addition(NodeId(4)), 1, 77, "client", with_length=False),
        request_principal=b"\x00\x00" + encode(DefaultPrincipalData(type="User", name="admin"), 0),
        client_host_address=b"\x7f\x00\x00\x01",
    )
    refused = ask(quorum, follower, ApiKey.ENVELOPE, 0, envelope, EnvelopeResponse)
    assert refused.error_code == 41
    wrapped = ask(quorum, leader, ApiKey.ENVELOPE, 0, envelope, EnvelopeResponse)
    assert wrapped.response_data is not None
    answer = decode_response(wrapped.response_data, ApiKey.ADD_RAFT_VOTER, 1)
    assert (answer.header.correlation_id, answer.body) == (77, AddRaftVoterResponse(error_message=None))
    again = ask(quorum, leader, ApiKey.ENVELOPE, 0, envelope, EnvelopeResponse)
    assert again.response_data is not None
    duplicate = decode_response(again.response_data, ApiKey.ADD_RAFT_VOTER, 1).body
    assert isinstance(duplicate, AddRaftVoterResponse)
    assert duplicate.error_code == 126


def raise_kraft_version(quorum: Quorum, level: int, upgrade_type: int = 1) -> UpdateFeaturesResponse:
    key = FeatureUpdateKey(feature="kraft.version", max_version_level=level, upgrade_type=upgrade_type)
    request = UpdateFeaturesRequest(feature_updates=(key,))
    return ask(quorum, leader_of(quorum), ApiKey.UPDATE_FEATURES, 2, request, UpdateFeaturesResponse)


def test_static_voters_move_into_the_log_by_a_feature_update() -> None:
    """RCF-10: and from then on voters can change."""
    quorum = started(dynamic=False, observers=(NodeId(4),))
    assert (
        ask(quorum, leader_of(quorum), ApiKey.ADD_RAFT_VOTER, 1, addition(NodeId(4)), AddRaftVoterResponse).error_code
        == 35
    )
    assert raise_kraft_version(quorum, 1) == UpdateFeaturesResponse(error_message=None)
    again = raise_kraft_version(quorum, 1)
    assert again.error_code == 0
    down = raise_kraft_version(quorum, 0, upgrade_type=2)
    assert (down.error_code, "Can't downgrade" in str(down.error_message)) == (95, True)
    assert raise_kraft_version(quorum, 2).error_code == 95
    quorum.run(quorum.time + 1.0)
    added = ask(quorum, leader_of(quorum), ApiKey.ADD_RAFT_VOTER, 1, addition(NodeId(4)), AddRaftVoterResponse)
    assert added.error_code == 0, added
    assert voters(quorum, leader_of(quorum)) == (1, 2, 3, 4)


def test_kraft_version_is_not_raised_while_a_voter_is_silent() -> None:
    """RCF-10: a voter that never told this leader what it understands holds the upgrade back."""
    quorum = Quorum(1, Fleet(voters=THREE, observers=(), dynamic=False))
    for node in THREE[:2]:
        quorum.boot(node)
    assert quorum.run(20.0, lambda: active(quorum) is not None)
    quorum.run(quorum.time + 5.0)
    refused = raise_kraft_version(quorum, 1)
    words = "Invalid upgrade of kraft.version to KRAFT_VERSION_1 because not all of the voters support it"
    assert (refused.error_code, refused.error_message) == (95, words)


def test_what_is_decided_in_the_turn_of_a_change_comes_after_it() -> None:
    """Requests of one turn: the change of voters takes an offset in the log that the next decision must not
    take too.
    """
    quorum = started()
    leader = leader_of(quorum)
    other = next(node for node in THREE if node != leader)
    removal = RemoveRaftVoterRequest(cluster_id=None, voter_id=other, voter_directory_id=directory_of(other))
    config = AlterableConfig(name="log.cleanup.policy", config_operation=2, value="compact")
    change = IncrementalAlterConfigsRequest(
        resources=(AlterConfigsResource(resource_type=4, resource_name="", configs=(config,)),)
    )
    node, machine = quorum.machines[leader].node, quorum.machines[leader]
    assert node is not None
    quorum.run(quorum.time + 2.0, lambda: node.meta.high_watermark == node.meta.end_offset)
    connection, before = ConnectionInfo(ConnectionId(-7), LISTENER), node.meta.end_offset
    quorum.pause(leader, 0.01)
    turn = RequestId(1_900_000), RequestId(1_900_001)
    machine.feed(RequestReceived(turn[0], connection, ApiKey.REMOVE_RAFT_VOTER, 0, "turn", removal))
    machine.feed(RequestReceived(turn[1], connection, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, "turn", change))
    machine.paused_until = quorum.time
    machine.resume()
    assert turn == tuple(event.request_id for event in machine.taken if isinstance(event, RequestReceived))
    quorum.run(quorum.time + 2.0)
    assert node.meta.end_offset >= before + 2
    assert voters(quorum, leader) == tuple(each for each in THREE if each != other)
    assert node.image.configs.of(4, "")["log.cleanup.policy"] == "delete,compact"


def test_a_leader_that_notices_in_the_turn_of_an_upgrade_that_nobody_fetches_refuses_it() -> None:
    """Writing what was decided before may be what ends the leadership (seed 700001203): the process must live, and
    answer both.
    """
    quorum = started(dynamic=False)
    machine = quorum.machines[leader_of(quorum)]
    node = machine.node
    assert node is not None
    config = AlterableConfig(name="log.cleanup.policy", config_operation=0, value="compact")
    change = IncrementalAlterConfigsRequest(
        resources=(AlterConfigsResource(resource_type=4, resource_name="", configs=(config,)),)
    )
    key = FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=1)
    upgrade = UpdateFeaturesRequest(feature_updates=(key,))
    quorum.pause(machine.id, 10.0)
    quorum.run(quorum.time + 1.0)
    connection = ConnectionInfo(ConnectionId(-7), LISTENER)
    asked = (RequestId(1_900_000), RequestId(1_900_001))
    for each, kind, version, body in (
        (asked[0], ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change),
        (asked[1], ApiKey.UPDATE_FEATURES, 2, upgrade),
    ):
        machine.feed(RequestReceived(each, connection, kind, version, "turn", body))
    quorum.run(quorum.time + 30.0)
    assert machine.node is node
    assert all(quorum._answers.get(each) is not None for each in asked)
