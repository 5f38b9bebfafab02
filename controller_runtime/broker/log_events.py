"""What comes back from the data plane, and who waits for it: logs that are open, written, read, or lost."""

from __future__ import annotations

from typing import assert_never

from controller_runtime.broker.coordinators import Coordinators
from controller_runtime.broker.delete_records import RecordDeletions
from controller_runtime.broker.directory_moves import DirectoryMoves
from controller_runtime.broker.effects import (
    BrokerEffect,
    BrokerEvent,
    CopyFound,
    DeleteBefore,
    DirectoryFailed,
    DirectoryMeasured,
    LogBegins,
    LogCut,
    LogMoved,
    MoveFailed,
    MoveGrew,
    PartitionFailed,
    PartitionOpened,
    PartitionWritten,
    ProducersExpired,
    RecordsRead,
    StraysSetAside,
    TimestampFound,
)
from controller_runtime.broker.fetch import FetchHandler
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.lifecycle import BrokerLifecycle, Fatal, State
from controller_runtime.broker.local_changes import LocalChanges
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.log_directories import LogDirectories
from controller_runtime.broker.offsets import OffsetsHandler
from controller_runtime.broker.produce import ProduceHandler
from controller_runtime.identifiers import DirectoryId, Instant, WallClock
from controller_runtime.parts.effects import Log

Effects = list[BrokerEffect]


class LogEvents:
    def __init__(
        self,
        partitions: LocalPartitions,
        changes: LocalChanges,
        lifecycle: BrokerLifecycle,
        moves: DirectoryMoves,
        directories: LogDirectories,
        *,
        produce: ProduceHandler,
        fetch: FetchHandler,
        offsets: OffsetsHandler,
        deletions: RecordDeletions,
        groups: Coordinators,
        metadata_directory: DirectoryId | None,
    ) -> None:
        """`metadata_directory` has the metadata log, too: the node cannot go on without it."""
        self._partitions = partitions
        self._changes = changes
        self._lifecycle = lifecycle
        self._moves = moves
        self._directories = directories
        self._produce = produce
        self._fetch = fetch
        self._offsets = offsets
        self._deletions = deletions
        self._groups = groups
        self._metadata_directory = metadata_directory
        self._recovering = False
        """Its logs are being recovered, or are."""

    def on_event(self, event: BrokerEvent, now: Instant, wall: WallClock) -> Effects | Fatal:
        match event:
            case StraysSetAside(paths):
                strays = [Log("warning", f"look at {path}: the cluster has no such replica here") for path in paths]
                self._changes.on_strays_set_aside()
                return [*strays]
            case PartitionOpened():
                if self._partitions.on_opened(event):
                    self._moves.opened(event.key, event.directory_id)
                return self.serve_changed(now, wall)
            case PartitionFailed(_, reason, fatal):
                self._partitions.on_failed(event)
                if fatal:
                    return Fatal(f"a partition's log failed: {reason}")
                offline = Log("error", f"a partition is offline: {reason}")
                return [offline, *self.serve_changed(now, wall)]
            case DirectoryFailed():
                return self._directory_failed(event, now)
            case DirectoryMeasured():
                return self._directories.on_measured(event)
            case PartitionWritten(key, end_offset):
                found = self._partitions.written(key, end_offset)
                if isinstance(found, int):
                    return [DeleteBefore(key, found)]
                return [] if found is None else self._serve_written(found, now)
            case MoveGrew() | LogMoved() | MoveFailed() | CopyFound():
                return self._moves.on_event(event)
            case LogBegins(key, start_offset):
                log = self._partitions.open_log(key)
                # What was decided meanwhile (DeleteRecords, a leader's answer) may be further, or begin it anew.
                if log is not None and log.start_offset < start_offset <= log.written_offset:
                    log.begin_at(start_offset)
                return []
            case ProducersExpired(key, producer_ids, before_ms):
                log = self._partitions.open_log(key)
                if log is not None:
                    log.forget_producers(producer_ids, before_ms)
                return []
            case LogCut():
                self._partitions.on_cut(event)
                return self.serve_changed(now, wall)
            case RecordsRead(work_id):
                if self._groups.owns(work_id):
                    return self._groups.on_read(event)
                return self._fetch.on_read(event, now)
            case TimestampFound(work_id):
                if self._groups.owns(work_id):
                    self._groups.on_found(event)
                    return []
                return self._offsets.on_found(event)
            case _ as unknown:
                assert_never(unknown)

    def recover(self, now: Instant) -> bool:
        """KIP-631: all logs are recovered while the broker is in RECOVERY; only then it asks to be unfenced. True: that
        begins.
        """
        if self._lifecycle.state is not State.RECOVERY or self._lifecycle.is_ready:
            return False
        if not self._recovering:
            self._recovering = True
            self._changes.begin()
            return True
        if self._changes.is_recovered:
            self._lifecycle.recovered(now)
        return False

    def go_on(self, now: Instant, wall: WallClock) -> Effects:
        """The next piece of what changes for many partitions, and what follows from it for those who wait."""
        return [*self._changes.go_on(), *self.serve_changed(now, wall)]

    def serve_changed(self, now: Instant, wall: WallClock) -> Effects:
        """Whoever waits for a partition that is not what it was looks again."""
        out: Effects = []
        for key in self._partitions.take_changed():
            out += self._moves.on_changed(key)
            out += self._produce.on_changed(key, now, wall)
            out += self._fetch.on_changed(key, now)
            self._deletions.on_changed(key)
            out += self._groups.on_changed(key, now, wall)
        for risen in self._partitions.take_risen():
            if isinstance(risen, Leader):
                out += self._serve_written(risen, now)
            else:
                out += self._fetch.on_shown(risen.log, now)
        return out

    def _serve_written(self, leader: Leader, now: Instant) -> Effects:
        self._groups.on_written(leader)
        return [*self._produce.on_written(leader, now), *self._fetch.on_written(leader, now)]

    def _directory_failed(self, event: DirectoryFailed, now: Instant) -> Effects | Fatal:
        """As in Kafka the others go on, unless it was the last one or has the metadata log."""
        has_others = self._directories.lose(event.directory_id)
        if not has_others or event.directory_id == self._metadata_directory:
            return Fatal(f"a partition's log failed: {event.reason}")
        self._changes.on_directory_failed(event.directory_id, event.reason)
        self._lifecycle.directory_failed(event.directory_id, now)
        moves = self._moves.on_directory_failed(event.directory_id)
        return [
            *moves,
            Log("error", f"replace the disk of log directory {event.directory_id}, offline: {event.reason}"),
        ]
