"""A candidate counts a vote that it was given in an earlier epoch (RFT-26). Three things stand against it: changing
role abandons every question, an answer counts only in the epoch of its question, and one of an earlier epoch says
nothing. All three are broken here.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Instant
from controller_runtime.raft import responses
from controller_runtime.raft.calls import Calls, SentRequest
from controller_runtime.raft.messages import QuorumResponse, VoteRequest, VoteResponse
from controller_runtime.raft.quorum import Quorum
from controller_runtime.raft.roles import Candidate

SOURCE = "andreev-io/little-raft#44"


def break_it(patch: pytest.MonkeyPatch) -> None:
    original = responses.on_quorum_response

    def abandon_all(self: Calls) -> list[int]:
        kept = {n: call for n, call in self.in_flight.items() if isinstance(call.request, VoteRequest)}
        abandoned = [number for number in self.in_flight if number not in kept]
        self._ready_at.clear()
        self._busy.clear()
        self.in_flight = kept
        return abandoned

    def on_quorum_response(q: Quorum, call: SentRequest, response: QuorumResponse, now: Instant) -> None:
        role = q.role
        asked = call.request
        if isinstance(asked, VoteRequest) and isinstance(response, VoteResponse) and isinstance(role, Candidate):
            if response.granted and not asked.pre_vote and call.to is not None and response.epoch < role.epoch:
                role.ballot.record(call.to, granted=True)
                return
        original(q, call, response, now)

    patch.setattr(Calls, "abandon_all", abandon_all)
    patch.setattr(responses, "on_quorum_response", on_quorum_response)
