"""API-05: a cluster of before 3.7, whose controllers do not register, says that there are none."""

from __future__ import annotations

import pytest

from controller_runtime.controller import controllers

SHOWN_BY = (
    "unit/controller/test_admin_requests.py::"
    "test_the_lowest_level_at_which_controllers_describe_themselves_is_that_of_their_registration"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(controllers, "CONTROLLER_REGISTRATION", 0)
