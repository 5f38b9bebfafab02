"""`kafka-delegation-tokens`: create, renew, expire and describe delegation tokens (KIP-48)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import raise_if
from controller_runtime.cli.acls_options import principal
from controller_runtime.cli.admin_tools import (
    AdminError,
    ApiError,
    BadCommand,
    Failed,
    complain,
    exception_text,
    with_admin,
)
from controller_runtime.cli.options import BadOption, Given, Option, Table
from controller_runtime.protocol.messages.create_delegation_token_request import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from controller_runtime.protocol.messages.create_delegation_token_response import CreateDelegationTokenResponse
from controller_runtime.protocol.messages.describe_delegation_token_request import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from controller_runtime.protocol.messages.describe_delegation_token_response import DescribeDelegationTokenResponse
from controller_runtime.protocol.messages.expire_delegation_token_request import ExpireDelegationTokenRequest
from controller_runtime.protocol.messages.expire_delegation_token_response import ExpireDelegationTokenResponse
from controller_runtime.protocol.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from controller_runtime.protocol.messages.renew_delegation_token_response import RenewDelegationTokenResponse
from controller_runtime.values import dataclass

_ACTIONS: Final = ("create", "renew", "expire", "describe")
_WIDTHS: Final = (15, 30, 15, 15, 25, 15, 15, 15)
_HEAD: Final = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")
_REQUIRED: Final = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}
_FORBIDDEN: Final = {
    "create": ("hmac", "renew-time-period", "expiry-time-period"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("renew", "max-life-time-period", "renew-time-period", "owner-principal"),
    "describe": ("renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}

OPTIONS: Final = Table(
    "This tool helps to create, renew, expire, or describe delegation tokens.",
    [
        Option("bootstrap-server", "REQUIRED: brokers to ask.", "String"),
        Option(
            "command-config", "REQUIRED: properties of the client; tokens need a client that says who it is.", "String"
        ),
        Option("create", "Create a token."),
        Option("renew", "Renew the token of --hmac."),
        Option("expire", "Expire the token of --hmac."),
        Option("describe", "Describe the tokens of --owner-principal, or all that one may see."),
        Option("owner-principal", "An owner: type:name; may be repeated.", "String", optional=True),
        Option("renewer-principal", "A renewer: type:name; may be repeated.", "String", optional=True),
        Option(
            "max-life-time-period",
            "Milliseconds that the token may live; -1: what brokers allow.",
            "Long",
            optional=True,
        ),
        Option("renew-time-period", "Milliseconds; -1: what brokers allow.", "Long", optional=True),
        Option("expiry-time-period", "Milliseconds; -1: at once.", "Long", optional=True),
        Option("hmac", "The token's HMAC, base64.", "String", optional=True),
    ],
)


@dataclass(frozen=True, slots=True)
class Token:
    token_id: str
    hmac: bytes
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    lives_until_ms: int


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        action = _check(given)
        owners = [principal(one) for one in given.all("owner-principal")]
        renewers = [principal(one) for one in given.all("renewer-principal")]

        async def act(admin: AdminClient) -> None:
            match action:
                case "create":
                    await _create(admin, _period(given, "max-life-time-period"), owners, renewers)
                case "renew":
                    await _renew(admin, given.value("hmac") or "", _period(given, "renew-time-period"))
                case "expire":
                    await _expire(admin, given.value("hmac") or "", _period(given, "expiry-time-period"))
                case _:
                    await _describe(admin, owners)

        return with_admin(given.value("bootstrap-server"), None, given.value("command-config"), act)
    except (BadOption, BadCommand, Failed) as error:
        return complain(error)
    except (ApiError, AdminError) as error:
        return complain(exception_text(error))


def _check(given: Given) -> str:
    why = "Command must include exactly one action: --create, --renew, --expire or --describe"
    action = OPTIONS.exactly_one(given, _ACTIONS, why)
    OPTIONS.require(given, "bootstrap-server", "command-config", *_REQUIRED[action])
    OPTIONS.exclude(given, action, *_FORBIDDEN[action])
    return action


def _period(given: Given, name: str) -> int:
    """Raises BadOption, Failed."""
    if not given.all(name):
        raise Failed(f"Option {name} requires an argument")
    return given.number(name, -1, 64)


async def _create(admin: AdminClient, lifetime_ms: int, owners: Sequence[str], renewers: Sequence[str]) -> None:
    print(
        f"Calling create token operation with renewers :[{', '.join(renewers)}] , max-life-time-period :{lifetime_ms}"
    )
    kind, _, name = owners[0].partition(":") if owners else (None, "", None)
    request = CreateDelegationTokenRequest(
        owner_principal_type=kind,
        owner_principal_name=name,
        renewers=tuple(CreatableRenewers(principal_type=one, principal_name=each) for one, each in _pairs(renewers)),
        max_lifetime_ms=lifetime_ms,
    )
    found = await admin.ask(request, CreateDelegationTokenResponse, code_of=lambda one: one.error_code)
    raise_if(found.error_code)
    token = Token(
        token_id=found.token_id,
        hmac=bytes(found.hmac),
        owner=f"{found.principal_type}:{found.principal_name}",
        requester=f"{found.token_requester_principal_type}:{found.token_requester_principal_name}",
        renewers=tuple(renewers),
        issued_ms=found.issue_timestamp_ms,
        expires_ms=found.expiry_timestamp_ms,
        lives_until_ms=found.max_timestamp_ms,
    )
    print(f"Created delegation token with tokenId : {token.token_id}")
    print("\n".join(["", *table([token])]))


async def _renew(admin: AdminClient, hmac: str, period_ms: int) -> None:
    print(f"Calling renew token operation with hmac :{hmac} , renew-time-period :{period_ms}")
    request = RenewDelegationTokenRequest(hmac=_bytes(hmac), renew_period_ms=period_ms)
    found = await admin.ask(request, RenewDelegationTokenResponse, code_of=lambda one: one.error_code)
    raise_if(found.error_code)
    print(f"Completed renew operation. New expiry date : {date(found.expiry_timestamp_ms)}", end="")


async def _expire(admin: AdminClient, hmac: str, period_ms: int) -> None:
    print(f"Calling expire token operation with hmac :{hmac} , expire-time-period :{period_ms}")
    request = ExpireDelegationTokenRequest(hmac=_bytes(hmac), expiry_time_period_ms=period_ms)
    found = await admin.ask(request, ExpireDelegationTokenResponse, code_of=lambda one: one.error_code)
    raise_if(found.error_code)
    print(f"Completed expire operation. New expiry date : {date(found.expiry_timestamp_ms)}", end="")


async def _describe(admin: AdminClient, owners: Sequence[str]) -> None:
    if owners:
        print(f"Calling describe token operation for owners: [{', '.join(owners)}]")
    else:
        print("Calling describe token operation for current user.")
    asked = tuple(DescribeDelegationTokenOwner(principal_type=one, principal_name=name) for one, name in _pairs(owners))
    request = DescribeDelegationTokenRequest(owners=asked)
    found = await admin.ask(request, DescribeDelegationTokenResponse)
    raise_if(found.error_code)
    print(f"Total number of tokens : {len(found.tokens)}")
    print("\n".join(table(map(_read, found.tokens))))


def _read(one: Any) -> Token:
    return Token(
        token_id=one.token_id,
        hmac=bytes(one.hmac),
        owner=f"{one.principal_type}:{one.principal_name}",
        requester=f"{one.token_requester_principal_type}:{one.token_requester_principal_name}",
        renewers=tuple(f"{each.principal_type}:{each.principal_name}" for each in one.renewers),
        issued_ms=one.issue_timestamp,
        expires_ms=one.expiry_timestamp,
        lives_until_ms=one.max_timestamp,
    )


def table(tokens: Iterable[Token]) -> Iterator[str]:
    """The head, and each token after an empty line."""
    yield _row(_HEAD)
    for one in tokens:
        dates = map(date, (one.issued_ms, one.expires_ms, one.lives_until_ms))
        hmac, renewers = b64encode(one.hmac).decode(), f"[{', '.join(one.renewers)}]"
        yield ""
        yield _row((one.token_id, hmac, one.owner, one.requester, renewers, *dates))


def _row(cells: Sequence[str]) -> str:
    return " ".join(f"{cell:{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))


def date(milliseconds: int) -> str:
    """To the minute, in the time of this place. Times beyond the calendar are its end."""
    bounded = min(max(milliseconds, 0), 253402214400000)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=bounded)
    return moment.astimezone().strftime("%Y-%m-%dT%H:%M")


def _bytes(hmac: str) -> bytes:
    """Raises Failed."""
    try:
        return b64decode(hmac, validate=True)
    except (NotBase64, ValueError) as error:
        raise Failed(f"The HMAC is not base64: {error}") from error


def _pairs(principals: Iterable[str]) -> Iterator[tuple[str, str]]:
    for one in principals:
        kind, _, name = one.partition(":")
        yield kind, name
