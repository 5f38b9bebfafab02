"""Epochs are covered by no checksum: one damaged number must not make the rest of a log look untrue."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_pipeline.copies import Run
from metadata_pipeline.jobs.epochs import add_runs


def batches(*rows: tuple[int, bool], start: int = 0) -> pa.RecordBatch:
    """Batches of one record: (epoch, control)."""
    return pa.record_batch(
        {
            "base_offset": pa.array(range(start, start + len(rows)), pa.int64()),
            "last_offset": pa.array(range(start, start + len(rows)), pa.int64()),
            "epoch": pa.array([epoch for epoch, _ in rows], pa.int32()),
            "is_control": pa.array([control for _, control in rows]),
        }
    )


WHOLE = [(1, True), *[(1, False)] * 5, (2, True), *[(2, False)] * 5]


def runs_of(*parts: pa.RecordBatch) -> list[Run]:
    runs: list[Run] = []
    for part in parts:
        add_runs(runs, part)
    return runs


def test_a_log_is_the_runs_of_its_epochs_however_it_is_cut() -> None:
    expected = [Run(0, 6, 1), Run(6, 12, 2)]
    assert runs_of(batches(*WHOLE)) == expected
    for cut in range(1, 12):
        assert runs_of(batches(*WHOLE[:cut]), batches(*WHOLE[cut:], start=cut)) == expected


@pytest.mark.parametrize("at", range(1, 11))
@pytest.mark.parametrize("number", [0, 66, -5])
def test_one_damaged_epoch_costs_its_own_batch_alone(at: int, number: int) -> None:
    broken = [(number, control) if index == at else (epoch, control) for index, (epoch, control) in enumerate(WHOLE)]
    held = {offset: run.epoch for run in runs_of(batches(*broken)) for offset in range(run.start, run.end)}
    wanted = {offset: epoch for offset, (epoch, _) in enumerate(WHOLE) if offset != at}
    assert held == wanted


def test_a_damaged_epoch_at_the_end_of_a_chunk_is_forgotten_when_the_next_one_contradicts_it() -> None:
    first = [*WHOLE[:5], (66, True)]
    assert runs_of(batches(*first), batches(*[(1, False)] * 20, start=6)) == [Run(0, 5, 1), Run(6, 26, 1)]


def test_an_epoch_that_lost_its_beginning_is_believed() -> None:
    """The control batch has bit rot and is not among the undamaged ones."""
    assert runs_of(batches(*[(1, False)] * 3, *[(2, False)] * 2)) == [Run(0, 3, 1), Run(3, 5, 2)]


def test_voters_that_change_amid_an_epoch_begin_none() -> None:
    assert runs_of(batches((2, False), (2, True), (2, False), (3, True), (3, True))) == [Run(0, 3, 2), Run(3, 5, 3)]


THREE = [(epoch, first) for epoch in (1, 2, 3) for first in (True, False, False)]


@given(st.integers(1, len(THREE) - 2), st.integers(-1, 6))
@settings(deadline=None)
def test_no_damaged_epoch_is_believed_and_no_other_is_doubted(at: int, number: int) -> None:
    """Whatever number stands in one batch, were it that of the epoch before or behind."""
    broken = [(number, control) if index == at else (epoch, control) for index, (epoch, control) in enumerate(THREE)]
    runs = runs_of(batches(*broken))
    held = {offset: run.epoch for run in runs for offset in range(run.start, run.end)}
    wanted = {offset: epoch for offset, (epoch, _) in enumerate(THREE) if offset != at or number == epoch}
    assert held == wanted


def test_a_quorum_that_changes_its_leader_all_the_time_is_believed() -> None:
    story = [(epoch, control) for epoch in range(1, 900) for control in (True, False)]
    assert runs_of(batches(*story)) == [Run(2 * epoch - 2, 2 * epoch, epoch) for epoch in range(1, 900)]
