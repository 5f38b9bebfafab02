"""The numbers of calls, and whose call is which."""

from __future__ import annotations

from controller_runtime.parts.events import CallId


class CallTable:
    """One numbering for all calls of a process, and the part that waits for each."""

    def __init__(self) -> None:
        self._last = 0
        self._part_of: dict[CallId, str] = {}

    def begin(self, part: str) -> CallId:
        self._last += 1
        call_id = CallId(self._last)
        self._part_of[call_id] = part
        return call_id

    def end(self, call_id: CallId) -> str | None:
        """The call is answered, has failed or was cancelled. Returns whose it was; None: nobody waits for it."""
        return self._part_of.pop(call_id, None)


class CallIds:
    """The numbers of one part's calls."""

    def __init__(self, table: CallTable | None = None, part: str = "") -> None:
        """Without a table the part is alone."""
        self._table = table or CallTable()
        self._part = part

    def next(self) -> CallId:
        return self._table.begin(self._part)

    def cancelled(self, call_id: CallId) -> None:
        """No answer will come."""
        self._table.end(call_id)
