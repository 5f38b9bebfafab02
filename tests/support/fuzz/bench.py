"""Nodes, a judge and lanes for tests that send a few frames and look: `bench.put(shots)` says what is wrong then."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from support.fuzz.account import Account
from support.fuzz.judge import Judge
from support.fuzz.lanes import Lanes
from support.fuzz.nodes import Nodes
from support.fuzz.run import volley
from support.fuzz.shots import Shot

T = TypeVar("T")


class Bench:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._boots = 0
        self.account = Account(read_one_of=1)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.nodes.kill()
        self.run(self.judge.close())
        self._loop.close()

    def _begin(self) -> None:
        self._boots += 1
        self.nodes = Nodes(self._directory / f"nodes-{self._boots}")
        self.nodes.start()
        self.judge = Judge(self.nodes)
        self.run(self.judge.begin())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def ready(self) -> None:
        """New nodes, if one of the last ones ended."""
        if self.nodes.dead():
            self.nodes.kill()
            self.run(self.judge.close())
            self._begin()

    def put(self, shots: Sequence[Shot]) -> list[str]:
        """Send them; what is wrong then."""
        self.ready()
        self.put_quietly(shots)
        unreadable, self.account.unreadable = self.account.unreadable, []
        return self.run(self.judge.judge()) + unreadable

    def put_quietly(self, shots: Sequence[Shot]) -> None:
        """Send them, and look at nothing."""
        lanes = Lanes(self.nodes.ports, self.account.add)
        lanes.ids = self.judge.ids
        self.run(volley(lanes, list(shots), self.nodes))
