"""One partition of `__share_group_state` that is led here: its states, and who waits for the log.

What is appended counts here at once, and is answered when all replicas in sync have it; so is what is only read, since
it may have seen what is not committed yet. A partition that is not led here any more is dropped with all it has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, assert_never

from controller_runtime.coordinator.log_waits import told_of
from controller_runtime.coordinator.share_state.ports import ShareStateTopic
from controller_runtime.coordinator.share_state.records import ShareRecord, batch_of
from controller_runtime.coordinator.share_state.settings import ShareStateSettings
from controller_runtime.coordinator.share_state.values import ShareKey, ShareState, ShareUpdate, first_of, updated
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass, field


@dataclass(slots=True, eq=False)
class Gathering:
    """An answer about several keys, whose parts become known one by one."""

    request_id: RequestId
    shape: Shape
    parts: dict[tuple[Uuid, int], Any] = field(default_factory=dict)
    """By topic and partition what is answered."""
    open: int = 1
    """Parts that are not known yet; and one until all were asked for."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How an API answers: one partition with an error, a topic, all of them."""

    verb: str
    partition: type[Any]
    topic: type[Any]
    response: type[Any]

    def refused(self, index: int, error: ErrorCode, words: str | None) -> Any:
        return self.partition(partition=index, error_code=error, error_message=words)


@dataclass(frozen=True, slots=True)
class Part:
    """Of a gathering: `answer`, when it is committed."""

    gathering: Gathering
    key: ShareKey
    answer: Any


@dataclass(frozen=True, slots=True)
class BeginAt:
    """An effect: what lies before is needed by no state any more."""

    index: int
    offset: int


@dataclass(frozen=True, slots=True)
class Say:
    """An effect: a line for the operator."""

    level: str
    text: str


Effect = Respond | BeginAt | Say
Effects = list[Effect]


@dataclass(slots=True)
class Entry:
    """What is known of one key."""

    state: ShareState
    leader_epoch: int
    state_epoch: int
    """The largest that were recorded: both only grow."""
    updates: int = 0
    """Since the last snapshot that followed on enough of them."""
    snapshot_offset: int = 0


@dataclass(frozen=True, slots=True)
class _Waiting:
    end_offset: int
    deadline: Instant
    then: Part | BeginAt


@dataclass(slots=True)
class SharePartition:
    index: int
    settings: ShareStateSettings
    topic: ShareStateTopic
    entries: dict[ShareKey, Entry] = field(default_factory=dict)
    is_loaded: bool = False
    has_resigned: bool = False
    fault: str = ""
    """Why its records cannot be read; it serves nothing then."""
    end_offset: int = 0
    """Of what it knows; not everything below may be committed."""
    high_watermark: int = 0
    last_snapshot: int = 0
    """Where the last snapshot or tombstone lies."""
    pruned_to: int = 0
    _waiting: deque[_Waiting] = field(default_factory=deque)

    # From the log.

    def replay(self, record: ShareRecord, offset: int) -> None:
        """While it is loaded, and when it has appended."""
        key, found = record.key, self.entries.get(record.key)
        match record.value:
            case None:
                self.entries.pop(key, None)
                self.last_snapshot = offset
            case ShareState() as state:
                self.last_snapshot = offset
                if found is None:
                    self.entries[key] = Entry(state, state.leader_epoch, state.state_epoch, snapshot_offset=offset)
                    return
                found.state, found.snapshot_offset = state, offset
                found.leader_epoch = max(found.leader_epoch, state.leader_epoch)
                found.state_epoch = max(found.state_epoch, state.state_epoch)
                if found.updates >= self.settings.updates_per_snapshot:
                    found.updates = 0
            case ShareUpdate() as update:
                if found is None:
                    self.entries[key] = Entry(first_of(update), update.leader_epoch, -1, 1, offset)
                    return
                found.state = updated(found.state, update)
                found.leader_epoch = max(found.leader_epoch, update.leader_epoch)
                found.updates += 1
            case _ as unknown:
                assert_never(unknown)

    # To the log.

    def store(self, records: Sequence[ShareRecord], wall: WallClock) -> ErrorCode:
        """They count here from now on, or nothing has changed."""
        found = self._append(records, wall)
        if isinstance(found, ErrorCode):
            return told_of(found)
        for place, record in enumerate(records, start=found - len(records)):
            self.replay(record, place)
        self.end_offset = found
        return ErrorCode.NONE

    def _append(self, records: Sequence[ShareRecord], wall: WallClock) -> int | ErrorCode:
        if self.has_resigned:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return self.topic.append(self.index, batch_of(records, wall), wall)

    def when_committed(self, then: Part | BeginAt, now: Instant) -> Effects:
        """All that it knows now."""
        if self.is_committed:
            return _done(then)
        deadline = Instant(now + self.settings.write_timeout_ms / 1000)
        self._waiting.append(_Waiting(self.end_offset, deadline, then))
        return []

    def committed_to(self, high_watermark: int) -> Effects:
        """All replicas in sync have what lies below."""
        self.high_watermark = max(self.high_watermark, high_watermark)
        out: Effects = []
        while self._waiting and self._waiting[0].end_offset <= high_watermark:
            out += _done(self._waiting.popleft().then)
        return out

    # Time.

    @property
    def is_committed(self) -> bool:
        """All that it knows: nobody waits, and who asks next need not wait."""
        return not self._waiting and self.end_offset <= self.high_watermark

    def next_deadline(self) -> Instant | None:
        return self._waiting[0].deadline if self._waiting else None

    def give_up(self, now: Instant) -> Effects:
        """On what has waited too long for the log; it may be committed later."""
        out: Effects = []
        while self._waiting and self._waiting[0].deadline <= now:
            out += _failed(self._waiting.popleft().then, ErrorCode.REQUEST_TIMED_OUT)
        return out

    def resign(self) -> Effects:
        """Another broker leads the partition, or none: whoever waits looks for the coordinator."""
        self.has_resigned = True
        out: Effects = []
        while self._waiting:
            out += _failed(self._waiting.popleft().then, ErrorCode.NOT_COORDINATOR)
        return out


WORDS = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process requests.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.NOT_COORDINATOR: "This is not the correct coordinator.",
    ErrorCode.FENCED_LEADER_EPOCH: "The leader epoch in the request is older than the epoch on the broker.",
    ErrorCode.FENCED_STATE_EPOCH: "The share coordinator rejected the request because the share-group state epoch did "
    "not match.",
}
"""Kafka's."""


def _done(then: Part | BeginAt) -> Effects:
    return [then] if isinstance(then, BeginAt) else settle(then.gathering, then.key, then.answer)


def _failed(then: Part | BeginAt, error: ErrorCode) -> Effects:
    if isinstance(then, BeginAt):
        return []
    return settle(then.gathering, then.key, failed(then.gathering.shape, then.key, told_of(error)))


def failed(shape: Shape, key: ShareKey, error: ErrorCode) -> Any:
    """The coordinator, not the request, is to blame."""
    words = f"Unable to {shape.verb}: {WORDS.get(error, error.name)}"
    return shape.refused(key.partition, error, words)


def settle(gathering: Gathering, key: ShareKey, answer: Any) -> Effects:
    """A part is known; the last one makes the answer."""
    gathering.parts[key.topic_id, key.partition] = answer
    return close(gathering)


def close(gathering: Gathering) -> Effects:
    gathering.open -= 1
    if gathering.open:
        return []
    topics: dict[Uuid, list[Any]] = {}
    for (topic_id, _), part in gathering.parts.items():
        topics.setdefault(topic_id, []).append(part)
    shape = gathering.shape
    results = tuple(shape.topic(topic_id=each, partitions=tuple(parts)) for each, parts in topics.items())
    return [Respond(gathering.request_id, shape.response(results=results))]
