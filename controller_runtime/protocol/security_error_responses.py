"""What `error_responses` has for requests about quotas, ACLs, SCRAM credentials and delegation tokens.

Imported when the first such request fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from controller_runtime.protocol.messages import alter_client_quotas_response as quotas
from controller_runtime.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from controller_runtime.protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from controller_runtime.protocol.messages.create_acls_request import CreateAclsRequest
from controller_runtime.protocol.messages.create_acls_response import AclCreationResult, CreateAclsResponse
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsRequest
from controller_runtime.protocol.messages.delete_acls_response import DeleteAclsFilterResult, DeleteAclsResponse
from controller_runtime.protocol.messages.describe_client_quotas_response import DescribeClientQuotasResponse
from controller_runtime.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from controller_runtime.protocol.messages.describe_user_scram_credentials_response import (
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from controller_runtime.protocol.schema import Message


def _alter_client_quotas(request: AlterClientQuotasRequest, error: int, message: str | None) -> Message:
    entries = tuple(
        quotas.EntryData(
            error_code=error,
            error_message=message,
            entity=tuple(
                quotas.EntityData(entity_type=part.entity_type, entity_name=part.entity_name) for part in entry.entity
            ),
        )
        for entry in request.entries
    )
    return quotas.AlterClientQuotasResponse(entries=entries)


def _describe_client_quotas(_: Message, error: int, message: str | None) -> Message:
    return DescribeClientQuotasResponse(error_code=error, error_message=message, entries=None)


def _alter_scram(request: AlterUserScramCredentialsRequest, error: int, message: str | None) -> Message:
    users = sorted({one.name for one in request.deletions} | {one.name for one in request.upsertions})
    return AlterUserScramCredentialsResponse(
        results=tuple(
            AlterUserScramCredentialsResult(user=user, error_code=error, error_message=message) for user in users
        )
    )


def _describe_scram(request: DescribeUserScramCredentialsRequest, error: int, message: str | None) -> Message:
    """As Kafka's, whose results do not name the users."""
    result = DescribeUserScramCredentialsResult(error_code=error, error_message=message)
    results = tuple(result for _ in request.users or ())
    return DescribeUserScramCredentialsResponse(error_code=error, error_message=message, results=results)


def _create_acls(request: CreateAclsRequest, error: int, message: str | None) -> Message:
    result = AclCreationResult(error_code=error, error_message=message)
    return CreateAclsResponse(results=tuple(result for _ in request.creations))


def _delete_acls(request: DeleteAclsRequest, error: int, message: str | None) -> Message:
    result = DeleteAclsFilterResult(error_code=error, error_message=message)
    return DeleteAclsResponse(filter_results=tuple(result for _ in request.filters))


SHAPES_OF_SECURITY: Final[dict[str, Callable[[Any, int, str | None], Message]]] = {
    "AlterClientQuotasRequest": _alter_client_quotas,
    "DescribeClientQuotasRequest": _describe_client_quotas,
    "CreateAclsRequest": _create_acls,
    "DeleteAclsRequest": _delete_acls,
    "AlterUserScramCredentialsRequest": _alter_scram,
    "DescribeUserScramCredentialsRequest": _describe_scram,
}
