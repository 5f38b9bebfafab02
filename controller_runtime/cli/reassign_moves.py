"""Replicas that move between the directories of their broker (KIP-113): where they are, and how far they got."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import LogDirDescription
from controller_runtime.cli.admin_tools import Failed, exception_text
from controller_runtime.cli.reassign_files import Replica, TopicPartition, replica_name
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass

_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Place:
    """Where a replica lies, and where it is going. None: nowhere that is known."""

    now: str | None = None
    next: str | None = None


async def directories(admin: AdminClient, brokers: Iterable[int]) -> dict[int, tuple[LogDirDescription, ...]]:
    """Of the brokers that are there. Raises ApiError, AdminError."""
    there = {int(one.node_id) for one in (await admin.describe_cluster()).nodes}
    return {one: await admin.describe_log_dirs(NodeId(one)) for one in sorted(set(brokers) & there)}


async def places(admin: AdminClient, replicas: Iterable[Replica]) -> dict[Replica, Place]:
    """Only of brokers that are there."""
    wanted = list(replicas)
    found = await directories(admin, (broker for broker, _, _ in wanted))
    return {one: _place(found[one[0]], (one[1], one[2])) for one in wanted if one[0] in found}


def _place(described: Iterable[LogDirDescription], partition: TopicPartition) -> Place:
    now = following = None
    for one in described:
        replica = one.replicas.get(partition)
        if replica is not None and replica.is_future:
            following = one.path
        elif replica is not None:
            now = one.path
    return Place(now, following)


def state_line(replica: Replica, place: Place | None, target: str) -> str:
    broker, topic, index = replica
    where = f"{topic}-{index}"
    if place is None:
        return f"Partition {where} cannot be found in any live log directory on broker {broker}."
    if place.now is None:
        missing = f"Partition {where} is not found in any live log dir on broker {broker}."
        return f"{missing} There is likely an offline log directory on the broker."
    if place.next is None:
        if place.now == target:
            return f"Reassignment of replica {replica_name(replica)} completed successfully."
        return f"Partition {where} on broker {broker} is not being moved from log dir {place.now} to {target}."
    if place.next == target:
        return f"Reassignment of replica {replica_name(replica)} is still in progress."
    return f"Partition {where} on broker {broker} is being moved to log dir {place.next} instead of {target}."


def is_done(place: Place | None) -> bool:
    return place is None or place.next is None


async def start(admin: AdminClient, wanted: Mapping[Replica, str], seconds: float) -> None:
    """A broker that does not have the replica yet is asked again. Raises Failed."""
    left, deadline = dict(wanted), asyncio.get_running_loop().time() + seconds
    while left:
        answers = {
            broker: await admin.alter_replica_log_dirs(
                NodeId(broker), {(topic, index): left[who, topic, index] for who, topic, index in left if who == broker}
            )
            for broker in sorted({who for who, _, _ in left})
        }
        for replica in sorted(left):
            error = answers[replica[0]].get((replica[1], replica[2]))
            if error is None:
                moved = f"to {left.pop(replica)} for replica {replica[1]}-{replica[2]} with broker {replica[0]}"
                print(f"Successfully started moving log directory {moved} ")
            elif error.code is not ErrorCode.REPLICA_NOT_AVAILABLE:
                raise Failed(f"Failed to alter dir for {replica_name(replica)}\n{exception_text(error)}")
        if left and asyncio.get_running_loop().time() >= deadline:
            named, s = ",".join(map(replica_name, sorted(left))), "" if len(left) == 1 else "s"
            raise Failed(f"Timed out before log directory move{s} could be started for: {named}")
        if left:
            await asyncio.sleep(_PAUSE_SECONDS)
