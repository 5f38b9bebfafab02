"""API-02: what ApiVersions says in each version, of features most of all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.answers.api_versions import api_versions
from controller_runtime.identifiers import Offset
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

NAMED = ApiVersionsRequest(client_software_name="client", client_software_version="1.0")


def asked(
    version: int, image: MetadataImage, kraft_version: int = 1, request: ApiVersionsRequest = NAMED
) -> ApiVersionsResponse:
    """As it arrives: what a version cannot say is not there."""
    answer = api_versions(request, version, ListenerType.CONTROLLER, image, kraft_version, Offset(7))
    known = version if version <= 4 else 0
    return decode(ApiVersionsResponse, encode(answer, known), known)


@pytest.mark.parametrize("version", range(5))
def test_features_whose_lowest_level_is_0_are_listed_from_version_4_on(version: int) -> None:
    """KAFKA-17011: older clients cannot read them; what is finalized they may know."""
    answer = asked(version, World().image)
    assert answer.error_code == 0
    assert {18, 62, 63} <= {each.api_key for each in answer.api_keys}
    lowest = {each.name: each.min_version for each in answer.supported_features}
    assert ("metadata.version" in lowest, 0 in lowest.values()) == (version >= 3, version >= 4)
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    assert (finalized.get("metadata.version"), finalized.get("kraft.version")) == (
        (30, 1) if version >= 3 else (None, None)
    )


def test_what_is_finalized_at_level_0_is_not_listed() -> None:
    world = World()
    world.append([(FeatureLevelRecord(name="share.version", feature_level=0), 0)])
    names = {each.name for each in asked(4, world.image, kraft_version=0).finalized_features}
    assert "metadata.version" in names
    assert not names & {"kraft.version", "share.version"}


def test_a_version_that_nobody_knows_is_answered_in_version_0_with_the_range_to_ask_in() -> None:
    answer = asked(5, World().image)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys] == [
        (ApiKey.API_VERSIONS, 0, 4)
    ]


@pytest.mark.parametrize(("version", "code"), [(2, 0), (3, 42), (4, 42)])
def test_software_without_a_name_is_refused_where_it_has_to_have_one(version: int, code: int) -> None:
    assert asked(version, World().image, request=replace(NAMED, client_software_name="")).error_code == code
