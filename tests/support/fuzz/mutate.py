"""What is done to a tree so that it lies, and to a frame so that it is none: each one idea, chosen by weight."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random
from typing import Final

from support.fuzz.tree import Fixed, Group, Many, Node, Tag, Tags, Text, nodes
from support.fuzz.words import NUMBERS, TEXTS

CLAIMS: Final = (
    0,
    1,
    -1,
    -2,
    2**31 - 1,
    -(2**31),
    2**31 - 2,
    20_000_000,
    1_000_000,
    127,
    128,
    16384,
    65535,
    32767,
    32768,
)
COPIES: Final = (2, 3, 10, 300)
MANY_COPIES: Final = 20_000
MAX_BYTES: Final = 1 << 20


def spoil(tree: Group, rng: Random) -> None:
    """Change a valid tree in some places."""
    every = list(nodes(tree))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        node = rng.choice(every)
        match node:
            case Fixed():
                _fixed(node, rng)
            case Text():
                _text(node, rng)
            case Many():
                _many(node, rng)
            case Group():
                _group(node, rng)


def _fixed(node: Fixed, rng: Random) -> None:
    size = len(node.raw)
    if rng.random() < 0.1:
        node.raw = (
            node.raw[: rng.randrange(size + 1)] if rng.random() < 0.5 else node.raw + rng.randbytes(rng.randrange(4))
        )
    elif node.kind in NUMBERS and size == len(_packed(node.kind, 0)):
        node.raw = _packed(node.kind, rng.choice(NUMBERS[node.kind]))
    else:
        node.raw = rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size)))


def _packed(kind: str, value: float) -> bytes:
    from support.fuzz.tree import PACKERS

    return PACKERS[kind](value)


def _text(node: Text, rng: Random) -> None:
    match rng.randrange(6):
        case 0:
            node.claimed = rng.choice(CLAIMS)
        case 1:
            node.value = None
        case 2 if node.value:
            place = rng.randrange(len(node.value))
            node.value = node.value[:place] + rng.randbytes(1) + node.value[place + 1 :]
        case 3 if node.value and len(node.value) < 5000:
            node.value = node.value * rng.choice((2, 5, 60))
        case _:
            node.value = rng.choice(TEXTS)


def _many(node: Many, rng: Random) -> None:
    items = node.items or []
    match rng.randrange(6):
        case 0:
            node.claimed = rng.choice(CLAIMS)
        case 1:
            node.items = None if rng.random() < 0.5 else []
        case 2 if items:
            node.items = items[:-1]
        case 3 if len(items) > 1:
            rng.shuffle(items)
        case 4 if items:
            node.items = [*items, rng.choice(items)]
        case _ if items:
            node.items = items * (MANY_COPIES if rng.random() < 0.004 else rng.choice(COPIES))
        case _:
            node.claimed = rng.choice((1, 2, -1))


def _group(node: Group, rng: Random) -> None:
    draw = rng.random()
    if node.tags is not None and draw < 0.75:
        _tags(node.tags, rng)
    elif node.marker:
        node.marker = bytes([rng.choice((0, 1, 2, 127, 128, 255))])
    elif node.fields and draw < 0.85:
        node.fields.pop(rng.randrange(len(node.fields)))
    elif len(node.fields) > 1:
        rng.shuffle(node.fields)


def _tags(tags: Tags, rng: Random) -> None:
    match rng.randrange(7):
        case 0:
            tags.claimed = rng.choice(CLAIMS)
        case 1 if tags.items:
            rng.choice(tags.items).claimed = rng.choice(CLAIMS)
        case 2 if tags.items:
            tags.items.append(rng.choice(tags.items))
        case 3 if tags.items:
            rng.choice(tags.items).number = rng.choice((0, 1, 2, 100, 2**31 - 1, 2**32 - 1))
        case 4:
            same = Tag(rng.choice((0, 1, 60, 10_000)), Fixed("unknown", "raw", rng.randbytes(rng.choice((0, 1, 3)))))
            tags.items += [same, same]
        case 5 if rng.random() < 0.02:
            tags.items += [Tag(100 + number, Fixed("unknown", "raw", b"")) for number in range(20_000)]
        case _:
            tags.items.append(
                Tag(
                    rng.choice((0, 1, 2, 60, 2**31 - 1)),
                    Fixed("unknown", "raw", rng.randbytes(rng.choice((0, 1, 200)))),
                )
            )
            if rng.random() < 0.7:
                tags.items.sort(key=lambda tag: tag.number)


def spoil_bytes(frame: bytes, rng: Random) -> bytes:
    """Blindly: what no layout says."""
    out = bytearray(frame)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        place = rng.randrange(len(out)) if out else 0
        match rng.randrange(6):
            case 0 if out:
                out[place] ^= 1 << rng.randrange(8)
            case 1 if out:
                out[place] = rng.choice((0, 1, 127, 128, 255))
            case 2:
                del out[place : place + rng.choice((1, 2, 4, 16))]
            case 3:
                out[place:place] = rng.randbytes(rng.choice((1, 2, 4, 16)))
            case 4:
                out[place : place + 4] = struct.pack(">I", rng.choice(CLAIMS) & 0xFFFFFFFF)
            case _:
                del out[place:]
    return bytes(out)


def _cut(frame: bytes, rng: Random) -> bytes:
    return (len(frame).to_bytes(4, "big") + frame)[: rng.randrange(len(frame) + 4)]


def _length_lies(frame: bytes, rng: Random) -> bytes:
    return struct.pack(">I", (len(frame) + rng.choice((1, -1, 4, 1000, -len(frame), 2**30))) & 0xFFFFFFFF) + frame


UNFRAMED: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    _cut,
    _length_lies,
    lambda frame, rng: rng.randbytes(rng.choice((1, 3, 4, 5, 100, 5000))),
    lambda frame, rng: struct.pack(">i", rng.choice((-1, -(2**31), 2**31 - 1, 0, 1, 3, 7))) + frame[:20],
    lambda frame, rng: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    lambda frame, rng: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(32),
    lambda frame, rng: bytes(4) * 50,
)
"""Bytes on a connection of their own that are no frame, or no whole one."""


def is_small(node: Node) -> bool:
    return sum(1 for _ in nodes(node)) < 5000
