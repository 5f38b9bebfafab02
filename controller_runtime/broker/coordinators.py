"""The coordinators of a broker, of groups and of transactions, as the rest of it sees them: one.

They need each other: offsets of a transaction are the group coordinator's, and so are markers in its log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from controller_runtime.broker.cluster_view import View
from controller_runtime.broker.effects import BrokerEffect, RecordsRead, TimestampFound, WorkId
from controller_runtime.broker.forwarding import Forwarder
from controller_runtime.broker.late_coordinator import Coordinator, LateCoordinator
from controller_runtime.broker.late_share_partitions import LateSharePartitions
from controller_runtime.broker.late_transactions import LateTransactions
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Effects, Handler, LongAnswers
from controller_runtime.broker.produce import ProduceHandler
from controller_runtime.broker.producer_ids import ProducerIds
from controller_runtime.broker.sequences import Verification
from controller_runtime.broker.share_facts import ShareFacts
from controller_runtime.coordinator.group_settings import GroupSettings
from controller_runtime.coordinator.ports import KEYS as KEYS_OF_GROUPS
from controller_runtime.coordinator.ports import TOPIC as OFFSETS_TOPIC
from controller_runtime.coordinator.share_state.ports import KEYS as KEYS_OF_SHARES
from controller_runtime.coordinator.share_state.ports import TOPIC as SHARE_TOPIC
from controller_runtime.coordinator.transactions.settings import TransactionSettings
from controller_runtime.identifiers import Instant, NodeId, PartitionId, Uuid, WallClock
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.events import CallId, ConnectionId, ConnectionInfo, RequestReceived
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from controller_runtime.protocol.messages.write_txn_markers_request import WritableTxnMarker
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

if TYPE_CHECKING:
    from controller_runtime.broker.groups import Groups
    from controller_runtime.broker.share_partitions.service import SharePartitions
    from controller_runtime.broker.share_state.service import ShareStates
    from controller_runtime.broker.transactions.service import Transactions


@dataclass(frozen=True, slots=True)
class Around:
    """What coordinators use of the rest of the broker."""

    node_id: NodeId
    partitions: LocalPartitions
    produce: ProduceHandler
    producer_ids: ProducerIds
    forwarder: Forwarder
    long: LongAnswers
    faults: FailedRequests
    calls: CallIds
    listener: str
    """At which brokers speak with each other."""
    new_uuid: Callable[[], Uuid]
    version: Callable[[], int]
    """Of the newest image: where it ends."""
    may_describe: Callable[[ConnectionInfo, str], bool]
    """Whether who speaks there may know of a topic."""
    may_create: Callable[[ConnectionInfo, list[str]], list[str]]
    """Of these topics those that he may make."""
    may_read: Callable[[ConnectionInfo, str], bool]
    """Whether he may read it."""


class Coordinators:
    """Implements `late_coordinator.Coordinator`."""

    def __init__(self, around: Around, node_configs: Mapping[str, str]) -> None:
        self._around = around
        self._configs = node_configs
        self._made: Groups | None = None
        self._states: ShareStates | None = None
        self._at = Instant(0.0), WallClock(0)
        """Of the last poll."""
        self._groups: Final = LateCoordinator(OFFSETS_TOPIC, KEYS_OF_GROUPS, around.partitions, self._make_groups)
        self._transactions: Final = LateTransactions(
            around.partitions, around.produce, around.producer_ids, self._make_transactions
        )
        self._shares: Final = LateCoordinator(SHARE_TOPIC, KEYS_OF_SHARES, around.partitions, self._make_shares)
        self._shared: Final = LateSharePartitions(around.partitions, self._make_shared)

    def _make_groups(self, now: Instant) -> Coordinator:
        from controller_runtime.broker.around_groups import Outside
        from controller_runtime.broker.groups import Groups
        from controller_runtime.broker.offsets_topic import share_state_topic, transactions_topic
        from controller_runtime.broker.peers import Peers
        from controller_runtime.coordinator.share_state.settings import ShareStateSettings

        around = self._around
        topics = (
            transactions_topic(TransactionSettings.of(self._configs)),
            share_state_topic(ShareStateSettings.of(self._configs)),
        )
        outside = Outside(
            around.forwarder,
            around.long,
            around.faults,
            version=around.version,
            may_describe=around.may_describe,
            may_create=around.may_create,
            peers=Peers(around.node_id, around.calls, around.listener, lambda: around.partitions.image),
            further_topics={each.name: each for each in topics},
        )
        settings = GroupSettings.of(self._configs)
        self._made = Groups(around.partitions, settings, around.new_uuid, outside, now)
        return self._made

    def _make_shares(self, now: Instant) -> Coordinator:
        from controller_runtime.broker.share_state.service import ShareStates
        from controller_runtime.coordinator.share_state.settings import ShareStateSettings

        around = self._around
        settings = ShareStateSettings.of(self._configs)
        self._states = ShareStates(around.partitions, settings, around.long, around.faults, now)
        return self._states

    def _make_shared(self, _: Instant) -> SharePartitions:
        from controller_runtime.broker.offsets_topic import share_state_topic
        from controller_runtime.broker.peers import Peers
        from controller_runtime.broker.share_partitions.service import Outside, SharePartitions
        from controller_runtime.coordinator.share_partitions.settings import ShareSettings
        from controller_runtime.coordinator.share_state.settings import ShareStateSettings

        around = self._around
        topic = share_state_topic(ShareStateSettings.of(self._configs))
        partitions = around.partitions
        outside = Outside(
            partitions=partitions,
            long=around.long,
            faults=around.faults,
            peers=Peers(
                around.node_id, around.calls, around.listener, lambda: partitions.image, self._to_own_coordinator
            ),
            make_topic=lambda now: around.forwarder.create_internal_topic(topic, now),
            may_read=around.may_read,
        )
        return SharePartitions(outside, ShareSettings.of(self._configs))

    def _to_own_coordinator(self, body: Message, then: Callable[[Message], None]) -> Effects:
        now, wall = self._at
        self._shares.needed(now)
        assert self._states is not None, "it was made now or before"
        return self._states.to_itself(body, then, now, wall)

    def _make_transactions(self, now: Instant) -> Transactions:
        from controller_runtime.broker.transactions.service import Outside, Transactions

        around = self._around
        outside = Outside(
            node_id=around.node_id,
            partitions=around.partitions,
            produce=around.produce,
            long=around.long,
            faults=around.faults,
            calls=around.calls,
            listener=around.listener,
            next_producer_id=around.producer_ids.take,
            end_offsets=self._end_offsets,
            write_offsets=self._write_offsets,
        )
        return Transactions(outside, TransactionSettings.of(self._configs), now)

    def _end_offsets(self, key: PartitionId, marker: WritableTxnMarker, wall: WallClock) -> int | ErrorCode:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if self._made is None else self._made.end_transaction(key, marker, wall)

    def _write_offsets(
        self,
        event: RequestReceived,
        request: TxnOffsetCommitRequest,
        verification: Verification | ErrorCode | None,
        now: Instant,
        wall: WallClock,
    ) -> list[BrokerEffect]:
        self._groups.needed(now)
        assert self._made is not None, "it was made now or before"
        return self._made.commit_in_transaction(event, request, verification, now, wall)

    @property
    def share_facts(self) -> ShareFacts:
        return self._shared.facts

    @property
    def has_more_to_do(self) -> bool:
        return any(each.has_more_to_do for each in (self._groups, self._transactions, self._shares, self._shared))

    def next_deadline(self) -> Instant | None:
        wanted = (each.next_deadline() for each in (self._groups, self._transactions, self._shares, self._shared))
        return min((at for at in wanted if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        # What transactions write into the log of groups leaves with what groups write.
        out = [*self._transactions.poll(now, wall), *self._groups.poll(now, wall)]
        self._at = now, wall
        return [*out, *self._shares.poll(now, wall), *self._shared.poll(now, wall)]

    def handlers(self, view: Callable[[RequestReceived], View]) -> Mapping[int, Handler]:
        shares = {**self._shares.handlers(view), **self._shared.handlers()}
        return {**self._groups.handlers(view), **self._transactions.handlers(), **shares}

    def on_changed(self, key: PartitionId, now: Instant, wall: WallClock) -> Effects:
        out = [*self._groups.on_changed(key, now, wall), *self._transactions.on_changed(key, now, wall)]
        return [*out, *self._shares.on_changed(key, now, wall), *self._shared.on_changed(key, now, wall)]

    def on_written(self, leader: Leader) -> None:
        """More of the partition may be read."""
        self._shared.on_written(leader)

    def owns(self, work_id: WorkId) -> bool:
        return any(each.owns(work_id) for each in (self._transactions, self._groups, self._shares, self._shared))

    def on_read(self, event: RecordsRead) -> Effects:
        if self._shared.owns(event.work_id):
            return self._shared.on_read(event)
        if self._shares.owns(event.work_id):
            return self._shares.on_read(event)
        if self._transactions.owns(event.work_id):
            return self._transactions.on_read(event)
        return self._groups.on_read(event)

    def on_found(self, event: TimestampFound) -> None:
        self._shared.on_found(event)

    def on_closed(self, connection_id: ConnectionId) -> Effects:
        """Nobody waits any more."""
        self._transactions.on_closed(connection_id)
        return self._shared.on_closed(connection_id)

    # Calls.

    def _calling(self) -> list[Groups | LateTransactions | LateSharePartitions]:
        return [self._transactions, self._shared, *([] if self._made is None else [self._made])]

    def _caller(self, call_id: CallId) -> Groups | LateTransactions | LateSharePartitions:
        return next(each for each in self._calling() if each.owns_call(call_id))

    def owns_call(self, call_id: CallId) -> bool:
        return any(each.owns_call(call_id) for each in self._calling())

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> Effects:
        return self._caller(call_id).on_response(call_id, body, now)

    def on_failure(self, call_id: CallId, now: Instant) -> Effects:
        return self._caller(call_id).on_failure(call_id, now)
