"""FEA-05: version 0 of UpdateFeatures lowers a level whether its `allow_downgrade` says so or not."""

from __future__ import annotations

import pytest

from controller_runtime.controller import feature_updates

SHOWN_BY = "unit/controller/test_admin_requests.py::test_version_0_lowers_a_level_only_where_a_downgrade_is_allowed"


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = feature_updates._upgrade_type
    patch.setattr(
        feature_updates,
        "_upgrade_type",
        lambda update, version: right(update, version) if version else feature_updates.SAFE_DOWNGRADE,
    )
