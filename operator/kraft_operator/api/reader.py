"""Reads typed values out of a resource; every complaint names the path, as the API server's do.

The schema's defaults are repeated here: the CRD in the API server may be older or newer than this operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

E = TypeVar("E", bound=StrEnum)

_QUANTITY: Final = re.compile(r"^\+?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|[kMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$")
_FACTORS: Final = {
    "": 1, "m": 1e-3, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip
_DURATION: Final = re.compile(r"([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?")
_PART: Final = re.compile(r"([0-9]+)([hms])")
_SECONDS: Final = {"h": 3600, "m": 60, "s": 1}


class InvalidSpec(ValueError):
    """A resource that may not be acted upon: where, and what is wrong there."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


def quantity(text: str, path: str) -> float:
    """A Kubernetes quantity as a number."""
    match = _QUANTITY.match(text)
    if match is None:
        raise InvalidSpec(path, f"{text!r} is not a quantity such as 10Gi")
    digits, suffix = match.group(1), match.group(2) or ""
    if suffix[:1] in ("e", "E") and suffix[1:]:
        return float(digits + suffix)
    return float(digits) * _FACTORS[suffix]


def duration(text: str, path: str) -> float:
    """`10s`, `5m`, `1h30m` in seconds."""
    if not text or not _DURATION.fullmatch(text):
        raise InvalidSpec(path, f"{text!r} is not a duration such as 30s or 5m")
    return float(sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(text)))


@dataclass(frozen=True, slots=True)
class Reader:
    """An object of the resource and its path."""

    path: str
    values: Mapping[str, Any]

    def at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _typed(self, name: str, kind: type[Any], noun: str) -> Any:
        value = self.values.get(name)
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise InvalidSpec(self.at(name), f"{noun} is needed, not {value!r}")
        return value

    def child(self, name: str) -> Reader:
        """The object of that name, empty when absent."""
        return Reader(self.at(name), self._typed(name, dict, "an object") or {})

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def items(self, name: str) -> Iterator[Reader]:
        """The objects of a list."""
        for index, value in enumerate(self._typed(name, list, "a list") or []):
            if not isinstance(value, dict):
                raise InvalidSpec(f"{self.at(name)}[{index}]", f"an object is needed, not {value!r}")
            yield Reader(f"{self.at(name)}[{index}]", value)

    def objects(self, name: str) -> tuple[Mapping[str, Any], ...]:
        return tuple(item.values for item in self.items(name))

    def optional_object(self, name: str) -> Mapping[str, Any] | None:
        value: Mapping[str, Any] | None = self._typed(name, dict, "an object")
        return value

    def optional_text(self, name: str) -> str | None:
        text: str | None = self._typed(name, str, "text")
        return text

    def text(self, name: str, default: str | None = None) -> str:
        text = self.optional_text(name) or default
        if text is None:
            raise InvalidSpec(self.at(name), "is missing")
        return text

    def flag(self, name: str) -> bool:
        """False when absent."""
        return bool(self._typed(name, bool, "true or false"))

    def number(self, name: str, default: int | None = None) -> int:
        value = self._typed(name, int, "a whole number")
        if value is None:
            value = default
        if value is None:
            raise InvalidSpec(self.at(name), "is missing")
        return int(value)

    def numbers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers, none of them twice."""
        found = self._typed(name, list, "a list") or []
        if any(not isinstance(each, int) or isinstance(each, bool) for each in found):
            raise InvalidSpec(self.at(name), f"whole numbers are needed, not {found!r}")
        if len(set(found)) < len(found):
            raise InvalidSpec(self.at(name), f"a number stands there twice: {found!r}")
        return tuple(found)

    def words(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        found = self._typed(name, list, "a list") or []
        if any(not isinstance(each, str) for each in found):
            raise InvalidSpec(self.at(name), f"texts are needed, not {found!r}")
        return tuple(found)

    def choice(self, name: str, kind: type[E], default: E) -> E:
        text = self.optional_text(name)
        if text is None:
            return default
        if text not in list(kind):
            raise InvalidSpec(self.at(name), f"{text!r} is none of {', '.join(kind)}")
        return kind(text)

    def texts(self, name: str) -> dict[str, str]:
        """A map of texts; numbers and truth values are spelled as YAML would."""
        found = {}
        for key, value in self.child(name).values.items():
            if isinstance(value, bool):
                found[key] = "true" if value else "false"
            elif isinstance(value, str | int | float):
                found[key] = str(value)
            else:
                raise InvalidSpec(f"{self.at(name)}[{key}]", f"text is needed, not {value!r}")
        return found
