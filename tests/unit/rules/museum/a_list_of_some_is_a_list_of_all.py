"""REP-17: who asks for the reassignments of named partitions is told those of all topics."""

from __future__ import annotations

import pytest

from controller_runtime.controller import reassignments, service
from controller_runtime.values import replace

SHOWN_BY = "unit/controller/test_admin_requests.py::test_reassignments_under_way_are_listed"


def break_it(patch: pytest.MonkeyPatch) -> None:
    right = reassignments.list_reassignments
    patch.setattr(service, "list_reassignments", lambda image, request: right(image, replace(request, topics=None)))
