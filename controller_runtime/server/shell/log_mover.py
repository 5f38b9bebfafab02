"""Moves of logs between the directories of a broker, in the loop: hands their steps to the threads of the directories,
one after the other, and tells what came of it. What comes for a log while its copy takes its place waits here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from controller_runtime.broker.effects import AbandonMove, BrokerEvent, CompleteMove, CopyMore, MoveFailed
from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.server.shell import log_moves
from controller_runtime.server.shell.log_moves import Steps
from controller_runtime.server.shell.partition_work import PartitionWork

Move = CopyMore | CompleteMove | AbandonMove


class Submit(Protocol):
    def __call__(
        self,
        directory: DirectoryId,
        work: Callable[[PartitionWork], Any],
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Do it in the directory's thread; then one of these in the loop."""
        ...


class LogMover:
    def __init__(
        self,
        submit: Submit,
        home: Callable[[PartitionId], DirectoryId],
        switch: Callable[[PartitionId, DirectoryId], None],
        feed: Callable[[BrokerEvent], None],
    ) -> None:
        self._submit = submit
        self._home = home
        self._switch = switch
        self._feed = feed
        self._held: Final[dict[PartitionId, list[Callable[[], None]]]] = {}

    def holds(self, key: PartitionId, work: Callable[[], None]) -> bool:
        """True: it is done when the move is over."""
        held = self._held.get(key)
        if held is None:
            return False
        held.append(work)
        return True

    def begin(self, effect: Move) -> None:
        source = self._home(effect.key)
        match effect:
            case CopyMore():
                self._go_on(effect, log_moves.copy_more(effect, source), None)
            case CompleteMove(key, _, target):
                self._held[key] = []
                self._go_on(effect, log_moves.complete(effect, source, lambda: self._switch(key, target)), None)
            case AbandonMove():
                self._go_on(effect, log_moves.abandon(effect, source), None)

    def _go_on(self, effect: Move, steps: Steps, found: Any) -> None:
        try:
            directory, work = steps.send(found)
        except StopIteration as end:
            self._over(effect, end.value)
            return
        self._submit(
            directory,
            work,
            lambda found: self._go_on(effect, steps, found),
            lambda error: self._over(effect, MoveFailed(effect.key, effect.target, str(error) or type(error).__name__)),
        )

    def _over(self, effect: Move, event: BrokerEvent | None) -> None:
        if isinstance(effect, CompleteMove):
            for work in self._held.pop(effect.key):
                work()
        if event is not None and not isinstance(effect, AbandonMove):
            self._feed(event)
