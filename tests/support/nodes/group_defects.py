"""Defects of groups, one at a time: each breaks one rule of the production broker as somebody once did.

`Defect.seed` is a schedule of `group_schedule` that notices it. It changes with every event in a broker:

    PYTHONPATH=.:tests python -m support.nodes.group_defects            # looks for the first seed of each
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from controller_runtime.coordinator import classic_rebalance, offset_requests
from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_values import State
from controller_runtime.coordinator.consumer import reconciliation
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Answer
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.protocol.errors import ErrorCode
from support.nodes.group_schedule import GroupSchedule
from support.nodes.replica_defects import Defect, look_for, noticed_by

_WAIT: Final = GroupPartition.wait
_COMPLETE: Final = classic_rebalance._complete


def any_member_commits(*_: Any, **__: Any) -> ErrorCode:
    return ErrorCode.NONE


def everything_is_free(_self: ConsumerGroup, _topic_id: object, _index: int) -> bool:
    return False


def nobody_has_anything_left(_reported: object, _owned: object) -> bool:
    return False


def acknowledged_before_others_have_it(self: GroupPartition, then: Any, now: Instant) -> list[Respond]:
    if isinstance(then, Answer):
        return [Respond(then.request_id, then.body)]
    return _WAIT(self, then, now)


def the_first_to_join_is_enough(group: ClassicGroup, now: Instant, wall: WallClock) -> Any:
    is_waiting = group.state is State.PREPARING and group.initial_left_ms is None
    some = any(each.joining is not None for each in group.members.by_id.values())
    return _COMPLETE(group, now, wall) if is_waiting and some else []


DEFECTS: Final[Sequence[Defect]] = (
    Defect("a commit of any epoch counts", offset_requests, "_judge_member", any_member_commits, 0),
    Defect("a commit of any generation counts", offset_requests, "_judge_group", any_member_commits, 0),
    Defect("CGP-05: what others have is given away", ConsumerGroup, "is_held", everything_is_free, 0),
    Defect("CGP-05: nobody waits for what is given up", reconciliation, "has_any", nobody_has_anything_left, 0),
    Defect("told before others have it", GroupPartition, "wait", acknowledged_before_others_have_it, 9),
    Defect("a rebalance waits for nobody", classic_rebalance, "complete_if_joined", the_first_to_join_is_enough, 0),
)


def noticed(defect: Defect, seed: int) -> str:
    return noticed_by(defect, lambda: GroupSchedule(seed).run())


if __name__ == "__main__":
    look_for(DEFECTS, noticed, sys.argv[1:])
