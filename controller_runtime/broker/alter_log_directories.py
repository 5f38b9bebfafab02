"""AlterReplicaLogDirs: replicas are to lie in other log directories of this broker (KIP-113)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from controller_runtime.broker.directory_moves import DirectoryMoves
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering
from controller_runtime.identifiers import ZERO_UUID, DirectoryId
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from controller_runtime.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

_FUTURE_NAME_BYTES: Final = len("-.") + 32 + len("-future")
_LONGEST_NAME: Final = 255
"""What file systems take for the name of a directory."""
Find = Callable[[str], DirectoryId | ErrorCode]
"""The directory that has a path, or why nothing can lie there."""


def alter_log_directories(
    partitions: LocalPartitions,
    moves: DirectoryMoves,
    find: Find,
    event: RequestReceived,
    request: AlterReplicaLogDirsRequest,
) -> Answering:
    """What is named twice counts as it is named last, as in Kafka."""
    wanted: dict[str, dict[int, str]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                wanted.setdefault(topic.name, {})[index] = directory.path
                yield None
    found: dict[str, DirectoryId | ErrorCode] = {}
    results: list[AlterReplicaLogDirTopicResult] = []
    for name, paths in wanted.items():
        told: list[AlterReplicaLogDirPartitionResult] = []
        for index, path in paths.items():
            if path not in found:
                found[path] = find(path)
            error, effects = _begin(partitions, moves, name, index, found[path])
            told.append(AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error))
            yield from effects or (None,)
        results.append(AlterReplicaLogDirTopicResult(topic_name=name, partitions=tuple(told)))
    return [Respond(event.request_id, AlterReplicaLogDirsResponse(results=tuple(results)))]


def _begin(
    partitions: LocalPartitions, moves: DirectoryMoves, name: str, index: int, target: DirectoryId | ErrorCode
) -> tuple[ErrorCode, list[BrokerEffect]]:
    if len(name) + len(str(index)) + _FUTURE_NAME_BYTES > _LONGEST_NAME:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, []
    if isinstance(target, ErrorCode):
        return target, []
    key = partitions.key(name, ZERO_UUID, index)
    log = None if key is None else partitions.open_log(key)
    if key is not None and log is not None:
        return ErrorCode.NONE, moves.want(log, target)
    if key is not None and partitions.why_not_led(key) == ErrorCode.KAFKA_STORAGE_ERROR:
        return ErrorCode.KAFKA_STORAGE_ERROR, []
    partitions.wishes.add(name, index, target)
    topic = partitions.image.topics.named(name)
    is_known = topic is not None and 0 <= index < topic.partition_count
    return ErrorCode.REPLICA_NOT_AVAILABLE if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []


def directory_of(
    path: str, paths: Mapping[DirectoryId, str], online: Mapping[DirectoryId, None], cordoned: tuple[DirectoryId, ...]
) -> DirectoryId | ErrorCode:
    """`paths`: of all that were online at start, absolute."""
    found = next((directory for directory, its in paths.items() if its == path), None)
    if found is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if found not in online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.INVALID_REPLICA_ASSIGNMENT if found in cordoned else found
