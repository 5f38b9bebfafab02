"""Bytes of a stream into frames: a 4-byte length, then that many bytes.

Nothing is allocated for a length that is only claimed: the buffer grows as bytes arrive, and a length above the bound
is refused as soon as its four bytes are there. Callers may not assume that a frame decodes.
"""

from __future__ import annotations

from typing import Final

_TLS_HANDSHAKE: Final = b"\x16\x03"
_HTTP_METHODS: Final = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"PRI ", b"HTTP")


class BadFrame(Exception):
    """The peer does not speak Kafka's framing; the connection is of no further use."""


def whole_frame(data: bytes, max_frame_bytes: int) -> bytes | None:
    """The frame, if these bytes are exactly one: what a peer that waits for its answers sends."""
    size = len(data) - 4
    if 0 <= size <= max_frame_bytes and int.from_bytes(data[:4], "big", signed=True) == size:
        return data[4:]
    return None


class FrameBuffer:
    """Collects what arrives and gives out whole frames, in order."""

    __slots__ = ("_bytes", "max_frame_bytes")

    def __init__(self, max_frame_bytes: int) -> None:
        self._bytes = bytearray()
        self.max_frame_bytes = max_frame_bytes

    def feed(self, data: bytes) -> None:
        self._bytes += data

    def clear(self) -> None:
        """Forget what is held; its memory goes at once."""
        self._bytes = bytearray()

    def __len__(self) -> int:
        """Bytes that were fed and not yet given out."""
        return len(self._bytes)

    def next_frame(self) -> bytes | None:
        """The next whole frame, without its length; None when more bytes are needed. Raises BadFrame."""
        held = self._bytes
        if len(held) < 4:
            return None
        size = int.from_bytes(held[:4], "big", signed=True)
        if size < 0 or size > self.max_frame_bytes:
            raise BadFrame(_describe(bytes(held[:4]), size, self.max_frame_bytes))
        end = 4 + size
        if len(held) < end:
            return None
        with memoryview(held) as view:
            frame = bytes(view[4:end])
        del held[:end]
        return frame


def _describe(head: bytes, size: int, bound: int) -> str:
    if head in _HTTP_METHODS:
        return f"this is HTTP ({head!r}), not Kafka"
    if head.startswith(_TLS_HANDSHAKE):
        return "this is a TLS handshake, but the listener speaks plaintext"
    if size < 0:
        return f"a frame cannot have {size} bytes"
    return f"a frame of {size} bytes is larger than the largest allowed ({bound})"
