"""CLU-13: the pause before a controller asks again to be registered grows without a bound."""

from __future__ import annotations

import pytest

from controller_runtime.node import controller_registration

SHOWN_BY = "unit/node/test_controller_registration.py::test_the_pause_doubles_from_a_tenth_of_a_second_to_two_minutes"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(controller_registration, "MAX_BACKOFF_S", 1e9)
