"""The members of a group of the classic protocol: who they are, what each waits for, which protocol they agree on.

A member votes for the first of its protocols that all members have. A static member is known by its instance id, and
keeps its place when it comes back under another member id.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.codec import decode_prefix
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from controller_runtime.values import dataclass, field

CONSUMER: Final = "consumer"
"""The protocol type whose metadata says what is subscribed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that waits for the group."""

    request_id: RequestId
    version: int


@dataclass(frozen=True, slots=True)
class Joining:
    """What a JoinGroup says, and who sent it."""

    asked: Asked
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    """Name and metadata, the preferred one first."""
    new_member_id: str
    """The id that it gets if it has none."""


@dataclass(slots=True)
class Member:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    joining: Asked | None = None
    syncing: Asked | None = None
    is_new: bool = False
    """It joins for the first time: it cannot send heartbeats meanwhile."""

    def metadata(self, protocol: str | None) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def vote(self, candidates: frozenset[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)


@dataclass(slots=True)
class Members:
    """In the order in which they came."""

    by_id: dict[str, Member] = field(default_factory=dict)
    static_ids: dict[str, str] = field(default_factory=dict)
    """The member id of each instance id."""
    pending: set[str] = field(default_factory=set)
    """Ids that were given out, and with which nobody has joined yet."""
    leader: str | None = None

    def add(self, member: Member) -> None:
        assert member.member_id not in self.by_id, f"{member.member_id} is there"
        if self.leader is None:
            self.leader = member.member_id
        self.by_id[member.member_id] = member
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.member_id
        self.pending.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """A leader that goes is followed by the member that has been there longest."""
        member = self.by_id.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            self.static_ids.pop(member.instance_id, None)
        self.pending.discard(member_id)
        if member_id == self.leader:
            self.leader = next(iter(self.by_id), None)

    def rename(self, old_id: str, new_id: str) -> Member:
        """The same static member in another process; it keeps its place."""
        member = self.by_id[old_id]
        member.member_id = new_id
        self.by_id = {new_id if key == old_id else key: each for key, each in self.by_id.items()}
        assert member.instance_id is not None, "only static members come back"
        self.static_ids[member.instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return member

    def judge(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Whether this is a member, as Kafka asks it everywhere."""
        if instance_id is not None:
            known = self.static_ids.get(instance_id)
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.by_id else ErrorCode.UNKNOWN_MEMBER_ID

    @property
    def joining_count(self) -> int:
        return sum(member.joining is not None for member in self.by_id.values())

    @property
    def all_joined(self) -> bool:
        return not self.pending and all(member.joining is not None for member in self.by_id.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.by_id.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """The leader, or whoever has rejoined in its place; False: nobody has."""
        if self.leader is None:
            return False
        if self.by_id[self.leader].joining is not None:
            return True
        joined = next((each.member_id for each in self.by_id.values() if each.joining is not None), None)
        if joined is None:
            return False
        self.leader = joined
        return True

    def candidates(self) -> frozenset[str]:
        """Protocols that all members have."""
        counts = Counter(name for member in self.by_id.values() for name in {name for name, _ in member.protocols})
        return frozenset(name for name, count in counts.items() if count == len(self.by_id))

    def supports(self, protocols: tuple[tuple[str, bytes], ...]) -> bool:
        """One of them is had by all."""
        candidates = self.candidates()
        return any(name in candidates for name, _ in protocols)

    def elect_protocol(self) -> str:
        """What most of them prefer of what all have; of equals the one that was named first."""
        candidates = self.candidates()
        votes = Counter(member.vote(candidates) for member in self.by_id.values())
        return max(votes, key=lambda name: votes[name])

    def subscribed_topics(self, protocol: str | None) -> frozenset[str] | None:
        """What consumers say that they read; None: somebody's words cannot be read."""
        found: set[str] = set()
        for member in self.by_id.values():
            topics = _topics_of(member.metadata(protocol))
            if topics is None:
                return None
            found.update(topics)
        return frozenset(found)


def text_of_uuid(uuid: Uuid) -> str:
    """As Java's UUID writes itself; Kafka's coordinators make ids of members of it."""
    text = uuid.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _topics_of(metadata: bytes) -> tuple[str, ...] | None:
    if len(metadata) < 2:
        return None
    version = int.from_bytes(metadata[:2], "big", signed=True)
    if version < 0:
        return None
    read_as = min(version, ConsumerProtocolSubscription.VERSIONS.highest)
    try:
        return decode_prefix(ConsumerProtocolSubscription, metadata, read_as, 2)[0].topics
    except ProtocolError:
        return None
