"""TxnOffsetCommit: offsets that a transaction commits, verified at its coordinator, then written by the group's.

Version 5 adds the group's partition of `__consumer_offsets` to the transaction if it is not in it (KIP-890).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.sequences import Verification, has_open_transaction
from controller_runtime.broker.transactions.verification import Question, Verifier, translated
from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.log_waits import told_of
from controller_runtime.coordinator.ports import TOPIC
from controller_runtime.coordinator.transactions.states import Place
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from controller_runtime.values import dataclass

FIRST_ADDING: Final = 5
_FIRST_WITH_ABORTABLE: Final = 4
WriteOffsets = Callable[
    [RequestReceived, TxnOffsetCommitRequest, Verification | ErrorCode | None, Instant, WallClock], "list[BrokerEffect]"
]


@dataclass(slots=True, eq=False)
class _Held:
    event: RequestReceived
    request: TxnOffsetCommitRequest
    verification: Verification
    error: ErrorCode | None = None


class VerifiedOffsets:
    def __init__(self, partitions: LocalPartitions, verifier: Verifier, write: WriteOffsets) -> None:
        self._partitions = partitions
        self._verifier = verifier
        self._write = write
        self._held: list[_Held] = []

    def on_request(
        self, event: RequestReceived, request: TxnOffsetCommitRequest, now: Instant, wall: WallClock
    ) -> list[BrokerEffect]:
        image = self._partitions.image
        topic = image.topics.named(TOPIC)
        index = None if topic is None else partition_for(request.group_id, topic.partition_count)
        leader = None if topic is None or index is None else self._partitions.led(PartitionId(topic.id, index))
        adds = event.api_version >= FIRST_ADDING
        verifies = adds or self._partitions.rules(TOPIC).verifies_transactions
        if leader is None or index is None or not request.group_id or not (verifies and _has_known(image, request)):
            return self._write(event, request, None, now, wall)
        producer_id, epoch = request.producer_id, request.producer_epoch
        if has_open_transaction(leader.log.producers.get(producer_id), epoch):
            return self._write(event, request, None, now, wall)
        held = _Held(event, request, leader.verifications.begin(producer_id, epoch, 0, begins_at_zero=adds))
        self._held.append(held)

        def told(codes: dict[Place, ErrorCode]) -> None:
            held.error = next(iter(codes.values()))

        question = Question(request.transactional_id, producer_id, epoch, ((TOPIC, index),), adds=adds, told=told)
        return [*self._verifier.ask(image, question), *self.go_on(now, wall)]

    def go_on(self, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        """Write what is verified by now."""
        ripe = [each for each in self._held if each.error is not None]
        if not ripe:
            return []
        self._held = [each for each in self._held if each.error is None]
        out: list[BrokerEffect] = []
        for each in ripe:
            error = each.error or ErrorCode.NONE
            if error:
                version = each.event.api_version
                code = translated(
                    error, knows_concurrent=version >= FIRST_ADDING, knows_abortable=version >= _FIRST_WITH_ABORTABLE
                )
                out += self._write(each.event, each.request, told_of(code), now, wall)
            else:
                out += self._write(each.event, each.request, each.verification, now, wall)
        return out


def _has_known(image: MetadataImage, request: TxnOffsetCommitRequest) -> bool:
    """Some partition is there: else nothing is to be verified."""
    for topic in request.topics:
        known = image.topics.named(topic.name)
        if known is not None and any(0 <= each.partition_index < known.partition_count for each in topic.partitions):
            return True
    return False
