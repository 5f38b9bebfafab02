"""What to read and what to leave out: one value, made of Python arguments or of Spark's options.

Leaving out is done before decoding: a batch outside of the offsets or older than `from_time` is stepped over by its
header, records of other types are counted but not decoded, columns that nobody asked for are not built. A fault is
never left out by `types`: a row that says why something is missing belongs to every question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from controller_runtime.metadata.records import RECORD_NAMES
from controller_runtime.protocol.control_records import MESSAGES
from metadata_pipeline.redaction import InvalidKey, Redactor, load_key
from metadata_pipeline.schemas import TABLES, Level, columns_of
from metadata_pipeline.sources.faults import InvalidOption

CHUNK_BYTES: Final = 8 << 20
"""How much of a file is decoded at once: larger falls out of the processor's cache, smaller pays more for each step."""
SMALLEST_CHUNK: Final = 4096
LARGEST_CHUNK: Final = 64 << 20
KINDS: Final = ("log", "snapshot", "bootstrap")
TYPE_NAMES: Final = frozenset(RECORD_NAMES.values()) | frozenset(MESSAGES.values())


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`to_offset` is exclusive. Snapshots are chosen by the end offset in their names, whole; logs by batch
    and record.
    """

    columns: tuple[str, ...] | None = None
    from_offset: int | None = None
    to_offset: int | None = None
    from_time_ms: int | None = None
    types: frozenset[str] | None = None
    clusters: frozenset[str] | None = None
    kinds: frozenset[str] = frozenset(("log", "snapshot"))
    redactor: Redactor = field(default_factory=Redactor)
    chunk_bytes: int = CHUNK_BYTES
    offset_at_least: int | None = None
    """Hints from a query's own conditions, for logs and snapshots alike: rows outside may be left out, need not be."""
    offset_below: int | None = None

    def __post_init__(self) -> None:
        unknown = sorted((self.types or frozenset()) - TYPE_NAMES)
        if unknown:
            raise InvalidOption(f"types: {', '.join(unknown)} is unknown; there are {', '.join(sorted(TYPE_NAMES))}")
        if not self.kinds or self.kinds - set(KINDS):
            raise InvalidOption(f"kinds: {', '.join(sorted(self.kinds))} is not among {', '.join(KINDS)}")
        if not SMALLEST_CHUNK <= self.chunk_bytes <= LARGEST_CHUNK:
            raise InvalidOption(f"chunk_bytes: {self.chunk_bytes} is not between {SMALLEST_CHUNK} and {LARGEST_CHUNK}")

    def with_columns(self, level: Level, names: tuple[str, ...] | None) -> ReadOptions:
        """The same, with these columns. Raises InvalidOption for a column that the level does not have."""
        try:
            columns_of(level, names)
        except ValueError as error:
            raise InvalidOption(f"columns: {error}") from error
        return replace(self, columns=names)


def bounds(options: ReadOptions, *, log: bool) -> tuple[int | None, int | None]:
    """The offsets that rows of a log or of a snapshot must have: at least the first, below the second."""
    lowest = [each for each in (options.from_offset if log else None, options.offset_at_least) if each is not None]
    below = [each for each in (options.to_offset if log else None, options.offset_below) if each is not None]
    return max(lowest, default=None), min(below, default=None)


def parse_level(options: Mapping[str, str]) -> Level:
    level = options.get("level", "records")
    if level not in TABLES:
        raise InvalidOption(f"level: {level!r} is neither records nor batches")
    return level


def parse_options(options: Mapping[str, str]) -> ReadOptions:
    """Read options as text (Spark's mapping does not mind the case of names). Raises InvalidOption.

    `include_secrets` is no option here: tables never hold secrets.
    """
    try:
        key = load_key(options.get("redaction_key_file"))
    except InvalidKey as error:
        raise InvalidOption(str(error)) from error
    given: dict[str, Any] = {
        "from_offset": _number(options, "from_offset"),
        "to_offset": _number(options, "to_offset"),
        "from_time_ms": parse_time(options["from_time"]) if options.get("from_time") else None,
        "types": _names(options, "types"),
        "clusters": _names(options, "clusters"),
        "redactor": Redactor(key),
    }
    if (kinds := _names(options, "kinds")) is not None:
        given["kinds"] = kinds
    if (chunk := _number(options, "chunk_bytes")) is not None:
        given["chunk_bytes"] = chunk
    columns = options.get("columns")
    names = tuple(name.strip() for name in columns.split(",") if name.strip()) if columns else None
    return ReadOptions(**given).with_columns(parse_level(options), names)


def parse_time(text: str) -> int:
    """Milliseconds since the epoch, of a number of them or of an ISO date and time (UTC unless it names a zone)."""
    if text.lstrip("-").isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidOption(f"from_time: {text!r} is neither milliseconds nor an ISO time") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None or text == "":
        return None
    try:
        return int(text)
    except ValueError as error:
        raise InvalidOption(f"{name}: {text!r} is no number") from error


def _names(options: Mapping[str, str], name: str) -> frozenset[str] | None:
    text = options.get(name)
    return frozenset(each.strip() for each in text.split(",") if each.strip()) if text else None
