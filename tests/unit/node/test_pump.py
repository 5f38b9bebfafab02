"""The order in which a node is given events, and the moments at which its effects may be performed."""

from __future__ import annotations

from collections.abc import Sequence

from controller_runtime.broker.effects import PartitionWritten
from controller_runtime.identifiers import Epoch, Instant, Offset, PartitionId, Uuid, WallClock
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.pump import AT_ONCE, LATE_S, LISTEN_S, MAX_TOGETHER, Pump
from controller_runtime.node.quorum.effects import SaveElection
from controller_runtime.node.quorum.events import LogFlushed
from controller_runtime.parts.effects import Log, Stop
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    CallId,
    ConnectionId,
    ConnectionInfo,
    RequestId,
    RequestReceived,
    ShutdownRequested,
    TimePassed,
)
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.raft.election_state import ElectionState

WALL = WallClock(0)
SAVE = SaveElection(ElectionState(Epoch(1)))


def said(text: str) -> Log:
    return Log("info", text)


def request(number: int) -> RequestReceived:
    connection = ConnectionInfo(ConnectionId(number), "CONTROLLER")
    return RequestReceived(RequestId(number), connection, 60, 0, None, DescribeClusterRequest())


def written(offset: int) -> PartitionWritten:
    return PartitionWritten(PartitionId(Uuid.of(1, 1), 0), offset)


def failed(number: int) -> CallFailed:
    return CallFailed(CallId(number), CallFailure.REFUSED)


class Script:
    """A node that answers each step with the next list of effects; and a log."""

    def __init__(self, *steps: list[NodeEffect]) -> None:
        self.steps = list(steps)
        self.seen: list[list[NodeEvent]] = []
        self.deadline: float | None = None
        self.flushed = 0
        self.pump = Pump(self, lambda: Offset(self.flushed))

    def start(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        return self.steps.pop(0) if self.steps else []

    def step(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> list[NodeEffect]:
        self.seen.append([*events])
        return self.steps.pop(0) if self.steps else []

    def next_deadline(self) -> Instant | None:
        return None if self.deadline is None else Instant(self.deadline)

    def run(self, now: float = 0.0) -> list[NodeEffect]:
        """All that can be done now."""
        done = [*self.pump.effects()]
        while taken := self.pump.take():
            self.pump.step(taken, Instant(now), WALL)
            done += self.pump.effects()
        return done

    def fire(self, now: float) -> Instant | None:
        """The timer fires; when it is to fire next."""
        self.pump.time_passed(Instant(now))
        self.run(now)
        return self.pump.timer(Instant(now))


def test_what_follows_an_election_state_waits_until_it_is_on_disk_and_so_do_later_events() -> None:
    script = Script([said("before"), SAVE, said("behind")], [said("next")])
    script.pump.feed(ShutdownRequested())
    script.pump.feed(failed(1))
    assert script.run() == [said("before"), SAVE]
    assert (script.seen, script.pump.is_holding) == ([[ShutdownRequested()]], True)
    script.pump.saved()
    assert script.run() == [said("behind"), said("next")]
    assert (script.seen, script.pump.is_holding) == ([[ShutdownRequested()], [failed(1)]], False)


def test_while_an_election_state_is_saved_no_timer_runs() -> None:
    script = Script([SAVE])
    script.deadline = 5.0
    script.pump.feed(ShutdownRequested())
    script.run()
    assert script.fire(6.0) is None
    script.pump.saved()
    script.run()
    assert script.pump.timer(Instant(6.0)) == 6.0 + LISTEN_S, "it heard nobody meanwhile"


def test_an_election_state_may_be_on_disk_before_the_next_effect_is_asked_for() -> None:
    script = Script([SAVE, said("behind")])
    script.pump.feed(ShutdownRequested())
    script.pump.step(script.pump.take(), Instant(0.0), WALL)
    done = []
    for effect in script.pump.effects():
        done.append(effect)
        if effect == SAVE:
            script.pump.saved()
    assert done == [SAVE, said("behind")]


def test_requests_that_wait_one_behind_the_other_are_given_together() -> None:
    script = Script()
    for event in (request(1), request(2), ShutdownRequested(), request(3)):
        script.pump.feed(event)
    script.run()
    assert script.seen == [[request(1), request(2)], [ShutdownRequested()], [request(3)]]


def test_at_most_so_many_requests_are_given_together_that_consensus_is_not_kept_waiting() -> None:
    script = Script()
    for number in range(MAX_TOGETHER + 1):
        script.pump.feed(request(number))
    script.run()
    assert [len(step) for step in script.seen] == [MAX_TOGETHER, 1]


def test_completions_of_logs_are_given_together_with_requests_in_their_order() -> None:
    script = Script()
    events: list[NodeEvent] = [written(1), request(1), written(2), ShutdownRequested(), written(3)]
    for event in events:
        script.pump.feed(event)
    script.run()
    assert script.seen == [events[:3], events[3:4], events[4:]]


def test_only_requests_and_completions_may_wait_for_their_like() -> None:
    script = Script()
    script.pump.feed(request(1))
    assert script.pump.may_gather
    script.pump.feed(written(1))
    assert script.pump.may_gather
    script.pump.feed(failed(1))
    assert not script.pump.may_gather


def test_many_writes_of_the_log_are_told_once_first_and_with_the_offset_of_that_moment() -> None:
    script = Script()
    script.pump.feed(failed(1))
    script.flushed = 10
    script.pump.log_flushed()
    script.flushed = 20
    script.pump.log_flushed()
    script.run()
    assert script.seen == [[LogFlushed(Offset(20))], [failed(1)]]


def test_after_stop_nothing_is_taken_and_nothing_is_performed() -> None:
    script = Script([said("last"), Stop("shut down"), said("too late")])
    script.deadline = 1.0
    script.pump.feed(ShutdownRequested())
    script.pump.feed(failed(1))
    assert script.run() == [said("last"), Stop("shut down")]
    assert (script.pump.is_over, script.seen, script.fire(2.0)) == (True, [[ShutdownRequested()]], None)


def test_after_a_fault_nothing_more_is_performed_not_even_what_the_last_step_wanted() -> None:
    script = Script([said("first"), said("not this")])
    script.pump.feed(ShutdownRequested())
    script.pump.step(script.pump.take(), Instant(0.0), WALL)
    performed = []
    for effect in script.pump.effects():
        performed.append(effect)
        script.pump.halt()
    assert (performed, script.run()) == ([said("first")], [])


def test_time_passes_at_the_deadline_and_not_before() -> None:
    script = Script()
    script.deadline = 5.0
    assert script.fire(4.0) == 5.0
    assert script.seen == []
    script.fire(5.0 + LATE_S / 2)
    assert script.seen == [[TimePassed()]]


def test_a_timer_that_was_held_up_fires_only_after_what_arrived_meanwhile_was_heard() -> None:
    script = Script()
    script.deadline = 5.0
    script.pump.timer(Instant(4.5))
    listens = script.fire(5.5)
    assert (listens, script.seen) == (5.5 + LISTEN_S, [])
    script.pump.feed(failed(1))
    script.run(5.5)
    assert script.pump.timer(Instant(5.501)) == listens
    script.fire(5.5 + LISTEN_S)
    assert script.seen == [[failed(1)], [TimePassed(1.0)]]


def test_a_node_that_was_held_up_is_told_for_how_long_once() -> None:
    """All of it since its last turn: where in between it slept it cannot know."""
    script = Script()
    script.deadline = 5.0
    assert script.pump.timer(Instant(3.0)) == 5.0
    script.pump.feed(failed(1))
    assert script.pump.timer(Instant(7.0)) == 7.0 + LISTEN_S, "it may come before the deadline"
    script.run(7.0)
    script.deadline = 9.0
    script.fire(7.0 + LISTEN_S)
    assert script.seen == [[failed(1)], [TimePassed(4.0)]]
    script.fire(9.0)
    assert script.seen[2:] == [[TimePassed()]]


def test_a_long_step_and_a_slow_save_hold_a_node_up() -> None:
    script = Script()
    script.deadline = 50.0
    script.pump.timer(Instant(3.0))
    script.pump.feed(failed(1))
    script.pump.step(script.pump.take(), Instant(3.0), WallClock(0))
    assert script.pump.timer(Instant(3.5)) == 3.5 + LISTEN_S
    script.fire(3.5 + LISTEN_S)
    assert script.seen[-1] == [TimePassed(0.5)]
    script.pump.is_saving = True
    assert script.pump.timer(Instant(4.0)) is None
    script.pump.saved()
    assert script.pump.timer(Instant(6.0)) == 6.0 + LISTEN_S
    script.fire(6.0 + LISTEN_S)
    assert script.seen[-1] == [TimePassed(2.0)]


def test_what_is_heard_may_make_the_timer_needless_and_the_next_late_one_is_not_believed_either() -> None:
    script = Script()
    script.deadline = 5.0
    script.fire(5.5)
    script.deadline = 8.0
    assert script.fire(5.5 + LISTEN_S) == 8.0
    assert script.fire(8.5) == 8.5 + LISTEN_S
    assert script.seen == []


def test_a_deadline_that_moved_away_while_it_listened_is_not_believed_when_it_comes_late() -> None:
    """No timer need fire in between: a driver may have moved it."""
    script = Script()
    script.deadline = 5.0
    script.fire(5.5)
    script.deadline = 8.0
    assert script.pump.timer(Instant(5.501)) == 8.0
    assert script.fire(8.5) == 8.5 + LISTEN_S
    assert script.seen == []


def test_a_node_that_wants_another_turn_has_it_at_once() -> None:
    script = Script()
    script.deadline = AT_ONCE
    assert script.pump.timer(Instant(100.0)) == AT_ONCE
    script.fire(100.001)
    assert script.seen == [[TimePassed()]]


def test_a_turn_that_was_held_up_comes_after_what_arrived_meanwhile() -> None:
    script = Script()
    script.deadline = AT_ONCE
    script.pump.timer(Instant(100.0))
    assert script.fire(101.0) == 101.0 + LISTEN_S
    assert script.seen == []


def test_between_two_pieces_of_its_work_a_node_may_be_held_up_too() -> None:
    script = Script()
    script.deadline = AT_ONCE
    script.pump.timer(Instant(100.0))
    script.fire(101.0)
    script.fire(101.0 + LISTEN_S)
    assert script.seen == [[TimePassed(1.0)]]
