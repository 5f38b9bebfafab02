"""Record batches made by hand, byte by byte, so that storage is tested without our own codec."""

from __future__ import annotations

import struct

from crc32c import crc32c


def raw_batch(
    base_offset: int,
    epoch: int = 1,
    count: int = 1,
    *,
    timestamp: int = 1_000,
    payload: bytes = b"x" * 10,
    control: bool = False,
) -> bytes:
    """A valid batch of `count` records whose body is `payload` (not decodable records: storage never looks inside)."""
    after_crc = struct.pack(">hiqqqhii", 0x20 * control, count - 1, timestamp, timestamp, -1, -1, -1, count) + payload
    head = struct.pack(">qiib", base_offset, len(after_crc) + 9, epoch, 2)
    return head + struct.pack(">I", crc32c(after_crc)) + after_crc


def raw_log(*batches: tuple[int, int], first: int = 0, payload: bytes = b"x" * 10) -> bytes:
    """Batches of (epoch, record count), one after the other."""
    data = b""
    for epoch, count in batches:
        data += raw_batch(first, epoch, count, payload=payload)
        first += count
    return data


def raw_snapshot(epoch: int = 1, records: int = 2) -> bytes:
    """The outer form of a snapshot: a control batch, data, a control batch."""
    data = raw_batch(0, epoch, control=True) + raw_batch(1, epoch, records)
    return data + raw_batch(1 + records, epoch, control=True)
