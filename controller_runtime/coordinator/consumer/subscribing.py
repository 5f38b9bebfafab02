"""What a changed subscription means for a group: its epoch grows, and regular expressions are to be resolved.

A regular expression is resolved once for all members that have it, off the request: until then it means no topics. It
is resolved again when topics were made, and every `group.consumer.regex.refresh.interval.ms`, but never sooner than
ten seconds after the time before (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from controller_runtime.coordinator.consumer import records
from controller_runtime.coordinator.consumer.group import ConsumerGroup, Resolved
from controller_runtime.coordinator.consumer.members import ConsumerMember
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.consumer.values import Change, World
from controller_runtime.coordinator.patterns.matching import Pattern
from controller_runtime.coordinator.patterns.syntax import BadPattern
from controller_runtime.protocol.errors import ErrorCode

_LEAST_REFRESH_MS: Final = 10_000


class PatternChange(Enum):
    NONE = "none"
    OPEN = "another one, whose topics are not known"
    RESOLVED = "another one, whose topics are known"


def same_subscription(one: ConsumerMember, other: ConsumerMember) -> bool:
    """And everything else that the record of it says."""
    fields = ("instance_id", "rack_id", "client_id", "client_host", "rebalance_timeout_ms", "topics", "pattern")
    return all(getattr(one, each) == getattr(other, each) for each in (*fields, "assignor", "classic"))


def note_subscription(change: Change, before: ConsumerMember, after: ConsumerMember) -> bool:
    """Write it down if it is another one; whether it names other topics."""
    if same_subscription(before, after):
        return False
    change.records.append(records.subscription(change.group_id, after))
    return before.topics != after.topics


def note_pattern(change: Change, group: ConsumerGroup, before: ConsumerMember, after: ConsumerMember) -> PatternChange:
    """Raises Refused for one that nobody can match."""
    old, new = before.pattern or "", after.pattern or ""
    if old == new:
        return PatternChange.OPEN if before.pattern != after.pattern else PatternChange.NONE
    if old and group.readers[old] == 1:
        change.records.append(records.pattern_gone(group.group_id, old))
    if not new:
        return PatternChange.RESOLVED
    if not group.readers[new]:
        judge_pattern(new)
        return PatternChange.OPEN
    return PatternChange.RESOLVED if new in group.resolved else PatternChange.OPEN


def judge_pattern(text: str) -> None:
    try:
        Pattern(text)
    except BadPattern as error:
        words = f"SubscribedTopicRegex `{text}` is not a valid regular expression: {error}."
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, words) from error


def patterns_to_resolve(
    group: ConsumerGroup, before: ConsumerMember, after: ConsumerMember, world: World
) -> frozenset[str]:
    """Now; empty: none."""
    counts = group.readers.copy()
    old, new = before.pattern or "", after.pattern or ""
    if old:
        counts[old] -= 1
    if new:
        counts[new] += 1
    read = frozenset(each for each, count in counts.items() if count > 0)
    if not read or group.is_resolving:
        return frozenset()
    last = next(iter(group.resolved.values()), None)
    if last is None:
        return read
    if world.wall <= last.timestamp + _LEAST_REFRESH_MS:
        return frozenset()
    is_old = world.wall > last.timestamp + world.settings.regex_refresh_ms
    is_needed = is_old or read != group.resolved.keys() or last.version < world.topics_made_at
    return read if is_needed else frozenset()


def names_read(group: ConsumerGroup, members: Iterable[ConsumerMember]) -> set[str]:
    """By these members."""
    names: set[str] = set()
    for member in members:
        names |= group.topics_of(member)
    return names


def note_epoch(
    change: Change, group: ConsumerGroup, members: Mapping[str, ConsumerMember], world: World, *, is_due: bool
) -> int:
    """The epoch of the group with these members: it grows if it must (`is_due`), or if their topics have changed."""
    found = world.hashes.of_group(names_read(group, members.values()), world.image)
    epoch = group.epoch
    if is_due or found != group.metadata_hash:
        epoch += 1
        change.records.append(records.epoch(group.group_id, epoch, found))
    change.has_seen_topics = True
    if group.has_old_metadata:
        change.records.append(records.old_metadata_gone(group.group_id))
    return epoch


def resolved_now(change: Change, group: ConsumerGroup, found: Mapping[str, frozenset[str]], world: World) -> None:
    """What regular expressions mean now is written down, for those that are still read."""
    is_due = False
    resolved = dict(group.resolved)
    for pattern, topics in found.items():
        if not group.readers[pattern]:
            continue
        before = group.resolved.get(pattern)
        is_due |= (frozenset() if before is None else before.topics) != topics
        resolved[pattern] = Resolved(topics, world.version, world.wall)
        change.records.append(records.resolved(group.group_id, pattern, topics, world.version, world.wall))
    names = {name for each in group.members.values() for name in each.topics}
    names = names.union(*(each.topics for each in resolved.values()))
    metadata_hash = world.hashes.of_group(names, world.image)
    if is_due or metadata_hash != group.metadata_hash:
        change.records.append(records.epoch(group.group_id, group.epoch + 1, metadata_hash))
