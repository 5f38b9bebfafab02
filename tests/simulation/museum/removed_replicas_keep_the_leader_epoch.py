"""Replicas are taken away, by the end of a reassignment or because it was cancelled, in the same leader epoch: who was
removed may be believed still.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller.partition_changes import PartitionChange

SOURCE = "KAFKA-13972, KAFKA-12803"
SCHEDULES = "replication"


def break_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionChange, "_bump_epoch", lambda *_: None)
