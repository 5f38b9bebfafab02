"""FEA-05: a downgrade that version 0 allows is taken for an unsafe one."""

from __future__ import annotations

import pytest

from controller_runtime.controller import feature_updates

SHOWN_BY = "unit/controller/test_admin_requests.py::test_a_downgrade_that_version_0_allows_is_a_safe_one"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(feature_updates, "SAFE_DOWNGRADE", feature_updates.UNSAFE_DOWNGRADE)
