"""`kafka-consumer-groups --describe`: partitions and lag, members, or states of groups."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.group_results import Committed, GroupDescription, GroupMember, TopicPartition
from controller_runtime.cli import group_calls
from controller_runtime.cli.group_calls import Thrown
from controller_runtime.cli.group_words import MISSING, columns, optional
from controller_runtime.cli.options import Given
from controller_runtime.values import dataclass

_MOVING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
_SHORTEST: Final = 15


@dataclass(frozen=True, slots=True)
class Row:
    """A partition that a group has, or has committed for."""

    partition: TopicPartition
    offset: int | None
    leader_epoch: int | None
    end: int | None
    """None: nobody leads it."""
    member: GroupMember | None

    @property
    def lag(self) -> int | None:
        return None if self.offset is None or self.end is None else self.end - self.offset


async def show(admin: AdminClient, given: Given, group_ids: Sequence[str]) -> None:
    described = await group_calls.describe(admin, group_ids)
    verbose = given.has("verbose")
    if given.has("members"):
        for _, group in sorted(described.items()):
            shown = _has_something(group, len(group.members))
            _print(members(group, verbose=verbose, is_shown=shown))
    elif given.has("state"):
        for _, group in sorted(described.items()):
            if _has_something(group, 1):
                _print(state(group, verbose=verbose))
    else:
        rows = {group_id: await _rows(admin, group) for group_id, group in described.items()}
        for group_id, group in sorted(described.items()):
            if _has_something(group, len(rows[group_id])):
                _print(offsets(group_id, rows[group_id], verbose=verbose))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)
    sys.stdout.flush()


def _has_something(group: GroupDescription, count: int) -> bool:
    """What is worth saying of its state is said; whether there are lines to show."""
    if group.state == "Dead":
        print(f"\nError: Consumer group '{group.group_id}' does not exist.")
    elif group.state == "Empty":
        print(f"\nConsumer group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state in _MOVING:
        print(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", file=sys.stderr)
    elif group.state != "Stable":
        why = f"Expected a valid consumer group state, but found '{group.state}'."
        raise Thrown(why, f"org.apache.kafka.common.KafkaException: {why}")
    return group.state != "Dead" and count > 0


# Offsets.


async def _rows(admin: AdminClient, group: GroupDescription) -> list[Row]:
    """Of members with most partitions first, and then of what nobody has."""
    committed = await group_calls.committed(admin, group.group_id)
    having = sorted((each for each in group.members if each.assignment), key=lambda each: -len(each.assignment))
    rows: list[Row] = []
    for member in having:
        rows += await _rows_of(admin, member.assignment, committed, member)
    taken = {one for member in having for one in member.assignment}
    left = [one for one in committed if one not in taken]
    return rows + (await _rows_of(admin, left, committed, None) if left else [])


async def _rows_of(
    admin: AdminClient, partitions: Sequence[TopicPartition], committed: Committed, member: GroupMember | None
) -> list[Row]:
    without = await group_calls.leaderless(admin, partitions)
    ends = await group_calls.log_offsets(admin, [one for one in partitions if one not in without], -1)
    rows = []
    for one in sorted(set(partitions)):
        found = committed.get(one)
        offset, epoch = (None, None) if found is None else (found.offset, found.leader_epoch)
        rows.append(Row(one, offset, epoch, ends.get(one), member))
    return rows


def offsets(group_id: str, rows: Sequence[Row], *, verbose: bool) -> Iterator[str]:
    def cells(row: Row) -> list[str]:
        topic, index = row.partition
        who = row.member
        said = [group_id, topic, str(index)] + ([optional(row.leader_epoch)] if verbose else [])
        said += [optional(row.offset), optional(row.end), optional(row.lag)]
        return said + ([MISSING] * 3 if who is None else [who.member_id, who.host, who.client_id])

    head = ["GROUP", "TOPIC", "PARTITION"] + (["LEADER-EPOCH"] if verbose else [])
    head += ["CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]
    table = [cells(row) for row in rows]
    fixed = {"PARTITION": 10, "CLIENT-ID": 0}
    elastic = ("GROUP", "TOPIC", "CONSUMER-ID", "HOST")
    widths = [
        max((_SHORTEST, *(len(line[place]) for line in table))) if name in elastic else fixed.get(name, _SHORTEST)
        for place, name in enumerate(head)
    ]
    yield ""
    yield columns(widths, head)
    for line in table:
        yield columns(widths, line)


# Members.


def members(group: GroupDescription, *, verbose: bool, is_shown: bool) -> Iterator[str]:
    """The head is shown of groups without members, too."""
    listed = group.members
    measured = listed if is_shown else ()
    has_instances = any(each.instance_id for each in measured)
    kinds = {each.is_upgraded for each in measured}
    is_mixed = {True, False} <= kinds

    def widest(least: int, texts: Iterable[str]) -> int:
        return max((least, *(len(text) for text in texts)))

    widths = [
        widest(_SHORTEST, [group.group_id] * len(measured)),
        widest(_SHORTEST, (each.member_id for each in measured)),
        *([widest(17, (each.instance_id or "" for each in measured))] if has_instances else []),
        widest(_SHORTEST, (each.host for each in measured)),
        widest(_SHORTEST, (each.client_id for each in measured)),
        _SHORTEST,
    ]
    head = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if has_instances else []), "HOST", "CLIENT-ID"]
    head.append("#PARTITIONS")
    more = [
        _SHORTEST,
        widest(20, (_together(each.assignment) for each in measured)),
        _SHORTEST,
        widest(20, (_together(each.target) for each in measured)),
        *([0] if is_mixed else []),
    ]
    more_head = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    more_head += ["UPGRADED"] if is_mixed else []

    def line(cells: Sequence[object], extra: Sequence[object]) -> str:
        return columns(widths, cells) + " " + (columns(more, extra) if verbose else "")

    yield ""
    yield line(head, more_head)
    for each in listed:
        cells: list[object] = [group.group_id, each.member_id]
        cells += [each.instance_id or ""] if has_instances else []
        cells += [each.host, each.client_id, len(each.assignment)]
        extra: list[object] = [optional(each.epoch), _together(each.assignment), optional(group.target_epoch)]
        extra.append(_together(each.target))
        extra += [MISSING if each.is_upgraded is None else str(each.is_upgraded).lower()] if is_mixed else []
        yield line(cells, extra)


def _together(partitions: Sequence[TopicPartition]) -> str:
    """topic:0,1;other:2"""
    by_topic: dict[str, list[int]] = {}
    for topic, index in partitions:
        by_topic.setdefault(topic, []).append(index)
    said = sorted(f"{topic}:{','.join(map(str, sorted(found)))}" for topic, found in by_topic.items())
    return ";".join(said) or MISSING


# States.


def state(group: GroupDescription, *, verbose: bool) -> Iterator[str]:
    at = group.coordinator
    where = f"{at.endpoint.host}:{at.endpoint.port}  ({at.node_id})"
    widths = [max(_SHORTEST, len(group.group_id)), max(25, len(where)), 20, 20, *([15, 25] if verbose else []), 0]
    epochs = ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"] if verbose else []
    yield ""
    yield columns(widths, ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", *epochs, "#MEMBERS"])
    said = [optional(group.epoch), optional(group.target_epoch)] if verbose else []
    yield columns(
        widths, [group.group_id, where, group.assignor or MISSING, group.state, *said, str(len(group.members))]
    )
