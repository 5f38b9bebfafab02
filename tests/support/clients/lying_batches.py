"""What a producer may send in place of a batch: each a name and the bytes, made by hand, none by our encoder.

A batch here is made of a header and of records that need not agree. The checksum is right unless the lie is about it,
so that whoever believes what a checksum covers believes all of them.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import lz4.block
import lz4.frame
import zstandard
from cramjam import snappy
from crc32c import crc32c

TIME: Final = 1_700_000_000_000
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
INT_MAX: Final = (1 << 31) - 1
LONG_MAX: Final = (1 << 63) - 1
XERIAL: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def varint(value: int, width: int = 0) -> bytes:
    """Zigzag; padded to `width` bytes when that is more than it needs."""
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 127:
        out.append(left & 127 | 128)
        left >>= 7
    out.append(left)
    while len(out) < width:
        out[-1] |= 128
        out.append(0)
    return bytes(out)


def record(
    offset: int = 0,
    value: bytes | None = b"v",
    *,
    key: bytes | None = None,
    time: int = 0,
    attributes: int = 0,
    headers: bytes = b"\0",
    tail: bytes = b"",
    longer: int = 0,
    key_size: int | None = None,
    value_size: int | None = None,
    wide: int = 0,
) -> bytes:
    """One record; what is said of a size is what there is, unless told otherwise."""
    body = bytes([attributes]) + varint(time) + varint(offset, wide)
    body += varint((-1 if key is None else len(key)) if key_size is None else key_size) + (key or b"")
    body += varint((-1 if value is None else len(value)) if value_size is None else value_size) + (value or b"")
    body += headers + tail
    return varint(len(body) + longer) + body


def records(count: int) -> bytes:
    return b"".join(record(n) for n in range(count))


def batch(
    payload: bytes | None = None,
    *,
    count: int = 1,
    delta: int | None = None,
    attributes: int = 0,
    base: int = 0,
    time: int = TIME,
    latest: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    epoch: int = -1,
    magic: int = 2,
    longer: int = 0,
    wrong_crc: bool = False,
) -> bytes:
    """`producer`: id, epoch, sequence. `longer`: how much more the length says than there is."""
    tail = struct.pack(
        ">hiqq", attributes, count - 1 if delta is None else delta, time, time if latest is None else latest
    )
    tail += struct.pack(">qhi", *producer) + struct.pack(">i", count)
    tail += records(count) if payload is None else payload
    check = crc32c(tail) ^ (1 if wrong_crc else 0)
    return struct.pack(">qiibI", base, len(tail) + 9 + longer, epoch, magic, check) + tail


def packed(codec: int, plain: bytes | None = None, count: int = 1, **more: int) -> bytes:
    return batch(pack(codec, records(count) if plain is None else plain), count=count, attributes=codec, **more)  # type: ignore[arg-type]


def pack(codec: int, plain: bytes) -> bytes:
    match codec:
        case 1:
            return gzip.compress(plain, mtime=0)
        case 2:
            block = bytes(snappy.compress_raw(plain))
            return XERIAL + struct.pack(">i", len(block)) + block
        case 3:
            return bytes(lz4.frame.compress(plain, block_linked=False, store_size=False))
        case _:
            return zstandard.ZstdCompressor().compress(plain)


def _old(magic: int, time: int = TIME) -> bytes:
    """A message of the first two formats."""
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", time) if magic else b"") + struct.pack(">ii", -1, 1) + b"v"
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


_HONEST: Final = {
    "honest": batch(count=3),
    "honest with key and headers": batch(record(0, key=b"k", headers=varint(1) + varint(1) + b"h" + varint(2) + b"hv")),
    "honest with null value": batch(record(0, None)),
    "honest header with null value": batch(record(0, headers=varint(1) + varint(1) + b"h" + varint(-1))),
    "honest gzip": packed(GZIP, count=3),
    "honest snappy": packed(SNAPPY, count=3),
    "honest lz4": packed(LZ4, count=3),
    "honest zstd": packed(ZSTD, count=3),
    "honest producer": batch(count=2, producer=(7, 0, 0)),
}

_COUNTS: Final = {
    "count 2^31-1": batch(records(1), count=INT_MAX),
    "count 2^31-1, delta 0": batch(records(1), count=INT_MAX, delta=0),
    "count 2, one record": batch(records(1), count=2),
    "count 1, two records": batch(records(2), count=1),
    "count 1, two records, delta 1": batch(records(2), count=1, delta=1),
    "count 2, two records, delta 0": batch(records(2), count=2, delta=0),
    "count 0, no record": batch(b"", count=0, delta=0),
    "count 0, delta -1, no record": batch(b"", count=0),
    "count 0, one record": batch(records(1), count=0, delta=0),
    "count -1": batch(records(1), count=-1, delta=0),
    "count -1, delta -2": batch(records(1), count=-1),
    "count -2^31": batch(records(1), count=-(1 << 31), delta=0),
    "count 1, no record": batch(b"", count=1),
    "delta -1": batch(records(1), count=1, delta=-1),
    "delta 5, one record": batch(records(1), count=1, delta=5),
    "delta 2^31-1, one record": batch(records(1), count=1, delta=INT_MAX),
    "delta 2^31-1, count 2^31-1": batch(records(1), count=INT_MAX, delta=INT_MAX),
    "delta -2^31": batch(records(1), count=1, delta=-(1 << 31)),
    "a hole, as compaction leaves": batch(record(0) + record(2), count=2, delta=2),
}

_OFFSETS: Final = {
    "inner offsets 0, 2": batch(record(0) + record(2), count=2),
    "inner offsets 1, 0": batch(record(1) + record(0), count=2),
    "inner offsets 0, 0": batch(record(0) + record(0), count=2),
    "inner offset 1": batch(record(1)),
    "inner offset -1": batch(record(-1)),
    "inner offset 2^31-1": batch(record(INT_MAX)),
    "inner offset 2^31": batch(record(1 << 31)),
    "inner offset 2^40": batch(record(1 << 40)),
    "inner offset overlong": batch(record(0, wide=3)),
    "inner offset of five bytes": batch(record(0, wide=5)),
    "inner offset of six bytes": batch(record(0, wide=6)),
    "inner offset of eleven bytes": batch(record(0, wide=11)),
    "gzip inner offsets 0, 2": packed(GZIP, record(0) + record(2), 2),
    "gzip inner offsets 1, 0": packed(GZIP, record(1) + record(0), 2),
    "lz4 inner offset 2^31-1": packed(LZ4, record(INT_MAX)),
    "zstd inner offset -1": packed(ZSTD, record(-1)),
    "base offset 100": batch(base=100),
    "base offset 100, two records": batch(count=2, base=100),
    "base offset -1": batch(base=-1),
    "base offset 2^63-1": batch(base=LONG_MAX),
    "base offset 100, gzip": packed(GZIP, base=100),
    "gzip count 2, one record": packed(GZIP, records(1), 2),
    "gzip count 1, two records": packed(GZIP, records(2), 1),
    "zstd count 2^31-1": packed(ZSTD, records(1), INT_MAX),
    "snappy count 0": packed(SNAPPY, b"", 0, delta=0),
    "gzip of nothing, count 1": packed(GZIP, b"", 1),
}

_TIMES: Final = {
    "max timestamp too late": batch(latest=TIME + 5000),
    "max timestamp too early": batch(latest=TIME - 5000),
    "max timestamp -1": batch(latest=-1),
    "max timestamp 2^63-1": batch(latest=LONG_MAX),
    "max timestamp -2^63": batch(latest=-LONG_MAX - 1),
    "gzip max timestamp too late": packed(GZIP, latest=TIME + 5000),
    "gzip max timestamp -1": packed(GZIP, latest=-1),
    "base timestamp -1": batch(time=-1, latest=-1),
    "base timestamp -2": batch(time=-2, latest=-2),
    "base timestamp -2^63": batch(time=-LONG_MAX - 1, latest=-LONG_MAX - 1),
    "base timestamp 2^63-1": batch(time=LONG_MAX, latest=LONG_MAX),
    "inner time in a thousand years": batch(record(time=1 << 45)),
    "inner time in a thousand years, told": batch(record(time=1 << 45), latest=TIME + (1 << 45)),
    "inner time beyond 2^63": batch(record(time=LONG_MAX)),
    "inner times on both sides of 2^63": batch(record(0) + record(1, time=LONG_MAX), count=2),
    "inner times before and behind -2^63": batch(record(0) + record(1, time=-5), count=2, time=-LONG_MAX - 1),
    "inner time before 1970": batch(record(time=-TIME - 10)),
    "gzip inner time in a thousand years": packed(GZIP, record(time=1 << 45)),
}

_ATTRIBUTES: Final = {
    **{f"codec {codec}": batch(attributes=codec) for codec in (5, 6, 7)},
    "reserved bit 7": batch(attributes=1 << 7),
    "reserved bits 8 to 14": batch(attributes=0x7F00),
    "attributes -1": batch(attributes=-1),
    "sign bit": batch(attributes=-(1 << 15)),
    "log append time": batch(attributes=8),
    "log append time, gzip": batch(pack(GZIP, records(1)), attributes=GZIP | 8),
    "delete horizon": batch(attributes=0x40),
    "control": batch(attributes=0x20),
    "control with a producer": batch(attributes=0x20, producer=(7, 0, 0)),
    "control and transactional": batch(attributes=0x30, producer=(7, 0, 0)),
    "an end of transaction": batch(record(0, bytes(6), key=b"\0\0\0\1"), attributes=0x30, producer=(7, 0, -1)),
    "record attributes 127": batch(record(0, attributes=127)),
    "record attributes 255": batch(record(0, attributes=255)),
    "leader epoch 77": batch(epoch=77),
    "leader epoch -9": batch(epoch=-9),
}

_CHANGES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "cut by one": lambda data: data[:-1],
    "cut by nine": lambda data: data[:-9],
    "with a byte behind": lambda data: data + b"x",
    "with a zero behind": lambda data: data + b"\0",
    "of nothing": lambda data: data[:0],
    "twice": lambda data: data + data,
    "with a flipped byte": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 255]) + data[len(data) // 2 + 1 :]
    ),
}
_CODECS: Final = {
    "gzip that is none": batch(records(1), attributes=GZIP),
    "snappy that is none": batch(records(1), attributes=SNAPPY),
    "lz4 that is none": batch(records(1), attributes=LZ4),
    "zstd that is none": batch(records(1), attributes=ZSTD),
    "gzip that is zstd": batch(pack(ZSTD, records(1)), attributes=GZIP),
    "gzip that is lz4": batch(pack(LZ4, records(1)), attributes=GZIP),
    "zstd that is gzip": batch(pack(GZIP, records(1)), attributes=ZSTD),
    "lz4 that is snappy": batch(pack(SNAPPY, records(1)), attributes=LZ4),
    "snappy that is gzip": batch(pack(GZIP, records(1)), attributes=SNAPPY),
    "none that is gzip": batch(pack(GZIP, records(1))),
    "gzip in gzip": packed(GZIP, pack(GZIP, records(1))),
    "a batch in gzip": packed(GZIP, batch()),
    "zstd in zstd": packed(ZSTD, pack(ZSTD, records(1))),
    **{
        f"{name} {what}": batch(change(pack(codec, records(3))), count=3, attributes=codec)
        for codec, name in ((GZIP, "gzip"), (SNAPPY, "snappy"), (LZ4, "lz4"), (ZSTD, "zstd"))
        for what, change in _CHANGES.items()
    },
    "gzip wrong checksum": batch(pack(GZIP, records(1))[:-8] + b"abcd" + pack(GZIP, records(1))[-4:], attributes=GZIP),
    "gzip in two members": batch(pack(GZIP, record(0)) + pack(GZIP, record(1)), count=2, attributes=GZIP),
    "lz4 in two frames": batch(pack(LZ4, record(0)) + pack(LZ4, record(1)), count=2, attributes=LZ4),
    "zstd in two frames": batch(pack(ZSTD, record(0)) + pack(ZSTD, record(1)), count=2, attributes=ZSTD),
    "snappy without frame": batch(bytes(snappy.compress_raw(records(1))), attributes=SNAPPY),
    "snappy claims 2^32-1 bytes": batch(XERIAL + struct.pack(">i", 8) + b"\xff\xff\xff\xff\x0fabc", attributes=SNAPPY),
    "snappy block of -1 bytes": batch(XERIAL + struct.pack(">i", -1), attributes=SNAPPY),
    "lz4 of linked blocks": batch(
        bytes(lz4.frame.compress(record(0, bytes(100_000)), block_size=4, block_linked=True)), attributes=LZ4
    ),
    **{
        f"bytes left over in {name}": packed(codec, records(1) + b"xx")
        for codec, name in enumerate(("", "gzip", "snappy", "lz4", "zstd"))
        if codec
    },
    **{
        f"a megabyte of zeros left over in {name}": packed(codec, records(1) + bytes(1 << 20))
        for codec, name in ((GZIP, "gzip"), (ZSTD, "zstd"))
    },
    "gzip record of a megabyte": packed(GZIP, record(0, bytes(1 << 20))),
    "gzip record of two megabytes": packed(GZIP, record(0, bytes(2 << 20))),
    "zstd record of thirty megabytes": packed(ZSTD, record(0, bytes(30 << 20))),
    "gzip record that claims 2^31-1 bytes": packed(GZIP, varint(INT_MAX) + records(1)),
    "gzip cut record": packed(GZIP, records(1)[:-2]),
}

_RECORDS: Final = {
    "record longer than it is": batch(record(longer=1)),
    "record much longer than it is": batch(record(longer=1000)),
    "record shorter than it is": batch(record(longer=-1)),
    "record shorter, next one fits": batch(record(0, longer=-1) + record(1), count=2),
    "record longer, next one eaten": batch(record(0, longer=len(record(1))) + record(1), count=1),
    "record of -1 bytes": batch(varint(-1) + bytes(8)),
    "record of no bytes": batch(varint(0)),
    "record of 2^31-1 bytes": batch(varint(INT_MAX) + bytes(8)),
    "record of 2^40 bytes": batch(varint(1 << 40) + bytes(8)),
    "record with overlong length": batch(varint(7, 4) + record()[1:]),
    "record with length of six bytes": batch(varint(7, 6) + record()[1:]),
    "record with bytes behind the headers": batch(record(tail=b"xx")),
    "records with bytes behind the last": batch(records(1) + b"x"),
    "records with a whole one behind the last": batch(records(2), count=1),
    "records cut": batch(records(2)[:-1], count=2),
    "key of -2 bytes": batch(record(key_size=-2)),
    "key longer than the record": batch(record(key=b"k", key_size=100)),
    "key of 2^31-1 bytes": batch(record(key=b"k", key_size=INT_MAX)),
    "key of -2^31 bytes": batch(record(key=b"k", key_size=-(1 << 31))),
    "value of -2 bytes": batch(record(value_size=-2)),
    "value longer than the record": batch(record(value_size=100)),
    "value shorter than it is": batch(record(0, b"vvv", value_size=1)),
    "value of 2^31-1 bytes": batch(record(value_size=INT_MAX)),
    "headers -1": batch(record(headers=varint(-1))),
    "headers 5 of none": batch(record(headers=varint(5))),
    "headers 2^31-1": batch(record(headers=varint(INT_MAX))),
    "headers one of two": batch(record(headers=varint(2) + varint(1) + b"h" + varint(1) + b"v")),
    "header key of -1 bytes": batch(record(headers=varint(1) + varint(-1) + varint(1) + b"v")),
    "header key too long": batch(record(headers=varint(1) + varint(99) + b"h" + varint(1) + b"v")),
    "header key that is no text": batch(record(headers=varint(1) + varint(2) + b"\xff\xfe" + varint(1) + b"v")),
    "header value of -2 bytes": batch(record(headers=varint(1) + varint(1) + b"h" + varint(-2))),
    "header value too long": batch(record(headers=varint(1) + varint(1) + b"h" + varint(99) + b"v")),
    "gzip header count 2^31-1": packed(GZIP, record(headers=varint(INT_MAX))),
    "gzip key longer than the record": packed(GZIP, record(key=b"k", key_size=100)),
    "gzip value of -2 bytes": packed(GZIP, record(value_size=-2)),
    "gzip value shorter than it is": packed(GZIP, record(0, b"vvv", value_size=1)),
    "gzip headers -1": packed(GZIP, record(headers=varint(-1))),
    "gzip header key that is no text": packed(
        GZIP, record(headers=varint(1) + varint(2) + b"\xff\xfe" + varint(1) + b"v")
    ),
    "gzip record of -1 bytes": packed(GZIP, varint(-1) + bytes(8)),
    "gzip record shorter than it is": packed(GZIP, record(longer=-1)),
    "gzip record with bytes behind the headers": packed(GZIP, record(tail=b"xx")),
}

_PRODUCERS: Final = {
    "producer without epoch": batch(producer=(7, -1, 0)),
    "producer without sequence": batch(producer=(7, 0, -1)),
    "producer with epoch -2": batch(producer=(7, -2, 0)),
    "producer with sequence -2": batch(producer=(7, 0, -2)),
    "producer 0": batch(producer=(0, 0, 0)),
    "producer 0 without sequence": batch(producer=(0, 0, -1)),
    "no producer with epoch -2": batch(producer=(-1, -2, -1)),
    "producer -2": batch(producer=(-2, 0, 0)),
    "producer -2 without epoch": batch(producer=(-2, -1, -1)),
    "no producer with epoch": batch(producer=(-1, 3, -1)),
    "no producer with sequence": batch(producer=(-1, -1, 3)),
    "producer begins at 5": batch(producer=(7, 0, 5)),
    "producer begins at epoch 5": batch(producer=(7, 5, 0)),
    "producer begins at epoch 5 and sequence 5": batch(producer=(7, 5, 5)),
    "producer at the last sequence": batch(count=2, producer=(7, 0, INT_MAX)),
    "transactional": batch(attributes=0x10, producer=(7, 0, 0)),
    "transactional without a producer": batch(attributes=0x10),
    "largest producer": batch(producer=(LONG_MAX, (1 << 15) - 1, 0)),
}

_FRAMES: Final = {
    "nothing": b"",
    "one byte": b"x",
    "twelve bytes that claim 13": batch()[:8] + struct.pack(">i", 13),
    "twelve bytes that claim 14": batch()[:8] + struct.pack(">i", 14),
    "sixteen bytes": batch()[:16],
    "seventeen bytes of magic 3": batch(magic=3)[:17],
    "seventeen bytes": batch()[:17],
    "sixty bytes": batch()[:60],
    "header alone": batch()[:61],
    "all but a byte": batch()[:-1],
    "magic 0": batch(magic=0),
    "magic 1": batch(magic=1),
    "magic 3": batch(magic=3),
    "magic -1": batch(magic=-1),
    "magic 127": batch(magic=127),
    "a message of magic 0": _old(0),
    "a message of magic 1": _old(1),
    "a message of magic 1 at a time like a transaction's attributes": _old(1, TIME | 0x10 << 24),
    "the smallest message there is": struct.pack(
        ">qiIbbii", 0, 14, zlib.crc32(struct.pack(">bbii", 0, 0, -1, -1)), 0, 0, -1, -1
    ),
    "wrong checksum": batch(wrong_crc=True),
    "length too long by one": batch(longer=1),
    "length too short by one": batch(longer=-1),
    "length 48": batch(longer=48 - len(batch()) + 12),
    "length 14": batch(longer=14 - len(batch()) + 12),
    "length 13": batch(longer=13 - len(batch()) + 12),
    "length 0": batch(longer=12 - len(batch())),
    "length -1": batch(longer=11 - len(batch())),
    "length 2^31-13": batch(longer=INT_MAX - len(batch())),
    "length 2^31-12": batch(longer=INT_MAX - len(batch()) + 1),
    "length 2^31-1": batch(longer=INT_MAX - len(batch()) + 12),
    "two batches": batch() + batch(),
    "two batches, the second wrong": batch() + batch(wrong_crc=True),
    "two batches, the second of magic 3": batch() + batch(magic=3),
    "two batches, the second of magic -1": batch() + batch(magic=-1),
    "a batch and twelve bytes that claim 13": batch() + batch()[:8] + struct.pack(">i", 13),
    "a batch and seventeen bytes of magic 3": batch() + batch(magic=3)[:17],
    "two batches, the second begins at 1": batch() + batch(base=1),
    "a batch and a byte": batch() + b"x",
    "a batch and ten bytes": batch() + bytes(10),
    "a batch and sixteen bytes": batch() + bytes(16),
    "a batch and twenty bytes": batch() + bytes(20),
    "a batch and a hundred bytes": batch() + bytes(100),
    "a batch and half a batch": batch() + batch()[:40],
    "a batch and an old message": batch() + _old(1),
    "too large": batch(record(0, bytes(2 << 20))),
    "too large and lying": batch(record(0, bytes(2 << 20)), count=5),
    "wrong checksum and a lying count": batch(records(1), count=5, wrong_crc=True),
}

LIES: Final[dict[str, bytes]] = {
    **_HONEST, **_COUNTS, **_OFFSETS, **_TIMES, **_ATTRIBUTES, **_CODECS, **_RECORDS, **_PRODUCERS, **_FRAMES
}  # fmt: skip

KINDS: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "zstd": {"compression.type": "zstd"},
    "uncompressed": {"compression.type": "uncompressed", "message.timestamp.before.max.ms": "1000"},
    "any-time": {"message.timestamp.after.max.ms": str(LONG_MAX)},
    "any-time-zstd": {"message.timestamp.after.max.ms": str(LONG_MAX), "compression.type": "zstd"},
    "small-segments": {"segment.bytes": "1048576", "max.message.bytes": "4000000"},
}
"""Topics that judge a batch differently, and their configuration."""
RECORDED: Final = Path(__file__).with_suffix(".json")


def partition_of(name: str) -> int:
    """A batch with a producer id has a partition of its own: what its producer did before is part of the judgement."""
    return _PLACES.get(name, 0)


_PLACES: Final = {
    name: number
    for number, name in enumerate(
        (name for name, data in LIES.items() if len(data) > 51 and data[43:51] != b"\xff" * 8), 1
    )
}
