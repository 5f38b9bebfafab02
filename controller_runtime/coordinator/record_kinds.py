"""Records of `__consumer_offsets` whose keys and values are messages: an int16 type before the key, an int16 version
before the value, no value for a tombstone.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from controller_runtime.protocol.codec import decode_prefix, encode
from controller_runtime.protocol.schema import Message

_SHORT: Final = struct.Struct(">h")
_VERSION: Final = 0
"""Of all these values."""


class RecordKinds:
    """By their types, those of one protocol."""

    def __init__(self, shapes: Mapping[int, tuple[type[Message], type[Message]]]) -> None:
        self._shapes = shapes
        self._types = {key: kind for kind, (key, _) in shapes.items()}

    def key_of(self, key: Message) -> bytes:
        return _SHORT.pack(self._types[type(key)]) + encode(key, _VERSION)

    def value_of(self, value: Message | None) -> bytes | None:
        return None if value is None else _SHORT.pack(_VERSION) + encode(value, _VERSION)

    def read(self, kind: int, key: bytes, value: bytes | None) -> tuple[Any, Any] | None:
        """None: it is of another kind. Raises ProtocolError, struct.error, and ValueError for an unknown version."""
        shapes = self._shapes.get(kind)
        if shapes is None:
            return None
        named = decode_prefix(shapes[0], key, _VERSION, _SHORT.size)[0]
        if value is None:
            return named, None
        version: int = _SHORT.unpack_from(value)[0]
        if version != _VERSION:
            raise ValueError(f"its value has the unknown version {version}")
        return named, decode_prefix(shapes[1], value, version, _SHORT.size)[0]
