"""STO-03: what stands before the first colon is the host, also within brackets."""

from __future__ import annotations

import pytest

from controller_runtime.cli import initial_controllers

SHOWN_BY = "unit/cli/test_storage_refusals.py::test_what_kafka_takes_for_initial_controllers_is_taken"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        initial_controllers, "_split_host", lambda text: (text.partition(":")[0], ":" + text.partition(":")[2])
    )
