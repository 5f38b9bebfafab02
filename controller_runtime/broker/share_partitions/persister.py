"""What becomes of records that are shared is kept by the share coordinator of their group and partition, wherever that
is; and read from there when a partition comes to be led here.

Of one share partition one thing is asked at a time, so that what is kept never goes back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.peers import Peers
from controller_runtime.broker.share_state import persister
from controller_runtime.broker.share_state.persister import Api, Place, SharePersister, Way
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import read_share_group_state_request as reads
from controller_runtime.protocol.messages import write_share_group_state_request as writes
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

_WAY: Final = Way("share-group-state", most_attempts=7)
_TOLD: Final = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
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


@dataclass(frozen=True, slots=True)
class _Wish:
    key: ShareKey
    api: Api
    data: Callable[[], Any]
    then: Then


class Persister:
    def __init__(self, peers: Peers, image: Callable[[], MetadataImage], make_topic: Callable[[Instant], None]) -> None:
        """`make_topic`: ask for `__share_group_state`."""
        self._coordinators: Final = SharePersister(peers, image, make_topic, _WAY)
        self._queues: dict[ShareKey, deque[_Wish]] = {}
        """The first of each is on its way."""

    # What is wanted.

    def read(self, key: ShareKey, leader_epoch: int, then: Then) -> None:
        data = reads.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
        self._add(_Wish(key, persister.READ, lambda: data, then))

    def write(self, key: ShareKey, data: Callable[[], writes.PartitionData], then: Then) -> None:
        """`data`: as it is when its turn comes."""
        self._add(_Wish(key, persister.WRITE, data, then))

    def _add(self, wish: _Wish) -> None:
        queue = self._queues.setdefault(wish.key, deque())
        queue.append(wish)
        if len(queue) == 1:
            self._ask(wish)

    def _ask(self, wish: _Wish) -> None:
        key = wish.key
        place = key.topic_id, key.partition

        def answered(results: Mapping[Place, Any], *_: object) -> list[BrokerEffect]:
            self._end(wish, _kept(results[place]))
            return []

        self._coordinators.ask(wish.api, key.group_id, {place: wish.data}, answered)

    def _end(self, wish: _Wish, kept: Kept) -> None:
        queue = self._queues[wish.key]
        queue.popleft()
        if queue:
            self._ask(queue[0])
        else:
            del self._queues[wish.key]
        wish.then(kept)

    # Around it.

    @property
    def has_ready(self) -> bool:
        return self._coordinators.has_ready

    def next_deadline(self) -> Instant | None:
        return self._coordinators.next_deadline()

    def poll(self, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        return self._coordinators.poll(now, wall)

    def owns(self, call_id: CallId) -> bool:
        return self._coordinators.owns(call_id)

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> None:
        self._coordinators.on_response(call_id, body, now)

    def on_failure(self, call_id: CallId, now: Instant) -> None:
        self._coordinators.on_failure(call_id, now)


def _kept(found: Any) -> Kept:
    error, words = ErrorCode(found.error_code), found.error_message or ""
    if error != ErrorCode.NONE:
        return Kept(_TOLD.get(error, ErrorCode.UNKNOWN_SERVER_ERROR), words)
    return Kept(state=found)
