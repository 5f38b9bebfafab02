"""What a node's disk is asked to be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class StorageType(StrEnum):
    PERSISTENT = "Persistent"
    EPHEMERAL = "Ephemeral"


@dataclass(frozen=True, slots=True)
class Storage:
    size: str
    storage_class_name: str | None = None
    selector: Mapping[str, Any] = field(default_factory=dict)
    """Which volumes that an administrator made may be bound; empty: any."""
    ephemeral: bool = False
    """The disk goes with its pod."""

    @property
    def kind(self) -> tuple[str, str]:
        """What cannot be changed of a claim: class (empty for the default one) and selector, as text."""
        return self.storage_class_name or "", json.dumps(self.selector, sort_keys=True) if self.selector else ""
