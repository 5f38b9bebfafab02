"""Replies that wait until what they tell is committed.

A reply leaves when the high watermark reaches its offset; if leadership is lost first, the asker is told to look for
the controller, because the change may or may not survive. Offsets only grow while one node leads, so the queue is in
order by itself.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from controller_runtime.identifiers import Offset
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionInfo
from controller_runtime.values import dataclass

MAX_PENDING: Final = 100_000
"""More waiting replies than this are refused at once: the quorum is not committing."""


@dataclass(frozen=True, slots=True)
class ControllerRequest:
    """What is asked, and in whose name: for a forwarded request that of the client, on the connection of the broker."""

    asker: Asker
    connection: ConnectionInfo
    key: int
    version: int
    principal: str
    token_authenticated: bool = False
    client_id: str | None = None
    address: bytes | None = None
    """Of the client, if a broker passes the request on."""


@dataclass(frozen=True, slots=True)
class PendingReply:
    offset: Offset
    asker: Asker
    response: Respond
    """As it leaves: in its envelope already, so that an answer that cannot be encoded is known before anything is
    written.
    """


class PendingReplies:
    def __init__(self) -> None:
        self._waiting: deque[PendingReply] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= MAX_PENDING

    def add(self, offset: Offset, asker: Asker, response: Respond) -> None:
        """`response` may leave when everything below `offset` is committed."""
        assert not self._waiting or self._waiting[-1].offset <= offset, "replies wait in the order of their offsets"
        self._waiting.append(PendingReply(offset, asker, response))

    def take_back(self, before: int) -> None:
        """Forget those that were added since there were `before`: what they tell was not written."""
        while len(self._waiting) > before:
            self._waiting.pop()

    def release(self, committed: Offset) -> list[PendingReply]:
        """Take those that may leave."""
        ready = []
        while self._waiting and self._waiting[0].offset <= committed:
            ready.append(self._waiting.popleft())
        return ready

    def take_all(self) -> list[PendingReply]:
        """Leadership is lost: nobody will learn here whether these are committed."""
        left, self._waiting = list(self._waiting), deque()
        return left
