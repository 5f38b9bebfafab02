"""Texts as Java hashes and compares them: by UTF-16 units."""

from __future__ import annotations

from typing import Final

INT: Final = 1 << 32


def java_hash(text: str) -> int:
    """Java's String.hashCode, as a signed 32-bit number."""
    found = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(data), 2):
        found = (31 * found + (data[place] << 8 | data[place + 1])) % INT
    return found - INT if found >= INT >> 1 else found


def text_order(text: str) -> bytes:
    """What to sort by."""
    return text.encode("utf-16-be", "surrogatepass")
