"""Defects of share groups, one at a time: each breaks one rule of the production broker.

`Defect.seed` is a schedule of `share_schedule` that notices it. It changes with every event in a broker:

    PYTHONPATH=.:tests python -m support.nodes.share_defects            # looks for the first seed of each
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from controller_runtime.broker.share_partitions.led import LedShares
from controller_runtime.coordinator.share_partitions.locks import Lock, Locks
from controller_runtime.coordinator.share_state.partition import SharePartition, _done
from controller_runtime.identifiers import Instant
from controller_runtime.values import replace
from support.clients.share_clients import LOCK_S
from support.nodes.replica_defects import Defect, look_for, noticed_by
from support.nodes.share_schedule import ShareSchedule

_BEGIN: Final = Locks.begin
_DUE: Final = Locks.due
_LOAD: Final = LedShares._begin


def told_before_others_have_it(_self: SharePartition, then: Any, _now: Instant) -> Any:
    return _done(then)


def a_lock_is_short(self: Locks, deadline: Instant, first: int, last: int) -> Lock:
    return _BEGIN(self, Instant(deadline - 0.8 * LOCK_S), first, last)


def no_lock_runs_out(self: Locks, now: Instant) -> list[Lock]:
    _DUE(self, now)
    return []


def who_leads_next_knows_nothing(self: LedShares, led: Any, kept: Any, start: int) -> None:
    _LOAD(self, led, replace(kept, state=replace(kept.state, state_batches=())), start)


DEFECTS: Final[Sequence[Defect]] = (
    Defect("told before others have it", SharePartition, "when_committed", told_before_others_have_it, 3),
    Defect("a lock ends too early", Locks, "begin", a_lock_is_short, 0),
    Defect("a lock never ends", Locks, "due", no_lock_runs_out, 0),
    Defect("who leads next does not read", LedShares, "_begin", who_leads_next_knows_nothing, 0),
)


def noticed(defect: Defect, seed: int) -> str:
    return noticed_by(defect, lambda: ShareSchedule(seed).run())


if __name__ == "__main__":
    look_for(DEFECTS, noticed, sys.argv[1:])
