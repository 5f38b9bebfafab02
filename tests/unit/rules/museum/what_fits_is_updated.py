"""FEA-05: of several updates those that can be made are made, though one of them is refused."""

from __future__ import annotations

import pytest

from controller_runtime.answers.refused import Refused
from controller_runtime.controller import feature_updates, service
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.update_features_request import UpdateFeaturesRequest
from controller_runtime.values import replace

SHOWN_BY = "unit/controller/test_admin_requests.py::test_one_update_that_fails_fails_all_and_is_named"


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = feature_updates.update_features

    def update_features(
        image: MetadataImage, request: UpdateFeaturesRequest, context: RequestContext, node_id: NodeId, least: str
    ) -> Decision:
        made: list[VersionedRecord] = []
        refused = Refused(ErrorCode.NONE)
        for update in request.feature_updates:
            try:
                made += right(image, replace(request, feature_updates=(update,)), context, node_id, least).records
            except Refused as error:
                refused = error
        response = refusal(request, refused.code, refused.message)
        return Decision(response, tuple(made))

    patch.setattr(service, "update_features", update_features)
