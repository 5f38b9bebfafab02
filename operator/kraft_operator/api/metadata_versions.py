"""The names of metadata.version's levels, as Apache Kafka gives them: "4.3-IV0" is level 30."""

from __future__ import annotations

from typing import Final

FEATURE: Final = "metadata.version"
KRAFT_FEATURE: Final = "kraft.version"
_LEVELS_OF: Final = {
    "3.0": 1, "3.1": 1, "3.2": 1, "3.3": 4, "3.4": 1, "3.5": 3, "3.6": 3, "3.7": 5, "3.8": 1, "3.9": 1, "4.0": 4,
    "4.1": 2,
    "4.2": 2, "4.3": 1, "4.4": 3,
}  # fmt: skip
"""Release line to the number of its levels. They are numbered through, IV0 first; the very first one is 3.0-IV1."""
_NAMES: Final = tuple(
    f"{line}-IV{number + (line == '3.0')}" for line, count in _LEVELS_OF.items() for number in range(count)
)


def level_of(text: str) -> int:
    """Of a name, or of a release line such as "4.3" or "4.3.1": its newest level. Raises ValueError."""
    line = ".".join(text.split("-", maxsplit=1)[0].split(".")[:2])
    found = [name for name in _NAMES if name == text or ("-" not in text and name.startswith(f"{line}-"))]
    if not found:
        raise ValueError(f"{text!r} is no metadata.version from {_NAMES[0]} to {_NAMES[-1]}, such as 4.3-IV0 or 4.3")
    return _NAMES.index(found[-1]) + 1


def name_of(level: int) -> str:
    return _NAMES[level - 1] if 1 <= level <= len(_NAMES) else f"level {level}"
