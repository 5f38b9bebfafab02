"""When a node asks the C library to give memory back: some moments after large pieces, once for many."""

from __future__ import annotations

import asyncio

import pytest

from controller_runtime.server.shell import freed_memory
from controller_runtime.server.shell.freed_memory import FreedMemory, trim

pytestmark = pytest.mark.unit


async def test_memory_is_given_back_once_for_many_large_pieces_and_again_for_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(freed_memory, "GIVE_BACK_SECONDS", 0.01)
    given: list[int] = []
    came = asyncio.Event()

    def give_back() -> None:
        given.append(1)
        came.set()

    memory = FreedMemory(give_back)
    for round_ in (1, 2):
        came.clear()
        for _ in range(5):
            memory.expect()
        assert len(given) == round_ - 1
        await asyncio.wait_for(came.wait(), 20)
        assert len(given) == round_


def test_giving_back_may_be_asked_for_anywhere_and_at_any_time() -> None:
    trim()
    trim()
