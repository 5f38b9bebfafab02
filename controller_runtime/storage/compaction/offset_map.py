"""The last offset of each key, in bounded memory: 24 bytes for a key, however long it is.

A table of slots in one run of bytes, with open addressing: 16 bytes are the key's MD5, 8 its offset plus one (zero: the
slot is empty). Two keys with one digest would be taken for one, as in Kafka, whose map this is.
"""

from __future__ import annotations

from hashlib import md5
from typing import Final

SLOT_BYTES: Final = 24
_DIGEST: Final = 16
_EMPTY: Final = bytes(8)


class OffsetMap:
    def __init__(self, capacity: int, load_factor: float = 0.9) -> None:
        """Room for `capacity` keys; a part of the slots, which `load_factor` says, is in use then."""
        self._slots = max(2, int(capacity / load_factor) + 1)
        self._table = bytearray(self._slots * SLOT_BYTES)
        self._capacity = capacity
        self._count = 0
        self.latest = -1
        """Everything up to this offset was looked at."""

    def __len__(self) -> int:
        return self._count

    def put(self, key: bytes, offset: int) -> bool:
        """False: there is no room for another key. Offsets come in their order."""
        digest = md5(key, usedforsecurity=False).digest()
        table, slot = self._table, int.from_bytes(digest[:8], "big") % self._slots
        while True:
            at = slot * SLOT_BYTES
            found = table[at : at + _DIGEST]
            if found == digest and table[at + _DIGEST : at + SLOT_BYTES] != _EMPTY:
                break
            if table[at + _DIGEST : at + SLOT_BYTES] == _EMPTY:
                if self._count >= self._capacity:
                    return False
                table[at : at + _DIGEST] = digest
                self._count += 1
                break
            slot = (slot + 1) % self._slots
        table[at + _DIGEST : at + SLOT_BYTES] = (offset + 1).to_bytes(8, "big")
        return True

    def get(self, key: bytes) -> int:
        """-1: it is not there."""
        digest = md5(key, usedforsecurity=False).digest()
        table, slot = self._table, int.from_bytes(digest[:8], "big") % self._slots
        while True:
            at = slot * SLOT_BYTES
            offset = table[at + _DIGEST : at + SLOT_BYTES]
            if offset == _EMPTY:
                return -1
            if table[at : at + _DIGEST] == digest:
                return int.from_bytes(offset, "big") - 1
            slot = (slot + 1) % self._slots
