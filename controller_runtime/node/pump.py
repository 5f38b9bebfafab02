"""In which order a node is given events, and when its effects may be performed: what each driver of a node must do
alike.

The process and the simulator both run this; they differ in how an effect is performed, and in nothing else. There is no
clock here and nothing waits: whoever drives it asks for events, gives them to the node, performs effects and sets a
timer.

- The next events are taken only when every effect of the last ones was performed. `SaveElection` ends `effects`; what
  follows it, and all later events, wait for `saved`.
- `LogFlushed` comes first, once for however many writes, and its offset is read when it is taken: no truncation lies
  between the number and its delivery.
- Requests, and completions of logs, that wait one behind the other are given together, at most `MAX_TOGETHER`.
- Listen before you believe the time: a timer that fires late was held up, so the node may look at its watch only after
  what arrived meanwhile was read. Otherwise a peer would be taken for silent that was not. For how long it was held up
  it is told with the time: peers whose answers it owes, or who slept on the same machine, have said nothing.
- After `Stop`, or `halt`, nothing is taken and nothing is performed any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from controller_runtime.broker.effects import PartitionOpened, PartitionWritten
from controller_runtime.identifiers import Instant, Offset, WallClock
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.ports import DrivenNode
from controller_runtime.node.quorum.effects import SaveElection
from controller_runtime.node.quorum.events import LogFlushed
from controller_runtime.parts.effects import Stop
from controller_runtime.parts.events import RequestReceived, TimePassed

MAX_TOGETHER: Final = 128
"""Events that are decided in one step at most, so that consensus is never kept waiting long."""
_GATHERED: Final = frozenset({RequestReceived, PartitionOpened, PartitionWritten})
"""Events of which many come at once: what follows from each is little, what follows from a step is the same for all."""
LATE_S: Final = 0.02
"""A timer that fires so much too late was held up, by a long step or because the process did not run."""
LISTEN_S: Final = 0.002
"""What arrived meanwhile is then read first: a turn of the loop, so that nobody is taken for silent who was not."""
AT_ONCE: Final = Instant(0.0)
"""The deadline of a node that wants another turn: it is never late."""


class Pump:
    def __init__(self, node: DrivenNode, flushed_offset: Callable[[], Offset]) -> None:
        """`flushed_offset` reads how much of the metadata log is on disk."""
        self._node = node
        self._flushed_offset = flushed_offset
        self._events: deque[NodeEvent] = deque()
        self._effects: deque[NodeEffect] = deque()
        self._log_flushed = False
        self._listening_until: Instant | None = None
        self._set_at = AT_ONCE
        """When the timer was asked for."""
        self._expected: Instant | None = None
        """By then it was to have a turn; None: whenever something happens."""
        self._turn_at = AT_ONCE
        """It had one."""
        self._held_up_s = 0.0
        """For how long it had none although it should have, all in all, since the node was told."""
        self.is_saving = False
        """An election state is on its way to the disk."""
        self.is_over = False
        """Nothing happens any more."""

    # What happens.

    def start(self, now: Instant, wall: WallClock) -> None:
        """Before any event is taken."""
        self._effects.extend(self._node.start(now, wall))

    def feed(self, event: NodeEvent) -> None:
        self._events.append(event)

    def log_flushed(self) -> None:
        """A write of the metadata log is done."""
        self._log_flushed = True

    def saved(self) -> None:
        """The election state is on disk."""
        assert self.is_saving, "nothing was being saved"
        self.is_saving = False

    def halt(self) -> None:
        """A disk or the node failed: nothing more leaves."""
        self.is_over = True

    @property
    def may_gather(self) -> bool:
        """What was fed last may wait for its like, until the end of this turn of the loop."""
        return self._events[-1].__class__ in _GATHERED

    @property
    def is_holding(self) -> bool:
        """Effects wait for an election state to be on disk."""
        return self.is_saving or bool(self._effects)

    # What is to be done.

    def take(self) -> Sequence[NodeEvent]:
        """The events of the next step; none when there are none, or when it is not yet the time for them."""
        if self.is_saving or self.is_over:
            return ()
        assert not self._effects, "effects of the last step are left"
        if self._log_flushed:
            self._log_flushed = False
            return (LogFlushed(self._flushed_offset()),)
        if not self._events:
            return ()
        first, events = self._events.popleft(), self._events
        taken = [first]
        if first.__class__ in _GATHERED:
            while events and events[0].__class__ in _GATHERED and len(taken) < MAX_TOGETHER:
                taken.append(events.popleft())
        return taken

    def step(self, taken: Sequence[NodeEvent], now: Instant, wall: WallClock) -> None:
        """Give the node what was taken; then perform `effects`."""
        self._notice(now)
        self._expected = now
        self._effects.extend(self._node.step(taken, now, wall))

    def effects(self) -> Iterator[NodeEffect]:
        """What may be performed now, in order."""
        while self._effects and not self.is_saving and not self.is_over:
            effect = self._effects.popleft()
            if effect.__class__ is SaveElection:
                self.is_saving = True
            elif effect.__class__ is Stop:
                self.is_over = True
            yield effect

    # Time.

    def timer(self, now: Instant) -> Instant | None:
        """When `time_passed` is to be called at the latest."""
        self._notice(now)
        wanted = self._timer(now)
        if self.is_saving:
            self._expected = now  # nothing is heard before the election state is on disk
        else:
            self._expected = None if wanted is None else max(wanted, now)
        return wanted

    def _timer(self, now: Instant) -> Instant | None:
        if self.is_saving or self.is_over:
            return None
        self._set_at = now
        deadline, until = self._node.next_deadline(), self._listening_until
        if until is None and self._held_up_s:
            until = self._listening_until = Instant(now + LISTEN_S)
        if deadline is None or until is None:
            return deadline if until is None else until
        if self._held_up_s:
            return until
        if deadline > until:
            self._listening_until = None
        return max(deadline, until)

    def time_passed(self, now: Instant) -> None:
        """The timer fired: the node hears of it if it wants to, and if it has heard all that came before. Ask `timer`
        again.
        """
        self._notice(now)
        listened = self._listening_until is not None and now >= self._listening_until
        if listened:
            self._listening_until = None
        if self.is_saving or self.is_over or self._listening_until is not None:
            return
        deadline = self._node.next_deadline()
        due = deadline is not None and deadline <= now
        if not due and not self._held_up_s:
            return
        if not listened and (self._held_up_s or now - (deadline or self._set_at) > LATE_S):
            self._listening_until = Instant(now + LISTEN_S)
        else:
            self.feed(TimePassed(self._held_up_s))
            self._held_up_s = 0.0

    def _notice(self, now: Instant) -> None:
        """A turn that comes late, or a step that took long: since the turn before, perhaps nobody was heard."""
        if self._expected is not None and now - self._expected > LATE_S:
            self._held_up_s += now - self._turn_at
            self._expected = now
        self._turn_at = now
