"""An answer to the question of an earlier epoch is counted in this one (RFT-26). little-raft did not look at the term of a vote."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.raft.calls import Call, Calls
from controller_runtime.raft.messages import Response, VoteRequest, VoteResponse
from controller_runtime.raft.replica import Replica
from controller_runtime.raft.roles import Candidate

SOURCE = "andreev-io/little-raft#44"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = Replica._on_response

    def on_response(self: Replica, number: int, call: Call, response: Response, now: Instant) -> None:
        asked, role = call.request, self._q.role
        if isinstance(response, VoteResponse) and response.granted and isinstance(asked, VoteRequest):
            if isinstance(role, Candidate) and not asked.pre_vote and call.to is not None:
                role.ballot.record(call.to, granted=True)
        original(self, number, call, response, now)

    def forget_nothing(self: Calls) -> list[int]:
        self._ready_at.clear()
        self._busy.clear()
        return []

    patch.setattr(Replica, "_on_response", on_response)
    patch.setattr(Calls, "abandon_all", forget_nothing)
