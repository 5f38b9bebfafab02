"""CFG-01: a list is appended to as a text, so that a name may be in it twice."""

from __future__ import annotations

import pytest

from controller_runtime.answers import config_changes

SHOWN_BY = "unit/controller/test_controller_scripts.py::test_the_controller_decides_as_the_script_says[configs]"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(config_changes, "_new_list", lambda config, before, spec: f"{before},{config.value}")
