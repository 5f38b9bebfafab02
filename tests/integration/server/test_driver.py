"""The shell keeps its rules: order, durability before what follows, one event at a time, and no word after a fault.

The node is a script; the disk, the threads, the sockets and the clock are the real ones.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
import uvloop

from controller_runtime.identifiers import Endpoint, Epoch, Instant, Offset, WallClock
from controller_runtime.network.client_pool import ClientOptions, ClientPool
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.pump import MAX_TOGETHER
from controller_runtime.node.quorum.effects import Append, QuorumEffect, SaveElection
from controller_runtime.node.quorum.events import LogFlushed
from controller_runtime.parts.effects import Call, CancelCall, Inside, Log, Respond, Stop
from controller_runtime.parts.events import (
    CallFailed,
    CallFailure,
    CallId,
    ConnectionId,
    ConnectionInfo,
    RequestId,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
    TimePassed,
)
from controller_runtime.protocol.framing import Request
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import DescribeClusterResponse
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.election_state import ElectionState
from controller_runtime.server.shell.driver import Clock, Driver
from controller_runtime.storage.errors import DiskFailed
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.metadata_log import MetadataLog
from support.nodes.peers import Peer

pytestmark = pytest.mark.integration

ANSWER = DescribeClusterResponse(cluster_id="c")


class Script:
    """A node that answers each event with the next list of effects, and remembers what it was fed."""

    def __init__(self, *steps: list[QuorumEffect]) -> None:
        self.steps = list(steps)
        self.seen: list[NodeEvent] = []
        self.together: list[int] = []
        """How many events each step had."""
        self.deadline: float | None = None

    def start(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        return self.steps.pop(0) if self.steps else []

    def step(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> list[QuorumEffect]:
        self.seen += events
        self.together.append(len(events))
        if any(isinstance(event, TimePassed) for event in events):
            self.deadline = None
        return self.steps.pop(0) if self.steps else []

    def next_deadline(self) -> Instant | None:
        return None if self.deadline is None else Instant(self.deadline)


class Answers:
    """Where answers go; remembers them."""

    def __init__(self) -> None:
        self.given: list[RequestId] = []

    def respond(self, request_id: RequestId, body: Message, inside: Inside | None = None) -> None:
        self.given.append(request_id)

    def relay(self, request_id: RequestId, frame: bytes) -> None:
        raise AssertionError

    def close_connection(self, connection_id: ConnectionId) -> None:
        raise AssertionError


class Stand:
    """A driver with all its real parts around a script."""

    def __init__(
        self,
        path: Path,
        script: Script,
        save: Callable[[ElectionState], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self.log = MetadataLog.open(OsFileSystem(), str(path / "__cluster_metadata-0"))
        self.answers = Answers()
        self.pool = ClientPool(ClientOptions("stand"), lambda: 0.5)
        self.driver = Driver(
            script,
            self.log,
            save_election=save,
            pool=self.pool,
            responder=self.answers,
            clock=Clock(loop.time, lambda: time.time_ns() // 1_000_000),
        )

    async def end(self) -> None:
        await self.pool.close()
        self.driver.close()
        await asyncio.sleep(0)


@pytest.fixture
async def stands(tmp_path: Path) -> AsyncIterator[Callable[..., Stand]]:
    made: list[Stand] = []

    def stand(
        script: Script,
        save: Callable[[ElectionState], None] = lambda _: None,
    ) -> Stand:
        made.append(Stand(tmp_path, script, save))
        return made[-1]

    yield stand
    for one in made:
        await one.end()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


def batch(offset: int) -> bytes:
    return encode_batch([Record(offset, 1, None, b"x")], partition_leader_epoch=1)


def respond(number: int) -> Respond:
    return Respond(RequestId(number), ANSWER)


async def test_what_follows_an_election_state_waits_until_it_is_on_disk_and_so_do_later_events(
    stands: Callable[..., Stand],
) -> None:
    may_finish = threading.Event()
    script = Script([respond(1), SaveElection(ElectionState(Epoch(1))), respond(2)], [respond(3)])
    stand = stands(script, lambda _: may_finish.wait(20))
    stand.driver.start()
    stand.driver.feed(ShutdownRequested())
    await asyncio.sleep(0.1)
    assert (stand.answers.given, script.seen) == ([1], [])
    may_finish.set()
    await until(lambda: len(stand.answers.given) == 3)
    assert stand.answers.given == [1, 2, 3]


async def test_an_append_is_not_awaited_and_its_flush_comes_back_as_an_event(stands: Callable[..., Stand]) -> None:
    script = Script([Append(Offset(0), Offset(1), batch(0)), respond(1)])
    stand = stands(script)
    stand.driver.start()
    assert stand.answers.given == [1]
    assert stand.log.end_offset == 1
    await until(lambda: script.seen)
    assert script.seen == [LogFlushed(Offset(1))]
    assert stand.log.flushed_offset == 1


async def test_appends_of_one_turn_share_a_write_and_the_event_tells_the_offset_of_its_delivery(
    stands: Callable[..., Stand],
) -> None:
    appends: list[list[QuorumEffect]] = [[Append(Offset(n), Offset(n + 1), batch(n))] for n in range(50)]
    script = Script([], *appends)
    stand = stands(script)
    stand.driver.start()
    for _ in range(50):
        stand.driver.feed(ShutdownRequested())
    await until(lambda: stand.log.flushed_offset == 50)
    await until(lambda: LogFlushed(Offset(50)) in script.seen)
    flushes = [event for event in script.seen if isinstance(event, LogFlushed)]
    assert len(flushes) < 50
    assert flushes == sorted(flushes, key=lambda event: event.end_offset)


async def test_a_disk_that_refuses_ends_the_driver_and_nothing_is_said_afterwards(
    stands: Callable[..., Stand], caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: ElectionState) -> None:
        raise DiskFailed("cannot sync quorum-state: Input/output error")

    script = Script([SaveElection(ElectionState(Epoch(1))), respond(1)])
    stand = stands(script, refuse)
    stand.driver.start()
    stop = await asyncio.wait_for(stand.driver.stopped, 20)
    stand.driver.feed(ShutdownRequested())
    await asyncio.sleep(0.05)
    assert stop == Stop("DiskFailed: cannot sync quorum-state: Input/output error", fault=True)
    assert (stand.answers.given, script.seen) == ([], [])
    assert "cannot sync quorum-state" in caplog.text


def asked(number: int) -> RequestReceived:
    return RequestReceived(
        RequestId(number), ConnectionInfo(ConnectionId(number), "C"), 60, 0, None, DescribeClusterRequest()
    )


async def test_requests_of_one_turn_of_the_loop_are_stepped_together_and_in_order_with_the_rest(
    stands: Callable[..., Stand],
) -> None:
    script = Script([], [respond(1), respond(2)], [], [respond(3)])
    stand = stands(script)
    stand.driver.start()
    stand.driver.feed(asked(1))
    stand.driver.feed(asked(2))
    assert script.together == []
    stand.driver.feed(ShutdownRequested())
    stand.driver.feed(asked(3))
    await until(lambda: len(stand.answers.given) == 3)
    assert script.seen == [asked(1), asked(2), ShutdownRequested(), asked(3)]
    assert (script.together, stand.answers.given) == ([2, 1, 1], [1, 2, 3])
    for number in range(MAX_TOGETHER + 1):
        stand.driver.feed(asked(number))
    await until(lambda: len(script.together) == 5)
    assert script.together[3:] == [MAX_TOGETHER, 1]


async def test_a_bug_in_the_node_is_a_fault_with_its_name(stands: Callable[..., Stand]) -> None:
    class Broken(Script):
        def step(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> list[QuorumEffect]:
            raise AssertionError("epoch must grow: 4 -> 3")

    stand = stands(Broken())
    stand.driver.start()
    stand.driver.feed(ShutdownRequested())
    assert (await stand.driver.stopped) == Stop("AssertionError: epoch must grow: 4 -> 3", fault=True)


async def test_effects_after_stop_are_not_performed(stands: Callable[..., Stand]) -> None:
    stand = stands(Script([respond(1), Stop("shut down"), respond(2)]))
    stand.driver.start()
    assert (await stand.driver.stopped).reason == "shut down"
    assert stand.answers.given == [1]


async def test_a_call_comes_back_as_its_answer_or_its_failure_and_a_cancelled_one_not_at_all(
    stands: Callable[..., Stand],
) -> None:
    held: list[Request[Message]] = []

    def answer(request: Request[Message]) -> Message | None:
        held.append(request)
        return None if len(held) == 2 else ANSWER

    peer = Peer({18: (0, 4), 60: (0, 2)}, answer)
    there = Endpoint("127.0.0.1", await peer.open())
    nowhere = Endpoint("127.0.0.1", 1)

    def call(number: int, endpoint: Endpoint, channel: str = "raft") -> Call:
        return Call(CallId(number), channel, endpoint, DescribeClusterRequest(), 5000)

    script = Script([call(1, there), call(2, nowhere)], [], [call(3, there, "other")], [CancelCall(CallId(3))])
    stand = stands(script)
    stand.driver.start()
    await until(lambda: len(script.seen) == 2)
    assert ResponseReceived(CallId(1), 2, ANSWER) in script.seen
    assert CallFailed(CallId(2), CallFailure.REFUSED) in script.seen
    await until(lambda: len(held) == 2)
    stand.driver.feed(ShutdownRequested())
    peer.close()
    await asyncio.sleep(0.1)
    assert not [event for event in script.seen if getattr(event, "call_id", None) == 3]


async def test_time_passes_at_the_deadline_even_when_it_moves_closer(stands: Callable[..., Stand]) -> None:
    script = Script()
    loop = asyncio.get_running_loop()
    script.deadline = loop.time() + 3600
    stand = stands(script)
    stand.driver.start()
    asked = script.deadline = loop.time() + 0.05
    stand.driver.feed(ShutdownRequested())
    await until(lambda: any(isinstance(event, TimePassed) for event in script.seen))
    assert loop.time() >= asked


async def test_lines_of_the_node_are_logged_at_their_level(
    stands: Callable[..., Stand], caplog: pytest.LogCaptureFixture
) -> None:
    stand = stands(Script([Log("warning", "a voter is unreachable")]))
    stand.driver.start()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "a voter is unreachable")
    ]


def test_after_the_process_was_held_up_it_hears_what_arrived_before_it_judges_who_was_silent(tmp_path: Path) -> None:
    """With uvloop, which fires timers before it reads sockets. What is heard the first time says that nobody was
    silent; then it is held up again.
    """
    script = Script()

    async def story() -> None:
        stand = Stand(tmp_path, script, lambda _: None)
        loop = asyncio.get_running_loop()
        ends = [*socket.socketpair(), *socket.socketpair()]
        long_work, starts_it, mine, theirs = ends
        for end in ends:
            end.setblocking(False)

        def work() -> None:
            long_work.recv(1)
            script.deadline = loop.time() + 0.01
            if script.seen:
                stand.driver.feed(CallFailed(CallId(1), CallFailure.REFUSED))  # so that it looks at its deadline
            else:
                stand.driver.start()
            theirs.send(b"x")
            time.sleep(0.2)

        def arrived() -> None:
            mine.recv(1)
            if len(script.seen) == 0:
                script.deadline = loop.time() + 3600
            stand.driver.feed(CallFailed(CallId(7), CallFailure.REFUSED))

        loop.add_reader(long_work, work)
        loop.add_reader(mine, arrived)
        starts_it.send(b"x")
        await until(lambda: len(script.seen) >= 2)
        await asyncio.sleep(0.1)  # the timer that let it listen is over
        starts_it.send(b"x")
        await until(lambda: len(script.seen) >= 5 and isinstance(script.seen[-1], TimePassed))
        for end in ends:
            loop.remove_reader(end)
            end.close()
        await stand.end()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(story())
    heard = [each.call_id if isinstance(each, CallFailed) else type(each) for each in script.seen]
    turns = [
        each for each, before in zip(heard, [None, *heard], strict=False) if each is not TimePassed or each != before
    ]
    assert turns == [CallId(7), TimePassed, CallId(1), CallId(7), TimePassed]
