"""Do the log and the election state of one directory come from the same moment? Asked at the start of a voter.

A voter saves an epoch before it appends a record of it, on every path and through every crash, and so does Apache
Kafka. So a log with a later epoch than `quorum-state`, or a log beside no `quorum-state`, was put together from copies
of different times: votes that this node gave may be forgotten, and it could give one twice. An older copy of the whole
directory agrees with itself and is not noticed here: the leader sees it (`raft.replication`), and so does who keeps a
record of each disk (the operator's ledger).
"""

from __future__ import annotations

from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import join
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import QUORUM_STATE, QuorumState


def check_same_moment(log: MetadataLog, state: QuorumState | None) -> None:
    """Raise `CorruptFile` if this voter's promises are missing or older than its log."""
    path = join(log.directory, QUORUM_STATE)
    advice = "this voter may have forgotten a vote: replace it (remove it from the quorum, format anew, add it again)"
    if state is None:
        if log.end_offset > 0:
            raise CorruptFile(path, f"it is missing, and the log beside it ends at {log.end_offset}; {advice}")
        return
    starts, snapshots = log.epoch_starts(), log.snapshots()
    written = starts[-1][0] if starts else snapshots[-1].epoch if snapshots else 0
    if state.epoch < written:
        reason = f"it says epoch {state.epoch}, and the log beside it has records of epoch {written}; {advice}"
        raise CorruptFile(path, reason)
