"""QC-01: the standby refuses without saying who is active."""

from __future__ import annotations

import pytest

from controller_runtime.parts import failed_requests

SHOWN_BY = "unit/node/test_who_answers.py::test_the_hint_is_in_the_answer_of_those_that_have_a_place_for_words"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(failed_requests, "not_controller_message", lambda leader: "Not the controller.")
