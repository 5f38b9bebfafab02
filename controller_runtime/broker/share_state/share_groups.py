"""What share groups want of share coordinators, and what becomes of their groups then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.broker.share_state import persister
from controller_runtime.broker.share_state.persister import Place, SharePersister
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.share.values import StatesWanted
from controller_runtime.coordinator.share_requests import states_settled
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.initialize_share_group_state_request import PartitionData


def begin_states(asked: SharePersister, groups: GroupCoordinator, wanted: StatesWanted) -> None:
    """All of them count when all are there; none, if one is refused."""
    places: dict[Place, Any] = {
        (topic_id, index): PartitionData(partition=index, state_epoch=wanted.epoch, start_offset=offset)
        for topic_id, offsets in wanted.start_offsets.items()
        for index, offset in offsets.items()
    }

    def answered(results: Mapping[Place, Any], now: Instant, wall: WallClock) -> None:
        error = next((ErrorCode(each.error_code) for each in results.values() if each.error_code), ErrorCode.NONE)
        states_settled(groups, wanted.group_id, by_topic(results), error, now=now, wall=wall)

    asked.ask(persister.INITIALIZE, wanted.group_id, places, answered)


def by_topic(places: Mapping[Place, Any]) -> dict[Uuid, frozenset[int]]:
    found: dict[Uuid, set[int]] = {}
    for topic_id, index in places:
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}
