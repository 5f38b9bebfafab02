"""Members of a share group (KIP-932) and who writes for them, as generators (see `transfer_clients`), and an account of
what they were given: each takes records from whoever leads, and accepts, releases or rejects them, or says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Final

from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import share_acknowledge_request as acknowledges
from controller_runtime.protocol.messages import share_fetch_request as fetches
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from controller_runtime.values import dataclass, field
from support.clients.lying_batches import batch, record
from support.clients.transfer_clients import BEGINS_MS, Ask, Finding, Pause, Steps

GROUP, TOPIC, PARTITIONS = "sharers", "work", 2
LOCK_S: Final = 2.0
LEAVING: Final = -1
ACCEPT, RELEASE, REJECT = 1, 2, 3
_MARGIN_S: Final = 0.2
"""Clocks of brokers are a step or two apart."""
_ELSEWHERE: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
Place = tuple[int, int]
"""Partition and offset."""


@dataclass(frozen=True, slots=True)
class Led:
    """Who leads a partition, as the controller knows it, and when."""

    node: NodeId | None
    epoch: int
    now: float


@dataclass(frozen=True, slots=True)
class Taken:
    """A record that a member has: given between `asked` and `heard` by whoever led in this epoch."""

    member: int
    asked: float
    heard: float
    epoch: int


@dataclass(slots=True)
class Account:
    """What all know together, for those who judge."""

    topic_id: Uuid
    led: Callable[[int], Led]
    written: set[Place] = field(default_factory=set)
    """Whoever wrote them was told so."""
    given: dict[Place, int] = field(default_factory=dict)
    """How often it came to a member."""
    held: dict[Place, Taken] = field(default_factory=dict)
    done: dict[Place, float] = field(default_factory=dict)
    """Since when somebody knows that it is accepted or rejected."""
    released: int = 0
    refused: int = 0
    """Acknowledgements of records that their member had no more."""
    wrong: list[str] = field(default_factory=list)

    def give(self, member: int, index: int, offsets: Iterable[int], asked: Led, node: NodeId) -> None:
        now = self.led(index)
        is_only = asked.node == node == now.node and asked.epoch == now.epoch
        for offset in offsets:
            place = index, offset
            self.given[place] = self.given.get(place, 0) + 1
            if is_only:
                self._judge(member, place, asked, now)
                self.held[place] = Taken(member, asked.now, now.now, now.epoch)
            else:
                self.held.pop(place, None)

    def _judge(self, member: int, place: Place, asked: Led, now: Led) -> None:
        done, other = self.done.get(place), self.held.get(place)
        if done is not None and done < asked.now:
            self.wrong.append(f"member {member} is given {place} at {asked.now:.2f}, which was done at {done:.2f}")
        if other is None or other.epoch != now.epoch:
            return
        if other.heard < asked.now and now.now < other.asked + LOCK_S - _MARGIN_S:
            self.wrong.append(f"member {member} is given {place} at {asked.now:.2f}, which {other} has")

    def hear(self, place: Place, kind: int, error: int) -> None:
        """What the leader has answered to what a member said of it."""
        self.refused += error != ErrorCode.NONE
        if error == ErrorCode.NONE and kind == RELEASE:
            self.released += 1
        elif error == ErrorCode.NONE:
            self.done.setdefault(place, self.led(place[0]).now)

    def let_go(self, member: int, place: Place) -> None:
        """Whether he has it still, nobody knows."""
        if place in self.held and self.held[place].member == member:
            del self.held[place]

    def drop(self, member: int) -> None:
        """Of nothing that he was given is it known whether he has it still."""
        for place in [place for place, taken in self.held.items() if taken.member == member]:
            del self.held[place]


class Writer:
    """Writes to each partition in turn."""

    def __init__(self, account: Account, rng: Random) -> None:
        self.account, self.rng = account, rng
        self.is_stopping = False

    def run(self) -> Steps:
        while not self.is_stopping:
            for index in range(PARTITIONS):
                yield from self._write(index)
            yield Pause(self.rng.randint(1, 20))

    def _write(self, index: int) -> Steps:
        count = self.rng.randint(1, 4)
        payload = b"".join(record(place, b"work") for place in range(count))
        data = batch(payload, count=count, time=BEGINS_MS)
        part = PartitionProduceData(index=index, records=data)
        request = ProduceRequest(
            acks=-1, timeout_ms=5_000, topic_data=(TopicProduceData(name=TOPIC, partition_data=(part,)),)
        )
        answer = yield Ask(self.account.led(index).node, request, 11)
        if answer is not None and not (told := answer.responses[0].partition_responses[0]).error_code:
            self.account.written |= {(index, told.base_offset + n) for n in range(count)}


@dataclass(slots=True)
class _Session:
    indexes: tuple[int, ...]
    epoch: int = 0
    """Of the next request."""


class Sharer:
    def __init__(self, account: Account, finding: Finding, number: int) -> None:
        self.account, self.finding, self.number = account, finding, number
        self.member_id = str(Uuid.of(number, 7))
        self.epoch = 0
        self.assigned: tuple[int, ...] = ()
        self.is_leaving = False
        self.is_sleeping = False
        self.is_diligent = False
        """It accepts all, at once."""
        self._sessions: dict[NodeId, _Session] = {}
        self._has: dict[NodeId, set[Place]] = {}

    def run(self) -> Steps:
        rng = self.finding.rng
        while not self.is_leaving:
            yield from self._beat()
            for node, indexes in self._leaders().items():
                yield from self._take(node, indexes)
            if self.is_sleeping:
                self.is_sleeping = False
                yield Pause(rng.choice((10, 60, 160)))
            for node in list(self._has):
                yield from self._acknowledge(node)
            yield Pause(rng.randint(1, 10))
        for node in list(self._has):
            self._forget(node)
        yield from self._ask_coordinator(LEAVING)

    # The group.

    def _beat(self) -> Steps:
        answer = yield from self._ask_coordinator(self.epoch)
        if answer is None:
            return
        if answer.error_code:
            self.epoch, self.assigned = 0, ()
            return
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            parts = (index for topic in answer.assignment.topic_partitions for index in topic.partitions)
            self.assigned = tuple(sorted(parts))

    def _ask_coordinator(self, epoch: int) -> Steps:
        node = self.finding.coordinator(0, GROUP)
        if node is None:
            node = yield from self.finding.find(0, GROUP)
        if node is None:
            yield Pause(2)
            return None
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=epoch,
            subscribed_topic_names=None if epoch else (TOPIC,),
        )
        answer = yield Ask(node, request, 1)
        if answer is None or answer.error_code in _ELSEWHERE:
            self.finding.forget_coordinator(0, GROUP)
            return None
        return None if answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else answer

    # The partitions.

    def _leaders(self) -> dict[NodeId, tuple[int, ...]]:
        found: dict[NodeId, tuple[int, ...]] = {}
        for index in self.assigned:
            node = self.account.led(index).node
            if node is not None:
                found[node] = (*found.get(node, ()), index)
        return found

    def _take(self, node: NodeId, indexes: tuple[int, ...]) -> Steps:
        session = self._sessions.get(node)
        if session is None or session.indexes != indexes:
            self._forget(node)
            session = self._sessions[node] = _Session(indexes)
        parts = tuple(fetches.FetchPartition(partition_index=index) for index in indexes)
        most = self.finding.rng.choice((1, 3, 500))
        request = fetches.ShareFetchRequest(
            group_id=GROUP,
            member_id=self.member_id,
            share_session_epoch=session.epoch,
            max_wait_ms=200,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=most,
            batch_size=most,
            topics=() if session.epoch else (fetches.FetchTopic(topic_id=self.account.topic_id, partitions=parts),),
        )
        asked = {index: self.account.led(index) for index in indexes}
        answer = yield Ask(node, request, 1, patience=60)
        if answer is None or answer.error_code:
            self._forget(node)
            return
        session.epoch += 1
        for data in (part for topic in answer.responses for part in topic.partitions):
            if data.error_code:
                self._sessions.pop(node, None)
            for run in data.acquired_records:
                offsets = range(run.first_offset, run.last_offset + 1)
                self._has.setdefault(node, set()).update((data.partition_index, offset) for offset in offsets)
                self.account.give(self.number, data.partition_index, offsets, asked[data.partition_index], node)

    def _acknowledge(self, node: NodeId) -> Steps:
        session = self._sessions.get(node)
        if session is None or not session.epoch:
            self._forget(node)
            return
        kinds = {place: kind for place in sorted(self._has.pop(node)) if (kind := self._kind())}
        by_index = {index: [place for place in kinds if place[0] == index] for index, _ in kinds}
        if not by_index:
            return
        parts = tuple(
            acknowledges.AcknowledgePartition(
                partition_index=index,
                acknowledgement_batches=tuple(
                    acknowledges.AcknowledgementBatch(
                        first_offset=place[1], last_offset=place[1], acknowledge_types=(kinds[place],)
                    )
                    for place in places
                ),
            )
            for index, places in by_index.items()
        )
        topic = acknowledges.AcknowledgeTopic(topic_id=self.account.topic_id, partitions=parts)
        request = acknowledges.ShareAcknowledgeRequest(
            group_id=GROUP, member_id=self.member_id, share_session_epoch=session.epoch, topics=(topic,)
        )
        for place in kinds:  # from now on somebody else may have what is released
            self.account.let_go(self.number, place)
        answer = yield Ask(node, request, 1, patience=80)
        if answer is None or answer.error_code:
            self._forget(node)
            return
        session.epoch += 1
        for data in (part for topic in answer.responses for part in topic.partitions):
            for place in by_index.get(data.partition_index, ()):
                self.account.hear(place, kinds[place], data.error_code)

    def _kind(self) -> int:
        """0: it says nothing, and the lock runs out."""
        return ACCEPT if self.is_diligent else self.finding.rng.choices((ACCEPT, RELEASE, REJECT, 0), (75, 12, 5, 8))[0]

    def _forget(self, node: NodeId) -> None:
        """The session is over, for him. Of what he was given there and has not said anything about, he says nothing."""
        self._sessions.pop(node, None)
        self._has.pop(node, None)
        self.account.drop(self.number)

    def die(self) -> None:
        self.account.drop(self.number)
