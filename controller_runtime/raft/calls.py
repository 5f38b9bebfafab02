"""Our requests on their way: one in flight per destination and lane, a back-off after a failure.

So a dead peer costs one connection attempt per back-off, and a slow one never piles up requests. Changing role abandons
every call: an answer to a question of an earlier role could only confuse.
"""

from __future__ import annotations

from controller_runtime.identifiers import Endpoint, Epoch, Instant, NodeId
from controller_runtime.raft.effects import Lane
from controller_runtime.raft.messages import Request
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class SentRequest:
    """What was asked, of whom, and in which epoch."""

    lane: Lane
    to: NodeId | None
    endpoint: Endpoint
    request: Request
    epoch: Epoch


@dataclass(slots=True)
class Calls:
    next_id: int = 1
    in_flight: dict[int, SentRequest] = field(default_factory=dict)
    _busy: dict[tuple[Endpoint, Lane], int] = field(default_factory=dict)
    _ready_at: dict[tuple[Endpoint, Lane], Instant] = field(default_factory=dict)

    def begin(self, call: SentRequest) -> int:
        number, self.next_id = self.next_id, self.next_id + 1
        self.in_flight[number] = call
        self._busy[call.endpoint, call.lane] = number
        return number

    def end(self, number: int, ready_at: Instant | None = None) -> SentRequest | None:
        """Forget a call that was answered or failed; None if nobody waits for it. `ready_at` backs its
        destination off.
        """
        call = self.in_flight.pop(number, None)
        if call is None:
            return None
        slot = (call.endpoint, call.lane)
        self._busy.pop(slot, None)
        if ready_at is None:
            self._ready_at.pop(slot, None)
        else:
            self._ready_at[slot] = ready_at
        return call

    def reopen(self, number: int, call: SentRequest) -> None:
        """Take back `end`: the answer could not be judged."""
        self.in_flight[number] = call
        self._busy[call.endpoint, call.lane] = number

    def pause(self, endpoint: Endpoint, lane: Lane, ready_at: Instant) -> None:
        self._ready_at[endpoint, lane] = ready_at

    def abandon_all(self) -> list[int]:
        """Forget every call, and every back-off: another role asks other questions."""
        self._ready_at.clear()
        numbers = list(self.in_flight)
        self.in_flight.clear()
        self._busy.clear()
        return numbers

    def is_busy(self, endpoint: Endpoint, lane: Lane) -> bool:
        return (endpoint, lane) in self._busy

    def any_busy(self, lane: Lane) -> bool:
        return any(call.lane is lane for call in self.in_flight.values())

    def ready_at(self, endpoint: Endpoint, lane: Lane) -> Instant | None:
        """When the back-off ends; None if there is none."""
        return self._ready_at.get((endpoint, lane))

    def forget_expired(self, now: Instant) -> None:
        """Bounded memory: an old back-off says nothing."""
        if len(self._ready_at) > 64:
            self._ready_at = {slot: at for slot, at in self._ready_at.items() if at > now}
