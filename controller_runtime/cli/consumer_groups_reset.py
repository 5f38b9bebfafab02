"""`kafka-consumer-groups --reset-offsets`: where a group without members shall go on reading."""

from __future__ import annotations

import csv
import io
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from controller_runtime.admin import groups
from controller_runtime.admin.client import AdminClient, ApiError
from controller_runtime.admin.group_results import GroupDescription, TopicPartition
from controller_runtime.cli import group_calls
from controller_runtime.cli.consumer_groups_options import OPTIONS, SCENARIOS
from controller_runtime.cli.group_calls import IllegalArgument, Thrown, unpacked, wrapped
from controller_runtime.cli.group_words import columns
from controller_runtime.cli.options import Given
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass

Offsets = Mapping[TopicPartition, int]
_END: Final = -1
_BEGINNING: Final = -2
_DATE: Final = re.compile(
    r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)\.(\d+)(?:Z|([+-])(\d\d):?(\d\d)?)", re.ASCII
)  # fmt: skip
_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
_NO_DURATION: Final = "Text cannot be parsed to a Duration"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for on the command line."""

    given: Given
    to_offset: int
    shift_by: int
    groups_named: int
    execute: bool

    @classmethod
    def of(cls, given: Given) -> Wanted:
        """Raises BadOption."""
        for name in ("from-file", "to-datetime", "by-duration"):
            given.value(name)
        return cls(
            given,
            given.number("to-offset", 0, 64),
            given.number("shift-by", 0, 64),
            len(given.all("group")),
            given.has("execute") and not given.has("dry-run"),
        )


async def run(admin: AdminClient, wanted: Wanted, group_ids: Sequence[str]) -> None:
    described = await groups.describe_groups(admin, group_ids)
    results: dict[str, Offsets] = {}
    for group_id, group in described.items():
        results[group_id] = await _reset(admin, wanted, group_id, group)
    if wanted.given.has("export"):
        print(exported(results, with_groups=wanted.groups_named != 1))
    else:
        for line in shown(results):
            print(line)


async def _reset(
    admin: AdminClient, wanted: Wanted, group_id: str, group: GroupDescription | ApiError | groups.NotConsumers
) -> Offsets:
    if isinstance(group, ApiError) and group.code is not ErrorCode.GROUP_ID_NOT_FOUND:
        raise wrapped(group)
    if isinstance(group, groups.NotConsumers):
        message = f"java.util.concurrent.ExecutionException: java.lang.IllegalArgumentException: {group}"
        raise Thrown(message, f"java.lang.RuntimeException: {message}")
    if isinstance(group, GroupDescription) and group.state not in ("Empty", "Dead"):
        why = f"is inactive, but the current state is {group.state}."
        print(f"\nError: Assignments can only be reset if the group '{group_id}' {why}")
        return {}
    partitions = await _partitions(admin, wanted, group_id)
    offsets = await _prepared(admin, wanted, group_id, partitions)
    if wanted.execute and offsets:
        try:
            done = await groups.commit_offsets(admin, group_id, offsets)
        except ApiError as error:
            raise unpacked(error) from error
        refused = next((error for error in done.values() if error is not None), None)
        if refused is not None:
            raise unpacked(refused)
    return offsets


# Which partitions.


async def _partitions(admin: AdminClient, wanted: Wanted, group_id: str) -> list[TopicPartition]:
    given = wanted.given
    if given.has("all-topics"):
        return list(await group_calls.committed(admin, group_id))
    if given.has("topic"):
        said = given.all("topic")
        named = [one for each in said if ":" in each for one in partitions_of(each)]
        try:
            described = await group_calls.topics(admin, (each for each in said if ":" not in each))
        except ApiError as error:
            raise unpacked(error) from error
        return named + [(name, one.index) for name, topic in described.items() for one in topic.partitions]
    if not given.has("from-file"):
        OPTIONS.refuse("One of the reset scopes should be defined: --all-topics, --topic.")
    return []


def partitions_of(said: str) -> list[TopicPartition]:
    """topic:0,1. Raises IllegalArgument."""
    parts = said.split(":")
    while parts and not parts[-1]:
        parts.pop()  # As Java splits.
    if len(parts) != 2:
        raise IllegalArgument(f"Invalid topic arg '{said}', expected topic name and partitions")
    found: list[TopicPartition] = []
    for one in parts[1].split(","):
        if not re.fullmatch(r"[+-]?\d{1,10}", one, re.ASCII) or not -(1 << 31) <= int(one) < 1 << 31:
            raise IllegalArgument(f"Invalid partition '{one}' specified in topic arg '{said}''")
        found.append((parts[0], int(one)))
    return found


async def _check(admin: AdminClient, partitions: Sequence[TopicPartition]) -> None:
    """They are there, and are led."""
    described = await group_calls.wrapping(group_calls.topics(admin, (topic for topic, _ in partitions)))
    leaders = {(name, one.index): one.leader for name, topic in described.items() for one in topic.partitions}
    missing = [one for one in partitions if one not in leaders]
    if missing:
        raise _of_partitions(missing, "do not exist", "UnknownTopicOrPartitionException")
    unled = [one for one in partitions if leaders[one] < 0]
    if unled:
        raise _of_partitions(unled, "have no leader", "LeaderNotAvailableException")


def _of_partitions(partitions: Iterable[TopicPartition], what: str, java: str) -> Thrown:
    why = f'The partitions "{",".join(f"{topic}-{index}" for topic, index in partitions)}" {what}'
    return Thrown(why, f"org.apache.kafka.common.errors.{java}: {why}")


# Where to.


async def _prepared(admin: AdminClient, wanted: Wanted, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
    await _check(admin, partitions)
    given = wanted.given
    scenario = next((name for name in SCENARIOS if given.has(name)), None)
    if scenario is None:
        named = ", ".join(f"[{name}]" for name in SCENARIOS)
        OPTIONS.refuse(f"Option '[reset-offsets]' requires one of the following scenarios: [{named}]")
    match scenario:
        case "to-offset":
            return await _in_range(admin, dict.fromkeys(partitions, wanted.to_offset))
        case "to-earliest":
            return await group_calls.log_offsets(admin, partitions, _BEGINNING)
        case "to-latest":
            return await group_calls.log_offsets(admin, partitions, _END)
        case "shift-by":
            return await _shifted(admin, group_id, partitions, wanted.shift_by)
        case "to-datetime":
            return await _at(admin, partitions, date(given.value("to-datetime") or ""))
        case "by-duration":
            now_ms = time.time_ns() // 1_000_000
            return await _at(admin, partitions, now_ms - duration(given.value("by-duration") or ""))
        case "from-file":
            return await _from_file(admin, wanted, group_id)
        case _:
            return await _current(admin, group_id, partitions)


async def _current(admin: AdminClient, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
    """What is committed; the end where nothing is."""
    committed = await group_calls.committed(admin, group_id)
    known = {one: committed[one].offset for one in partitions if one in committed}
    ends = await group_calls.log_offsets(admin, (one for one in partitions if one not in committed), _END)
    return {**known, **ends}


async def _shifted(admin: AdminClient, group_id: str, partitions: Sequence[TopicPartition], by: int) -> Offsets:
    committed = await group_calls.committed(admin, group_id)
    for topic, index in partitions:
        if (topic, index) not in committed:
            why = f"Cannot shift offset for partition {topic}-{index} since there is no current committed offset"
            raise IllegalArgument(why)
    return await _in_range(admin, {one: committed[one].offset + by for one in partitions})


async def _in_range(admin: AdminClient, wanted: Offsets) -> Offsets:
    """What lies outside of a log is moved to its beginning or end, and that is said."""
    starts = await group_calls.log_offsets(admin, wanted, _BEGINNING)
    ends = await group_calls.log_offsets(admin, wanted, _END)
    found: dict[TopicPartition, int] = {}
    for one, offset in wanted.items():
        found[one] = max(min(offset, ends[one]), starts[one]) if offset <= ends[one] else ends[one]
        if found[one] != offset:
            which = "higher than latest" if offset > ends[one] else "lower than earliest"
            where = f"offset for topic partition {one[0]}-{one[1]}. Value will be set to {found[one]}"
            print(f"WARN New offset ({offset}) is {which} {where}", file=sys.stderr)
    return found


async def _at(admin: AdminClient, partitions: Sequence[TopicPartition], timestamp: int) -> Offsets:
    """The first records that are not older; the end where there are none."""
    found = await group_calls.log_offsets(admin, partitions, timestamp)
    empty = [one for one, offset in found.items() if offset < 0]
    for topic, index in empty:
        print(f"\nWarn: Partition {index} from topic {topic} is empty. Falling back to latest known offset.")
    return {**found, **await group_calls.log_offsets(admin, empty, _END)}


async def _from_file(admin: AdminClient, wanted: Wanted, group_id: str) -> Offsets:
    text = read(wanted.given.value("from-file") or "")
    only = wanted.given.value("group") if wanted.groups_named == 1 else None
    planned = plan(text, only).get(group_id)
    if planned is None:
        print(f"\nError: No reset plan for group {group_id} found")
        return {}
    return await _in_range(admin, planned)


# Texts.


def read(path: str) -> str:
    """Raises Thrown."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError) as error:
        why = f"java.nio.file.NoSuchFileException: {path}"
        raise Thrown(why, f"java.lang.RuntimeException: {why}") from error


def date(text: str) -> int:
    """Milliseconds since 1970, of yyyy-MM-ddTHH:mm:ss.SSS and perhaps a zone. Raises Thrown."""
    _, found, clock = text.partition("T")
    if not found:
        raise _parse_error("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    whole = text if any(sign in clock for sign in "+-Z") else f"{text}Z"
    match = _DATE.match(whole)
    try:
        if match is None:
            raise ValueError(whole)
        year, month, day, hour, minute, second, millis = (int(match[place]) for place in range(1, 8))
        if millis > 999:
            raise ValueError(whole)
        moment = datetime(year, month, day, hour=hour, minute=minute, second=second, tzinfo=UTC)
        moment += timedelta(milliseconds=millis)
        away = timedelta(hours=int(match[9] or 0), minutes=int(match[10] or 0))
        return (moment - (away if match[8] == "+" else -away) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        raise _parse_error(f'Unparseable date: "{whole}"') from error


def _parse_error(why: str) -> Thrown:
    message = f"java.text.ParseException: {why}"
    return Thrown(message, f"java.lang.RuntimeException: {message}")


def duration(text: str) -> int:
    """Milliseconds of an ISO 8601 duration of days and less. Raises Thrown."""
    match = _DURATION.fullmatch(text)
    parts = () if match is None else (match[2], match[4], match[5], match[6])
    if match is None or not any(parts) or (match[3] or "").upper() == "T":
        raise Thrown(_NO_DURATION, f"java.time.format.DateTimeParseException: {_NO_DURATION}")
    days, hours, minutes, seconds = (int(part or 0) for part in parts)
    fraction = int((match[7] or "").ljust(9, "0") or 0) // 1_000_000
    if (match[6] or "").startswith("-"):
        fraction = -fraction
    found = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + fraction
    return -found if match[1] == "-" else found


def plan(text: str, only: str | None) -> dict[str, dict[TopicPartition, int]]:
    """By group, of lines topic,partition,offset for `only`, or group,topic,partition,offset. Raises Thrown."""
    lines = [line for line in csv.reader(io.StringIO(text.rstrip("\n"))) if line]
    is_short = only is not None and bool(lines) and len(lines[0]) <= 3
    found: dict[str, dict[TopicPartition, int]] = {}
    for line in lines:
        group_id, *rest = [only or "", *line] if is_short else line
        try:
            topic, index, offset = rest
            found.setdefault(group_id, {})[topic, int(index)] = int(offset)
        except ValueError as error:
            named = "topic,partition,offset" if is_short else "group,topic,partition,offset"
            why = f"mend the line {','.join(line)!r}: it is no {named}"
            raise Thrown(why, f"java.lang.RuntimeException: {why}") from error
    return found


def exported(results: Mapping[str, Offsets], *, with_groups: bool) -> str:
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    for group_id, offsets in results.items():
        for (topic, index), offset in offsets.items():
            lines.writerow([*([group_id] if with_groups else []), topic, index, offset])
    return out.getvalue()


def shown(results: Mapping[str, Offsets]) -> Iterable[str]:
    topics = [topic for offsets in results.values() for topic, _ in offsets]
    widths = [max((15, *map(len, results))), max((15, *map(len, topics))), 10, 0]
    if results:
        yield ""
        yield columns(widths, ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"))
    else:
        yield ""
    for group_id, offsets in results.items():
        for (topic, index), offset in sorted(offsets.items()):
            yield columns(widths, (group_id, topic, str(index), str(offset)))
