"""Replicas that move between the log directories of this broker (AlterReplicaLogDirs, KIP-113 and KIP-858).

A move copies the log while it is used, asks the controller to have the replica in the other directory once the copy has
caught up, and lets the copy take the log's place when the image says so; whatever stops in between, the log that counts
is whole. A move that is not wanted any more is given up, and what the controller was told is taken back. Few are under
way at once, the others wait; while they have copied more than they may in a second, all do.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, cast

from controller_runtime.broker.directory_assignments import DirectoryAssignments
from controller_runtime.broker.effects import (
    AbandonMove,
    BrokerEffect,
    CompleteMove,
    CopyFound,
    CopyMore,
    LogMoved,
    MoveFailed,
    MoveGrew,
)
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.partition import OpenLog
from controller_runtime.broker.replication.throttles import Throttle
from controller_runtime.identifiers import DirectoryId, Endpoint, Instant, NodeId, PartitionId
from controller_runtime.metadata.features import DIRECTORY_ASSIGNMENT
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Log
from controller_runtime.parts.events import CallId
from controller_runtime.values import dataclass

AT_ONCE: Final = 4
"""Moves that are under way."""
COPY_BYTES: Final = 1 << 20
"""Of one piece."""
MoveEvent = MoveGrew | LogMoved | MoveFailed | CopyFound


class _Phase(Enum):
    COPYING = auto()
    ASKING = auto()
    """The copy has caught up, the controller is told."""
    CLOSING_IN = auto()
    """The controller has it there. What came meanwhile is copied first: appends wait for the rest only."""
    COMPLETING = auto()


@dataclass(slots=True)
class _Move:
    key: PartitionId
    topic: str
    target: DirectoryId
    wanted: DirectoryId | None
    """Where it is to go by now; None: nowhere, for the log is gone."""
    phase: _Phase = _Phase.COPYING
    is_at_work: bool = False
    """The disks are at it: an event follows."""
    held_until: Instant | None = None
    """The throttle is exceeded: it goes on then."""


class DirectoryMoves:
    def __init__(
        self, partitions: LocalPartitions, assignments: DirectoryAssignments, node_id: NodeId, throttle: Throttle
    ) -> None:
        self._partitions = partitions
        self._throttle = throttle
        self._assignments = assignments
        self._node_id = node_id
        self._moves: dict[PartitionId, _Move] = {}
        """Those under way."""
        self._waiting: dict[PartitionId, _Move] = {}
        """Those that are not begun yet, in the order in which they were wanted."""

    # Telling the controller where replicas are.

    def opened(self, key: PartitionId, home: DirectoryId) -> None:
        self._assignments.opened(key, home)

    def owns(self, call_id: CallId) -> bool:
        return self._assignments.owns(call_id)

    def done(self, now: Instant) -> None:
        self._assignments.done(now)

    def next_deadline(self) -> Instant | None:
        if self._waiting and len(self._moves) < AT_ONCE:
            return Instant(0.0)  # another turn
        held = [each.held_until for each in self._moves.values()]
        return min((at for at in (*held, self._assignments.next_deadline()) if at is not None), default=None)

    def poll(
        self, image: MetadataImage, controller: Endpoint | None, broker_epoch: int, now: Instant
    ) -> list[BrokerEffect]:
        out = self._assignments.poll(image, controller, broker_epoch, now)
        for move in [each for each in self._moves.values() if each.phase is _Phase.ASKING]:
            out += self._close_in(move, image)
        for move in [each for each in self._moves.values() if each.held_until is not None]:
            if now >= cast(Instant, move.held_until) or not self._throttle.is_exceeded(now):  # perhaps it was lifted
                out += self._look(move)
        while self._waiting and len(self._moves) < AT_ONCE:
            out += self._begin(self._waiting.pop(next(iter(self._waiting))))
        return out

    # What is wanted.

    def want(self, log: OpenLog, target: DirectoryId) -> list[BrokerEffect]:
        """Where it lies already, whatever move there is of it is given up."""
        move = self._moves.get(log.key)
        if move is None:
            self._waiting.pop(log.key, None)
            if log.directory_id != target:
                self._waiting[log.key] = _Move(log.key, log.topic, target, target)
            return []
        move.wanted = target
        return [] if move.is_at_work else self._look(move)

    def on_changed(self, key: PartitionId) -> list[BrokerEffect]:
        """Its log may be gone, or offline."""
        move = self._moves.get(key)
        if move is None or self._partitions.open_log(key) is not None:
            return []
        move.wanted = None
        return [] if move.is_at_work else self._look(move)

    def on_directory_failed(self, directory: DirectoryId) -> list[BrokerEffect]:
        """What is at work there is said to have failed, and so will what is begun there."""
        lost = [each for each in self._moves.values() if each.target == directory and not each.is_at_work]
        out: list[BrokerEffect] = []
        for move in lost:
            move.wanted = None
            out += self._look(move)
        return out

    # What becomes of it.

    def on_event(self, event: MoveEvent) -> list[BrokerEffect]:
        log = self._partitions.open_log(event.key)
        if isinstance(event, CopyFound):
            return [] if log is None else self.want(log, event.target)
        move = self._moves.get(event.key)
        if move is None or not move.is_at_work:
            return []
        move.is_at_work = False
        match event:
            case LogMoved():
                return self._moved(move, log)
            case MoveFailed(_, _, reason):
                move.wanted = None if move.wanted == move.target else move.wanted
                said = Log("error", f"{move.topic}-{move.key.index} stays in its log directory: {reason}")
                return [said, *self._look(move)]
            case MoveGrew():
                self._throttle.record(event.copied, self._partitions.now)
                return self._caught_up(move, log) if event.end_offset >= event.log_end else self._look(move)

    def _caught_up(self, move: _Move, log: OpenLog | None) -> list[BrokerEffect]:
        if move.wanted != move.target or log is None:
            return self._give_up(move)
        if move.phase is _Phase.CLOSING_IN:
            move.phase, move.is_at_work = _Phase.COMPLETING, True
            return [CompleteMove(move.key, move.topic, move.target, log.high_watermark)]
        move.phase = _Phase.ASKING
        self._assignments.opened(move.key, move.target)
        return []

    def _look(self, move: _Move) -> list[BrokerEffect]:
        """The next that is to be done for it, with nothing at work."""
        if move.wanted != move.target:
            return self._give_up(move)
        if move.phase in (_Phase.COPYING, _Phase.CLOSING_IN):
            now = self._partitions.now
            move.held_until = self._throttle.falls_at(now) if self._throttle.is_exceeded(now) else None
            if move.held_until is not None:
                return []
            move.is_at_work = True
            return [CopyMore(move.key, move.topic, move.target, COPY_BYTES)]
        return []

    def _begin(self, move: _Move) -> list[BrokerEffect]:
        """Unless its log is gone by now, or is there already."""
        log = self._partitions.open_log(move.key)
        if log is None or log.directory_id == move.target:
            return []
        self._moves[move.key] = move
        return self._look(move)

    def _close_in(self, move: _Move, image: MetadataImage) -> list[BrokerEffect]:
        """Once the controller has it there, where it knows of directories."""
        partition = image.topics.partition(move.key.topic_id, move.key.index)
        if partition is None or self._partitions.open_log(move.key) is None:
            return []
        knows = image.features.metadata_version >= DIRECTORY_ASSIGNMENT
        if knows and partition.directory(self._node_id) != move.target:
            return []
        move.phase = _Phase.CLOSING_IN
        return self._look(move)

    def _moved(self, move: _Move, log: OpenLog | None) -> list[BrokerEffect]:
        """Wherever it was to be by now, it is there first; and so the controller is told, whatever it heard last."""
        del self._moves[move.key]
        if log is None:
            return []
        log.directory_id = move.target
        self._assignments.opened(move.key, move.target)
        return [] if move.wanted is None else self.want(log, move.wanted)

    def _give_up(self, move: _Move) -> list[BrokerEffect]:
        del self._moves[move.key]
        log = self._partitions.open_log(move.key)
        if log is not None and log.directory_id is not None:
            if move.phase is not _Phase.COPYING:
                self._assignments.opened(move.key, log.directory_id)
            if move.wanted is not None:
                self.want(log, move.wanted)
        return [AbandonMove(move.key, move.target)]
