"""Reads typed fields out of one line of JSON; every complaint names the field. Nothing here touches a disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

E = TypeVar("E", bound=StrEnum)

VERSION: Final = 1
MAX_JSON_SIZE_BYTES: Final = 4096
"""The kubelet keeps 4,096 bytes of a termination message; no line of ours is longer."""


class BadFormat(ValueError):
    """Bytes that are not what they should be. The message names the field."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads typed fields out of an object; every complaint names the field."""

    what: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, text: str, what: str) -> Reader:
        if len(text) > 4 * MAX_JSON_SIZE_BYTES:
            raise BadFormat(f"{what}: {len(text)} characters are too many")
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadFormat(f"{what}: not JSON: {error}") from error
        if not isinstance(values, dict):
            raise BadFormat(f"{what}: an object is needed, not {type(values).__name__}")
        if values.get("version") != VERSION:
            raise BadFormat(f"{what}: version {values.get('version')!r} is not known")
        return cls(what, values)

    def nested(self, name: str) -> Reader:
        value = self.values.get(name)
        if not isinstance(value, dict):
            raise BadFormat(f"{self.what}.{name}: an object is needed, not {value!r}")
        return Reader(f"{self.what}.{name}", value)

    def each(self, name: str) -> dict[str, Reader]:
        inside = self.nested(name)
        return {key: inside.nested(key) for key in inside.values}

    def optional_text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise BadFormat(f"{self.what}.{name}: text is needed, not {value!r}")
        return value

    def text(self, name: str) -> str:
        value = self.optional_text(name)
        if not value:
            raise BadFormat(f"{self.what}.{name} is missing")
        return value

    def optional_number(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise BadFormat(f"{self.what}.{name}: a whole number is needed, not {value!r}")
        return value

    def number(self, name: str) -> int:
        value = self.optional_number(name)
        if value is None:
            raise BadFormat(f"{self.what}.{name} is missing")
        return value

    def choice(self, name: str, kind: type[E]) -> E:
        text = self.text(name)
        try:
            return kind(text)
        except ValueError as error:
            raise BadFormat(f"{self.what}.{name}: {text!r} is none of {', '.join(kind)}") from error
