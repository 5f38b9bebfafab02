"""The topic of a coordinator on the broker that leads its partitions: what is decided is appended as a producer's batch
is, and what is appended, read and cut is handed on in its order.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.effects import AppendRecords, BrokerEffect, ReadRecords, WorkId
from controller_runtime.broker.leader import Appended, Leader
from controller_runtime.broker.led_logs import GivenUp, Led, LedLogs, Loadable, Replay
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.sequences import Verification
from controller_runtime.identifiers import PartitionId, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode

Part = TypeVar("Part", bound=Loadable)


class CoordinatorLog(Generic[Part]):
    def __init__(
        self, partitions: LocalPartitions, topic: str, last_read: int, buffer_bytes: int, replay: Replay[Part]
    ) -> None:
        """`last_read`: reads have numbers below it; those of clients are positive."""
        self._partitions = partitions
        self._topic = topic
        self._last_read = last_read
        self._logs: Final[LedLogs[Part]] = LedLogs(last_read, buffer_bytes, replay)
        self._out: list[BrokerEffect] = []

    @property
    def image(self) -> MetadataImage:
        return self._partitions.image

    def append(
        self, index: int, batch: bytes, wall: WallClock, verification: Verification | None = None
    ) -> int | ErrorCode:
        """Where it ends; or why it is not taken, and nothing has changed. `verification`: of the transaction that it
        belongs to.
        """
        led = self._logs.by_index.get(index)
        leader = None if led is None else self._led_still(led)
        if led is None or leader is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self._partitions.has_too_few(leader):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        rules = self._partitions.rules(self._topic)
        return self._appended(led, leader.append(batch, rules, wall, verified=verification, from_client=False))

    def _appended(self, led: Led[Part], found: Appended | BatchRefusal) -> int | ErrorCode:
        match found:
            case BatchRefusal() as refused:
                return refused.error
            case Appended(_, end_offset, data):
                self._out.append(AppendRecords(led.key, end_offset, data))
                self._logs.written.add(led.key)
                return end_offset

    def put(self, effects: list[BrokerEffect]) -> None:
        """What came about inside, in its place among what is appended."""
        self._out += effects

    def taken(self) -> list[BrokerEffect]:
        """What was appended since this was asked last."""
        out, self._out = self._out, []
        return out

    def owns(self, work_id: WorkId) -> bool:
        return work_id < self._last_read

    @property
    def has_more_to_do(self) -> bool:
        return self._logs.has_more_to_do

    # For the coordinator's own part.

    def _led_still(self, led: Led[Part]) -> Leader | None:
        """In the epoch in which it was loaded."""
        leader = self._partitions.led(led.key)
        return leader if leader is led.leader and leader.epoch == led.epoch else None

    def _has_left(self, key: PartitionId) -> bool:
        """It was led here, and is not any more, or in another epoch: then it is loaded anew."""
        led = self._logs.by_key.get(key)
        if led is None or self._led_still(led) is not None:
            return False
        self._logs.resign(key)
        return True

    def _to_lead(self, key: PartitionId) -> Leader | None:
        """It is led here now, and nobody has begun to load it."""
        leader = self._partitions.led(key)
        if leader is None or key in self._logs.by_key or leader.log.topic != self._topic:
            return None
        return leader

    def _is_read(self, led: Led[Part]) -> bool:
        """To its end; else its next bytes are asked for."""
        found = self._logs.load(led)
        if isinstance(found, ReadRecords):
            self._out.append(found)
        return found is True

    def _mended_how(self, found: GivenUp[Part], what: str) -> str:
        """`what` of it is not served until somebody mends it."""
        return f"mend {self._topic}-{found.led.key.index} or delete its records: its {what} are not served: {found.why}"
