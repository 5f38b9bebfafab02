"""How requests of members are answered: partitions by their topics, with who leads what is not led here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from controller_runtime.broker.leader_hints import LeaderHints
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.share_partitions.acknowledgements import Result
from controller_runtime.coordinator.share_partitions.sessions import Place, Session
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import share_acknowledge_response as acknowledges
from controller_runtime.protocol.messages import share_fetch_response as fetches
from controller_runtime.values import replace

_AWAY: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def news(session: Session, found: Mapping[Place, fetches.PartitionData]) -> dict[Place, fetches.PartitionData]:
    """What its member has not heard. Whose records it gets comes last next time."""
    out: dict[Place, fetches.PartitionData] = {}
    for place, data in found.items():
        wanted = session.partitions.get(place)
        if wanted is None:
            continue
        if data.records or wanted.is_news or data.error_code != ErrorCode.NONE:
            out[place] = data
        wanted.is_news = data.error_code != ErrorCode.NONE
        if data.records:
            session.partitions[place] = session.partitions.pop(place)
    return out


def fetched(
    partitions: LocalPartitions,
    listener: str,
    found: Mapping[Place, fetches.PartitionData],
    results: Mapping[Place, Result],
    lock_ms: int,
) -> fetches.ShareFetchResponse:
    hints = LeaderHints(partitions, listener)
    whole = {
        place: replace(data, current_leader=_leader_to_fetch_from(hints, place)) if data.error_code in _AWAY else data
        for place, data in found.items()
    }
    for place, result in results.items():
        data = whole.get(place) or fetches.PartitionData(partition_index=place[1])
        whole[place] = replace(data, acknowledge_error_code=result.error, acknowledge_error_message=result.words)
    topics = tuple(
        fetches.ShareFetchableTopicResponse(topic_id=topic_id, partitions=tuple(whole[place] for place in places))
        for topic_id, places in _by_topic(whole).items()
    )
    endpoints = tuple(
        fetches.NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack)
        for each in hints.endpoints_of_fetch()
    )
    return fetches.ShareFetchResponse(acquisition_lock_timeout_ms=lock_ms, responses=topics, node_endpoints=endpoints)


def acknowledged(
    partitions: LocalPartitions, listener: str, results: Mapping[Place, Result], lock_ms: int
) -> acknowledges.ShareAcknowledgeResponse:
    hints = LeaderHints(partitions, listener)
    topics = tuple(
        acknowledges.ShareAcknowledgeTopicResponse(
            topic_id=topic_id, partitions=tuple(_acknowledged(hints, place, results[place]) for place in places)
        )
        for topic_id, places in _by_topic(results).items()
    )
    endpoints = tuple(
        acknowledges.NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack)
        for each in hints.endpoints_of_fetch()
    )
    return acknowledges.ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=lock_ms, responses=topics, node_endpoints=endpoints
    )


def _acknowledged(hints: LeaderHints, place: Place, result: Result) -> acknowledges.PartitionData:
    leader = acknowledges.LeaderIdAndEpoch()
    if result.error in _AWAY:
        leader_id, epoch = hints.leader("", *place)
        leader = acknowledges.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch)
    return acknowledges.PartitionData(
        partition_index=place[1], error_code=result.error, error_message=result.words, current_leader=leader
    )


def _leader_to_fetch_from(hints: LeaderHints, place: Place) -> fetches.LeaderIdAndEpoch:
    leader_id, epoch = hints.leader("", *place)
    return fetches.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch)


def _by_topic(places: Iterable[Place]) -> dict[Uuid, list[Place]]:
    out: dict[Uuid, list[Place]] = {}
    for place in places:
        out.setdefault(place[0], []).append(place)
    return out
