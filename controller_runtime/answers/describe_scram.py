"""Which SCRAM credentials users have, from the image (DescribeUserScramCredentials, KIP-554): never a salt or a key."""

from __future__ import annotations

from collections import Counter
from typing import Final

from controller_runtime.metadata.config_values import shown
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.scram import MECHANISMS
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from controller_runtime.protocol.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

_TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: "
_UNKNOWN: Final = "Attempt to describe a user credential that does not exist: "


def describe_scram_credentials(
    image: MetadataImage, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Of the named users, or of all when none is named."""
    users = Counter(user.name for user in request.users or ()) or Counter({name for _, name in image.scram})
    results = (_of(image, user, times) for user, times in sorted(users.items()))
    return DescribeUserScramCredentialsResponse(results=tuple(results))


def _of(image: MetadataImage, user: str, times: int) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(
            user=user, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=_TWICE + shown(user)
        )
    found = tuple(
        CredentialInfo(mechanism=mechanism.number, iterations=credential.iterations)
        for mechanism in MECHANISMS
        if (credential := image.scram.get((mechanism.number, user))) is not None
    )
    if not found:
        return DescribeUserScramCredentialsResult(
            user=user, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=_UNKNOWN + shown(user)
        )
    return DescribeUserScramCredentialsResult(user=user, credential_infos=found)
