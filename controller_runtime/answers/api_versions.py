"""ApiVersions: what a role serves, which features it supports, and which are finalized.

Versions up to 3 leave out supported features whose lowest level is 0, because old clients cannot read them
(KAFKA-17011). kraft.version comes from the raft log; it is in no image. A version that nobody knows is answered at
version 0 with the range of ApiVersions alone.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from controller_runtime.parts.api_table import advertised
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, api
from controller_runtime.protocol.client_software import is_named
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_FIRST_VERSION_WITH_SOFTWARE: Final = 3
_FIRST_VERSION_WITH_ZERO_LEVELS: Final = 4

SUPPORTED_LEVELS: Final[dict[str, tuple[int, int]]] = {
    METADATA_VERSION: (MINIMUM_LEVEL, LATEST_PRODUCTION_LEVEL),
    **{name: (0, feature.latest_production_level) for name, feature in FEATURES.items()},
}
"""What this runtime understands, by feature name."""


def api_versions(
    request: ApiVersionsRequest,
    version: int,
    role: ListenerType,
    image: MetadataImage,
    kraft_version: int,
    end_offset: Offset,
    supported: Mapping[str, tuple[int, int]] = SUPPORTED_LEVELS,
) -> ApiVersionsResponse:
    """The answer; `image` is the newest committed one, which ends at `end_offset`."""
    if version not in api(ApiKey.API_VERSIONS).versions:
        return _unknown_version()
    if version >= _FIRST_VERSION_WITH_SOFTWARE and not is_named(request):
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
            for name, (lowest, highest) in supported.items()
            if lowest > 0 or version >= _FIRST_VERSION_WITH_ZERO_LEVELS
        ),
        finalized_features_epoch=max(-1, end_offset - 1),
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(levels.items())
            if level > 0
        ),
    )


def _unknown_version() -> ApiVersionsResponse:
    served = api(ApiKey.API_VERSIONS).versions
    own = ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=served.lowest, max_version=served.highest)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=(own,))
