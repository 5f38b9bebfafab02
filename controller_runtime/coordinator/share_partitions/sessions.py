"""Share sessions: what a member of a group wants of this broker, from its first request to its last, or as long as its
connection. A session's epoch counts its requests, of both kinds: one that comes twice or out of turn is refused.

Whoever shares cannot do without one, so none gives way to another: when there are too many, who comes has to wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from controller_runtime.identifiers import Uuid
from controller_runtime.parts.events import ConnectionId
from controller_runtime.values import dataclass

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MOST_PARTITIONS: Final = 250_000
"""Of all sessions together."""
_LAST_EPOCH: Final = (1 << 31) - 1

Place = tuple[Uuid, int]
"""A partition by its topic's id."""


class Member(NamedTuple):
    group_id: str
    member_id: str


@dataclass(slots=True)
class Wanted:
    """A partition of a session."""

    topic: str | None
    """Its name when it came; None: nobody knew the id."""
    is_news: bool
    """Its member was not told yet that it is served, or was told of an error last."""


@dataclass(slots=True, eq=False)
class Session:
    member: Member
    connection_id: ConnectionId
    partitions: dict[Place, Wanted]
    """In the order in which they are read."""
    epoch: int = 1
    """Of the request that may come next."""
    size: int = 0

    def advance(self) -> None:
        self.epoch = 1 if self.epoch == _LAST_EPOCH else self.epoch + 1


class ShareSessions:
    def __init__(self, most: int, most_partitions: int = MOST_PARTITIONS) -> None:
        self._most, self._most_partitions = most, most_partitions
        self._sessions: dict[Member, Session] = {}
        self._by_connection: dict[ConnectionId, Session] = {}
        """The one that was begun last on it."""
        self._members: dict[str, int] = {}
        """By group, how many sessions."""
        self._partition_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """Of all of them together."""
        return self._partition_count

    def get(self, member: Member) -> Session | None:
        return self._sessions.get(member)

    def begin(
        self, member: Member, wanted: Iterable[tuple[Place, str | None]], connection_id: ConnectionId
    ) -> Session | None:
        """None: there is no room. One that the member had is over in any case."""
        self.remove(member)
        partitions = {place: Wanted(topic, is_news=False) for place, topic in wanted}
        if len(self._sessions) >= self._most or self._partition_count + len(partitions) > self._most_partitions:
            return None
        session = self._sessions[member] = Session(member, connection_id, partitions)
        self._by_connection[connection_id] = session
        self._members[member.group_id] = self._members.get(member.group_id, 0) + 1
        self._count(session)
        return session

    def update(self, session: Session, wanted: Iterable[tuple[Place, str | None]], forgotten: Iterable[Place]) -> bool:
        """False: it would become too large; then nothing is different."""
        new = {place: topic for place, topic in wanted if place not in session.partitions}
        if new and self._partition_count + len(new) > self._most_partitions:
            return False
        for place, topic in new.items():
            session.partitions[place] = Wanted(topic, is_news=True)
        for place in forgotten:
            session.partitions.pop(place, None)
        self._count(session)
        return True

    def _count(self, session: Session) -> None:
        self._partition_count += len(session.partitions) - session.size
        session.size = len(session.partitions)

    def remove(self, member: Member) -> Session | None:
        session = self._sessions.pop(member, None)
        if session is not None:
            self._partition_count -= session.size
            left = self._members[member.group_id] - 1
            if left:
                self._members[member.group_id] = left
            else:
                del self._members[member.group_id]
        return session

    def has_members(self, group_id: str) -> bool:
        return group_id in self._members

    def closed(self, connection_id: ConnectionId) -> tuple[Session | None, str | None]:
        """The session that ends with the connection, and the group of the last one that was begun on it."""
        session = self._by_connection.pop(connection_id, None)
        if session is None:
            return None, None
        is_alive = self._sessions.get(session.member) is session
        if is_alive:
            self.remove(session.member)
        return (session if is_alive else None), session.member.group_id

    def clear(self) -> None:
        for member in list(self._sessions):
            self.remove(member)
