"""FEA-05: a request that only asks whether levels could be changed changes them."""

from __future__ import annotations

import pytest

from controller_runtime.controller import feature_updates, service
from controller_runtime.values import replace

SHOWN_BY = (
    "unit/controller/test_admin_requests.py::"
    "test_the_answer_has_results_before_version_2_and_a_validation_has_no_records"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = feature_updates.update_features
    patch.setattr(
        service,
        "update_features",
        lambda image, request, *others: right(image, replace(request, validate_only=False), *others),
    )
