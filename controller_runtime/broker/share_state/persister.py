"""What a group coordinator asks of share coordinators (Kafka's persister): to begin states, end them, or sum them up.

Each key is asked of the leader of the partition of `__share_group_state` that it belongs to. Who does not lead it any
more, who reads it still, and who cannot be reached is asked again, a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.peers import Peers
from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.share_state.ports import TOPIC
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Instant, NodeId, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import delete_share_group_state_request as deletes
from controller_runtime.protocol.messages import initialize_share_group_state_request as initializes
from controller_runtime.protocol.messages import read_share_group_state_summary_request as summaries
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

Place = tuple[Uuid, int]
Answered = Callable[[Mapping[Place, Any], Instant, WallClock], "list[BrokerEffect]"]
"""Who gets the answers, by topic and partition: `PartitionResult` of the API, or an error that stands for one."""
_CHANNEL: Final = "share-states"
_MOST_AT_ONCE: Final = 1_000
"""Keys of one call."""
_MOST_ATTEMPTS: Final = 8
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 5.0
_AGAIN: Final = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
)


@dataclass(frozen=True, slots=True)
class Api:
    request: type[Any]
    topic: type[Any]


INITIALIZE: Final = Api(initializes.InitializeShareGroupStateRequest, initializes.InitializeStateData)
DELETE: Final = Api(deletes.DeleteShareGroupStateRequest, deletes.DeleteStateData)
SUMMARY: Final = Api(summaries.ReadShareGroupStateSummaryRequest, summaries.ReadStateSummaryData)


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No share coordinator has answered for this partition."""

    error_code: ErrorCode
    error_message: str | None = None


@dataclass(slots=True, eq=False)
class _Errand:
    api: Api
    group_id: str
    answered: Answered
    open: dict[Place, Any]
    """What is to be asked of each place."""
    done: dict[Place, Any] = field(default_factory=dict)
    in_flight: int = 0
    attempts: int = 0
    not_before: Instant = Instant(0.0)


@dataclass(frozen=True, slots=True)
class _Sent:
    errand: _Errand
    places: tuple[Place, ...]


class SharePersister:
    def __init__(
        self, peers: Peers, image: Callable[[], MetadataImage], make_topic: Callable[[Instant], object]
    ) -> None:
        """`make_topic`: asks for `__share_group_state`."""
        self._peers = peers
        self._image = image
        self._make_topic = make_topic
        self._errands: list[_Errand] = []
        self._sent: dict[CallId, _Sent] = {}
        self._finished: list[_Errand] = []

    def ask(self, api: Api, group_id: str, places: Mapping[Place, Any], answered: Answered) -> None:
        """`places`: `PartitionData` of the API. `answered` is called later, in any case."""
        self._errands.append(_Errand(api, group_id, answered, dict(places)))

    def next_deadline(self) -> Instant | None:
        """What is finished is told at once: whoever answers a call polls then."""
        return min((each.not_before for each in self._errands if not each.in_flight), default=None)

    def poll(self, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        out: list[BrokerEffect] = []
        finished, self._finished = self._finished, []
        for errand in finished:
            missing = dict.fromkeys(errand.open, Unanswered(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            out += errand.answered({**errand.done, **missing}, now, wall)
        for errand in [each for each in self._errands if not each.in_flight and each.not_before <= now]:
            out += self._send(errand, now)
            self._settle(errand, now)
        return out

    def _send(self, errand: _Errand, now: Instant) -> list[BrokerEffect]:
        errand.attempts += 1
        out: list[BrokerEffect] = []
        topic = self._image().topics.named(TOPIC)
        if topic is None:
            self._make_topic(now)
            return out
        by_leader: dict[int, list[Place]] = {}
        for place in errand.open:
            index = partition_for(str(ShareKey(errand.group_id, *place)), topic.partition_count)
            leader = topic.leader(index)
            if leader is not None and leader >= 0:
                by_leader.setdefault(leader, []).append(place)
        for leader, places in by_leader.items():
            for first in range(0, len(places), _MOST_AT_ONCE):
                some = tuple(places[first : first + _MOST_AT_ONCE])
                call = self._peers.call(NodeId(leader), _CHANNEL, _request(errand, some), _nobody)
                if call is None or call[0] is None:
                    continue
                self._sent[call[0]] = _Sent(errand, some)
                errand.in_flight += 1
                out += call[1]
        return out

    # Calls.

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._sent

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> None:
        sent = self._sent.pop(call_id)
        errand, asked = sent.errand, set(sent.places)
        for topic in getattr(body, "results", ()):
            for each in topic.partitions:
                place = (topic.topic_id, each.partition)
                if place in asked and each.error_code not in _AGAIN:
                    errand.open.pop(place, None)
                    errand.done[place] = each
        self._landed(errand, now)

    def on_failure(self, call_id: CallId, now: Instant) -> None:
        self._landed(self._sent.pop(call_id).errand, now)

    def _landed(self, errand: _Errand, now: Instant) -> None:
        errand.in_flight -= 1
        self._settle(errand, now)

    def _settle(self, errand: _Errand, now: Instant) -> None:
        """It is done, or goes on later."""
        if errand.in_flight:
            return
        if errand.open and errand.attempts < _MOST_ATTEMPTS:
            pause = min(_FIRST_PAUSE_S * 2 ** (errand.attempts - 1), _LONGEST_PAUSE_S)
            errand.not_before = Instant(now + pause)
            return
        self._errands.remove(errand)
        self._finished.append(errand)


def _request(errand: _Errand, places: tuple[Place, ...]) -> Message:
    by_topic: dict[Uuid, list[Any]] = {}
    for place in places:
        by_topic.setdefault(place[0], []).append(errand.open[place])
    topics = tuple(errand.api.topic(topic_id=each, partitions=tuple(some)) for each, some in by_topic.items())
    body: Message = errand.api.request(group_id=errand.group_id, topics=topics)
    return body


def _nobody(_: Message) -> None:
    """Its answer comes by its number."""
