"""ApiVersions: what a role serves, which features it supports, and which are finalized.

Versions up to 3 leave out supported features whose lowest level is 0, because old clients cannot read them
(KAFKA-17011). kraft.version is told from the raft log; it is in no image. A version that nobody knows is answered at
version 0 with the range of ApiVersions alone.
"""

from __future__ import annotations

import re
from typing import Final

from controller_runtime.identifiers import Offset
from controller_runtime.metadata.features import (
    FEATURES,
    KRAFT_VERSION,
    LATEST_PRODUCTION_LEVEL,
    METADATA_VERSION,
    MINIMUM_LEVEL,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.api_keys import ApiKey, Role, api
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from controller_runtime.protocol.served import advertised

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_VERSION_WITH_SOFTWARE: Final = 3
_FIRST_VERSION_WITH_ZERO_LEVELS: Final = 4

SUPPORTED_LEVELS: Final[dict[str, tuple[int, int]]] = {
    METADATA_VERSION: (MINIMUM_LEVEL, LATEST_PRODUCTION_LEVEL),
    **{name: (0, feature.latest_production_level) for name, feature in FEATURES.items()},
}
"""What this runtime understands, by feature name."""


def api_versions(
    request: ApiVersionsRequest, version: int, role: Role, image: MetadataImage, kraft_version: int, end_offset: Offset
) -> ApiVersionsResponse:
    """The answer; `image` is the newest committed one, which ends at `end_offset`."""
    if version not in api(ApiKey.API_VERSIONS).versions:
        return _unknown_version()
    if version >= _FIRST_VERSION_WITH_SOFTWARE and not _is_named(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    levels = dict(image.features.levels)
    if kraft_version > 0:
        levels[KRAFT_VERSION] = kraft_version
    return ApiVersionsResponse(
        api_keys=tuple(
            ApiVersion(api_key=key, min_version=served.lowest, max_version=served.highest)
            for key, served in advertised(role).items()
        ),
        supported_features=tuple(
            SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
            for name, (lowest, highest) in SUPPORTED_LEVELS.items()
            if lowest > 0 or version >= _FIRST_VERSION_WITH_ZERO_LEVELS
        ),
        finalized_features_epoch=max(-1, end_offset - 1),
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(levels.items())
            if level > 0
        ),
    )


def _is_named(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in names)


def _unknown_version() -> ApiVersionsResponse:
    served = api(ApiKey.API_VERSIONS).versions
    own = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=served.lowest, max_version=served.highest)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(own,))
