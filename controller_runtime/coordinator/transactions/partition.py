"""One partition of `__transaction_state` that is led here: its transactional ids, and who waits for the log.

A step counts when the log has it on all replicas in sync: until then it is pending, and excludes others. One that the
log refuses, or that waits too long, has changed nothing here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import assert_never

from controller_runtime.coordinator.log_waits import told_of
from controller_runtime.coordinator.transactions import states
from controller_runtime.coordinator.transactions.ports import FEATURE, StateTopic
from controller_runtime.coordinator.transactions.records import TransactionRecord, batch_of
from controller_runtime.coordinator.transactions.settings import TransactionSettings
from controller_runtime.coordinator.transactions.states import PREPARED, Transaction, TransactionalId
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field, replace


@dataclass(slots=True, eq=False)
class Gathering:
    """An answer about several transactions, whose parts become known one by one."""

    codes: list[ErrorCode]
    open: int = 0
    is_whole: bool = False
    """All parts were asked for."""


@dataclass(frozen=True, slots=True)
class ToRequest:
    """`body` if it is committed; else what `refused` makes of the error."""

    request_id: RequestId
    body: Message
    refused: Callable[[ErrorCode], Message]


@dataclass(frozen=True, slots=True)
class ToGathering:
    gathering: Gathering
    request_id: RequestId
    place: int


Told = ToRequest | ToGathering
"""Who hears what became of a step."""


@dataclass(frozen=True, slots=True)
class SendMarkers:
    """An effect: its partitions are to get markers; `PartitionOfTransactions.marked` is told of each."""

    index: int
    name: str
    again: bool = False
    """All have theirs; what failed is the write that says so."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """An effect: this answer has its last part."""

    request_id: RequestId
    gathering: Gathering


@dataclass(frozen=True, slots=True)
class Say:
    """An effect: a line for the operator."""

    level: str
    text: str


Effect = Respond | SendMarkers | Gathered | Say
Effects = list[Effect]


@dataclass(frozen=True, slots=True)
class _Waiting:
    end_offset: int
    deadline: Instant
    steps: tuple[tuple[str, Transaction | None], ...]
    """By name what is committed then; None: the id is forgotten."""
    told: Told | None
    fenced_epoch: int | None = None


@dataclass(slots=True)
class TransactionPartition:
    index: int
    epoch: int
    """In which the partition is led: that of the coordinator in markers."""
    settings: TransactionSettings
    topic: StateTopic
    known: dict[str, TransactionalId] = field(default_factory=dict)
    is_loaded: bool = False
    has_resigned: bool = False
    fault: str = ""
    """Why its records cannot be read; it serves nothing then."""
    _waiting: deque[_Waiting] = field(default_factory=deque)

    @property
    def transaction_version(self) -> int:
        """The cluster's."""
        return self.topic.image.features.level(FEATURE)

    # From the log.

    def replay(self, record: TransactionRecord) -> None:
        """While it is loaded."""
        if record.transaction is None:
            self.known.pop(record.name, None)
        else:
            self.known[record.name] = TransactionalId(record.name, record.transaction)

    def begin(self, wall: WallClock) -> Effects:
        """Everything is replayed: what was being ended goes on to be."""
        self.is_loaded = True
        found = [entry for entry in self.known.values() if entry.now.state in PREPARED]
        return [effect for entry in found for effect in self._end(entry, wall)]

    # To the log.

    def store(
        self,
        entry: TransactionalId,
        to: Transaction,
        told: Told | None,
        now: Instant,
        wall: WallClock,
        *,
        fenced_epoch: int | None = None,
    ) -> Effects:
        """Write its next state; `told` hears of it when it is committed, or at once that it is refused. `fenced_epoch`:
        what its epoch stays raised to even then.
        """
        entry.pending = to.state
        steps = ((entry.name, to),)
        found = self._append([TransactionRecord(entry.name, to)], wall)
        deadline = Instant(now + self.settings.request_timeout_ms / 1000)
        if isinstance(found, ErrorCode):
            return self._failed(_Waiting(-1, deadline, steps, told, fenced_epoch), found)
        self._waiting.append(_Waiting(found, deadline, steps, told, fenced_epoch))
        return []

    def forget(self, entries: Sequence[TransactionalId], now: Instant, wall: WallClock) -> Effects:
        """Write that these ids are not kept any more."""
        for entry in entries:
            entry.pending = states.State.DEAD
        steps = tuple((entry.name, None) for entry in entries)
        found = self._append([TransactionRecord(entry.name, None) for entry in entries], wall)
        deadline = Instant(now + self.settings.request_timeout_ms / 1000)
        if isinstance(found, ErrorCode):
            return self._failed(_Waiting(-1, deadline, steps, None), found)
        self._waiting.append(_Waiting(found, deadline, steps, None))
        return []

    def _append(self, records: Sequence[TransactionRecord], wall: WallClock) -> int | ErrorCode:
        if self.has_resigned:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return self.topic.append(self.index, batch_of(records, wall, self.transaction_version), wall)

    def committed_to(self, high_watermark: int, wall: WallClock) -> Effects:
        """All replicas in sync have what lies below."""
        out: Effects = []
        while self._waiting and self._waiting[0].end_offset <= high_watermark:
            out += self._committed(self._waiting.popleft(), wall)
        return out

    def _committed(self, waiting: _Waiting, wall: WallClock) -> Effects:
        out: Effects = []
        for name, to in waiting.steps:
            entry = self.known.get(name)
            if entry is None:
                continue
            if to is None:
                del self.known[name]
                continue
            entry.commit(to)
            if to.state in PREPARED:
                out += self._end(entry, wall)
            else:
                entry.fence_failed = False
        return [*_tell(waiting.told, ErrorCode.NONE), *out]

    def _failed(self, waiting: _Waiting, error: ErrorCode) -> Effects:
        out: Effects = []
        for name, to in waiting.steps:
            entry = self.known.get(name)
            if entry is None:
                continue
            entry.pending = None
            if waiting.fenced_epoch is not None:
                entry.fence_failed = True
                entry.now = replace(entry.now, epoch=waiting.fenced_epoch, last_epoch=states.NO_EPOCH)
            if to is not None and to.state in (states.State.COMPLETE_COMMIT, states.State.COMPLETE_ABORT):
                out += self._complete_again(entry, to, told_of(error))
        return [*_tell(waiting.told, told_of(error)), *out]

    # Ending.

    def _end(self, entry: TransactionalId, wall: WallClock) -> Effects:
        """It is decided: each of its partitions gets a marker, then it is complete."""
        complete = states.completed(entry.now, wall)
        entry.pending = complete.state
        entry.unended = set(entry.now.partitions)
        return [SendMarkers(self.index, entry.name)]

    def marked(self, name: str, places: Sequence[states.Place], now: Instant, wall: WallClock) -> Effects:
        """These partitions have their marker, or need none any more."""
        entry = self.known.get(name)
        if entry is None or entry.now.state not in PREPARED:
            return []
        entry.unended.difference_update(places)
        return [] if entry.unended else self.store(entry, states.completed(entry.now, wall), None, now, wall)

    def _complete_again(self, entry: TransactionalId, to: Transaction, error: ErrorCode) -> Effects:
        """As in Kafka it is tried until it is written: others are excluded meanwhile."""
        entry.pending = to.state
        if error is not ErrorCode.COORDINATOR_NOT_AVAILABLE or self.has_resigned:
            return []
        return [SendMarkers(self.index, entry.name, again=True)]

    # Time.

    @property
    def waits(self) -> bool:
        return bool(self._waiting)

    def next_deadline(self) -> Instant | None:
        return self._waiting[0].deadline if self._waiting else None

    def give_up(self, now: Instant) -> Effects:
        """On what has waited too long for the log."""
        out: Effects = []
        while self._waiting and self._waiting[0].deadline <= now:
            out += self._failed(self._waiting.popleft(), ErrorCode.REQUEST_TIMED_OUT)
        return out

    def resign(self) -> Effects:
        """Another broker leads the partition, or none: whoever waits looks for the coordinator."""
        self.has_resigned = True
        out: Effects = []
        while self._waiting:
            out += self._failed(self._waiting.popleft(), ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return out


def _tell(told: Told | None, error: ErrorCode) -> Effects:
    match told:
        case None:
            return []
        case ToRequest(request_id, body, refused):
            return [Respond(request_id, refused(error) if error else body)]
        case ToGathering(gathering, request_id, place):
            return settle(gathering, request_id, place, error)
        case _ as unknown:
            assert_never(unknown)


def settle(gathering: Gathering, request_id: RequestId, place: int, error: ErrorCode) -> Effects:
    gathering.codes[place] = error
    gathering.open -= 1
    return [Gathered(request_id, gathering)] if gathering.open == 0 and gathering.is_whole else []
