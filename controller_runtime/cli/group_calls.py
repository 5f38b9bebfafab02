"""What the tools for groups ask a cluster, with errors as Java's exceptions: what they say, and how their traces begin.

Whatever goes wrong is said as `Error: Executing consumer group command failed due to ...`, exit code 0, as Kafka's tool
does: `Thrown` has the words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

from controller_runtime.admin import groups
from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.group_results import Committed, GroupDescription, TopicPartition
from controller_runtime.admin.results import TopicDescription
from controller_runtime.cli.admin_tools import exception_text
from controller_runtime.cli.error_words import words
from controller_runtime.cli.group_words import exception

V = TypeVar("V")
_EXECUTION = "java.util.concurrent.ExecutionException"


class Thrown(Exception):
    """`trace` is the first line of Java's stack trace."""

    def __init__(self, message: str, trace: str) -> None:
        self.trace = trace
        super().__init__(message)


class IllegalArgument(Exception):
    """Said with the list of options, exit code 1."""


def text(error: Exception) -> str:
    return exception(error) if isinstance(error, ApiError) else exception_text(error)


def executed(error: Exception) -> Thrown:
    """What waits for an answer passes the exception on as it is."""
    return Thrown(text(error), f"{_EXECUTION}: {text(error)}")


def wrapped(error: Exception) -> Thrown:
    """It is packed in another one."""
    message = f"{_EXECUTION}: {text(error)}"
    return Thrown(message, f"java.lang.RuntimeException: {message}")


def unpacked(error: Exception) -> Thrown:
    """Its cause is thrown."""
    message = words(error) if isinstance(error, ApiError) else str(error)
    return Thrown(message, text(error))


async def wrapping(call: Awaitable[V]) -> V:
    """Raises Thrown."""
    try:
        return await call
    except (ApiError, AdminError) as error:
        raise wrapped(error) from error


async def describe(admin: AdminClient, group_ids: Iterable[str]) -> Mapping[str, GroupDescription]:
    """Raises Thrown for the first group that cannot be described."""
    found: dict[str, GroupDescription] = {}
    try:
        described = await groups.describe_groups(admin, group_ids)
    except (ApiError, AdminError) as error:
        raise executed(error) from error
    for group_id, each in described.items():
        if isinstance(each, ApiError):
            raise executed(each)
        if isinstance(each, groups.NotConsumers):
            message = f"java.lang.IllegalArgumentException: {each}"
            raise Thrown(message, f"{_EXECUTION}: {message}")
        found[group_id] = each
    return found


async def committed(admin: AdminClient, group_id: str) -> Committed:
    return await wrapping(groups.committed_offsets(admin, group_id))


async def topics(admin: AdminClient, names: Iterable[str]) -> Mapping[str, TopicDescription]:
    """Raises ApiError for the first one that is not there."""
    wanted = sorted(set(names))
    found = await admin.describe_topics(wanted) if wanted else {}
    described: dict[str, TopicDescription] = {}
    for name, each in found.items():
        if isinstance(each, ApiError):
            raise each
        described[name] = each
    return described


async def leaderless(admin: AdminClient, wanted: Sequence[TopicPartition]) -> set[TopicPartition]:
    described = await wrapping(topics(admin, (topic for topic, _ in wanted)))
    without = {(name, one.index) for name, topic in described.items() for one in topic.partitions if one.leader < 0}
    return without.intersection(wanted)


async def log_offsets(admin: AdminClient, wanted: Iterable[TopicPartition], at: int) -> Mapping[TopicPartition, int]:
    """`at`: a timestamp, or -1 the end, -2 the beginning. -1 where there is none."""
    asked = dict.fromkeys(wanted, at)
    found = await wrapping(admin.list_offsets(asked)) if asked else {}
    offsets: dict[TopicPartition, int] = {}
    for one, answer in found.items():
        if isinstance(answer, ApiError):
            raise wrapped(answer)
        offsets[one] = answer
    return offsets
