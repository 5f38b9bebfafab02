"""Quotas of users, clients and addresses, and SCRAM credentials of users, for `kafka-configs`."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import raise_if
from controller_runtime.cli.admin_tools import Failed
from controller_runtime.metadata.dump_lines import java_double
from controller_runtime.metadata.scram import BY_NAME, BY_NUMBER
from controller_runtime.protocol.api_errors import error_for
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from controller_runtime.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from controller_runtime.protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResponse
from controller_runtime.protocol.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from controller_runtime.protocol.messages.describe_client_quotas_response import DescribeClientQuotasResponse
from controller_runtime.protocol.messages.describe_client_quotas_response import EntryData as DescribedEntry
from controller_runtime.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from controller_runtime.protocol.messages.describe_user_scram_credentials_response import (
    DescribeUserScramCredentialsResponse,
)
from controller_runtime.security.scram_keys import MIN_ITERATIONS, salted_password

ENTITIES: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
USER_AND_CLIENT_QUOTAS: Final = (
    "producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate",
)  # fmt: skip
IP_QUOTAS: Final = ("connection_creation_rate",)
_WORDS: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_EXACT: Final = 0
_DEFAULT: Final = 1
_ANY: Final = 2
_PASSWORD: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)
_SALT_BYTES: Final = 20


async def quotas_of(
    admin: AdminClient, types: Sequence[str], names: Sequence[str]
) -> list[tuple[dict[str, str | None], dict[str, float]]]:
    """(Entity, quotas) of all that match; a type without a name matches every name of it. Raises Failed, ApiError."""
    components = []
    for kind, name in zip_longest(types, names):
        if kind is None:
            raise Failed("More entity names specified than entity types")
        match = _ANY if name is None else _EXACT if name else _DEFAULT
        components.append(ComponentData(entity_type=ENTITIES[kind], match_type=match, match=name or None))
    request = DescribeClientQuotasRequest(components=tuple(components), strict=True)
    found = await admin.ask(request, DescribeClientQuotasResponse)
    raise_if(found.error_code, found.error_message)
    return [_read(one) for one in found.entries or ()]


def _read(one: DescribedEntry) -> tuple[dict[str, str | None], dict[str, float]]:
    entity = {each.entity_type: each.entity_name for each in one.entity}
    return entity, {each.key: each.value for each in one.values}


def quota_line(entity: Mapping[str, str | None], quotas: Mapping[str, float]) -> str:
    named = [
        f"{word} '{entity[kind]}'" if entity[kind] is not None else f"the default {word}"
        for kind, word in _WORDS.items()
        if kind in entity
    ]
    values = ", ".join(f"{name}={java_double(value)}" for name, value in quotas.items())
    return f"Quota configs for {', '.join(named)} are {values}"


async def alter_quotas(
    admin: AdminClient,
    types: Sequence[str],
    names: Sequence[str],
    added: Mapping[str, str],
    deleted: Sequence[str],
) -> None:
    """Raises Failed, ApiError."""
    before = next((quotas for _, quotas in await quotas_of(admin, types, names)), {})
    strangers = [name for name in deleted if name not in before]
    if strangers:
        raise Failed(f"Invalid config(s): {','.join(strangers)}")
    ops = [OpData(key=name, value=_number(name, value)) for name, value in added.items()]
    ops += [OpData(key=name, remove=True) for name in deleted]
    entity = tuple(
        EntityData(entity_type=ENTITIES[kind], entity_name=name or None)
        for kind, name in zip(types, names, strict=True)
    )
    request = AlterClientQuotasRequest(entries=(EntryData(entity=entity, ops=tuple(ops)),))
    found = await admin.ask(request, AlterClientQuotasResponse, code_of=_moved_quotas)
    for one in found.entries:
        raise_if(one.error_code, one.error_message)


def _moved_quotas(answer: AlterClientQuotasResponse) -> int:
    codes = {one.error_code for one in answer.entries}
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in codes else ErrorCode.NONE


def _number(name: str, text: str) -> float:
    try:
        return float(text.strip())
    except ValueError as error:
        raise Failed(f"Cannot parse quota configuration value for {name}: {text}") from error


def upsertions(user: str, added: Mapping[str, str]) -> tuple[ScramCredentialUpsertion, ...]:
    """Raises Failed."""
    return tuple(_upsertion(user, mechanism, text) for mechanism, text in added.items())


def _upsertion(user: str, name: str, text: str) -> ScramCredentialUpsertion:
    match = _PASSWORD.fullmatch(text)
    if match is None:
        raise Failed(f"Invalid credential property {name.replace('-', '_')}={text}")
    iterations = MIN_ITERATIONS if match[1] in (None, "", "-1") else int(match[1])
    if iterations < MIN_ITERATIONS:
        raise Failed(f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for {name}")
    mechanism, salt = BY_NAME[name], secrets.token_bytes(_SALT_BYTES)
    return ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism.number,
        iterations=iterations,
        salt=salt,
        salted_password=salted_password(mechanism.algorithm, match[2].encode(), salt, min(iterations, 1 << 20)),
    )


async def alter_scram(admin: AdminClient, user: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Raises Failed, ApiError."""
    request = AlterUserScramCredentialsRequest(
        deletions=tuple(ScramCredentialDeletion(name=user, mechanism=BY_NAME[name].number) for name in deleted),
        upsertions=upsertions(user, added),
    )
    found = await admin.ask(request, AlterUserScramCredentialsResponse, code_of=_moved_scram)
    for one in found.results:
        raise_if(one.error_code, one.error_message)


def _moved_scram(answer: AlterUserScramCredentialsResponse) -> int:
    codes = {one.error_code for one in answer.results}
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in codes else ErrorCode.NONE


async def scram_lines(admin: AdminClient, users: Sequence[str]) -> list[str]:
    """Of these users, or of all that have credentials. Raises ApiError."""
    asked = tuple(UserName(name=one) for one in users) if users else None
    request = DescribeUserScramCredentialsRequest(users=asked)
    found = await admin.ask(request, DescribeUserScramCredentialsResponse)
    raise_if(found.error_code, found.error_message)
    lines = []
    for one in found.results:
        error = error_for(one.error_code, one.error_message)
        if error is not None and error.code is ErrorCode.RESOURCE_NOT_FOUND:
            continue
        infos = ", ".join(
            f"{BY_NUMBER[each.mechanism].name}=iterations={each.iterations}" for each in one.credential_infos
        )
        what = f"SCRAM credential configs for user-principal '{one.user}'"
        lines.append(f"{what} are {infos}" if error is None else f"Error retrieving {what}: {error.message}")
    return lines
