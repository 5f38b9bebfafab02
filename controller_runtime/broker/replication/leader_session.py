"""A follower's side of its fetch session with a leader (KIP-227): what a request has to name, as the leader remembers
what was named before.

The first request of a session names everything; the next ones what is wanted otherwise, and what no more. When the two
may no longer mean the same, because an answer is lost or the leader has forgotten, the next request begins anew, and
ends what it may have been.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from controller_runtime.broker.fetch_sessions import FIRST_EPOCH, FULL_EPOCH, NO_SESSION, next_epoch
from controller_runtime.identifiers import PartitionId
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchPartition
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.values import dataclass, field

_OVER: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


@dataclass(frozen=True, slots=True)
class Named:
    """What the next request says."""

    session_id: int
    epoch: int
    wanted: tuple[tuple[PartitionId, FetchPartition], ...]
    forgotten: tuple[PartitionId, ...] = ()


@dataclass(slots=True)
class LeaderSession:
    id: int = NO_SESSION
    epoch: int = FULL_EPOCH
    """Of the next request."""
    _known: Mapping[PartitionId, FetchPartition] = field(default_factory=dict)
    """What the leader was told of each partition last."""

    def next(self, wanted: Mapping[PartitionId, FetchPartition]) -> InPieces[NoReturn, Named]:
        """`wanted`: all that is to be fetched now."""
        known, self._known = self._known, wanted
        if self.epoch == FULL_EPOCH:
            return Named(self.id, FULL_EPOCH, tuple(wanted.items()))
        changed: list[tuple[PartitionId, FetchPartition]] = []
        for key, one in wanted.items():
            if known.get(key) != one:
                changed.append((key, one))
            yield None
        forgotten = tuple(key for key in known if key not in wanted)
        return Named(self.id, self.epoch, tuple(changed), forgotten)

    def answered(self, answer: FetchResponse) -> bool:
        """True: only the session was refused, and the next request, in full, need not wait."""
        error, was_full = answer.error_code, self.epoch == FULL_EPOCH
        if error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self._begin_anew(NO_SESSION)
        elif error != ErrorCode.NONE:
            self.failed()
        elif answer.session_id == NO_SESSION:
            self._begin_anew(NO_SESSION)
        elif was_full:
            self.id, self.epoch = answer.session_id, FIRST_EPOCH
        elif answer.session_id == self.id:
            self.epoch = next_epoch(self.epoch)
        else:
            self.failed()
        return error in _OVER and not was_full

    def failed(self) -> None:
        """Whether the leader went on with it is not known: it is told to end it."""
        self._begin_anew(self.id)

    def _begin_anew(self, session_id: int) -> None:
        self.id, self.epoch, self._known = session_id, FULL_EPOCH, {}
