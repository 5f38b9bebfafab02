"""What peers fetch: records of the metadata log, and slices of snapshots."""

from __future__ import annotations

from controller_runtime.identifiers import Offset
from controller_runtime.node.quorum.log_reading import StepLog
from controller_runtime.node.quorum.ports import SnapshotReader
from controller_runtime.raft import effects as raft
from controller_runtime.raft import messages
from controller_runtime.raft.messages import RaftError
from controller_runtime.storage.errors import CorruptFile


class Serving:
    def __init__(self, log: StepLog, snapshots: SnapshotReader) -> None:
        self._log = log
        self._snapshots = snapshots
        self.unreadable: list[str] = []
        """Places that the disk gave back changed, found while serving; see `scrubbing`."""

    def take_unreadable(self) -> list[str]:
        found, self.unreadable = self.unreadable, []
        return found

    def records(
        self, asked: raft.ReplyRecords, end_offset: Offset, high_watermark: Offset
    ) -> tuple[messages.FetchResponse, bytes]:
        """What the disk gives back changed is not served; what may not be committed yet must be readable."""
        if asked.offset >= end_offset:
            return asked.response, b""
        try:
            return asked.response, self._log.read(asked.offset, asked.max_bytes)
        except CorruptFile as error:
            if asked.offset >= high_watermark:
                raise
            self.unreadable.append(str(error))
        return messages.FetchResponse(
            RaftError.UNKNOWN_SERVER_ERROR, asked.response.epoch, asked.response.leader_id
        ), b""

    def snapshot_slice(self, asked: raft.ReplySnapshot) -> messages.FetchSnapshotResponse:
        size = self._snapshots.snapshot_size(asked.snapshot_id)
        error = RaftError.NONE
        if size is None:
            error = RaftError.SNAPSHOT_NOT_FOUND
        elif not 0 <= asked.position < size:
            error = RaftError.POSITION_OUT_OF_RANGE
        if error is not RaftError.NONE or size is None:
            return messages.FetchSnapshotResponse(error, asked.epoch, asked.leader_id, asked.snapshot_id)
        try:
            data = self._snapshots.read_snapshot(asked.snapshot_id, asked.position, asked.max_bytes)
        except CorruptFile as failure:
            self.unreadable.append(str(failure))
            missing = RaftError.SNAPSHOT_NOT_FOUND
            return messages.FetchSnapshotResponse(missing, asked.epoch, asked.leader_id, asked.snapshot_id)
        return messages.FetchSnapshotResponse(
            RaftError.NONE,
            asked.epoch,
            asked.leader_id,
            snapshot_id=asked.snapshot_id,
            size=size,
            position=asked.position,
            data=data,
        )
