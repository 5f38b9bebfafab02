"""`kafka-acls`: add, remove and list access control lists, through brokers or controllers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import raise_if
from controller_runtime.cli.acls_options import (
    ANY,
    OPTIONS,
    Entry,
    Pattern,
    Wanted,
    check,
    entries,
    list_principals,
    resources,
    to_add,
)
from controller_runtime.cli.admin_tools import (
    AdminError,
    ApiError,
    BadCommand,
    Failed,
    complain,
    exception_text,
    with_admin,
)
from controller_runtime.cli.options import BadOption, Given
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.create_acls_response import CreateAclsResponse
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from controller_runtime.protocol.messages.delete_acls_response import DeleteAclsResponse
from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest
from controller_runtime.protocol.messages.describe_acls_response import DescribeAclsResponse

_EVERYTHING: Final = DescribeAclsRequest(
    resource_type_filter=ANY,
    resource_name_filter=None,
    pattern_type_filter=ANY,
    principal_filter=None,
    host_filter=None,
    operation=ANY,
    permission_type=ANY,
)


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
        action = check(given)
    except BadOption as error:
        return complain(error)
    try:
        return _run(given, action)
    except (BadOption, BadCommand, Failed) as error:
        return _failed(str(error))
    except (ApiError, AdminError) as error:
        return _failed(exception_text(error))


def _failed(why: str) -> int:
    print(f"Error while executing ACL command: {why}")
    return 1


def _run(given: Given, action: str) -> int:
    wanted = to_add(given) if action == "add" else entries(given) if action == "remove" else {}
    filters, principals = resources(given, needed=False), list_principals(given)

    async def act(admin: AdminClient) -> None:
        match action:
            case "add":
                await _add(admin, wanted)
            case "remove":
                await _remove(admin, wanted, ask=not given.has("force"))
            case _:
                await _list(admin, filters, principals)

    config = given.value("command-config") if given.all("command-config") else None
    return with_admin(given.value("bootstrap-server"), given.value("bootstrap-controller"), config, act)


async def _add(admin: AdminClient, wanted: Wanted) -> None:
    for pattern, asked in wanted.items():
        there = (await _described(admin, pattern)).get(pattern, [])
        for one in asked:
            if one in there:
                print(f"Acl (pattern={pattern.text()}, entry={one}) already exists.")
        some = [one for one in asked if one not in there]
        if not some:
            continue
        print(f"Adding ACLs for resource `{pattern.text()}`: \n {_lines(some)}\n")
        creations = tuple(
            AclCreation(
                resource_type=pattern.resource_type,
                resource_name=pattern.name,
                resource_pattern_type=pattern.pattern_type,
                principal=one.principal,
                host=one.host,
                operation=one.operation,
                permission_type=one.permission_type,
            )
            for one in some
        )
        found = await admin.ask(CreateAclsRequest(creations=creations), CreateAclsResponse, code_of=_created)
        for result in found.results:
            raise_if(result.error_code, result.error_message)


async def _remove(admin: AdminClient, wanted: Wanted, *, ask: bool) -> None:
    for pattern, some in wanted.items():
        named = f"resource filter `{pattern.text()}`"
        question = (
            f"Are you sure you want to remove ACLs: \n {_lines(some)} \n from {named}? (y/n)"
            if some
            else f"Are you sure you want to delete all ACLs for {named}? (y/n)"
        )
        if ask and not _confirmed(question):
            continue
        filters = tuple(_delete_filter(pattern, one) for one in (some or (None,)))
        found = await admin.ask(DeleteAclsRequest(filters=filters), DeleteAclsResponse, code_of=_deleted)
        for result in found.filter_results:
            raise_if(result.error_code, result.error_message)
            for acl in result.matching_acls:
                raise_if(acl.error_code, acl.error_message)


def _confirmed(question: str) -> bool:
    print(question, flush=True)
    return sys.stdin.readline().strip().lower() == "y"


def _delete_filter(pattern: Pattern, entry: Entry | None) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=pattern.resource_type,
        resource_name_filter=pattern.name,
        pattern_type_filter=pattern.pattern_type,
        principal_filter=None if entry is None else entry.principal,
        host_filter=None if entry is None else entry.host,
        operation=ANY if entry is None else entry.operation,
        permission_type=ANY if entry is None else entry.permission_type,
    )


async def _list(admin: AdminClient, filters: Sequence[Pattern], principals: Sequence[str]) -> None:
    found: dict[Pattern, list[Entry]] = {}
    for one in filters or (None,):
        for pattern, some in (await _described(admin, one)).items():
            found[pattern] = list(dict.fromkeys([*found.get(pattern, []), *some]))
    if not principals:
        _print(found)
    for who in principals:
        print(f"ACLs for principal `{who}`")
        own = {pattern: [one for one in some if one.principal == who] for pattern, some in found.items()}
        _print({pattern: some for pattern, some in own.items() if some})


async def _described(admin: AdminClient, wanted: Pattern | None) -> Mapping[Pattern, list[Entry]]:
    request = _EVERYTHING
    if wanted is not None:
        request = DescribeAclsRequest(
            resource_type_filter=wanted.resource_type,
            resource_name_filter=wanted.name,
            pattern_type_filter=wanted.pattern_type,
            principal_filter=None,
            host_filter=None,
            operation=ANY,
            permission_type=ANY,
        )
    found = await admin.ask(request, DescribeAclsResponse)
    raise_if(found.error_code, found.error_message)
    return {
        Pattern(resource.resource_type, resource.resource_name, resource.pattern_type): [
            Entry(one.principal, one.host, one.operation, one.permission_type) for one in resource.acls
        ]
        for resource in found.resources
    }


def _print(found: Mapping[Pattern, Sequence[Entry]]) -> None:
    for pattern, some in found.items():
        print(f"Current ACLs for resource `{pattern.text()}`:\n{_lines(some)}\n")


def _lines(some: Sequence[Entry]) -> str:
    return "\n".join(f"\t{one}" for one in some)


def _created(answer: CreateAclsResponse) -> int:
    return _moved({one.error_code for one in answer.results})


def _deleted(answer: DeleteAclsResponse) -> int:
    return _moved({one.error_code for one in answer.filter_results})


def _moved(codes: set[int]) -> int:
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in codes else ErrorCode.NONE
