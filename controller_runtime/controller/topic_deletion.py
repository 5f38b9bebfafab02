"""Deleting topics, by name or by id: one RemoveTopicRecord each; the configs go with the topic (see `replay`)."""

from __future__ import annotations

from collections import Counter

from controller_runtime.controller.decision import Decision
from controller_runtime.controller.errors import Refused
from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord

FIRST_VERSION_WITH_DISABLED = 3
"""Older clients do not know TOPIC_DELETION_DISABLED."""


def delete_topics(image: MetadataImage, request: DeleteTopicsRequest, api_version: int, *, enabled: bool) -> Decision:
    if not enabled:
        if api_version < FIRST_VERSION_WITH_DISABLED:
            raise Refused(ErrorCode.INVALID_REQUEST, "This version does not support topic deletion.")
        raise Refused(ErrorCode.TOPIC_DELETION_DISABLED)
    states = request.topics or tuple(DeleteTopicState(name=name) for name in request.topic_names)
    names = Counter(state.name for state in states)
    ids = Counter(state.topic_id for state in states)
    by_name_too = {image.topics.ids.get(name) for name in names if name is not None}
    results: list[DeletableTopicResult] = []
    records: list[VersionedRecord] = []
    answered: set[tuple[str | None, Uuid]] = set()
    for state in states:
        if (state.name, state.topic_id) in answered:
            continue  # said twice, answered once
        answered.add((state.name, state.topic_id))
        twice = names[state.name] > 1 if state.name is not None else ids[state.topic_id] > 1
        try:
            topic = _topic_to_delete(image, state, twice=twice, by_name_too=by_name_too)
        except Refused as error:
            results.append(
                DeletableTopicResult(
                    name=state.name, topic_id=state.topic_id, error_code=error.code, error_message=error.message
                )
            )
        else:
            results.append(DeletableTopicResult(name=topic.name, topic_id=topic.id, error_code=ErrorCode.NONE))
            records.append((RemoveTopicRecord(topic_id=topic.id), 0))
    return Decision(DeleteTopicsResponse(responses=tuple(results)), tuple(records))


def _topic_to_delete(
    image: MetadataImage, state: DeleteTopicState, *, twice: bool, by_name_too: set[Uuid | None]
) -> TopicImage:
    by_id = state.topic_id != ZERO_UUID
    if state.name is None and not by_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if state.name is not None and by_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if twice:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Duplicate topic {'id' if by_id else 'name'}.")
    if by_id and state.topic_id in by_name_too:
        why = "The provided topic name maps to an ID that was already supplied."
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    topic = image.topics.get(state.topic_id) if state.name is None else image.topics.named(state.name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return topic
