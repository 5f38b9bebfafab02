"""Which names a topic may have (Kafka's `Topic.validate`), and which two would collide in a metric's name."""

from __future__ import annotations

from string import ascii_letters, digits
from typing import Final

MAX_LENGTH: Final = 249
MAX_PARTITIONS_PER_REQUEST = 10_000
_LEGAL: Final = frozenset(ascii_letters + digits + "._-")


def fault_of(name: str) -> str | None:
    """What is wrong with this name, in Kafka's words."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
    if not _LEGAL.issuperset(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )
    return None


def may_collide(name: str) -> bool:
    return "." in name or "_" in name


def unified(name: str) -> str:
    """Names that are equal here collide: metrics write '.' as '_'."""
    return name.replace(".", "_")
