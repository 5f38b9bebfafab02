"""Which cluster an event is about: the only knowledge that handlers have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CLUSTER_LABEL: Final = "kraft.quorate.dev/cluster"


@dataclass(frozen=True, slots=True, order=True)
class Key:
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def owner_of(namespace: str | None, labels: Mapping[str, str]) -> Key | None:
    """The cluster that a child belongs to by its label; None for objects that are nobody's child."""
    name = labels.get(CLUSTER_LABEL)
    return Key(namespace, name) if namespace and name else None
