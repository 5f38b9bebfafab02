"""ConsumerGroupHeartbeat: members of groups of the consumer protocol (KIP-848), from the wire to the log."""

from __future__ import annotations

from typing import Final

from controller_runtime.coordinator.consumer import departures, heartbeats
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.heartbeats import Sender
from controller_runtime.coordinator.consumer.members import JOINING, LEAVING, LEAVING_FOR_NOW
from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.consumer.subscribing import resolved_now
from controller_runtime.coordinator.consumer.values import Change, World
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Answer, told_of
from controller_runtime.coordinator.membership_requests import host_of
from controller_runtime.coordinator.migration import upgraded
from controller_runtime.coordinator.offsets_records import GroupRecord
from controller_runtime.coordinator.patterns.matching import Pattern
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionInfo, RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from controller_runtime.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse

FEATURE: Final = "group.version"
Responds = list[Respond]


def is_enabled(groups: GroupCoordinator) -> bool:
    """By the feature of the cluster, and the configuration of this node."""
    return groups.settings.consumer.is_enabled and groups.topic.image.features.level(FEATURE) >= 1


def beat(
    groups: GroupCoordinator, event: RequestReceived, request: ConsumerGroupHeartbeatRequest, now: Instant,
    wall: WallClock,
) -> Responds:  # fmt: skip
    if not is_enabled(groups):
        return [_refused(event, ErrorCode.UNSUPPORTED_VERSION)]
    try:
        heartbeats.judge_request(request, event.api_version, groups.settings.consumer.assignors)
        found = groups.find(request.group_id)
        if isinstance(found, ErrorCode):
            return [_refused(event, found)]
        if request.member_epoch in (LEAVING, LEAVING_FOR_NOW):
            return _leave(found, event, request, now, wall)
        return _beat(groups, found, event, request, now, wall)
    except Refused as refused:
        return [_refused(event, refused.code, refused.words)]


def _beat(
    groups: GroupCoordinator,
    partition: GroupPartition,
    event: RequestReceived,
    request: ConsumerGroupHeartbeatRequest,
    now: Instant,
    wall: WallClock,
) -> Responds:
    other = partition.groups.get(request.group_id)
    group, before, begun = _group_of(partition, request, partition.world(wall))
    sender = Sender(event.client_id or "", host_of(event.connection.peer_address), str(groups.new_uuid()))
    found = heartbeats.beat(group, request, sender, partition.world(wall), begun)
    error = partition.act(found.change, now, wall, before)
    if error:
        return [_refused(event, told_of(error))]
    if found.to_resolve:
        partition.consumers[group.group_id].is_resolving = True
        partition.works.append(
            _resolve(partition, group.group_id, found.to_resolve, event.connection, now=now, wall=wall)
        )
    waiting = [] if other is None or not before else other.dismiss_all(ErrorCode.REBALANCE_IN_PROGRESS)
    told = [each for each in waiting if isinstance(each, Respond)]
    return [*told, *partition.answered(Answer(event.request_id, request, found.answer), now)]


def _group_of(
    partition: GroupPartition, request: ConsumerGroupHeartbeatRequest, world: World
) -> tuple[ConsumerGroup, list[GroupRecord], Change | None]:
    """The group, or a new one for who joins; what is written of the one of the classic protocol that was there before,
    and of what becomes of it.
    """
    group_id = request.group_id
    group, other = partition.consumers.get(group_id), partition.groups.get(group_id)
    if group is not None:
        return group, [], None
    if group_id in partition.shares.by_id or group_id in partition.streams.by_id:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, _unlike(group_id))
    if request.member_epoch != JOINING:
        words = _unlike(group_id) if other else f"Consumer group {group_id} not found."
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, words)
    if other is None:
        return ConsumerGroup(group_id), [], None
    if other.is_empty:
        return ConsumerGroup(group_id), [GroupRecord(group_id, None)], None
    made, change = upgraded(other, world)
    return made, [GroupRecord(group_id, None)], change


def _unlike(group_id: str) -> str:
    return f"Group {group_id} is not a consumer group."


def _leave(
    partition: GroupPartition,
    event: RequestReceived,
    request: ConsumerGroupHeartbeatRequest,
    now: Instant,
    wall: WallClock,
) -> Responds:
    group_id = request.group_id
    group = partition.consumers.get(group_id)
    if group is None:
        is_there = any(group_id in each for each in (partition.groups, partition.shares.by_id, partition.streams.by_id))
        words = _unlike(group_id) if is_there else f"Group {group_id} not found."
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, words)
    member = departures.leaver(group, request)
    if request.instance_id is not None and request.member_epoch == LEAVING_FOR_NOW:
        said: Responds | ErrorCode = partition.act(departures.left_for_now(group, member), now, wall) or []
    else:
        said = partition.exit(group, [member], now, wall)
    if isinstance(said, ErrorCode):
        return [_refused(event, told_of(said))]
    answer = ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
    return [*said, *partition.answered(Answer(event.request_id, request, answer), now)]


def _resolve(
    partition: GroupPartition,
    group_id: str,
    texts: frozenset[str],
    connection: ConnectionInfo,
    *,
    now: Instant,
    wall: WallClock,
) -> InPieces[Respond, None]:
    """Which topics regular expressions mean, of those that this member may know of."""
    topic, world = partition.topic, partition.world(wall)
    patterns = {text: Pattern(text) for text in sorted(texts)}
    found: dict[str, set[str]] = {text: set() for text in patterns}
    for each in world.image.topics:
        matching = [text for text, pattern in patterns.items() if pattern.matches(each.name)]
        if matching and topic.may_describe(connection, each.name):
            for text in matching:
                found[text].add(each.name)
        yield None
    group = partition.consumers.get(group_id)
    if group is None:
        return
    group.is_resolving = False
    change = Change(group_id)
    resolved_now(change, group, {text: frozenset(names) for text, names in found.items()}, world)
    partition.act(change, now, wall)


def _refused(event: RequestReceived, code: ErrorCode, words: str | None = None) -> Respond:
    return Respond(event.request_id, ConsumerGroupHeartbeatResponse(error_code=code, error_message=words))
