"""`kafka-reassign-partitions`: propose, start, follow, cancel and list moves of replicas (KIP-455).

What cannot be done is said on standard output, exit code 1, as Kafka's tool does.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import Reassignment, TopicDescription
from controller_runtime.cli import json_files, reassign_moves, reassign_throttles
from controller_runtime.cli.admin_tools import AdminError, ApiError, BadCommand, Failed, exception_text, with_admin
from controller_runtime.cli.options import BadOption, Given
from controller_runtime.cli.reassign_files import (
    Proposal,
    Replica,
    TopicPartition,
    as_json,
    check_to_execute,
    name_of,
    parse_proposal,
    read_topics,
)
from controller_runtime.cli.reassign_options import OPTIONS, check
from controller_runtime.cli.reassign_placement import place
from controller_runtime.protocol.errors import ErrorCode

_TIMEOUT_MS: Final = 10_000
_EXISTING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)
_PERIODICALLY: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)


class Terse(Exception):
    """Said without `Error: ` before it."""


def main(argv: Sequence[str]) -> int:
    try:
        given = OPTIONS.parse(argv)
    except BadOption as error:
        print(f'Exception in thread "main" {error.java}: {error}', file=sys.stderr)
        return 1
    action = check(given)
    try:
        return _run(given, action)
    except Terse as error:
        print(error)
    except (BadOption, BadCommand, Failed) as error:
        print(f"Error: {error}")
    except (ApiError, AdminError) as error:
        print(f"Error: {exception_text(error)}")
    return 1


def _run(given: Given, action: str) -> int:
    brokers: list[int] = []
    topics: list[str] = []
    proposal = Proposal(())
    text = (
        json_files.read_text(given.value("reassignment-json-file") or "") if given.has("reassignment-json-file") else ""
    )
    rates = (given.number("throttle", -1, 64), given.number("replica-alter-log-dirs-throttle", -1, 64))
    seconds, clear = given.number("timeout", _TIMEOUT_MS, 64) / 1000, not given.has("preserve-throttles")
    if action == "generate":
        brokers, topics = read_topics(given.value("topics-to-move-json-file") or "", given.value("broker-list") or "")
    elif action != "list":
        proposal = parse_proposal(text)
    if action == "execute":
        check_to_execute(proposal)

    async def act(admin: AdminClient) -> None:
        match action:
            case "generate":
                await _generate(admin, brokers, topics, heed_racks=not given.has("disable-rack-aware"))
            case "execute":
                await _execute(admin, proposal, given, rates, seconds)
            case "verify":
                await _verify(admin, proposal, clear=clear)
            case "cancel":
                await _cancel(admin, proposal, seconds, clear=clear)
            case _:
                print(listing(await admin.list_partition_reassignments()))

    servers = given.value("bootstrap-server") if given.has("bootstrap-server") else None
    controllers = given.value("bootstrap-controller") if given.has("bootstrap-controller") else None
    return with_admin(servers, controllers, given.value("command-config"), act)


def listing(found: Iterable[Reassignment]) -> str:
    lines = []
    for one in sorted(found, key=lambda one: (one.topic, one.partition)):
        parts = [f"{one.topic}-{one.partition}: replicas: {_ids(one.replicas)}."]
        parts += [f"adding: {_ids(one.adding)}."] if one.adding else []
        parts += [f"removing: {_ids(one.removing)}."] if one.removing else []
        lines.append(" ".join(parts))
    return "\n".join(["Current partition reassignments:", *lines]) if lines else "No partition reassignments found."


async def _assigned(admin: AdminClient, topics: Iterable[str]) -> dict[TopicPartition, tuple[int, ...]]:
    """Raises ApiError for a topic that is not there."""
    names = list(dict.fromkeys(topics))
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for name, topic in (await admin.describe_topics(names) if names else {}).items():
        if not isinstance(topic, TopicDescription):
            if topic.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise Failed(
                    f"org.apache.kafka.common.errors.UnknownTopicOrPartitionException: Topic {name} not found."
                )
            raise topic
        found |= {(name, one.index): one.replicas for one in topic.partitions}
    return found


async def _where(admin: AdminClient, assigned: Mapping[TopicPartition, Sequence[int]]) -> dict[Replica, str]:
    wanted = [(broker, *partition) for partition, replicas in assigned.items() for broker in replicas]
    found = await reassign_moves.places(admin, wanted)
    return {replica: place.now for replica, place in found.items() if place.now is not None}


async def _generate(admin: AdminClient, brokers: Sequence[int], topics: Sequence[str], *, heed_racks: bool) -> None:
    current = await _assigned(admin, topics)
    nodes = [one for one in (await admin.describe_cluster()).nodes if one.node_id in set(brokers)]
    racks = {int(one.node_id): one.rack if heed_racks else None for one in nodes}
    if None in racks.values() and any(racks.values()):
        how = "Add --disable-rack-aware in command line to make replica assignment without rack information."
        raise Failed(f"Not all brokers have rack information. {how}")
    proposed: dict[TopicPartition, Sequence[int]] = {}
    for topic in topics:
        own = [replicas for (name, _), replicas in current.items() if name == topic]
        placed = place(racks, len(own), len(own[0]) if own else 0, random.randrange)
        proposed |= {(topic, index): replicas for index, replicas in enumerate(placed)}
    print(f"Current partition replica assignment\n{as_json(current, await _where(admin, current))}\n")
    print(f"Proposed partition reassignment configuration\n{as_json(proposed, {})}")


async def _execute(
    admin: AdminClient, proposal: Proposal, given: Given, rates: tuple[int, int], seconds: float
) -> None:
    under_way = await admin.list_partition_reassignments()
    if under_way and not given.has("additional"):
        raise Terse(_EXISTING)
    wanted = proposal.by_partition
    there = {int(one.node_id) for one in (await admin.describe_cluster()).nodes}
    unknown = [one for replicas in wanted.values() for one in replicas if one not in there]
    if unknown:
        raise Failed(f"Unknown broker id {unknown[0]}")
    every = await _assigned(admin, proposal.topics)
    missing = [one for one in wanted if one not in every]
    if missing:
        named = f"Unable to find partition: {', '.join(map(name_of, missing))}"
        raise Failed(f"org.apache.kafka.common.errors.UnknownTopicOrPartitionException: {named}")
    current = {one: every[one] for one in wanted}
    print(f"Current partition replica assignment\n\n{as_json(current, await _where(admin, current))}\n")
    print("Save this to use as the --reassignment-json-file option during rollback")
    if max(rates) >= 0:
        print(_PERIODICALLY)
    if rates[0] >= 0:
        found = reassign_throttles.moves(under_way, wanted, current)
        await reassign_throttles.throttle_between_brokers(admin, found, rates[0])
    if rates[1] >= 0:
        await reassign_throttles.throttle_directories(admin, proposal.directories, rates[1])
    keep_factor = given.has("disallow-replication-factor-change")
    errors = await admin.alter_partition_reassignments(wanted, allow_factor_change=not keep_factor)
    _raise_any(errors, "Error reassigning partition(s):")
    print(f"Successfully started partition reassignment{_s(wanted)} for {','.join(map(name_of, sorted(wanted)))}")
    await reassign_moves.start(admin, proposal.directories, seconds)


async def _verify(admin: AdminClient, proposal: Proposal, *, clear: bool) -> None:
    under_way = {(one.topic, one.partition): one for one in await admin.list_partition_reassignments()}
    others = [
        topic
        for topic in proposal.topics
        if any(t == topic and (t, i) not in under_way for (t, i), _ in proposal.partitions)
    ]
    described = await admin.describe_topics(others) if others else {}
    print("Status of partition reassignment:")
    for partition, target in sorted(proposal.by_partition.items()):
        print(_status(partition, target, described, moving=partition in under_way))
    found = await reassign_moves.places(admin, proposal.directories)
    for replica, directory in sorted(proposal.directories.items()):
        print(reassign_moves.state_line(replica, found.get(replica), directory))
    if not proposal.directories:
        print()
    done = all(reassign_moves.is_done(found.get(one)) for one in proposal.directories)
    if clear and done and not under_way:
        await reassign_throttles.clear(admin, proposal)


def _status(
    partition: TopicPartition,
    target: Sequence[int],
    described: Mapping[str, TopicDescription | ApiError],
    *,
    moving: bool,
) -> str:
    if moving:
        return f"Reassignment of partition {name_of(partition)} is still in progress."
    topic = described.get(partition[0])
    partitions = topic.partitions if isinstance(topic, TopicDescription) else ()
    current = next((one.replicas for one in partitions if one.index == partition[1]), ())
    if tuple(current) == tuple(target):
        return f"Reassignment of partition {name_of(partition)} is completed."
    instead = f"but replica set is {_ids(current)} rather than {_ids(target)}"
    return f"There is no active reassignment of partition {name_of(partition)}, {instead}."


async def _cancel(admin: AdminClient, proposal: Proposal, seconds: float, *, clear: bool) -> None:
    wanted = proposal.by_partition
    active = sorted(
        (one.topic, one.partition)
        for one in await admin.list_partition_reassignments()
        if (one.topic, one.partition) in wanted and (one.adding or one.removing)
    )
    if active:
        errors = await admin.alter_partition_reassignments(dict.fromkeys(active))
        failed = sum(error is not None for error in errors.values())
        _raise_any(errors, f"Error cancelling partition reassignment{'' if failed == 1 else 's'} for:")
        print(f"Successfully cancelled partition reassignment{_s(active)} for: {','.join(map(name_of, active))}")
    else:
        print("None of the specified partition reassignments are active.")
    found = await reassign_moves.places(admin, proposal.directories)
    moving = {one: place.now for one, place in found.items() if place.next is not None and place.now is not None}
    if moving:
        await reassign_moves.start(admin, moving, seconds)
    else:
        print("None of the specified partition moves are active.", end="")
    if clear:
        await reassign_throttles.clear(admin, proposal)


def _raise_any(errors: Mapping[TopicPartition, ApiError | None], what: str) -> None:
    lines = [f"{name_of(one)}: {error.message}" for one, error in sorted(errors.items()) if error is not None]
    if lines:
        raise Terse("\n".join([what, *lines]))


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def _s(values: Sequence[object] | Mapping[TopicPartition, object]) -> str:
    return "" if len(values) == 1 else "s"
