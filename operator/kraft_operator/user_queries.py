"""What a cluster has of users, asked of its brokers for all of them at once, and how that is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import pbkdf2_hmac
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import raise_if
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
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.create_acls_response import CreateAclsResponse
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from controller_runtime.protocol.messages.delete_acls_response import DeleteAclsResponse
from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest
from controller_runtime.protocol.messages.describe_acls_response import DescribeAclsResponse
from controller_runtime.protocol.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from controller_runtime.protocol.messages.describe_client_quotas_response import DescribeClientQuotasResponse
from controller_runtime.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from controller_runtime.protocol.messages.describe_user_scram_credentials_response import (
    DescribeUserScramCredentialsResponse,
)
from kraft_operator.users import Acl, Found

SHA_512: Final = 2
"""Kafka's number of SCRAM-SHA-512."""
ITERATIONS: Final = 8192
ANY: Final = 1
PRINCIPAL: Final = "User:"
USER: Final = "user"
ANY_NAME: Final = 2
"""DescribeClientQuotas: entities that have a name."""


@dataclass(frozen=True, slots=True)
class Login:
    """SCRAM-SHA-512 for one user, salted already; None takes it away."""

    user: str
    salt: bytes = b""
    salted: bytes | None = field(default=None, repr=False)


def login(user: str, password: str, salt: bytes) -> Login:
    return Login(user, salt, pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS))


@dataclass(frozen=True, slots=True)
class UserChange:
    user: str
    login: Login | None = None
    add: tuple[Acl, ...] = ()
    remove: tuple[Acl, ...] = ()
    quotas: Mapping[str, float | None] = field(default_factory=dict)


async def found(brokers: AdminClient) -> Found:
    """Raises ApiError, AdminError."""
    scram = await brokers.ask(DescribeUserScramCredentialsRequest(users=None), DescribeUserScramCredentialsResponse)
    raise_if(scram.error_code, scram.error_message)
    able = (one.user for one in scram.results if any(each.mechanism == SHA_512 for each in one.credential_infos))
    every = DescribeAclsRequest(
        resource_type_filter=ANY, resource_name_filter=None, pattern_type_filter=ANY, principal_filter=None,
        host_filter=None, operation=ANY, permission_type=ANY,
    )  # fmt: skip
    acls = await brokers.ask(every, DescribeAclsResponse)
    raise_if(acls.error_code, acls.error_message)
    named = DescribeClientQuotasRequest(
        components=(ComponentData(entity_type=USER, match_type=ANY_NAME, match=None),), strict=True
    )
    quotas = await brokers.ask(named, DescribeClientQuotasResponse)
    raise_if(quotas.error_code, quotas.error_message)
    return Found(frozenset(able), _acls(acls), _quotas(quotas))


def _acls(answer: DescribeAclsResponse) -> dict[str, frozenset[Acl]]:
    listed: dict[str, set[Acl]] = {}
    for resource in answer.resources:
        for one in resource.acls:
            if one.principal.startswith(PRINCIPAL):
                acl = Acl(
                    resource.resource_type, resource.resource_name, resource.pattern_type, one.host,
                    operation=one.operation, permission=one.permission_type,
                )  # fmt: skip
                listed.setdefault(one.principal.removeprefix(PRINCIPAL), set()).add(acl)
    return {name: frozenset(some) for name, some in listed.items()}


def _quotas(answer: DescribeClientQuotasResponse) -> dict[str, dict[str, float]]:
    return {
        str(entry.entity[0].entity_name): {each.key: each.value for each in entry.values}
        for entry in answer.entries or ()
        if entry.entity and entry.entity[0].entity_name is not None
    }


async def change(controllers: AdminClient, wanted: UserChange) -> None:
    """What is there, or gone, already is success. Raises ApiError, AdminError."""
    if wanted.login is not None:
        await _set_login(controllers, wanted.login)
    if wanted.add:
        await _add(controllers, wanted.user, wanted.add)
    if wanted.remove:
        await _remove(controllers, wanted.user, wanted.remove)
    if wanted.quotas:
        await _set_quotas(controllers, wanted.user, wanted.quotas)


async def _set_login(controllers: AdminClient, wanted: Login) -> None:
    if wanted.salted is None:
        gone = ScramCredentialDeletion(name=wanted.user, mechanism=SHA_512)
        request = AlterUserScramCredentialsRequest(deletions=(gone,))
    else:
        made = ScramCredentialUpsertion(
            name=wanted.user, mechanism=SHA_512, iterations=ITERATIONS, salt=wanted.salt, salted_password=wanted.salted
        )
        request = AlterUserScramCredentialsRequest(upsertions=(made,))
    answer = await controllers.ask(
        request, AlterUserScramCredentialsResponse, code_of=lambda one: _moved(each.error_code for each in one.results)
    )
    for one in answer.results:
        if one.error_code != ErrorCode.RESOURCE_NOT_FOUND:
            raise_if(one.error_code, one.error_message)


async def _add(controllers: AdminClient, user: str, acls: Iterable[Acl]) -> None:
    creations = tuple(
        AclCreation(
            resource_type=each.resource_type, resource_name=each.name, resource_pattern_type=each.pattern_type,
            principal=f"{PRINCIPAL}{user}", host=each.host, operation=each.operation, permission_type=each.permission,
        )
        for each in acls
    )  # fmt: skip
    answer = await controllers.ask(
        CreateAclsRequest(creations=creations), CreateAclsResponse,
        code_of=lambda one: _moved(each.error_code for each in one.results),
    )  # fmt: skip
    for one in answer.results:
        raise_if(one.error_code, one.error_message)


async def _remove(controllers: AdminClient, user: str, acls: Iterable[Acl]) -> None:
    filters = tuple(
        DeleteAclsFilter(
            resource_type_filter=each.resource_type, resource_name_filter=each.name,
            pattern_type_filter=each.pattern_type, principal_filter=f"{PRINCIPAL}{user}", host_filter=each.host,
            operation=each.operation, permission_type=each.permission,
        )
        for each in acls
    )  # fmt: skip
    answer = await controllers.ask(
        DeleteAclsRequest(filters=filters), DeleteAclsResponse,
        code_of=lambda one: _moved(each.error_code for each in one.filter_results),
    )  # fmt: skip
    for one in answer.filter_results:
        raise_if(one.error_code, one.error_message)


async def _set_quotas(controllers: AdminClient, user: str, quotas: Mapping[str, float | None]) -> None:
    ops = tuple(OpData(key=key, value=value or 0.0, remove=value is None) for key, value in quotas.items())
    entry = EntryData(entity=(EntityData(entity_type=USER, entity_name=user),), ops=ops)
    answer = await controllers.ask(
        AlterClientQuotasRequest(entries=(entry,), validate_only=False), AlterClientQuotasResponse,
        code_of=lambda one: _moved(each.error_code for each in one.entries),
    )  # fmt: skip
    for one in answer.entries:
        raise_if(one.error_code, one.error_message)


def _moved(codes: Iterable[int]) -> int:
    """A change that was asked of a controller that does not lead any more is asked again."""
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in set(codes) else ErrorCode.NONE
