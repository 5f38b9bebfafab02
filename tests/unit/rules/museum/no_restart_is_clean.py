"""CLU-05: a broker that was shut down cleanly is not known again by its epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.controller import brokers

SHOWN_BY = (
    "unit/controller/test_registration_refused.py::test_a_clean_shutdown_is_known_by_the_epoch_before_and_by_no_other"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = brokers._after_restart
    patch.setattr(
        brokers,
        "_after_restart",
        lambda image, request, existing: right(image, replace(request, previous_broker_epoch=-1), existing),
    )
