"""What is asked of share coordinators (Kafka's persister): a group coordinator begins states, ends them, or sums them
up; the leader of a shared partition reads its state, and has it kept.

Each key is asked of the leader of the partition of `__share_group_state` that it belongs to. Who does not lead it any
more, who reads it still, and who cannot be reached is asked again, a bounded number of times. What may not be under way
at the same time is for those who ask to hold back.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
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
from controller_runtime.protocol.messages import read_share_group_state_request as reads
from controller_runtime.protocol.messages import read_share_group_state_summary_request as summaries
from controller_runtime.protocol.messages import write_share_group_state_request as writes
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

Place = tuple[Uuid, int]
Answered = Callable[[Mapping[Place, Any], Instant, WallClock], "list[BrokerEffect]"]
"""Who gets the answers, by topic and partition: `PartitionResult` of the API, or an error that stands for one."""
_MOST_AT_ONCE: Final = 1_000
"""Keys of one call."""
_MOST_IN_A_TURN: Final = 100
"""Of what is told, and of what is sent: who shares thousands of partitions asks for each by itself."""
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
READ: Final = Api(reads.ReadShareGroupStateRequest, reads.ReadStateData)
WRITE: Final = Api(writes.WriteShareGroupStateRequest, writes.WriteStateData)


@dataclass(frozen=True, slots=True)
class Way:
    """How those who ask reach share coordinators, each over connections of its own."""

    channel: str
    most_attempts: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No share coordinator has answered for this partition."""

    error_code: ErrorCode
    error_message: str | None = None


_SOMETHING_ELSE: Final = Unanswered(ErrorCode.UNKNOWN_SERVER_ERROR, "the share coordinator answered something else")


@dataclass(slots=True, eq=False)
class _Errand:
    api: Api
    group_id: str
    answered: Answered
    open: dict[Place, Callable[[], Any]]
    """What is to be asked of each place, as it is when it is asked."""
    done: dict[Place, Any] = field(default_factory=dict)
    words: dict[Place, str | None] = field(default_factory=dict)
    """Of who could not answer yet."""
    in_flight: int = 0
    """Calls, and the turn in which they are made."""
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class _Sent:
    errand: _Errand
    places: tuple[Place, ...]


class SharePersister:
    def __init__(
        self, peers: Peers, image: Callable[[], MetadataImage], make_topic: Callable[[Instant], object], way: Way
    ) -> None:
        """`make_topic`: asks for `__share_group_state`."""
        self._peers = peers
        self._image = image
        self._make_topic = make_topic
        self._way = way
        self._ready: deque[_Errand] = deque()
        self._later: list[tuple[Instant, int, _Errand]] = []
        self._number = 0
        self._sent: dict[CallId, _Sent] = {}
        self._finished: deque[_Errand] = deque()

    def ask(self, api: Api, group_id: str, places: Mapping[Place, Callable[[], Any]], answered: Answered) -> None:
        """`places`: what makes `PartitionData` of the API. `answered` is called by `poll` later, in any case."""
        self._ready.append(_Errand(api, group_id, answered, dict(places)))

    @property
    def has_ready(self) -> bool:
        """Something is to be sent, or to be told, now."""
        return bool(self._ready or self._finished)

    def next_deadline(self) -> Instant | None:
        if self.has_ready:
            return Instant(0.0)
        return self._later[0][0] if self._later else None

    def poll(self, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        """After every event: what is finished is told, what is due is sent."""
        out: list[BrokerEffect] = []
        for _ in range(min(len(self._finished), _MOST_IN_A_TURN)):
            errand = self._finished.popleft()
            out += errand.answered(errand.done, now, wall)
        while self._later and self._later[0][0] <= now:
            self._ready.append(heappop(self._later)[2])
        for _ in range(min(len(self._ready), _MOST_IN_A_TURN)):
            errand = self._ready.popleft()
            errand.in_flight += 1  # This turn: who asks itself may be answered at once.
            out += self._send(errand, now)
            self._landed(errand, now)
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
            leader = topic.leader(partition_for(str(ShareKey(errand.group_id, *place)), topic.partition_count))
            if leader is not None and leader >= 0:
                by_leader.setdefault(leader, []).append(place)
        for leader, places in by_leader.items():
            for first in range(0, len(places), _MOST_AT_ONCE):
                out += self._call(NodeId(leader), _Sent(errand, tuple(places[first : first + _MOST_AT_ONCE])), now)
        return out

    def _call(self, leader: NodeId, sent: _Sent, now: Instant) -> list[BrokerEffect]:
        body = _request(sent.errand, sent.places)
        sent.errand.in_flight += 1
        called = self._peers.call(leader, self._way.channel, body, lambda answer: self._answered(sent, answer, now))
        if called is None:
            sent.errand.in_flight -= 1
            return []
        call_id, effects = called
        if call_id is not None:
            self._sent[call_id] = sent
        return effects

    # Calls.

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._sent

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> None:
        self._answered(self._sent.pop(call_id), body, now)

    def _answered(self, sent: _Sent, body: Message, now: Instant) -> None:
        errand = sent.errand
        results = [
            ((topic.topic_id, each.partition), each)
            for topic in getattr(body, "results", ())
            for each in topic.partitions
        ]
        found, times = dict(results), Counter(place for place, _ in results)
        for place in sent.places:
            each = found[place] if times[place] == 1 else _SOMETHING_ELSE
            if each.error_code in _AGAIN:
                errand.words[place] = each.error_message
            else:
                del errand.open[place]
                errand.done[place] = each
        self._landed(errand, now)

    def on_failure(self, call_id: CallId, now: Instant) -> None:
        sent = self._sent.pop(call_id)
        for place in sent.places:
            sent.errand.words.pop(place, None)
        self._landed(sent.errand, now)

    def _landed(self, errand: _Errand, now: Instant) -> None:
        """With the last of its calls it is done, or goes on later."""
        errand.in_flight -= 1
        if errand.in_flight:
            return
        if errand.open and errand.attempts < self._way.most_attempts:
            self._number += 1
            pause = min(_FIRST_PAUSE_S * 2 ** (errand.attempts - 1), _LONGEST_PAUSE_S)
            heappush(self._later, (Instant(now + pause), self._number, errand))
            return
        for place in errand.open:
            errand.done[place] = Unanswered(ErrorCode.COORDINATOR_NOT_AVAILABLE, errand.words.get(place))
        self._finished.append(errand)


def _request(errand: _Errand, places: tuple[Place, ...]) -> Message:
    by_topic: dict[Uuid, list[Any]] = {}
    for place in places:
        by_topic.setdefault(place[0], []).append(errand.open[place]())
    topics = tuple(errand.api.topic(topic_id=each, partitions=tuple(some)) for each, some in by_topic.items())
    body: Message = errand.api.request(group_id=errand.group_id, topics=topics)
    return body
