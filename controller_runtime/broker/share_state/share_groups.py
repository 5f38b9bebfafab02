"""What share groups want of share coordinators, and what becomes of their groups then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.share_state import persister
from controller_runtime.broker.share_state.end_offsets import EndOffsets
from controller_runtime.broker.share_state.persister import Place, SharePersister
from controller_runtime.coordinator import share_deleting, share_offsets, share_sums
from controller_runtime.coordinator.admin_requests import deletion_answer
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.log_waits import PartStored, StatesGone
from controller_runtime.coordinator.share.values import StatesWanted
from controller_runtime.coordinator.share_requests import states_settled
from controller_runtime.coordinator.share_sums import Described, SumsWanted
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import delete_share_group_state_request as deletes
from controller_runtime.protocol.messages import read_share_group_state_summary_request as summaries
from controller_runtime.protocol.messages.describe_share_group_offsets_request import DescribeShareGroupOffsetsRequest
from controller_runtime.protocol.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponseGroup,
)
from controller_runtime.protocol.messages.initialize_share_group_state_request import PartitionData


def ask(asked: SharePersister, groups: GroupCoordinator, wanted: StatesWanted | StatesGone) -> None:
    if isinstance(wanted, StatesGone):
        _end_states(asked, groups, wanted)
    else:
        _begin_states(asked, groups, wanted)


def _begin_states(asked: SharePersister, groups: GroupCoordinator, wanted: StatesWanted) -> None:
    """All of them count when all are there; none, if one is refused."""
    places: dict[Place, Any] = {
        (topic_id, index): partial(PartitionData, partition=index, state_epoch=wanted.epoch, start_offset=offset)
        for topic_id, offsets in wanted.start_offsets.items()
        for index, offset in offsets.items()
    }

    def answered(results: Mapping[Place, Any], now: Instant, wall: WallClock) -> list[BrokerEffect]:
        error = _first_error(results)
        if wanted.answer is None or not error:
            states_settled(groups, wanted.group_id, _by_topic(results), error, now=now, wall=wall)
        return [] if wanted.answer is None else [share_offsets.altered(wanted.answer, results)]

    asked.ask(persister.INITIALIZE, wanted.group_id, places, answered)


def _end_states(asked: SharePersister, groups: GroupCoordinator, gone: StatesGone) -> None:
    places: dict[Place, Any] = {
        (topic_id, index): partial(deletes.PartitionData, partition=index)
        for topic_id, indexes in gone.partitions.items()
        for index in sorted(indexes)
    }

    def answered(results: Mapping[Place, Any], now: Instant, wall: WallClock) -> list[BrokerEffect]:
        if not isinstance(gone.told, PartStored):
            return [*share_offsets.deleted(groups, gone, results, now, wall)]
        whole = share_deleting.settled(groups, gone, _first_error(results), now, wall)
        return [] if whole is None else [deletion_answer(whole)]

    asked.ask(persister.DELETE, gone.group_id, places, answered)


def describe_offsets(
    asked: SharePersister,
    ends: EndOffsets,
    groups: GroupCoordinator,
    event: RequestReceived,
    request: DescribeShareGroupOffsetsRequest,
    *_: object,
) -> InPieces[Respond, list[Respond]]:
    described = Described(event.request_id, [None] * len(request.groups))
    for place, each in enumerate(request.groups):
        yield None
        found = share_sums.wanted(groups, each)
        if isinstance(found, SumsWanted):
            _sum_up(asked, ends, found, partial(described.put, place))
        else:
            described.groups[place] = found
    return described.whole()


def _sum_up(
    asked: SharePersister,
    ends: EndOffsets,
    wanted: SumsWanted,
    put: Callable[[DescribeShareGroupOffsetsResponseGroup], list[Respond]],
) -> None:
    def answered(results: Mapping[Place, Any], *_: object) -> list[BrokerEffect]:
        lacking = [place for place in wanted.places if share_sums.lacks_end(results[place])]
        return ends.ask(lacking, lambda found: [*put(share_sums.summed(wanted, results, found))])

    places = {place: partial(summaries.PartitionData, partition=place[1]) for place in wanted.places}
    asked.ask(persister.SUMMARY, wanted.group_id, places, answered)


def _first_error(results: Mapping[Place, Any]) -> ErrorCode:
    return next((ErrorCode(each.error_code) for each in results.values() if each.error_code), ErrorCode.NONE)


def _by_topic(places: Mapping[Place, Any]) -> dict[Uuid, frozenset[int]]:
    found: dict[Uuid, set[int]] = {}
    for topic_id, index in places:
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}
