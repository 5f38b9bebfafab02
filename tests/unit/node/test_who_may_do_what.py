"""A controller with an authorizer: who may speak for whom, and by which ACLs he is judged."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest
from controller_runtime.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.vote_request import VoteRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.nodes.lone_controller import FOLLOWER, ME, LoneController, Pair, formatted_disk, own_config

pytestmark = pytest.mark.unit

ADMIN, BROKER, EVE = "User:admin", "User:broker", "User:eve"
FAR = bytes((10, 0, 0, 9))
DENY, ALLOW = 2, 3
_NUMBERS = count(1)


NODES = "User:ANONYMOUS"
"""What nodes are to each other on a PLAINTEXT listener."""


def with_authorizer(me: NodeId, *super_users: str) -> LoneController:
    config = own_config(me, Uuid(Random(7 + me).randbytes(16)), SnapshotConfig(), dynamic=True)
    part = config.controller
    assert part is not None
    security = SecurityRules(authorizer=AuthorizerRules(frozenset(super_users)))
    disk = formatted_disk(me=me)
    return LoneController(
        disk,
        me=me,
        config=replace(config, controller=replace(part, decisions=replace(part.decisions, security=security))),
    )


def guarded(*super_users: str) -> LoneController:
    """The active controller of a quorum of one; `User:admin` may everything, `User:broker` ClusterAction."""
    lone = with_authorizer(ME, ADMIN, *super_users)
    lone.run(5.0)
    assert lone.controller.is_active
    assert codes(ask(lone, ADMIN, create(of_cluster(Operation.CLUSTER_ACTION, BROKER)))) == [0]
    return lone


def of_cluster(operation: Operation, principal: str, permission: int = ALLOW, host: str = "*") -> AclCreation:
    return AclCreation(
        resource_type=4,
        resource_name="kafka-cluster",
        resource_pattern_type=3,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


def create(*acls: AclCreation) -> CreateAclsRequest:
    return CreateAclsRequest(creations=acls)


def send(lone: LoneController, principal: str, body: Message) -> RequestId:
    number = RequestId(next(_NUMBERS))
    connection = ConnectionInfo(ConnectionId(1), "CONTROLLER", principal=principal)
    assert body.KEY is not None
    lone.feed(RequestReceived(number, connection, body.KEY, body.VERSIONS.highest, "client", body))
    return number


def answers(lone: LoneController, number: RequestId) -> list[Message]:
    return [each.body for each in lone.seen if isinstance(each, Respond) and each.request_id == number]


def ask(lone: LoneController, principal: str, body: Message) -> Message:
    number = send(lone, principal, body)
    lone.run(1.0)
    (answer,) = answers(lone, number)
    return answer


def codes(answer: Message) -> list[int]:
    results = getattr(answer, "results", None) or getattr(answer, "filter_results", None)
    return [answer.error_code] if results is None else [each.error_code for each in results]  # type: ignore[attr-defined]


def envelope(principal: str, body: Message, address: bytes = FAR) -> EnvelopeRequest:
    kind, _, name = principal.partition(":")
    asker = bytes(2) + encode(DefaultPrincipalData(type=kind, name=name), 0)
    frame = encode_request(body, body.VERSIONS.highest, 7, "client", with_length=False)
    return EnvelopeRequest(request_data=frame, request_principal=asker, client_host_address=address)


def opened(answer: Message, body: Message) -> Message:
    assert isinstance(answer, EnvelopeResponse)
    assert answer.error_code == 0
    assert answer.response_data is not None
    assert body.KEY is not None
    return decode_response(answer.response_data, body.KEY, body.VERSIONS.highest).body


def test_a_forged_envelope_makes_nobody_a_super_user() -> None:
    """ACL-29, ATK-13: who may not ClusterAction cannot speak for others."""
    lone = guarded()
    forged = create(of_cluster(Operation.ALTER, EVE))
    assert codes(ask(lone, EVE, envelope(ADMIN, forged))) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert [acl.principal for acl in lone.node.image.acls.values()] == [BROKER]
    assert lone.said('denied: principal="User:eve" host=127.0.0.1 operation=ClusterAction')


def test_a_broker_that_forwards_lends_nobody_its_rights() -> None:
    """ACL-29, ATK-13: the client is judged, by his own name and his own address."""
    lone, body = guarded(), create(of_cluster(Operation.ALTER, EVE))
    assert codes(opened(ask(lone, BROKER, envelope(EVE, body)), body)) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert lone.said('denied: principal="User:eve" host=10.0.0.9 operation=Alter')
    assert codes(ask(lone, BROKER, body)) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED], "ClusterAction is not Alter"
    for host, expected in (("10.0.0.8", ErrorCode.CLUSTER_AUTHORIZATION_FAILED), ("10.0.0.9", ErrorCode.NONE)):
        assert codes(ask(lone, ADMIN, create(of_cluster(Operation.ALTER, EVE, host=host)))) == [0]
        assert codes(opened(ask(lone, BROKER, envelope(EVE, body)), body)) == [expected]


def test_consensus_hears_only_nodes_of_the_cluster() -> None:
    """ATK-22: a vote, an end of an epoch or a request to leave the set of voters changes nothing."""
    lone = guarded()
    before = lone.node.quorum.meta.replica.epoch
    for body in (VoteRequest(), EndQuorumEpochRequest()):
        assert codes(ask(lone, EVE, body)) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert lone.node.quorum.meta.replica.epoch == before
    assert lone.controller.is_active


def test_who_may_is_decided_by_what_is_committed() -> None:
    """ACL races: an ACL that is written and not committed neither permits nor denies; one that is counts at once."""
    lone = guarded()
    assert codes(ask(lone, ADMIN, create(of_cluster(Operation.DESCRIBE, EVE)))) == [0]
    described = DescribeAclsRequest(
        resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1,
        resource_name_filter=None, principal_filter=None, host_filter=None,
    )  # fmt: skip
    assert codes(ask(lone, EVE, described)) == [0]
    lone.holds_flushes = True
    denied = send(lone, ADMIN, create(of_cluster(Operation.DESCRIBE, EVE, DENY)))
    lone.run(0.1)
    asked = send(lone, EVE, described)
    lone.run(0.1)
    assert answers(lone, denied) == []
    assert [codes(each) for each in answers(lone, asked)] == [[0]]
    lone.holds_flushes = False
    lone.finish_flush()
    lone.run(1.0)
    assert [codes(each) for each in answers(lone, denied)] == [[0]]
    assert codes(ask(lone, EVE, described)) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]


def test_taking_one_acl_away_leaves_the_others() -> None:
    """ATK-11, CVE-2024-27309."""
    lone, described = guarded(), of_cluster(Operation.DESCRIBE, EVE)
    other = of_cluster(Operation.ALTER, EVE)
    assert codes(ask(lone, ADMIN, create(described, other))) == [0, 0]
    gone = DeleteAclsFilter(
        resource_type_filter=4, resource_name_filter="kafka-cluster", pattern_type_filter=3, principal_filter=EVE,
        host_filter="*", operation=Operation.DESCRIBE, permission_type=ALLOW,
    )  # fmt: skip
    assert codes(ask(lone, ADMIN, DeleteAclsRequest(filters=(gone,)))) == [0]
    assert codes(ask(lone, EVE, create(of_cluster(Operation.READ, "User:x")))) == [0], "Alter is still his"


def test_a_node_that_is_no_super_user_gets_no_metadata() -> None:
    """ACL-28: the leader answers 31, and leads on; the node stops and says what it needs."""
    pair = Pair(guarded(), with_authorizer(FOLLOWER, ADMIN))
    with pytest.raises(AssertionError, match="grant this node ClusterAction"):
        pair.run(3.0)
    assert not pair.follower.node.image.acls
    assert pair.leader.said('denied: principal="User:ANONYMOUS"')
    assert pair.leader.controller.is_active


def test_a_standby_judges_by_what_it_has_replayed_and_then_names_the_active_one() -> None:
    """ACL-02, ACL-11: before it knows the log it serves super users only; after, as the active one does."""
    pair = Pair(guarded(NODES), with_authorizer(FOLLOWER, ADMIN, NODES))
    request = create(of_cluster(Operation.READ, "User:x"))
    assert codes(ask(pair.follower, EVE, request)) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    pair.run(10.0, until=lambda: bool(pair.follower.node.image.acls))
    pair.run(1.0)
    assert codes(ask(pair.follower, EVE, request)) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert codes(ask(pair.follower, ADMIN, request)) == [ErrorCode.NOT_CONTROLLER]
