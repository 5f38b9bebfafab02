"""Record batches: right ones, ones that lie with a right checksum, compressed ones, and rubbish. Bytes by hand, not by
our encoder.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from crc32c import crc32c

from controller_runtime.protocol.compression import Compression, compress

NOW_MS: Final = 1_795_000_000_000
LIES: Final = (2**31 - 1, -(2**31), -1, 0, 1, 2, 5, 100, 65536, 2**31 - 2)
LONG_LIES: Final = (2**63 - 1, -(2**63), -1, -2, 0, 1, 2**40, NOW_MS, NOW_MS * 1000)
BOMB_BYTES: Final = 4 << 20
"""What a small compressed batch may unpack to: enough to be seen, not to stop everything else."""


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of a batch; None: what is true."""

    base_offset: int = 0
    leader_epoch: int = -1
    magic: int = 2
    attributes: int = 0
    last_offset_delta: int | None = None
    base_timestamp: int = NOW_MS
    max_timestamp: int = NOW_MS
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    count: int | None = None
    length: int | None = None
    crc: int | None = None


def varint(number: int) -> bytes:
    """Zig-zag, as in records."""
    number = (number << 1) ^ (number >> 63)
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def record(delta: int, value: bytes | None, key: bytes | None = None, headers: int = 0, timestamp: int = 0) -> bytes:
    body = b"\0" + varint(timestamp) + varint(delta)
    for each in (key, value):
        body += varint(-1) if each is None else varint(len(each)) + each
    body += varint(headers) + (varint(1) + b"h" + varint(-1)) * max(0, min(headers, 3))
    return varint(len(body)) + body


def batch(payload: bytes, count: int, header: Header = Header()) -> bytes:
    """`payload`: the records as they lie in the batch, `count` of them."""
    h = header
    delta = count - 1 if h.last_offset_delta is None else h.last_offset_delta
    after = struct.pack(
        ">hiqqqhii", h.attributes, delta, h.base_timestamp, h.max_timestamp, h.producer_id, h.producer_epoch,
        h.base_sequence, count if h.count is None else h.count,
    ) + payload  # fmt: skip
    crc = crc32c(after) if h.crc is None else h.crc
    length = len(after) + 9 if h.length is None else h.length
    return struct.pack(">qiibI", h.base_offset, length, h.leader_epoch, h.magic, crc & 0xFFFFFFFF) + after


def good(values: list[bytes], codec: Compression = Compression.NONE, header: Header = Header()) -> bytes:
    payload = b"".join(record(delta, value) for delta, value in enumerate(values))
    return batch(compress(codec, payload), len(values), replace(header, attributes=header.attributes | codec))


def some(rng: Random) -> bytes:
    """What somebody might put into a produce request."""
    made = _one(rng)
    if rng.random() < 0.05:
        made += _one(rng)
    if rng.random() < 0.05 and len(made) > 20:
        cut = rng.randrange(len(made))
        made = (
            made[:cut]
            if rng.random() < 0.5
            else made[:cut] + bytes([made[cut] ^ (1 << rng.randrange(8))]) + made[cut + 1 :]
        )
    return made


def _one(rng: Random) -> bytes:
    values = [rng.randbytes(rng.choice((0, 1, 10, 100, 2000, 6000))) for _ in range(rng.choice((1, 1, 1, 2, 5)))]
    codec = rng.choice((Compression.NONE, Compression.NONE, *Compression))
    draw = rng.random()
    if draw < 0.4:
        return good(values, codec)
    if draw < 0.75:
        return good(values, codec, lie(rng))
    if draw < 0.9:
        return batch(
            _strange_payload(rng, codec),
            len(values),
            replace(lie(rng) if rng.random() < 0.3 else Header(), attributes=codec),
        )
    return rng.choice((b"", bytes(61), rng.randbytes(100), good(values)[:30], struct.pack(">qi", 0, 2**31 - 1)))


def lie(rng: Random) -> Header:
    """One or two fields that are not true; the checksum is right but for a few."""
    made = Header()
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice((
            "base_offset", "leader_epoch", "magic", "attributes", "last_offset_delta", "last_offset_delta", "count",
            "count", "both",
            "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "length", "crc",
        ))  # fmt: skip
        match name:
            case "both":
                claimed = rng.choice(LIES)
                made = replace(made, count=claimed, last_offset_delta=max(claimed - 1, -(2**31)))
            case "magic":
                made = replace(made, magic=rng.choice((0, 1, 3, 127, -1)))
            case "attributes":
                made = replace(made, attributes=rng.choice((5, 6, 7, 8, 16, 32, 48, 64, 128, -1, 32767)))
            case "base_offset" | "base_timestamp" | "max_timestamp" | "producer_id":
                made = replace(made, **{name: rng.choice(LONG_LIES)})
            case "producer_epoch":
                made = replace(made, producer_epoch=rng.choice((0, 1, 32767, -2)))
            case _:
                made = replace(made, **{name: rng.choice(LIES)})
    return made


def _strange_payload(rng: Random, codec: Compression) -> bytes:
    """Records that cannot be, compressed rightly; or a compression that cannot be."""
    plain = rng.choice((
        b"", record(0, b"v", headers=2**31 - 1), record(0, b"v", headers=-1), varint(2**31 - 1) + b"\0" * 9,
        varint(-5) + b"\0" * 9,
        record(7, b"v"), record(-(2**31), b"v"), record(0, b"v", timestamp=2**63 - 1), record(0, b"v")[:-1],
        record(0, b"v") + b"x" * 9,
        record(0, b"v") * 3, b"\xff" * 30, bytes(BOMB_BYTES if rng.random() < 0.05 else 1000),
    ))  # fmt: skip
    if codec is Compression.NONE:
        return plain
    packed = compress(codec, plain)
    return rng.choice(
        (
            packed,
            packed,
            packed[: len(packed) // 2],
            packed + b"xx",
            rng.randbytes(40),
            gzip.compress(gzip.compress(plain)),
            zlib.compress(plain),
        )
    )
