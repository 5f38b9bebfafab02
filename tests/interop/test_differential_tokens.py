"""Delegation tokens, as Apache Kafka answers them: refused on listeners without protection, decided when forwarded.

A broker may forward in anybody's name, so the test does: ids, HMACs and times are compared by what they are, not by
what they say.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.create_delegation_token_request import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.describe_delegation_token_request import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.expire_delegation_token_request import ExpireDelegationTokenRequest
from controller_runtime.protocol.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Case, Pair, Side, Table, judge
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
DAY_MS: Final = 86_400_000
EXPIRY_MS: Final = 60_000
"""The pair's `delegation.token.expiry.time.ms`."""


def _create(
    *renewers: str, owner: str | None = "", lifetime_ms: int = -1, kind: str = "User"
) -> CreateDelegationTokenRequest:
    named = tuple(
        CreatableRenewers(principal_type=each.partition(":")[0], principal_name=each.partition(":")[2])
        for each in renewers
    )
    return CreateDelegationTokenRequest(
        owner_principal_type=kind if owner else "",
        owner_principal_name=owner,
        renewers=named,
        max_lifetime_ms=lifetime_ms,
    )


def _renew(hmac: bytes = b"nobody's", period_ms: int = -1) -> RenewDelegationTokenRequest:
    return RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms)


def _expire(hmac: bytes = b"nobody's", period_ms: int = -1) -> ExpireDelegationTokenRequest:
    return ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)


def _owners(*names: str) -> DescribeDelegationTokenRequest:
    owners = tuple(DescribeDelegationTokenOwner(principal_type="User", principal_name=name) for name in names)
    return DescribeDelegationTokenRequest(owners=owners)


ON_PLAINTEXT = (
    Table(
        ApiKey.CREATE_DELEGATION_TOKEN,
        BOTH,
        (
            Case("one", CreateDelegationTokenRequest(max_lifetime_ms=-1)),
            Case("for another", _create(owner="ann")),
            Case("for nobody", _create(owner=None)),
            Case("for another type", _create(owner="ann", kind="Group")),
            Case("a bad renewer", CreateDelegationTokenRequest(renewers=_create("Group:ops").renewers)),
        ),
    ),
    Table(
        ApiKey.RENEW_DELEGATION_TOKEN,
        BOTH,
        (
            Case("one", _renew()),
            Case("nothing", _renew(b"")),
            Case("a long one", _renew(b"h" * 5000)),
            Case("for ever", _renew(period_ms=2**63 - 1)),
        ),
    ),
    Table(
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        BOTH,
        (
            Case("one", _expire()),
            Case("nothing", _expire(b"")),
            Case("a long one", _expire(b"h" * 5000)),
            Case("now", _expire(period_ms=0)),
        ),
    ),
    Table(
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        BOTH,
        (
            Case("all", DescribeDelegationTokenRequest(owners=None)),
            Case("none", _owners()),
            Case("ann's", _owners("ann")),
        ),
    ),
)


@pytest.mark.parametrize("table", ON_PLAINTEXT, ids=lambda table: table.key.name)
def test_on_a_listener_without_protection_no_token_is_given_away(guarded_pair: Pair, table: Table) -> None:
    """TOK-04: 64, whatever is asked."""
    assert judge(guarded_pair, table) >= 10


class Forwarding:
    """One side, asked by a broker in somebody's name."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.said: list[tuple[str, object]] = []
        self.tokens: dict[str, Any] = {}

    def ask(self, who: str, request: Message, version: int, *, by_token: bool = False) -> Any:
        kind, _, name = who.partition(":")
        principal = DefaultPrincipalData(type=kind, name=name, token_authenticated=by_token)
        envelope = EnvelopeRequest(
            request_data=encode_request(request, version, 3, "client", with_length=False),
            request_principal=bytes(2) + encode(principal, 0),
            client_host_address=b"\x7f\0\0\1",
        )
        answer = self.side.call(ListenerType.CONTROLLER, envelope, 0)
        assert answer.error_code == 0, f"{self.side.name}: {answer.error_code}"
        assert request.KEY is not None
        return decode_response(answer.response_data, request.KEY, version).body

    def create(self, called: str, who: str, request: CreateDelegationTokenRequest, **asker: bool) -> None:
        version = 3 if request.owner_principal_name else 2
        answer = self.ask(who, request, version, **asker)
        self.tokens[called] = answer
        owner = f"{answer.principal_type}:{answer.principal_name}"
        requester = f"{answer.token_requester_principal_type}:{answer.token_requester_principal_name}"
        times = (
            answer.expiry_timestamp_ms - answer.issue_timestamp_ms,
            answer.max_timestamp_ms - answer.issue_timestamp_ms,
        )
        shape = (answer.issue_timestamp_ms > 0, *times, len(answer.token_id), len(answer.hmac))
        self.said.append((called, (answer.error_code, owner, requester, *shape)))

    def renew(self, called: str, who: str, period_ms: int, **asker: bool) -> None:
        self._move(called, who, _renew(self._hmac(called), period_ms), **asker)

    def expire(self, called: str, who: str, period_ms: int, **asker: bool) -> None:
        self._move(called, who, _expire(self._hmac(called), period_ms), **asker)

    def settle(self, called: str, *, gone: bool = False) -> None:
        """A Java controller finds a token when it has published it, a moment after its answer: ask as a stranger."""
        expected = ErrorCode.DELEGATION_TOKEN_NOT_FOUND if gone else ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        request = _renew(self._hmac(called))
        eventually(f"{called} is there or not", lambda: self.ask("User:nobody", request, 2).error_code == expected)

    def _hmac(self, called: str) -> bytes:
        return self.tokens[called].hmac if called in self.tokens else b"nobody's"

    def _move(self, called: str, who: str, request: Message, **asker: bool) -> None:
        """How far its end is from its beginning, in whole minutes: what is between two requests takes less."""
        answer = self.ask(who, request, 2, **asker)
        begun = self.tokens[called].issue_timestamp_ms if called in self.tokens else 0
        moved = answer.expiry_timestamp_ms - begun if answer.expiry_timestamp_ms > 0 else answer.expiry_timestamp_ms
        minutes = round(moved / EXPIRY_MS) if moved > 0 else moved
        self.said.append((f"{type(request).__name__} {called} by {who}", (answer.error_code, minutes)))


def _story(one: Forwarding) -> list[tuple[str, object]]:
    ann, bob, eve = "User:ann", "User:bob", "User:eve"
    one.create("hers", ann, _create("User:bob"))
    one.create("short", ann, _create(lifetime_ms=30_000))
    one.create("long", ann, _create(lifetime_ms=30 * DAY_MS))
    one.create("no time", ann, _create(lifetime_ms=0))
    one.create("for bob", "User:ANONYMOUS", _create(owner="bob"))
    one.create("for herself", ann, _create(owner="ann"))
    one.create("a bad renewer", ann, _create("User:bob", "Group:ops"))
    one.create("by token", ann, _create(), by_token=True)
    for called in ("hers", "short", "long", "for bob"):
        one.settle(called)
    one.renew("hers", ann, -1)
    one.renew("hers", bob, 10_000_000)
    one.renew("hers", bob, 0)
    one.renew("hers", eve, -1)
    one.renew("hers", "Group:ann", -1)
    one.renew("hers", ann, -1, by_token=True)
    one.renew("nobody's", ann, -1)
    one.renew("short", ann, 2**63 - 1)
    one.renew("for bob", ann, -1)
    one.renew("for bob", bob, -1)
    one.expire("hers", eve, -1)
    one.expire("hers", eve, 5)
    one.expire("hers", ann, 10 * EXPIRY_MS)
    one.expire("hers", ann, 2**63 - 1)
    one.expire("hers", ann, -1, by_token=True)
    one.expire("nobody's", ann, -1)
    one.expire("short", ann, 10 * EXPIRY_MS)
    one.expire("for bob", bob, -7)
    one.settle("for bob", gone=True)
    one.expire("for bob", bob, -1)
    one.renew("for bob", bob, -1)
    return one.said


def test_tokens_that_a_broker_asks_for_are_decided_as_by_kafka(guarded_pair: Pair) -> None:
    """CFG-07, TOK-01, TOK-06, TOK-07, TOK-08: owners, renewers, times; TOK-16: and who came with a token."""
    java, ours = (_story(Forwarding(side)) for side in guarded_pair.sides)
    assert ours == java


def test_without_a_secret_there_are_no_tokens(pair: Pair) -> None:
    """TOK-05: 61."""

    def story(one: Forwarding) -> list[tuple[str, object]]:
        one.create("hers", "User:ann", _create())
        one.create("a bad renewer", "User:ann", _create("Group:ops"))
        one.create("by token", "User:ann", _create(), by_token=True)
        one.renew("hers", "User:ann", -1)
        one.expire("hers", "User:ann", -1)
        return one.said

    java, ours = (story(Forwarding(side)) for side in pair.sides)
    assert ours == java
