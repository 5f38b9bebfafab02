"""Requests that touch many partitions, topics or resources: judged and answered in pieces, in turns.

A step does so much of all of them together and no more. Most are over in the step that brought them. Meanwhile other
requests are served, so a long answer says of each partition what was so when it was reached. The image that it looks at
is the one that it began with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts import effects, pieces
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.events import ConnectionId, RequestReceived
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.parts.pieces import InPieces, LongWork
from controller_runtime.values import dataclass

Effect = TypeVar("Effect")
"""Of a role of a node; those of `parts.effects` are among them."""
Found = TypeVar("Found")

Then = Callable[[Any, Instant, WallClock], list[Effect]]
"""What is done with the result of a work when it is over, at that time."""


@dataclass(frozen=True, slots=True)
class _Long(Generic[Effect]):
    asker: Asker
    work: LongWork[Effect, Any]
    doing: str
    connection_id: ConnectionId | None
    """With it goes who asked."""
    then: Then[Effect]


class LongAnswers(Generic[Effect]):
    def __init__(self, faults: FailedRequests, ours: tuple[type[Exception], ...] = ()) -> None:
        """`ours`: what no request has to pay for."""
        self._faults = faults
        self._ours = ours
        self._waiting: deque[_Long[Effect]] = deque()
        self._left = pieces.PIECE_UNITS
        """Of this step."""

        self.has_begun = False
        """There was something in this step, or is for the next one."""

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(
        self, event: RequestReceived, work: InPieces[Effect, list[Effect]], *, outlives: bool = False
    ) -> list[Effect]:
        """As much of it as this step may do still. `outlives`: also when the connection has ended meanwhile."""
        whose = None if outlives else event.connection.connection_id
        return self._advance(_Long(_asker(event), LongWork(work), "served", whose, _nothing_more), None)

    def first(
        self,
        asker: Asker,
        work: InPieces[Effect, Found],
        then: Callable[[Found, Instant, WallClock], list[Effect]],
        now: Instant,
        wall: WallClock,
        *,
        doing: str = "served",
        outlives: bool = False,
    ) -> list[Effect]:
        """This work, and with what it finds something else, which may begin a long answer in turn."""
        whose = None if outlives else asker.connection_id
        return self._advance(_Long(asker, LongWork(work), doing, whose, then), (now, wall))

    def fail(self, event: RequestReceived, error: BaseException) -> list[Effect]:
        """What failed before it could be begun costs who asked for it, and nobody else."""
        return self._failed(_asker(event), "served", error)

    def handler(self, work: Callable[..., InPieces[Effect, list[Effect]]]) -> Callable[..., list[Effect]]:
        """Of requests that need nothing else."""
        return lambda event, *rest: self.begin(event, work(event, *rest))

    def go_on(self, now: Instant, wall: WallClock) -> list[Effect]:
        """At the end of a step: one by one, those who have waited longest."""
        out: list[Effect] = []
        while self._left and self._waiting:
            out += self._advance(self._waiting.popleft(), (now, wall))
        return out

    def begin_step(self) -> None:
        self._left = pieces.PIECE_UNITS
        self.has_begun = bool(self._waiting)

    def end_step(self, now: Instant, wall: WallClock) -> list[Effect]:
        """What may still be done in it."""
        out = self.go_on(now, wall)
        self.begin_step()
        return out

    def closed(self, connection_id: ConnectionId) -> None:
        """Nobody waits any more: what is not decided yet never is."""
        if self._waiting:
            self._waiting = deque(long for long in self._waiting if long.connection_id != connection_id)

    def _advance(self, long: _Long[Effect], at: tuple[Instant, WallClock] | None) -> list[Effect]:
        out: list[Effect] = []
        self.has_begun = True
        try:
            self._left = long.work.go_on(out, self._left)
            if long.work.is_over:
                result = long.work.results[0]
                out += result if at is None else long.then(result, *at)
                return out
        except self._ours:
            raise
        except Exception as error:
            return out + self._failed(long.asker, long.doing, error)
        self._waiting.append(long)
        return out

    def _failed(self, asker: Asker, doing: str, error: BaseException) -> list[Effect]:
        failed: tuple[effects.Effect, ...] = self._faults.fail(asker, doing, error)
        return [*failed]  # type: ignore[list-item]


def _asker(event: RequestReceived) -> Asker:
    return Asker(event.request_id, event.body, None, event.connection.connection_id)


def _nothing_more(result: list[Effect], _: Instant, __: WallClock) -> list[Effect]:
    return result
