"""Deleting topics, by name or by id: one RemoveTopicRecord each; the configs go with the topic (see `replay`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from operator import itemgetter

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import Decision, Pieces
from controller_runtime.controller.mutation_quota import UNLIMITED, MutationQuota
from controller_runtime.controller.patience import check_time
from controller_runtime.identifiers import ZERO_UUID, Offset, Uuid
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord

FIRST_VERSION_WITH_DISABLED = 3
"""Older clients do not know TOPIC_DELETION_DISABLED."""
LOOKED_AT = 500
"""So many names are looked at in a piece: a millisecond or two."""


def delete_topics(
    image: MetadataImage,
    request: DeleteTopicsRequest,
    api_version: int,
    *,
    enabled: bool,
    quota: MutationQuota = UNLIMITED,
) -> Pieces:
    """One atomic batch, looked at in pieces."""
    if not enabled:
        if api_version < FIRST_VERSION_WITH_DISABLED:
            raise Refused(ErrorCode.INVALID_REQUEST, "This version does not support topic deletion.")
        raise Refused(ErrorCode.TOPIC_DELETION_DISABLED)
    states = request.topics or tuple(DeleteTopicState(name=name) for name in request.topic_names)
    results, names, ids = yield from _split_refused(states)
    if names or ids:
        check_time(request.timeout_ms)
    said = {state.topic_id for state in states}
    found: dict[Uuid, str] = {}
    for number, topic_id in enumerate(ids, 1):
        if number % LOOKED_AT == 0:
            yield ()
        topic = image.topics.get(topic_id)
        if topic is None:
            results.append(_refused(None, topic_id, Refused(ErrorCode.UNKNOWN_TOPIC_ID)))
        else:
            found[topic_id] = topic.name
    for number, name in enumerate(names, 1):
        if number % LOOKED_AT == 0:
            yield ()
        topic = image.topics.named(name)
        if topic is None:
            results.append(_refused(name, ZERO_UUID, Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
        elif topic.id in said:
            found.pop(topic.id, None)
            why = Refused(ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.")
            results.append(_refused(name, topic.id, why))
        else:
            found[topic.id] = name
    deleted: list[VersionedRecord] = []
    for number, (topic_id, name) in enumerate(found.items(), 1):
        if number % LOOKED_AT == 0:
            yield ()
        try:
            _take(image, topic_id, quota)
        except Refused as error:
            results.append(_refused(name, topic_id, error))
        else:
            results.append(DeletableTopicResult(name=name, topic_id=topic_id))
            deleted.append((RemoveTopicRecord(topic_id=topic_id), 0))
    in_order = yield from _as_asked(results, states)
    return Decision(DeleteTopicsResponse(responses=in_order), tuple(deleted))


def many_are_named(request: DeleteTopicsRequest) -> bool:
    return len(request.topics) + len(request.topic_names) > LOOKED_AT


def _as_asked(
    results: Sequence[DeletableTopicResult], states: Sequence[DeleteTopicState]
) -> Generator[tuple[VersionedRecord, ...], Offset, tuple[DeletableTopicResult, ...]]:
    """In the order in which they were named."""
    places: dict[str | Uuid, int] = {}
    for place, state in enumerate(states):
        places.setdefault(state.topic_id if state.name is None else state.name, place)
        if place % LOOKED_AT == LOOKED_AT - 1:
            yield ()
    placed: list[tuple[int, DeletableTopicResult]] = []
    for number, result in enumerate(results, 1):
        placed.append((places.get(result.name or "", places.get(result.topic_id, len(states))), result))
        if number % LOOKED_AT == 0:
            yield ()
    placed.sort(key=itemgetter(0))
    return tuple(map(itemgetter(1), placed))


def _take(image: MetadataImage, topic_id: Uuid, quota: MutationQuota) -> None:
    topic = image.topics.get(topic_id)
    assert topic is not None, "it was found"
    quota.take(topic.partition_count)


def _split_refused(
    states: Iterable[DeleteTopicState],
) -> Generator[tuple[VersionedRecord, ...], Offset, tuple[list[DeletableTopicResult], list[str], list[Uuid]]]:
    """What is refused for its form alone, then the names and ids that were said once."""
    refused: list[DeletableTopicResult] = []
    names: Counter[str] = Counter()
    ids: Counter[Uuid] = Counter()
    for number, state in enumerate(states, 1):
        if number % LOOKED_AT == 0:
            yield ()
        if state.name is None and state.topic_id == ZERO_UUID:
            why = Refused(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
            refused.append(_refused(None, ZERO_UUID, why))
        elif state.name is None:
            ids[state.topic_id] += 1
        elif state.topic_id == ZERO_UUID:
            names[state.name] += 1
        else:
            why = Refused(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
            refused.append(_refused(state.name, state.topic_id, why))
    name_twice = Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    refused += [_refused(name, ZERO_UUID, name_twice) for name, times in names.items() if times > 1]
    id_twice = Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic id.")
    refused += [_refused(None, topic_id, id_twice) for topic_id, times in ids.items() if times > 1]
    return refused, [name for name, times in names.items() if times == 1], [i for i, times in ids.items() if times == 1]


def _refused(name: str | None, topic_id: Uuid, why: Refused) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=why.code, error_message=why.message)
