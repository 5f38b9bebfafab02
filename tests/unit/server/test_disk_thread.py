"""A thread for a disk: work in order, and reports that wake the loop once for many."""

from __future__ import annotations

import asyncio
import threading

import pytest

from controller_runtime.server.shell.disk_thread import REPORTED_TOGETHER, DiskThread

pytestmark = pytest.mark.unit
COUNT = 3 * REPORTED_TOGETHER + 7


async def test_everything_is_reported_once_and_in_order_whether_the_loop_is_busy_or_not() -> None:
    loop = asyncio.get_running_loop()
    thread, reported, done = DiskThread("test", loop), list[int](), asyncio.Event()

    def report(number: int, failure: BaseException | None) -> None:
        assert isinstance(failure, ZeroDivisionError) == (number % 10 == 0)
        reported.append(number)
        if number == 2 * COUNT - 1:
            done.set()

    def submit(number: int) -> None:
        thread.submit(lambda: None if number % 10 else print(1 // 0), lambda failure: report(number, failure))

    for number in range(COUNT):  # while the loop is busy
        submit(number)
    for number in range(COUNT, 2 * COUNT):  # while it is not
        submit(number)
        await asyncio.sleep(0)
    await asyncio.wait_for(done.wait(), 20)
    thread.close()
    assert reported == list(range(2 * COUNT))


async def test_what_is_done_while_the_loop_is_busy_wakes_it_once_and_leaves_it_turns() -> None:
    loop = asyncio.get_running_loop()
    woken: list[object] = []
    wake = loop.call_soon_threadsafe

    class Loop:
        call_soon = staticmethod(loop.call_soon)
        is_closed = staticmethod(loop.is_closed)

        @staticmethod
        def call_soon_threadsafe(callback: object) -> None:
            woken.append(callback)
            wake(callback)  # type: ignore[arg-type]

    thread = DiskThread("test", Loop())  # type: ignore[arg-type]
    reported: list[int] = []
    last = threading.Event()
    for number in range(COUNT):
        thread.submit(lambda: None, lambda _, number=number: reported.append(number))  # type: ignore[misc]
    thread.submit(last.set, lambda _: None)
    last.wait(20)  # the loop hears nothing meanwhile
    thread.close()
    turns = 0
    while len(reported) < COUNT:
        before = len(reported)
        await asyncio.sleep(0)
        turns += 1
        assert len(reported) - before <= REPORTED_TOGETHER
    assert (len(woken), reported) == (1, list(range(COUNT)))
    assert turns > 3


async def test_patient_work_lets_later_work_go_first_and_nothing_that_came_before_and_has_its_turn() -> None:
    thread = DiskThread("test", asyncio.get_running_loop())
    begin, finish, ran = threading.Event(), threading.Event(), list[str]()

    def submit(name: str, then: str = "") -> None:
        def work() -> None:
            ran.append(name)
            if then:
                submit(then)

        (thread.submit_patient if name.startswith("open") else thread.submit)(work, lambda _: None)

    thread.submit(lambda: print(begin.wait(20)), lambda _: None)
    thread.submit_last(finish.set, lambda _: None)
    submit("append")
    for name in ("open 1", "open 2", "open 3"):
        submit(name)
    submit("read 1", then="read 3")
    submit("read 2", then="read 4")
    begin.set()
    finish.wait(20)
    assert finish.is_set()
    thread.close()
    assert ran == ["append", "open 1", "read 1", "read 2", "open 2", "read 3", "read 4", "open 3"]
