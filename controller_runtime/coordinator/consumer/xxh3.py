"""XXH3, the 64 bit variant without a seed, as the xxHash specification says: Kafka's coordinators hash the metadata of
topics with it.
"""

from __future__ import annotations

import struct
from typing import Final

_ALL: Final = (1 << 64) - 1
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MX1, _MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_LONG: Final = struct.Struct("<Q")
_INT: Final = struct.Struct("<I")
_STRIPE: Final = struct.Struct("<8Q")
_STRIPES_OF_BLOCK: Final = 16


def xxh3_64(data: bytes) -> int:
    """Unsigned."""
    size = len(data)
    if size <= 16:
        return _short(data, size)
    if size <= 128:
        acc = size * _P64_1
        for pair in range((size - 1) // 32, -1, -1):
            acc += _mix(data, 16 * pair, 32 * pair) + _mix(data, size - 16 * (pair + 1), 32 * pair + 16)
        return _avalanche(acc & _ALL)
    if size <= 240:
        acc = size * _P64_1 + sum(_mix(data, at, at) for at in range(0, 128, 16))
        acc = _avalanche(acc & _ALL)
        acc += sum(_mix(data, at, at - 128 + 3) for at in range(128, size // 16 * 16, 16))
        return _avalanche((acc + _mix(data, size - 16, 136 - 17)) & _ALL)
    return _long(data, size)


def _short(data: bytes, size: int) -> int:
    if size > 8:
        low = _at(data, 0) ^ _secret(24) ^ _secret(32)
        high = _at(data, size - 8) ^ _secret(40) ^ _secret(48)
        return _avalanche((size + _swapped(low) + high + _folded(low, high)) & _ALL)
    if size >= 4:
        first, last = _INT.unpack_from(data)[0], _INT.unpack_from(data, size - 4)[0]
        keyed: int = (last + (first << 32)) ^ _secret(8) ^ _secret(16)
        keyed ^= _turned(keyed, 49) ^ _turned(keyed, 24)
        keyed = keyed * _MX2 & _ALL
        keyed ^= (keyed >> 35) + size
        keyed = keyed * _MX2 & _ALL
        return keyed ^ keyed >> 28
    if size:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        flip: int = _INT.unpack_from(_SECRET)[0] ^ _INT.unpack_from(_SECRET, 4)[0]
        return _old_avalanche(combined ^ flip)
    return _old_avalanche(_secret(56) ^ _secret(64))


def _long(data: bytes, size: int) -> int:
    acc = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]
    keys = [_STRIPE.unpack_from(_SECRET, 8 * each) for each in range(_STRIPES_OF_BLOCK)]
    scramble = _STRIPE.unpack_from(_SECRET, 128)
    count = (size - 1) // 64
    for stripe in range(count):
        place = stripe % _STRIPES_OF_BLOCK
        _accumulate(acc, _STRIPE.unpack_from(data, 64 * stripe), keys[place])
        if place == _STRIPES_OF_BLOCK - 1:
            acc = [(each ^ each >> 47 ^ key) * _P32_1 & _ALL for each, key in zip(acc, scramble, strict=True)]
    _accumulate(acc, _STRIPE.unpack_from(data, size - 64), _STRIPE.unpack_from(_SECRET, 192 - 64 - 7))
    merged = size * _P64_1
    for pair in range(4):
        low, high = acc[2 * pair] ^ _secret(11 + 16 * pair), acc[2 * pair + 1] ^ _secret(19 + 16 * pair)
        merged += _folded(low, high)
    return _avalanche(merged & _ALL)


def _accumulate(acc: list[int], words: tuple[int, ...], keys: tuple[int, ...]) -> None:
    for lane in range(8):
        keyed = words[lane] ^ keys[lane]
        acc[lane] = (acc[lane] + words[lane ^ 1] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & _ALL


def _mix(data: bytes, at: int, secret_at: int) -> int:
    return _folded(_at(data, at) ^ _secret(secret_at), _at(data, at + 8) ^ _secret(secret_at + 8))


def _folded(first: int, second: int) -> int:
    product = first * second
    return (product & _ALL) ^ product >> 64


def _at(data: bytes, place: int) -> int:
    found: int = _LONG.unpack_from(data, place)[0]
    return found


def _secret(place: int) -> int:
    return _at(_SECRET, place)


def _swapped(number: int) -> int:
    return int.from_bytes(number.to_bytes(8, "little"), "big")


def _turned(number: int, by: int) -> int:
    return (number << by | number >> 64 - by) & _ALL


def _avalanche(number: int) -> int:
    number ^= number >> 37
    number = number * _MX1 & _ALL
    return number ^ number >> 32


def _old_avalanche(number: int) -> int:
    number ^= number >> 33
    number = number * _P64_2 & _ALL
    number ^= number >> 29
    number = number * _P64_3 & _ALL
    return number ^ number >> 32
