"""Brokers come and go: registration, heartbeats, fencing, controlled shutdown, unregistration (KIP-631, KIP-841,
KIP-858).

The epoch of a broker is the offset of its registration in the log. So records that clean up after a former incarnation
come first, in the same log, and the epoch counts them: a broker has replayed its registration exactly when it has
replayed its epoch. What touches every partition of a broker comes in pieces (see `decision.Pieces`), the change of the
broker itself last when it goes, and first when it comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces, RequestContext, written
from controller_runtime.controller.heartbeats import BrokerState, Heartbeats, Wish, current_state, next_state
from controller_runtime.controller.partition_changes import elr_enabled, leader_and_isr_changes
from controller_runtime.identifiers import DirectoryId, Instant, NodeId, Offset, Uuid
from controller_runtime.metadata.cluster import BrokerRegistration, VersionRange, is_reserved
from controller_runtime.metadata.features import (
    CORDONED_LOG_DIRS,
    DIRECTORY_ASSIGNMENT,
    KRAFT_VERSION,
    METADATA_VERSION,
    VersionedRecord,
    record_version,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import NO_LEADER, Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.parts.events import ConnectionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from controller_runtime.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.register_broker_record import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
)
from controller_runtime.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.unregister_broker_response import UnregisterBrokerResponse

# Which version of BrokerRegistrationChangeRecord says what; Kafka writes the lowest that can.
_FENCING, _SHUTDOWN, _DIRECTORIES, _CORDONED = 0, 1, 2, 3

Found = tuple[TopicImage, int, Partition]
Changes = Iterable[VersionedRecord | None]
"""Records in order; at a None a piece may end."""
LOOKED_AT_IN_A_PIECE: Final = 2 * PIECE_RECORDS
"""So many topics and partitions are looked at before a piece ends that has found nothing to change."""


def register_broker(
    image: MetadataImage,
    request: BrokerRegistrationRequest,
    context: RequestContext,
    cluster_id: str,
    heartbeats: Heartbeats,
    now: Instant,
) -> Decision | Pieces:
    """A new incarnation leaves its replicas' sets in pieces before it is registered."""
    _check_registration(image, request, context, cluster_id=cluster_id, heartbeats=heartbeats, now=now)
    existing = image.cluster.brokers.get(NodeId(request.broker_id))
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        return Decision(
            BrokerRegistrationResponse(broker_epoch=existing.epoch),
            (_registration(image, request, existing.epoch, existing),),
            atomic=False,
        )
    return _register_anew(image, request, context, existing, heartbeats)


def _register_anew(
    image: MetadataImage,
    request: BrokerRegistrationRequest,
    context: RequestContext,
    existing: BrokerRegistration | None,
    heartbeats: Heartbeats,
) -> Pieces:
    cleanup, offset = yield from written(_after_restart(image, request, existing), context.next_offset)
    epoch = offset + len(cleanup)
    heartbeats.forget(NodeId(request.broker_id))
    records = (*cleanup, _registration(image, request, epoch))
    return Decision(BrokerRegistrationResponse(broker_epoch=epoch), records, atomic=False)


def _registration(
    image: MetadataImage, request: BrokerRegistrationRequest, epoch: int, existing: BrokerRegistration | None = None
) -> VersionedRecord:
    """As it is written; a registration that is repeated keeps the state of the broker."""
    level = image.features.metadata_version
    record = RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=tuple(
            BrokerEndpoint(name=it.name, host=it.host, port=it.port, security_protocol=it.security_protocol)
            for it in request.listeners
        ),
        features=tuple(
            BrokerFeature(
                name=it.name,
                min_supported_version=it.min_supported_version,
                max_supported_version=it.max_supported_version,
            )
            for it in request.features
        ),
        rack=request.rack,
        fenced=existing is None or existing.fenced,
        in_controlled_shutdown=existing is not None and existing.in_controlled_shutdown,
        log_dirs=request.log_dirs if level >= DIRECTORY_ASSIGNMENT else (),
    )
    return record, record_version(RegisterBrokerRecord, level)


def _check_registration(
    image: MetadataImage,
    request: BrokerRegistrationRequest,
    context: RequestContext,
    cluster_id: str,
    heartbeats: Heartbeats,
    now: Instant,
) -> None:
    if request.cluster_id != cluster_id:
        expected = f"Expected cluster ID {cluster_id}, but got cluster ID {request.cluster_id}"
        raise Refused(ErrorCode.INCONSISTENT_CLUSTER_ID, expected)
    existing = image.cluster.brokers.get(NodeId(request.broker_id))
    if existing is not None and existing.incarnation_id != request.incarnation_id:
        if heartbeats.has_valid_session(existing, now):
            raise Refused(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id. If the broker was recently restarted this should "
                "self-resolve once the heartbeat manager expires the broker's session.",
            )
    if request.is_migrating_zk_broker:
        raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.")
    if image.features.metadata_version >= DIRECTORY_ASSIGNMENT:
        _check_directories(image, request.broker_id, request.log_dirs)
    supported = {it.name: VersionRange(it.min_supported_version, it.max_supported_version) for it in request.features}
    check_features(image, supported, context.kraft_version)


def _check_directories(image: MetadataImage, broker_id: int, directories: tuple[Uuid, ...]) -> None:
    if not directories:
        raise Refused(ErrorCode.INVALID_REGISTRATION, "No directories specified in request")
    if any(map(is_reserved, directories)):
        raise Refused(ErrorCode.INVALID_REGISTRATION, "Reserved directory ID in request")
    if len(set(directories)) != len(directories):
        raise Refused(ErrorCode.INVALID_REGISTRATION, "Duplicate directory ID in request")
    for other in image.cluster.brokers.values():
        for directory in directories:
            if other.id != broker_id and directory in other.directories:
                owner = f"Broker {other.id} is already registered with directory {directory}"
                raise Refused(ErrorCode.INVALID_REGISTRATION, owner)


def check_features(image: MetadataImage, supported: Mapping[str, VersionRange], kraft_version: int) -> None:
    """Raise Refused unless every finalized level lies in the range that a registering node supports; a feature that is
    not finalized has level 0, and so has one that is not named."""
    finalized = {**dict.fromkeys(supported, 0), **image.features.levels, KRAFT_VERSION: kraft_version}
    for name in sorted(finalized, key=lambda name: name not in supported):  # Kafka looks at the named ones first
        if name not in supported and METADATA_VERSION not in supported:
            why = f"Request features do not contain '{METADATA_VERSION}'"
            raise Refused(ErrorCode.INVALID_REGISTRATION, why)
        level, levels = finalized[name], supported.get(name, VersionRange(0, 0))
        if level not in levels:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Unable to register because the broker does not support finalized version {level} of {name}. "
                f"The broker wants a version between {levels.minimum} and {levels.maximum}, inclusive.",
            )


def _after_restart(
    image: MetadataImage, request: BrokerRegistrationRequest, existing: BrokerRegistration | None
) -> Changes:
    """What a new incarnation means for the replicas of the former: it may not lead what it could have lost
    (KIP-966).
    """
    broker_id = request.broker_id
    clean = existing is not None and existing.epoch == request.previous_broker_epoch
    if clean or not elr_enabled(image):
        return leader_and_isr_changes(image, _in_isr(image, broker_id), remove=broker_id)
    return leader_and_isr_changes(image, _in_isr_or_elr(image, broker_id), unclean=broker_id)


def _naming(image: MetadataImage, broker_id: int) -> Iterator[Found | None]:
    """Every partition that names this broker, with a None wherever a piece may end."""
    looked_at = 0
    for topic in image.topics:
        looked_at += 1
        for index, partition in topic.partitions_naming(broker_id):
            yield topic, index, partition
            looked_at += 1
            if looked_at >= LOOKED_AT_IN_A_PIECE:
                looked_at = 0
                yield None
        if looked_at >= LOOKED_AT_IN_A_PIECE:
            looked_at = 0
            yield None


def _in_isr(image: MetadataImage, broker_id: int) -> Iterator[Found | None]:
    return (found for found in _naming(image, broker_id) if found is None or broker_id in found[2].isr)


def _in_isr_or_elr(image: MetadataImage, broker_id: int) -> Iterator[Found | None]:
    found_all = _naming(image, broker_id)
    return (each for each in found_all if each is None or broker_id in each[2].isr or broker_id in each[2].elr)


def check_broker_epoch(image: MetadataImage, broker_id: int, epoch: int) -> BrokerRegistration:
    """The registration, if the epoch is the present one; else Refused with STALE_BROKER_EPOCH."""
    broker = image.cluster.brokers.get(NodeId(broker_id))
    if broker is None:
        raise Refused(ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
    if broker.epoch != epoch:
        raise Refused(
            ErrorCode.STALE_BROKER_EPOCH, f"Expected broker epoch {broker.epoch}, but got broker epoch {epoch}"
        )
    return broker


def settled_heartbeat(
    image: MetadataImage,
    request: BrokerHeartbeatRequest,
    heartbeats: Heartbeats,
    now: Instant,
    connection_id: ConnectionId | None = None,
) -> Decision | None:
    """The answer to a heartbeat that changes nothing, as nearly all are; None to one that has to be decided (or is
    refused).
    """
    broker = image.cluster.brokers.get(NodeId(request.broker_id))
    if broker is None or broker.epoch != request.broker_epoch or request.want_shut_down:
        return None
    current = current_state(broker)
    following = next_state(current, _wish(request, broker), leads=False, others_caught_up=True)
    if following is not current or any(True for _ in _directory_changes(image, broker, request)):
        return None
    heartbeats.touch(broker, now, request.current_metadata_offset, connection_id)
    return Decision(_answer(request, broker, following), atomic=False)


def _wish(request: BrokerHeartbeatRequest, broker: BrokerRegistration) -> Wish:
    caught_up = request.current_metadata_offset >= broker.epoch
    return Wish(fence=request.want_fence, shut_down=request.want_shut_down, caught_up=caught_up)


def heartbeat(
    image: MetadataImage,
    request: BrokerHeartbeatRequest,
    context: RequestContext,
    heartbeats: Heartbeats,
    now: Instant,
) -> Pieces:
    """Raises Refused at once."""
    broker = check_broker_epoch(image, request.broker_id, request.broker_epoch)
    current = current_state(broker)
    leaves = request.want_shut_down or current is BrokerState.CONTROLLED_SHUTDOWN
    leads = leaves and image.topics.leads_any(broker.id)
    others = heartbeats.others_caught_up(image, broker.id)
    following = next_state(current, _wish(request, broker), leads=leads, others_caught_up=others)
    return _move_on(image, request, context, heartbeats=heartbeats, now=now, broker=broker, following=following)


def _move_on(
    image: MetadataImage,
    request: BrokerHeartbeatRequest,
    context: RequestContext,
    heartbeats: Heartbeats,
    now: Instant,
    broker: BrokerRegistration,
    following: BrokerState,
) -> Pieces:
    current = current_state(broker)
    changes = chain(_transition(image, broker, current, following), _directory_changes(image, broker, request))
    records, offset = yield from written(changes, context.next_offset)
    if following is BrokerState.CONTROLLED_SHUTDOWN and (records or current is not following):
        heartbeats.begin_shutdown(broker.id, Offset(offset + len(records) - 1))
    if following is BrokerState.SHUTDOWN_NOW:
        heartbeats.forget(broker.id)  # its session is over: a new process may register at once
    else:
        heartbeats.touch(broker, now, request.current_metadata_offset, context.connection_id)
    return Decision(_answer(request, broker, following), records, atomic=False)


def _answer(
    request: BrokerHeartbeatRequest, broker: BrokerRegistration, following: BrokerState
) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= broker.epoch,
        is_fenced=following.is_fenced,
        should_shut_down=following is BrokerState.SHUTDOWN_NOW,
    )


def _transition(
    image: MetadataImage, broker: BrokerRegistration, current: BrokerState, following: BrokerState
) -> Changes:
    if following is current is BrokerState.CONTROLLED_SHUTDOWN:
        return _move_leaders(image, broker)
    if following is current or (following.is_fenced and current.is_fenced):
        return ()
    match following:
        case BrokerState.FENCED | BrokerState.SHUTDOWN_NOW:
            return fence(image, broker)
        case BrokerState.UNFENCED:
            return _unfence(image, broker)
        case BrokerState.CONTROLLED_SHUTDOWN:
            return _begin_controlled_shutdown(image, broker)


def fence(image: MetadataImage, broker: BrokerRegistration) -> Changes:
    """Out of the ISRs first, then the broker itself."""
    yield from leader_and_isr_changes(image, _in_isr(image, broker.id), remove=broker.id)
    yield BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=1), _FENCING


def _unfence(image: MetadataImage, broker: BrokerRegistration) -> Changes:
    """The broker first, then whatever nobody leads; another may be the one that leads it, if its topic allows that
    since.
    """
    yield BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=-1), _FENCING
    leaderless = (found for found in _naming(image, NO_LEADER) if found is None or found[2].leader < 0)
    yield from leader_and_isr_changes(image, leaderless, add=broker.id)


def _begin_controlled_shutdown(image: MetadataImage, broker: BrokerRegistration) -> Changes:
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1)
    yield change, _SHUTDOWN
    yield from leader_and_isr_changes(image, _in_isr(image, broker.id), remove=broker.id)


def _move_leaders(image: MetadataImage, broker: BrokerRegistration) -> Changes:
    """Of a broker that shuts down already: a controller that was replaced in the middle may have left some."""
    if not image.topics.leads_any(broker.id):
        return ()
    return leader_and_isr_changes(image, _in_isr(image, broker.id), remove=broker.id)


def _directory_changes(image: MetadataImage, broker: BrokerRegistration, request: BrokerHeartbeatRequest) -> Changes:
    """Log directories that failed, and those that take no new replicas (KIP-858, KIP-1066)."""
    level = image.features.metadata_version
    failed = [directory for directory in broker.directories if directory in request.offline_log_dirs]
    if failed and level >= DIRECTORY_ASSIGNMENT:
        named = _naming(image, broker.id)
        on_failed = (found for found in named if found is None or _lives_on(found[2], broker.id, failed))
        yield from leader_and_isr_changes(image, on_failed, remove=broker.id)
        online = tuple(directory for directory in broker.directories if directory not in failed)
        if online:  # the record cannot say "none"; a broker that lost its last directory ends itself
            change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=online)
            yield change, _DIRECTORIES
    cordoned = request.cordoned_log_dirs
    if cordoned is not None and level >= CORDONED_LOG_DIRS and broker.cordoned_directories != cordoned:
        change = BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=cordoned
        )
        yield change, _CORDONED


def _lives_on(partition: Partition, broker_id: int, directories: list[DirectoryId]) -> bool:
    return broker_id in partition.replicas and partition.directory(broker_id) in directories


def fence_silent_broker(image: MetadataImage, heartbeats: Heartbeats, broker_id: NodeId, next_offset: Offset) -> Pieces:
    """Its session is over. Nobody is answered."""
    records, _ = yield from written(fence(image, image.cluster.brokers[broker_id]), next_offset)
    heartbeats.forget(broker_id)
    return Decision(BrokerHeartbeatResponse(is_fenced=True), records, atomic=False)


def unregister_broker(
    image: MetadataImage, request: UnregisterBrokerRequest, context: RequestContext, heartbeats: Heartbeats
) -> Pieces:
    """Raises Refused at once."""
    broker = image.cluster.brokers.get(NodeId(request.broker_id))
    if broker is None:
        unknown = f"Broker ID {request.broker_id} is not currently registered"
        raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, unknown)
    return _remove(image, broker, context, heartbeats)


def _remove(
    image: MetadataImage, broker: BrokerRegistration, context: RequestContext, heartbeats: Heartbeats
) -> Pieces:
    """Out of ISRs and ELRs first, then the broker itself."""
    changes = leader_and_isr_changes(image, _in_isr_or_elr(image, broker.id), remove=broker.id)
    records, _ = yield from written(changes, context.next_offset)
    heartbeats.forget(broker.id)
    removal = (UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch), 0)
    return Decision(UnregisterBrokerResponse(), (*records, removal), atomic=False)
