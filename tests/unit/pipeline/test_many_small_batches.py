"""An idle cluster's log, a record in each batch: found and checked in lockstep exactly as one after the other, whatever
lies in between.
"""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.checksum import crc32c
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.headers import checksums, hop
from metadata_pipeline.sources.lanes import LANES, walked
from metadata_pipeline.sources.short_checksums import LONGEST, SHORTEST, short_checksums

pytestmark = pytest.mark.unit

COUNT = 12_000


def batch(value: bytes) -> bytes:
    return encode_batch([Record(0, 1_790_000_000_000, None, value)], partition_leader_epoch=2)


def decoy() -> bytes:
    """A batch with a record that looks like a batch, which ends where the real one does."""
    value = bytearray(IDLE)
    struct.pack_into(">i", value, 8, len(value) + 1 - 12)  # a record ends with the number of its headers
    return batch(bytes(value))


def empty() -> bytes:
    """A header and nothing else."""
    header = bytearray(IDLE[:61])
    struct.pack_into(">i", header, 8, 61 - 12)
    return bytes(header)


IDLE = batch(encode_record(NoOpRecord(), 0))
OTHERS = (decoy(), empty(), batch(IDLE * 2), batch(IDLE[:40] * 3), batch(IDLE[8:] * 2))


def log(seed: int, *, count: int = COUNT, others: float = 0.1) -> bytearray:
    """Mostly NoOps; of the others some are larger or smaller, and some hold what looks like the beginning
    of a batch.
    """
    dice = random.Random(seed)
    batches = [dice.choice(OTHERS) if dice.random() < others else IDLE for _ in range(count)]
    data = bytearray(b"".join(batches))
    position = 0
    for offset, each in enumerate(batches):
        struct.pack_into(">q", data, position, offset)
        position += len(each)
    return data


def one_by_one(data: bytes) -> tuple[list[int], int, Fault | None]:
    """Positions, where the walk ends, and why."""
    found: list[int] = []
    position = 0
    while position + 61 <= len(data):
        (length,) = struct.unpack_from(">i", data, position + 8)
        if length < 5:
            return found, position, Fault.LENGTH
        if position + 12 + length > len(data):
            break
        found.append(position)
        position += 12 + length
    return found, position, None


def test_a_clean_log_is_walked_in_lanes() -> None:
    data = bytes(log(1, others=0))
    ahead = walked(data, 0, len(data) / COUNT).tolist()
    everywhere = one_by_one(data)[0]
    assert ahead == everywhere[: len(ahead)]
    assert len(ahead) > len(everywhere) * (LANES - 2) // LANES


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("others", [0.0, 0.1, 0.6])
def test_the_batches_found_are_those_of_a_walk_from_one_to_the_next(seed: int, others: float) -> None:
    data = bytes(log(seed, others=others))
    for cut in (len(data), len(data) - 1, len(data) - 70):
        positions, stop = hop(data[:cut])
        assert (positions, stop.position, stop.fault) == one_by_one(data[:cut])


@pytest.mark.parametrize("length", [-1, 0, 4, 5, 30, 48, 62, 1 << 20, 0x7FFFFFFF])
def test_a_length_that_lies_anywhere_is_met_by_the_walk_that_comes_there(length: int) -> None:
    dice = random.Random(length)
    for _ in range(12):
        data = bytearray(dice.choice((IDLE, empty())) * COUNT)
        victim = dice.choice(one_by_one(bytes(data))[0])
        struct.pack_into(">i", data, victim + 8, length)
        positions, stop = hop(bytes(data))
        assert (positions, stop.position, stop.fault) == one_by_one(bytes(data)), victim


def test_any_byte_may_be_another() -> None:
    dice = random.Random(5)
    data = log(5, others=0.3)
    for _ in range(40):
        place = dice.randrange(len(data))
        kept, data[place] = data[place], dice.randrange(256)
        positions, stop = hop(bytes(data))
        assert (positions, stop.position, stop.fault) == one_by_one(bytes(data)), place
        data[place] = kept


def test_short_checksums_are_those_of_the_library_at_every_length_and_place() -> None:
    data = random.Random(3).randbytes(4096)
    stretches = [(start, start + size) for size in range(SHORTEST, LONGEST + 1) for start in range(7, 16)]
    stretches += [(len(data) - size, len(data)) for size in range(SHORTEST, LONGEST + 1)]
    starts, ends = np.array(stretches).T
    expected = [crc32c(data[start:end]) for start, end in stretches]
    assert short_checksums(np.frombuffer(data, np.uint8), starts, ends).tolist() == expected


def test_every_batch_gets_its_own_checksum_whether_short_or_long() -> None:
    data = log(9, count=600, others=0) + batch(bytes(1000)) + decoy() + batch(bytes(5))
    positions, stop = hop(bytes(data))
    data[positions[4] + 40] ^= 1
    ends = [*positions[1:], stop.position]
    starts = np.array(positions)
    found = checksums(bytes(data), starts, np.array(ends) - starts).tolist()
    assert found == [crc32c(bytes(data[start + 21 : end])) for start, end in zip(positions, ends, strict=True)]
    written = [struct.unpack_from(">I", data, start + 17)[0] for start in positions]
    assert sum(one != other for one, other in zip(found, written, strict=True)) == 1
