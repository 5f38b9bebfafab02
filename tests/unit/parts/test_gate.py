"""The gate of each role: no row of the table is served without a right that was asked for."""

from __future__ import annotations

import pytest

from controller_runtime.answers.rights.gate import Gate, is_of_cluster
from controller_runtime.answers.rights.verdict import Judged, Refused, Verdict
from controller_runtime.broker.rights import GATE as OF_BROKER
from controller_runtime.controller.rights import GATE as OF_CONTROLLER
from controller_runtime.identifiers import Instant
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.api_table import TABLES, Forwarded
from controller_runtime.parts.authority import MAX_AUDIT_LINES, Authority
from controller_runtime.parts.authorization import NOTHING, Resource
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.update_features_request import UpdateFeaturesRequest
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse
from controller_runtime.protocol.schema import Message

pytestmark = pytest.mark.unit

GATES = {ListenerType.BROKER: OF_BROKER, ListenerType.CONTROLLER: OF_CONTROLLER}
IMAGE = MetadataImage.empty()
LOOPBACK = b"\x7f\0\0\1"
TALK = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
OPEN = {*TALK, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN}
"""Whoever asks: whose a token is, is asked by the decision."""
NEVER_SERVED = {ApiKey.DESCRIBE_DELEGATION_TOKEN, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS}
"""By controllers, whoever asks."""


def judge(gate: Gate, judged: Judged, request: Message) -> Verdict:
    return whole(gate.judge(judged, request))


def asked(authority: Authority, request: Message, principal: str = "User:ann", *, known: bool = True) -> Judged:
    assert request.KEY is not None
    asking = authority.asking(IMAGE.acls if known else None, principal, LOOPBACK, request.KEY)
    return Judged(asking, request.VERSIONS.highest, IMAGE)


@pytest.mark.parametrize("role", ListenerType)
def test_every_row_is_judged_by_its_cluster_right_or_by_a_judge_of_its_own(role: ListenerType) -> None:
    rows = {key: row for key, row in TABLES[role].items() if row.forwarded is not Forwarded.UNREAD}
    never_served = NEVER_SERVED if role is ListenerType.CONTROLLER else set()
    assert {key for key, row in rows.items() if row.authorization == NOTHING} == OPEN | never_served
    unjudged = {key for key, row in rows.items() if key not in GATES[role].judged and not is_of_cluster(row)}
    assert unjudged == TALK
    assert GATES[role].judged <= {*rows}


def test_a_row_that_names_what_nobody_judges_is_refused() -> None:
    """Default deny: Metadata needs rights on topics, and this gate has no judge for it."""
    request = MetadataRequest()
    verdict = judge(Gate(ListenerType.BROKER, {}), asked(Authority(AuthorizerRules()), request), request)
    assert isinstance(verdict, Refused)


def test_before_the_log_is_known_only_super_users_are_served() -> None:
    """ACL-02."""
    authority, request = Authority(AuthorizerRules(frozenset({"User:admin"}))), UpdateFeaturesRequest()
    early = judge(OF_CONTROLLER, asked(authority, request, known=False), request)
    assert early == Refused(UpdateFeaturesResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, error_message=None))
    assert judge(OF_CONTROLLER, asked(authority, request, "User:admin", known=False), request) is None
    assert authority.counts == {("UpdateFeatures", "allowed"): 1}
    late = judge(OF_CONTROLLER, asked(authority, request), request)
    assert isinstance(late, Refused)
    assert isinstance(late.answer, UpdateFeaturesResponse)
    assert late.answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_denial_is_one_line_that_nobody_can_forge() -> None:
    """ACL-12, and log injection by the names of users and resources: denied is info, what is only probed or allowed
    is not written.
    """
    authority = Authority(AuthorizerRules())
    asking = authority.asking(IMAGE.acls, 'User:eve\ndenied: principal="User:bob"', LOOPBACK, ApiKey.DELETE_TOPICS)
    assert not asking.may(Operation.DELETE, Resource.TOPIC, "a\x1b[31m\r\n" + "x" * 1_000)
    assert not asking.could(Operation.READ, Resource.TOPIC, "only probed")
    admin = Authority(AuthorizerRules(frozenset({"User:admin"})))
    allowed = admin.asking(IMAGE.acls, "User:admin", LOOPBACK, ApiKey.DELETE_TOPICS)
    assert allowed.may(Operation.DELETE, Resource.TOPIC, "t")
    assert admin.audit(allowed, Instant(1.0)) == []
    (line,) = authority.audit(asking, Instant(1.0))
    assert line.level == "info"
    assert line.text.isprintable()
    assert line.text.startswith(
        'denied: principal="User:eve\\ndenied: principal=\\"User:bob\\"" host=127.0.0.1 operation=Delete'
    )
    assert line.text.endswith('..." api=DeleteTopics rule=DefaultDeny')
    assert len(line.text) < 600


def test_a_flood_of_denials_is_counted_and_not_written() -> None:
    authority = Authority(AuthorizerRules())
    written = []
    for number in range(100):
        asking = authority.asking(IMAGE.acls, "User:eve", LOOPBACK, ApiKey.DELETE_TOPICS)
        asking.may(Operation.DELETE, Resource.TOPIC, f"t{number}")
        written += authority.audit(asking, Instant(7.5))
    assert len(written) == MAX_AUDIT_LINES
    assert authority.denied == {ApiKey.DELETE_TOPICS: 100}
    asking = authority.asking(IMAGE.acls, "User:eve", LOOPBACK, ApiKey.DELETE_TOPICS)
    asking.may(Operation.DELETE, Resource.TOPIC, "later")
    first, second = authority.audit(asking, Instant(8.0))
    assert first.text == f"denied: {100 - MAX_AUDIT_LINES} more requests, not written one by one"
    assert "later" in second.text


def test_deletions_by_name_do_not_say_which_topics_there_are() -> None:
    """ACL-26: who may nothing hears the same of what is there and what is not."""
    request = DeleteTopicsRequest(topic_names=("there", "absent"), timeout_ms=1_000)
    verdict = judge(OF_CONTROLLER, asked(Authority(AuthorizerRules()), request), request)
    assert isinstance(verdict, Refused)
    answers = {(each.name, each.error_code, each.topic_id) for each in verdict.answer.responses}  # type: ignore[attr-defined]
    assert {(code, topic_id) for _, code, topic_id in answers} == {(29, next(iter(answers))[2])}
