"""What a producer's records say, found without decoding one: the leader reads every record of a batch before it takes
it.

Two ways to look, as Apache Kafka 4.3.1 has them. Records as they lie (`survey`) must be what their lengths say, to the
byte. Records that come out of a codec (`survey_unpacked`) are only counted through, their own lengths are not compared;
who wants them whole decodes them. Numbers are Java's: a varint has five bytes at most and is cut to 32 bits. The loops
are compiled from one text, with small varints spelled out; of records as they lie, runs of one layout come first
(`record_runs`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from controller_runtime.protocol.primitives import Invalid
from controller_runtime.protocol.primitives import varint as encoded_varint
from controller_runtime.protocol.record_runs import run_at

_NOT_YET: Final = 1 << 70
_INT64: Final = 1 << 63


class RanOut(Invalid):
    """The bytes end before the records do."""


class OverlongLength(Invalid):
    """The length of a record is a varint of more than five bytes."""


class Survey(NamedTuple):
    """What all records of a batch say together; timestamps are relative to the batch's."""

    earliest: int
    latest: int
    has_null_keys: bool
    in_sequence: bool
    """Offsets count from zero. Looked at in unpacked records only: of others Kafka does not care."""
    end: int
    """The byte after the last record."""


class RecordDetail(NamedTuple):
    """One record of a batch: timestamp and offset are relative to the batch's."""

    timestamp: int
    offset: int
    has_null_key: bool


def varint(data: bytes, position: int) -> tuple[int, int]:
    """A varint as Java reads an int, zigzag not undone."""
    value = 0
    for shift in (0, 7, 14, 21, 28):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFF, position
    raise Invalid("a varint of more than five bytes")


def varlong(data: bytes, position: int) -> tuple[int, int]:
    """A varint as Java reads a long, zigzag not undone."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, position
    raise Invalid("a varint of more than ten bytes")


def _length(data: bytes, position: int) -> tuple[int, int]:
    try:
        return varint(data, position)
    except Invalid as error:
        raise OverlongLength(f"a record's length is {error}") from error


def _skip_headers(data: bytes, position: int, end: int) -> int:
    count, position = varint(data, position)
    if count & 1:
        raise Invalid(f"{-(count >> 1) - 1} headers")
    for _ in range(count >> 1):
        size, position = varint(data, position)
        if size & 1:
            raise Invalid(f"a header key of {-(size >> 1) - 1} bytes")
        size, position = varint(data, position + (size >> 1))
        if not size & 1:
            position += size >> 1
    if position > end:
        raise RanOut(f"headers end at byte {position}, the records at {end}")
    return position


_VARINT: Final = """\
  t = data[p]
  if t < 128: p += 1
  else:
   u = data[p + 1]
   if u < 128:
    t = t & 127 | u << 7
    p += 2
   else: t, p = LONG(data, p)
"""
_LOOP: Final = f"""\
def look(data, p, end, count, details):
 earliest, latest, has_null_keys, in_sequence = {_NOT_YET}, -{_NOT_YET}, False, True
 before = -1
 for expected in range(count):
{_VARINT.replace("LONG", "length")}\
EXACT
  p += 1
{_VARINT.replace("LONG", "varlong")}\
  if t != before:
   before = t
   t = (t >> 1) ^ -(t & 1)
   if t > latest: latest = t
   if t < earliest: earliest = t
NOTED
{_VARINT.replace("LONG", "varint")}\
COUNTED
PLACED
{_VARINT.replace("LONG", "varint")}\
  if t & 1:
   has_null_keys = True
NULL
  else: p += t >> 1
{_VARINT.replace("LONG", "varint")}\
  if not t & 1: p += t >> 1
  if data[p]: p = skip_headers(data, p, end)
  else: p += 1
DONE
 return Survey(earliest, latest, has_null_keys, in_sequence, p)
"""
_EXACT: Final = """\
  stop = p + (t >> 1)
  if t & 1 or stop > end: raise Invalid(f"record {expected} claims {t >> 1} bytes, {end - p} are left")"""
_EXACT_DONE: Final = """\
  if p != stop: raise Invalid(f"record {expected} ends at byte {p}, its length says {stop}")"""
_COUNTED: Final = """\
  if t != expected << 1: in_sequence = False"""


_NOTED: Final = """\
  details.append([(before >> 1) ^ -(before & 1), 0, False])"""
_PLACED: Final = """\
  details[-1][1] = (t >> 1) ^ -(t & 1)"""
_NULL: Final = """\
   details[-1][2] = True"""
Look = Callable[[bytes, int, int, int, list[list[int]]], Survey]


def _compiled(exact: str, counted: str, done: str, *, detailed: bool = False) -> Look:
    text = _LOOP.replace("EXACT", exact).replace("COUNTED", counted).replace("DONE", done)
    for place, line in (("NOTED", _NOTED), ("PLACED", _PLACED), ("NULL", _NULL)):
        text = text.replace(place, line if detailed else "")
    scope: dict[str, Any] = {
        "Invalid": Invalid,
        "Survey": Survey,
        "length": _length,
        "skip_headers": _skip_headers,
        "varint": varint,
        "varlong": varlong,
    }
    exec(compile(text, "<survey of records>", "exec"), scope)  # noqa: S102 - the text above
    made: Look = scope["look"]
    return made


_look_exactly: Final = _compiled(_EXACT, "", _EXACT_DONE)
_look_through: Final = _compiled("", _COUNTED, "")
_look_closely: Final = _compiled("", _COUNTED, "", detailed=True)


def survey(data: bytes, position: int, count: int) -> Survey:
    """Records as they lie in a batch without compression, from `position` to the end. Raises Invalid."""
    runs, at, left = [], position, count
    while (run := run_at(data, at, left)) is not None:
        runs.append(run)
        at, left = run.end, left - run.records
    if not runs:
        return _within(_look_exactly, data, position, count)
    try:
        rest = _within(_look_exactly, data, at, left)
    except Invalid:
        return _within(_look_exactly, data, position, count)  # It says which record is wrong, counted from the first.
    return Survey(
        min(rest.earliest, *(run.earliest for run in runs)),
        max(rest.latest, *(run.latest for run in runs)),
        rest.has_null_keys or any(run.has_null_keys for run in runs),
        in_sequence=True,
        end=rest.end,
    )


def survey_unpacked(data: bytes, count: int) -> Survey:
    """Records that a codec gave. Raises Invalid: `RanOut` where more bytes could have helped."""
    return _within(_look_through, data, 0, count)


def details(data: bytes, position: int, count: int) -> list[RecordDetail]:
    """Each record by itself, of records that a survey found sound."""
    found: list[list[int]] = []
    _look_closely(data, position, len(data), count, found)
    return [RecordDetail(time, offset, bool(null)) for time, offset, null in found]


def _within(look: Look, data: bytes, position: int, count: int) -> Survey:
    try:
        found = look(data, position, len(data), count, [])
    except IndexError as error:
        raise RanOut(f"{len(data) - position} bytes end before {count} records do") from error
    if found.end > len(data):
        raise RanOut(f"the last record ends at byte {found.end} of {len(data)}")
    return found


def renumbered(data: bytes, position: int, count: int, *, one_time: bool) -> bytes:
    """The records with offsets that count from zero, of exact ones; with `one_time` all at the batch's base
    timestamp.
    """
    parts: list[bytes] = []
    for number in range(count):
        size, start = varint(data, position)
        position = start + (size >> 1)
        _, timed = varlong(data, start + 1)
        _, placed = varint(data, timed)
        body = data[start : start + 1] + (b"\0" if one_time else data[start + 1 : timed])
        body += encoded_varint(number) + data[placed:position]
        parts += (encoded_varint(len(body)), body)
    return b"".join(parts)


def wrapped(number: int) -> int:
    """As a long of Java's that overflows."""
    return (number + _INT64) % (2 * _INT64) - _INT64
