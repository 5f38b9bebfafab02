"""What a broker remembers of clients that fetch again and again: fetch sessions (KIP-227), and which of them give way.

A session holds what its client wants of each partition, and what it was told of it last; so a request names only what
changed, and an answer only what is new. As in Kafka sessions live in eight shards, filled in turn, each with an eighth
of the slots; where one is full, a session gives way that was not used for two minutes, or one that is worth less than
the newcomer. Followers are worth more than consumers, and many partitions more than few.

Whoever fetches can do without a session, so there is a bound that Kafka does not have: on the partitions of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.identifiers import ZERO_UUID, Instant, Uuid
from controller_runtime.protocol.messages.fetch_request import FetchPartition
from controller_runtime.protocol.messages.fetch_response import PartitionData
from controller_runtime.values import dataclass, field

NO_SESSION: Final = 0
FIRST_EPOCH: Final = 1
FULL_EPOCH: Final = 0
"""Of a request that names every partition, and begins a session."""
FINAL_EPOCH: Final = -1
"""Of one that names every partition, and ends a session."""
LAST_EPOCH: Final = (1 << 31) - 1
SHARDS: Final = 8
SLOTS: Final = 1000
"""Kafka's `max.incremental.fetch.session.cache.slots`."""
MOST_PARTITIONS: Final = 250_000
"""Of all sessions together: some 80 MB."""
STALE_AFTER_S: Final = 120.0
"""Not used for so long, a session gives way to any other; and until it is so old, a consumer's to no other consumer's.
"""
_IDS_OF_SHARD: Final = LAST_EPOCH // SHARDS

Key = tuple[Uuid | str, int]
"""A partition: its topic's id, or its name where it has none, and its index."""


def key_of(topic: str, topic_id: Uuid, index: int) -> Key:
    return (topic if topic_id == ZERO_UUID else topic_id), index


def next_epoch(epoch: int) -> int:
    return FIRST_EPOCH if epoch == LAST_EPOCH else epoch + 1


@dataclass(slots=True)
class Cached:
    """A partition of a session."""

    topic: str
    topic_id: Uuid
    wanted: FetchPartition
    high_watermark: int = -1
    """As its client was told."""
    log_start: int = -1

    def has_news(self, found: PartitionData) -> bool:
        """Something that its client has not heard, or says that it has not (KIP-1166). It has by then: after an error
        whatever comes next is news.
        """
        is_told = (
            bool(found.records)
            or found.high_watermark != self.high_watermark
            or found.high_watermark > self.wanted.high_watermark
            or found.log_start_offset != self.log_start
            or found.preferred_read_replica != -1
            or found.error_code != 0
            or found.diverging_epoch.epoch != -1
        )
        self.log_start = found.log_start_offset
        self.high_watermark = found.high_watermark if found.error_code == 0 else -1
        return is_told


@dataclass(slots=True)
class Session:
    id: int
    is_followers: bool
    by_ids: bool
    """Its requests name topics by their ids."""
    created_at: Instant
    used_at: Instant
    epoch: int = FIRST_EPOCH
    """Of the request that may come next."""
    partitions: dict[Key, Cached] = field(default_factory=dict)
    """In the order in which they are read."""
    size: int = 0
    """How many there were when it was used last; as with `is_old`, this is what it is judged by."""
    is_old: bool = False


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """As Kafka's metrics count them."""

    sessions: int = 0
    partitions: int = 0
    evictions: int = 0


class FetchSessionCache:
    def __init__(self, slots: int, new_uuid: Callable[[], Uuid], most_partitions: int = MOST_PARTITIONS) -> None:
        """`new_uuid`: nobody guesses the id of another one's session."""
        self._slots = slots // SHARDS
        self._most = most_partitions
        self._new_uuid = new_uuid
        self._shards: tuple[dict[int, Session], ...] = tuple({} for _ in range(SHARDS))
        """By id; whose last use is longest ago comes first."""
        self._next_shard = 0
        self._partition_count = 0
        self._evictions = 0

    @property
    def counts(self) -> SessionCounts:
        return SessionCounts(sum(len(shard) for shard in self._shards), self._partition_count, self._evictions)

    def get(self, session_id: int) -> Session | None:
        return self._shard(session_id).get(session_id)

    def _shard(self, session_id: int) -> dict[int, Session]:
        return self._shards[min(max(session_id, 0) // _IDS_OF_SHARD, SHARDS - 1)]

    def create(self, partitions: dict[Key, Cached], now: Instant, *, is_followers: bool, by_ids: bool) -> int:
        """Its id; 0: there is no room for it."""
        number = self._next_shard
        self._next_shard = (number + 1) % SHARDS
        shard = self._shards[number]
        if len(shard) >= self._slots and not self._make_room(shard, (is_followers, len(partitions)), now):
            return NO_SESSION
        if self._partition_count + len(partitions) > self._most:
            return NO_SESSION
        session = Session(self._new_id(number), is_followers, by_ids, now, now, partitions=partitions)
        shard[session.id] = session
        self.touch(session, now)
        return session.id

    def _new_id(self, shard: int) -> int:
        while True:
            found = shard * _IDS_OF_SHARD + int.from_bytes(self._new_uuid()[:4]) % _IDS_OF_SHARD
            if found != NO_SESSION and found not in self._shards[shard]:
                return found

    def _make_room(self, shard: dict[int, Session], worth: tuple[bool, int], now: Instant) -> bool:
        """A session of this shard gives way to one that is worth so much, if one does."""
        if not shard:
            return False
        least = next(iter(shard.values()))
        if now - least.used_at <= STALE_AFTER_S:
            may_go = [each for each in shard.values() if each.is_old or (worth[0] and not each.is_followers)]
            if not may_go:
                return False
            least = min(may_go, key=lambda each: (each.is_followers, each.size, each.id))
            if worth <= (least.is_followers, least.size):
                return False
        self.remove(least)
        self._evictions += 1
        return True

    def touch(self, session: Session, now: Instant) -> bool:
        """It is used. False: its partitions have become too many, so it is there no more."""
        shard = self._shard(session.id)
        if shard.pop(session.id, None) is None:
            return True  # it gave way meanwhile, and its last request is still answered
        self._partition_count += len(session.partitions) - session.size
        session.used_at, session.size = now, len(session.partitions)
        session.is_old = now - session.created_at > STALE_AFTER_S
        if self._partition_count > self._most:
            self._partition_count -= session.size
            return False
        shard[session.id] = session
        return True

    def remove(self, session: Session) -> None:
        if self._shard(session.id).pop(session.id, None) is not None:
            self._partition_count -= session.size
