"""FEA-05: version 0 of UpdateFeatures is read by the upgrade type, which only later versions have."""

from __future__ import annotations

import pytest

from controller_runtime.controller import feature_updates

SHOWN_BY = "unit/controller/test_admin_requests.py::test_version_0_lowers_a_level_only_where_a_downgrade_is_allowed"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(feature_updates, "_upgrade_type", lambda update, version: update.upgrade_type)
