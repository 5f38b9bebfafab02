"""The five codecs of record batches, by libraries that are imported on first use.

`compress` writes what Java clients write (snappy in xerial's framing, lz4 as a frame); `decompress` reads that and
plain snappy too, and stops at `limit`: a small batch cannot make us allocate a large one. Callers may not assume that
compressed bytes equal Java's: the libraries differ in their choices, only the formats agree.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Final, NamedTuple

from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.primitives import Invalid, read_uvarint

DEFAULT_LIMIT: Final = 128 * 1024 * 1024
XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = XERIAL_MAGIC + struct.pack(">ii", 1, 1)
XERIAL_BLOCK_BYTES: Final = 32 * 1024
ZSTD_WINDOW_BYTES: Final = 1 << 27
ZSTD_END: Final = bytes(64)
ZSTD_END_FRAME: Final = bytes.fromhex("28b52ffd20404500001000000100930016")
READ_BYTES: Final = 1 << 20
GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_HEADER_BYTES: Final = 10
LZ4_INDEPENDENT_BLOCKS: Final = 0x20
"""In the byte behind the magic. Java reads no other frames."""


class Compression(IntEnum):
    """The codec in bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class Fault(Enum):
    """Why a codec gave no more than it did."""

    NONE = "no fault"
    CUT_OFF = "the stream is cut off"
    CORRUPT = "the stream is corrupt"
    TOO_LARGE = "more than is allowed"


class Unpacked(NamedTuple):
    """What a codec gave before its end or its first fault."""

    plain: bytes
    fault: Fault = Fault.NONE
    reason: str = ""


class CorruptCompression(ProtocolError):
    """Bytes that their codec cannot read, or that unpack to more than the bound."""


def compress(codec: Compression, data: bytes) -> bytes:
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            packer = zlib.compressobj(wbits=31)
            return packer.compress(data) + packer.flush()
        case Compression.SNAPPY:
            return _compress_snappy(data)
        case Compression.LZ4:
            return _compress_lz4(data)
        case Compression.ZSTD:
            import zstandard

            return bytes(zstandard.ZstdCompressor().compress(data))


def decompress(codec: Compression, data: bytes, limit: int = DEFAULT_LIMIT) -> bytes:
    """The plain bytes. Raises CorruptCompression, also when they would be more than `limit`."""
    found = unpack(codec, data, limit)
    if found.fault is Fault.TOO_LARGE:
        raise CorruptCompression(f"{codec.name.lower()}: unpacks to more than {limit} bytes")
    if found.fault is not Fault.NONE:
        raise CorruptCompression(f"{codec.name.lower()}: {found.reason}")
    return found.plain


def unpack(codec: Compression, data: bytes, limit: int = DEFAULT_LIMIT) -> Unpacked:
    """The plain bytes up to the end, the limit or the first fault: as much as Apache Kafka sees of a stream before it
    fails.

    What follows a stream's end is as in Kafka: of gzip and zstd another stream, of lz4 nothing that is looked at.
    """
    parts: list[bytes] = []
    fault, reason = Fault.NONE, ""
    try:
        _UNPACK[codec](data, limit, parts.append)
    except _TooLarge:
        fault = Fault.TOO_LARGE
    except _Cut as error:
        fault, reason = Fault.CUT_OFF, str(error)
    except (zlib.error, RuntimeError, ValueError, IndexError, struct.error, EOFError) as error:
        fault, reason = Fault.CORRUPT, str(error)
    plain = parts[0] if len(parts) == 1 else b"".join(parts)
    return Unpacked(plain[:limit], Fault.TOO_LARGE, "") if len(plain) > limit else Unpacked(plain, fault, reason)


def _compress_lz4(data: bytes) -> bytes:
    """Java reads only frames of independent blocks; it writes blocks of 64 KiB."""
    import lz4.frame

    return bytes(lz4.frame.compress(data, block_size=lz4.frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False))


def _compress_snappy(data: bytes) -> bytes:
    from cramjam import snappy

    parts = [XERIAL_HEADER]
    for start in range(0, len(data), XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(data[start : start + XERIAL_BLOCK_BYTES]))
        parts += (struct.pack(">i", len(block)), block)
    return b"".join(parts)


class _TooLarge(Exception):
    """A block says that it holds more than is allowed."""


class _Cut(Exception):
    """A gzip stream ends early: Kafka's answer differs from that to other faults."""


_Give = Callable[[bytes], None]


def _unpack_none(data: bytes, limit: int, give: _Give) -> None:
    del limit
    give(data)


def _unpack_snappy(data: bytes, limit: int, give: _Give) -> None:
    """Xerial's framing, or one block without a frame. Bytes behind the last block that are no block's length are
    ignored, as by Java.
    """
    if not data:
        raise Invalid("an empty stream")
    if not data.startswith(XERIAL_MAGIC) or len(data) < len(XERIAL_HEADER):
        give(_snappy_block(data, limit))
        return
    position, total = len(XERIAL_HEADER), 0
    while len(data) - position >= 4 and total <= limit:
        if data.startswith(XERIAL_MAGIC[:4], position):
            position += len(XERIAL_HEADER)
            continue
        size = struct.unpack_from(">i", data, position)[0]
        position += 4
        if not 0 <= size <= len(data) - position:
            raise Invalid(f"a block of {size} bytes is claimed, {len(data) - position} are left")
        block = _snappy_block(data[position : position + size], limit + 1 - total)
        give(block)
        position += size
        total += len(block)


def _snappy_block(block: bytes, limit: int) -> bytes:
    from cramjam import DecompressionError, snappy

    claimed, _ = read_uvarint(block, 0)
    # A copy element has at least 3 bytes (2 for short ones) and yields at most 64: more cannot be meant honestly.
    if claimed > 64 * len(block):
        raise Invalid(f"{claimed} bytes cannot come of {len(block)}")
    if claimed > limit:
        raise _TooLarge
    try:
        return bytes(snappy.decompress_raw(block))
    except DecompressionError as error:
        raise Invalid(str(error)) from error


def _unpack_gzip(data: bytes, limit: int, give: _Give) -> None:
    left = limit + 1
    while left > 0:
        unpacker = zlib.decompressobj(wbits=31)
        plain = unpacker.decompress(data, left)
        give(plain)
        left -= len(plain)
        if left > 0 and not unpacker.eof:
            raise Invalid("no stream") if len(data) < _GZIP_HEADER_BYTES else _Cut("the stream is cut off")
        data = unpacker.unused_data
        if len(data) < _GZIP_HEADER_BYTES or not data.startswith(GZIP_MAGIC):
            return


def _unpack_lz4(data: bytes, limit: int, give: _Give) -> None:
    from lz4.frame import LZ4FrameDecompressor

    if len(data) > 4 and not data[4] & LZ4_INDEPENDENT_BLOCKS:
        raise Invalid("its blocks depend on each other")
    unpacker = LZ4FrameDecompressor()
    plain = bytes(unpacker.decompress(data, max_length=limit + 1))
    give(plain)
    if len(plain) <= limit and not unpacker.eof:
        raise Invalid("the frame is cut off")


def _unpack_zstd(data: bytes, limit: int, give: _Give) -> None:
    """The library's reader does not tell a frame that is cut off from one that ends; so a frame of ours must come out
    behind it.
    """
    import zstandard

    wanted, held = limit + 1 + len(ZSTD_END), b""
    unpacker = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES)
    try:
        with unpacker.stream_reader(data + ZSTD_END_FRAME, read_across_frames=True) as reader:
            while wanted > 0 and (part := reader.read(min(wanted, READ_BYTES))):
                wanted -= len(part)
                part = held + part
                give(part[: -len(ZSTD_END)])
                held = part[-len(ZSTD_END) :]
    except zstandard.ZstdError as error:
        raise Invalid(str(error)) from error
    if wanted <= 0:
        give(held)
    elif held != ZSTD_END:
        give(held)
        raise Invalid("the frame is cut off")


_UNPACK: Final = {
    Compression.NONE: _unpack_none,
    Compression.GZIP: _unpack_gzip,
    Compression.SNAPPY: _unpack_snappy,
    Compression.LZ4: _unpack_lz4,
    Compression.ZSTD: _unpack_zstd,
}
