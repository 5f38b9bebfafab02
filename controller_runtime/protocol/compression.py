"""The five codecs of record batches, by libraries that are imported on first use.

`compress` writes what Java clients write (snappy in xerial's framing, lz4 as a frame); `decompress` reads that and plain snappy too, and
stops at `limit`: a small batch cannot make us allocate a large one. Callers may not assume that compressed bytes equal Java's:
the libraries differ in their choices, only the formats agree.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum
from typing import Final

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


class Compression(IntEnum):
    """The codec in bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


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
    try:
        plain = _decompress(codec, data, limit)
    except (zlib.error, RuntimeError, ValueError, IndexError, struct.error, EOFError) as error:
        raise CorruptCompression(f"{codec.name.lower()}: {error}") from error
    if len(plain) > limit:
        raise CorruptCompression(f"{codec.name.lower()}: unpacks to more than {limit} bytes")
    return plain


def _compress_lz4(data: bytes) -> bytes:
    """Java reads only frames of independent blocks; it writes blocks of 64 KiB."""
    import lz4.frame

    return bytes(lz4.frame.compress(data, block_size=lz4.frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False))


def _decompress(codec: Compression, data: bytes, limit: int) -> bytes:
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return _decompress_gzip(data, limit)
        case Compression.SNAPPY:
            return _decompress_snappy(data, limit)
        case Compression.LZ4:
            return _decompress_lz4(data, limit)
        case Compression.ZSTD:
            return _decompress_zstd(data, limit)


def _compress_snappy(data: bytes) -> bytes:
    from cramjam import snappy

    parts = [XERIAL_HEADER]
    for start in range(0, len(data), XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(data[start : start + XERIAL_BLOCK_BYTES]))
        parts += (struct.pack(">i", len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: bytes, limit: int) -> bytes:
    if not data.startswith(XERIAL_MAGIC):
        return _snappy_block(data, limit)
    parts: list[bytes] = []
    position, total = len(XERIAL_HEADER), 0
    while position < len(data):
        size = struct.unpack_from(">i", data, position)[0]
        position += 4
        if not 0 <= size <= len(data) - position:
            raise Invalid(f"a block of {size} bytes is claimed, {len(data) - position} are left")
        block = _snappy_block(data[position : position + size], limit - total)
        parts.append(block)
        position += size
        total += len(block)
    return b"".join(parts)


def _snappy_block(block: bytes, limit: int) -> bytes:
    from cramjam import DecompressionError, snappy

    claimed, _ = read_uvarint(block, 0)
    if claimed > limit:
        raise Invalid(f"unpacks to {claimed} bytes, {limit} are allowed")
    # A copy element has at least 3 bytes (2 for short ones) and yields at most 64: more cannot be meant honestly.
    if claimed > 64 * len(block):
        raise Invalid(f"{claimed} bytes cannot come of {len(block)}")
    try:
        return bytes(snappy.decompress_raw(block))
    except DecompressionError as error:
        raise Invalid(str(error)) from error


def _decompress_gzip(data: bytes, limit: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    plain = unpacker.decompress(data, limit + 1)
    if len(plain) <= limit and not unpacker.eof:
        raise Invalid("the stream is cut off")
    return plain


def _decompress_lz4(data: bytes, limit: int) -> bytes:
    from lz4.frame import LZ4FrameDecompressor

    unpacker = LZ4FrameDecompressor()
    plain = bytes(unpacker.decompress(data, max_length=limit + 1))
    if len(plain) <= limit and not unpacker.eof:
        raise Invalid("the frame is cut off")
    return plain


def _decompress_zstd(data: bytes, limit: int) -> bytes:
    """The library's reader does not tell a frame that is cut off from one that ends; so a frame of ours must come out behind it."""
    import zstandard

    wanted = limit + 1 + len(ZSTD_END)
    parts: list[bytes] = []
    try:
        unpacker = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES)
        with unpacker.stream_reader(data + ZSTD_END_FRAME, read_across_frames=True) as reader:
            while wanted > 0 and (part := reader.read(min(wanted, READ_BYTES))):
                parts.append(part)
                wanted -= len(part)
    except zstandard.ZstdError as error:
        raise Invalid(str(error)) from error
    plain = b"".join(parts)
    if len(plain) > limit + len(ZSTD_END):
        return plain
    if not data or not plain.endswith(ZSTD_END):
        raise Invalid("the frame is cut off")
    return plain[: -len(ZSTD_END)]
