from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_runtime.network.frames import BadFrame, FrameBuffer
from support.nodes.peers import frame_of

pytestmark = pytest.mark.unit


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=12), st.lists(st.integers(1, 17), min_size=1, max_size=20))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(frames: list[bytes], cuts: list[int]) -> None:
    stream, buffer, seen = b"".join(map(frame_of, frames)), FrameBuffer(64), []
    at, turn = 0, 0
    while at < len(stream):
        buffer.feed(stream[at : at + cuts[turn % len(cuts)]])
        at, turn = at + cuts[turn % len(cuts)], turn + 1
        while (frame := buffer.next_frame()) is not None:
            seen.append(frame)
    assert seen == frames
    assert len(buffer) == 0


def test_half_a_frame_is_not_a_frame() -> None:
    buffer = FrameBuffer(100)
    buffer.feed(frame_of(b"x" * 10)[:-1])
    assert buffer.next_frame() is None


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\x00\x00\x00\x65", "a frame of 101 bytes is larger than the largest allowed"),
        (b"\xff\xff\xff\xff", "a frame cannot have -1 bytes"),
        (b"GET / HTTP/1.1\r\n", "this is HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "this is a TLS handshake"),
    ],
)
def test_what_is_no_frame_is_refused_at_its_fourth_byte(head: bytes, words: str) -> None:
    buffer = FrameBuffer(100)
    buffer.feed(head[:3])
    assert buffer.next_frame() is None
    buffer.feed(head[3:])
    with pytest.raises(BadFrame, match=words):
        buffer.next_frame()


def test_a_claimed_length_allocates_nothing() -> None:
    tracemalloc.start()
    try:
        buffer = FrameBuffer(2**31 - 1)
        buffer.feed((2**31 - 1).to_bytes(4, "big") + b"x" * 100)
        assert buffer.next_frame() is None
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024
    finally:
        tracemalloc.stop()
