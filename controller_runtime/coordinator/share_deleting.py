"""DeleteGroups of share groups: first the share coordinator forgets their states, then they are gone."""

from __future__ import annotations

from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Gathering, PartStored, StatesGone, told_of
from controller_runtime.coordinator.share import records, states
from controller_runtime.coordinator.share.group import ShareGroup
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.protocol.errors import ErrorCode


def begin(partition: GroupPartition, group: ShareGroup, part: PartStored, now: Instant, wall: WallClock) -> bool:
    """Of one without members; `part` is told in the end. Whether there are states to be forgotten."""
    world = partition.share_world(wall)
    partitions = states.kept(group, world.image)
    if not partitions:
        return False
    part.gathering.open += 1
    error = partition.act(states.all_deleting(group, partitions, world), now, wall)
    if error:
        part.gathering.tell(part.place, told_of(error))
    else:
        partition.wait(StatesGone(group.group_id, partitions, part), now)
    return True


def settled(
    groups: GroupCoordinator, asked: StatesGone, error: ErrorCode, now: Instant, wall: WallClock
) -> Gathering | None:
    """The share coordinator has forgotten them, or does not. An answer that is whole now."""
    assert isinstance(asked.told, PartStored), "it is of DeleteGroups"
    gathering, place = asked.told.gathering, asked.told.place
    found = groups.find(asked.group_id)
    if isinstance(found, ErrorCode):
        error = error or found
    elif not error:
        group = found.shares.by_id.get(asked.group_id)
        if group is not None and group.members:
            error = ErrorCode.NON_EMPTY_GROUP
        elif group is not None:
            found.write(list(records.group_gone(asked.group_id)), asked.told, now, wall)
            return None
    return gathering if gathering.tell(place, error) else None
