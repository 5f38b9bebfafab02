"""Who asked, and how the answer reaches him."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NoReturn

from controller_runtime.parts.events import ConnectionId, RequestId
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A request of which the authorizer lets a part be served."""

    whole: Message
    """As it came."""
    rest: Message
    """What is served of it."""
    complete: Callable[[Message], Message | InPieces[NoReturn, Message]] = field(compare=False, repr=False)
    """Makes of the answer to the rest the answer to the whole; in pieces, where it looks at each thing in it."""

    def completed(self, answer: Message) -> InPieces[NoReturn, Message]:
        found = self.complete(answer)
        return (yield from found) if isinstance(found, Generator) else found


@dataclass(frozen=True, slots=True)
class Asker:
    """Whom to answer, and in which envelope."""

    request_id: RequestId
    request: Message
    envelope: RequestHeader | None = None
    """The header of the request inside an Envelope."""
    connection_id: ConnectionId = ConnectionId(0)
    """Ended when not even an error can be answered."""
    narrowed: Narrowed | None = None
    """`request` is its rest."""
