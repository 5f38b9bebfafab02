"""What is said of runs of records is what is said of each of them, whatever the bytes: of sound batches of every shape,
and of any damage.
"""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_runtime.protocol import record_survey
from controller_runtime.protocol.primitives import Invalid
from controller_runtime.protocol.record_batch import HEADER_BYTES, Record, encode_batch
from controller_runtime.protocol.record_runs import WORTH_IT, run_at
from controller_runtime.protocol.record_survey import Survey, survey

SIZES = st.sampled_from([0, 1, 20, 63, 64, 100, 200])
KEYS = st.sampled_from([None, b"", b"key", b"k" * 70])
TIMES = st.sampled_from([0, 1, 63, 64, 5_000, 9_000, 1 << 30, 1 << 40])


@st.composite
def batches(draw: st.DrawFn) -> tuple[bytes, int]:
    """Stretches of records alike, of more and of fewer than are worth a run, with what breaks one between them."""
    records: list[Record] = []
    for _ in range(draw(st.integers(1, 4))):
        key, size, step = draw(KEYS), draw(SIZES), draw(st.sampled_from([0, 0, 1, 70]))
        base, headers = draw(TIMES), draw(st.sampled_from([(), (), (("h", b"v"),)]))
        for number in range(draw(st.integers(1, 3 * WORTH_IT))):
            time = 1_000 + base + number * step
            records.append(Record(len(records), time, key, b"v" * size, headers))
    return encode_batch(records), len(records)


def told(data: bytes, count: int) -> Survey | tuple[type, str]:
    try:
        return survey(data, HEADER_BYTES, count)
    except Invalid as error:
        return type(error), str(error)


def one_by_one(data: bytes, count: int) -> Survey | tuple[type, str]:
    with mock.patch.object(record_survey, "run_at", return_value=None):
        return told(data, count)


@given(batches())
@settings(max_examples=150, deadline=None)
def test_runs_say_what_records_say_one_by_one(batch: tuple[bytes, int]) -> None:
    data, count = batch
    assert told(data, count) == one_by_one(data, count)
    assert isinstance(told(data, count), Survey)


@given(batches(), st.data())
@settings(max_examples=300, deadline=None)
def test_damage_is_told_in_the_same_words(batch: tuple[bytes, int], chance: st.DataObject) -> None:
    data, count = bytearray(batch[0]), batch[1]
    for _ in range(chance.draw(st.integers(1, 3))):
        data[chance.draw(st.integers(HEADER_BYTES, len(data) - 1))] = chance.draw(st.integers(0, 255))
    cut = chance.draw(st.one_of(st.just(len(data)), st.integers(HEADER_BYTES, len(data))))
    count += chance.draw(st.sampled_from([0, 0, 1, -1]))
    assert told(bytes(data[:cut]), count) == one_by_one(bytes(data[:cut]), count)


@pytest.mark.parametrize("place", [*range(12), -1])
@pytest.mark.parametrize("value", [0, 1, 2, 127, 128, 255])
def test_a_byte_of_one_record_of_a_run_is_noticed(place: int, value: int) -> None:
    """Wherever between the contents of one in the middle it lies; the last one is the count of headers before it."""
    count = 3 * WORTH_IT
    data = bytearray(encode_batch([Record(number, 1_000, b"k", b"v" * 100) for number in range(count)]))
    run = run_at(bytes(data), HEADER_BYTES, count)
    assert run is not None
    size = (run.end - HEADER_BYTES) // run.records
    data[HEADER_BYTES + (run.records // 2) * size + place] = value
    assert told(bytes(data), count) == one_by_one(bytes(data), count)


def test_records_of_one_size_are_looked_at_in_few_runs() -> None:
    """As many as the widths of offsets change: none is left to be looked at by itself."""
    count, at, runs = 9_000, HEADER_BYTES, 0
    data = encode_batch([Record(number, 1_000, None, b"v" * 100) for number in range(count)])
    while (run := run_at(data, at, count)) is not None:
        at, count, runs = run.end, count - run.records, runs + 1
    assert (at, count, runs) == (len(data), 0, 3)


def test_records_of_different_sizes_are_no_run() -> None:
    data = encode_batch([Record(number, 1_000, None, b"v" * (number % 7)) for number in range(1_000)])
    assert run_at(data, HEADER_BYTES, 1_000) is None
