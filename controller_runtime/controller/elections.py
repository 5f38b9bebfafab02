"""ElectLeaders (KIP-460): the preferred leader of partitions, or any that lives; by request, or from time to time.

An election by request may be unclean although the topic's configuration forbids it: a person asked for it. Elections
that happen by themselves are unclean for topics that allow it, and the preferred ones never are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces, RequestContext, written
from controller_runtime.controller.partition_changes import Election, TopicRules, change_of
from controller_runtime.controller.patience import check_time
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import NO_LEADER, Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest
from controller_runtime.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

MAX_BY_ITSELF: Final = 1000
"""Elections in one go, when nobody asked."""
_TYPES: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}
_UNAVAILABLE: Final = {
    Election.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    Election.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


def elect_leaders(image: MetadataImage, request: ElectLeadersRequest, context: RequestContext) -> Pieces:
    """Raises Refused: with INVALID_REQUEST for a type of election that there is not."""
    if request.topic_partitions != ():
        check_time(request.timeout_ms)
    election = _TYPES.get(request.election_type)
    if election is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    answer = _Answer(image, election)
    changes = answer.everywhere() if request.topic_partitions is None else answer.named(request)
    records, _ = yield from written(changes, context.next_offset)
    return Decision(ElectLeadersResponse(replica_election_results=tuple(answer.results)), records, atomic=False)


class _Answer:
    """The answer under construction."""

    def __init__(self, image: MetadataImage, election: Election) -> None:
        self._image = image
        self._election = election
        self._looked_at = 0
        self.results: list[ReplicaElectionResult] = []

    def named(self, request: ElectLeadersRequest) -> Iterator[VersionedRecord | None]:
        for named in request.topic_partitions or ():
            found: list[PartitionResult] = []
            topic = self._image.topics.named(named.topic)
            for index in named.partitions:
                yield from self._one(topic, named.topic, index, found)
            self.results.append(ReplicaElectionResult(topic=named.topic, partition_result=tuple(found)))

    def everywhere(self) -> Iterator[VersionedRecord | None]:
        """Of all partitions; those that need no election are not named."""
        for topic in self._image.topics:
            found: list[PartitionResult] = []
            for index, _ in topic.partitions():
                yield from self._one(topic, topic.name, index, found)
            shown = tuple(each for each in found if each.error_code != ErrorCode.ELECTION_NOT_NEEDED)
            self.results.append(ReplicaElectionResult(topic=topic.name, partition_result=shown))

    def _one(
        self, topic: TopicImage | None, name: str, index: int, found: list[PartitionResult]
    ) -> Iterator[VersionedRecord | None]:
        try:
            yield self._elected(topic, name, index)
            found.append(PartitionResult(partition_id=index, error_message=None))
        except Refused as error:
            found.append(PartitionResult(partition_id=index, error_code=error.code, error_message=error.message))
        self._looked_at += 1
        if self._looked_at % PIECE_RECORDS == 0:
            yield None

    def _elected(self, topic: TopicImage | None, name: str, index: int) -> VersionedRecord:
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
        partition = topic.partition(index)
        if partition is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
        if not _is_needed(self._election, partition):
            raise Refused(ErrorCode.ELECTION_NOT_NEEDED)
        change = change_of(self._image, topic, index, partition)
        change.election = self._election
        record = change.build()
        if record is None:
            raise Refused(_UNAVAILABLE[self._election])
        return record


def _is_needed(election: Election, partition: Partition) -> bool:
    if election is Election.PREFERRED:
        return partition.leader != partition.replicas[0]
    return partition.leader == NO_LEADER


def preferred_leaders(image: MetadataImage) -> Iterator[VersionedRecord | None]:
    """Give partitions back to their preferred leaders, at most MAX_BY_ITSELF; a piece may end at a None."""
    return _by_itself(image, Election.PREFERRED, lambda _: True)


def unclean_leaders(image: MetadataImage) -> Iterator[VersionedRecord | None]:
    """Leaders for partitions without one, of topics that allow any replica to lead, at most MAX_BY_ITSELF."""
    return _by_itself(image, Election.UNCLEAN, lambda rules: rules.unclean_election)


def _by_itself(
    image: MetadataImage, election: Election, wanted: Callable[[TopicRules], bool]
) -> Iterator[VersionedRecord | None]:
    left = MAX_BY_ITSELF
    for change in _all_changes(image, election, wanted):
        yield change
        left -= change is not None
        if left == 0:
            return


def _all_changes(
    image: MetadataImage, election: Election, wanted: Callable[[TopicRules], bool]
) -> Iterator[VersionedRecord | None]:
    looked_at = 0
    for topic in image.topics:
        rules = TopicRules.of(image, topic)
        for index, partition in topic.partitions() if wanted(rules) else ():
            if _is_needed(election, partition):
                change = change_of(image, topic, index, partition, rules)
                change.election = election
                record = change.build()
                if record is not None:
                    yield record
            looked_at += 1
            if looked_at % PIECE_RECORDS == 0:
                yield None
