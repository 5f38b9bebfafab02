"""Members of groups as generators (see `transfer_clients`): each counts the positions of the partitions that it is
given up from what its group has committed, and commits them. One kind speaks the classic protocol, one that of KIP-848.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from controller_runtime.protocol.messages.heartbeat_request import HeartbeatRequest
from controller_runtime.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from controller_runtime.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field
from support.clients.transfer_clients import Ask, Finding, Pause, Steps

TOPIC, PARTITIONS = "shared", 5
SESSION_MS: Final = 6_000
REBALANCE_MS: Final = 60_000
LEAVING: Final = -1
LONG_STEPS: Final = 200
"""More than a session."""
_ELSEWHERE: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_OUT: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
)


class OutOfGroupError(Exception):
    """The member has to join again; what it had is somebody else's."""


@dataclass(frozen=True, slots=True)
class Known:
    """Who coordinates, as the controller knows it, and when."""

    node: NodeId | None
    epoch: int
    """Of the leader of the group's partition."""
    now: float


@dataclass(slots=True)
class Group:
    """What is known of a group by all of its members together, for those who judge."""

    name: str
    topic_id: Uuid
    known: Callable[[], Known]
    acknowledged: dict[int, int] = field(default_factory=dict)
    """By partition: the highest position of which a member was told that it is committed."""
    taken: int = 0
    """How often a partition came to a member."""
    commits: int = 0
    fenced: int = 0
    refused: int = 0
    """Commits that came from members which should know better."""
    wrong: list[str] = field(default_factory=list)
    """Promises that a member saw broken."""


class GroupMember(ABC):
    """What both kinds have in common."""

    def __init__(self, group: Group, finding: Finding, number: int) -> None:
        self.group, self.finding = group, finding
        self.member_id = ""
        self.number = number
        self.epoch = 0
        """Or generation."""
        self.owned: set[int] = set()
        self.positions: dict[int, int] = {}
        self.heard: Known | None = None
        """When the member last asked what the coordinator answered well, if the coordinator was and is the only one."""
        self.is_dead = False
        self.is_leaving = False
        self.is_sleeping = False

    def run(self) -> Steps:
        while not self.is_leaving:
            try:
                yield from self.join()
                while not self.is_leaving:
                    yield from self.stay()
            except OutOfGroupError:
                self.group.fenced += bool(self.owned)
                self.drop()
                yield Pause(self.finding.rng.randint(1, 5))
        self.drop()
        yield from self.leave()

    @abstractmethod
    def join(self) -> Steps: ...

    @abstractmethod
    def beat(self) -> Steps: ...

    @abstractmethod
    def leave(self) -> Steps: ...

    def drop(self) -> None:
        self.owned, self.positions, self.heard = set(), {}, None

    def stay(self) -> Steps:
        rng = self.finding.rng
        yield from self.beat()
        for index in sorted(self.owned - self.positions.keys()):
            yield from self.fetch_position(index)
        if self.is_sleeping:
            self.is_sleeping = False
            yield Pause(LONG_STEPS)
        for index in sorted(self.owned & self.positions.keys()):
            self.positions[index] += rng.randint(0, 3)
        if self.positions and rng.random() < 0.7:
            yield from self.commit()
        yield Pause(rng.randint(4, 12))

    def ask(self, body: Message, version: int, patience: int = 40) -> Steps:
        """The answer, or None: nobody answered, or somebody who is not the coordinator, or not yet."""
        name = self.group.name
        node = self.finding.coordinator(0, name)
        if node is None:
            node = yield from self.finding.find(0, name)
        if node is None:
            yield Pause(2)
            return None
        answer = yield Ask(node, body, version, patience)
        code = None if answer is None else code_of(answer)
        if code is None or code in _ELSEWHERE:
            self.finding.forget_coordinator(0, name)
            return None
        return None if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else answer

    def note(self, asked: Known, node: NodeId | None) -> None:
        """The coordinator has answered that the member is one."""
        now = self.group.known()
        is_only = asked.node == node == now.node and asked.epoch == now.epoch
        self.heard = asked if is_only else None

    def fetch_position(self, index: int) -> Steps:
        topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=(index,))
        group = OffsetFetchRequestGroup(
            group_id=self.group.name, member_id=self.told_id, member_epoch=self.told_epoch, topics=(topic,)
        )
        floor, asked = self.group.acknowledged.get(index, 0), self.group.known()
        answer = yield from self.ask(OffsetFetchRequest(groups=(group,), require_stable=True), 9)
        if answer is None or answer.groups[0].error_code:
            return
        part = answer.groups[0].topics[0].partitions[0]
        if part.error_code:
            return
        found, now = max(0, part.committed_offset), self.group.known()
        if found < floor and (now.node, now.epoch) == (asked.node, asked.epoch):
            self.group.wrong.append(f"{self} is told {found} of partition {index}, {floor} was committed")
        self.positions[index] = found
        self.group.taken += 1

    @property
    def told_id(self) -> str | None:
        """What OffsetFetch says of the member."""
        return None

    @property
    def told_epoch(self) -> int:
        return -1

    def commit(self) -> Steps:
        committed = dict(self.positions)
        parts = tuple(
            OffsetCommitRequestPartition(partition_index=index, committed_offset=position)
            for index, position in sorted(committed.items())
        )
        request = OffsetCommitRequest(
            group_id=self.group.name,
            generation_id_or_member_epoch=self.epoch,
            member_id=self.member_id,
            topics=(OffsetCommitRequestTopic(name=TOPIC, partitions=parts),),
        )
        floors = dict(self.group.acknowledged)
        answer = yield from self.ask(request, 9)
        if answer is None:
            return
        if code := code_of(answer):
            self.group.refused += code in _OUT or code == ErrorCode.STALE_MEMBER_EPOCH
            return
        self.group.commits += 1
        for index, position in committed.items():
            if position < floors.get(index, 0):
                self.group.wrong.append(f"{self} commits {position} of partition {index} after {floors[index]}")
            before = self.group.acknowledged.get(index, 0)
            self.group.acknowledged[index] = max(before, position)

    def __str__(self) -> str:
        return f"member {self.number} of {self.group.name} ({self.member_id} at {self.epoch})"


class ConsumerMember(GroupMember):
    """KIP-848: it is told what it has, and says what it has."""

    def __init__(self, group: Group, finding: Finding, number: int) -> None:
        super().__init__(group, finding, number)
        self.member_id = f"member-{number}"
        self._assignor = finding.rng.choice((None, "uniform", "range"))
        self._said: set[int] | None = None
        """What the coordinator knows that the member has; None: all has to be said."""

    @property
    def told_id(self) -> str | None:
        return self.member_id

    @property
    def told_epoch(self) -> int:
        return self.epoch

    def join(self) -> Steps:
        self.epoch, self._said = 0, None
        yield from ()

    def beat(self) -> Steps:
        saying, everything = set(self.owned), self._said is None
        owned = () if not saying else (TopicPartitions(topic_id=self.group.topic_id, partitions=tuple(sorted(saying))),)
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group.name,
            member_id=self.member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=REBALANCE_MS if everything else -1,
            subscribed_topic_names=(TOPIC,) if everything else None,
            server_assignor=self._assignor if everything else None,
            topic_partitions=owned if everything or saying != self._said else None,
        )
        asked, node = self.group.known(), self.finding.coordinator(0, self.group.name)
        answer = yield from self.ask(request, 1)
        if answer is None:
            self._said = None
            return
        if answer.error_code:
            raise OutOfGroupError
        self._said, self.epoch = saying, answer.member_epoch
        self.note(asked, node)
        if answer.assignment is not None:
            parts = {index for each in answer.assignment.topic_partitions for index in each.partitions}
            if self.owned - parts:
                yield from self._give_up()
            self.positions = {index: at for index, at in self.positions.items() if index in parts}
            self.owned = parts

    def _give_up(self) -> Steps:
        """It takes its time, and commits what it has read."""
        yield Pause(self.finding.rng.randint(2, 20))
        if self.positions:
            yield from self.commit()

    def leave(self) -> Steps:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group.name, member_id=self.member_id, member_epoch=LEAVING
        )
        yield from self.ask(request, 1)


class ClassicMember(GroupMember):
    """JoinGroup, SyncGroup, Heartbeat: whoever leads shares out; who is told of a rebalance gives up all it has."""

    def join(self) -> Steps:
        while True:
            self.epoch = -1
            request = JoinGroupRequest(
                group_id=self.group.name,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
                member_id=self.member_id,
                protocol_type="consumer",
                protocols=(JoinGroupRequestProtocol(name="each in turn", metadata=b""),),
            )
            answer = yield from self.ask(request, 9, patience=LONG_STEPS)
            if answer is None:
                continue
            if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = answer.member_id
            elif answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            elif not answer.error_code:
                self.member_id, self.epoch = answer.member_id, answer.generation_id
                if (yield from self._sync(sorted(each.member_id for each in answer.members))):
                    return
            else:
                yield Pause(2)

    def _sync(self, members: list[str]) -> Steps:
        """Whether the member got its part. `members`: of whoever leads."""
        shares: dict[str, list[int]] = {name: [] for name in members}
        for index in range(PARTITIONS if members else 0):
            shares[members[index % len(members)]].append(index)
        request = SyncGroupRequest(
            group_id=self.group.name,
            generation_id=self.epoch,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="each in turn",
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=name, assignment=bytes(indexes))
                for name, indexes in shares.items()
            ),
        )
        asked, node = self.group.known(), self.finding.coordinator(0, self.group.name)
        answer = yield from self.ask(request, 5, patience=LONG_STEPS)
        if answer is None or answer.error_code:
            return False
        self.owned = set(answer.assignment)
        self.note(asked, node)
        return True

    def beat(self) -> Steps:
        request = HeartbeatRequest(group_id=self.group.name, generation_id=self.epoch, member_id=self.member_id)
        asked, node = self.group.known(), self.finding.coordinator(0, self.group.name)
        answer = yield from self.ask(request, 4)
        if answer is None:
            return
        if answer.error_code:
            raise OutOfGroupError
        self.note(asked, node)

    def leave(self) -> Steps:
        if self.member_id:
            members = (MemberIdentity(member_id=self.member_id),)
            yield from self.ask(LeaveGroupRequest(group_id=self.group.name, members=members), 5)


def code_of(answer: Any) -> int:
    """The first error of an answer."""
    if hasattr(answer, "error_code"):
        return int(answer.error_code)
    if hasattr(answer, "groups"):
        group = answer.groups[0]
        return int(group.error_code or next((part.error_code for part in group.topics[0].partitions), 0))
    return next((int(part.error_code) for topic in answer.topics for part in topic.partitions if part.error_code), 0)
