"""The five requests whole: each key is decided where it belongs, and the answer leaves when all are committed.

A request without topics, without a group, or with a topic without partitions is answered with nothing, as by Kafka;
but one that initializes states leaves out such topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from controller_runtime.coordinator.share_state import decisions
from controller_runtime.coordinator.share_state.coordinator import ShareCoordinator
from controller_runtime.coordinator.share_state.decisions import Decide
from controller_runtime.coordinator.share_state.partition import (
    Effect,
    Effects,
    Gathering,
    Part,
    Shape,
    close,
    failed,
    settle,
)
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode

APIS: Final[Mapping[ApiKey, tuple[Shape, Decide]]] = {
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (decisions.INITIALIZE, decisions.initialize),
    ApiKey.READ_SHARE_GROUP_STATE: (decisions.READ, decisions.read),
    ApiKey.WRITE_SHARE_GROUP_STATE: (decisions.WRITE, decisions.write),
    ApiKey.DELETE_SHARE_GROUP_STATE: (decisions.DELETE, decisions.delete),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (decisions.SUMMARY, decisions.summarize),
}
_LEAST_UNITS: Final = 5
_BATCHES_A_UNIT: Final = 3
"""A key is decided at once, however many batches it has: they count for the piece in which that is done."""


def answer(
    coordinator: ShareCoordinator, event: RequestReceived, request: Any, now: Instant, wall: WallClock
) -> InPieces[Effect, Effects]:
    shape, decide = APIS[ApiKey(event.api_key)]
    gathering = Gathering(event.request_id, shape)
    is_whole = shape is decisions.INITIALIZE or all(topic.partitions for topic in request.topics)
    if not request.topics or not request.group_id or not is_whole:
        return [Respond(event.request_id, shape.response())]
    for topic in request.topics:
        for data in topic.partitions:
            gathering.open += 1
            key = ShareKey(request.group_id, topic.topic_id, data.partition)
            yield from _answer_one(coordinator, gathering, decide, key, data, now=now, wall=wall)
            for _ in range(_LEAST_UNITS + coordinator.batches_of(key) // _BATCHES_A_UNIT):
                yield None
    return close(gathering)


def _answer_one(
    coordinator: ShareCoordinator,
    gathering: Gathering,
    decide: Decide,
    key: ShareKey,
    data: Any,
    *,
    now: Instant,
    wall: WallClock,
) -> Effects:
    partition = coordinator.find(key)
    if isinstance(partition, ErrorCode):
        return settle(gathering, key, failed(gathering.shape, key, partition))
    decided = decide(partition, key, data, wall)
    if decided.record is not None and (error := partition.store([decided.record], wall)):
        return settle(gathering, key, failed(gathering.shape, key, error))
    return partition.when_committed(Part(gathering, key, decided.answer), now)
