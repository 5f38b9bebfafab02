"""Options that only Spark's readers have."""

from __future__ import annotations

from collections.abc import Mapping

from metadata_pipeline.sources.faults import InvalidOption


def paths_of(options: Mapping[str, str]) -> list[str]:
    """What `load` was given: one path, or several with commas between."""
    text = options.get("path")
    if not text:
        raise InvalidOption("path: load() needs a path")
    return [path.strip() for path in text.split(",") if path.strip()]


def number_of(options: Mapping[str, str], name: str) -> int | None:
    """An option that is a positive number, or None."""
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise InvalidOption(f"{name}: {text!r} is no positive number")
    return int(text)
