"""`spec.archive`: a copy of the metadata log beside the quorum, which outlives every disk of it."""

from __future__ import annotations

from typing import Final

from kraft_operator.api.audit import parse_audit
from kraft_operator.api.object_store import parse_object_store
from kraft_operator.api.parse_storage import parse_storage
from kraft_operator.api.reader import InvalidSpec, Reader, duration
from kraft_operator.api.spec import Archive

MIN_RETENTION: Final = 3600.0
MAX_BEGINNING: Final = 1_000_000


def parse_archive(spec: Reader) -> Archive | None:
    """None: nobody asked for one. Raises InvalidSpec."""
    if not spec.has("archive"):
        return None
    archive = spec.child("archive")
    keep = archive.optional_text("retention")
    seconds = None if keep is None else duration(keep, archive.at("retention"))
    if seconds is not None and seconds < MIN_RETENTION:
        raise InvalidSpec(archive.at("retention"), f"must be at least 1h, not {keep}")
    beginning = archive.number("beginning", 0)
    if not 0 <= beginning <= MAX_BEGINNING:
        raise InvalidSpec(archive.at("beginning"), f"must lie between 0 and {MAX_BEGINNING}, not {beginning}")
    resources = archive.optional_object("resources") or {}
    storage = parse_storage(archive.child("storage"))
    audit, store = parse_audit(archive), parse_object_store(archive)
    return Archive(storage, seconds, beginning, resources=resources, audit=audit, store=store)
