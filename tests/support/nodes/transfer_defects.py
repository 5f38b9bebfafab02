"""Defects of transactions, one at a time: each breaks one rule of the production broker as somebody once did.

`Defect.seed` is a schedule of `transfer_schedule` that notices it. It changes with every event in a broker:

    PYTHONPATH=.:tests python -m support.nodes.transfer_defects            # looks for the first seed of each
"""

from __future__ import annotations

import sys
from typing import Any, Final

from controller_runtime.broker import fetch, leader, unstable_offsets
from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.transactions.marker_sender import MarkerSender
from controller_runtime.broker.transactions.state_log import StateLog
from controller_runtime.coordinator.committed_offsets import CommittedOffsets
from controller_runtime.coordinator.transactions.partition import Effects, TransactionPartition
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.producer_states import ProducerEntry
from support.nodes.replica_defects import Defect, look_for, noticed_by
from support.nodes.transfer_schedule import TransferSchedule

_END: Final = CommittedOffsets.end_transaction


def a_new_coordinator_ends_nothing(self: TransactionPartition, _wall: WallClock) -> Effects:
    self.is_loaded = True
    return []


def nobody_is_told_what_was_aborted(_found: object) -> tuple[()]:
    return ()


def open_transactions_are_stable(self: unstable_offsets.UnstableOffsets, _high_watermark: int) -> int | None:
    return next((begins for begins, marker in self.markers.items() if marker is not None), None)


def repeated_markers_are_stale(
    entry: ProducerEntry | None, epoch: int, _marker: object, _version: int
) -> BatchRefusal | None:
    if entry is None or epoch > entry.epoch:
        return None
    return BatchRefusal(ErrorCode.INVALID_PRODUCER_EPOCH, "it is known")


def aborted_offsets_count(self: CommittedOffsets, producer_id: int, *, commit: bool, **more: Any) -> None:
    del commit
    _END(self, producer_id, commit=True, **more)


def what_came_about_inside_is_lost(_self: StateLog, _effects: list[BrokerEffect]) -> None:
    return


def the_end_is_written_again(self: MarkerSender, ending: Any, codes: dict[Any, ErrorCode], now: Instant) -> None:
    done = [place for place, code in codes.items() if code is ErrorCode.NONE]
    if len(done) < len(codes):
        ending.not_before = Instant(now + 0.1)
    self._marked(ending.partition, ending.entry.name, done)


DEFECTS: Final = (
    Defect("TXN-15: a new coordinator ends nothing", TransactionPartition, "begin", a_new_coordinator_ends_nothing, 2),
    Defect("nobody is told what was aborted", fetch, "aborted_transactions", nobody_is_told_what_was_aborted, 0),
    Defect(
        "open transactions are stable", unstable_offsets.UnstableOffsets, "first", open_transactions_are_stable, 0
    ),
    Defect("KAFKA-19999: repeated markers are stale", leader, "check_marker", repeated_markers_are_stale, 1),
    Defect("aborted offsets count", CommittedOffsets, "end_transaction", aborted_offsets_count, 0),
    Defect("what is asked of itself in turn is not written", StateLog, "put", what_came_about_inside_is_lost, 0),
    Defect("the end of a transaction is written again", MarkerSender, "_judge", the_end_is_written_again, 0),
)  # fmt: skip


def noticed(defect: Defect, seed: int) -> str:
    return noticed_by(defect, lambda: TransferSchedule(seed).run())


if __name__ == "__main__":
    look_for(DEFECTS, noticed, sys.argv[1:])
