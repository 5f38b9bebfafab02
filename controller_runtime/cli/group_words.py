"""What the tools for groups say: Java's words of errors, and its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from controller_runtime.cli.java_errors import java_class
from controller_runtime.protocol.api_errors import ApiError
from controller_runtime.protocol.errors import ErrorCode

MISSING: Final = "-"
_WORDS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.INVALID_GROUP_ID: "The group id is invalid.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "Deleting offsets of a topic is forbidden while the consumer group is "
    "actively subscribed to it.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.NOT_COORDINATOR: "This is not the correct coordinator.",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "The request attempted to perform an operation on an invalid topic.",
}
"""Of errors that come without words."""


def words(error: ApiError) -> str:
    return error.message if error.message != error.TEXT else _WORDS.get(error.code, error.message)


def exception(error: ApiError) -> str:
    """As `Throwable.toString`."""
    return f"{java_class(error.code)}: {words(error)}"


def columns(widths: Sequence[int], cells: Iterable[object]) -> str:
    """Cells to the left of columns so wide; 0 is the last one, which is as wide as it is."""
    return " ".join(f"{cell!s:{width}}" if width else str(cell) for width, cell in zip(widths, cells, strict=True))


def optional(value: object) -> str:
    return MISSING if value is None else str(value)
