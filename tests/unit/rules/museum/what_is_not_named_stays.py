"""CFG-02: what AlterConfigs does not name stays."""

from __future__ import annotations

import pytest

from controller_runtime.answers import config_changes
from controller_runtime.controller import configs

SHOWN_BY = "unit/controller/test_configs_at_once.py::test_what_is_not_named_goes_and_what_is_as_it_was_is_not_written"


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = config_changes.changes_of
    patch.setattr(configs, "changes_of", lambda resource, values: right(resource, {}))
