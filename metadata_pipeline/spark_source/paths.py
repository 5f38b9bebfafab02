"""Options that only Spark's readers have."""

from __future__ import annotations

from collections.abc import Mapping

from metadata_pipeline.sources.faults import InvalidOption


def paths_of(options: Mapping[str, str]) -> list[str]:
    """What `load` was given: one path, or several with commas between; none where living quorums are named."""
    text = options.get("path")
    if not text:
        if options.get("bootstrap.controllers") or options.get("fleet"):
            return []
        raise InvalidOption("path: load() needs a path, or the option bootstrap.controllers or fleet")
    return [path.strip() for path in text.split(",") if path.strip()]


def number_of(options: Mapping[str, str], name: str) -> int | None:
    """An option that is a positive number, or None."""
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise InvalidOption(f"{name}: {text!r} is no positive number")
    return int(text)
