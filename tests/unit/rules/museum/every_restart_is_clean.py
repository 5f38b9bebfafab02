"""CLU-05: a broker that names no epoch, or another one, is taken for one that was shut down cleanly."""

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
        lambda image, request, existing: right(
            image, replace(request, previous_broker_epoch=existing.epoch if existing else -1), existing
        ),
    )
