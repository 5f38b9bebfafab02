"""The records of a piece's batches: unpacked where a batch is compressed, found in lockstep, one by one where a batch
is odd.

The result is one buffer and columns over records that point into it. A batch whose records cannot be had is a fault;
its records do not appear. Compressed batches are unpacked into the buffer a few at a time, so that what comes out of a
chunk stays bounded however well it was packed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from controller_runtime.protocol.compression import Compression, decompress
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.primitives import Invalid
from controller_runtime.protocol.record_batch import COMPRESSION_MASK, HEADER_BYTES, TIMESTAMP_TYPE_BIT
from controller_runtime.protocol.records import read_records
from metadata_pipeline.sources.arrays import Bytes, Ints
from metadata_pipeline.sources.faults import Fault
from metadata_pipeline.sources.lockstep import Frames, find_records, heads
from metadata_pipeline.sources.piece import Batches
from metadata_pipeline.sources.store import BEHIND

UNPACKED_LIMIT: Final = 64 << 20
"""The most that one batch may unpack to; and about the most that is held of unpacked batches."""
_SIGN: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Payload:
    """Records of some batches. `batch` indexes `batches`; `odd` tells nothing any more."""

    batches: Batches
    raw: bytes
    data: Bytes
    batch: Ints
    offset: Ints
    timestamp: Ints
    key_start: Ints
    key_size: Ints
    value_start: Ints
    value_size: Ints
    head: Ints


def payloads(batches: Batches) -> Iterator[Payload]:
    """The records of all batches without a fault that forbids it, in order."""
    codecs = batches.headers["attributes"] & COMPRESSION_MASK
    if not codecs.any() or all(
        _unreadable(fault) for fault, codec in zip(batches.faults, codecs, strict=True) if codec
    ):
        yield _payload(batches, batches.raw, batches.starts + HEADER_BYTES, batches.starts + batches.sizes)
        return
    first = 0
    while first < len(batches):
        last, unpacked, faults = _unpack(batches, codecs, first)
        part = batches.part(first, last)
        raw = b"".join((batches.raw, *unpacked.values(), bytes(BEHIND)))
        starts, ends = part.starts + HEADER_BYTES, part.starts + part.sizes
        place = len(batches.raw)
        for index, plain in unpacked.items():
            starts[index - first], ends[index - first] = place, place + len(plain)
            place += len(plain)
        yield _payload(replace(part, faults=faults), raw, starts, ends)
        first = last


def _unreadable(fault: tuple[Fault, str] | None) -> bool:
    """Whether records may not be read: anything but a base offset that surprises."""
    return fault is not None and fault[0] is not Fault.OFFSET


def _unpack(batches: Batches, codecs: Any, first: int) -> tuple[int, dict[int, bytes], list[tuple[Fault, str] | None]]:
    """Unpack compressed batches from `first` on until there is enough; returns where it stopped, the plain bytes and
    all faults so far.
    """
    unpacked: dict[int, bytes] = {}
    faults: list[tuple[Fault, str] | None] = []
    held = 0
    index = first
    while index < len(batches) and held < UNPACKED_LIMIT:
        fault = batches.faults[index]
        if codecs[index] and not _unreadable(fault):
            start = int(batches.starts[index])
            packed = batches.raw[start + HEADER_BYTES : start + int(batches.sizes[index])]
            try:
                unpacked[index] = decompress(Compression(int(codecs[index])), packed, UNPACKED_LIMIT)
                held += len(unpacked[index])
            except ProtocolError:
                fault = (Fault.COMPRESSION, f"{Compression(int(codecs[index])).name.lower()} cannot be unpacked")
        faults.append(fault)
        index += 1
    return index, unpacked, faults


def _payload(batches: Batches, raw: bytes, starts: Ints, ends: Ints) -> Payload:
    headers = batches.headers
    data = np.frombuffer(raw, np.uint8)
    counts = headers["record_count"].astype(np.int64)
    if not batches.sound:
        readable = np.array([not _unreadable(fault) for fault in batches.faults], np.bool_)
        ends = np.where(readable, ends, starts)
        counts = np.where(readable, counts, 0)
    frames = find_records(raw, data, starts, ends, counts)
    base = headers["base_offset"].astype(np.int64)[frames.batch]
    stamp = headers["base_timestamp"].astype(np.int64)[frames.batch] + frames.timestamp_delta
    appended = (headers["attributes"] & TIMESTAMP_TYPE_BIT) != 0
    if appended.any():
        stamp = np.where(appended[frames.batch], headers["max_timestamp"].astype(np.int64)[frames.batch], stamp)
    found = Payload(
        batches, raw, data=data, batch=frames.batch, offset=base + frames.offset_delta, timestamp=stamp,
        key_start=frames.key_start, key_size=frames.key_size, value_start=frames.value_start,
        value_size=frames.value_size, head=frames.head,
    )  # fmt: skip
    return _with_odd(found, frames, starts, ends) if frames.odd.any() else found


def _with_odd(found: Payload, frames: Frames, starts: Ints, ends: Ints) -> Payload:
    """Batches that the columns could not read, by the codec that reads one record at a time. What it refuses too is a
    fault.
    """
    faults = list(found.batches.faults)
    more: list[tuple[int, ...]] = []
    side: list[bytes] = []
    place = len(found.raw)
    for index in np.flatnonzero(frames.odd).tolist():
        header = found.batches.headers[index]
        appended = int(header["max_timestamp"]) if int(header["attributes"]) & TIMESTAMP_TYPE_BIT else None
        try:
            records = read_records(
                found.raw[: int(ends[index])], int(starts[index]), int(header["record_count"]),
                base_offset=int(header["base_offset"]), base_timestamp=int(header["base_timestamp"]),
                log_append_time=appended,
            )  # fmt: skip
        except (ProtocolError, Invalid, IndexError, ValueError):
            faults[index] = (Fault.RECORDS, f"the bytes are not {int(header['record_count'])} records")
            continue
        for record in records:
            key, value = record.key or b"", record.value or b""
            sizes = (-1 if record.key is None else len(key)), (-1 if record.value is None else len(value))
            more.append(
                (
                    index,
                    _wrapped(record.offset),
                    _wrapped(record.timestamp),
                    place,
                    sizes[0],
                    place + len(key),
                    sizes[1],
                )
            )
            side += (key, value)
            place += len(key) + len(value)
    raw = b"".join((found.raw, *side, bytes(BEHIND)))
    added = np.array(more, np.int64).reshape(-1, 7)
    order = np.argsort(np.concatenate((found.batch, added[:, 0])), kind="stable")
    names = ("batch", "offset", "timestamp", "key_start", "key_size", "value_start", "value_size")
    columns = {name: np.concatenate((getattr(found, name), added[:, index]))[order] for index, name in enumerate(names)}
    data = np.frombuffer(raw, np.uint8)
    columns["head"] = np.concatenate((found.head, heads(data, added[:, 5])))[order]
    return Payload(replace(found.batches, faults=faults), raw, data, **columns)


def _wrapped(number: int) -> int:
    """As 64 bits hold it."""
    return (number + _SIGN) % (2 * _SIGN) - _SIGN
