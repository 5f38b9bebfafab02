"""Epochs are covered by no checksum: one damaged number must not make the rest of a log look untrue."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_pipeline.copies import Run
from metadata_pipeline.jobs.epochs import add_runs, longest_rise


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


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
@settings(deadline=None)
def test_the_longest_rise_is_longest(numbers: list[int]) -> None:
    found = longest_rise(numbers)
    values = [numbers[index] for index in found]
    assert values == sorted(values)
    assert found == sorted(set(found))
    best = [1] * len(numbers)
    for index, number in enumerate(numbers):
        best[index] = 1 + max((best[one] for one in range(index) if numbers[one] <= number), default=0)
    assert len(found) == max(best)
