"""What becomes of records that are shared is kept by the share coordinator of their group and partition, wherever that
is; and read from there when a partition comes to be led here.

Of one share partition one thing is asked at a time, so that what is kept never goes back. A coordinator that moves, or
is being made, is asked again, a few times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.peers import Peers
from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.share_state.ports import TOPIC
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Instant, NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import read_share_group_state_request as reads
from controller_runtime.protocol.messages import write_share_group_state_request as writes
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

_CHANNEL: Final = "share-group-state"
_FIRST_PAUSE_S: Final = 0.1
_MOST_ATTEMPTS: Final = 7
_LATER: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
_TOLD: Final = {
    **dict.fromkeys(_LATER, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""What members are told; of all else, that it is this server's fault."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How it ended."""

    error: ErrorCode = ErrorCode.NONE
    words: str = ""
    state: Any = None
    """Of a read: what is known of the partition."""


Then = Callable[[Kept], None]


@dataclass(slots=True, eq=False)
class _Wish:
    key: ShareKey
    body: Callable[[], Message]
    then: Then
    attempts: int = 0


class Persister:
    def __init__(self, peers: Peers, image: Callable[[], MetadataImage], make_topic: Callable[[Instant], None]) -> None:
        """`make_topic`: ask for `__share_group_state`."""
        self._peers, self._image, self._make_topic = peers, image, make_topic
        self._queues: dict[ShareKey, deque[_Wish]] = {}
        """The first of each is on its way."""
        self._ready: deque[_Wish] = deque()
        self._later: list[tuple[Instant, int, _Wish]] = []
        self._asked: dict[CallId, _Wish] = {}
        self._number = 0

    # What is wanted.

    def read(self, key: ShareKey, leader_epoch: int, then: Then) -> None:
        data = reads.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
        topic = reads.ReadStateData(topic_id=key.topic_id, partitions=(data,))
        asked = reads.ReadShareGroupStateRequest(group_id=key.group_id, topics=(topic,))
        self._add(_Wish(key, lambda: asked, then))

    def write(self, key: ShareKey, data: Callable[[], writes.PartitionData], then: Then) -> None:
        """`data`: as it is when its turn comes."""

        def body() -> Message:
            topic = writes.WriteStateData(topic_id=key.topic_id, partitions=(data(),))
            return writes.WriteShareGroupStateRequest(group_id=key.group_id, topics=(topic,))

        self._add(_Wish(key, body, then))

    def _add(self, wish: _Wish) -> None:
        queue = self._queues.setdefault(wish.key, deque())
        queue.append(wish)
        if len(queue) == 1:
            self._ready.append(wish)

    # What is sent.

    @property
    def has_ready(self) -> bool:
        return bool(self._ready)

    def next_deadline(self) -> Instant | None:
        return self._later[0][0] if self._later else None

    def poll(self, now: Instant) -> list[BrokerEffect]:
        while self._later and self._later[0][0] <= now:
            self._ready.append(heappop(self._later)[2])
        out: list[BrokerEffect] = []
        for _ in range(len(self._ready)):
            out += self._send(self._ready.popleft(), now)
        return out

    def _send(self, wish: _Wish, now: Instant) -> list[BrokerEffect]:
        topic = self._image().topics.named(TOPIC)
        if topic is None:
            self._make_topic(now)
        leader = None if topic is None else topic.leader(partition_for(str(wish.key), topic.partition_count))
        if leader is None or leader < 0:
            self._again(wish, now, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return []
        body = wish.body()
        called = self._peers.call(NodeId(leader), _CHANNEL, body, lambda answer: self._answered(wish, answer, now))
        if called is None:
            self._again(wish, now, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return []
        call_id, effects = called
        if call_id is not None:
            self._asked[call_id] = wish
        return effects

    def _again(self, wish: _Wish, now: Instant, error: ErrorCode, words: str = "") -> None:
        wish.attempts += 1
        if wish.attempts >= _MOST_ATTEMPTS:
            self._end(wish, Kept(_TOLD[error], words))
            return
        self._number += 1
        pause = _FIRST_PAUSE_S * 2 ** (wish.attempts - 1)
        heappush(self._later, (Instant(now + pause), self._number, wish))

    # What comes back.

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._asked

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> None:
        self._answered(self._asked.pop(call_id), body, now)

    def on_failure(self, call_id: CallId, now: Instant) -> None:
        self._again(self._asked.pop(call_id), now, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _answered(self, wish: _Wish, answer: Any, now: Instant) -> None:
        found = [
            one
            for topic in answer.results
            if topic.topic_id == wish.key.topic_id
            for one in topic.partitions
            if one.partition == wish.key.partition
        ]
        if len(found) != 1:
            self._end(wish, Kept(ErrorCode.UNKNOWN_SERVER_ERROR, "the share coordinator answered something else"))
            return
        error, words = ErrorCode(found[0].error_code), found[0].error_message or ""
        if error in _LATER:
            self._again(wish, now, error, words)
        elif error != ErrorCode.NONE:
            self._end(wish, Kept(_TOLD.get(error, ErrorCode.UNKNOWN_SERVER_ERROR), words))
        else:
            self._end(wish, Kept(state=found[0]))

    def _end(self, wish: _Wish, kept: Kept) -> None:
        queue = self._queues[wish.key]
        queue.popleft()
        if queue:
            self._ready.append(queue[0])
        else:
            del self._queues[wish.key]
        wish.then(kept)
