"""API-05: controllers are told at their first listener, whichever one the request came in on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.controller import controllers, service

SHOWN_BY = (
    "unit/controller/test_admin_requests.py::test_controllers_are_told_at_the_listener_on_which_they_were_asked_for"
)


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = controllers.describe_cluster
    patch.setattr(
        service,
        "describe_cluster",
        lambda image, request, context, cluster_id: right(
            image, request, replace(context, listener="CONTROLLER"), cluster_id
        ),
    )
