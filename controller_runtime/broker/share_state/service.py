"""What a broker does as share coordinator: one object, made when it is first needed (`broker.coordinators`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from controller_runtime.broker.cluster_view import View
from controller_runtime.broker.effects import RecordsRead, WorkId
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering, Effects, Handler, LongAnswers
from controller_runtime.broker.share_state.state_log import ShareStateLog
from controller_runtime.broker.transactions.local_requests import LocalRequests, Then, drained
from controller_runtime.coordinator.share_state import partition as of_partition
from controller_runtime.coordinator.share_state.partition import BeginAt, Say
from controller_runtime.coordinator.share_state.ports import KEYS
from controller_runtime.coordinator.share_state.requests import answer
from controller_runtime.coordinator.share_state.settings import ShareStateSettings
from controller_runtime.identifiers import Instant, PartitionId, WallClock
from controller_runtime.parts.effects import Log, Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.schema import Message


class ShareStates:
    """Implements `late_coordinator.Coordinator`."""

    def __init__(
        self,
        partitions: LocalPartitions,
        settings: ShareStateSettings,
        long: LongAnswers,
        faults: FailedRequests,
        now: Instant,
    ) -> None:
        self._long, self._faults = long, faults
        self._local = LocalRequests()
        self._state = ShareStateLog(partitions, settings, faults, now)

    def handlers(self, _: Callable[[RequestReceived], View]) -> Mapping[int, Handler]:
        return dict.fromkeys(KEYS, self._long.handler(self._answering))

    def to_itself(self, body: Message, then: Then, now: Instant, wall: WallClock) -> Effects:
        """A request of this broker to itself, and who gets the answer."""
        event = self._local.begin(body, body.VERSIONS.highest, then)
        return self._local.deliver(drained(self._answering(event, body, now, wall)))

    def _answering(self, event: RequestReceived, request: Any, now: Instant, wall: WallClock) -> Answering:
        work = answer(self._state.coordinator, event, request, now, wall)
        while True:
            try:
                unit = next(work)
            except StopIteration as end:
                return self._perform(end.value)
            yield from self._perform([] if unit is None else [unit])
            yield None

    def _perform(self, effects: list[of_partition.Effect]) -> Effects:
        """What the coordinator wants to be done, after what it has appended."""
        out: Effects = self._state.taken()
        for effect in effects:
            match effect:
                case Respond():
                    out.append(effect)
                case BeginAt(index, offset):
                    self._state.begin_at(index, offset)
                case Say(level, text):
                    out.append(Log(level, text))
                case _ as unknown:
                    assert_never(unknown)
        return self._local.deliver([*out, *self._state.taken()])

    @property
    def has_more_to_do(self) -> bool:
        return self._state.has_more_to_do

    def next_deadline(self) -> Instant | None:
        return self._state.next_deadline()

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        try:
            return self._perform(self._state.poll(now, wall))
        except Exception as error:
            return [self._faults.count(ApiKey.WRITE_SHARE_GROUP_STATE, "coordinated", error)]

    def on_changed(self, key: PartitionId, _: Instant, __: WallClock) -> Effects:
        return self._perform(self._state.on_changed(key))

    def owns(self, work_id: WorkId) -> bool:
        return self._state.owns(work_id)

    def on_read(self, event: RecordsRead) -> Effects:
        return self._perform(self._state.on_read(event))
